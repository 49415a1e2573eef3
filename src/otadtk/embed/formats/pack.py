"""Reference packs: a set of embeddings in one portable file that needs no audio.

A pack is a sealed file whose header has the format, the encoder and its fingerprint, the name, the
audio hash and the audit of every clip, and its provenance.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from otadtk import __version__
from otadtk.audio.clip_audit import ClipAudit
from otadtk.embed.embedding_set import EmbeddingSet
from otadtk.embed.formats.precomputed import check_vectors, columns_for, precomputed_set
from otadtk.encoders import EncoderSpec
from otadtk.errors import AudioError
from otadtk.files.sealed import seal, unseal

FORMAT = "otadtk-pack/1"
PACK_SUFFIX = ".otadpack"


def pack_bytes(embedded: EmbeddingSet, names: Sequence[str], spec: EncoderSpec) -> bytes:
    """The pack of a set."""
    now = datetime.datetime.now(datetime.timezone.utc)
    header = {
        "format": FORMAT,
        "model": spec.name,
        "encoder": spec.fingerprint,
        "names": list(names),
        "digests": list(embedded.digests),
        "audits": [dataclasses.asdict(audit) if audit else None for audit in embedded.audits],
        "provenance": {
            "otadtk": __version__,
            "made": now.isoformat(timespec="seconds"),
            "preprocessing": spec.preprocessing,
            "weights": [file.digest for file in spec.weights],
            "licence": spec.licence,
        },
    }
    return seal(header, embedded.vectors)


def read_pack(path: Path, spec: EncoderSpec, frames: str | None) -> EmbeddingSet:
    """The set of a pack, if it is whole and of exactly this encoder."""
    header, vectors = read_sealed(path)
    columns = columns_for(path, header["encoder"], spec, header["model"])
    audits = [ClipAudit.from_dict(facts) for facts in header["audits"]]
    if not len(header["digests"]) == len(audits) == len(vectors):
        raise AudioError(f"{path} does not say the same number of clips everywhere.")
    if vectors.ndim == 2:
        vectors = vectors[:, columns]
    return precomputed_set(
        path,
        check_vectors(vectors, path, spec),
        names=header["names"],
        digests=header["digests"],
        audits=audits,
        frames=frames,
    )


def read_sealed(path: Path) -> tuple[dict[str, Any], Any]:
    """The header and the vectors of a pack that is whole."""
    try:
        unsealed = unseal(path.read_bytes())
    except OSError as error:
        raise AudioError(f"{path} cannot be read: {error.strerror}.") from error
    if unsealed is None:
        raise AudioError(f"{path} is damaged or not a pack: its integrity hash does not match.")
    header, vectors = unsealed
    lists = [header.get(name) for name in ("names", "digests", "audits")]
    texts = [header.get(name) for name in ("model", "encoder")]
    if header.get("format") != FORMAT:
        raise AudioError(f"{path} is not a pack of the format {FORMAT}.")
    well_formed = all(isinstance(entry, list) for entry in lists) and all(
        isinstance(text, str) for text in (*texts, *(lists[0] or ()), *(lists[1] or ()))
    )
    if not well_formed:
        raise AudioError(f"{path} lacks what a pack says: names, digests, audits, encoder.")
    return header, vectors
