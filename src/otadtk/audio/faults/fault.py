"""One kind of fault and one family of kinds: what is done to a waveform, and by which parameter.

At the bottom of ``otadtk.audio.faults``: every family module makes a ``Family`` and adds to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Signal = NDArray[np.float64]
Make = Callable[[Signal, int, np.random.Generator, float], Signal]
"""Signal, rate, generator and the value of the kind's parameter give the spoilt signal."""


@dataclass(frozen=True)
class Fault:
    """A kind of fault, its one parameter, and the range of that parameter."""

    name: str
    family: str
    about: str
    """One line: what is done."""
    parameter: str
    """What is varied, with its unit."""
    mild: float
    """The value that nobody hears, or the mildest one that makes sense."""
    gross: float
    """The value at the far end; the calibration decides how much of the way is used."""
    make: Make
    geometric: bool = False
    """The parameter moves by equal ratios from mild to gross, not by equal steps."""
    aligned: bool = True
    """The clip keeps its time axis, so that a difference frame by frame means something."""
    missing: str = ""
    """What has to be installed before the kind can run; empty where it runs."""

    def value(self, travel: float) -> float:
        """The value of the parameter after a share of the way from mild to gross."""
        if self.geometric:
            return float(self.mild * (self.gross / self.mild) ** travel)
        return float(self.mild + (self.gross - self.mild) * travel)


@dataclass(frozen=True)
class Family:
    """Kinds of fault that have one cause; validation holds out whole families."""

    name: str
    kinds: dict[str, Fault] = field(default_factory=dict)

    def add(
        self,
        parameter: str,
        *,
        mild: float,
        gross: float,
        geometric: bool = False,
        aligned: bool = True,
        missing: str = "",
    ) -> Callable[[Make], Make]:
        """A decorator that adds a function as a kind: its name, and its first line as ``about``."""

        def added(make: Make) -> Make:
            name = make.__name__
            about = (make.__doc__ or "").strip().splitlines()[0].removesuffix(".")
            self.kinds[name] = Fault(
                name, self.name, about, parameter, mild, gross, make, geometric, aligned, missing
            )
            return make

        return added
