"""Mutated files for the readers of what users are given by others.

Headers that a hash protects are mutated and sealed again.
"""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import soundfile
import torch
from hypothesis import strategies as st

from otadtk import FAD
from otadtk.adapter.files import read_adapter, save_adapter
from otadtk.adapter.importing import read_foreign
from otadtk.adapter.network import RiemannianAdapter
from otadtk.audio.clip_audit import ClipAudit
from otadtk.audio.decode import AudioReader
from otadtk.embed.formats.npy import read_npy_file
from otadtk.embed.formats.npz import read_npz_file
from otadtk.embed.formats.pack import pack_bytes, read_pack
from otadtk.embed.formats.parquet import parquet_bytes, read_parquet
from otadtk.embed.store import StoredClip, _pack, _unpack
from otadtk.encoders import get_spec
from otadtk.encoders.checkpoints.tensorflow_bundle import read_float_variables
from otadtk.errors import OtadtkError
from otadtk.files.sealed import seal, unseal
from tests.encoders.test_tensorflow_bundle import write_bundle
from tests.fuzzing.target import Fuzz, Target, at_most, repeated

LONGEST_SECONDS = 20
AUDIO, ENCODER = "ab" * 32, "cd" * 32
SPEC = get_spec("logmel")

Read = Callable[[Path], object]
INTERESTING = (0, 1, 0x7F, 0x80, 0xFF)

edits = st.lists(
    st.tuples(
        st.sampled_from(["set", "flip", "cut", "insert", "repeat", "zero"]),
        st.floats(0, 1, exclude_max=True),
        st.integers(0, 255),
        st.integers(1, 40),
    ),
    min_size=1,
    max_size=6,
)
leaves = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.lists(st.integers(-2, 9), max_size=4) | st.dictionaries(st.text(max_size=4), st.none())
)  # fmt: skip


def mutate(content: bytes, edit_list: list[tuple[str, float, int, int]], *, early: bool) -> bytes:
    """The bytes after the edits; ``early`` aims them at the beginning, where headers are."""
    changed = bytearray(content)
    for kind, place, byte, length in edit_list:
        if not changed:
            break
        reach = min(len(changed), 256) if early else len(changed)
        at = int(place * reach)
        if kind == "set":
            changed[at] = INTERESTING[byte % len(INTERESTING)]
        elif kind == "flip":
            changed[at] ^= byte or 1
        elif kind == "cut":
            del changed[at : at + length]
        elif kind == "insert":
            changed[at:at] = bytes([byte]) * length
        elif kind == "repeat":
            changed[at:at] = changed[at : at + length]
        else:
            changed[at : at + length] = bytes(min(length, len(changed) - at))
    return bytes(changed)


def seeds(folder: Path) -> Iterator[tuple[str, bytes, Read]]:
    """(name of the target, a sound file, its reader)."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(3, SPEC.dim)).astype(np.float32)
    names = np.array(["a", "b", "c"])

    for suffix, how in _AUDIO.items():
        content = io.BytesIO()
        soundfile.write(content, 0.1 * rng.normal(size=4000), 16_000, **how)
        yield f"audio.{suffix}", content.getvalue(), lambda path: list(AudioReader(path, 16_000))

    content = io.BytesIO()
    np.save(content, vectors)
    yield "array.npy", content.getvalue(), lambda path: read_npy_file(path, SPEC, None)
    for compressed, save in ((False, np.savez), (True, np.savez_compressed)):
        content = io.BytesIO()
        save(content, embeddings=vectors, names=names)
        yield f"{compressed}.npz", content.getvalue(), lambda path: read_npz_file(path, SPEC, None)
    content = io.BytesIO()
    np.savez(content, mu=vectors[0], cov=np.cov(vectors.T))
    yield "moments.npz", content.getvalue(), lambda path: read_npz_file(path, SPEC, None)

    np.save(folder / "set.npy", vectors)
    embedded = read_npy_file(folder / "set.npy", SPEC, None)
    table = parquet_bytes(embedded, list(names), SPEC)
    yield "table.parquet", table, lambda path: read_parquet(path, SPEC, None)
    pack = pack_bytes(embedded, list(names), SPEC)
    yield "set.otadpack", pack, lambda path: read_pack(path, SPEC, None)
    entry = _pack(StoredClip(vectors[0], ClipAudit(1.0, 16_000, 1, 0.5, 0.0)), AUDIO, ENCODER)
    yield "entry.clip", entry, lambda path: _unpack(path.read_bytes(), AUDIO, ENCODER)

    save_adapter(RiemannianAdapter(SPEC.dim), folder / "a.safetensors", SPEC, "native")
    adapter = (folder / "a.safetensors").read_bytes()
    yield "a.safetensors", adapter, lambda path: read_adapter(path, SPEC)
    state = {"adapter_state_dict": RiemannianAdapter(SPEC.dim).state_dict()}
    torch.save(state, folder / "a.pt")
    yield "a.pt", (folder / "a.pt").read_bytes(), lambda path: read_foreign(path, SPEC, "native")

    yield from _clips(folder)

    index, data = write_bundle(folder, {"x": vectors, "y/z": vectors[0], "w": vectors[:1]})
    whole = index.read_bytes()
    yield "bundle.index", whole, lambda path: read_float_variables(path, data)


def _clips(folder: Path) -> Iterator[tuple[str, bytes, Read]]:
    """Tables and shards of clips, which are embedded."""
    metric = FAD("logmel", cache_dir=folder / "store")
    sound = io.BytesIO()
    soundfile.write(sound, 0.1 * np.random.default_rng(0).normal(size=4000), 16_000, format="WAV")
    (folder / "clip.wav").write_bytes(sound.getvalue())
    rows = [{"file": "clip.wav", "start": 0.1, "end": 0.2, "group": "a"}, {"file": "clip.wav"}]
    table = "file,start,end,group\nclip.wav,0.1,0.2,a\nclip.wav,,,\n"
    yield "clips.csv", table.encode(), metric.embed
    yield "clips.jsonl", "\n".join(map(json.dumps, rows)).encode(), metric.embed
    yield "clips.txt", b"clip.wav\nclip.wav\n", lambda path: metric.embed(f"@{path}")
    shard = io.BytesIO()
    with tarfile.open(fileobj=shard, mode="w") as tar:
        note = json.dumps(rows[0]).encode()
        members = {"a.wav": sound.getvalue(), "a.txt": b"a dog", "a.json": note, "b.wav": b"none"}
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    yield "clips.tar", shard.getvalue(), metric.embed
    cells = [{"bytes": sound.getvalue(), "path": name} for name in ("a.wav", "b.wav")]
    columns = {"audio": cells, "start": [0.1, None], "caption": ["a dog", None]}
    pyarrow.parquet.write_table(pyarrow.table(columns), folder / "clips.parquet")
    yield "clips.parquet", (folder / "clips.parquet").read_bytes(), metric.embed


_AUDIO: dict[str, dict[str, str]] = {
    "wav": {"format": "WAV"},
    "flac": {"format": "FLAC"},
    "ogg": {"format": "OGG"},
    "mp3": {"format": "MP3"},
    "aiff": {"format": "AIFF"},
    "caf": {"format": "CAF"},
}


def sealed_again(content: bytes, key: str, value: Any) -> bytes | None:
    """A sealed file with another value in its header and a hash that fits; ``None`` for others."""
    unsealed = unseal(content)
    if unsealed is None:
        return None
    header, vectors = unsealed
    if key == "shape":  # written by ``seal`` itself
        body = content[:-32].replace(
            json.dumps(list(vectors.shape)).encode(), json.dumps(value).encode(), 1
        )
        return body + hashlib.sha256(body).digest()
    return seal({**header, key: value}, vectors)


def targets(folder: Path) -> Iterator[Target]:
    """One target for every reader."""
    for name, content, read in seeds(folder):
        yield Target(name, _fuzz(name, content, read, folder), folder / f"fuzzed-{name}")


def _fuzz(name: str, content: bytes, read: Read, folder: Path) -> Fuzz:
    """Reads mutations of a sound file; an exception that is not of the family is raised."""
    path = folder / f"fuzzed-{name}"

    @repeated(edits, st.booleans(), st.booleans(), st.sampled_from(_HEADER_KEYS), leaves)
    def once(
        edit_list: list[tuple[str, float, int, int]], early: bool, reseal: bool, key: str, leaf: Any
    ) -> None:
        spoilt = sealed_again(content, key, leaf) if reseal else None
        path.write_bytes(spoilt or mutate(content, edit_list, early=early))
        with at_most(LONGEST_SECONDS, name):
            try:
                read(path)
            except OtadtkError as error:
                lines = str(error).strip().split("\n")
                assert all(line.startswith("  /") for line in lines[1:]), f"several lines: {error}"
                assert not any(line.endswith(": None") for line in lines), f"no reason: {error}"

    return once


_HEADER_KEYS = (
    "format",
    "model",
    "encoder",
    "names",
    "digests",
    "audits",
    "audit",
    "audio",
    "shape",
)
