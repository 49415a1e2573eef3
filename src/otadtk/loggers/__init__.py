"""Writes evaluations into the logs of a training: TensorBoard, Weights & Biases, MLflow, Lightning.

    from otadtk.loggers import TensorBoardLog

    log = TensorBoardLog("runs/first")
    log(evaluate(OTAD("yamnet"), "real/", "step_1000/", null=99, fdr=0.1), step=1000)

Each needs the package of its name, and none of the others.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from otadtk.loggers.mlflow import MlflowLog
    from otadtk.loggers.tensorboard import TensorBoardLog
    from otadtk.loggers.wandb import WandbLog

_HOME = {"MlflowLog": "mlflow", "TensorBoardLog": "tensorboard", "WandbLog": "wandb"}

__all__ = ["MlflowLog", "TensorBoardLog", "WandbLog"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"otadtk.loggers.{_HOME[name]}"), name)
