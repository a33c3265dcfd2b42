# Two commands for a fresh machine with Python 3.11+ and git: `make demo` and `make test`. Both do all the set-up themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PRODUCT := $(VENV)/.product
READY := $(VENV)/.ready
COVERED := .venv-covered/.ready
# Four for each processor: many tests wait for agents, servers and watchdogs.
WORKERS ?= $(shell echo $$((4 * $$(getconf _NPROCESSORS_ONLN))))
PYTEST := $(BIN)/python -m pytest
unexport PYTHONDONTWRITEBYTECODE # tests start hundreds of Pythons: each would compile everything again

.PHONY: demo test fast soak matrix system agents lint types format reference refresh site newcomer bench release-check clean

demo: $(PRODUCT)
	@PATH="$$PATH:$(CURDIR)/$(VENV)/uv/bin" $(BIN)/punchlist demo || [ $$? -eq 1 ]  # 1: findings are left, as they are meant to be

# The parts of the set-up go side by side; tests that drive agents wait until these are there. Lint and types run beside the
# tests and are printed after them.
test:
	@$(MAKE) --no-print-directory agents & $(MAKE) --no-print-directory --jobs 2 system $(COVERED) || exit 1; \
	  $(MAKE) --no-print-directory lint types > $(VENV)/lint.log 2>&1 & lint=$$!; \
	  $(PYTEST) --processes $(WORKERS); tests=$$?; \
	  wait $$lint; lint=$$?; cat $(VENV)/lint.log; exit $$((tests + lint))

fast: $(READY)
	$(PYTEST) -m pure --processes $(WORKERS)

# Kills runs 200 times at random moments, and once at every event, with and without agents; `make test` does so less often.
soak: $(READY)
	SOAK=1 KILLS=200 $(PYTEST) -m "not serial" --processes $(WORKERS)

# Each workflow with each real agent and each kind of fixer; takes about an hour and goes on where it was.
matrix: $(READY) agents
	$(BIN)/python tools/agent_matrix.py --jobs 2 --results $(VENV)/agent-matrix.jsonl

# A sandbox and a browser: on Debian as root they are installed, elsewhere what is missing is named.
system:
	@tests/system.sh

# The coding agents that tests drive for real.
agents:
	@$(PYTHON) tests/npm.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

types: $(READY)
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

reference: $(READY)
	$(BIN)/python tools/reference.py
	$(BIN)/python tools/openapi.py
	$(BIN)/python tools/report_reference.py
	$(BIN)/python tools/parse_workflows.py

# Types every command that the docs show, and writes what is printed into the pages; then look at the difference.
refresh: $(READY) $(COVERED)
	$(BIN)/python tools/follow_docs.py --write

# The documentation with search, for any browser, without a server: site/index.html.
site: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "open site/index.html"

# README and tutorial word for word, in a fresh clone with an empty home.
newcomer:
	$(PYTHON) tools/newcomer.py

bench: $(READY)
	$(BIN)/python bench/run.py

# The wheel in a clean environment of every Python that is found here, with pipx, and the checks of the package index.
release-check: $(READY)
	@PYTHON=$(PYTHON) tools/install.sh $(VENV) --group release
	$(BIN)/python tools/release_check.py

$(PRODUCT): pyproject.toml
	@echo "setting up $(VENV) with what punchlist needs (about 10 s) ..."
	@PYTHON=$(PYTHON) tools/install.sh $(VENV) --editable .
	@touch $@

$(READY): pyproject.toml tools/unregister_plugins.py
	@echo "setting up $(VENV) with what punchlist and its tests need (about 20 s) ..."
	@PYTHON=$(PYTHON) tools/install.sh $(VENV) --editable . --group dev
	@$(BIN)/python tools/unregister_plugins.py
	@touch $(PRODUCT) $@

# A Python with coverage.py beside the one without: tests show what punchlist says with either.
$(COVERED): Makefile $(READY)
	@PYTHON=$(PYTHON) tools/install.sh .venv-covered "coverage>=7.6" "pytest>=8.4"
	@touch $@

clean:
	rm -rf $(VENV) .venv-covered build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
