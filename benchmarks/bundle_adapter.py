"""Bundles a trained adapter: copies it into the package and adds it to the manifest.

python benchmarks/bundle_adapter.py FILE [--default]
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

from otadtk.adapter.files import read_adapter, read_card
from otadtk.adapter.manifest import BUNDLED
from otadtk.encoders import get_spec
from otadtk.encoders.wrappers import split_suffixes
from otadtk.weights import digest_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--default", action="store_true", help="it has earned its place")
    options = parser.parse_args()
    card, _ = read_card(options.file)
    encoder = split_suffixes(card.encoder)[0]
    read_adapter(options.file, get_spec(encoder))
    name = f"{encoder}/{card.variant}.safetensors"
    (BUNDLED / encoder).mkdir(exist_ok=True)
    shutil.copyfile(options.file, BUNDLED / name)
    path = BUNDLED / "MANIFEST.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    others = [
        entry
        for entry in manifest["adapters"]
        if (entry["encoder"], entry["variant"]) != (encoder, card.variant)
    ]
    entry = {
        "encoder": encoder,
        "variant": card.variant,
        "digest": digest_of(BUNDLED / name),
        "licence": card.licence.split(";")[0],
        "origin": f"otadtk {card.version}",
        "default": options.default,
        "trained_on": encoder,
        "file": name,
    }
    manifest["adapters"] = [*others, entry]
    path.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    print(f"{name}  {entry['digest']}")


if __name__ == "__main__":
    main()
