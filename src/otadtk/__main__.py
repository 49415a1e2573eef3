"""``python -m otadtk`` is the command ``otadtk``."""

from otadtk.cli.score import main

raise SystemExit(main())
