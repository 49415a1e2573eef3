"""The summary of a report: the other scores, and its notes."""

from __future__ import annotations

import dataclasses

import numpy as np

from otadtk.embed import EmbeddingSet, LazyEncoder
from otadtk.encoders.features.with_signal import with_signal
from otadtk.metrics.diagnostics import Evidence, OTADDiagnostics
from otadtk.report.summary import Summary, audit_evidence, summarise
from tests.report.conftest import Scored


def summary_of(diagnostics: OTADDiagnostics, evidence: Evidence) -> Summary:
    return summarise(diagnostics, evidence, {}, None, audit_evidence(evidence))


def test_fad_and_kad_stand_on_the_encoders_own_vectors(scored: Scored) -> None:
    evidence = scored.diagnostics.evidence
    assert evidence is not None
    spec = with_signal(evidence.encoder.spec)

    def beside(side: EmbeddingSet, value: float) -> EmbeddingSet:
        features = np.full((len(side.files), spec.dim - side.vectors.shape[1]), value)
        vectors = np.concatenate([side.vectors, features.astype(np.float32)], axis=1)
        return dataclasses.replace(side, vectors=vectors)

    wider = dataclasses.replace(
        evidence,
        encoder=LazyEncoder(spec),
        reference=beside(evidence.reference, 0.0),
        evaluated=beside(evidence.evaluated, 1.0),
    )
    scores = [summary_of(scored.diagnostics, e).scores for e in (evidence, wider)]
    assert scores[0] == scores[1]


def test_silence_that_costs_little_is_said(scored: Scored) -> None:
    evidence = scored.diagnostics.evidence
    assert evidence is not None
    assert summary_of(scored.diagnostics, evidence).notes == ()
    silent = [k for k, flags in enumerate(scored.diagnostics.flags) if "silent" in flags]
    costs = scored.diagnostics.cj.copy()
    costs[silent] = 0.0
    cheap = dataclasses.replace(scored.diagnostics, cj=costs)
    (note,) = summary_of(cheap, evidence).notes
    assert note.startswith("The silent clip costs little by this metric (rank 30 of 30 at worst)")
