# Needs GNU make and Python 3.10 or newer, nothing else. Each target sets up what it needs in $(VENV).
#
#   make test ARGS="-k contributions"       arguments for pytest
#   make run ARGS="--smoke"                 arguments for the example
#   make test PYTHON=python3.12             another Python, for a new environment (`make distclean` first)

PYTHON  ?= python3
VENV    ?= .venv
ARGS    ?=
WORKERS ?= 2
# What `make test-versions` runs, on which Pythons, and on which with the lowest versions that setup.cfg allows.
SUITE   ?= test-quick
PYTHONS ?= python3.10 python3.11 python3.12 python3.13
OLDEST  ?= python3.10
# What pip is asked for in `make test-backends`. On Linux a plain torch brings several GB of CUDA libraries.
TORCH   ?= torch
# What checks the types of the page, from npm.
TYPESCRIPT ?= typescript@5.9.3
# Which cases `make test-backends` runs, as pytest's -m; "" for all.
CASES   ?= not matrix
ON_BACKENDS := tests/layers tests/test_recurrence.py tests/test_linear_scans.py tests/test_backend.py \
	tests/test_fitting.py tests/test_regularizers.py tests/analysis/test_activations.py tests/analysis/test_unread_steps.py

export KERAS_BACKEND ?= tensorflow
# Nothing from TensorFlow's C++ side: what matters there reaches Python as an exception.
export TF_CPP_MIN_LOG_LEVEL ?= 3

BIN := $(VENV)/bin
# setuptools warns about every editable installation; errors are shown.
PIP := PYTHONWARNINGS=ignore $(BIN)/python -m pip --disable-pip-version-check --quiet

# The extras behind each target that installs.
EXTRAS_run   := datasets,figures
EXTRAS_quick := quick
EXTRAS_test  := test,all
EXTRAS_lint  := dev,all
EXTRAS_jax   := test,all,jax
EXTRAS_docs  := docs,figures,datasets

# One thread a worker: the workers already fill the cores, and sums keep their order. A file is one worker's, as its
# fixtures are; tests/conftest.py puts the longest files first.
PYTEST := TF_NUM_INTRAOP_THREADS=1 TF_NUM_INTEROP_THREADS=1 OMP_NUM_THREADS=1 \
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# About a minute on two cores: the equations, the rules of the tree, and one file of each main part.
QUICK := tests/test_equations.py tests/test_affine.py tests/test_losses.py tests/test_repr.py tests/test_imports.py \
	tests/test_public_names.py tests/layers/test_isan.py tests/analysis/isan/test_contributions.py \
	tests/automata/test_dfa.py

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: figures help run papers test test-all test-quick test-backends test-nightly test-this-nightly test-versions test-these-lowest docs lint format dist clean distclean

help:  ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

run: $(VENV)/.installed-run  ## Look inside trained networks, then train one on text (examples/look.py, text_isan.py).
	$(BIN)/python examples/look.py
	@echo; echo "Now a network of your own (ARGS are its arguments; Ctrl-C ends the training early)."
	$(BIN)/python examples/text_isan.py $(ARGS)

papers: $(VENV)/.installed-test  ## Run the papers' experiments: ARGS="list", ARGS="run counting --smoke", ...
	$(BIN)/python -m examples.papers $(ARGS)

test: $(VENV)/.installed-test  ## Run the core of the tests on TensorFlow.
	$(PYTEST) -m "not matrix" $(ARGS)

# It can be stopped, and goes on with the shards that the tree as it is has no green outcome of.
test-all: $(VENV)/.installed-jax  ## Run all cases of all tests, on all backends, in 24 shards; ARGS="7/24" runs one.
	@echo "Installing $(TORCH) into $(VENV), where it is not there yet (1 to 5 minutes)."
	@$(PIP) install '$(TORCH)'
	$(BIN)/python -m tests.shards $(ARGS)

test-quick: $(VENV)/.installed-quick  ## Run a selection of the tests, about a minute.
	$(PYTEST) -m "not matrix" $(QUICK) $(ARGS)

test-backends: $(VENV)/.installed-jax  ## Run the core of the layers' and the fits' tests on JAX and on torch; CASES="" runs all.
	@echo "Installing $(TORCH) into $(VENV), where it is not there yet (1 to 5 minutes)."
	@$(PIP) install '$(TORCH)'
	KERAS_BACKEND=jax $(PYTEST) -m "$(CASES)" $(ON_BACKENDS) $(ARGS)
	KERAS_BACKEND=torch $(PYTEST) -m "$(CASES)" $(ON_BACKENDS) $(ARGS)

test-nightly:  ## Run the tests of layers and analyses on the newest keras-nightly, in .venv-nightly.
	@$(MAKE) --no-print-directory VENV=.venv-nightly test-this-nightly

# Keras and its nightly build own the same folder: taken away both, and installed the one.
test-this-nightly: $(VENV)/.installed-test
	@echo "Installing the newest keras-nightly into $(VENV)."
	@$(PIP) uninstall --yes keras keras-nightly
	@$(PIP) install keras-nightly
	@$(BIN)/python -c 'from importlib.metadata import version; print("Keras", version("keras-nightly"))'
	$(PYTEST) tests/layers tests/test_recurrence.py tests/test_linear_scans.py tests/test_backend.py $(ARGS)
	$(PYTEST) -m "not matrix" tests/program tests/network tests/analysis $(ARGS)

# Environments .venv-python3.10, ..., .venv-lowest. All are tried; those that failed are named at the end.
test-versions:  ## Run test-quick (SUITE=test: the core) on each Python, and on the lowest versions of the packages.
	@failed=; \
	for python in $(PYTHONS); do \
		echo "== $$python, the newest packages"; \
		$(MAKE) --no-print-directory VENV=.venv-$$(basename $$python) PYTHON=$$python $(SUITE) || failed="$$failed $$python"; \
	done; \
	echo "== $(OLDEST), the lowest packages"; \
	$(MAKE) --no-print-directory VENV=.venv-lowest PYTHON=$(OLDEST) test-these-lowest || failed="$$failed lowest"; \
	if [ -n "$$failed" ]; then echo "Failed:$$failed." >&2; exit 1; fi

# The first bound of each package that the layers need, as setup.cfg has it, for pip: keras==3.12, numpy==1.26, ...
test-these-lowest: $(VENV)/.installed-test
	@$(PIP) install $$(sed -n '/^install_requires/,/^$$/s/>=/==/p' setup.cfg)
	@$(MAKE) --no-print-directory VENV=$(VENV) $(SUITE)

docs: $(VENV)/.installed-docs  ## Build the documentation into build/docs, about a minute. A warning is an error.
	$(BIN)/python -m sphinx --builder html --jobs auto --fail-on-warning --keep-going --quiet docs build/docs
	@echo "Open build/docs/index.html."

figures: $(VENV)/.installed-test  ## Make the pictures of pages anew, in Chromium (Debian: chromium, chromium-driver).
	$(BIN)/python docs/pictures.py

lint: $(VENV)/.installed-lint  ## Check style, format and types, those of the page too.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@export PATH="$(abspath $(BIN)):$$PATH"; tsc="npx --yes --package $(TYPESCRIPT) tsc"; \
	if $$tsc --version >/dev/null 2>&1; then echo "tsc --project tensorboard_plugins"; $$tsc --project tensorboard_plugins; \
	else echo "NOT CHECKED: the types of the page, as npm is not reached."; fi

format: $(VENV)/.installed-lint  ## Put the code into form.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

dist: $(VENV)/.installed-lint  ## Build the wheel and the source archive into dist/.
	rm -rf build dist
	$(BIN)/python -m build

clean:  ## Remove what was built and cached. The environment and runs/ stay.
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.* htmlcov
	find . -name __pycache__ -not -path './$(VENV)/*' -not -path './.venv-*/*' -prune -exec rm -rf {} +

distclean: clean  ## Remove the environments too.
	rm -rf '$(VENV)' .venv-nightly $(addprefix .venv-,$(notdir $(PYTHONS))) .venv-lowest

# The stamps are younger than what they stand for, so nothing is installed twice unless setup.cfg changes.
$(VENV)/.installed-%: setup.cfg $(VENV)/.created
	@echo "Installing keras_interp_rnn[$(EXTRAS_$*)] into $(VENV)" \
		"(1 to 5 minutes the first time: TensorFlow alone is half a GB)."
	@$(PIP) install --editable '.[$(EXTRAS_$*)]'
	@touch $@

# pip is renewed first: the one that comes with Python 3.10 still searches after three minutes where a new one needs ten
# seconds (tensorflow-datasets and its etils).
$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || \
		{ echo "keras_interp_rnn needs Python 3.10 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1 | head -n 1)." \
		"Name another: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "Creating $(VENV) with $$($(PYTHON) --version) (half a minute)."
	@$(PYTHON) -m venv --clear '$(VENV)'
	@$(PIP) install --upgrade 'pip>=25'
	@touch $@
