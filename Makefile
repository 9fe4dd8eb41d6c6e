# Every target sets up what it needs; `make` alone lists them.
VENV := .venv
BIN := $(VENV)/bin
# Tests run in this many processes.
WORKERS ?= 2
# More for pytest, such as ARGS="tests/graph -k window".
ARGS ?=

.PHONY: help setup chat dev test check lint types wheel map bench update clean

help: ## List the targets
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-14s %s\n", $$1, $$2 }'

setup: ## Make .venv with everything in it (PYTHON=… names the interpreter)
	@sh scripts/setup.sh

chat: setup ## Talk to Ricordo
	@$(BIN)/ricordo chat

dev: setup ## Serve the graph for LangGraph Studio, on port 2024
	@[ -e .langgraph_api ] || rm -f .langgraph_api # a link into a home that is gone
	@LANGGRAPH_CLI_NO_ANALYTICS="$${LANGGRAPH_CLI_NO_ANALYTICS:-1}" \
	 LANGGRAPH_NO_VERSION_CHECK="$${LANGGRAPH_NO_VERSION_CHECK:-true}" \
	 $(BIN)/langgraph dev --no-browser --no-reload --n-jobs-per-worker 10 $(ARGS)

test: setup ## Run the tests
	@$(BIN)/pytest -n $(WORKERS) $(ARGS)

check: setup ## Run all that CI runs: format, lint, types, wheel, tests, and a clean tree at the end
	@sh scripts/check.sh

lint: setup ## Check format, style, the layers of imports, and the map
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/lint-imports --no-cache --no-logo
	@$(BIN)/python scripts/draw_map.py --check

types: setup ## Check types, strictly
	@$(BIN)/mypy

wheel: setup ## Build the wheel, and use it outside the repository
	@sh scripts/wheel.sh

map: setup ## Draw the map in CONTRIBUTING.md anew, from the code
	@$(BIN)/python scripts/draw_map.py

bench: setup ## Measure a turn at 10,000 memories
	@$(BIN)/ricordo bench turn --memories 10000

update: setup ## Renew constraints.txt
	@sh scripts/update.sh

clean: ## Remove what was made here; memory in RICORDO_HOME stays
	@rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .langgraph_api
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
