"""What a notebook shows of a result: tables with players, and plots."""

from otadtk.report.notebook.plots import DiagnosticsPlots
from otadtk.report.notebook.views import notebook_html

__all__ = ["DiagnosticsPlots", "notebook_html"]
