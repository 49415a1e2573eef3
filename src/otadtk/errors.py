"""The one exception family that crosses the API; each class owns its exit code.

OtadtkError              1   anything unforeseen that otadtk itself noticed
├── UsageError           2   an option, a value or a combination that makes no sense (also a ValueError)
├── AudioError           3   input audio or embeddings: missing, unreadable, empty, NaN
├── WeightsError         4   an encoder's weights: missing, wrong hash, unreadable
│   └── AdapterError     4   an adapter: missing, foreign, unreadable
└── NotConvergedError    5   the solver did not converge and --strict was asked for
"""

from __future__ import annotations


class OtadtkError(Exception):
    """Base of every error that otadtk raises on purpose; the CLI prints it without a traceback."""

    exit_code = 1


class UsageError(OtadtkError, ValueError):
    """An argument that makes no sense: its value, its type, or its company."""

    exit_code = 2


class AudioError(OtadtkError):
    """Input audio that cannot be scored."""

    exit_code = 3


class WeightsError(OtadtkError):
    """Encoder weights that are missing or are not what they should be."""

    exit_code = 4


class AdapterError(WeightsError):
    """An adapter that is missing, unreadable, or trained on other features."""


class NotConvergedError(OtadtkError):
    """A solver result that missed its tolerance, under ``--strict``."""

    exit_code = 5
