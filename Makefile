# make demo runs the main job, make test proves it. Both set up what they need in .venv, from package names alone.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready
DRAGOMAN_READY := .venv/dragoman-ready

.PHONY: demo test check tests fuzz interop conformance-auth browser-test bench clean

demo: $(DRAGOMAN_READY)
	@$(BIN)/dragoman demo

test: check tests

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/pyright

tests: $(READY)
	$(BIN)/python -m pytest -n auto --dist loadfile --durations=8

# Peers that are not ours, each in an environment of its own under .interop. PEERS names some of them.
interop: $(READY)
	$(BIN)/python tests/interop/run.py $(PEERS)

# Conversations with mutations, with a new seed unless SEED is one. INPUTS is how many, FIRST the number of the first.
fuzz: $(READY)
	$(BIN)/python tests/fuzz/run.py $(or $(INPUTS),200000) $(SEED) $(FIRST)

# The sign-in scenarios of the official suite, through the bridge. CONFORMANCE may name an installed index.js.
conformance-auth: $(READY)
	$(BIN)/python tests/interop/conformance.py

# The pages of a sign-in in headless Chromium, if it is installed.
browser-test: $(READY)
	$(BIN)/python -m pytest -rs tests/interop/test_browser.py

# BENCH names the folder of the reference bench, LAB the folder of its peers (docs/performance.md).
bench: $(DRAGOMAN_READY)
	cd $(BENCH) && $(LAB)/vbench/bin/python compare.py $(CURDIR)/bench/subjects.toml \
		--var lab=$(LAB) --var dragoman=$(CURDIR)/$(BIN)/dragoman --repeat 3 --soak 50000 $(ARGS)

$(DRAGOMAN_READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dragoman needs Python 3.11 or newer; set PYTHON=")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.2'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(READY): pyproject.toml $(DRAGOMAN_READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

clean:
	rm -rf .venv .interop .ruff_cache .hypothesis .import_linter_cache
