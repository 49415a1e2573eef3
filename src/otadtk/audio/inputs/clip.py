"""A clip: where its bytes are, which part of them is heard, and what a table says of it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from otadtk.audio.excerpt import WHOLE, Excerpt
from otadtk.errors import AudioError
from otadtk.files.remote import absolute, fetched

COLUMNS = ("caption", "group", "pair", "label", "system")
"""What a table may say of a clip beside its place."""


class Member(Protocol):
    """A place inside a file."""

    def read(self, holder: Path) -> bytes:
        """The bytes there; an OSError or AudioError without them."""


@dataclass(frozen=True, slots=True)
class Clip:
    """One clip of a set."""

    name: Path
    """As outputs name it; a clip inside a file has the name of that file as folder."""
    file: Path
    """The file that holds its bytes, as any process can open it."""
    member: Member | None = None
    """Where inside the file; ``None`` for the file itself."""
    excerpt: Excerpt = WHOLE
    columns: Mapping[str, str] = field(default_factory=dict)
    """What is known of it, by ``COLUMNS``."""

    @classmethod
    def of_file(cls, path: Path) -> Clip:
        """A file as a clip."""
        return cls(path, absolute(path))


@contextmanager
def opened(clip: Clip) -> Iterator[Path]:
    """A file of this machine with the bytes: the file itself, or a temporary copy."""
    if clip.member is None:
        with fetched(clip.file) as path:
            yield path
        return
    content = clip.member.read(clip.file)
    with tempfile.NamedTemporaryFile(prefix="otadtk-", suffix=clip.name.suffix) as copy:
        copy.write(content)
        copy.flush()
        yield Path(copy.name)


def each_channel(clip: Clip) -> list[Clip]:
    """A clip for each channel of a file; the clip itself if there is one, or none can be read."""
    import soundfile

    try:
        with opened(clip) as path:
            channels = int(soundfile.info(path).channels)
    except (soundfile.LibsndfileError, AudioError, OSError):
        return [clip]  # whoever decodes it says why, or finds all channels in it
    if channels == 1:
        return [clip]
    plain = clip.name.with_name(clip.name.name.replace(f"#{clip.excerpt.describe()}", ""))
    parts = [replace(clip.excerpt, channel=k) for k in range(channels)]
    return [replace(clip, name=excerpt_name(plain, part), excerpt=part) for part in parts]


def excerpt_name(path: Path, excerpt: Excerpt) -> Path:
    """The name of a part of a file; its suffix stays the last, so that stems differ."""
    words = excerpt.describe()
    return path.with_name(f"{path.stem}#{words}{path.suffix}") if words else path
