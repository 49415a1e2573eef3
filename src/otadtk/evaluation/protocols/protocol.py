"""Reads a protocol: a file that pins encoder, audio, metrics and constants of a table of results.

The sections ``protocol``, ``encoders`` (rate and checkpoints of each) and ``audio`` say what holds for
all results; every other one is a result by the name under which it is printed.
"""

from __future__ import annotations

import configparser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from otadtk.audio.reading import Reading
from otadtk.encoders import get_spec
from otadtk.errors import UsageError
from otadtk.metrics.registry import get_metric

SUFFIX = ".ini"
_FACTS = ("title", "version", "tool", "pairing", "quirks")
_SHARED = ("protocol", "encoders", "audio")
_OWN = ("metric", "model", "frames", "variant")
_TRUE, _FALSE = ("yes", "true", "on", "1"), ("no", "false", "off", "0")
_WORDS = {
    "channels": ("mean", "first", "second", "both", "each"),
    "crop": ("start", "centre", "pad", "loop"),
    "resampler": ("soxr", "sinc", "kaiser"),
    "peak_of": ("file", "resampled"),
}


@dataclass(frozen=True)
class Result:
    """One number of a protocol: a metric on an encoder, with its settings."""

    name: str
    metric: str
    model: str
    frames: str | None
    variant: str | None
    reading: Reading
    options: Mapping[str, Any]
    """Of the metric's class, by name."""


@dataclass(frozen=True)
class Protocol:
    """The results of a table, and how each is computed."""

    name: str
    version: str
    title: str
    tool: str
    pairing: str
    quirks: tuple[str, ...]
    """What surprises about it, one sentence or two each."""
    results: tuple[Result, ...]
    text: str
    """The file."""

    def only(self, names: Sequence[str]) -> tuple[Result, ...]:
        """The results of these names, in the protocol's order."""
        known = [result.name for result in self.results]
        for name in names:
            if name not in known:
                raise UsageError(
                    f"The protocol {self.name!r} has no result {name!r}; choose from "
                    f"{', '.join(known)}."
                )
        return tuple(result for result in self.results if result.name in names)


def protocol_names() -> list[str]:
    """The protocols of this package."""
    folder = files("otadtk.evaluation.protocols") / "files"
    found = (entry.name for entry in folder.iterdir() if entry.name.endswith(SUFFIX))
    return sorted(name.removesuffix(SUFFIX) for name in found)


def load_protocol(name: str) -> Protocol:
    """A protocol by its name, or one of your own by the path of its file."""
    if name in protocol_names():
        file = files("otadtk.evaluation.protocols") / "files" / f"{name}{SUFFIX}"
        return _parse(name, file.read_text(encoding="utf-8"))
    path = Path(name)
    if path.suffix != SUFFIX and not path.exists():
        known = ", ".join(protocol_names())
        raise UsageError(
            f"{name!r} is no protocol: choose from {known}, or give a file of your own ({SUFFIX})."
        )
    try:
        return _parse(path.stem, path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} is no protocol: it is not text in UTF-8.") from error


def _parse(name: str, text: str) -> Protocol:
    parser = configparser.ConfigParser(interpolation=None, default_section="")
    try:
        parser.read_string(text)
    except configparser.Error as error:
        reason = " ".join(str(error).split())
        raise UsageError(f"The protocol {name!r} cannot be read: {reason}.") from error
    if "protocol" not in parser:
        raise UsageError(f"The protocol {name!r} has no section [protocol].")
    facts = dict(parser["protocol"])
    _refuse_unknown(name, "protocol", facts, _FACTS)
    for wanted in ("title", "version"):
        if not facts.get(wanted):
            raise UsageError(f"The protocol {name!r} says no {wanted} in [protocol].")
    shared = dict(parser["audio"]) if "audio" in parser else {}
    _refuse_unknown(name, "audio", shared, _AUDIO)
    results = tuple(
        _result(name, section, dict(parser[section]), shared)
        for section in parser.sections()
        if section not in _SHARED
    )
    if not results:
        raise UsageError(f"The protocol {name!r} has no result: add a section with a metric.")
    if "encoders" in parser:
        _check_encoders(name, dict(parser["encoders"]), {result.model for result in results})
    return Protocol(
        name,
        facts["version"],
        facts["title"],
        facts.get("tool", "none"),
        facts.get("pairing", "none"),
        tuple(_sentences(facts.get("quirks", ""))),
        results,
        text,
    )


def _check_encoders(protocol: str, pinned: Mapping[str, str], used: set[str]) -> None:
    """A UsageError if an encoder has another rate or checkpoint here than the protocol pins."""
    for model, text in pinned.items():
        where = f"The protocol {protocol!r}, [encoders]"
        if model not in used:
            raise UsageError(f"{where}: no result uses {model!r}; remove it.")
        known = pins_of(model)
        if text.split() != known.split():
            raise UsageError(f"{where}: {model} is {text!r} there and {known!r} here.")


def pins_of(model: str) -> str:
    """What pins an encoder: its rate and the digests of its published files."""
    spec = get_spec(model)
    return ", ".join([f"{spec.sample_rate} Hz", *(file.digest for file in spec.weights)])


def _result(
    protocol: str, section: str, given: dict[str, str], shared: Mapping[str, str]
) -> Result:
    where = f"The protocol {protocol!r}, [{section}]"
    for wanted in ("metric", "model"):
        if wanted not in given:
            raise UsageError(f"{where}: no {wanted} is named.")
    metric = get_metric(given["metric"])
    options = {option.name: option for option in metric.options}
    _refuse_unknown(protocol, section, given, (*_OWN, *_AUDIO, *options))
    parsed: dict[str, Any] = {}
    for key, option in options.items():
        if key not in given:
            continue
        try:
            parsed[key] = option.parse(given[key])
        except Exception as error:
            raise UsageError(f"{where}: {key} = {given[key]} is wrong: {error}.") from error
        if option.choices is not None and parsed[key] not in option.choices:
            raise UsageError(f"{where}: {key} must be one of {', '.join(option.choices)}.")
    audio = {key: value for key, value in {**shared, **given}.items() if key in _AUDIO}
    if audio.get("channels") == "both" and given.get("frames") != "stable-audio-metrics":
        raise UsageError(f"{where}: channels = both needs frames = stable-audio-metrics.")
    return Result(
        section,
        given["metric"],
        given["model"],
        given.get("frames"),
        given.get("variant"),
        Reading(**{key: _audio_value(where, key, value) for key, value in audio.items()}),
        parsed,
    )


_AUDIO = tuple(field.name for field in fields(Reading))


def _audio_value(where: str, key: str, value: str) -> Any:
    """The value of a field of ``Reading``."""
    if key in _WORDS:
        if value not in _WORDS[key]:
            raise UsageError(f"{where}: {key} must be one of {', '.join(_WORDS[key])}.")
        return value
    if key in ("remove_mean", "whole"):
        if value.lower() not in (*_TRUE, *_FALSE):
            raise UsageError(f"{where}: {key} must be yes or no, not {value!r}.")
        return value.lower() in _TRUE
    if key == "normalise" and value == "peak":
        return value
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not abs(number) < 1e6 or (key not in ("peak_db", "normalise") and number < 0.0):
        raise UsageError(f"{where}: {key} must be a number, not {value!r}.")
    return number


def _refuse_unknown(
    protocol: str, section: str, given: Mapping[str, str], known: Sequence[str]
) -> None:
    for key in given:
        if key not in known:
            raise UsageError(
                f"The protocol {protocol!r}, [{section}]: {key!r} is unknown; choose from "
                f"{', '.join(known)}."
            )


def _sentences(text: str) -> list[str]:
    """The remarks: a line that ends a sentence ends a remark."""
    found, begun = [], ""
    for line in text.split("\n"):
        begun = f"{begun} {line.strip()}".strip()
        if begun.endswith("."):
            found.append(begun)
            begun = ""
    return [*found, begun] if begun else found
