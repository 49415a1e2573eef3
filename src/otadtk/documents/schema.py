"""The JSON schema of a document: a fixed part, and what each registered metric adds to it."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from otadtk.metrics.registry import all_metrics


def document_schema() -> dict[str, Any]:
    """The schema of the documents of this installation, with its plug-in metrics."""
    fixed = files("otadtk.documents") / "schemas" / "document-1.json"
    schema: dict[str, Any] = json.loads(fixed.read_text(encoding="utf-8"))
    score, comparison = (schema["$defs"][f"{kind}Result"] for kind in ("score", "comparison"))
    system = comparison["properties"]["systems"]["items"]
    metrics = [metric for _, metric in all_metrics()]
    for result in (score, comparison):
        result["properties"]["metric"]["enum"] = [metric.name for metric in metrics]
    for metric in metrics:
        for name, fact in metric.facts_schema.items():
            score["properties"][name] = fact
            system["properties"][name] = {
                "description": fact.get(
                    "description", f"What {metric.name} says beside its score."
                ),
                "anyOf": [fact, {"type": "null"}],
            }
            system["required"].append(name)
    return schema
