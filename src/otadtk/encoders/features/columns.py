"""Which columns of a model's vectors are the vectors of a plainer model.

``yamnet+layers+signal`` has the vectors of ``yamnet`` and of ``yamnet+signal`` in it, so that one pack
serves several metrics. A model that reads at a higher rate (``+fullband``) resamples twice: the
columns are then those of the plain model to about 1e-3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from otadtk.encoders.features.measured import network_spec, parts_of
from otadtk.encoders.spec import EncoderSpec


def columns_within(wide: EncoderSpec, narrow: EncoderSpec) -> NDArray[np.int64] | None:
    """The columns of ``wide`` that are the vectors of ``narrow``; ``None`` if they are not in it."""
    if network_spec(wide) != network_spec(narrow):
        return None
    places: dict[str, slice] = {}
    start = 0
    for part, _ in parts_of(wide):
        if part.name.endswith("+layers") and part.inner is not None:  # the network comes first
            places[part.inner.fingerprint] = slice(start, start + part.inner.dim)
        places[part.fingerprint] = slice(start, start + part.dim)
        start += part.dim
    wanted = [places.get(part.fingerprint) for part, _ in parts_of(narrow)]
    found = [np.arange(place.start, place.stop) for place in wanted if place is not None]
    return np.concatenate(found) if len(found) == len(wanted) else None
