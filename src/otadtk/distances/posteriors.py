"""Kullback-Leibler divergences of paired class posteriors, and the Inception Score.

Both take logits: rows of clips, columns of classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torch.nn import functional

from otadtk.distances.validate import as_points, check_pair
from otadtk.errors import UsageError

Form = Literal["softmax", "sigmoid"]
FloatArray = NDArray[np.float64]


def divergences(
    target: ArrayLike | Tensor,
    other: ArrayLike | Tensor,
    form: Form = "softmax",
    epsilon: float = 0.0,
) -> FloatArray:
    """Σ_c p_c log(p_c / (q_c + ε)) of each pair of rows, p of ``target`` and q of ``other``.

    "softmax": the classes exclude each other, so this is KL(p ‖ q). "sigmoid": they do not, and
    the same sum over independent probabilities is taken, as audioldm_eval does; it is no
    divergence, and may be negative.

    >>> import numpy as np
    >>> p, q = np.log([[0.5, 0.5]]), np.log([[0.25, 0.75]])
    >>> round(float(divergences(p, q)[0]), 6)  # 0.5 log 2 + 0.5 log(2/3)
    0.143841
    """
    p, q = (as_points(side, "logits").cpu().double() for side in (target, other))
    check_pair(p, q)
    if len(p) != len(q):
        raise UsageError(f"Pairs need as many clips on both sides, not {len(p)} and {len(q)}.")
    if form not in ("softmax", "sigmoid"):
        raise UsageError(f"The form of a posterior must be softmax or sigmoid, not {form!r}.")
    log_p, log_q = _log_posterior(p, form), _log_posterior(q, form)
    if epsilon > 0.0:
        log_q = (log_q.exp() + epsilon).log()
    found: FloatArray = (log_p.exp() * (log_p - log_q)).sum(dim=1).numpy()
    return found


def _log_posterior(logits: Tensor, form: Form) -> Tensor:
    if form == "softmax":
        return functional.log_softmax(logits, dim=1)
    return functional.logsigmoid(logits)


@dataclass(frozen=True)
class InceptionScore:
    """The mean over the splits, and its standard deviation over them."""

    mean: float
    deviation: float


def inception_score(
    logits: ArrayLike | Tensor, splits: int = 1, seed: int | None = None
) -> InceptionScore:
    """The exponential of the mean KL(p(c | clip) ‖ p(c)) in each split of the clips.

    With a ``seed`` the clips are shuffled first, as torch-fidelity does.

    >>> import numpy as np
    >>> sure = 100.0 * np.eye(6)  # every clip is another class, without doubt
    >>> round(inception_score(sure).mean, 6)
    6.0
    """
    rows = as_points(logits, "logits").cpu().double()
    if not 1 <= splits <= len(rows):
        raise UsageError(f"{len(rows)} clips cannot be split into {splits} parts.")
    if seed is not None:
        order = np.random.RandomState(seed % 2**32).permutation(len(rows))
        rows = rows[torch.from_numpy(order)]
    scores = []
    for k in range(splits):
        log_p = functional.log_softmax(
            rows[k * len(rows) // splits : (k + 1) * len(rows) // splits], 1
        )
        p = log_p.exp()
        # p log p − p log mean: where a class has no share at all, 0 log 0 is 0
        log_mean = p.mean(dim=0, keepdim=True).clamp_min(1e-300).log()
        scores.append(float((p * (log_p - log_mean)).sum(dim=1).mean().exp()))
    return InceptionScore(float(np.mean(scores)), float(np.std(scores)))
