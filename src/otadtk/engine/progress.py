"""The progress bar of every long run: on a terminal, in a notebook, and nowhere else."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any


def in_notebook() -> bool:
    """Whether this is the kernel of a notebook: outputs go to a page, not to a terminal."""
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive is not None else None
    return getattr(shell, "kernel", None) is not None


def progress_bar(**options: Any) -> Any:
    """A tqdm bar with these options; hidden where the error stream is a file or a pipe.

    In a notebook it is a widget, or a line of text without ipywidgets, and goes when the run is done:
    the result shows itself.
    """
    if not in_notebook():
        from tqdm import tqdm

        return tqdm(disable=None, **options)
    if find_spec("ipywidgets") is not None:
        from tqdm.notebook import tqdm as widget

        return widget(leave=False, **options)
    from tqdm import tqdm

    return tqdm(disable=False, leave=False, ncols=80, file=sys.stdout, **options)
