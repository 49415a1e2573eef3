"""``otadtk-list-models``: the encoders, their licences, and whether their weights are installed."""

from __future__ import annotations

import argparse
import json
import logging
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from otadtk.cli.shared.common_options import add_version
from otadtk.cli.shared.execute import EXIT_CODES, execute
from otadtk.errors import UsageError

if TYPE_CHECKING:
    from otadtk.encoders import EncoderSpec

logger = logging.getLogger(__name__)

_WIDTH = 100
"""Characters of a line."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    return execute(_parser(), _run, arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="otadtk-list-models", description="List the encoders.", epilog=EXIT_CODES
    )
    parser.add_argument("name", nargs="?", help="all that is known of this encoder")
    parser.add_argument("--json", action="store_true", help="all fields, as JSON")
    parser.add_argument(
        "--check", action="store_true", help="verify every weight file that is on this machine"
    )
    parser.add_argument(
        "--fetch", nargs="+", metavar="MODEL", help="download the weights of these encoders"
    )
    parser.add_argument(
        "--verify",
        nargs="+",
        metavar="MODEL",
        help="compare the FAD of these encoders with scores that fadtk published (84 MB, once), and "
        "the labels of the demo's sounds with those that one expects",
    )
    add_version(parser)
    return parser


def _run(options: argparse.Namespace) -> None:
    from otadtk.encoders import get_spec

    if options.fetch:
        for name in options.fetch:
            _fetch(name)
        return
    if options.check:
        _check()
        return
    if options.verify:
        _verify(options.verify)
        return
    rows = _rows()
    if options.name is not None:
        rows = [row for row in rows if row["name"] == get_spec(options.name).name]
        if not rows:
            raise UsageError(f"{options.name!r} is made of a listed encoder; name that one.")
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    if options.name is not None:
        _print_one(rows[0])
    else:
        _print_table(rows)


def _print_table(rows: Sequence[dict[str, Any]]) -> None:
    """A line for each encoder, of at most ``_WIDTH`` characters."""
    columns = ("name", "dim", "rate", "licence", "commercial", "weights", "proof", "summary")
    short = [
        {**row, "proof": row["proof"].split(",")[0].removesuffix(" (--verify)")} for row in rows
    ]
    table = [columns, *([str(row[column]) for column in columns] for row in short)]
    widths = [max(len(line[i]) for line in table) for i in range(len(columns))]
    for line in table:
        cells = [f"{text:<{width}}" for text, width in zip(line, widths, strict=True)]
        text = "  ".join(cells).rstrip()
        print(text if len(text) <= _WIDTH else text[: _WIDTH - 1].rstrip() + "…")
    logger.info("otadtk-list-models NAME tells all of one encoder, --json all of all")


def _print_one(row: dict[str, Any]) -> None:
    """All that is known of one encoder, a line for each fact."""
    titles = {
        "name": row["name"],
        "what it is": row["summary"],
        "vector": f"{row['dim']} numbers, from audio at {row['rate']} Hz",
        "weights": row["weights_path"] or row["weights"],
        "licence": f"{row['licence']}; commercial use: {row['commercial']}",
        "proof": row["proof"],
        "adapters": row["adapters"],
        "trained on": row["training_data"],
        "paper": row["paper"],
        "preprocessing": row["preprocessing"],
        "fingerprint": row["fingerprint"],
    }
    for title, text in titles.items():
        lines = textwrap.wrap(str(text), _WIDTH - 15, break_long_words=False) or [""]
        print(f"{title:<15}" + f"\n{'':15}".join(lines))


def _check() -> None:
    """Verify the weight files on this machine; the command fails if one is damaged."""
    from otadtk.encoders import get_spec, list_models, plug_ins
    from otadtk.errors import WeightsError
    from otadtk.weights import check_present

    bad = 0
    for name in list_models():
        if name in plug_ins() or not (spec := get_spec(name)).weights:
            continue
        findings = check_present(spec.weights_name, spec.weights)
        for line, valid in findings:
            print(f"{name}: {line}")
            bad += not valid
        if not findings:
            print(f"{name}: not here yet")
    if bad:
        raise WeightsError(f"{bad} weight file(s) are damaged or not the published ones.")


def _verify(names: Sequence[str]) -> None:
    """Compare encoders with published scores and labels; the command fails if one deviates."""
    from otadtk.encoders import get_spec
    from otadtk.errors import WeightsError

    failed = []
    for spec in [get_spec(name) for name in names]:
        passed = True
        if spec.published_scores:
            passed = _verify_scores(spec)
        else:
            print(f"{spec.name}: no scores are published for it")
        if spec.classes:
            passed = _verify_labels(spec) and passed
        elif not spec.published_scores:
            by_original = "compared with its original, see docs/evidence/encoders.md"
            print(f"{spec.name}: {by_original if spec.compared_with_original else 'unverified'}")
        failed += [] if passed else [spec.name]
    if failed:
        raise WeightsError(f"{', '.join(failed)}: not what was published.")


def _verify_scores(spec: EncoderSpec) -> bool:
    from otadtk.device import resolve_device
    from otadtk.evaluation.verify import verify

    found = verify(spec, resolve_device(None))
    rows = zip(found.clips, found.ours, found.published, found.deviations, strict=True)
    for clip, ours, published, deviation in rows:
        print(f"  {clip:<12} {ours:10.4g} here {published:10.4g} published {deviation:7.2%}")
    print(f"{spec.name}: {found.summary}", flush=True)
    return found.passed


def _verify_labels(spec: EncoderSpec) -> bool:
    from otadtk.device import resolve_device
    from otadtk.encoders import load_encoder
    from otadtk.evaluation.labels import LABELS, prove_labels

    found = prove_labels(load_encoder(spec, resolve_device(None)))
    for kind, strongest in found.strongest.items():
        print(f"  {LABELS[kind][0]:<12} is strongest for {strongest:<9} expected: {kind}")
    print(f"{spec.name}: {found.summary}", flush=True)
    return found.passed


def _proof(spec: EncoderSpec) -> str:
    """What shows that an encoder with its published weights is the original."""
    if not spec.weights:
        return "none needed"
    proofs = ["original"] if spec.compared_with_original else []
    proofs += ["scores (--verify)"] if spec.published_scores else []
    shown = ", ".join(proofs) or "unverified"
    return f"{shown}, labels (--verify)" if spec.classes else shown


def _fetch(name: str) -> None:
    """Download an encoder's weights unless they are on this machine."""
    from otadtk.encoders import get_encoder, get_spec
    from otadtk.weights import find_converted

    spec = get_spec(name)
    if find_converted(spec.weights_name, spec.weights) is None:
        get_encoder(name, device="cpu")
    print(f"{name}: ready")


def _rows() -> list[dict[str, Any]]:
    from otadtk.adapter import known_variants
    from otadtk.encoders import get_spec, list_models, plug_ins
    from otadtk.weights import BUNDLED, find_converted

    rows: list[dict[str, Any]] = []
    for name in list_models():
        if name in plug_ins():  # not imported for a listing
            point = plug_ins()[name]
            fields = ("dim", "rate", "licence", "commercial", "weights", "proof", "adapters")
            further = ("paper", "training_data", "preprocessing", "fingerprint", "weights_path")
            unknown = dict.fromkeys((*fields, *further), "?")
            rows.append({"name": name, **unknown, "summary": f"plug-in: {point.value}"})
            continue
        spec = get_spec(name)
        path = find_converted(spec.weights_name, spec.weights)
        if not spec.weights:
            weights = "none needed"
        elif path is None:
            weights = "not here yet"
        else:
            weights = "in the package" if path.parent == BUNDLED else "in the cache"
        rows.append(
            {
                "name": name,
                "dim": spec.dim,
                "rate": spec.sample_rate,
                "licence": spec.licence,
                "commercial": "yes" if spec.commercial_use else "no",
                "weights": weights,
                "weights_path": str(path) if path is not None and spec.weights else None,
                "proof": _proof(spec),
                "adapters": " ".join(known_variants(spec.name)) or "-",
                "summary": spec.summary,
                "commercial_use": spec.commercial_use,
                "training_data": spec.training_data,
                "paper": spec.paper,
                "preprocessing": spec.preprocessing,
                "fingerprint": spec.fingerprint,
            }
        )
    return rows


if __name__ == "__main__":
    raise SystemExit(main())
