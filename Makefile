# `make run` and `make test` each do everything from a fresh clone, in their own .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BUILD := build/cpp
SOURCES := $(shell find csrc -name '*.cpp' -o -name '*.hpp') CMakeLists.txt pyproject.toml

.PHONY: run test lint types docs test-python test-cpp install clean

# Worse (3) is an answer, and so is that it cannot be told (4): neither is an error of make.
run: $(VENV)/.installed
	$(BIN)/pyharness upgrade 9.12.0.46 latest || case $$? in 3 | 4) ;; *) exit 1 ;; esac

test: lint types docs test-cpp test-python

lint: $(VENV)/.tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $$(git ls-files '*.cpp' '*.hpp')

types: $(VENV)/.tools
	$(BIN)/mypy

docs: $(VENV)/.tools
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

test-python: $(VENV)/.tools
	$(BIN)/pytest -n 2 $(PYTEST)

test-cpp: $(VENV)/.tools
	$(BIN)/cmake -S . -B $(BUILD) -DPYHARNESS_BUILD_TESTS=ON -DPYHARNESS_WERROR=ON \
	  -DPYHARNESS_SANITIZE=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo
	$(BIN)/cmake --build $(BUILD) --parallel 2
	$(BIN)/ctest --test-dir $(BUILD) --output-on-failure

install: $(VENV)/.installed

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# Editable: the Python code is used where it lies, the extension is built into the environment.
$(VENV)/.installed: $(VENV)/bin/python $(SOURCES)
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.tools: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[test,lint,docs]' cmake ninja --config-settings=cmake.define.PYHARNESS_WERROR=ON
	touch $@

clean:
	rm -rf $(VENV) build
