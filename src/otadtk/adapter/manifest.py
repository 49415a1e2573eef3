"""The manifest: every bundled or published adapter with its expected hash."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from otadtk.errors import AdapterError
from otadtk.weights import PackageMember, WeightFile

BUNDLED = Path(__file__).parent.parent / "checkpoints"
FORMAT = "otadtk-manifest/1"


@dataclass(frozen=True)
class KnownAdapter:
    """One entry: a bundled adapter has a ``file``, a published one a wheel ``member``."""

    encoder: str
    """The name under which it is asked for."""
    variant: str
    digest: str
    """``"sha256:<hex>"`` of the bundled or the published file."""
    licence: str
    origin: str
    default: bool
    """Whether its encoder uses it when no variant is asked for."""
    trained_on: str
    """The encoder whose features it takes; not always the encoder in its name."""
    file: str = ""
    member: str = ""
    note: str = ""

    @property
    def misnamed(self) -> bool:
        """Whether it was trained on another encoder's features than its name says."""
        return self.trained_on != self.encoder

    @property
    def path(self) -> Path:
        """The path of a bundled adapter."""
        return BUNDLED / self.file


@functools.cache
def _content() -> dict[str, Any]:
    path = BUNDLED / "MANIFEST.json"
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != FORMAT:
            raise ValueError(f"its format is {content['format']!r}")
    except (OSError, ValueError, KeyError) as error:
        raise AdapterError(f"{path} is corrupted ({error}); install otadtk again.") from error
    return content


@functools.cache
def known_adapters() -> tuple[KnownAdapter, ...]:
    """All entries, in the order of the file."""
    return tuple(KnownAdapter(**entry) for entry in _content()["adapters"])


def known_adapter(encoder: str, variant: str) -> KnownAdapter | None:
    """The entry of an encoder and variant."""
    pair = (encoder, variant)
    return next((a for a in known_adapters() if (a.encoder, a.variant) == pair), None)


def published_files() -> tuple[WeightFile, ...]:
    """The 18 adapter files of the published wheel, as weight files to download."""
    wheel = _content()["wheel"]
    return tuple(
        WeightFile(
            f"{known.encoder}-{known.variant}.pt",
            PackageMember(
                distribution=wheel["distribution"],
                version=wheel["version"],
                archive=wheel["wheel"],
                archive_digest=wheel["wheel_digest"],
                member=known.member,
            ),
            known.digest,
        )
        for known in known_adapters()
        if known.member
    )
