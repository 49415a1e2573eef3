"""``otadtk-adapters``: list, verify, import, remove and describe adapters (learned ground metrics)."""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from otadtk.cli.shared.common_options import add_version
from otadtk.cli.shared.execute import EXIT_CODES, execute
from otadtk.errors import AdapterError, OtadtkError, UsageError

if TYPE_CHECKING:
    from otadtk.adapter import KnownAdapter
    from otadtk.adapter.card import AdapterCard

logger = logging.getLogger(__name__)

_ORDER = """An adapter is taken from the first of: --adapter-checkpoint FILE;
$OTADTK_CHECKPOINTS/<encoder>/<variant>.safetensors; the user's cache; bundled or published."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    return execute(_parser(), lambda options: options.run(options), arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="otadtk-adapters",
        description="The learned ground metrics (adapters).",
        epilog=f"{_ORDER} {EXIT_CODES}",
    )
    add_version(parser)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="all known and installed adapters")
    listing.add_argument("--json", action="store_true", help="all fields, as JSON")
    listing.set_defaults(run=_list)
    check = commands.add_parser("verify", help="check hashes and cards; exit 4 if one is wrong")
    check.add_argument("files", nargs="*", type=Path, metavar="FILE", help="only these files")
    check.set_defaults(run=_verify)
    take = commands.add_parser("import", help="check an adapter file and put it into the cache")
    take.add_argument(
        "file", type=Path, help="an adapter of otadtk-train, or a .pt of otadtk 0.1.2"
    )
    take.add_argument("--model", help="the encoder that a .pt was trained on")
    take.add_argument("--variant", choices=["agnostic", "native"], help="the variant of a .pt")
    take.add_argument("--force", action="store_true", help="replace an existing one")
    take.set_defaults(run=_import)
    leave = commands.add_parser("remove", help="take an imported adapter out of the cache again")
    leave.add_argument("adapter", metavar="ENCODER/VARIANT")
    leave.set_defaults(run=_remove)
    info = commands.add_parser("info", help="the provenance of an adapter")
    info.add_argument("adapter", help="a file, or ENCODER/VARIANT")
    info.set_defaults(run=_info)
    fetch = commands.add_parser("fetch", help="download the eighteen published adapters")
    fetch.set_defaults(run=_fetch)
    return parser


def _user_files() -> Iterator[Path]:
    from otadtk.adapter import user_places

    for folder in user_places():
        yield from sorted(folder.glob("*/*.safetensors"))


def _where(known: KnownAdapter) -> str:
    from otadtk.adapter.manifest import published_files
    from otadtk.weights import find_converted

    if known.file:
        return "bundled" if known.path.is_file() else "missing"
    found = find_converted("adapters-otadtk-0.1.2", published_files())
    return str(found) if found is not None else "fetched on demand"


def _list(options: argparse.Namespace) -> None:
    from otadtk.adapter import default_variant
    from otadtk.adapter.manifest import known_adapters

    rows = []
    for path in _user_files():
        encoder, variant = path.parent.name, path.stem
        rows.append(
            {"encoder": encoder, "variant": variant, "default": variant == default_variant(encoder),
             "licence": "see info", "place": str(path), "origin": "yours", "note": ""}
        )  # fmt: skip
    taken = {(row["encoder"], row["variant"]) for row in rows}
    for known in known_adapters():
        hidden = (known.encoder, known.variant) in taken
        rows.append(
            {**asdict(known), "default": known.default and not hidden, "place": _where(known)}
        )
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    print(f"{'encoder':<12}{'variant':<10}{'default':<9}{'licence':<14}place")
    for row in rows:
        mark = "yes" if row["default"] else "-"
        print(
            f"{row['encoder']:<12}{row['variant']:<10}{mark:<9}{row['licence']:<14}{row['place']}"
            + (f"  ({row['note']})" if row["note"] else "")
        )


def _verify(options: argparse.Namespace) -> None:
    from otadtk.adapter.files import read_card
    from otadtk.adapter.manifest import known_adapters
    from otadtk.adapter.published import find_published, load_published
    from otadtk.weights import verify

    wrong = 0

    def report(name: str, error: OtadtkError | OSError | None, ok: str) -> None:
        nonlocal wrong
        wrong += error is not None
        print(f"{name}: {'WRONG: ' + str(error) if error is not None else ok}")

    for path in options.files or list(_user_files()):
        try:
            card, _ = read_card(path)
            report(str(path), None, f"ok, content {card.content[:12]}")
        except OtadtkError as error:
            report(str(path), error, "")
    for known in () if options.files else known_adapters():
        name = f"{known.encoder}/{known.variant}"
        try:
            if known.file:
                verify(known.path, known.digest)
                read_card(known.path)
                report(name, None, f"ok, {known.digest}")
            elif find_published() is None:
                print(f"{name}: not here yet; it must be {known.digest}")
            else:
                load_published(known)
                report(name, None, f"ok, converted from {known.digest}")
        except (OtadtkError, OSError) as error:
            report(name, error, "")
    if wrong:
        raise AdapterError(f"{wrong} adapters are damaged; see the lines marked WRONG.")


def _import(options: argparse.Namespace) -> None:
    from otadtk.adapter import known_adapter
    from otadtk.adapter.files import read_adapter, read_card, save_adapter
    from otadtk.adapter.importing import read_foreign
    from otadtk.encoders import get_spec
    from otadtk.encoders.wrappers import split_suffixes
    from otadtk.weights import adapter_cache

    foreign = options.file.suffix in (".pt", ".pth")
    if foreign and not (options.model and options.variant):
        raise UsageError("A .pt file does not say what it is: add --model and --variant.")
    if not foreign and (options.model or options.variant):
        raise UsageError("--model and --variant belong to .pt files; this one says what it is.")
    if foreign:
        spec = get_spec(options.model)
        network, card = read_foreign(options.file, spec, options.variant)
    else:
        card, _ = read_card(options.file)
        spec = get_spec(split_suffixes(card.encoder)[0])
        read_adapter(options.file, spec)  # fails if it does not fit the encoder
    target = adapter_cache() / spec.name / f"{card.variant}.safetensors"
    if target.exists() and not options.force:
        raise UsageError(f"{target} exists; --force replaces it.")
    if foreign:
        save_adapter(network, target, spec, card.variant, card)
    else:
        from otadtk.files.atomic import replacing

        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target) as file:
            file.write(options.file.read_bytes())
    content = read_card(target)[0].content
    print(target)
    if known_adapter(spec.name, card.variant) is not None:
        logger.warning(
            "from now on this file is the %s adapter of %s, in place of the one that comes with "
            "otadtk; every output names its content %s. otadtk-adapters remove %s/%s undoes it",
            card.variant, spec.name, content[:12], spec.name, card.variant,
        )  # fmt: skip
    else:
        command = f"otadtk {spec.name} REF EVAL --variant {card.variant}"
        logger.info("content %s; %s uses it", content[:12], command)


def _remove(options: argparse.Namespace) -> None:
    from otadtk.adapter import VARIANTS, known_adapter
    from otadtk.adapter.files import read_card
    from otadtk.weights import adapter_cache

    encoder, _, variant = options.adapter.partition("/")
    if not encoder or variant not in VARIANTS or variant == "raw":
        known = ", ".join(name for name in VARIANTS if name != "raw")
        raise UsageError(f"{options.adapter} is not ENCODER/VARIANT; the variants are {known}.")
    path = adapter_cache() / encoder / f"{variant}.safetensors"
    if not path.is_file():
        raise UsageError(
            f"There is no imported {variant} adapter of {encoder}: {path} does not exist."
        )
    try:
        content = read_card(path)[0].content[:12]
    except AdapterError:  # a damaged file can be removed all the more
        content = "damaged"
    path.unlink()
    print(f"removed {path}  content {content}")
    if known_adapter(encoder, variant) is not None:
        logger.info("the %s adapter that comes with otadtk counts again", variant)


def _info(options: argparse.Namespace) -> None:
    print(json.dumps(_describe(options.adapter), indent=2, ensure_ascii=False))


def _describe(text: str) -> dict[str, object]:
    from otadtk.adapter import VARIANTS, KnownAdapter, find_adapter
    from otadtk.adapter.files import read_card

    path = Path(text)
    if path.is_file():
        return _card(read_card(path)[0], path)
    encoder, _, variant = text.partition("/")
    found = find_adapter(encoder, variant) if variant in VARIANTS else None
    if found is None:
        raise UsageError(f"{text} is neither a file nor a known ENCODER/VARIANT.")
    if isinstance(found, Path):
        return _card(read_card(found)[0], found)
    known = asdict(found)
    if isinstance(found, KnownAdapter) and found.file:
        return {**known, **_card(read_card(found.path)[0], found.path)}
    return {**known, "place": _where(found)}


def _card(card: AdapterCard, path: Path) -> dict[str, object]:
    from otadtk.weights import digest_of

    return {**asdict(card), "place": str(path), "sha256": digest_of(path)}


def _fetch(options: argparse.Namespace) -> None:
    from otadtk.adapter.published import fetch_published

    print(fetch_published())


if __name__ == "__main__":
    raise SystemExit(main())
