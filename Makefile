# Two commands matter: `make demo` and `make test`. Both set up .venv first, and are safe to repeat.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
LOCKED := .venv-locked
TORCH = $(shell sed -n 's/^torch==//p' constraints.txt)
VERSION = $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' hypergraph/__init__.py)
COMPILE = --constraints constraints.txt --python $(BIN)/python --generate-hashes --no-annotate

.PHONY: demo test test-slow test-ray test-browser test-locked bench docs wheel sbom lock audit clean

demo: .venv/ready
	@mkdir -p runs && run=$$(mktemp -d runs/demo-XXXXXX) && \
	$(BIN)/hypergraph node-clf --dataset disease --head bmlr-p --out $$run && \
	$(BIN)/hypergraph explore $$run

test: .venv/ready-dev
	$(call check,$(BIN))

define check
	$(1)/ruff check .
	$(1)/ruff format --check .
	$(1)/mypy
	$(1)/python -m pytest -n 2 -m "not slow"
endef

test-slow: .venv/ready-dev
	$(BIN)/python -m pytest -n 2 -m slow

# The page in a real browser. Where there is no Chromium and none can be installed, the tests say so and are skipped.
test-browser: .venv/ready-browser
	command -v chromium >/dev/null || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium; } || true
	$(BIN)/python -m pytest -n 2 tests/viz/test_explorer.py

# The same in an environment of its own, of files with known hashes.
test-locked:
	rm -rf $(LOCKED)
	$(PYTHON) -m venv $(LOCKED)
	$(LOCKED)/bin/python -m pip install --quiet --require-hashes --no-deps -r requirements.lock
	$(LOCKED)/bin/python -m pip install --quiet -c constraints.txt "torch==$(TORCH)"
	$(LOCKED)/bin/python -m pip install --quiet --no-deps --no-build-isolation .
	$(LOCKED)/bin/python -m pip check
	$(call check,$(LOCKED)/bin)

test-ray: .venv/ready-ray
	$(BIN)/python -m pytest -k ray tests/tasks/test_executors.py

bench: .venv/ready-dev
	for script in benchmarks/[a-z]*.py; do $(BIN)/python $$script || exit 1; done

docs: .venv/ready-docs
	$(BIN)/python -m sphinx -b html -W --keep-going -q docs site
	@echo "open site/index.html"

wheel: .venv/ready-dev
	rm -rf dist
	$(BIN)/python -m build --wheel --no-isolation --outdir dist . >/dev/null
	@ls dist/*.whl

# What the package needs, with versions and hashes, as CycloneDX: part of every release, beside the wheel.
sbom: .venv/ready-release
	mkdir -p dist
	$(BIN)/uv pip compile --quiet $(COMPILE) --no-header pyproject.toml -o dist/needed.txt
	sed "s/^dynamic = .*/version = \"$(VERSION)\"/" pyproject.toml > dist/pyproject.toml
	$(BIN)/python -W ignore -m cyclonedx_py requirements --pyproject dist/pyproject.toml --mc-type library \
	  --output-reproducible --of JSON -o dist/hypergraph-$(VERSION).cdx.json dist/needed.txt
	rm dist/needed.txt dist/pyproject.toml
	@ls dist/*.cdx.json

# Pins everything anew: what constraints.txt has stays, what is new gets the newest version, what is no longer
# needed goes. To upgrade a package, delete its line first. torch has no hash here: its builds (CPU, CUDA) come
# from different places, so it is installed by its version; docs/reliability.md says more.
lock: .venv/ready-release
	printf 'pip\nsetuptools\n' | $(BIN)/uv pip compile --quiet $(COMPILE) --all-extras --no-emit-package torch \
	  --no-emit-package torch-scatter --custom-compile-command "make lock" -o requirements.lock pyproject.toml -
	{ echo "torch==$(TORCH)"; sed -n 's/^\([a-z0-9][^ ;]*==[^ ;]*\).*/\1/p' requirements.lock; } | sort > .constraints
	mv .constraints constraints.txt

# Licences, then known vulnerabilities; fails where a package has one, or could not be looked up.
audit: .venv/ready-release
	$(BIN)/pip-licenses --python $(BIN)/python --order license
	$(BIN)/pip-audit --strict --require-hashes --disable-pip --progress-spinner off -r requirements.lock

# torch first and pinned: a range would let the resolver take the newest build with gigabytes of CUDA.
.venv/torch: constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) --upgrade pip setuptools
	$(PIP) "torch==$(TORCH)"
	touch $@

.venv/ready: .venv/torch pyproject.toml
	$(PIP) -e .
	touch $@

.venv/ready-dev: .venv/torch pyproject.toml
	$(PIP) -e ".[dev]"
	touch $@ .venv/ready

.venv/ready-ray: .venv/ready-dev
	$(PIP) -e ".[dev,ray]"
	touch $@

.venv/ready-browser: .venv/ready-dev
	$(PIP) -e ".[browser,notebook]"
	touch $@

.venv/ready-docs: .venv/torch pyproject.toml
	$(PIP) -e ".[docs]"
	touch $@

.venv/ready-release: .venv/torch pyproject.toml
	$(PIP) -e ".[release]"
	touch $@

clean:
	rm -rf .venv $(LOCKED) dist build site .pytest_cache .mypy_cache .ruff_cache
