# Two commands matter: `make demo` and `make test`. Both set up .venv first, and are safe to repeat.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test test-slow bench docs wheel clean

demo: .venv/ready
	$(BIN)/hypergraph node-clf --dataset disease --head bmlr-p

test: .venv/ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-slow: .venv/ready-dev
	$(BIN)/python -m pytest -n 2 -m slow

bench: .venv/ready-dev
	for script in benchmarks/[a-z]*.py; do $(BIN)/python $$script || exit 1; done

docs: .venv/ready-docs
	$(BIN)/python -m sphinx -b html -W --keep-going -q docs site
	@echo "open site/index.html"

wheel: .venv/ready-dev
	rm -rf dist
	$(BIN)/python -m build --wheel --no-isolation --outdir dist . >/dev/null
	@ls dist/*.whl

# torch first and pinned: a range would let the resolver take the newest build with gigabytes of CUDA.
.venv/torch: constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) "torch==$$(sed -n 's/^torch==//p' constraints.txt)"
	touch $@

.venv/ready: .venv/torch pyproject.toml
	$(PIP) -e .
	touch $@

.venv/ready-dev: .venv/torch pyproject.toml
	$(PIP) -e ".[dev]"
	touch $@ .venv/ready

.venv/ready-docs: .venv/torch pyproject.toml
	$(PIP) -e ".[docs]"
	touch $@

clean:
	rm -rf .venv dist build site .pytest_cache .mypy_cache .ruff_cache
