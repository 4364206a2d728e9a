# make demo   the page on http://localhost:7860 (GRADIO_SERVER_NAME and GRADIO_SERVER_PORT are honoured)
# make test   lint, format check and every test
# make bench  the methods timed on this machine
# make clean  remove the virtual environment and caches of this folder (the model in ~/.cache/ragged stays)

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export GRADIO_SERVER_PORT ?= 7860
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test bench clean

demo: $(VENV)/requirements.stamp
	@$(BIN)/python -m engine fetch || echo "Without the model the page shows recorded traces only." >&2
	$(BIN)/python app.py

test: $(VENV)/requirements-dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest -n auto --dist loadfile

bench: $(VENV)/requirements.stamp
	$(BIN)/python -m engine bench

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Ragged needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) -V 2>&1)." >&2; \
	  echo "Name another one: make demo PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV) || { \
	  rm -rf $(VENV); echo "The venv module is incomplete; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }

# The stamps carry the time of the last install: pip runs again only when a list changed.
$(VENV)/requirements.stamp: requirements.txt constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install -q -r requirements.txt -c constraints.txt
	@touch $@

$(VENV)/requirements-dev.stamp: requirements.txt requirements-dev.txt constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install -q -r requirements-dev.txt -c constraints.txt
	@touch $@ $(VENV)/requirements.stamp
