"""Writes as JSON what another tool itself computes of the clips in table_clips.py.

    python tests/references/run_tables.py FOLDER_OF_THE_TOOL TOOL OUTPUT.json [BLOCKS]

TOOL is audioldm_eval, av_bench, av_bench_passt, stable_audio_passt or stable_audio_clap. PaSST and the
text half of CLAP have one of their twelve blocks, or so many as BLOCKS says: a test can afford one.

The tool's own code reads the audio, runs the networks and computes the metrics. Replaced is only
what cannot be had everywhere: the weights are seeded, files are decoded by soundfile, and imported
packages that this needs nothing of are empty. torchaudio, torchlibrosa, torchvggish 0.2, hear21passt
0.0.26, laion_clap 1.1.7, transformers, librosa and pyloudnorm must be there. CLAP draws windows of
long clips at random: it gets the middle one each time, with ``spread`` also ten others. FD in 2048
dimensions takes minutes, so it comes last and the file is written before it.
"""

import json
import os
import sys
import tempfile
import types
from pathlib import Path
from unittest import mock

import numpy as np
import soundfile
import torch

HERE = Path(__file__).parent
sys.path[:0] = [
    str(HERE),
    str(HERE.parent / "encoders" / "references"),
    str(Path(sys.argv[1]).resolve()),
]
from seeded import state  # noqa: E402
from table_clips import CAPTIONS, write_captioned_clips, write_clips, write_tokenizer  # noqa: E402

TOOL, OUTPUT = sys.argv[2], Path(sys.argv[3]).resolve()
BLOCKS = int(sys.argv[4]) if len(sys.argv) > 4 else 1
for unused in ("skimage", "torchvision", "pytorchvideo", "ssr_eval", "resampy"):
    for name in (unused, f"{unused}.data", f"{unused}.data.clip_sampling", f"{unused}.transforms"):
        sys.modules[name] = mock.MagicMock()
    sys.modules[f"{unused}.transforms.v2"] = mock.MagicMock()
PACKAGE = TOOL.removesuffix("_passt")
package = types.ModuleType(PACKAGE)  # without its __init__, which imports every network
package.__path__ = [str(Path(sys.argv[1]).resolve() / PACKAGE)]
sys.modules[PACKAGE] = package
sys.modules["torchaudio._extension"] = mock.MagicMock()  # its resampler needs no library
torch.ops.torchaudio = mock.MagicMock()
import torchaudio  # noqa: E402


def load(path, **_):
    samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    return torch.from_numpy(samples.T.copy()), rate


torchaudio.load = load
values = {}


def note(**found):
    values.update({name: float(value) for name, value in found.items()})
    OUTPUT.write_text(json.dumps({TOOL: values}, indent=1) + "\n")
    print(found, flush=True)


def seed_weights(network, keep=()):
    own = network.state_dict()
    shapes = {name: tuple(value.shape) for name, value in own.items()}
    seeded = {name: torch.from_numpy(np.asarray(v)) for name, v in state(shapes).items()}
    kept = {name: value for name, value in own.items() if any(k in name for k in keep)}
    network.load_state_dict({**seeded, **kept})
    return network.eval()


def cnn14(network_class):
    with (
        mock.patch.object(torch.nn.Module, "load_state_dict"),
        mock.patch("torch.load", return_value={"model": {}}),
        mock.patch("os.system"),
        mock.patch("os.makedirs"),
    ):
        network = network_class(["2048", "logits"], 16000, 512, 160, 64, 50, 8000, 527)
    return seed_weights(network, keep=("spectrogram_extractor",))


def audioldm_eval(reference, evaluated):
    from audioldm_eval.datasets.load_mel import WaveDataset
    from audioldm_eval.feature_extractors.panns.models import Cnn14
    from audioldm_eval.metrics.fad import FrechetAudioDistance
    from audioldm_eval.metrics.fid import calculate_fid
    from audioldm_eval.metrics.isc import calculate_isc
    from audioldm_eval.metrics.kid import calculate_kid
    from audioldm_eval.metrics.kl import calculate_kl
    from torchvggish.torchvggish import _vgg
    from torchvggish.vggish_input import waveform_to_examples

    network = cnn14(Cnn14)
    dictionaries = []
    for folder in (evaluated, reference):  # the tool takes the generated set first
        rows, names = [], []
        for waveform, name in (WaveDataset(str(folder), 16000)[k] for k in range(12)):
            with torch.no_grad():
                rows.append(network(waveform))
            names.append(name)
        found = {key: torch.cat([row[key] for row in rows]) for key in rows[0]}
        dictionaries.append({**found, "file_path_": names})
    kl = calculate_kl(*dictionaries, "logits", True)[0]
    note(
        kl_softmax=kl["kullback_leibler_divergence_softmax"],
        kl_sigmoid=kl["kullback_leibler_divergence_sigmoid"],
    )
    score = calculate_isc(dictionaries[0], "logits", 2020, True, 10)
    note(**{"is": score["inception_score_mean"], "is_deviation": score["inception_score_std"]})
    kid = calculate_kid(*dictionaries, 100, 1000, 3, None, 1, 2020, "2048")
    note(kid=kid["kernel_inception_distance_mean"])

    class Vggish(torch.nn.Module):
        def __init__(self):
            super().__init__()
            inner = seed_weights(_vgg())
            self.features, self.embeddings, self.device = inner.features, inner.embeddings, "cpu"
            self.inner = inner

        def forward(self, audio, rate):
            self.inner.embeddings = self.embeddings
            examples = waveform_to_examples(audio, rate)
            return self.inner(torch.as_tensor(examples).float().reshape(-1, 1, 96, 64))

    with (
        mock.patch("torch.hub.load", lambda *_: Vggish()),
        mock.patch("audioldm_eval.metrics.fad.DataLoader", in_turn),
    ):
        distance = FrechetAudioDistance()
        note(fad=distance.score(str(evaluated), str(reference))["frechet_audio_distance"])
    note(fd=calculate_fid(*dictionaries, "2048")["frechet_distance"])


def in_turn(dataset, **_):
    """Stands for a DataLoader of batches of one, without processes."""
    return [(dataset[k][0][None], dataset[k][1]) for k in range(len(dataset))]


def av_bench(reference, evaluated):
    from av_bench.data.audio_dataset import AudioDataset
    from av_bench.metrics.fad import compute_fd
    from av_bench.metrics.isc import compute_isc
    from av_bench.metrics.kl import compute_kl
    from av_bench.panns.models import Cnn14
    from av_bench.vggish.vggish import VGGish

    network = cnn14(Cnn14)
    vggish = seed_weights(VGGish(torch.device("cpu"), pretrained=False, postprocess=False))
    sides = []
    for folder in (evaluated, reference):
        dataset = AudioDataset(sorted(folder.glob("*.wav")), 8.0, 16000)
        with torch.no_grad():
            waves = [dataset[k][0] for k in range(len(dataset))]
            rows = [network(wave.float()) for wave in waves]
            frames = torch.cat([vggish(wave.float())[0] for wave in waves])
        sides.append(({k: torch.cat([row[k] for row in rows]) for k in rows[0]}, frames))
    (generated, frames), (real, real_frames) = sides
    kl = compute_kl([generated["logits"]], real["logits"])
    note(kl_softmax=kl["kl_softmax"], kl_sigmoid=kl["kl_sigmoid"])
    score = compute_isc(generated, "logits", 2020, True, 10)
    note(**{"is": score["inception_score_mean"], "is_deviation": score["inception_score_std"]})
    note(fad=compute_fd(frames.numpy(), real_frames.numpy()))
    note(fd=compute_fd(generated["2048"].numpy(), real["2048"].numpy()))


def passt(mode):
    """hear21passt's model with seeded weights."""
    for name in ("timm", "timm.models", "timm.models.hub"):  # for its downloads only
        sys.modules[name] = mock.MagicMock()
    import hear21passt.base
    from hear21passt.models.passt import PaSST

    network = seed_weights(PaSST(stride=10, distilled=True, depth=BLOCKS))
    with mock.patch.object(hear21passt.base, "get_model_passt", lambda **_: network):
        return hear21passt.base.get_basic_model(mode=mode).eval()


stft = torch.stft


def real_stft(*arguments, return_complex=False, **options):
    """As older versions of torch had it, which hear21passt expects."""
    return torch.view_as_real(stft(*arguments, return_complex=True, **options))


def av_bench_passt(reference, evaluated):
    from av_bench.data.audio_dataset import AudioDataset
    from av_bench.metrics.fad import compute_fd
    from av_bench.metrics.isc import compute_isc
    from av_bench.metrics.kl import compute_kl

    network = passt("all")
    torch.stft = real_stft
    sides = []
    for folder in (evaluated, reference):
        dataset = AudioDataset(sorted(folder.glob("*.wav")), 8.0, 32000)
        waves = [dataset[k][0].float().reshape(-1) for k in range(len(dataset))]
        padded = [torch.nn.functional.pad(w[:320000], (0, max(0, 320000 - len(w)))) for w in waves]
        with torch.no_grad():
            found = torch.cat([network(wave[None]) for wave in padded])
        sides.append((found[:, :527], found[:, 527:]))
    (logits, features), (true_logits, true_features) = sides
    note(kl_passt=compute_kl([logits], true_logits)["kl_softmax"])
    note(is_passt=compute_isc(logits, None, 2020, True, 10)["inception_score_mean"])
    note(fd_passt=compute_fd(features.numpy(), true_features.numpy()))


def stable_audio_passt(reference, evaluated):
    torch.stft = real_stft
    sys.modules["hear21passt.base"] = types.SimpleNamespace(get_basic_model=None)
    import src.passt_kld as tool

    del sys.modules["hear21passt.base"]
    network = passt("logits")
    torch.Tensor.cuda = torch.nn.Module.cuda = lambda self: self
    with mock.patch.object(tool, "get_basic_model", lambda **_: network):
        names = sorted(path.stem for path in evaluated.glob("*.wav"))
        note(kl_passt=tool.passt_kld(names, str(evaluated), ref_path=str(reference)))


def stable_audio_clap(_, evaluated):
    """The tool's CLAP score with seeded weights in the format of its checkpoint."""
    vision = ("torchvision.datasets", "torchvision.ops", "torchvision.ops.misc")
    for name in ("horovod", "wget", "webdataset", "braceexpand", "ftfy", *vision):
        sys.modules.setdefault(name, mock.MagicMock())
    empty = {name: sys.modules.pop(name) for name in list(sys.modules) if "torchvision" in name}
    import transformers
    from transformers import RobertaModel, RobertaTokenizer

    sys.modules.update(empty)
    import torchvision.transforms

    # as torchvision 0.16 does it, which the tool pins
    torchvision.transforms.Resize = lambda size: (
        lambda mel: torch.nn.functional.interpolate(
            mel[None], tuple(size), mode="bilinear", align_corners=False
        )[0]
    )
    base = {"vocab_size": 50_265, "max_position_embeddings": 514, "type_vocab_size": 1}
    configuration = transformers.RobertaConfig(
        **base, layer_norm_eps=1e-5, num_hidden_layers=BLOCKS
    )
    tokenizer = RobertaTokenizer.from_pretrained(write_tokenizer(Path("tokenizer")))
    RobertaModel.from_pretrained = lambda _: RobertaModel(configuration)
    RobertaTokenizer.from_pretrained = lambda _: tokenizer
    import laion_clap

    module = laion_clap.CLAP_Module
    laion_clap.CLAP_Module = lambda **options: module(**{**options, "device": "cpu"})
    own = module(enable_fusion=True, device="cpu").model.state_dict()
    kept = ("attn_mask", "position_ids", "token_type_ids")
    shapes = {n: tuple(v.shape) for n, v in own.items() if not n.endswith(kept)}
    tensors = {n: torch.from_numpy(np.asarray(v)) for n, v in state(shapes).items()}
    tensors |= {n: v for n, v in own.items() if n not in tensors}
    tensors["text_branch.embeddings.position_ids"] = torch.arange(514)[None]
    Path("load/clap_score").mkdir(parents=True)
    checkpoint = {"epoch": 1, "state_dict": {f"module.{n}": v for n, v in tensors.items()}}
    torch.save(checkpoint, "load/clap_score/630k-audioset-fusion-best.pt")
    import src.clap_score as tool

    captions = {f"{k:02d}": caption for k, caption in enumerate(CAPTIONS)}
    choose = np.random.choice
    with mock.patch("numpy.random.choice", lambda places: places[len(places) // 2]):
        note(clap=tool.clap_score(captions, str(evaluated)))
        for name, caption in captions.items():
            note(**{f"clap {name}": tool.clap_score({name: caption}, str(evaluated))})
    if "spread" in sys.argv:
        np.random.choice = choose
        drawn = [float(tool.clap_score(captions, str(evaluated))) for _ in range(10)]
        print("drawn at random:", min(drawn), max(drawn))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as work:
        os.environ["HOME"] = work
        few = TOOL == "stable_audio_passt"
        if TOOL == "stable_audio_clap":
            clips = write_captioned_clips(Path(work) / "clips")[:2]
        else:
            clips = write_clips(Path(work) / "clips", few=few)
        os.chdir(work)
        globals()[TOOL](*clips)
