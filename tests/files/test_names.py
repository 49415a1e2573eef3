"""Names of clips: how they are shown, and which clip a name means."""

from __future__ import annotations

from pathlib import Path

from otadtk.files.names import clips_by_name, shown_names


def test_clips_without_names_are_not_bare_numbers() -> None:
    array = [Path("x.npy") / str(k) for k in range(12)]
    assert shown_names(array, "reference")[10] == "reference 10"
    named = [Path("a/b/1.wav"), Path("a/c/2.wav")]
    assert shown_names(named, "reference") == ["b/1.wav", "c/2.wav"]
    assert shown_names([], "reference") == []


def test_a_name_may_mean_several_clips() -> None:
    files = [Path("a/b/1.wav"), Path("a/c/1.wav")]
    found = clips_by_name(files)
    assert found["1.wav"] == [0, 1]
    assert found["c/1.wav"] == found["a/c/1.wav"] == [1]
