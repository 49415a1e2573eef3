"""``otadtk-embeds -m MODEL … -d DIR …``: fill the embedding cache without scoring."""

from __future__ import annotations

import argparse
import logging
import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from otadtk.adapter import VARIANTS
from otadtk.cli.inputs.reading_options import add_reading_options, reading_options
from otadtk.cli.shared.common_options import add_common_options
from otadtk.cli.shared.engine_options import add_engine_options, chosen_engine
from otadtk.cli.shared.execute import EXIT_CODES, execute, suggest
from otadtk.cli.shared.output_files import check_output
from otadtk.errors import AudioError, UsageError

if TYPE_CHECKING:
    from otadtk.embed import EmbeddingSet
    from otadtk.engine import Engine

logger = logging.getLogger(__name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    return execute(_parser(), _run, arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="otadtk-embeds",
        usage="%(prog)s -m MODEL [MODEL ...] -d DIR [DIR ...] [options]",
        description="Embed folders of audio into the cache that otadtk scores from.",
        epilog=EXIT_CODES,
    )
    parser.add_argument("-m", "--model", nargs="+", required=True, help="encoder names, or all")
    parser.add_argument(
        "-d",
        "--dirs",
        nargs="+",
        type=Path,
        required=True,
        help="folders or files of audio, globs, @lists, manifests, shards",
    )
    outputs = parser.add_argument_group("outputs besides the cache")
    outputs.add_argument(
        "--export",
        type=Path,
        metavar="FILE",
        help="write the embeddings of one folder by one model (.npy, .npz, .parquet, .otadpack)",
    )
    outputs.add_argument(
        "--variant",
        choices=VARIANTS,
        help="with --export: the embeddings after that adapter (default: raw)",
    )
    outputs.add_argument(
        "--layout",
        choices=["kadtk"],
        help="write frames next to the audio, where that tool looks for them",
    )
    add_reading_options(parser)
    add_common_options(parser)
    add_engine_options(parser)
    return parser


def _run(options: argparse.Namespace) -> None:
    with chosen_engine(options) as engine:
        _embed(options, engine)


def _embed(options: argparse.Namespace, engine: Engine) -> None:
    from otadtk.audio.heard import chosen_reading
    from otadtk.embed import AudioPass, EmbedOptions, LazyEncoder
    from otadtk.embed.formats.caches import write_kadtk_layout
    from otadtk.embed.formats.table import export_set
    from otadtk.embed.store import EmbeddingStore
    from otadtk.encoders import get_spec, list_models
    from otadtk.encoders.frames import with_frames
    from otadtk.encoders.spec import with_reading
    from otadtk.files.remote import url_of
    from otadtk.metrics.ground import load_ground_metric, spec_to_score

    names = list_models() if "all" in options.model else list(dict.fromkeys(options.model))
    if options.weights is not None and len(names) > 1 and not options.weights.is_dir():
        raise UsageError("With several models --weights must be a folder with a folder per model.")
    _check_outputs(options, names)
    specs = [get_spec(name) for name in names]
    ground = load_ground_metric(specs[0], options.variant or "raw")
    if ground.adapter is not None:
        specs = [ground.spec]
    elif options.export is None and options.layout is None:
        specs = [spec_to_score(spec) for spec in specs]
    if options.layout is not None:
        specs = [with_frames(spec, options.layout) for spec in specs]
    reading = chosen_reading(**reading_options(options))  # type: ignore[misc]
    specs = [with_reading(spec, reading) for spec in specs]
    encoders = [LazyEncoder(spec, options.device, options.weights) for spec in specs]
    how = EmbedOptions(
        recursive=options.recursive,
        on_error=options.on_error,
        force=options.force_emb_encode,
        frames=options.layout,
    )
    audio = AudioPass(tuple(encoders), EmbeddingStore(options.cache_dir), engine, how)
    failures = []
    for folder in options.dirs:
        started = time.perf_counter()
        sets: list[EmbeddingSet] = []
        try:
            if options.export is None and options.layout is None:
                filled = audio.fill_store(folder)
                clips, encoded, bad = filled.clips, filled.encoded, filled.bad
            else:
                sets = audio.embed(folder)
                clips, encoded = len(sets[0].files), tuple(side.encoded for side in sets)
                bad = sets[0].bad
        except AudioError as error:  # the other folders are still embedded
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
                adapted = ground.adapt_set(embedded, options.device)
                spec = ground.adapted_spec(adapted.vectors.shape[1])
                export_set(adapted, folder, options.export, spec)
            if options.layout is not None:
                write_kadtk_layout(embedded, encoder.spec)
    if not failures and options.export is None and len(names) == 1:
        suggest(
            shlex.join(["otadtk", names[0], str(options.dirs[0]), "EVAL"]), "a score against it"
        )
    if failures:
        raise AudioError("\n".join(failures))


def _check_outputs(options: argparse.Namespace, names: Sequence[str]) -> None:
    from otadtk.embed.formats.table import check_export

    if options.export is None:
        if options.variant is not None:
            raise UsageError("--variant belongs to --export; remove it or add --export.")
        return
    if options.layout is not None:
        raise UsageError("--export writes clip vectors and --layout frames; ask for one of them.")
    if len(names) > 1 or len(options.dirs) > 1:
        raise UsageError("--export takes one model and one folder.")
    check_export(options.export)
    check_output(options.export)


if __name__ == "__main__":
    raise SystemExit(main())
