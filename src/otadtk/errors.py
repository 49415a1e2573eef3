"""All exceptions that otadtk raises on purpose, with the exit codes of the commands.

OtadtkError              1   anything else
├── UsageError           2   a wrong option, value or combination (also a ValueError)
├── AudioError           3   input audio or embeddings: missing, unreadable, empty, NaN
├── WeightsError         4   an encoder's weights: missing, wrong hash, unreadable
│   └── AdapterError     4   an adapter: missing, for other features, unreadable
└── NotConvergedError    5   the solver did not converge and --strict was asked for

``otadtk-gate`` exits with 6 for a set that is worse than its baseline, which is no error.
"""

from __future__ import annotations


class OtadtkError(Exception):
    """Base of all errors of otadtk; the commands print it without a traceback.

    ``exit_code`` is the code that a command then ends with.

    Examples:
        >>> from otadtk import OTAD, OtadtkError
        >>> try:
        ...     OTAD("nonsense")
        ... except OtadtkError as error:
        ...     print(error.exit_code)
        2
    """

    exit_code = 1


class UsageError(OtadtkError, ValueError):
    """A wrong argument: its value, its type, or its combination with others. Exit code 2."""

    exit_code = 2


class AudioError(OtadtkError):
    """Input audio or embeddings that cannot be scored; all bad files are named. Exit code 3."""

    exit_code = 3


class WeightsError(OtadtkError):
    """Encoder weights that are missing, damaged or of another encoder. Exit code 4."""

    exit_code = 4


class AdapterError(WeightsError):
    """An adapter that is missing, unreadable, or trained on other features. Exit code 4."""


class NotConvergedError(OtadtkError):
    """The solver missed its tolerance, and ``--strict`` was given. Exit code 5."""

    exit_code = 5
