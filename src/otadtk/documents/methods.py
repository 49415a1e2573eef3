"""A methods paragraph and its references, from the JSON document of a run."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from otadtk.documents.citations import cite_jackknife, cite_model, key_of
from otadtk.errors import UsageError
from otadtk.files.printable import readable
from otadtk.metrics.registry import metric_printed_as
from otadtk.statistics.differences import show_probability


def methods_paragraph(document: Mapping[str, Any]) -> str:
    """A paragraph for a paper: the method and the results."""
    with _whole():
        kind, made = document["kind"], document["provenance"]
        if kind == "audit":
            raise UsageError("This document holds an audit and no score: there is no method.")
        write = {"score": _score_sentences, "comparison": _comparison_sentences}[kind]
        models = {result["model"]["name"]: result["model"] for result in document["results"]}
        sentences = [
            *write(document),
            *(_model_sentence(model, given=_all_given(document)) for model in models.values()),
            f"All numbers were computed with otadtk {made['otadtk']} (PyTorch "
            f"{made['libraries']['torch']}, device {made['device']}, seed {made['seed']}).",
        ]
        return " ".join(sentences)


def bibtex(document: Mapping[str, Any]) -> str:
    """The references of the paragraph."""
    with _whole():
        results = document["results"]
        entries = [metric_printed_as(result["metric"]).citation for result in results]
        entries += [cite_jackknife() for result in results if _by_jackknife(result)]
        entries += [entry for result in results if (entry := cite_model(result["model"]))]
        return "\n\n".join(dict.fromkeys(entries))


@contextmanager
def _whole() -> Iterator[None]:
    """Refuses a document in which something is missing or of another kind than it should be."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError, StopIteration) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise UsageError(f"This is not a whole document of otadtk: {readable(what)}.") from error


def latex(paragraph: str) -> str:
    r"""The paragraph as LaTeX: ``[key]`` becomes ``\cite{key}``, symbols become commands."""
    text = paragraph.translate(_ESCAPES)
    text = re.sub(r" \[([a-z0-9]+-?[a-z0-9-]*)\]", r"~\\cite{\1}", text)
    text = re.sub(r"(\d(?:\.\d+)?)e([+-]\d+)", _power, text)
    for sign, command in _SIGNS.items():
        text = text.replace(sign, command)
    return text


def _power(found: re.Match[str]) -> str:
    return rf"${found[1]}\times10^{{{int(found[2])}}}$"


_ESCAPES = str.maketrans(
    {sign: rf"\{sign}" for sign in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
)
_SIGNS = {
    "‖x − y‖²": r"$\|x - y\|^2$",
    "(⟨x, y⟩/d + 1)³": r"$(\langle x, y \rangle / d + 1)^3$",
    " ‖ ": r" $\|$ ",
    "R² = ": "$R^2$ = ",
    "ε": r"$\varepsilon$",
    "±": r"$\pm$",
    " \\%": r"\,\%",
    "é": r"\'e",
    "–": "--",
    "−": "$-$",
}


def _score_sentences(document: Mapping[str, Any]) -> list[str]:
    sets = document["sets"]
    n, m = sets["reference"]["clips"], sets["evaluated"]["clips"]
    compared = sets["reference"]["compared"]
    frames = ", frame by frame" if compared == "frames" else ""
    known = f"{n} reference clips" if n else "a mean and covariance given as reference"
    sentences = [f"We compared {m} evaluated clips with {known}{frames}."]
    if any(side["note"] for side in sets.values()) and not _all_given(document):
        notes = (f"{name}: {side['note']}" for name, side in sets.items() if side["note"])
        sentences.append(f"Not all sets are audio ({'; '.join(notes)}).")
    protocol = document["provenance"].get("protocol")
    if protocol is not None:
        changed = f" ({', '.join(protocol['changed'])})" if protocol["changed"] else ""
        sentences.append(
            f"The numbers follow the protocol {protocol['name']}{changed}, version "
            f"{protocol['version']}."
        )
    several = len({result["model"]["name"] for result in document["results"]}) > 1
    for result in document["results"]:
        name = result["metric"]
        sentences.append(
            f"{_definition(result, several=several)} is {_numbers(result)} "
            f"({metric_printed_as(name).direction()})."
        )
        found = result["statistics"]
        if found["floor"] is not None:
            floor = found["floor"]
            above = floor["difference"]
            sentences.append(
                f"Two samples of one distribution score {_number(floor['mean'])} at these sizes "
                f"(mean of {floor['replicates']} permutations{_within(floor)}; 95 % between "
                f"{_number(floor['low'])} and {_number(floor['high'])}): the {name} lies "
                f"{_number(abs(above))} {'above' if above >= 0 else 'below'} this floor "
                f"(permutation test, p = {floor['p_value']:.3g})."
            )
        if found.get("excess") is not None:
            excess = found["excess"]
            sentences.append(
                f"Its excess over samples of one distribution, from {excess['splits']} random splits "
                f"of both sets into halves, is {_number(excess['value'])} (95 % interval "
                f"{_span(excess['low'], excess['high'])})."
            )
        if found.get("paired") is not None:
            paired = found["paired"]
            sentences.append(
                f"The mean cost of the {len(paired['costs'])} pairs is {_number(paired['mean'])}."
            )
        judged = (result.get("verdicts") or {}).get("evaluated")
        if judged is not None:
            share = judged["share"]
            sentences.append(
                f"By conformal {_VERDICT_BY[judged['method']]}, {judged['bad']} of "
                f"{judged['clips']} evaluated clips are worse than reference clips at a false "
                f"discovery rate of {100 * judged['fdr']:g} %; the share of spoilt clips is "
                f"{100 * share['low']:.0f} to {100 * share['high']:.0f} % (95 % interval), and p = "
                f"{judged['some_bad_p_value']:.2g} for none."
            )
        if found["interval"] is not None and not _bounded(found["interval"]):
            sentences.append(f"No interval of the {name} holds, because a few far clips decide it.")
        elif found["interval"] is not None:
            interval = found["interval"]
            sentences.append(
                f"A 95 % interval of the expected {name} at these sizes, by a grouped two-sample "
                f"jackknife with its bias in variance taken off [{key_of(cite_jackknife())}], is "
                f"{_number(interval['low'])} to {_number(interval['high'])}."
            )
        if found["limit"] is not None:
            limit = found["limit"]
            sentences.append(
                f"A linear fit in 1/N (R² = {limit['r_squared']:.3f}) extrapolates to "
                f"{_number(limit['value'])} for infinitely many clips."
            )
    if all(result["statistics"]["floor"] is None for result in document["results"]):
        sentences.append(
            "What two samples of one distribution score at these sizes was not computed: these "
            "scores are comparable with others of the same numbers of clips only."
        )
    return sentences


_VERDICT_BY = {
    "swapped": "p-values from the whole reference (Benjamini–Hochberg)",
    "held out": "p-values from a held-out half of the reference (Benjamini–Hochberg)",
}
"""By the method of the verdicts."""


def _within(floor: Mapping[str, Any]) -> str:
    return {"strata": " within groups", "pairs": " within pairs"}.get(floor.get("design", ""), "")


def _comparison_sentences(document: Mapping[str, Any]) -> list[str]:
    results = document["results"]
    count = len(results[0]["systems"])
    sentences = [
        f"We compared {count} systems by their distance from "
        f"{results[0]['reference_clips']} reference clips."
    ]
    several = len({result["model"]["name"] for result in results}) > 1
    paired = " and paired evaluated clips" if results[0]["paired"] else ""
    for result in results:
        order = ", ".join(f"{s['name']} ({_number(s['score'])})" for s in result["systems"])
        first, second = (system["name"] for system in result["systems"][:2])
        higher = metric_printed_as(result["metric"]).higher_is_better
        most, more = ("best", "better") if higher else ("closest", "closer")
        ends = (second, first) if higher else (first, second)
        lead = next(d for d in result["differences"] if (d["first"], d["second"]) == ends)
        sentences.append(
            f"{_definition(result, several=several)} ranks them, {most} first: {order}; {first} "
            f"is {more} than "
            f"{second} by {_number(-lead['value'])} (95 % interval "
            f"{_span(lead['high'], lead['low'], -1.0)}, {_resampling(lead)} with common reference "
            f"clips{paired}; probability {_probability(lead)})."
        )
        floors = [(s["name"], s["floor"]) for s in result["systems"] if s.get("floor") is not None]
        if floors:
            listed = ", ".join(
                f"{name} {_number(floor['mean'])} (p = {floor['p_value']:.3g}{_within(floor)})"
                for name, floor in floors
            )
            sentences.append(f"Two samples of one distribution score, by permutation: {listed}.")
        excesses = [(s["name"], s["excess"]) for s in result["systems"] if s.get("excess")]
        if excesses:
            listed = ", ".join(
                f"{name} {_number(excess['value'])} ({_span(excess['low'], excess['high'])})"
                for name, excess in excesses
            )
            sentences.append(
                f"The excess over samples of one distribution, with 95 % intervals: {listed}."
            )
    return sentences


def _probability(difference: Mapping[str, Any]) -> str:
    names = ("probability", "method", "replicates")
    return show_probability(*(difference[name] for name in names))


def _resampling(difference: Mapping[str, Any]) -> str:
    if difference["method"] == "bootstrap":
        return f"centred bootstrap of {difference['replicates']} replicates"
    return f"grouped jackknife [{key_of(cite_jackknife())}]"


def _by_jackknife(result: Mapping[str, Any]) -> bool:
    """Whether the result has intervals by jackknife."""
    if "differences" in result:
        return any(difference["method"] == "jackknife" for difference in result["differences"])
    return result["statistics"]["interval"] is not None


def _definition(result: Mapping[str, Any], *, several: bool = False) -> str:
    """How the metric was computed; with ``several`` models, on which embeddings."""
    metric = metric_printed_as(result["metric"])
    start = f"The {metric.title} ({metric.name}) [{key_of(metric.citation)}]"
    embeddings = f"{result['model']['name']} embeddings" if several else ""
    return f"{start} {metric.define(result, embeddings)}".rstrip()


def _all_given(document: Mapping[str, Any]) -> bool:
    """Whether all embeddings were given, and nothing was embedded."""
    sets = document.get("sets", {})
    return bool(sets) and all(side["note"] for side in sets.values())


def _model_sentence(model: Mapping[str, Any], *, given: bool) -> str:
    if not model["dimensions"]:
        return "The embeddings were computed elsewhere."
    hashes = ", ".join(weight["digest"].removeprefix("sha256:")[:12] for weight in model["weights"])
    weights = f"; weights of SHA-256 {hashes}" if hashes else ""
    entry = cite_model(model)
    cited = f" [{key_of(entry)}]" if entry is not None else ""
    if given:
        return f"The embeddings, given as those of {model['name']}{cited}, were computed elsewhere."
    steps = model["preprocessing"].partition("; read: ")[2].partition(";")[0]
    how = f"read ({steps})" if steps else "mixed to mono, resampled"
    return (
        f"Clips were {how} to {model['sample_rate'] / 1000:g} kHz and embedded "
        f"by {model['name']}{cited} ({model['dimensions']} dimensions; fingerprint "
        f"{model['fingerprint'][:12]}{weights})."
    )


def _numbers(result: Mapping[str, Any]) -> str:
    """The score, or every number by its name where a metric gives several."""
    if "values" not in result:
        return _number(result["score"])
    *others, last = (f"{_number(value)} ({name})" for name, value in result["values"].items())
    return f"{', '.join(others)} and {last}" if others else last


def _number(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.4g}".replace("-", "−", value < 0)


def _span(low: float | None, high: float | None, sign: float = 1.0) -> str:
    """An interval in words; "none" where a few far clips decide a score."""
    if low is None or high is None or not math.isfinite(high - low):
        return "none, because a few far clips decide a score"
    return f"{_number(sign * low)} to {_number(sign * high)}"


def _bounded(interval: Mapping[str, Any]) -> bool:
    """Whether an interval holds; in a file its ends are null if none does."""
    ends = (interval["low"], interval["high"])
    return all(end is not None and math.isfinite(end) for end in ends)
