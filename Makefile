# `make demo` and `make test` do all the set-up from a fresh clone; a second run does not install again.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test fuzz lint docs wheel bench readme constraints clean

demo: $(STAMP)
	$(BIN)/gramless demo

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist worksteal

# The property-based tests of `make test` on new random examples, for as long as one asks.
MINUTES ?= 60
fuzz: $(STAMP)
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES)

lint: $(STAMP)
	$(BIN)/ruff check --output-format=concise .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The docs site into out/site; a warning is an error.
docs: $(STAMP)
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --builder html docs out/site

# The wheel: what must and must not be in it, and a bare installation of it at work.
wheel: $(STAMP)
	$(BIN)/python -m tests.wheel

bench: $(STAMP)
	$(BIN)/python benchmarks/all.py

# The results table and the picture of README.md, measured anew.
readme: $(STAMP)
	$(BIN)/python benchmarks/readme.py

# What a fresh environment holds becomes constraints.txt. Versions that it lists stay: delete a line, or all but torch's,
# to have newer ones. Packages of CUDA are left out, as they come with another build of the same torch.
constraints:
	fresh=$$(mktemp -d) && trap 'rm -rf "$$fresh"' EXIT && \
	$(PYTHON) -m venv "$$fresh/venv" && \
	"$$fresh/venv/bin/python" -m pip install --disable-pip-version-check --quiet --constraint constraints.txt --editable '.[dev]' && \
	"$$fresh/venv/bin/python" -m pip list --disable-pip-version-check --format freeze --exclude gramless --exclude pip > "$$fresh/list" && \
	{ grep '^#' constraints.txt; sed -E '/^(nvidia|cuda)-/d; s/\+.*//' "$$fresh/list" | LC_ALL=C sort --ignore-case --field-separator== --key=1,1; } > "$$fresh/new" && \
	cp "$$fresh/new" constraints.txt

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) out
