"""Which files of a folder are clips, and in which order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from otadtk.audio.find import find_audio, list_audio
from otadtk.errors import AudioError

WriteClips = Callable[..., list[Path]]


class TestFindAudio:
    def test_recursive_in_stable_order(self, tmp_path: Path, write_clips: WriteClips) -> None:
        write_clips(tmp_path / "b", 2)
        write_clips(tmp_path, 1)
        write_clips(tmp_path / "a" / "deep", 1)
        names = [str(f.relative_to(tmp_path)) for f in find_audio(tmp_path)]
        assert names == ["000.wav", "a/deep/000.wav", "b/000.wav", "b/001.wav"]
        assert [f.name for f in find_audio(tmp_path, recursive=False)] == ["000.wav"]

    def test_hidden_files_and_foreign_caches_are_no_clips(
        self, tmp_path: Path, write_clips: WriteClips, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level("INFO")
        write_clips(tmp_path, 1)
        (tmp_path / "._000.wav").write_bytes(b"resource fork")
        for folder in (
            ".trash",
            "convert/16000",
            "kernel_stats/vggish",
            "embedding/panns",
            "stats",
        ):
            write_clips(tmp_path / folder, 1)
        (tmp_path / "notes.txt").write_text("no audio")
        assert [f.name for f in find_audio(tmp_path, caches_expected=True)] == ["000.wav"]
        assert caplog.messages == []
        assert [f.name for f in find_audio(tmp_path)] == ["000.wav"]
        found = "convert, embedding, kernel_stats, stats"
        assert caplog.messages == [f"{tmp_path}: {found} left out as other tools' caches"]

    def test_a_root_of_such_a_name_is_searched(
        self, tmp_path: Path, write_clips: WriteClips
    ) -> None:
        write_clips(tmp_path / "embeddings", 1)
        assert len(find_audio(tmp_path / "embeddings")) == 1

    def test_a_file_stands_for_itself(self, tmp_path: Path, write_clips: WriteClips) -> None:
        (file,) = write_clips(tmp_path, 1)
        assert find_audio(file) == [file]

    def test_suffixes_in_any_case(self, tmp_path: Path, write_clips: WriteClips) -> None:
        (file,) = write_clips(tmp_path, 1)
        file.rename(tmp_path / "LOUD.WAV")
        assert len(find_audio(tmp_path)) == 1

    def test_symbolic_link_loop_ends(self, tmp_path: Path, write_clips: WriteClips) -> None:
        write_clips(tmp_path / "clips", 1)
        (tmp_path / "clips" / "loop").symlink_to(tmp_path, target_is_directory=True)
        assert len(find_audio(tmp_path)) == 1

    @pytest.mark.parametrize("place", ["missing", "empty", "nested"])
    def test_nothing_to_find(self, tmp_path: Path, write_clips: WriteClips, place: str) -> None:
        (tmp_path / "empty").mkdir()
        write_clips(tmp_path / "nested" / "inner", 1)
        with pytest.raises(AudioError, match=place):
            find_audio(tmp_path / place, recursive=False)


def test_order_of_names_is_that_of_paths(tmp_path: Path) -> None:
    for name in ("a/x.wav", "a b/x.wav", "a.b/x.wav", "a.wav", "b.wav", "a/0/x.wav"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert list_audio(tmp_path) == sorted(list_audio(tmp_path), key=lambda name: Path(name).parts)
