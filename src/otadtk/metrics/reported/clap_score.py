"""CLAP score: how well clips fit their captions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, final

from otadtk.audio.inputs import may_have_columns
from otadtk.encoders import get_spec
from otadtk.encoders.networks.clap import SPEC as CLAP_SPEC
from otadtk.encoders.networks.clap import SPECS as CLAP_SPECS
from otadtk.errors import UsageError
from otadtk.metrics.base import AudioMetric, MetricOptions, PathLike
from otadtk.metrics.entry import Measurement, Option, some_of
from otadtk.metrics.pairing import read_column, read_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from otadtk.distances.subsets import SubsetDistance
    from otadtk.embed import EmbeddingSet
    from otadtk.encoders import EncoderSpec
    from otadtk.encoders.networks.clap.text import ClapText
    from otadtk.metrics.base import Array

NEEDS_CAPTIONS = (
    "The CLAP score needs captions: --captions CSV with file,caption, or a manifest with a column "
    "'caption' as the evaluated clips."
)


@final
class ClapScore(AudioMetric):
    """The mean cosine of clips and captions by CLAP; ``captions`` is a CSV of file,caption."""

    name = "CLAP"
    title = "CLAP Score"
    citation = CLAP_SPEC.citation
    higher_is_better = True
    unbiased = True
    has_floor = False
    why_no_floor = "it compares clips with their captions, and not with other clips"
    reads_texts = True
    options = (
        Option(
            "captions",
            help="a CSV of file,caption with the caption of every evaluated clip (default: the column "
            "caption of the manifest)",
            parse=Path,
            metavar="CSV",
            is_data=True,
        ),
        Option(
            "long_captions",
            help="what happens to captions of more than 77 tokens: they are an error (refuse, the "
            "default), or what is too long is left out (cut)",
            default="refuse",
            choices=("refuse", "cut"),
        ),
    )
    facts_schema: ClassVar[Mapping[str, Any]] = {
        "captioned": {
            "description": "CLAP score: each clip with its caption.",
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "file": {"type": "string", "description": "The clip."},
                    "caption": {"type": "string", "description": "Its caption."},
                    "cosine": {"type": "number", "description": "Cosine of the two vectors."},
                },
                "required": ["file", "caption", "cosine"],
                "additionalProperties": False,
            },
        }
    }

    def __init__(
        self,
        model: str = CLAP_SPEC.name,
        *,
        captions: PathLike | None = None,
        long_captions: str = "refuse",
        **options: Unpack[MetricOptions],
    ) -> None:
        super().__init__(model, **options)
        if self.ground.variant != "raw":
            raise UsageError("Captions are compared with raw embeddings: use the variant raw.")
        weights = options.get("weights")
        self._weights = Path(weights) if weights is not None else None
        self._table = Path(captions) if captions is not None else None
        if long_captions not in ("refuse", "cut"):
            raise UsageError(f"long_captions must be 'refuse' or 'cut', not {long_captions!r}.")
        self._cut = long_captions == "cut"

    @classmethod
    def check_options(cls, given: Mapping[str, Any]) -> None:
        """Nothing can be scored without captions: of a table, or of the evaluated clips themselves."""
        sources = [given["eval"]] if "eval" in given else given.get("inputs", [])
        if "captions" not in given and not any(may_have_columns(Path(place)) for place in sources):
            rest = " Or name the other results of the protocol: --results LIST."
            raise UsageError(NEEDS_CAPTIONS + (rest if "protocol" in given else ""))
        if "captions" in given:
            read_rows(given["captions"], ("file", "caption"))

    @property
    def settings_record(self) -> dict[str, Any]:
        """That long captions are cut, if they are."""
        own = {"long_captions": "cut"} if self._cut else {}
        return {**super().settings_record, **own}

    @property
    def bounds(self) -> tuple[float, float]:
        """A cosine lies between −1 and 1."""
        return -1.0, 1.0

    @cached_property
    def text(self) -> ClapText:
        """The text half of CLAP, loaded when the first caption needs it."""
        from otadtk.encoders.networks.clap.text import load_text

        return load_text(self.spec.name, self._weights)

    def distance(self, ref: Array, test: Array) -> float:
        """The mean cosine of the k-th caption's vector and the k-th clip's."""
        if len(ref) != len(test):
            raise UsageError(f"{len(ref)} captions do not fit {len(test)} clips.")
        return float(_cosines(ref, test).mean())

    def between(self, pool: Array) -> SubsetDistance:
        """The same of the k-th rows of two subsets of a pool."""
        return lambda i, j: self.distance(pool[i], pool[j])

    def between_sets(self, sets: Sequence[EmbeddingSet]) -> SubsetDistance:
        """The mean over the clips of the second subset: the reference does not enter."""
        import numpy as np

        known = [np.full(len(sets[0].files), np.nan)]
        known += [self._measured(side)[1] for side in sets[1:]]
        pooled = np.concatenate(known)
        return lambda i, j: float(pooled[j].mean())

    def encode_texts(self, texts: Sequence[str]) -> Array:
        """The vectors of captions."""
        return self.text.encode(texts, cut=self._cut).numpy()

    def compare_sets(self, reference: EmbeddingSet, evaluated: EmbeddingSet) -> float:
        """The mean over the evaluated clips."""
        return float(self._measured(evaluated)[1].mean())

    def measure(self, reference: EmbeddingSet, evaluated: EmbeddingSet) -> Measurement:
        """The mean and every clip's cosine."""
        self.points(reference, evaluated)
        captions, cosines = self._measured(evaluated)
        rows = zip(evaluated.files, captions, cosines.tolist(), strict=True)
        return Measurement(
            float(cosines.mean()),
            facts={
                "captioned": [
                    {"file": str(file), "caption": caption, "cosine": cosine}
                    for file, caption, cosine in rows
                ]
            },
        )

    def _measured(self, side: EmbeddingSet) -> tuple[list[str], NDArray[np.float64]]:
        captions = self._captions_of(side)
        return captions, _cosines(self.encode_texts(captions), side.vectors)

    def _captions_of(self, side: EmbeddingSet) -> list[str]:
        """The caption of each clip, in order: from the table, or else from the clips' manifest."""
        files, told = side.files, side.column("caption")
        if self._table is None:
            if not told:
                raise UsageError(NEEDS_CAPTIONS)
            silent = [str(f) for f, caption in zip(files, told, strict=True) if not caption]
            if silent:
                raise UsageError(f"There is no caption for {some_of(silent)}.")
            return list(told)
        return read_column(self._table, "caption", files)

    def _find_spec(self, model: str) -> EncoderSpec:
        spec = get_spec(model)
        known = [clap.name for clap in CLAP_SPECS]
        if spec.name not in known:
            raise UsageError(
                f"The CLAP score needs the encoder {' or '.join(map(repr, known))}, which knows "
                f"captions; {spec.name!r} does not."
            )
        return spec


def _cosines(captions: Array, clips: Array) -> NDArray[np.float64]:
    import numpy as np

    x, y = (np.asarray(side, dtype=np.float64) for side in (captions, clips))
    lengths = np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)
    cosines: NDArray[np.float64] = (x * y).sum(axis=1) / np.maximum(lengths, 1e-12)
    return cosines
