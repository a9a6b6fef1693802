# Two commands do everything: `make demo` and `make test`. Each sets up what it needs, once.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests run side by side: threads within a matrix product would only be in each other's way.
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest

.PHONY: demo quick test test-slow coverage bench check docs pictures notebooks reproduction lock set-up system clean

demo: $(VENV)/.run
	$(BIN)/halfmask demo

test: set-up check
	$(PYTEST) -n 3 --dist loadgroup --durations 10  # three, because one of them often waits for a server or a browser

# The inner loop: style, types, and the tests that need no server, browser, Spark or process of their own. LONG are the
# files of these rooms that do, and those that take 3 seconds or more.
ROOMS := audits choice commands data device evaluation mechanisms menus profiles protection rewards
LONG := audits/card audits/empirical choice/mix commands/audit commands/bad_input commands/commands commands/floor \
  commands/repeat data/addresses data/advised_queries data/databases data/exports data/spark device/browser_twin \
  device/share_commands device/sharing evaluation/brute evaluation/direct evaluation/direct_runs \
  evaluation/direct_spark evaluation/exact_lattice evaluation/same_answer evaluation/users_needed menus/axes \
  menus/compare menus/four_panels menus/offer menus/public_summary menus/publish menus/refine menus/same_anywhere \
  menus/least_noise menus/summary_privacy profiles/duplicates profiles/registers profiles/routes profiles/store \
  protection/attacks_all protection/guarantee
LONG_FILES := $(foreach each,$(LONG),tests/$(subst /,/test_,$(each)).py)
quick: check
	$(PYTEST) -n 2 -k 'not spark' tests/test_names.py \
	  $(filter-out $(LONG_FILES),$(wildcard $(ROOMS:%=tests/%/test_*.py)))

test-slow: set-up
	$(PYTEST) -m slow -n 2 --dist loadgroup --durations 10
	HALFMASK_SEARCH=1 $(PYTEST) -m 'hypothesis and not slow' -n 2 --dist loadgroup

# Which lines the tests never reach.
coverage: set-up
	$(PYTEST) -n 2 --dist loadgroup --cov halfmask --cov halfmask_device --cov-report term:skip-covered --cov-report html

# The documents as a site, with the Python reference, in site/.
docs: $(VENV)/.dev
	$(BIN)/mkdocs build --strict

# The pictures of the documents, from a new demo.
pictures: set-up
	$(BIN)/halfmask demo -o demo
	$(BIN)/python scripts/pictures.py demo docs/pictures

# The outputs in the notebooks again.
notebooks: $(VENV)/.dev
	$(BIN)/python scripts/notebooks.py docs/notebooks docs/notebooks/*.ipynb

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(PYTEST) tests/test_imports.py

# The paper's claims, measured again with five seeds (minutes each): HOUSEHOLDS names a file of user, time and value to check them on as well.
reproduction: $(VENV)/.dev
	$(BIN)/halfmask synth -o stand-in.parquet --users 6435 --days 536 --seed 1
	$(BIN)/python -m reproduction docs/reproduction.md stand-in=stand-in.parquet \
	  $(if $(HOUSEHOLDS),swiss=$(HOUSEHOLDS))

# What the tests need, from Python's packages and the system's at once.
set-up:
	@$(MAKE) --no-print-directory -j 2 $(VENV)/.dev system

# What the tests alone use: Java for Spark, PostgreSQL, MariaDB, Mosquitto, a browser; nothing happens where all are there.
system:
	@./scripts/system-packages

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# The locks name every package, those that build others included, so nothing is resolved here: a release of tomorrow
# cannot break what installed today.
LOCKED := $(BIN)/python -m pip install --quiet --no-deps --require-hashes
$(VENV)/.run: $(VENV)/bin/python requirements/run.txt pyproject.toml
	@test -f $(VENV)/.dev || $(LOCKED) -r requirements/run.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@$(BIN)/python -m pip check --quiet
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python requirements/dev.txt pyproject.toml
	$(LOCKED) -r requirements/build.txt
	$(LOCKED) --no-build-isolation -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@$(BIN)/python -m pip check --quiet
	@touch $@ $(VENV)/.run

# Recreate versions and hashes, without index addresses (needs uv: pip install uv). The demo needs pages and service.
LOCK = uv pip compile -q --generate-hashes --strip-extras --no-emit-index-url --no-header --python-version $(1)
lock:
	$(call LOCK,3.11) --extra pages --extra service -o requirements/run.txt pyproject.toml requirements/build.in
	$(call LOCK,3.11) -o requirements/build.txt requirements/build.in -c requirements/run.txt
	$(call LOCK,3.11) --all-extras -o requirements/dev.txt pyproject.toml requirements/dev.in -c requirements/run.txt
	$(call LOCK,3.13) -o requirements/home-assistant.txt requirements/home-assistant.in

clean:
	rm -rf $(VENV) demo site htmlcov .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis
