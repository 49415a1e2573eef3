"""Prints as JSON what kadtk 1.1, fadtk 1.1 or otadtk 0.1.2 itself scores for two folders.

    python tests/references/run_peers.py FOLDER_WITH_THE_PACKAGES kadtk|fadtk|otadtk REF EVAL WORK \
        [--only-cached | --frames | --seeded]

The published program runs from its command line on and leaves its caches beside the audio. Only
what cannot be had everywhere is replaced: the network under the name of VGGish by a toy, because
weights are out of reach for many, and imported packages that this needs nothing of by empty ones.
With ``--seeded`` the network is the tool's own with seeded weights: VGGish of fadtk (torchvggish
0.2 must be there), PANNs of kadtk and otadtk (torchlibrosa). With ``--only-cached`` the toy refuses to
embed: what is scored must be cached already. With ``--frames`` nothing is scored: the tool's models
for EnCodec and CLAP make frames of the clips in REF, with stand-ins for their networks.
"""

import contextlib
import csv
import importlib
import importlib.abc
import importlib.machinery
import io
import json
import multiprocessing.pool
import sys
import types
from pathlib import Path

import numpy as np
import scipy.linalg
import soundfile
import torch
import tqdm.contrib.concurrent

HOME, TOOL, REFERENCE, EVALUATED, WORK = sys.argv[1:6]
ONLY_CACHED, SEEDED = "--only-cached" in sys.argv, "--seeded" in sys.argv
EMPTY = {
    "encodec",
    "huggingface_hub",
    "importlib_metadata",
    "librosa",
    "requests",
    "torchaudio",
    "torchlibrosa",
    "torchvision",
    "transformers",
    "turtle",
    "yaml",
}
DIMENSION, STEP = 128, 640


class EmptyClass(type):
    """A class that can be called with anything and has an empty class under every name."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return EmptyClass(name, (), {"__init__": lambda *_, **__: None})


class EmptyModule(types.ModuleType):
    """A package with an empty class under every name."""

    __path__ = ()
    __getattr__ = EmptyClass.__getattr__


class EmptyPackages(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds what EMPTY names and nobody else has found."""

    def find_spec(self, name, path=None, target=None):
        wanted = name.partition(".")[0] in EMPTY
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if wanted else None

    def create_module(self, spec):
        return EmptyModule(spec.name)

    def exec_module(self, module):
        pass


def load(path, **_):
    samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    return torch.from_numpy(samples.T.copy()), rate


def save(path, samples, rate, **_):
    soundfile.write(path, samples.T.numpy(), rate, subtype="PCM_16")


sys.path.insert(0, HOME)
sys.meta_path.append(EmptyPackages())
torchaudio = sys.modules["torchaudio"] = EmptyModule("torchaudio")
torchaudio.__spec__ = importlib.machinery.ModuleSpec("torchaudio", None)  # transformers asks
torchaudio.load, torchaudio.save = load, save
torchaudio.transforms = sys.modules["torchaudio.transforms"] = EmptyModule("torchaudio.transforms")
# the clips have the rate of the toy already
torchaudio.transforms.Resample = lambda *_, **__: lambda samples: samples
# threads start at once; processes would import everything again
torch.multiprocessing.Pool = multiprocessing.pool.ThreadPool
tqdm.contrib.concurrent.process_map = tqdm.contrib.concurrent.thread_map
sqrtm = scipy.linalg.sqrtm  # from SciPy 1.18 on without the option that all three give it
scipy.linalg.sqrtm = lambda matrix, disp=True: sqrtm(matrix) if disp else (sqrtm(matrix), None)
package = importlib.import_module(TOOL)


def toy_frames(samples):
    """The log energies of 128 bands every 40 ms."""
    windows = samples[: len(samples) // STEP * STEP].reshape(-1, STEP)
    power = np.abs(np.fft.rfft(windows))[:, : 2 * DIMENSION] ** 2
    return np.log(power.reshape(len(windows), DIMENSION, 2).sum(axis=2) + 1e-3).astype(np.float32)


if TOOL == "otadtk" and not SEEDED:

    @package.register_encoder("vggish")
    class Toy(package.BaseEncoder):
        """The toy as an encoder of otadtk 0.1.2."""

        def __init__(self, device="cpu"):
            super().__init__(device)
            self.name, self.target_sr, self.embedding_dim = "vggish", 16_000, DIMENSION

        def encode(self, wav, sr):
            return toy_frames(wav[0].numpy())

elif TOOL != "otadtk":

    class Toy(package.model_loader.ModelLoader):
        """The toy as a model of kadtk and fadtk."""

        def __init__(self):
            super().__init__("vggish", DIMENSION, 16_000)

        def load_model(self):
            pass

        def _get_embedding(self, audio):
            assert not ONLY_CACHED, "nothing was to be embedded"
            return torch.from_numpy(toy_frames(audio))


def seed_weights(network):
    """Give a network the seeded weights; only the kernels of Fourier transforms stay."""
    from seeded import state

    own = network.state_dict()
    shapes = {name: tuple(value.shape) for name, value in own.items()}
    found = {name: torch.from_numpy(np.asarray(value)) for name, value in state(shapes).items()}
    kept = {name: value for name, value in own.items() if "spectrogram_extractor" in name}
    torch.nn.Module.load_state_dict(network, {**found, **kept})
    return network.eval()


def seeded_model():
    """A model of the tool, with its own code and seeded weights."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "encoders" / "references"))
    models = package.model_loader
    if TOOL == "otadtk":
        encoder = importlib.import_module("otadtk.encoders.panns_wglm")
        networks = importlib.import_module("otadtk.encoders._panns_wglm.models")
        encoder.PANNsWGLMEncoder._ensure_checkpoint = lambda self: None
        networks.Wavegram_Logmel_Cnn14.load_state_dict = lambda self, _: seed_weights(self)
        torch_load = torch.load  # which the adapters need
        torch.load = lambda path, **options: (
            {"model": None} if path == encoder._DEFAULT_CKPT else torch_load(path, **options)
        )
        return types.SimpleNamespace(name="panns_wglm", num_features=2048, folder="embedding")
    if TOOL == "kadtk":
        models.download_file = lambda *_: None
        torch.load = lambda *_, **__: {"model": None}
        network = models.panns.Wavegram_Logmel_Cnn14
        network.load_state_dict = lambda self, _: seed_weights(self)
        return models.PANNsModel("wavegram-logmel")
    from torchvggish.torchvggish import _vgg
    from torchvggish.vggish_input import waveform_to_examples

    class Vggish(torch.nn.Module):
        """Stands for the model of torch.hub, which reads waveforms."""

        def __init__(self):
            super().__init__()
            self.inner = seed_weights(_vgg())
            self.embeddings = self.inner.embeddings

        def forward(self, audio, rate):
            self.inner.embeddings = self.embeddings
            examples = torch.as_tensor(waveform_to_examples(audio, rate)).float()
            return self.inner(examples.reshape(-1, 1, 96, 64))

    torch.hub.load = lambda *_: Vggish()
    return models.VGGishModel()


MODEL = seeded_model() if SEEDED else Toy()


def score(*options):
    """What the program writes into its CSV file when it is started with these options."""
    program = importlib.import_module(f"{TOOL}.__main__")
    program.get_all_models = lambda **_: [MODEL]
    table = Path(WORK) / f"{TOOL}{''.join(options)}.csv"
    where = [str(table)] if TOOL == "fadtk" else ["--csv", str(table)]
    workers = ["--workers", "1"]
    sys.argv = [
        TOOL,
        getattr(MODEL, "name", "vggish"),
        REFERENCE,
        EVALUATED,
        *where,
        *workers,
        *options,
    ]
    with contextlib.redirect_stdout(io.StringIO()):
        program.main()
    with table.open(newline="") as file:
        return float(list(csv.DictReader(file))[-1]["score"].replace("tensor(", "").strip(")"))


def means(audio):
    """Stands for EnCodec: the mean of every 320 samples, in each of its dimensions."""
    padded = torch.nn.functional.pad(audio[0, 0], (0, -audio.shape[-1] % 320))
    return padded.reshape(-1, 320).mean(dim=1).expand(1, DIMENSION, -1)


def ends(x, use_tensor):
    """Stands for CLAP: where its windows start and end."""
    return torch.cat([x[0, :256], x[0, -256:]])[None]


def peer_frames(model, network, path):
    """What the tool makes of a clip by one of its models, but with another network inside."""
    model.model = network
    return model.get_embedding(model.load_wav(path))


def write_frames():
    """Write the frames that the tool makes of every clip in REF, one file for each into WORK."""
    models = package.model_loader
    encodec = models.EncodecEmbModel("24k")
    codec = types.SimpleNamespace(encoder=means, segment_length=None, segment=None, channels=1)
    clap = models.CLAPLaionModel.__new__(models.CLAPLaionModel)  # which would fetch its weights
    models.ModelLoader.__init__(clap, "clap-laion-audio", 512, 48_000)
    joint = types.SimpleNamespace(get_audio_embedding_from_data=ends)
    utilities = sys.modules["encodec.utils"] = EmptyModule("encodec.utils")
    utilities.convert_audio = lambda samples, *_: samples
    for path in Path(REFERENCE).glob("*.wav"):
        if soundfile.info(path).samplerate == 24_000:
            frames = peer_frames(encodec, codec, path)
        else:
            frames = peer_frames(clap, joint, path)
        np.save(Path(WORK) / f"{path.stem}.npy", frames)


def scores():
    """What the program scores by each of its metrics."""
    runs = {
        "kadtk": {"kad": ["--device", "cpu"], "fad": ["--fad", "--device", "cpu"]},
        "fadtk": {"fad": []},
        "otadtk": {
            "otad": [] if SEEDED else ["--variant", "raw", "--epsilon", "20"],
            "fad": ["--fad"],
            "kad": ["--kad"],
        },
    }[TOOL]
    return {metric: score(*options) for metric, options in runs.items()}


def exact_fad():
    """The FAD of the frames that the tool has cached, in float64: its own root is of float32."""
    sides = []
    for folder in (REFERENCE, EVALUATED):
        files = sorted(
            (Path(folder) / getattr(MODEL, "folder", "embeddings") / MODEL.name).glob("*.npy")
        )
        found = np.concatenate([np.load(f).reshape(-1, MODEL.num_features) for f in files])
        sides.append(found.astype(np.float64))
    means = [side.mean(axis=0) for side in sides]
    roots = [(s - m) / np.sqrt(len(s) - 1) for s, m in zip(sides, means, strict=True)]
    trace = np.linalg.svd(roots[0] @ roots[1].T, compute_uv=False).sum()
    spread = sum(float(np.square(root).sum()) for root in roots)
    return float(np.square(means[0] - means[1]).sum() + spread - 2.0 * trace)


if __name__ == "__main__":
    found = write_frames() if "--frames" in sys.argv else scores()
    if SEEDED:
        found["exact_fad"] = exact_fad()
    print(json.dumps(found))
