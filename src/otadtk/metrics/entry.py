"""What a metric declares: its name and citation, what it accepts, its options, its known values.

Nothing here is heavy, so that a command can show its options without loading torch.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from otadtk.metrics.diagnostics import OTADDiagnostics

    Array = NDArray[np.floating]

NO_SCHEMA: Mapping[str, Any] = {}
Input = Literal["vectors", "frames", "moments", "class_scores", "pairs"]
"""What of a set a metric can compare."""


@dataclass(frozen=True)
class Option:
    """A keyword of a metric's class that is also an option of the commands."""

    name: str
    help: str
    default: Any = None
    """What the class takes when the option is not given."""
    parse: Callable[[str], Any] = str
    """From the text of the command line."""
    choices: tuple[str, ...] | None = None
    metavar: str | None = None
    is_data: bool = False
    """Whether it names files that are scored, as captions, and is no setting of the metric."""
    asks: bool = False
    """Whether it asks for its metric: a command that gets it computes the metric, too."""

    @property
    def flag(self) -> str:
        """The option as it is typed."""
        return flag_of(self.name)


@dataclass(frozen=True)
class Measurement:
    """A score, and what else its metric found on the way."""

    score: float
    values: Mapping[str, float] = field(default_factory=dict)
    """Further numbers by name, of a metric that gives several; the score is the first of them."""
    description: str = ""
    """How the score was computed, in one line."""
    notes: tuple[str, ...] = ()
    """What a reader of the score should know, one sentence each."""
    converged: bool = True
    """Whether the score is what was asked for, to the solver's tolerance."""
    details: tuple[str, ...] = ()
    """Further findings for the reader, printed below the score, one line each."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the JSON document says of this score alone, as the metric's ``facts_schema`` has it."""
    diagnostics: OTADDiagnostics | None = None
    """The costs of single clips, of a metric that has them."""

    @property
    def named(self) -> str:
        """Which of several numbers the score is; empty where there is one."""
        return next(iter(self.values), "")


@dataclass(frozen=True)
class GoldenValue:
    """A known value of a distance between two fixed sets, for the self-test."""

    what: str
    value: float
    compute: Callable[[Any, Any], float]
    tolerance: float = 1e-4
    """Largest relative deviation."""


class MetricEntry:
    """What a metric declares: everything that commands, documents and tests ask of it by name."""

    name: ClassVar[str]
    """As it is printed."""
    title: ClassVar[str]
    """In full."""
    citation: ClassVar[str]
    """BibTeX."""
    higher_is_better: ClassVar[bool] = False
    unbiased: ClassVar[bool] = False
    """Whether the expected score is the same at every number of clips."""
    has_floor: ClassVar[bool] = True
    """Whether clips of both sets may change places."""
    why_no_floor: ClassVar[str] = ""
    """Why they may not, for a message."""
    has_limit: ClassVar[bool] = True
    """Whether its bias falls as 1/N, so that scores of subsets lead to that of infinitely many clips."""
    accepts: ClassVar[frozenset[Input]] = frozenset({"vectors"})
    """What of a set this metric can compare."""
    reads_texts: ClassVar[bool] = False
    """Whether clips are compared with texts, which ``encode_texts`` takes, and not with other clips."""
    least_clips: ClassVar[int] = 1
    """Clips that each side must have."""
    has_clip_costs: ClassVar[bool] = False
    """Whether its measurements have the costs of single clips."""
    draws: ClassVar[bool] = False
    """Whether its class takes a ``seed``, for what it draws."""
    has_flag: ClassVar[bool] = False
    """Whether the commands have an option of its name, as --fad, beside --metrics."""
    options: ClassVar[tuple[Option, ...]] = ()
    """Keywords of the class that are options of the commands, too."""
    facts_schema: ClassVar[Mapping[str, Any]] = NO_SCHEMA
    """JSON schema of the ``facts`` of its measurements, by name."""

    @classmethod
    def direction(cls) -> str:
        """Which way is better, in words."""
        return "higher is better" if cls.higher_is_better else "lower is closer"

    @classmethod
    def check_options(cls, given: Mapping[str, Any]) -> None:
        """A UsageError for options of a command, by name, that do nothing together."""
        return

    @classmethod
    def define(cls, result: Mapping[str, Any], embeddings: str) -> str:
        """How it was computed, after its name, for a methods paragraph.

        ``result`` is that of the JSON document; ``embeddings`` names them, or is empty where one
        encoder serves all.
        """
        raw = result["settings"].get("variant", "raw") == "raw"
        of = embeddings if raw else ground_words(result, embeddings)
        return f"of {of}" if of else ""

    @classmethod
    def compare_vectors(cls, ref: Array, test: Array) -> float | None:
        """The score of raw vectors with default settings; ``None`` where vectors do not suffice.

        The report shows it beside the scores that were asked for.
        """
        return None

    @classmethod
    def golden_values(cls) -> Sequence[GoldenValue]:
        """Known values between the fixed sets of the self-test."""
        return ()


def no_limit(metric: str) -> str:
    """Why a metric has no limit, and what to take instead."""
    return (
        f"{metric} has no limit by a fit in 1/N, because its bias falls more slowly; take the excess "
        f"(--excess), which is 0 in expectation for samples of one distribution."
    )


def ground_words(result: Mapping[str, Any], embeddings: str) -> str:
    """The embeddings and the adapter of a result of the JSON document, for a methods paragraph."""
    variant = result["settings"].get("variant", "raw")
    if variant == "raw":
        return f"raw {embeddings or 'embeddings'}"
    content = result["adapter"]["content"][:12] if result.get("adapter") else ""
    return f"{embeddings or 'embeddings'} under the {variant} adapter {content}".rstrip()


def flag_of(name: str) -> str:
    """An option as it is typed: ``epsilon_scale`` is ``--epsilon-scale``."""
    return "--" + name.replace("_", "-")


def positive_float(text: str) -> float:
    """An argparse type: a finite number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number


def not_negative(text: str) -> float:
    """An argparse type: 0 or a finite number above."""
    try:
        return 0.0 if float(text) == 0.0 else positive_float(text)
    except (ValueError, argparse.ArgumentTypeError):
        raise argparse.ArgumentTypeError(f"{text!r} is not 0 or a number above") from None


def positive_whole(text: str) -> int:
    """An argparse type: a whole number above 0."""
    number = int(text) if text.isdecimal() and len(text) < 10 else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return number


def some_of(names: Sequence[str], shown: int = 5) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more


_ALL_MEMORY = 1e18


def byte_count(text: str) -> int:
    """An argparse type: a number of bytes, as 500M or 4G."""
    units = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
    unit = units.get(text[-1:].upper(), 1)
    number = positive_float(text[:-1] if unit > 1 else text) * unit
    if not 1.0 <= number <= _ALL_MEMORY:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size between 1 byte and 10^18")
    return int(number)
