"""Options that several commands have, and which of them were given."""

from __future__ import annotations

import argparse
from pathlib import Path

from otadtk import __version__

AUDIO_GROUP = "audio and embeddings"
SOURCE_GROUP = "other embeddings"


def add_common_options(parser: argparse.ArgumentParser) -> None:
    """Options of every command that embeds audio."""
    group = parser.add_argument_group(AUDIO_GROUP)
    group.add_argument("--device", help="cpu, cuda, mps … (default: cuda if there is one)")
    group.add_argument(
        "--workers", type=positive_int, metavar="N", help="clips at a time (default: one per core)"
    )
    group.add_argument(
        "--no-recursive", dest="recursive", action="store_false", help="leave subfolders out"
    )
    group.add_argument(
        "--on-error",
        choices=["fail", "skip"],
        default="fail",
        help="what to do with unreadable audio (default: fail, after naming all files)",
    )
    group.add_argument(
        "--force-emb-encode", action="store_true", help="embed again what is in the cache"
    )
    group.add_argument("--cache-dir", type=Path, metavar="DIR", help="where embeddings are kept")
    group.add_argument(
        "--weights",
        type=Path,
        metavar="PATH",
        help="your own copy of the encoder's published weights (file or folder)",
    )
    much = parser.add_mutually_exclusive_group()
    much.add_argument("-q", "--quiet", action="store_true", help="warnings and errors only")
    much.add_argument(
        "-v", "--verbose", action="store_true", help="name every clip that the audit finds odd, too"
    )
    add_version(parser)


def add_source_options(parser: argparse.ArgumentParser) -> None:
    """Options for embeddings other than clip vectors of audio."""
    group = parser.add_argument_group(SOURCE_GROUP)
    group.add_argument(
        "--frames",
        choices=["own", "kadtk", "fadtk", "audioldm-eval"],
        help="compare frames, not clips (FAD, KAD): the encoder's own, or those of that tool",
    )
    group.add_argument(
        "--import-cache",
        choices=["kadtk", "fadtk", "otadtk-0.1.2"],
        help="read what that tool cached beside the audio, instead of embedding",
    )


def add_version(parser: argparse.ArgumentParser) -> None:
    """``--version``."""
    parser.add_argument("--version", action="version", version=f"otadtk {__version__}")


def given_in(options: argparse.Namespace, *titles: str) -> list[str]:
    """The flags that were given among these groups of options."""
    groups = [group for group in options.parser._action_groups if group.title in titles]
    found = []
    for action in (action for group in groups for action in group._group_actions):
        value = getattr(options, action.dest)
        is_flag = action.nargs == 0  # flags may share one destination
        if value != action.default and (not is_flag or value == action.const):
            found.append(action.option_strings[0])
    return found


def group_titles(options: argparse.Namespace) -> list[str]:
    """The titles of the command's groups of options."""
    parser = options.parser
    return [group.title for group in parser._action_groups[2:]]  # after the two of argparse


LARGEST_COUNT = 1_000_000_000
"""More permutations, workers or epochs than that are a slip."""
LARGEST_SEED = 2**63 - 1


def positive_int(text: str) -> int:
    """An argparse type: a whole number above 0."""
    number = int(text) if len(text) < 20 and text.lstrip("+-").isdecimal() else 0
    if not 1 <= number <= LARGEST_COUNT:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a whole number above 0 ({LARGEST_COUNT:,} at most)"
        )
    return number


def seed_number(text: str) -> int:
    """An argparse type: a whole number, 0 or above, that every generator takes."""
    if not text.isdecimal() or len(text) > 30 or int(text) > LARGEST_SEED:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 0 or above, below 2^63")
    return int(text)


def rate(text: str) -> float:
    """An argparse type: a number between 0 and 1."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0.0 < number < 1.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number between 0 and 1")
    return number
