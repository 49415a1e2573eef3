"""Addresses of remote files, and writing to object stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from otadtk.audio.find import find_audio
from otadtk.errors import UsageError
from otadtk.files.remote import as_path, is_remote, url_of, write_if_absent


def test_addresses() -> None:
    assert url_of(Path("s3://bucket/a b/c.wav")) == "s3://bucket/a b/c.wav"
    assert is_remote(Path("gs://bucket")) and not is_remote(Path("c:/folder"))
    assert as_path("file:///data/clips") == Path("/data/clips")
    assert not is_remote(Path("folder/s3:/x"))


def test_no_bucket_is_made_by_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    class Buckets:
        def pipe_file(self, name: str, content: bytes, mode: str = "overwrite") -> None:
            raise FileNotFoundError(2, "The specified bucket does not exist")

        def exists(self, name: str) -> bool:
            return False

    monkeypatch.setattr("otadtk.files.remote._system", lambda path: (Buckets(), "bukcet/entry"))
    with pytest.raises(FileNotFoundError, match="bucket does not exist"):
        write_if_absent(Path("s3://bukcet/entry"), b"content")


def test_unknown_protocol() -> None:
    with pytest.raises(UsageError, match="nope://x"):
        find_audio(Path("nope://x"))
