# Two commands for a fresh machine with Python 3.11+ and git: `make demo` and `make test`. Both set up .venv by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Twice as many as there are processors: many tests wait for agents, servers and watchdogs.
WORKERS ?= $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))

.PHONY: demo test fast soak lint format types reference bench clean

demo: $(READY)
	$(BIN)/punchlist demo || [ $$? -eq 1 ]  # 1: findings are left, as they are meant to be

# With so many at a time a wait may be too short here and there: what failed is run once more, by itself, and must pass then.
test: lint types $(READY)
	$(BIN)/python -m pytest -m "not soak" -n $(WORKERS) || \
	  { [ $$? -eq 1 ] && $(BIN)/python -m pytest -m "not soak" --last-failed --last-failed-no-failures none; }

fast: $(READY)
	$(BIN)/python -m pytest -n auto

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

types: $(READY)
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Kills runs 200 times at random moments, and once at every event, with and without agents; `make test` does so less often.
soak: $(READY)
	KILLS=200 $(BIN)/python -m pytest -m "" -n auto tests/journeys/test_killed.py tests/journeys/test_killed_agents.py tests/adapters/agents

reference: $(READY)
	$(BIN)/python tools/reference.py
	$(BIN)/python tools/openapi.py

bench: $(READY)
	$(BIN)/python bench/run.py

# uv where it is there, plain venv and pip where it is not.
$(READY): pyproject.toml
	@if command -v uv >/dev/null 2>&1; then \
	  uv venv --quiet --allow-existing --python $(PYTHON) $(VENV) && uv pip install --quiet --python $(BIN)/python --editable . --group dev; \
	else \
	  $(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1" && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev; \
	fi
	@touch $(READY)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
