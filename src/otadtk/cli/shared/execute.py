"""Runs a command: logging to stderr, one-line errors, exit codes."""

from __future__ import annotations

import argparse
import errno
import logging
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from otadtk.errors import OtadtkError, UsageError
from otadtk.files.printable import readable

EXIT_CODES = """exit codes: 0 done; 1 unforeseen; 2 usage; 3 input audio or embeddings;
4 weights or adapter; 5 not converged under --strict; 130 interrupted"""

_BAD_NAMES = (errno.ENAMETOOLONG, errno.ELOOP)
"""Errors of the system that are the user's: no file can have such a name."""
_LONG_NAME = 200

Command = Callable[[argparse.Namespace], int | None]
"""Returns its exit code; nothing for 0."""


def execute(
    parser: argparse.ArgumentParser, command: Command, arguments: Sequence[str] | None
) -> int:
    """Parse the arguments and run the command; errors become one line and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # file names that are not UTF-8
    parsed = parser.parse_args(arguments)
    parsed.parser = parser
    given = sys.argv[1:] if arguments is None else arguments
    parsed.command_line = shlex.join([parser.prog, *given])
    level = logging.DEBUG if getattr(parsed, "verbose", False) else logging.INFO
    level = logging.WARNING if getattr(parsed, "quiet", False) else level
    try:
        with _logging_to_stderr(parser.prog, level):
            return command(parsed) or 0
    except OtadtkError as error:
        # an error may name several files, a line for each
        lines = "\n".join(readable(line) for line in str(error).split("\n"))
        print(f"{parser.prog}: error: {lines}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(f"{parser.prog}: interrupted; what was embedded is kept", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output closed it, as `| head` does
        sys.stderr.close()
        return 1
    except OSError as error:  # a full disk, a deleted file, a name that the system does not take
        file = f"{_shortened(readable(str(error.filename)))}: " if error.filename else ""
        print(f"{parser.prog}: error: {file}{error.strerror or error}", file=sys.stderr)
        return UsageError.exit_code if error.errno in _BAD_NAMES else 1


def suggest(command: str, why: str) -> None:
    """Say in one line which command is the most useful next one."""
    logging.getLogger(__name__).info("next: %s  (%s)", command, why)


def _shortened(name: str) -> str:
    return name if len(name) <= _LONG_NAME else f"{name[:_LONG_NAME]}…"


@contextmanager
def _logging_to_stderr(program: str, level: int) -> Iterator[None]:
    """Log to stderr with the command's name; restores the previous configuration afterwards."""
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
        return f"{self._program}: {warning}{readable(record.getMessage())}"
