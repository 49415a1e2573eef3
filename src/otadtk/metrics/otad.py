"""OTAD: the Optimal Transport Audio Distance, and the cost of every clip."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, final

from otadtk.adapter import default_variant
from otadtk.distances.transport import DEFAULT_EPSILON
from otadtk.encoders import COMPAT_NAMES, explain_compat, get_spec
from otadtk.errors import UsageError
from otadtk.metrics.base import AudioMetric, EmbeddingOptions, PathLike
from otadtk.metrics.entry import GoldenValue, Measurement, ground_words
from otadtk.metrics.ground import GroundMetric, load_ground_metric
from otadtk.metrics.otad_options import OPTIONS, check_otad_options

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from otadtk.adapter.network import Adapter
    from otadtk.adapter.volume import VolumeSummary
    from otadtk.distances.subsets import SubsetDistance
    from otadtk.distances.transport.couplings import CouplingName, TransportResult
    from otadtk.distances.transport.result import Coupling, DivergenceKind, EpsilonScale
    from otadtk.embed import EmbeddingSet
    from otadtk.encoders import EncoderSpec
    from otadtk.metrics.base import Array, Clips
    from otadtk.metrics.diagnostics import OTADDiagnostics

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class IndividualResult:
    """One evaluated clip and its transport cost."""

    file: Path
    cj: float
    cost: float
    """M·c_j, which does not shrink with the number of clips."""
    relative_cost: float
    """c_j over its median."""


@final
class OTAD(AudioMetric):
    """The Optimal Transport Audio Distance (Eq. 6) and the cost of each clip (Eq. 7).

    What you call:

        OTAD("yamnet").score("real/", "generated/")        the distance; lower is closer
        OTAD("yamnet").diagnose("real/", "generated/")     the cost of every clip, with plots and players
        evaluate(OTAD("yamnet"), "real/", "generated/")    with floor, p-value, interval and verdicts
        compare(OTAD("yamnet"), "real/", {"a": "a/", …})   several systems, ranked

    A place is a folder, a file, a glob, a list of files, a manifest, a pack or an array of embeddings.

    What is computed: OTAD = ⟨T_xy, C_xy⟩ − ½⟨T_xx, C_xx⟩ − ½⟨T_yy, C_yy⟩ with C_ij = ‖g(x_i) − g(y_j)‖²,
    the plans T of entropic transport at ε, and the adapter g. Its unit is that of the vectors, squared.
    Clip j costs c_j = Σ_i T_ij C_ij; these sum to ⟨T_xy, C_xy⟩.

    Args:
        model: The encoder: a name of ``list_models()``, ``path/to/file.py:Class``, ``hf:name#layer``, or
            "given" for embeddings computed elsewhere.
        variant: The ground metric: "raw" embeddings, or an adapter of the encoder by its name. Without
            it: the adapter that is installed or marked as the default of the encoder, otherwise raw.
            The attribute ``variant`` then says which, and ``card`` describes the adapter.
        epsilon: The regularisation, in squared distances: small ones give sharp plans.
        epsilon_scale: "absolute", or "mean_cost" or "median_cost" of which ε is a multiple.
        divergence: "sharp" sums ⟨T, C⟩, as the published package; "entropic" adds the entropy of plans.
        coupling: "sinkhorn", "exact", or the approximations "minibatch" and "sliced".
        max_memory: Bytes that the solver may use; larger problems are solved in tiles.
        seed: Of what "minibatch" and "sliced" draw.
        adapter: An adapter that is loaded already, instead of ``variant``.
        adapter_checkpoint: An adapter in a file, instead of ``variant``.
        compat: "otadtk-0.1.2" reproduces what that package computes: its arithmetic, its adapters, and
            the networks that it really runs under the names "audiomae" and "beats".
        **options: How audio becomes embeddings: ``device``, ``encoder`` (a loaded one), ``weights``,
            ``cache_dir``, ``recursive``, ``on_error`` ("fail" or "skip"), ``force_recompute``,
            ``engine``, ``reading`` and ``import_cache``; see ``EmbeddingOptions``.

    Raises:
        UsageError: A value or a combination of options that makes no sense.
        AdapterError: The variant is not there, or was trained on other features.

    Examples:
        >>> from otadtk import OTAD
        >>> metric = OTAD("logmel", epsilon=1.0, epsilon_scale="median_cost")
        >>> metric.score("real/", "generated/") > 0
        True
        >>> metric.variant
        'raw'
    """

    name = "OTAD"
    title = "Optimal Transport Audio Distance"
    citation = """@article{jeong2026otad,
  title   = {Optimal Transport Audio Distance with Learned {R}iemannian Ground Metrics},
  author  = {Jeong, Wonwoo},
  journal = {arXiv preprint arXiv:2605.05554},
  year    = {2026}
}"""
    has_clip_costs = True
    has_limit = False
    draws = True
    options = OPTIONS
    facts_schema: ClassVar[Mapping[str, Any]] = {
        "certificate": {
            "description": "OTAD: how exact the score is.",
            "$ref": "#/$defs/certificate",
        }
    }

    def __init__(
        self,
        model: str = "yamnet",
        *,
        variant: str | None = None,
        epsilon: float = DEFAULT_EPSILON,
        epsilon_scale: EpsilonScale = "absolute",
        divergence: DivergenceKind = "sharp",
        coupling: CouplingName = "sinkhorn",
        max_memory: int | None = None,
        seed: int = 0,
        adapter: Adapter | None = None,
        adapter_checkpoint: PathLike | None = None,
        compat: str | None = None,
        **options: Unpack[EmbeddingOptions],
    ) -> None:
        from otadtk.distances.transport.couplings import TransportSettings

        if compat is not None and compat not in COMPAT_NAMES:
            known = " or ".join(map(repr, COMPAT_NAMES))
            raise UsageError(f"compat must be {known}, not {compat!r}.")
        self._compat = compat
        super().__init__(
            model,
            variant=variant,
            adapter=adapter,
            adapter_checkpoint=adapter_checkpoint,
            **options,
        )
        renamed = explain_compat(model, compat)
        if renamed is not None:
            logger.warning("%s", renamed)
        self.settings = TransportSettings(
            epsilon, epsilon_scale, divergence, coupling, max_memory, compat, seed
        )
        self._solved: dict[str, Coupling] = {}

    def _find_spec(self, model: str) -> EncoderSpec:
        return get_spec(model, self._compat)

    def _find_ground_metric(
        self,
        spec: EncoderSpec,
        model: str,
        variant: str | None,
        adapter: Adapter | None,
        checkpoint: PathLike | None,
    ) -> GroundMetric:
        """By default the variant that the manifest names for the encoder."""
        name = model if self._compat else spec.name
        given = adapter is not None or checkpoint is not None
        chosen = variant or ("" if given else default_variant(name, compat=self._compat))
        return load_ground_metric(
            spec,
            chosen,
            adapter=adapter,
            checkpoint=checkpoint,
            compat=self._compat,
            published_name=name,
        )

    @property
    def label(self) -> str:
        """The name, and which approximation or whose arithmetic it is, if it is one."""
        apart = self.settings.apart
        return self.name if apart is None else f"{self.name} ({apart})"

    @property
    def settings_record(self) -> dict[str, Any]:
        """The variant and all choices of the solver."""
        return {"variant": self.variant, **asdict(self.settings)}

    @classmethod
    def check_options(cls, given: Mapping[str, Any]) -> None:
        """Refuse what the coupling or ``compat`` has no use for."""
        check_otad_options(given)

    def distance(self, ref: Array, test: Array) -> float:
        """The debiased transport cost between two sets of embeddings."""
        return self.transport(ref, test).value

    def transport(self, ref: Array, test: Array) -> TransportResult:
        """The full result of the solver; its notes are logged as warnings."""
        result = self._transport(ref, test)
        for note in result.notes:
            logger.warning("%s", note)
        return result

    def _transport(self, ref: Array, test: Array) -> TransportResult:
        """The same without a word; the term of the reference with itself is kept for the next."""
        from otadtk.distances.transport.result import Divergence
        from otadtk.metrics.transport import solve

        settings = self.settings
        reusable = settings.epsilon_scale == "absolute" and not settings.compat
        key = _content_key(ref, settings)
        known = self._solved.get(key) if reusable else None
        result = solve(ref, test, self.adapter, settings, self.device, known, engine=self.engine)
        if isinstance(result, Divergence):
            self._solved = {key: result.xx}
        return result

    def between(self, pool: Array) -> SubsetDistance:
        """The transport cost between subsets of a pool, each solved to a gap of 1e-4."""
        from otadtk.distances.subsets import transport_between
        from otadtk.metrics.memory import usable_memory

        (points,) = self.ground.adapt([pool], self.device)
        memory = usable_memory(self.settings.max_memory)
        return transport_between(points, replace(self.settings, max_memory=memory))

    def measure(self, reference: EmbeddingSet, evaluated: EmbeddingSet) -> Measurement:
        """The score with its certificate and the costs of every clip."""
        from otadtk.metrics.transport import certificate_record

        diagnostics = self._diagnose(reference, evaluated)
        result = diagnostics.transport
        assert result is not None
        adapter = f" (adapter {name})" if (name := self.ground.adapter_name) else ""
        space = f"{self.model_name}, variant {self.variant}{adapter}"
        return Measurement(
            diagnostics.score,
            description=f"OTAD with {space}: {result.describe()}",
            notes=tuple(result.notes),
            converged=result.converged,
            facts={"certificate": certificate_record(result)},
            diagnostics=diagnostics,
        )

    def volume(self, embeddings: Array) -> VolumeSummary | None:
        """How the adapter changes volumes around these embeddings; ``None`` without an adapter."""
        import torch

        from otadtk.adapter.volume import volume_summary

        if self.adapter is None:
            return None
        return volume_summary(self.adapter, torch.as_tensor(embeddings))

    def diagnose(
        self,
        ref: Clips,
        eval: Clips,
        *,
        sample_rate: int | None = None,
        workers: int | None = None,
    ) -> OTADDiagnostics:
        """The score and the transport cost of every evaluated clip; ``embed`` says what these are.

        Raises:
            AudioError: Files that cannot be scored; the message names all of them.
            WeightsError: The weights of the encoder are missing or damaged.
        """
        reference = self.embed(ref, sample_rate=sample_rate, workers=workers)
        evaluated = self.embed(eval, sample_rate=sample_rate, workers=workers)
        return self.diagnose_embedded(reference, evaluated)

    def diagnose_embedded(
        self, reference: EmbeddingSet, evaluated: EmbeddingSet
    ) -> OTADDiagnostics:
        """The same for sets that are embedded already."""
        diagnostics = self._diagnose(reference, evaluated)
        for note in diagnostics.transport.notes if diagnostics.transport is not None else ():
            logger.warning("%s", note)
        return diagnostics

    def _diagnose(self, reference: EmbeddingSet, evaluated: EmbeddingSet) -> OTADDiagnostics:
        from otadtk.metrics.diagnostics import Evidence, OTADDiagnostics

        result = self._transport(*self.points(reference, evaluated))
        minimum = self.spec.minimum_samples / self.spec.sample_rate
        return OTADDiagnostics(
            score=result.value,
            cj=result.cj,
            files=list(evaluated.files),
            model_name=self.model_name,
            variant=self.variant,
            epsilon=self.settings.epsilon,
            flags=evaluated.flags(minimum),
            transport=result,
            reference_files=list(reference.files),
            evidence=Evidence(
                reference,
                evaluated,
                self.embedder.encoder,
                self.embedder.store,
                self.settings,
                self.ground,
            ),
        )

    def score_individual(
        self,
        ref: Clips,
        eval: Clips,
        *,
        csv: PathLike | None = None,
        sample_rate: int | None = None,
        workers: int | None = None,
    ) -> list[IndividualResult]:
        """Every evaluated clip with its cost, best first; also written to ``csv`` if given."""
        diagnostics = self.diagnose(ref, eval, sample_rate=sample_rate, workers=workers)
        if csv is not None:
            diagnostics.to_csv(csv, ascending=True)
        order = diagnostics.cj.argsort(kind="stable")
        columns = (diagnostics.cj, diagnostics.cost, diagnostics.relative_cost)
        return [
            IndividualResult(diagnostics.files[j], *(float(column[j]) for column in columns))
            for j in order
        ]

    @classmethod
    def define(cls, result: Mapping[str, Any], embeddings: str) -> str:
        """The ground metric, the coupling, and how exact the number is."""
        settings = result["settings"]
        scale = {"absolute": "", "mean_cost": " mean costs", "median_cost": " median costs"}
        how = {
            "sinkhorn": f"debiased Sinkhorn divergence, {settings['divergence']}, "
            f"ε = {settings['epsilon']:g}{scale[settings['epsilon_scale']]}",
            "exact": "exact optimal transport",
            "minibatch": f"minibatch approximation, ε = {settings['epsilon']:g}",
            "sliced": "sliced approximation",
        }[settings["coupling"]]
        exact, certificate = "", result.get("certificate", {})
        if certificate.get("error_bar") is not None:
            exact = (
                f"; relative duality gap {certificate['duality_gap']:.1g}, exact to "
                f"±{certificate['error_bar']:.1g}"
            )
        ground = ground_words(result, embeddings)
        return f"on {ground} ({how}, cost ‖x − y‖²{exact})"

    @classmethod
    def golden_values(cls) -> Sequence[GoldenValue]:
        """One value for each coupling; the tests derive them by other means."""

        def by(**choices: Any) -> Callable[[Array, Array], float]:
            from otadtk.distances.transport.couplings import TransportSettings, transport

            return lambda x, y: transport(x, y, TransportSettings(**choices)).value

        drawn = 0.25  # other versions of numpy and torch may draw other numbers
        return (
            GoldenValue("OTAD, epsilon 0.1", 0.563226098, by(epsilon=0.1)),
            GoldenValue("OTAD, epsilon 10", 0.499857586, by(epsilon=10.0)),
            GoldenValue("OTAD, entropic", 0.509787184, by(epsilon=1.0, divergence="entropic")),
            GoldenValue("OTAD, exact", 0.558567621, by(coupling="exact")),
            GoldenValue("OTAD, minibatch", 0.587762005, by(coupling="minibatch", seed=0), drawn),
            GoldenValue("OTAD, sliced", 0.065723864, by(coupling="sliced", seed=0), drawn),
        )


def _content_key(points: Array, settings: object) -> str:
    """A hash of all that decides the reference's own term: values, shape, type and settings."""
    import numpy as np

    facts = f"{np.shape(points)} {np.asarray(points).dtype} {settings}"
    content = hashlib.sha256(np.ascontiguousarray(points).data)
    content.update(facts.encode())
    return content.hexdigest()
