"""The result of a gate for a continuous integration: Markdown and JUnit XML."""

from __future__ import annotations

from xml.etree import ElementTree

from otadtk.files.printable import readable
from otadtk.tracking.gate import Gate
from otadtk.tracking.record import Record

CLIPS_LISTED = 10


def markdown(gate: Gate) -> str:
    """A section in Markdown: the decision, a table, the clips that are newly bad."""
    rise, limit = gate.difference, gate.max_rise
    paired = " of paired clips" if gate.paired else ""
    allowed = "" if limit is None else f" of more than {limit:g}"
    also = (
        ""
        if gate.rise.clips_p is None or limit is not None
        else ", or more clips far from the reference"
    )
    sentence = gate.sentence()
    lines = [
        f"## otadtk: {'❌ worse than the baseline' if gate.worse else '✅ not worse'}",
        "",
        f"{sentence[0].upper()}{sentence[1:]}.",
        "",
        "| | clips | score | 95 % interval | floor | bad clips |",
        "|---|---:|---:|---:|---:|---:|",
        _row("baseline", gate.baseline),
        _row("this run", gate.current),
        f"| {gate.word}{paired} ({gate.rise.interval_name}) | | {rise.value:+.6f} | "
        f"{rise.low:+.6f} to {rise.high:+.6f} | | |",
        "",
        f"Fails for a {gate.word}{allowed} beyond noise{also}. With these numbers of clips a true "
        f"{gate.word} of {gate.detectable:.6f} is found in about 80 % of runs.",
    ]
    found = gate.newly_bad()
    if found:
        more = f" The worst {CLIPS_LISTED}:" if len(found) > CLIPS_LISTED else ""
        lines += ["", f"{len(found)} clips are bad that were not.{more}", ""]
        lines += [f"- {_plain(name)} (cost {clip.cost:.4g})" for name, clip in found[:CLIPS_LISTED]]
    return "\n".join(lines) + "\n"


def junit(gate: Gate, seconds: float) -> str:
    """A test suite of one case, as the readers of JUnit XML take it."""
    failures = str(int(gate.worse))
    suite = ElementTree.Element(
        "testsuite",
        {
            "name": "otadtk-gate",
            "tests": "1",
            "failures": failures,
            "errors": "0",
            "skipped": "0",
            "time": f"{seconds:.3f}",
        },
    )
    name = f"{gate.current.metric} of {readable(gate.current.path)} is not worse than the baseline"
    case = ElementTree.SubElement(
        suite,
        "testcase",
        {"classname": "otadtk.gate", "name": name, "time": f"{seconds:.3f}"},
    )
    if gate.worse:
        failure = ElementTree.SubElement(
            case, "failure", {"type": "worse", "message": gate.sentence()}
        )
        failure.text = markdown(gate)
    else:
        ElementTree.SubElement(case, "system-out").text = markdown(gate)
    whole = ElementTree.Element("testsuites", {"tests": "1", "failures": failures})
    whole.append(suite)
    ElementTree.indent(whole)
    text = ElementTree.tostring(whole, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _row(title: str, record: Record) -> str:
    floor, share = record.floor, record.share
    return (
        f"| {title} | {record.clips} | {record.score:.6f} | {record.interval.low:.6f} to "
        f"{record.interval.high:.6f} | {'' if floor is None else f'{floor.mean:.6f}'} | "
        f"{'' if share is None else share.bad} |"
    )


def _plain(name: str) -> str:
    """A file name in Markdown: nothing in it is markup."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>()#+!|~" else c for c in readable(name))
