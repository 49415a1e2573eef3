"""Commands with odd options, arrays, names of clips and packs."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import json
import os
import re
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from otadtk.audio.clip_audit import ClipAudit
from otadtk.cli import compare, gate, methods, score, trend
from otadtk.embed.embedding_set import EmbeddingSet
from otadtk.embed.formats.npz import read_npz_file
from otadtk.embed.formats.pack import pack_bytes
from otadtk.encoders import get_spec
from otadtk.files.sealed import seal, unseal
from tests.fuzzing.target import Fuzz, Target, at_most, repeated

LONGEST_SECONDS = 300
EXIT_CODES = (0, 2, 3, 4, 5, 6)
OUTPUTS = ("--diag-out", "c.csv", "--json", "r.json", "--report", "r.html", "--csv", "s.csv")
COMMANDS: dict[str, Any] = {
    "otadtk": score,
    "otadtk-compare": compare,
    "otadtk-gate": gate,
    "otadtk-methods": methods,
    "otadtk-trend": trend,
}
LEFT_OUT = {"--help", "--version", "--engine", "--ray-address", "--figures", "--weights", "--watch"}
"""What ends the command at once, needs a cluster or the network, or does not end."""

ODD_NUMBERS = (
    *("0", "1", "2", "9", "-1", "2.5", "0.1", "nan", "inf", "-inf", "0x10", "1_0", "٣", "small"),
    *("1e-320", "1e-300", "1e-38", "1e-9", "1e9", "1e25", "1e300", "1e308", "1e999"),
    *("99999999999999999999999", "1k", "2G", "1e308T"),
)
numbers = st.floats().map(repr) | st.sampled_from(ODD_NUMBERS)
counts = st.sampled_from(["0", "1", "2", "9", "-1", "2.5", "1e2", "nan", "many"])
"""Of resamples: many take long."""
words = st.sampled_from(["", "cpu", "cuda:99", "meta", "hpu", "otad", "otad,otad", "fad,kad,", "-"])
paths = st.sampled_from(
    ["out", ".", "/", "/dev/full", "no/such/place", "x" * 300, "loop", "é\u202e", "a,b", "a.npz"]
)
sources = st.sampled_from(
    [
        "a.npy",
        "b.npy",
        "one.npy",
        "same.npy",
        "a.npz",
        "folder",
        "nowhere",
        "x" * 300,
        "loop",
        "",
        "generic://x",
        "dir://",
        "reference:///",
        "memory://x",
        "s3:/",
        "file:///",
    ]
)
magnitudes = st.sampled_from([0.0, 1e-300, 1e-38, 1e-20, 1e-6, 1.0, 1e6, 1e12, 1e18, 1e25, 1e300])
odd_text = st.text(max_size=8) | st.sampled_from(
    ["", "\0", "a\nb", "\ud800", "\x1b[31m", "x" * 300, "../../up", "<b>", "=1+1", "a,b", "\u202e"]
)


DTYPES = ["f8", "f8", "f4", "f4", "f4", "f2", "i4", "u1", "?", "c8", "U3", "M8[s]", ">f4", "S2"]


def targets(folder: Path) -> Iterator[Target]:
    """One target for every kind of input."""
    place = folder / "commands"
    _write_inputs(place)
    yield Target("options", _options(place))
    yield Target("arrays", _arrays(place))
    yield Target("names", _names(place))
    yield Target("packs", _packs(place))


def _write_inputs(folder: Path) -> None:
    (folder / "folder").mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name, rows, shift in (("a", 12, 0.0), ("b", 9, 0.5), ("one", 1, 0.0)):
        np.save(folder / f"{name}.npy", rng.normal(size=(rows, 3)) + shift)
    np.save(folder / "same.npy", np.ones((4, 3)))
    np.savez(folder / "a.npz", embeddings=rng.normal(size=(8, 3)), names=[*"abcdefgh"])
    (folder / "loop").symlink_to("loop")


def run(folder: Path, command: str, arguments: list[str], outputs: tuple[str, ...] = ()) -> int:
    """The exit code of a command in a copy of the folder; an AssertionError if it is at fault."""
    here, copy = Path.cwd(), folder.with_name("copy")
    shutil.copytree(folder, copy, symlinks=True)
    printed, said = io.StringIO(), io.StringIO()
    os.chdir(copy)
    try:
        with (
            at_most(LONGEST_SECONDS, f"{command} {arguments}"),
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(said),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("error")
            try:
                code = COMMANDS[command].main(arguments)
            except SystemExit as end:  # of argparse
                code = int(end.code or 0)
        _check(code, printed.getvalue(), said.getvalue(), command)
        for name in outputs[1::2]:
            assert code in (0, 6) or not Path(name).exists(), (
                f"{name} is left of a command that failed"
            )
            if name.endswith(".json") and Path(name).is_file():
                json.loads(Path(name).read_text("utf-8"), parse_constant=_refuse)
    finally:
        os.chdir(here)
        shutil.rmtree(copy)
    return code


def _check(code: int, printed: str, said: str, command: str) -> None:
    """What every command keeps to, whatever it is given."""
    assert code in EXIT_CODES, f"exit code {code}: {said}"
    assert "Traceback" not in said, said
    assert "Warning:" not in said, said
    errors = [line for line in said.splitlines() if ": error: " in line]
    assert len(errors) == (1 if code in (2, 3, 4) else 0), said
    strange = [line for line in said.split("\n") if not re.match(f"{command}|usage:| |$", line)]
    assert not strange, f"lines that nobody signed: {strange}"
    if code == 0:
        assert not re.search(r"[: ]-?(inf|nan)\b", printed), printed


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} in the JSON document")


def _options(folder: Path) -> Fuzz:
    """Commands with a few options of any value."""
    chosen = st.sampled_from(["otadtk", "otadtk-compare"]).flatmap(
        lambda command: st.tuples(
            st.just(command),
            st.lists(option_of(command), max_size=4),
            st.lists(sources, min_size=2, max_size=3),
        )
    )

    @repeated(chosen, st.sampled_from(["given", "given", "given", "given", "logmel", "", "x.py:X"]))
    def once(found: tuple[str, list[list[str]], list[str]], model: str) -> None:
        command, options, places = found
        flat = [text for option in options for text in option]
        if flat[:1] != ["--null"] and "--null" not in flat:
            flat.append("--no-null")
        run(folder, command, [model, *places, *flat])

    return once


def option_of(command: str) -> st.SearchStrategy[list[str]]:
    """An option of a command, with a value if it takes one."""
    parser: argparse.ArgumentParser = COMMANDS[command]._parser()
    kinds = []
    for action in parser._actions:
        if not action.option_strings or LEFT_OUT & set(action.option_strings):
            continue
        flag = action.option_strings[-1]
        if action.nargs == 0:
            kinds.append(st.just([flag]))
            continue
        values = numbers | words | paths
        if action.choices:
            values = st.sampled_from(sorted(map(str, action.choices))) | words
        elif action.dest == "null":
            values = counts
        elif action.type is Path or action.dest == "json":
            values = paths
        kinds.append(values.map(lambda value, flag=flag: [flag, value]))
    return st.one_of(kinds)


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray:
    """A few rows of numbers of any size, some of them alike or far away."""
    rows, columns = draw(st.integers(0, 9)), draw(st.integers(0, 4))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    values = draw(magnitudes) + draw(magnitudes) * rng.normal(size=(rows, columns))
    if rows > 1 and draw(st.booleans()):
        values[rng.integers(rows)] = values[0]
    if values.size and draw(st.integers(0, 3)) == 0:
        values.flat[rng.integers(values.size)] = draw(st.floats() | magnitudes)
    if draw(st.integers(0, 9)) == 0:
        values = values.reshape(draw(st.sampled_from([(-1,), (1, rows, columns)])))
    dtype = draw(st.sampled_from(DTYPES))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return values.astype(dtype)
        except (TypeError, ValueError):
            return values


def _arrays(folder: Path) -> Fuzz:
    """Sets of odd numbers, by all metrics and their statistics."""
    extras = st.lists(
        st.sampled_from(
            [
                "--null 5",
                "--ci",
                "--epsilon-scale median_cost",
                "--epsilon-scale mean_cost",
                "--coupling exact",
                "--coupling sliced",
                "--coupling minibatch",
                "--excess",
                "--divergence entropic",
                "--compat otadtk-0.1.2",
                "--epsilon 1e-9",
                "--diagnose",
            ]
        ),
        max_size=3,
        unique=True,
    )

    @repeated(arrays(), arrays(), extras, st.sampled_from(["otad", "fad", "kad", "otad,fad,kad"]))
    def once(x: np.ndarray, y: np.ndarray, extra: list[str], metrics: str) -> None:
        np.save(folder / "x.npy", x)
        np.save(folder / "y.npy", y)
        options = " ".join(["--metrics", metrics, *extra]).split()
        run(folder, "otadtk", ["given", "x.npy", "y.npy", *options, "--json", "r.json"], OUTPUTS)
        more = [text for text in options if text not in ("--ci", "--diagnose")]
        if "--null" not in more and "--excess" not in more:
            run(folder, "otadtk-compare", ["given", "x.npy", "y.npy", "a.npy", *more])

    return once


def _names(folder: Path) -> Fuzz:
    """Clips of odd names, through everything that is written."""

    @repeated(st.lists(odd_text, min_size=6, max_size=6))
    def once(texts: list[str]) -> None:
        vectors = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
        np.savez(folder / "names.npz", embeddings=vectors, names=np.array(texts))
        arguments = ["given", "a.npy", "names.npz", "--no-null", *OUTPUTS]
        run(folder, "otadtk", arguments, OUTPUTS)

    return once


def _packs(folder: Path) -> Fuzz:
    """Packs whose header has been changed by somebody who can make a hash."""
    spec = get_spec("logmel")
    vectors = np.random.default_rng(0).normal(size=(6, spec.dim)).astype(np.float32)
    np.savez(folder / "pack.npz", embeddings=vectors)
    embedded: EmbeddingSet = read_npz_file(folder / "pack.npz", spec, None)
    content = pack_bytes(embedded, [*"abcdef"], spec)
    unsealed = unseal(content)
    assert unsealed is not None
    header, rows = unsealed
    values = st.none() | st.booleans() | st.integers() | st.floats() | odd_text
    nested = st.recursive(values, lambda part: st.lists(part, max_size=6), max_leaves=8)
    facts = st.sampled_from([0, 1, 16_000, 0.0, 0.5, 1e-300, 1e14, 1e300, -1, 10**400, None])
    audit = st.fixed_dictionaries(
        {field.name: facts | st.floats() for field in dataclasses.fields(ClipAudit)}
    )
    fields = st.sampled_from(sorted(header))

    @repeated(fields, nested | st.lists(audit, min_size=6, max_size=6))
    def once(field: str, value: Any) -> None:
        with contextlib.suppress(UnicodeEncodeError):
            (folder / "set.otadpack").write_bytes(seal({**header, field: value}, rows))
        arguments = ["logmel", "set.otadpack", "set.otadpack", "--no-null", *OUTPUTS]
        run(folder, "otadtk", arguments, OUTPUTS)

    return once
