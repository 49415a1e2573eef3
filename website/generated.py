"""Pages of the reference that are read from the program: schema, protocols, exit codes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from otadtk import errors
from otadtk.cli.shared.execute import EXIT_CODES
from otadtk.documents.schema import document_schema
from otadtk.evaluation.protocols.protocol import load_protocol, protocol_names
from website.commands import parsers

MEANING = {
    "0": "done",
    "1": "an error that nobody foresaw, such as a full disk",
    "130": "interrupted by Ctrl-C; what was embedded is kept",
}


def exit_codes_page() -> str:
    """All exit codes, with the exception that stands behind each."""
    lines = [
        "# Exit codes",
        "",
        "What a script can learn from how a command ended. Errors are one line on stderr: what "
        "happened, with which file or value, and what to do.",
        "",
        "| code | meaning | in Python |",
        "|---|---|---|",
    ]
    for code, words in _codes():
        found = [kind.__name__ for kind in _family() if str(kind.exit_code) == code]
        names = ", ".join(f"`{name}`" for name in found) or "–"
        lines.append(f"| {code} | {MEANING.get(code, words)} | {names} |")
    lines += ["", "All exceptions are subclasses of `otadtk.OtadtkError`.", ""]
    return "\n".join(lines)


def _codes() -> list[tuple[str, str]]:
    """Every code with its words, as the ends of the help texts have them; some are of one command."""
    found: dict[str, str] = {}
    for name, parser in parsers().items():
        listed = (parser.epilog or "").replace("\n", " ").partition("exit codes:")[2]
        for code, words in re.findall(r"(\d+) ([^;]+)", listed):
            own = words if code in EXIT_CODES.split() else f"`{name}`: {words}"
            if own not in found.setdefault(code, own):
                found[code] += f"; {own}"
    return sorted(found.items(), key=lambda item: int(item[0]))


def _family() -> list[type[errors.OtadtkError]]:
    return [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.OtadtkError)
    ]


def protocols_page() -> str:
    """Every protocol, with its file."""
    lines = [
        "# Protocols",
        "",
        "A protocol pins everything that makes a published table: encoder, rate, resampler, metrics "
        "and constants. These are the files that come with otadtk. "
        "[How to use one](../how-to/tables.md#protocols).",
        "",
    ]
    for name in protocol_names():
        protocol = load_protocol(name)
        lines += [f"## {name}", "", f"Version {protocol.version}: {protocol.title}.", ""]
        lines += ["```ini", protocol.text.rstrip(), "```", ""]
    return "\n".join(lines)


def schema_page() -> str:
    """The fields of a JSON document, as tables."""
    schema = document_schema()
    lines = [
        "# The JSON document",
        "",
        "What `--json` writes: scores, statistics, clips, audit and provenance in one document. "
        f"{schema['description']} The [whole schema](document-1.json) is a file that validators read.",
        "",
    ]
    for kind in schema["oneOf"]:
        lines += _object(f"A document of kind `{kind['properties']['kind']['const']}`", kind)
    for name, part in schema["$defs"].items():
        lines += _object(f"`{name}`", part)
    return "\n".join(lines)


def schema_file() -> str:
    """The schema itself."""
    return json.dumps(document_schema(), indent=1, ensure_ascii=False) + "\n"


def _object(title: str, part: dict[str, Any]) -> list[str]:
    whole = _inner(part)
    if whole is None:
        return []
    lines = [f"## {title}", "", part.get("description", ""), ""]
    lines += ["| field | type | always there | meaning |", "|---|---|---|---|"]
    for name, field, required in _fields(whole):
        words = field.get("description", "").replace("|", "\\|")
        lines.append(f"| `{name}` | {_kind(field)} | {'yes' if required else 'no'} | {words} |")
    return [*lines, ""]


def _fields(part: dict[str, Any], before: str = "") -> Iterator[tuple[str, dict[str, Any], bool]]:
    """The fields of an object and of the objects within it, by name: ``model.name``, ``clips[].p``."""
    for name, field in part["properties"].items():
        yield before + name, field, name in part.get("required", ())
        within = _inner(field)
        if within is not None:
            several = "[]" if _is_list(field) else ""
            yield from _fields(within, f"{before}{name}{several}.")


def _inner(field: dict[str, Any]) -> dict[str, Any] | None:
    """The object that a field holds, alone, in a list, or as an alternative to null."""
    if "properties" in field:
        return field
    for option in (*field.get("anyOf", ()), *([field["items"]] if "items" in field else ())):
        found = _inner(option)
        if found is not None:
            return found
    return None


def _is_list(field: dict[str, Any]) -> bool:
    return "items" in field or any(map(_is_list, field.get("anyOf", ())))


def _kind(field: dict[str, Any]) -> str:
    """The type of a field in a few words; parts that have a table of their own are links."""
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[-1]
        linked = _inner(document_schema()["$defs"].get(name, {})) is not None
        return f"[`{name}`](#{name.lower()})" if linked else f"`{name}`"
    if "const" in field:
        return f"`{json.dumps(field['const'])}`"
    if "enum" in field:
        return ", ".join(f"`{json.dumps(value)}`" for value in field["enum"])
    for choice in ("anyOf", "oneOf"):
        if choice in field:
            return " or ".join(_kind(option) for option in field[choice])
    kind = field.get("type", "any")
    if isinstance(kind, list):
        return " or ".join(kind)
    if kind == "array" and "items" in field:
        return f"list of {_kind(field['items'])}"
    return str(kind)
