"""A methods paragraph and its references, from the JSON document of a run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from otadtk.citations import cite_jackknife, cite_metric, cite_model, key_of
from otadtk.differences import show_probability
from otadtk.errors import UsageError

_NAMES = {
    "OTAD": "Optimal Transport Audio Distance",
    "FAD": "Fréchet Audio Distance",
    "KAD": "Kernel Audio Distance",
}


def methods_paragraph(document: Mapping[str, Any]) -> str:
    """What was done and found, in one paragraph ready for a paper."""
    try:
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
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise UsageError(f"This is not a whole document of otadtk: {what}.") from error
    return " ".join(sentences)


def bibtex(document: Mapping[str, Any]) -> str:
    """The references of the paragraph."""
    results = document["results"]
    entries = [cite_metric(result["metric"]) for result in results]
    entries += [cite_jackknife() for result in results if _by_jackknife(result)]
    entries += [entry for result in results if (entry := cite_model(result["model"]))]
    return "\n\n".join(dict.fromkeys(entries))


def latex(paragraph: str) -> str:
    r"""The paragraph for a LaTeX file: ``[key]`` becomes ``\cite{key}``, signs become commands."""
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
    "R² = ": "$R^2$ = ",
    "ε": r"$\varepsilon$",
    "±": r"$\pm$",
    " \\%": r"\,\%",
    "é": r"\'e",
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
    for result in document["results"]:
        name = result["metric"]
        sentences.append(
            f"{_definition(result)} is {_number(result['score'])}"
            + (" (lower is closer)." if result is document["results"][0] else ".")
        )
        found = result["statistics"]
        if found["floor"] is not None:
            floor = found["floor"]
            above = floor["difference"]
            sentences.append(
                f"Two samples of one distribution score {_number(floor['mean'])} at these sizes "
                f"(mean of {floor['replicates']} permutations; 95 % between "
                f"{_number(floor['low'])} and {_number(floor['high'])}): the {name} lies "
                f"{_number(abs(above))} {'above' if above >= 0 else 'below'} this floor "
                f"(permutation test, p = {floor['p_value']:.3g})."
            )
        if found["interval"] is not None:
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
        lead = next(
            d for d in result["differences"] if (d["first"], d["second"]) == (first, second)
        )
        sentences.append(
            f"{_definition(result, several=several)} ranks them, closest first: {order}; {first} "
            f"is closer than "
            f"{second} by {_number(-lead['value'])} (95 % interval {_number(-lead['high'])} to "
            f"{_number(-lead['low'])}, {_resampling(lead)} with common reference clips{paired}; "
            f"probability {_probability(lead)})."
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
    """Whether the paragraph speaks of one."""
    if "differences" in result:
        return any(difference["method"] == "jackknife" for difference in result["differences"])
    return result["statistics"]["interval"] is not None


def _definition(result: Mapping[str, Any], *, several: bool = False) -> str:
    """The metric as it was computed; with ``several`` models it says on which."""
    name, settings = result["metric"], result["settings"]
    start = f"The {_NAMES[name]} ({name}) [{key_of(cite_metric(name))}]"
    model = f"{result['model']['name']} " if several else ""
    if name == "KAD":
        rule = result.get("bandwidth", {}).get("rule", settings["bandwidth"])
        sigma = result.get("bandwidth", {}).get("sigma")
        whose = {
            "eval": "the median distance within the evaluated set",
            "ref": "the median distance within the reference",
            "pooled": "the median distance within both sets",
        }.get(rule, "given")
        size = f", {_number(sigma)}" if sigma is not None else ""
        start += f" of {model}embeddings" if several else ""
        return f"{start} with a Gaussian kernel (bandwidth {whose}{size})"
    if name == "FAD":
        return f"{start} of {model}embeddings" if several else start
    scale = {"absolute": "", "mean_cost": " mean costs", "median_cost": " median costs"}
    how = {
        "sinkhorn": f"debiased Sinkhorn divergence, {settings['divergence']}, "
        f"ε = {settings['epsilon']:g}{scale[settings['epsilon_scale']]}",
        "exact": "exact optimal transport",
        "minibatch": f"minibatch approximation, ε = {settings['epsilon']:g}",
        "sliced": "sliced approximation",
    }[settings["coupling"]]
    exact = ""
    if result.get("certificate", {}).get("error_bar") is not None:
        certificate = result["certificate"]
        exact = (
            f"; relative duality gap {certificate['duality_gap']:.1g}, exact to "
            f"±{certificate['error_bar']:.1g}"
        )
    ground = f"raw {model}embeddings"
    if settings["variant"] != "raw":
        content = result["adapter"]["content"][:12] if result.get("adapter") else ""
        ground = f"{model}embeddings under the {settings['variant']} adapter {content}".rstrip()
    return f"{start} on {ground} ({how}, cost ‖x − y‖²{exact})"


def _all_given(document: Mapping[str, Any]) -> bool:
    """Whether nothing was embedded here."""
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
    return (
        f"Clips were mixed to mono, resampled to {model['sample_rate'] / 1000:g} kHz and embedded "
        f"by {model['name']}{cited} ({model['dimensions']} dimensions; fingerprint "
        f"{model['fingerprint'][:12]}{weights})."
    )


def _number(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.4g}".replace("-", "−", value < 0)
