# Everything runs in .venv, which tools/bootstrap.py makes; nothing else is needed than Python 3.11+,
# a Java 17+ and make. `make PYTHON=/path/to/python3.12 test` chooses another interpreter.
PYTHON ?= python3
RUN := .venv/bin
SETUP := $(PYTHON) tools/bootstrap.py

# What is not kept compiled is compiled again by every process: a console is eleven of them.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo run test live quick bench campaign check lock clean

help:  ## say what there is
	@sed -n 's/^\([a-z]*\):.*## /  make \1	/p' Makefile

demo:  ## two Kafka clusters, a flow between them and the console, on this machine; MM2=1: a MirrorMaker 2, too
	@$(SETUP) main --java
	@CROSSLOG_HOME=$(CURDIR)/var/demo exec $(RUN)/python manage.py demo $(if $(MM2),--mirror-maker)

run:  ## the console alone, for your own clusters
	@$(SETUP) main --java
	@exec $(RUN)/python manage.py up

test:  ## all tests without clusters, the browser tests, and the journeys on real clusters
	@$(SETUP) dev --java --browser
	@$(RUN)/python -m jobs lab fetch
	@$(RUN)/python -m pytest -n 4 --durations 25 --ignore tests/live

live:  ## all other tests on real clusters, by room: make live ROOM=quorum; without a room: all of them
	@for room in $(ROOM); do test -d tests/live/$$room || { \
	  echo "There is no room $$room. Rooms: $(notdir $(patsubst %/,%,$(wildcard tests/live/[a-z]*/)))."; exit 2; }; done
	@$(SETUP) dev --java --browser
	@$(RUN)/python -m jobs lab fetch
	@$(RUN)/python -m pytest -n 3 --durations 25 $(or $(addprefix tests/live/,$(ROOM)),tests/live)

quick:  ## the tests that need no cluster, no browser and no Spark
	@$(SETUP) dev
	@$(RUN)/python -m pytest -q -n 3 -m "not browser and not slow" --ignore tests/live --ignore tests/journeys

bench:  ## measure speed and memory into bench/results/, all or by name: make bench many-flows
	@$(SETUP) dev --java
	@$(RUN)/python bench/run.py $(filter-out bench,$(MAKECMDGOALS))

campaign:  ## what is long by nature, by name: make campaign chaos drills SEED=2 SECONDS=600 FLOWS=8; alone it says which
	@$(SETUP) dev --java --browser
	@$(RUN)/python bench/campaign.py $(filter-out campaign,$(MAKECMDGOALS)) $(if $(SEED),--seed $(SEED)) \
	  $(if $(SECONDS),--duration-s $(SECONDS)) $(if $(FLOWS),--flows $(FLOWS))

check:  ## format, lint, types, migrations; names conformance cases beside the project that it lacks
	@$(SETUP) dev
	$(RUN)/ruff format --check .
	$(RUN)/ruff check .
	$(RUN)/mypy
	$(RUN)/python manage.py makemigrations --check --dry-run
	$(RUN)/python manage.py check --fail-level WARNING
	@$(RUN)/python tools/missing_cases.py

lock:  ## lock the dependencies again, with hashes, to the newest that requirements/*.in allow
	@$(SETUP) main
	cd requirements && for name in install main dev; do \
	  ../$(RUN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
	    --generate-hashes --no-header --no-emit-index-url $$name.in -o $$name.txt || exit 1; done

clean:  ## remove what make made here: environment, demo, results (not your own data or caches)
	rm -rf .venv var/demo static-root bench/results/*.json *.egg-info
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis

# Names of campaigns and benchmarks are no targets.
ifneq (,$(filter campaign bench,$(firstword $(MAKECMDGOALS))))
NAMES := $(filter-out campaign bench,$(MAKECMDGOALS))
.PHONY: $(NAMES)
$(NAMES):
	@:
endif
