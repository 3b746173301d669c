# A handful of verbs. Each works from a fresh clone with Python 3.11 and a package index:
# `make setup` happens by itself.
PY ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
CODE := src tests $(wildcard benchmarks) $(wildcard examples)
QUICK := $(wildcard tests/unit tests/property tests/contract tests/golden tests/arch)
BENCHMARKS := server micro equality cpu one-host macro shards tls envelope politeness addresses neardup growth versus order \
  freshness watch traps capture graph graph-shards index-shards ranks urlmap serve popular edges webgraph relevance search tiers \
  indexing organisations slow-hosts export fleet cluster
.DEFAULT_GOAL := help
# Compiled modules are kept, whatever the environment says: without them each of the processes that
# tests start compiles all of Gossamer anew.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: help setup demo test check quick mutants kills test-store test-cluster test-ray fix docs lock bench plots shot

help:            ## what you can say
	@grep -hE '^[a-z%-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

.venv/stamp: requirements.lock pyproject.toml $(wildcard examples/*/pyproject.toml)
	$(PY) -m venv .venv
	$(PIP) install --only-binary :all: -r requirements.lock
	$(PIP) install --no-deps --no-build-isolation -e . \
	  $(foreach plugin,$(wildcard examples/*/pyproject.toml),-e $(dir $(plugin)))
	$(BIN)/python -m gossamer.process.onepass
	@touch $@

setup: .venv/stamp   ## .venv with the locked dependencies
	@true

demo: setup      ## crawl the built-in web and show what can be asked
	$(BIN)/gossamer demo

test: setup      ## all tests, a file at a time; many wait, so there are four at once
	@$(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder || { code=$$?; [ $$code = 1 ] || exit $$code; \
	  echo "=== the tests that failed beside others, once more and alone; one that fails again has failed"; \
	  $(BIN)/pytest --last-failed --last-failed-no-failures none --maxfail 5; }

check: setup     ## format, lint, types, import contracts, unique names, dead links
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/pytest -q tests/arch
	@$(BIN)/python tests/arch/house.py

quick: setup     ## unit, property, contract and arch tests that take no time, on all cores
	$(BIN)/pytest -q -n auto --maxprocesses 4 --dist loadfile --hypothesis-profile=quick \
	  -m "not slow" $(QUICK)

mutants: setup   ## small bugs put into the code that must not go wrong: do its tests notice?
	@$(BIN)/python -m tests.mutants

kills: setup     ## crawls that are killed with -9 at 100 random moments: KILLS=1000 for more
	@$(BIN)/python -m tests.e2e.kills

test-store: setup   ## all tests of checkpoints in an object store, a fraction of which `test` plays
	MODEL_RUNS=3000 STORE_FULL=1 $(BIN)/pytest -q -n 2 tests/model tests/store

test-cluster: setup   ## a crawl on several machines with 75 faults, of which `test` plays three
	CLUSTER_FULL=1 $(BIN)/pytest -q -n 4 --dist loadgroup tests/cluster

.venv/ray: requirements-ray.lock .venv/stamp
	@$(PIP) install --only-binary :all: --constraint requirements.lock -r requirements-ray.lock \
	  && touch $@ || echo "Ray cannot be installed here: what needs it is skipped"

test-ray: setup .venv/ray   ## a crawl on Ray: five nodes killed, five that join and leave; installs Ray
	RAY_FULL=1 $(BIN)/pytest -q -s tests/cluster/test_ray.py

fix: setup       ## format, and mend what can be mended
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

docs: setup      ## write docs/TABLES.md and the generated parts of docs/OPERATING.md, docs/API.md
	$(BIN)/python tests/arch/operating.py
	$(BIN)/python tests/arch/reference.py
	$(BIN)/python tests/arch/table_columns.py

lock:            ## choose versions anew (needs uv)
	uv pip compile --extra dev --python-version 3.11 --no-header --no-annotate \
	  --no-binary pyftpdlib --emit-build-options --upgrade -o requirements.lock pyproject.toml

dist: setup      ## dist/: wheel and sdist; each is installed in a new environment, with a demo there
	@if [ -n "$$(git status --porcelain 2>/dev/null)" ]; then \
	  echo "dist: there are changes that are not committed; commit them, or put them aside" >&2; exit 2; fi
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	@$(BIN)/python tests/dist.py dist

bench-%: setup   ## one benchmark, exit 1 if an aim is missed: make bench-cpu; its options as variables
	$(BIN)/python benchmarks/$(subst -,_,$*).py

bench: setup     ## all benchmarks, then what they found beside what they should
	@for name in $(BENCHMARKS); do echo "=== $$name"; \
	  $(MAKE) --no-print-directory bench-$$name || failed="$$failed $$name"; done; \
	$(BIN)/python benchmarks/summary.py; \
	if [ -n "$$failed" ]; then echo "failed:$$failed"; exit 1; fi

shot: setup      ## the README's picture of the search page: make shot CRAWL=mycrawl WORDS="..."
	$(BIN)/python -m tests.browser.shoot

plots: setup     ## the pictures and tables of docs/BENCHMARKS.md, from benchmarks/results
	$(BIN)/python benchmarks/plots.py
