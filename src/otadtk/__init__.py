"""otadtk: the Optimal Transport Audio Distance Toolkit.

How far is a folder of generated clips from a folder of real ones, and which clips are bad?

    from otadtk import OTAD
    print(OTAD(model="yamnet").score("real/", "generated/"))

Names load on first use, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from otadtk.adapter.files import load_adapter
    from otadtk.adapter.network import RiemannianAdapter
    from otadtk.encoders import get_encoder, list_models, register_encoder
    from otadtk.encoders.custom import BaseEncoder
    from otadtk.errors import (
        AdapterError,
        AudioError,
        NotConvergedError,
        OtadtkError,
        UsageError,
        WeightsError,
    )
    from otadtk.evaluation.compare import Comparison, compare
    from otadtk.evaluation.evaluate import Evaluation, evaluate
    from otadtk.metrics import FAD, KAD, OTAD, compute_fad, compute_kad
    from otadtk.metrics.diagnostics import OTADDiagnostics
    from otadtk.metrics.transport import compute_otad

__version__ = "0.2.0"
DISTRIBUTION = "otadtk-audio"
"""The name under which pip knows this package; ``otadtk`` there is the one of the paper's author."""

_HOME = {
    "otadtk.adapter.files": ("load_adapter",),
    "otadtk.adapter.network": ("RiemannianAdapter",),
    "otadtk.metrics.diagnostics": ("OTADDiagnostics",),
    "otadtk.encoders": ("get_encoder", "list_models", "register_encoder"),
    "otadtk.encoders.custom": ("BaseEncoder",),
    "otadtk.errors": (
        "AdapterError",
        "AudioError",
        "NotConvergedError",
        "OtadtkError",
        "UsageError",
        "WeightsError",
    ),
    "otadtk.metrics": ("FAD", "KAD", "OTAD", "compute_fad", "compute_kad"),
    "otadtk.metrics.transport": ("compute_otad",),
    "otadtk.evaluation.compare": ("Comparison", "compare"),
    "otadtk.evaluation.evaluate": ("Evaluation", "evaluate"),
    # not public names: results show and write themselves by these, which lie in rooms above theirs
    "otadtk.documents.results": ("ResultDocument",),
    "otadtk.report.page": ("write_report",),
    "otadtk.report.notebook": ("DiagnosticsPlots", "notebook_html"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "FAD",
    "KAD",
    "OTAD",
    "AdapterError",
    "AudioError",
    "BaseEncoder",
    "Comparison",
    "Evaluation",
    "NotConvergedError",
    "OTADDiagnostics",
    "OtadtkError",
    "RiemannianAdapter",
    "UsageError",
    "WeightsError",
    "__version__",
    "compare",
    "compute_fad",
    "compute_kad",
    "compute_otad",
    "evaluate",
    "get_encoder",
    "list_models",
    "load_adapter",
    "register_encoder",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'otadtk' has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
