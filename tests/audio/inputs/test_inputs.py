"""Everything that may be named as clips gives the same clips, and bad input one clear line."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow
import pytest
import soundfile
from pyarrow import parquet

from otadtk.audio.decode import AudioReader
from otadtk.audio.excerpt import Excerpt
from otadtk.audio.inputs import Clip, compressed, find_clips, opened
from otadtk.audio.inputs.compressed import unpacked
from otadtk.audio.inputs.waveforms import waveform_clips
from otadtk.embed import EmbeddingSet, LazyEncoder
from otadtk.embed.store import EmbeddingStore
from otadtk.encoders import get_spec
from otadtk.errors import AudioError, OtadtkError, UsageError
from tests.embedding import embed

WriteClips = Callable[..., list[Path]]
RATE = 16_000


@pytest.fixture
def world(tmp_path: Path, write_clips: WriteClips, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Five clips in a folder, and the same clips in every other form, in the working folder."""
    monkeypatch.chdir(tmp_path)
    files = write_clips(Path("clips"), 5, seconds=0.5)
    Path("list.txt").write_text("".join(f"{file}\n" for file in files))
    Path("table.csv").write_text("file,group\n" + "".join(f"{f},g{f.stem}\n" for f in files))
    rows = [{"file": str(f), "caption": f"sound {k}", "pair": k} for k, f in enumerate(files)]
    Path("table.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    with tarfile.open("shard.tar", "w") as shard:
        for file in files:
            shard.add(file, arcname=f"./{file.name}")
            for name, text in {"txt": "a caption", "json": '{"group": "g", "x": []}'}.items():
                member = tarfile.TarInfo(f"./{file.stem}.{name}")
                member.size = len(text)
                shard.addfile(member, io.BytesIO(text.encode()))
    cells = [{"bytes": f.read_bytes(), "path": f"/far/{f.name}"} for f in files]
    parquet.write_table(
        pyarrow.table({"sound": cells, "label": ["", "", "hum", "", ""]}),
        "table.parquet",
        row_group_size=2,
    )
    return tmp_path


SOURCES = ["clips/*.wav", "@list.txt", "table.csv", "table.jsonl", "shard.tar", "table.parquet"]


def embedded(source: Any, store: Path, **how: Any) -> EmbeddingSet:
    return embed(source, LazyEncoder(get_spec("logmel"), "cpu"), EmbeddingStore(store), **how)


def test_all_forms_give_the_same_clips(world: Path) -> None:
    """The same vectors, hashes and audits as of the folder: the second form is in the store."""
    store = world / "store"
    folder = embedded(Path("clips"), store)
    assert folder.encoded == 5 and folder.clips == ()
    for source in SOURCES:
        found = embedded(Path(source), store)
        assert np.array_equal(found.vectors, folder.vectors), source
        assert (found.digests, found.audits) == (folder.digests, folder.audits)
        assert found.encoded == 0
        assert [file.stem for file in found.files] == [file.stem for file in folder.files]
    Path("shards").mkdir()
    Path("shard.tar").rename("shards/a.tar")
    assert embedded("shards/*.tar", store).digests == folder.digests
    assert embedded("shards", store).digests == folder.digests
    assert embedded(["shards/a.tar", "clips/000.wav"], store).digests == (
        *folder.digests,
        folder.digests[0],
    )


def test_columns(world: Path) -> None:
    store = world / "store"
    assert embedded("table.csv", store).column("group") == tuple(f"g00{k}" for k in range(5))
    assert embedded("table.jsonl", store).column("caption")[3] == "sound 3"
    assert embedded("table.jsonl", store).column("pair") == ("0", "1", "2", "3", "4")
    assert embedded("table.parquet", store).column("label") == ("", "", "hum", "", "")
    shard = embedded("shard.tar", store)
    assert set(shard.column("caption")) == {"a caption"} and set(shard.column("group")) == {"g"}
    assert shard.files[0] == Path("shard.tar/000.wav")
    assert shard.column("pair") == ()
    taken = shard.take([3, 1])
    assert taken.files == (shard.files[3], shard.files[1]) and len(taken.clips) == 2


@pytest.fixture
def memory() -> Iterator[Any]:
    system = fsspec.filesystem("memory")
    system.store.clear()
    yield system
    system.store.clear()


PACKERS = {"tar.gz": gzip, "tgz": gzip, "tar.bz2": bz2, "tar.xz": lzma}


def test_compressed_shards(world: Path, memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same clips; one after the other they are unpacked once, and in any order rightly."""
    store = world / "store"
    plain = embedded("shard.tar", store)
    whole = Path("shard.tar").read_bytes()
    for ending, packer in PACKERS.items():
        Path(f"a.{ending}").write_bytes(packer.compress(whole))
        found = embedded(f"a.{ending}", store)
        assert (found.digests, found.encoded) == (plain.digests, 0)
        assert found.column("caption") == plain.column("caption")
    memory.pipe_file("/a.tgz", Path("a.tgz").read_bytes())
    # threads would share the place in a file in memory, which no other file system does
    assert embedded("memory://a.tgz", store, workers=1).digests == plain.digests
    Path("shards").mkdir()
    Path("a.tar.gz").rename("shards/a.tar.gz")
    for source in ("shards", "shards/*.tar.gz", "shards/*"):
        assert embedded(source, store).digests == plain.digests
    begun: list[Path] = []

    def counted(path: Path) -> Any:
        begun.append(path)
        return unpacked(path)

    monkeypatch.setattr(compressed, "unpacked", counted)
    clips = find_clips(Path("a.tgz")) or []
    read = [clip.member.read(clip.file) for clip in clips if clip.member is not None]
    assert read == [Path(f"clips/00{k}.wav").read_bytes() for k in range(5)]
    assert len(begun) == 1
    again = [clips[k].member for k in (3, 1, 4)]
    assert [one.read(clips[0].file) for one in again if one] == [read[3], read[1], read[4]]
    assert len(begun) == 3
    # what is cut off or damaged names the shard
    packed = Path("a.tgz").read_bytes()
    Path("a.tgz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(AudioError, match=r"a\.tgz is damaged: Compressed file ended"):
        clips[4].member.read(clips[4].file)  # type: ignore[union-attr]
    with pytest.raises(AudioError, match=r"a\.tgz is damaged: Compressed file ended"):
        find_clips(Path("a.tgz"))


def test_behind_an_address(world: Path, memory: Any) -> None:
    for file in (*Path("clips").iterdir(), *map(Path, ("table.csv", "shard.tar", "table.parquet"))):
        memory.pipe_file(f"/{file}", file.read_bytes())
    near = embedded(Path("clips"), world / "store")
    for source in ("clips/*.wav", "table.csv", "shard.tar", "table.parquet"):
        found = embedded(f"memory://{source}", world / "store")
        assert found.digests == near.digests, source
    with pytest.raises(AudioError, match=r"No file matches memory://clips/\*\.flac"):
        embedded("memory://clips/*.flac", world / "store")


def test_excerpts_are_heard_to_the_sample(tmp_path: Path, rng: np.random.Generator) -> None:
    """In formats that seek and in one that does not; the last sample may be rounded up."""
    samples = rng.uniform(-0.5, 0.5, (3 * RATE, 2)).astype(np.float32)
    for name, kind in {"a.wav": "FLOAT", "a.flac": "PCM_24", "a.caf": "FLOAT"}.items():
        soundfile.write(tmp_path / name, samples, RATE, subtype=kind)
        part = samples[RATE // 2 : 2 * RATE]
        for excerpt, wanted in {
            Excerpt(0.5, 2.0): part.mean(axis=1),
            Excerpt(0.5, 2.0, channel=1): part[:, 1],
            Excerpt(0.5): samples[RATE // 2 :].mean(axis=1),
            Excerpt(2.0, 3.009): samples[2 * RATE :].mean(axis=1),
        }.items():
            reader = AudioReader(tmp_path / name, RATE, excerpt=excerpt)
            heard = np.concatenate(list(reader))
            np.testing.assert_allclose(heard, wanted, atol=1e-6)
            assert reader.audit.seconds == len(wanted) / RATE
            assert reader.audit.channels == (2 if excerpt.channel is None else 1)
    for excerpt, words in {
        Excerpt(3.5, 4.0): "it ends at 3 s, and the clip is 3.5 s to 4 s",
        Excerpt(1.0, 3.1): "it ends at 3 s, and the clip is 1 s to 3.1 s",
        Excerpt(3.0): "it ends at 3 s, and the clip is 3 s to its end",
        Excerpt(channel=2): "it has no channel 3",
    }.items():
        with pytest.raises(AudioError, match=words):
            list(AudioReader(tmp_path / "a.wav", RATE, excerpt=excerpt))


def test_hashes_tell_excerpts_apart() -> None:
    parts = [Excerpt(), Excerpt(0.1), Excerpt(0.1, 1.0), Excerpt(0.1, 1.0, 0), Excerpt(channel=1)]
    assert Excerpt().key("ab") == "ab"
    assert len({part.key("ab") for part in parts}) == len(parts)
    assert Excerpt(1.0 / 3, 1.0).describe() == "t=0.3333333333333333,1"


def test_waveforms_are_clips(world: Path) -> None:
    """Arrays score as files of the same samples; the store knows them again."""
    sounds = [soundfile.read(file, dtype="float32")[0] for file in sorted(Path("clips").iterdir())]
    folder = embedded(Path("clips"), world / "store")
    found = embedded(waveform_clips(sounds, RATE), world / "store")
    assert np.array_equal(found.vectors, folder.vectors) and found.encoded == 5
    stacked = embedded(waveform_clips(np.stack(sounds), RATE), world / "store")
    assert stacked.encoded == 0 and stacked.digests == found.digests
    stereo = waveform_clips([np.stack([sounds[0], -sounds[0]])], RATE)
    with opened(stereo[0]) as path:
        assert soundfile.info(path).channels == 2
    for wrong, words in {
        "shape": ([np.zeros((5, 2))], "not \\(samples,\\) or \\(channels, samples\\)"),
        "text": (["a.wav"], "Waveform 0 is no array of samples"),
    }.values():
        with pytest.raises(UsageError, match=words):
            waveform_clips(wrong, RATE)
    with pytest.raises(AudioError, match="no waveforms"):
        waveform_clips([], RATE)
    with pytest.raises(UsageError, match="sample_rate must be"):
        waveform_clips(sounds, 0)


REFUSED = {
    "no such list": ("@nothing.txt", "", "nothing.txt cannot be read: No such file"),
    "NUL in a list": ("@bad.txt", "a\0.wav\n", "no name of a file has a NUL byte"),
    "NUL in a table": ("bad.csv", "file\na\0.wav\n", "no name of a file has a NUL byte"),
    "empty list": ("@bad.txt", "\n\n", "bad.txt lists no files"),
    "no match": ("clips/*.flac", "", r"No file matches clips/\*\.flac"),
    "no audio": ("*.jsonl", "", "None of the 1 files that match .* is audio"),
    "no such table": ("nothing.csv", "", "nothing.csv cannot be read"),
    "no file column": ("bad.csv", "name,group\na,b\n", "has no column 'file'; it has: name, group"),
    "no rows": ("bad.csv", "file\n", "lists no clips"),
    "too few values": ("bad.csv", "file,start\na.wav\n", "line 2: 1 values for 2 columns"),
    "too many values": ("bad.csv", "file\na.wav,1\n", "line 2: 2 values for 1 columns"),
    "no file": ("bad.csv", "file,group\n,g\n", "line 2: 'file' must be the path"),
    "end before start": ("bad.csv", "file,start,end\na,2,1\n", "line 2: the end, 1 s, is not after"),
    "start in words": ("bad.csv", "file,start\na,soon\n", "line 2: 'start' must be seconds"),
    "negative start": ("bad.csv", "file,start\na,-1\n", "'start' must be seconds, 0 or more"),
    "not JSON": ("bad.jsonl", '{"file": "a"}\n{', "line 2 is not JSON"),
    "no object": ("bad.jsonl", "[1]\n", "line 1 is not a JSON object"),
    "file is a number": ("bad.jsonl", '{"file": 3}\n', "'file' must be the path"),
    "caption is a list": ("bad.jsonl", '{"file": "a", "caption": []}\n', "text or a number, not a list"),
    "start is true": ("bad.jsonl", '{"file": "a", "start": true}\n', "'start' must be seconds"),
    "no such tar": ("nothing.tar", "", "nothing.tar cannot be read: No such file"),
    "no tar": ("bad.tar", "hello" * 200, "bad.tar is no whole tar file"),
    "no such tar.gz": ("nothing.tgz", "", "nothing.tgz cannot be read: No such file"),
    "no tar.gz": ("bad.tar.gz", "hello" * 200, "bad.tar.gz cannot be read: Not a gzipped file"),
    "no tar.xz": ("bad.tar.xz", "hello" * 200, "bad.tar.xz is damaged: Input format"),
    "zstd": ("bad.tar.zst", "", "is packed with zstd: take .tar or .tar.gz"),
    "no Parquet": ("bad.parquet", "hello", "bad.parquet is not a"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_bad_input(world: Path, what: str) -> None:
    source, content, words = REFUSED[what]
    if content:
        Path(source.removeprefix("@")).write_text(content)
    with pytest.raises(AudioError, match=words) as caught:
        find_clips(Path(source))
    assert caught.value.exit_code == 3 and "\n" not in str(caught.value)


def test_bad_shards(world: Path) -> None:
    whole = Path("shard.tar").read_bytes()
    Path("cut.tar").write_bytes(whole[: len(whole) // 2])
    Path("cut-head.tar").write_bytes(whole[:100])
    tarfile.open("empty.tar", "w").close()
    parquet.write_table(pyarrow.table({"text": ["a"]}), "text.parquet")
    parquet.write_table(pyarrow.table({"a": [b"x"], "b": [b"y"]}), "two.parquet")
    parquet.write_table(
        pyarrow.table({"audio": pyarrow.array([], pyarrow.binary())}), "none.parquet"
    )
    cells = [{"bytes": b"noise", "path": "a.wav"}, {"bytes": None, "path": "b.wav"}]
    parquet.write_table(pyarrow.table({"audio": cells}), "odd.parquet")
    for source, words in {
        "cut.tar": "cut.tar is (cut off inside|no whole tar file)",
        "cut-head.tar": "is no whole tar file",
        "empty.tar": "There are no audio files in empty.tar",
        "text.parquet": "no column of audio .* it has: text",
        "two.parquet": "several columns of bytes, a, b",
        "none.parquet": "lists no clips",
    }.items():
        with pytest.raises(AudioError, match=words):
            find_clips(Path(source))
    with pytest.raises(AudioError) as caught:
        embedded("odd.parquet", world / "store")
    assert "odd.parquet/a.wav: it is not readable audio" in str(caught.value)
    assert "odd.parquet/b.wav: its row in" in str(caught.value)


def test_files_of_a_table_that_are_missing_or_too_short(world: Path) -> None:
    Path("bad.csv").write_text(
        "file,start,end\nclips/000.wav,,\nnothing.wav,,\nclips/001.wav,9,10\n"
    )
    with pytest.raises(OtadtkError) as caught:
        embedded("bad.csv", world / "store")
    assert "nothing.wav: it cannot be read: No such file" in str(caught.value)
    assert "001#t=9,10.wav: it ends at 0.5 s" in str(caught.value)
    kept = embedded("bad.csv", world / "store", on_error="skip")
    assert [clip.name for clip in kept.clips] == [Path("clips/000.wav")] and len(kept.bad) == 2


def test_relative_names(world: Path) -> None:
    """A table names files beside it, or else in the working folder."""
    Path("tables").mkdir()
    Path("tables/a.csv").write_text("file\nclips/000.wav\n")
    assert find_clips(Path("tables/a.csv")) == [Clip.of_file(Path("clips/000.wav"))]
    Path("tables/clips").mkdir()
    Path("clips/001.wav").rename("tables/clips/000.wav")
    assert find_clips(Path("tables/a.csv")) == [Clip.of_file(Path("tables/clips/000.wav"))]
