"""Downloads one file from an address."""

from __future__ import annotations

import urllib.request
from pathlib import Path

from otadtk.engine.progress import progress_bar

_CHUNK = 1 << 20
_TIMEOUT_SECONDS = 60


def http_download(url: str, target: Path) -> None:
    """Fetch an address to ``target``; an ``OSError`` if it breaks off."""
    request = urllib.request.Request(url, headers={"User-Agent": "otadtk"})
    with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as response:
        total = int(response.headers.get("Content-Length") or 0) or None
        bar = progress_bar(total=total, unit="B", unit_scale=True, desc=target.name)
        with target.open("wb") as file, bar:
            while chunk := response.read(_CHUNK):
                file.write(chunk)
                bar.update(len(chunk))
    if total is not None and target.stat().st_size != total:
        raise OSError(f"the connection to {url} broke off")
