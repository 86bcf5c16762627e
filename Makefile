# `make run` needs Python 3.11 or newer and make; everything else it sets up in .venv.
# The first of these that runs and can make environments; give another with `make run PYTHON=…`.
WORKS = $(shell $(1) -c 'import venv, ensurepip, sys; sys.version_info < (3, 11) or print("$(1)")' 2>/dev/null)
PYTHON ?= $(or $(call WORKS,python3.11),$(call WORKS,python3.12),$(call WORKS,python3),python3)
VENV := .venv/bin
TOGETHER := -n auto --dist loadfile --no-loadscope-reorder
# Engines, actors and tasks are processes of their own: without compiled modules each would start in twice the time.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := run
.PHONY: run link test test-js lint lint-js bench screenshots clean setup setup-dev setup-cluster setup-trl setup-trackers

run: setup  ## start everything, print a link that signs you in; Ctrl-C stops everything
	@exec $(VENV)/python -m workers.launch

link: setup  ## print a new sign-in link
	@$(VENV)/python manage.py sign_in_link

test: lint test-js setup-cluster  ## everything that tests, on SQLite and what has a database on PostgreSQL too
	OMP_NUM_THREADS=1 $(VENV)/python -m pytest $(TOGETHER)
	OMP_NUM_THREADS=1 $(VENV)/python -m tests.on_postgres $(TOGETHER)

lint: setup-dev lint-js  ## style, types and borders between the parts
	$(VENV)/ruff check .
	$(VENV)/ruff format --check .
	$(VENV)/mypy engine webapp workers
	$(VENV)/lint-imports

lint-js: node_modules/.package-lock.json  ## style and types of the browser's code
	npx --no-install eslint .
	npx --no-install tsc --noEmit
	npx --no-install tsc --noEmit --project tests/js

test-js: node_modules/.package-lock.json  ## unit tests of the browser's code, by node's own runner
	node --test tests/js/*/*.test.js

node_modules/.package-lock.json: package.json package-lock.json
	npm ci --no-progress

bench: setup-dev setup-cluster setup-trl setup-trackers  ## how fast this machine does what matters, beside other tools where there are any
	$(VENV)/python -m benchmarks

screenshots: setup-dev  ## the pictures of the docs anew, from runs that really train; takes minutes
	$(VENV)/python -m tests.screenshots

setup:
	@$(PYTHON) -m workers.launch.install base

setup-dev:
	@$(PYTHON) -m workers.launch.install dev

setup-cluster: setup-dev  ## Ray and vLLM's CPU build, which the tests of clusters and the benchmarks use
	@$(PYTHON) -m workers.launch.install cluster

setup-trl:  ## TRL in .venv-trl, which a step is measured against
	@$(PYTHON) -m workers.launch.install trl

setup-trackers:  ## trackio and MLflow in .venv-trackers, which the first load of a run's page is measured against
	@$(PYTHON) -m workers.launch.install trackers

clean:  ## caches only; runs and the database in var/ stay
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build
	find . -name __pycache__ -type d -not -path './.venv*/*' -prune -exec rm -rf {} +
