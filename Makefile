# Needs Python 3.11 to 3.14, pip, make and git; everything else goes into .venv.
# On Windows run it from Git Bash (the recipes are sh), for example: make demo PYTHON=py

PYTHON ?= python3
VENV   := .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
UV     := $(BIN)/uv
PYTEST := $(BIN)/python -m pytest
# one more than the two cores of CI: a process that waits while another one compiles a kernel leaves its core idle
JOBS   ?= 3

# tests that reach no kernel, or only kernels that other tests cover, run with the compiler only
LOOPLESS := tests/cli tests/io tests/report tests/shapes tests/sweep tests/test_files.py tests/test_project.py tests/test_docs.py tests/test_validate.py  tests/simulation/test_clock.py \
            tests/mesh tests/test_contacts.py tests/kernels/test_jit.py benchmarks/tests \
            tests/view/test_commands.py tests/view/test_access.py tests/view/test_server.py \
            tests/view/test_clients.py
WITHOUT  := $(addprefix --ignore=,$(LOOPLESS))
# whole scenes and bad arrays run kernels that other tests cover
SCENES   := $(addprefix --ignore=,tests/scenes tests/test_bad_arrays.py)

# CI turns the compiler off for the tests of the kernels; `make test-long` does so for the whole suite
PLAIN    ?= tests/kernels tests/respond tests/dynamics tests/test_geometry.py

# what calls dependencies other than the compiler; compiled code does not depend on their versions
LOWEST   ?= tests/io tests/mesh tests/motion tests/shapes tests/test_arguments.py tests/test_contacts.py tests/test_scene.py \
            tests/test_validate.py

# where this is set, every process that the tests start compiles the sources of Numba and SciPy again: 1 s each
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo bench test checks test-compiled test-plain test-bounds test-long test-gpu ptx test-blender extension fuzz attack lint types contracts format wheel docs docs-check paper constraints clean api kernels wheel-compiled test-lowest publish

help:  ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(VENV)/.uv:
	@$(PYTHON) -c "import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))" || \
	  { echo "pliant needs Python 3.11 to 3.14, $(PYTHON) is another; try: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@touch $@

$(VENV)/.run: $(VENV)/.uv pyproject.toml constraints.txt
	VIRTUAL_ENV=$(VENV) $(UV) pip install --quiet -c constraints.txt -e .
	@touch $@

$(VENV)/.test: $(VENV)/.uv pyproject.toml constraints.txt
	VIRTUAL_ENV=$(VENV) $(UV) pip install --quiet -c constraints.txt -e '.[test]' -e benchmarks
	@touch $@ $(VENV)/.run

$(VENV)/.docs: $(VENV)/.uv pyproject.toml constraints.txt
	VIRTUAL_ENV=$(VENV) $(UV) pip install --quiet -c constraints.txt -e '.[docs]'
	@touch $@ $(VENV)/.run

# the compiler alone, a tenth of the extra for CUDA
$(VENV)/.ptx: $(VENV)/.test
	VIRTUAL_ENV=$(VENV) $(UV) pip install --quiet --no-deps -c constraints.txt numba-cuda cuda-bindings cuda-core cuda-pathfinder nvidia-nvvm
	@touch $@

$(VENV)/.gpu: $(VENV)/.test
	VIRTUAL_ENV=$(VENV) $(UV) pip install --quiet -c constraints.txt -e '.[cuda]'
	@touch $@

$(VENV)/.fuzz: $(VENV)/.test
	VIRTUAL_ENV=$(VENV) $(UV) pip install --quiet -c constraints.txt -e '.[fuzz]'
	@touch $@

# Blender's module needs another NumPy than pliant, so that it is alone in its environment
$(VENV)-blender/.ready: $(VENV)/.uv pyproject.toml
	$(UV) venv --quiet --allow-existing --python 3.11 $(VENV)-blender
	VIRTUAL_ENV=$(VENV)-blender $(UV) pip install --quiet --group blender
	@touch $@

$(VENV)-blender5/.ready: $(VENV)/.uv pyproject.toml
	$(UV) venv --quiet --allow-existing --python 3.11 $(VENV)-blender5
	VIRTUAL_ENV=$(VENV)-blender5 $(UV) pip install --quiet --group blender5
	@touch $@

setup: $(VENV)/.test  ## create .venv with everything that development needs

demo: $(VENV)/.run  ## drape a cloth over a bust: out/drape.glb, out/drape.html, out/drape.png
	$(BIN)/pliant drape --material wool --resolution 100 --frames 150 -o out/drape.glb --replay out/drape.html --sheet out/drape.png

# Python keeps the bytecode of modules whatever the environment says: without it, every process that a test starts
# compiles some 1 000 modules anew (2.0 s of processor time for `import pliant.simulation` instead of 0.7 s)
export PYTHONDONTWRITEBYTECODE :=

# several processes share the cores: threads that spin while they wait made a launch 27 times slower (1155 against 43 us)
test-compiled test-plain test-bounds test-long: export OMP_WAIT_POLICY := passive
test-compiled test-plain test-bounds test-long: export GOMP_SPINCOUNT := 0

# what needs one core only runs beside the tests; its output follows theirs
test: lint  ## everything that CI runs: lint, types, contracts, tests, wheel
	@mkdir -p out; $(MAKE) --no-print-directory checks >out/checks.txt 2>&1 & checks=$$!; \
	trap 'kill $$checks; exit 130' INT TERM; \
	$(MAKE) --no-print-directory test-compiled; tests=$$?; \
	wait $$checks; others=$$?; cat out/checks.txt; exit $$((tests || others))

checks: JOBS := 0
checks: contracts types wheel test-plain  ## what `make test` runs beside the compiled tests: contracts, types, wheel, test-plain

test-compiled: $(VENV)/.test  ## the whole test suite, with compiled kernels
	$(PYTEST) -n $(JOBS) --dist loadfile --no-loadscope-reorder --durations=20 --durations-min=3

test-plain: $(VENV)/.test  ## kernels with the compiler off and few random cases (PLAIN= runs the whole suite)
	PLIANT_COMPILE=0 PLIANT_CASES=10 $(PYTEST) -n $(JOBS) --dist loadfile -m "not compiled and not browser" $(WITHOUT) $(PLAIN)

test-bounds: $(VENV)/.test  ## compiled kernels with bounds checks, on one thread, with fewer random cases
	NUMBA_BOUNDSCHECK=1 PLIANT_PARALLEL=0 PLIANT_MOST_CASES=60 $(PYTEST) -n $(JOBS) --dist loadfile -m "not browser" $(WITHOUT) $(SCENES) --durations=20 --durations-min=3

test-long: test-bounds  ## test-bounds, the whole suite with the compiler off, and the tests marked long
	$(MAKE) test-plain PLAIN=
	$(PYTEST) --long

test-gpu: $(VENV)/.gpu  ## install the extra for CUDA and test the kernels on the graphics card
	$(PYTEST) tests/gpu

ptx: $(VENV)/.ptx  ## compile every kernel for graphics cards without one, after the tests have compiled them for threads
	$(BIN)/python tools/compile_for_cards.py --least $(or $(LEAST),0)
	$(BIN)/python tools/launches_for_cards.py

test-blender: $(VENV)/.test $(VENV)-blender/.ready $(VENV)-blender5/.ready  ## install Blender 4.5 and 5.0 as modules and test files and extension in them
	$(PYTEST) tests/blender
	PLIANT_BLENDER=$(VENV)-blender5/bin/python $(PYTEST) tests/blender/test_extension.py tests/blender/test_drape_operator.py tests/blender/test_install.py

extension: $(VENV)/.run  ## build the Blender extension: dist/pliant-VERSION.zip
	$(BIN)/python tools/build_extension.py dist

fuzz: $(VENV)/.fuzz  ## fuzz the file readers: 20 000 mutants, then RUNS=1000000 guided by coverage (READERS, SEED)
	$(BIN)/python tests/io/fuzz.py --cases 20000 --seed $(or $(SEED),2003)
	$(BIN)/python tests/io/fuzz_characters.py --cases 20000 --seed $(or $(SEED),2003)
	$(BIN)/python tests/io/fuzz_draco.py --cases 20000 --seed $(or $(SEED),2003)
	$(BIN)/python tests/io/fuzz_usd.py --cases 20000 --seed $(or $(SEED),2003)
	$(if $(wildcard $(VENV)-blender/.ready),$(BIN)/python tests/io/fuzz_blender.py --cases 20000 --seed $(or $(SEED),2003))
	$(BIN)/python tests/io/fuzz_coverage.py --runs $(or $(RUNS),1000000) --seed $(or $(SEED),2003) --only $(READERS)

attack: $(VENV)/.test  ## random cases against every guarantee: MINUTES=120 SEED=1 ONLY=safe CASES=9 RESUME=1
	$(BIN)/python tests/attack/run.py --minutes $(or $(MINUTES),120) --seed $(or $(SEED),1) --only "$(ONLY)" $(if $(CASES),--cases $(CASES)) $(if $(RESUME),--resume)

bench: $(VENV)/.test  ## run all benchmarks and write one page: out/bench.html
	$(BIN)/pliant bench --report out/bench.html

lint: $(VENV)/.test  ## check rules and format with ruff
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/.test  ## check types with mypy
	$(BIN)/python tools/check_types.py

contracts: $(VENV)/.test  ## check that imports go down only
	$(BIN)/lint-imports

format: $(VENV)/.test  ## reformat, and fix what ruff can fix
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

wheel: $(VENV)/.test  ## build sdist and wheel, twice; install the wheel in a clean environment, and run it
	rm -rf dist
	$(UV) build --quiet --build-constraints constraints.txt --out-dir dist
	$(BIN)/python tools/check_wheel.py dist

wheel-compiled: $(VENV)/.test  ## build a wheel with compiled kernels for this Python and platform, install it, and run it
	rm -rf dist out/kernels
	$(BIN)/python tools/compile_kernels.py out/kernels
	PLIANT_KERNELS=out/kernels $(UV) build --quiet --build-constraints constraints.txt --wheel --out-dir dist
	$(BIN)/python tools/check_wheel.py dist

publish: $(VENV)/.uv  ## upload what is in dist/, from a workflow that the package index trusts
	$(UV) publish --trusted-publishing always dist/*.whl dist/*.tar.gz

api: $(VENV)/.test  ## write tests/public_api.txt anew: after an intended change of the public API
	$(BIN)/python tools/list_api.py

kernels: $(VENV)/.test  ## record which kernels first runs compile: src/pliant/kernels/calls/, some minutes (LISTS="check fix")
	$(BIN)/python tools/record_kernels.py $(LISTS)

test-lowest: $(VENV)/.uv  ## tests with the lowest versions of all dependencies: LOWEST=tests/... chooses the tests
	$(UV) venv --quiet --allow-existing $(VENV)-lowest
	VIRTUAL_ENV=$(VENV)-lowest $(UV) pip install --quiet --resolution lowest-direct -e .
	$(UV) pip freeze --quiet --exclude-editable --python $(VENV)-lowest >$(VENV)-lowest/lowest.txt
	VIRTUAL_ENV=$(VENV)-lowest $(UV) pip install --quiet -c $(VENV)-lowest/lowest.txt -e '.[test]'
	$(VENV)-lowest/$(notdir $(BIN))/python tools/check_lowest.py
	PLIANT_COMPILE=0 PLIANT_CASES=5 $(VENV)-lowest/$(notdir $(BIN))/python -m pytest -n $(JOBS) --dist loadfile -m "not compiled and not browser" $(LOWEST)
	$(VENV)-lowest/$(notdir $(BIN))/pliant drape --frames 2 --resolution 8 -o out/lowest.glb --replay out/lowest.html --sheet out/lowest.png

# -E -a: the table of contents is on every page, so all pages are built each time
docs: $(VENV)/.docs  ## build the documentation site with its charts: out/docs/index.html
	$(BIN)/python -m sphinx -W --keep-going -q -E -a -j auto -d out/doctrees docs out/docs
	@echo "open out/docs/index.html"

paper:  ## the paper as a page, with pandoc: out/paper.html
	@mkdir -p out
	pandoc paper/paper.md --citeproc --standalone --mathml --bibliography paper/paper.bib -o out/paper.html

docs-check: $(VENV)/.test  ## check links, paths and commands of the documentation, and run its examples
	$(PYTEST) tests/test_docs.py

constraints: $(VENV)/.uv  ## update constraints.txt: the versions of all packages, for all platforms
	$(UV) pip compile pyproject.toml --all-extras --universal --upgrade --no-header --no-annotate --python-version 3.11 -q -o constraints.txt

clean:  ## remove build outputs; .venv stays
	rm -rf benchmarks/results/*/*.svg dist build out node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
