"""Logs evaluations to a run of MLflow."""

from __future__ import annotations

import tempfile
from pathlib import Path

from otadtk.evaluation.evaluate import Evaluation
from otadtk.loggers.content import WORST, content_of, histogram_figure, require


class MlflowLog:
    """Logs to a run by its id; without one to the run that is active."""

    def __init__(self, run_id: str | None = None, *, worst: int = WORST) -> None:
        require("mlflow", "mlflow")
        self._run_id, self._worst = run_id, worst

    def __call__(self, evaluation: Evaluation, step: int) -> None:
        """Metrics; costs, their histogram and the worst clips as artifacts of the step."""
        import mlflow
        import soundfile

        content = content_of(evaluation, worst=self._worst)
        mlflow.log_metrics(content.numbers, step=step, run_id=self._run_id)
        diagnostics = evaluation.measurement.diagnostics
        if diagnostics is None:
            return
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            diagnostics.to_csv(folder / "costs.csv", ascending=False)
            figure = histogram_figure(evaluation)
            if figure is not None:
                figure.savefig(folder / "costs.png", dpi=150, bbox_inches="tight")
            for clip in content.worst:
                name = f"worst_{clip.rank}_{Path(clip.name).stem}.wav"
                soundfile.write(folder / name, clip.sound.samples, clip.sound.sample_rate)
            target = f"{content.prefix}/step_{step:08d}"
            mlflow.log_artifacts(place, artifact_path=target, run_id=self._run_id)
