"""What generators and their pipelines do to audio, made on purpose, on one scale of strength."""

from otadtk.audio.faults.chain import Chain, Step, apply_chain, draw_chain, random_chain
from otadtk.audio.faults.fault import Fault
from otadtk.audio.faults.table import (
    ALL_FAULTS,
    FAMILIES,
    FAULTS,
    UNAVAILABLE,
    apply_fault,
    apply_value,
    value_of,
)

__all__ = [
    "ALL_FAULTS",
    "FAMILIES",
    "FAULTS",
    "UNAVAILABLE",
    "Chain",
    "Fault",
    "Step",
    "apply_chain",
    "apply_fault",
    "apply_value",
    "draw_chain",
    "random_chain",
    "value_of",
]
