"""``otadtk-list-models``: the encoders, their licences, and whether their weights are here."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from otadtk.cli.command import EXIT_CODES, add_version, execute


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; gives its exit code."""
    return execute(_parser(), _run, arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="otadtk-list-models", description="List the encoders.", epilog=EXIT_CODES
    )
    parser.add_argument("--json", action="store_true", help="all that is known, as JSON")
    parser.add_argument(
        "--check", action="store_true", help="verify every weight file that is on this machine"
    )
    parser.add_argument(
        "--fetch", nargs="+", metavar="MODEL", help="get the weights of these encoders now"
    )
    add_version(parser)
    return parser


def _run(options: argparse.Namespace) -> None:
    if options.fetch:
        for name in options.fetch:
            _fetch(name)
        return
    if options.check:
        _check()
        return
    rows = _rows()
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    _print_table(rows)


def _print_table(rows: Sequence[dict[str, Any]]) -> None:
    columns = (
        *("name", "dim", "rate", "licence", "commercial", "weights", "adapters"),
        *("summary", "training_data", "paper"),
    )
    titles = [column.replace("_", " ") for column in columns]
    table = [titles, *([str(row[column]) for column in columns] for row in rows)]
    widths = [max(len(line[i]) for line in table) for i in range(len(columns))]
    for line in table:
        print(
            "  ".join(f"{text:<{width}}" for text, width in zip(line, widths, strict=True)).rstrip()
        )


def _check() -> None:
    """Verify the weight files that are here; a bad one is named, and the command fails."""
    from otadtk.encoders import get_spec, list_models, plug_ins
    from otadtk.errors import WeightsError
    from otadtk.weights import check_present

    bad = 0
    for name in list_models():
        if name in plug_ins() or not (spec := get_spec(name)).weights:
            continue
        findings = check_present(spec.name, spec.weights)
        for said, sound in findings:
            print(f"{name}: {said}")
            bad += not sound
        if not findings:
            print(f"{name}: not here yet")
    if bad:
        raise WeightsError(f"{bad} weight file(s) are not what they should be.")


def _fetch(name: str) -> None:
    """Make sure that an encoder's weights are on this machine."""
    from otadtk.encoders import get_encoder, get_spec
    from otadtk.weights import find_converted

    spec = get_spec(name)
    if find_converted(spec.name, spec.weights) is None:
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
            unasked = ("dim", "rate", "licence", "commercial", "weights", "adapters")
            unknown = dict.fromkeys((*unasked, "paper", "training_data"), "?")
            rows.append({"name": name, **unknown, "summary": f"plug-in: {point.value}"})
            continue
        spec = get_spec(name)
        place = find_converted(spec.name, spec.weights)
        if not spec.weights:
            weights = "none needed"
        elif place is None:
            weights = "not here yet"
        else:
            weights = "in the package" if place.parent == BUNDLED else "in the cache"
        rows.append(
            {
                "name": name,
                "dim": spec.dim,
                "rate": spec.sample_rate,
                "licence": spec.licence,
                "commercial": "yes" if spec.commercial_use else "no",
                "weights": weights,
                "weights_path": str(place) if place is not None and spec.weights else None,
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
