# GNU make. Every target brings up what it needs in .venv, once.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.stablecast-ready
SIMULATES := $(VENV)/.stablecast-simulates

# The environment's interpreter if there is one, else the one to make it with.
INTERPRETER = $(if $(wildcard $(BIN)/python),$(BIN)/python,$(PYTHON))
VERSION_CHECK = import sys; print("ok" if sys.version_info >= (3, 11) else "Python %d.%d" % sys.version_info[:2])
VERSION = $(or $(shell $(INTERPRETER) -c '$(VERSION_CHECK)' 2>/dev/null),not runnable)

# Nothing below may need a home folder that can be written to.
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export MPLCONFIGDIR := $(CURDIR)/build/cache/matplotlib
# Hundreds of Pythons are started here. Each compiles all that it imports, for seconds, if none may keep it.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup test warm archive soak reproduce bench lint docs site format clean

help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(READY) ## Make the environment in .venv (PYTHON=... chooses the interpreter)

# In two steps, as what compiles needs the first alone: `make test` compiles beside the second, which fetches
# and builds Spark from sources of 456 MB on one core. Modules are compiled when they are first imported, which
# most never are.
# Older pip reads PIP_CONSTRAINT for the build environment, newer pip PIP_BUILD_CONSTRAINT.
PIP = PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt $(BIN)/python -m pip
INSTALL = $(PIP) install --quiet --no-compile --constraint constraints.txt
$(SIMULATES): pyproject.toml constraints.txt
	@$(if $(filter ok,$(VERSION)),,$(error stablecast needs Python 3.11 or newer, and $(INTERPRETER) is $(VERSION)))
	@if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then $(PYTHON) -m venv $(VENV); fi
	@echo "Installing stablecast and its tools into $(VENV)"
	@$(INSTALL) -e ".[simulate]"
	@touch $@

$(READY): $(SIMULATES)
	@$(INSTALL) -e ".[dev]"
	@touch $@

test: ## Lint, then run every test
	@$(MAKE) -j3 lint warm archive
	$(BIN)/python -m pytest -n 3 --dist loadgroup

# Both beside the checks: what tests compile, and what Java starts from some twenty times.
# The sources are told to Python here, because pip takes stablecast out and in again meanwhile.
warm: $(SIMULATES)
	PYTHONPATH=src $(BIN)/python -m stablecast.simulate.warm --machines
	PYTHONPATH=src $(BIN)/python -m stablecast.delivery.warm

archive: $(READY)
	$(BIN)/python -m stablecast.pipeline.class_archive

soak: $(READY) ## Run thousands of seeded fault schedules, the soak of real processes, and the longest tests
	$(BIN)/python -m pytest -m soak
	$(BIN)/python -m pytest -m "hypothesis and not soak" --hypothesis-profile soak -n 2 --dist loadgroup
	KEYSTONE_EXAMPLES=400 CHANNEL_EXAMPLES=400 $(BIN)/python -m pytest -n 2 \
		tests/simulate/test_keystone.py tests/simulate/test_keystone_gossip.py tests/protocols/test_acknowledging.py
	$(BIN)/python -m tests.soak --schedules 5000 --processes 2
	$(BIN)/python -m tests.soak --schedules 100 --members 64 --processes 2
	$(BIN)/python -m tests.soak --schedules 20 --members 256 --processes 2
	$(BIN)/python -m benchmarks.live_soak

reproduce: $(READY) ## Reproduce the papers on local Spark into build/reproduce
	$(BIN)/stablecast reproduce --quick --out build/reproduce

bench: $(READY) ## Run the benchmarks
	$(BIN)/python -m benchmarks.run

lint: $(READY) ## Check style, formatting, types and the packages' imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(READY) ## Run the documentation's examples
	$(BIN)/python -m pytest -q tests/docs

site: $(READY) ## Build the documentation's web site into build/site/html
	$(BIN)/python -m website.build --out build/site

format: $(READY) ## Format the code and fix what can be fixed
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

clean: ## Remove what was built and the caches (not .venv)
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .grimp_cache
	find . \( -path ./.git -o -path ./$(VENV) \) -prune -o -type d -name __pycache__ -prune -exec rm -rf {} +
