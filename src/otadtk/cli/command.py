"""What all commands share: logging to stderr, one-line errors, exit codes, common options."""

from __future__ import annotations

import argparse
import logging
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from otadtk import __version__
from otadtk.errors import OtadtkError, UsageError

EXIT_CODES = """exit codes: 0 done; 1 unforeseen; 2 usage; 3 input audio or embeddings;
4 weights or adapter; 5 not converged under --strict; 130 interrupted"""

Command = Callable[[argparse.Namespace], None]


def execute(
    parser: argparse.ArgumentParser, command: Command, arguments: Sequence[str] | None
) -> int:
    """Parse, run, and turn errors into one clear line and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # file names that are not UTF-8
    parsed = parser.parse_args(arguments)
    given = sys.argv[1:] if arguments is None else arguments
    parsed.command_line = shlex.join([parser.prog, *given])
    level = logging.WARNING if getattr(parsed, "quiet", False) else logging.INFO
    try:
        with _logging_to_stderr(parser.prog, level):
            command(parsed)
    except OtadtkError as error:
        print(f"{parser.prog}: error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(f"{parser.prog}: interrupted; what was embedded is kept", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output has gone, as with `| head`
        sys.stderr.close()
        return 1
    except OSError as error:  # a disk that is full, a file that has gone
        place = f"{error.filename}: " if error.filename else ""
        print(f"{parser.prog}: error: {place}{error.strerror or error}", file=sys.stderr)
        return 1
    return 0


@contextmanager
def _logging_to_stderr(program: str, level: int) -> Iterator[None]:
    """Log to stderr in the command's name; what was configured before comes back afterwards."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter(program))
    logger = logging.getLogger("otadtk")
    before = logger.handlers, logger.level
    logger.handlers = [handler]
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.handlers = before[0]
        logger.setLevel(before[1])


class _Formatter(logging.Formatter):
    def __init__(self, program: str) -> None:
        super().__init__()
        self._program = program

    def format(self, record: logging.LogRecord) -> str:
        warning = "warning: " if record.levelno >= logging.WARNING else ""
        return f"{self._program}: {warning}{record.getMessage()}"


def add_common_options(parser: argparse.ArgumentParser) -> None:
    """Options of every command that embeds audio."""
    group = parser.add_argument_group("audio and embeddings")
    group.add_argument("--device", help="cpu, cuda, mps … (default: cuda if there is one)")
    group.add_argument(
        "--workers", type=positive_int, metavar="N", help="clips at a time (default: one per core)"
    )
    group.add_argument(
        "--no-recursive", dest="recursive", action="store_false", help="leave subfolders out"
    )
    group.add_argument(
        *("--on-error",),
        choices=["fail", "skip"],
        default="fail",
        help="what to do with unreadable audio (default: fail, after naming all of it)",
    )
    group.add_argument(
        "--force-emb-encode", action="store_true", help="embed again what the cache has"
    )
    group.add_argument("--cache-dir", type=Path, metavar="DIR", help="where embeddings are kept")
    group.add_argument(
        *("--weights",),
        type=Path,
        metavar="PATH",
        help="your own copy of the encoder's published weights (file or folder)",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="warnings and errors only")
    add_version(parser)


def add_source_options(parser: argparse.ArgumentParser) -> None:
    """Where embeddings come from, if not from audio by clip vectors."""
    group = parser.add_argument_group("other embeddings")
    group.add_argument(
        *("--frames",),
        choices=["own", "kadtk", "fadtk"],
        help="compare frames, not clips (FAD, KAD): the encoder's own, or as that tool has them",
    )
    group.add_argument(
        *("--import-cache",),
        choices=["kadtk", "fadtk", "otadtk-0.1.2"],
        help="read what that tool cached beside the audio, instead of embedding",
    )


def add_version(parser: argparse.ArgumentParser) -> None:
    """``--version``, as every command has it."""
    parser.add_argument("--version", action="version", version=f"otadtk {__version__}")


def positive_int(text: str) -> int:
    """An argparse type: a whole number above 0."""
    number = int(text) if text.lstrip("+-").isdigit() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return number


def seed_number(text: str) -> int:
    """An argparse type: a whole number, 0 or above."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 0 or above")
    return int(text)


def positive_float(text: str) -> float:
    """An argparse type: a finite number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number


def check_outputs(outputs: Mapping[str, Path | None], inputs: Sequence[Path | None]) -> None:
    """Refuse before any work outputs, by their options, that cannot be written or clash."""
    owners = {path.resolve(): str(path) for path in inputs if path is not None}
    for flag, path in outputs.items():
        check_output(path)
        if path is not None and path.resolve() in owners:
            raise UsageError(f"{flag} would overwrite {owners[path.resolve()]}; name another file.")
        if path is not None:
            owners[path.resolve()] = f"what {flag} writes"


def check_output(path: Path | None) -> None:
    """Refuse an output path that cannot be written before any work is done."""
    if path is None:
        return
    if str(path) == "-":
        raise UsageError("- stands for stdout with --json only; name a file.")
    if path.is_dir():
        raise UsageError(f"{path} is a folder; name a file to write.")
    if path.exists() and not path.is_file():  # a device would be replaced by a file
        raise UsageError(f"{path} is no regular file; name a file to write.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from error
