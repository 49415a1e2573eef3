"""BibTeX entries of encoders."""

from __future__ import annotations

from otadtk import list_models
from otadtk.documents.citations import cite_model, key_of
from otadtk.encoders import get_spec


def test_every_encoder_is_cited() -> None:
    for name in list_models():
        model = {"name": name, "paper": get_spec(name).paper}
        entry = cite_model(model)
        assert (entry is None) == (model["paper"] == "none")
        if entry is not None:
            assert "author" in entry, name
            assert entry.count("{") == entry.count("}")
    own = cite_model({"name": "my_net", "paper": "Doe & Roe, 100% Audio, 2030"})
    assert own is not None
    assert key_of(own) == "my-net"
    assert r"Doe \& Roe, 100\% Audio" in own
