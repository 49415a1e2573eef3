"""Downloads the original implementations of the encoders and builds their environment.

    python benchmarks/originals.py [build/originals]

``environment`` is a virtual environment with their dependencies; beside it is each original under
the name in tests/encoders/references/README.md. They are run for comparison and never imported by
otadtk. Originals that cannot be downloaded are named and left out.
"""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from pathlib import Path

from otadtk.weights import PackageMember, extract_folder, obtain_package

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "build" / "originals"
REQUIREMENTS = (
    "torch==2.13.0",
    "numpy==2.4.6",
    "scipy==1.17.1",
    "safetensors==0.8.0",
    "transformers==5.22.0",
    "librosa==0.11.0",
    "einops",
    "resampy",
    "soundfile",
    "pillow",
    "six",
)
# these would pull another torch, torchvision or torchaudio
WITHOUT_DEPENDENCIES = ("torchlibrosa==0.1.0", "timm==1.0.30")
PACKAGES = {
    "torchvggish-0.2": "torchvggish==0.2",
    "encodec-0.1.1": "encodec==0.1.1",
    "laion_clap": "laion_clap==1.1.7",
    "torchopenl3": "torchopenl3==1.0.1",
    "julius": "julius==0.2.8",
    "torchaudio": "torchaudio==2.11.0",
    "speechbrain": "speechbrain==1.1.2",
    "musicnn": "musicnn==0.1.0",
    "hear21passt": "hear21passt==0.0.26",
}
SDISTS = {
    "whisper": (
        "openai_whisper-20250625/whisper",
        PackageMember(
            distribution="openai-whisper",
            version="20250625",
            archive="openai_whisper-20250625.tar.gz",
            archive_digest="sha256:37a91a3921809d9f44748ffc73c0a55c9f366c85a3ef5c2ae0cc09540432eb96",
            member="",
        ),
    ),
    "cdpam-0.0.2": (
        "cdpam-0.0.2",
        PackageMember(
            distribution="cdpam",
            version="0.0.2",
            archive="cdpam-0.0.2.tar.gz",
            archive_digest="sha256:f024612d39115f6ac8c852966dcb773b2d4ed948ee5a69b05a3bd9a468077358",
            member="",
        ),
    ),
}
"""Source distributions that are unpacked: by name here, the folder inside."""
_PANNS = "qiuqiangkong/audioset_tagging_cnn/d2f4b8c18eab44737fcc0de1248ae21eb43f6aa4/pytorch"
_BEATS = "microsoft/unilm/768a3c873f598bb9b4d4dfb9267b099e35f8fe56/beats"
FILES = {
    "panns_models.py": f"{_PANNS}/models.py",
    "pytorch_utils.py": f"{_PANNS}/pytorch_utils.py",
    **{f"beats/{name}": f"{_BEATS}/{name}" for name in ("BEATs.py", "backbone.py", "modules.py")},
}


def build(place: Path = PLACE) -> Path:
    """The folder with all originals that could be downloaded."""
    place.mkdir(parents=True, exist_ok=True)
    home = place / "environment"
    if not (home / "ready").exists():
        print("setting up the environment ...", flush=True)
        pip = [str(home / "bin" / "python"), "-m", "pip", "install", "-q"]
        steps = (
            [sys.executable, "-m", "venv", str(home)],
            [*pip, *REQUIREMENTS],
            [*pip, "--no-deps", *WITHOUT_DEPENDENCIES],
        )
        if all(subprocess.run(step, check=False).returncode == 0 for step in steps):
            (home / "ready").touch()
        else:
            print("  not available here", flush=True)
    for name, requirement in PACKAGES.items():
        if not (place / name).exists():
            print(f"fetching {requirement} ...", flush=True)
            command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target"]
            if subprocess.run([*command, str(place / name), requirement], check=False).returncode:
                print("  not available here: left out", flush=True)
    for name, (inside, sdist) in SDISTS.items():
        if not (place / name).exists():
            print(f"fetching {sdist.archive} ...", flush=True)
            folder = extract_folder(obtain_package(name, sdist), inside, place / "unpacked")
            folder.rename(place / name)
    for name, source in FILES.items():
        if not (place / name).exists():
            _fetch(f"https://raw.githubusercontent.com/{source}", place / name)
    return place


def _fetch(url: str, target: Path) -> None:
    print(f"fetching {url} ...", flush=True)
    try:
        with urllib.request.urlopen(url, timeout=60) as response:
            content = response.read()
    except OSError as error:
        print(f"  not available here ({error}): put it at {target} yourself", flush=True)
        return
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(content)


if __name__ == "__main__":
    print(build(Path(sys.argv[1]) if len(sys.argv) > 1 else PLACE))
