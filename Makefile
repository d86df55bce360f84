# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=

.PHONY: setup demo test check serve bench clean

setup: $(VENV)/.installed

# torch first and alone: a range would pull a CUDA build of several GB (decision 0001).
$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 -c constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]' -c constraints.txt
	@touch $@

demo: setup
	$(BIN)/faultyard demo $(ARGS)

# First what measures no time, on both cores; then jobs, browser and containers, alone.
ALONE := jobs or browser or docker

test: setup
ifeq ($(strip $(ARGS)),)
	$(BIN)/python -m pytest -q -n 2 -m "not ($(ALONE))"
	$(BIN)/python -m pytest -q -m "$(ALONE)"
else
	$(BIN)/python -m pytest $(ARGS)
endif

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

serve: setup
	$(BIN)/faultyard serve $(ARGS)

# Peers are installed here only: nothing but a benchmark ever imports them.
bench: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,peers]' -c constraints.txt
	$(BIN)/faultyard bench $(ARGS)

clean: setup
	$(BIN)/faultyard clean $(ARGS)
