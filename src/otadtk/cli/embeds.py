"""``otadtk-embeds -m MODEL … -d DIR …``: fill the embedding cache without scoring."""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from otadtk.cli.command import EXIT_CODES, add_common_options, check_output, execute
from otadtk.cli.engines import add_engine_options, chosen_engine
from otadtk.errors import AudioError, UsageError

if TYPE_CHECKING:
    from otadtk.embed import EmbeddingSet, OnError
    from otadtk.engine import Engine
    from otadtk.store import Kind

logger = logging.getLogger(__name__)


class _How(TypedDict):
    """What embedding with and without results in memory have in common."""

    recursive: bool
    workers: int | None
    engine: Engine | None
    force: bool
    on_error: OnError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; gives its exit code."""
    return execute(_parser(), _run, arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="otadtk-embeds",
        usage="%(prog)s -m MODEL [MODEL ...] -d DIR [DIR ...] [options]",
        description="Embed folders of audio into the cache that otadtk scores from.",
        epilog=EXIT_CODES,
    )
    parser.add_argument(*("-m", "--model"), nargs="+", required=True, help="encoder names, or all")
    parser.add_argument(
        "-d", "--dirs", nargs="+", type=Path, required=True, help="folders or files of audio"
    )
    outputs = parser.add_argument_group("outputs besides the cache")
    outputs.add_argument(
        *("--export",),
        type=Path,
        metavar="FILE",
        help="write the embeddings of one folder by one model (.npy, .npz, .parquet, .otadpack)",
    )
    outputs.add_argument(
        *("--layout",),
        choices=["kadtk"],
        help="write frames where that tool looks for them, beside the audio",
    )
    add_common_options(parser)
    add_engine_options(parser)
    return parser


def _run(options: argparse.Namespace) -> None:
    with chosen_engine(options) as engine:
        _embed(options, engine)


def _embed(options: argparse.Namespace, engine: Engine | None) -> None:
    from otadtk.embed import LazyEncoder, embed_all, fill_store
    from otadtk.encoders import get_spec, list_models
    from otadtk.encoders.frames import with_frames
    from otadtk.places import url_of
    from otadtk.sources.caches import write_kadtk_layout
    from otadtk.sources.export import export_set
    from otadtk.store import EmbeddingStore

    store = EmbeddingStore(options.cache_dir)
    names = list_models() if "all" in options.model else list(dict.fromkeys(options.model))
    if options.weights is not None and len(names) > 1 and not options.weights.is_dir():
        raise UsageError("With several models --weights is a folder, with a folder for each model.")
    _check_outputs(options, names)
    specs = [get_spec(name) for name in names]
    if options.layout is not None:
        specs = [with_frames(spec, options.layout) for spec in specs]
    encoders = [LazyEncoder(spec, options.device, options.weights) for spec in specs]
    failures = []
    for folder in options.dirs:
        started = time.perf_counter()
        how: _How = {
            "recursive": options.recursive,
            "workers": options.workers,
            "engine": engine,
            "force": options.force_emb_encode,
            "on_error": options.on_error,
        }
        sets: list[EmbeddingSet] = []
        try:
            if options.export is None and options.layout is None:
                filled = fill_store(folder, encoders, store, **how)
                clips, encoded, bad = filled.clips, filled.encoded, filled.bad
            else:
                kind: Kind = "clip" if options.layout is None else "frames"
                sets = embed_all(folder, encoders, store, kind=kind, **how)
                clips, encoded = len(sets[0].files), tuple(side.encoded for side in sets)
                bad = sets[0].bad
        except AudioError as error:  # the other folders are embedded all the same
            failures.append(str(error))
            continue
        seconds = time.perf_counter() - started
        for clip in bad:
            logger.warning("left out: %s: %s", url_of(clip.path), clip.reason)
        for encoder, count in zip(encoders, encoded, strict=True):
            name = f"{encoder.spec.name} {url_of(folder)}"
            print(f"{name}: {clips} clips, {count} embedded now, {seconds:.1f} s")
        for encoder, embedded in zip(encoders, sets, strict=False):
            if options.export is not None:
                export_set(embedded, folder, options.export, encoder.spec)
            if options.layout is not None:
                write_kadtk_layout(embedded, encoder.spec)
    if failures:
        raise AudioError("\n".join(failures))


def _check_outputs(options: argparse.Namespace, names: Sequence[str]) -> None:
    from otadtk.sources.export import check_export

    if options.export is None:
        return
    if options.layout is not None:
        raise UsageError("--export writes clip vectors and --layout frames; ask for one of them.")
    if len(names) > 1 or len(options.dirs) > 1:
        raise UsageError("--export takes one model and one folder.")
    check_export(options.export)
    check_output(options.export)


if __name__ == "__main__":
    raise SystemExit(main())
