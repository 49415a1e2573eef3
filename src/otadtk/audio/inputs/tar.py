"""Clips inside tar shards, as WebDataset writes them.

A member is read by its place in the file, so nothing is unpacked; a compressed shard is read forwards,
and only the member that is asked for is held. Members of the same key, the name up
to the first dot of its last part, belong together: ``0001.txt`` is the caption of ``0001.wav``, and
``0001.json`` an object with any of ``COLUMNS``.
"""

from __future__ import annotations

import json
import math
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from otadtk.audio.find import AUDIO_SUFFIXES
from otadtk.audio.inputs.clip import Clip, excerpt_name
from otadtk.audio.inputs.compressed import COMPRESSED, read_unpacked, unpacked
from otadtk.audio.inputs.manifest import excerpt_of, facts_of
from otadtk.errors import AudioError
from otadtk.files.remote import absolute, open_file, read_range, url_of

_LARGEST_NOTE = 1 << 20
"""A caption or a JSON object in a shard has fewer bytes."""


@dataclass(frozen=True, slots=True)
class TarMember:
    """The bytes from a place in a shard on, of a compressed one as it is unpacked."""

    offset: int
    size: int

    def read(self, holder: Path) -> bytes:
        """The bytes of the member."""
        read = read_unpacked if _is_compressed(holder) else read_range
        content = read(holder, self.offset, self.size)
        if len(content) < self.size:
            raise AudioError(f"the shard {url_of(holder)} is cut off inside it")
        return content


def tar_clips(path: Path) -> list[Clip]:
    """The audio members of a shard in their order."""
    audio: list[tuple[str, TarMember]] = []
    notes: dict[str, dict[str, Any]] = {}
    try:
        with _opened(path) as (shard, end):
            for member in shard:
                suffix = Path(member.name).suffix.lower()
                if not member.isreg() or Path(member.name).name.startswith("."):
                    continue
                if member.offset_data + member.size > end:
                    raise AudioError(f"{url_of(path)} is cut off inside {member.name}.")
                if suffix in AUDIO_SUFFIXES:
                    audio.append((member.name, TarMember(member.offset_data, member.size)))
                elif suffix in (".txt", ".json") and member.size <= _LARGEST_NOTE:
                    note = _note(shard.extractfile(member), suffix, f"{url_of(path)}/{member.name}")
                    notes.setdefault(_key(member.name), {}).update(note)
    except (tarfile.TarError, EOFError) as error:
        raise AudioError(f"{url_of(path)} is no whole tar file: {error}.") from error
    except OSError as error:
        raise AudioError(f"{url_of(path)} cannot be read: {error.strerror or error}.") from error
    if not audio:
        raise AudioError(f"There are no audio files in {url_of(path)}.")
    return [_clip(path, name, member, notes.get(_key(name), {})) for name, member in audio]


@contextmanager
def _opened(path: Path) -> Iterator[tuple[tarfile.TarFile, float]]:
    """(the shard, how many bytes it has, if that is known)."""
    if _is_compressed(path):
        with unpacked(path) as file, tarfile.open(fileobj=file, mode="r|") as shard:
            yield shard, math.inf
        return
    with open_file(path) as file, tarfile.open(fileobj=file, mode="r:") as shard:
        yield shard, file.seek(0, 2)


def _is_compressed(path: Path) -> bool:
    return path.name.lower().endswith(COMPRESSED)


def _clip(path: Path, name: str, member: TarMember, note: dict[str, Any]) -> Clip:
    shown = path / name.lstrip("/")
    excerpt = excerpt_of(note, str(shown))
    facts = facts_of(note, str(shown))
    return Clip(excerpt_name(shown, excerpt), absolute(path), member, excerpt, facts)


def _note(file: IO[bytes] | None, suffix: str, where: str) -> dict[str, Any]:
    """What a text or JSON member says."""
    text = file.read().decode("utf-8", "replace") if file is not None else ""
    if suffix == ".txt":
        return {"caption": text.strip()}
    try:
        found = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise AudioError(f"{where} is not JSON: {error}.") from error
    return found if isinstance(found, dict) else {}


def _key(name: str) -> str:
    folder, _, last = name.rpartition("/")
    return f"{folder}/{last.partition('.')[0]}"
