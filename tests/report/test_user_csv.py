"""CSV files of labels and groups: matched by path or name, refused if unclear."""

from __future__ import annotations

from pathlib import Path

import pytest

from otadtk.errors import UsageError
from otadtk.report.user_csv import groups_by_folder, read_groups, read_labels

FILES = [Path("set/a/1.wav"), Path("set/a/2.wav"), Path("set/b/1.wav"), Path("set/b/3.wav")]


def csv(folder: Path, text: str) -> Path:
    path = folder / "table.csv"
    path.write_bytes(text.encode())
    return path


def test_labels_by_path_below_the_folder_by_full_path_and_by_name(tmp_path: Path) -> None:
    path = csv(tmp_path, "\ufefffile,kind\na/1.wav,noise\r\nset/b/1.wav, clicks \n3.wav,0\n")
    assert read_labels(path, FILES) == ("noise", "", "clicks", "")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "a line of titles"),
        ("file\na/1.wav\n", "two columns"),
        ("file,kind\na/1.wav,noise,more\n", "line 2: 3 values for 2 columns"),
        ("file,kind\nnone.wav,noise\n", "names none.wav, which is not among"),
        ("file,kind\n1.wav,noise\n", "1.wav could be 2 clips"),
        ("file,kind\na/1.wav,clean\n", "marks 0 of 4"),
        ("file,kind\na/1.wav,x\na/1.wav,y\n", "listed twice"),
        ("f,k\na/1.wav,x\na/2.wav,x\nb/1.wav,x\nb/3.wav,x\n", "marks 4 of 4"),
    ],
)
def test_unclear_labels_are_refused(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        read_labels(csv(tmp_path, text), FILES)


def test_groups_have_a_table_per_column(tmp_path: Path) -> None:
    rows = "".join(f"{file},{k % 2},x\n" for k, file in enumerate(FILES))
    by_parity, by_x = read_groups(csv(tmp_path, f"file,parity,x\n{rows}"), FILES, FILES[:2])
    assert by_parity.title == "parity"
    assert by_parity.evaluated == ("0", "1", "0", "1")
    assert by_parity.reference == ("0", "1")
    assert set(by_x.evaluated) == {"x"}
    with pytest.raises(UsageError, match="no group for 3 evaluated clips"):
        read_groups(csv(tmp_path, "file,g\na/1.wav,x\n"), FILES, FILES)


def test_groups_by_folder_need_two_folders() -> None:
    (grouping,) = groups_by_folder(FILES, FILES[2:])
    assert grouping.evaluated == ("a", "a", "b", "b")
    assert groups_by_folder(FILES[:2], FILES) == []
