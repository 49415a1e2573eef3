"""Sealed files: one line of JSON, raw float32 numbers, and the SHA-256 of both.

A corrupted file, or one of another program, is recognised, and no code in it is run.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

_DIGEST_BYTES = 32


def seal(header: dict[str, Any], values: NDArray[np.float32]) -> bytes:
    """The bytes of a sealed file; ``shape`` is added to the header."""
    line = json.dumps({**header, "shape": list(values.shape)}).encode()
    body = line + b"\n" + values.astype("<f4").tobytes()
    return body + hashlib.sha256(body).digest()


def unseal(content: bytes) -> tuple[dict[str, Any], NDArray[np.float32]] | None:
    """The header and the numbers, or ``None`` when this is no sealed file or it is corrupted."""
    body, digest = content[:-_DIGEST_BYTES], content[-_DIGEST_BYTES:]
    if hashlib.sha256(body).digest() != digest:
        return None
    line, _, raw = body.partition(b"\n")
    try:
        header = json.loads(line)
        shape = header["shape"]
        if not all(type(side) is int and side >= 0 for side in shape):
            return None
        values = np.frombuffer(raw, dtype="<f4").reshape(shape).astype(np.float32)
    except (ValueError, KeyError, TypeError, RecursionError):  # another program's file
        return None
    return header, values
