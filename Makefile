# make demo    set up, synthesise two folders of sound, score them, write a report to hear them in
# make test    set up, run all tests
# make setup   virtual environment, dependencies and the YAMNet weights
#              TORCH_INDEX=address of CPU builds of torch, or CUDA=1 for the registry's build
# make lint    ruff and mypy
# make docs    the documentation as a site, in build/site; make docs-serve shows it while you write
# make pictures      draws what is out of date in docs/images; make readme: the demo's lines and report in README.md
# make bench   measure (DATA=folder of audio)
# make experiments   the paper's experiments (DATA=ESC-50 as published; README has the rest)
# make fuzz    odd files, options, arrays, names, packs and transport problems, for FUZZ_SECONDS
# make long    ten thousand random problems for the error bar of the solver
# make wheel   a wheel with the YAMNet weights and the published adapters inside, in dist/

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PIP_QUIET := -q --disable-pip-version-check
TORCH := $(shell sed -n 's/^torch==//p' constraints.txt)
TORCH_INDEX ?=
CUDA ?=
WORKERS ?= 2
FUZZ_SECONDS ?= 60

.PHONY: demo test setup lint docs docs-serve pictures readme bench experiments fuzz long wheel clean
.DEFAULT_GOAL := demo

# What pip would install by itself on Linux brings gigabytes of CUDA packages along. A CPU build has the
# label +cpu; where pip knows none, the user decides before anything is downloaded.
define CPU_TORCH
if [ "$$(uname -s)" = Linux ] && [ -z "$(CUDA)" ]; then \
  $(BIN)/python -c 'import importlib.util as u, sys; sys.exit(u.find_spec("torch") is None)' \
  || $(BIN)/python -m pip install $(PIP_QUIET) -c constraints.txt \
    $(if $(TORCH_INDEX),--extra-index-url "$(TORCH_INDEX)") "torch==$(TORCH)+cpu" \
  || { printf '%s\n' "pip found no CPU build of torch $(TORCH); the usual one brings gigabytes of CUDA. Choose:" \
    "  make $(or $(MAKECMDGOALS),demo) TORCH_INDEX=ADDRESS   CPU; pytorch.org/get-started names the address (pip, CPU)" \
    "  make $(or $(MAKECMDGOALS),demo) CUDA=1                the usual build, with CUDA" >&2; exit 1; }; \
fi
endef

$(INSTALLED): pyproject.toml constraints.txt
	@echo "Setting up $(VENV) ..."
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] < (3, 14))' \
	  || { echo "otadtk needs Python 3.10 to 3.13; name one with PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) \
	  || { echo "$(PYTHON) cannot make a virtual environment; install its venv module" >&2; exit 1; }
	@$(CPU_TORCH)
	@$(BIN)/python -m pip uninstall -q $(PIP_QUIET) -y otadtk  # our former name, or the paper's package
	$(BIN)/python -m pip install $(PIP_QUIET) -c constraints.txt -e ".[dev]"
	@touch $@

setup: $(INSTALLED)
	@$(BIN)/otadtk-list-models --fetch yamnet

demo: setup
	@$(BIN)/otadtk-demo demo

test: setup
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# mkdocs is fixed in constraints.txt, so what its makers say about other versions is left out
MKDOCS := NO_MKDOCS_2_WARNING=1 PYTHONPATH=src $(BIN)/python -m mkdocs
GALLERY := build/gallery

docs: setup
	PYTHONPATH=src $(BIN)/python -m website.gallery $(GALLERY)
	$(MKDOCS) build --strict --quiet
	@echo "open build/site/index.html"

docs-serve: setup
	@test -e $(GALLERY)/comparison.html || PYTHONPATH=src $(BIN)/python -m website.gallery $(GALLERY)
	$(MKDOCS) serve

pictures: setup
	PYTHONPATH=src $(BIN)/python -m website.pictures

readme: setup
	PYTHONPATH=src $(BIN)/python -m website.gallery $(GALLERY) --readme
	PYTHONPATH=src $(BIN)/python -m website.shot $(GALLERY)/report.html docs/images/report.png

bench: setup
	@test -n "$(DATA)" || { echo "make bench needs a folder of audio: make bench DATA=path" >&2; exit 2; }
	$(BIN)/python benchmarks/solver.py "$(DATA)"
	$(BIN)/python benchmarks/embedding.py "$(DATA)"
	$(BIN)/python benchmarks/originals.py
	$(BIN)/python benchmarks/encoders.py --write docs/evidence/encoders.md
	$(BIN)/python benchmarks/scale.py --write docs/how-to/scale.md

RESULTS ?= docs/evidence/results
MODELS ?= yamnet logmel
EXPERIMENTS ?= rank-one factorial per-sample mos regularisation invariance efficiency

# DCASE=folder with dcase2023_task7_{mos,fad}.csv and PEERS=folder with kadtk and otadtk 0.1.2
# unpacked add what needs them, LISTENING=folder the CSV files of benchmarks/listening_sets.py; without
# them the committed results of these stay.
experiments: setup
	@test -n "$(DATA)" || { echo "make experiments needs ESC-50: make experiments DATA=path" >&2; exit 2; }
	$(BIN)/otadtk-experiments $(EXPERIMENTS) --data "$(DATA)" --model $(MODELS) --out $(RESULTS)
	$(if $(DCASE),$(BIN)/otadtk-experiments mos-published --out $(RESULTS) \
	  --ratings "$(DCASE)/dcase2023_task7_mos.csv" --distances "$(DCASE)/dcase2023_task7_fad.csv",)
	$(if $(PEERS),$(BIN)/otadtk-experiments equivalence --peers "$(PEERS)" --out $(RESULTS),)
	$(if $(LISTENING),$(BIN)/otadtk-experiments listening --out $(RESULTS) \
	  --ratings "$(LISTENING)"/*.csv "$(LISTENING)"/timbre/*.csv,)
	$(BIN)/otadtk-experiments page docs/evidence/results.md --out $(RESULTS)

fuzz: setup
	FUZZ_SECONDS=$(FUZZ_SECONDS) $(BIN)/python -W error -m tests.fuzzing

long: setup
	PROBLEMS=10000 $(BIN)/python -m pytest -q tests/distances/test_coverage.py

wheel: setup
	@rm -rf src/otadtk/bundled && mkdir src/otadtk/bundled
	@trap 'rm -rf src/otadtk/bundled' EXIT; \
	  $(BIN)/python -c 'from otadtk.encoders import get_spec; from otadtk.weights import find_converted; \
	    s = get_spec("yamnet"); print(find_converted(s.name, s.weights))' \
	    | xargs -I{} cp {} src/otadtk/bundled/ && \
	  $(BIN)/otadtk-adapters fetch | xargs -I{} cp {} src/otadtk/bundled/ && \
	  $(BIN)/python -m pip wheel $(PIP_QUIET) --no-deps --wheel-dir dist .
	@ls -l dist/*.whl

clean:
	rm -rf $(VENV) dist demo build/site build/gallery src/otadtk/bundled
