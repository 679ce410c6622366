# The everyday commands; each alone is enough on a fresh Debian 12 machine. `make` lists them.
#   JOBS=n     how many compilers at once (default: one per core)
#   WERROR=1   every warning is an error, as in CI
# tests/e2e, tests/cluster and tools/demo say themselves which programs they take from the environment.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.NOTPARALLEL:
.DEFAULT_GOAL := help

JOBS ?= $(shell nproc)
PRESET ?= dev
REPEAT ?= 1
python := $(firstword $(wildcard /usr/bin/python3) python3)
pytest := $(python) -B -m pytest -p no:cacheprovider -ra
werror := $(if $(filter 1,$(WERROR)),ON,OFF)
export ISTHMUS_BINARY ?= $(CURDIR)/build/$(PRESET)/bin/isthmus

.PHONY: help setup configure build program programs unit test demo bench e2e cluster-test asan fuzz lint format tidy \
  image deb clean

help:
	@echo "make demo          the main job on a real kube-apiserver, in a minute once built (KEEP=1 leaves it running)"
	@echo "make test          every test; as root also the one in a whole real cluster"
	@echo "make build         the program, at build/$(PRESET)/bin/isthmus (PRESET=dev, release or asan)"
	@echo "make unit          the unit tests and tidy, in virtual time"
	@echo "make e2e           against a real kube-apiserver (REPEAT=n times; TESTS=name picks some)"
	@echo "make cluster-test  in a whole real cluster of kubelets (root)"
	@echo "make asan          the unit tests under address and undefined behaviour sanitizers"
	@echo "make fuzz          the fuzzers, each for a minute (SECONDS_EACH=n)"
	@echo "make image         a container image of the release build, an OCI archive (make deb: a Debian package)"
	@echo "make bench         speed and memory of the release build against a real kube-apiserver"
	@echo "make tidy, format, lint, setup, clean"

setup:
	@tools/setup

configure: setup
	@cmake --preset $(PRESET) -DISTHMUS_WERROR=$(werror) -DPython3_EXECUTABLE=$(python) --log-level=WARNING >/dev/null

build: configure
	@cmake --build --preset $(PRESET) -j $(JOBS)

# The program without its unit tests: half the work of a build.
program: configure
	@cmake --build --preset $(PRESET) -j $(JOBS) --target isthmus

# The test API server and kubectl, built once into the cache outside the checkout.
programs: setup
	@tests/apiserver/build >/dev/null

unit: build
	@ctest --preset $(PRESET) -j $(JOBS) --label-exclude real

test: unit e2e
	@if [ "$$(id -u)" = 0 ]; then \
	  $(MAKE) cluster-test; \
	elif [ "$${ISTHMUS_REQUIRE_ALL:-}" = 1 ]; then \
	  echo "test: FAILED: the test in a real cluster is required (ISTHMUS_REQUIRE_ALL=1) and needs root"; exit 1; \
	else \
	  echo; echo "test: SKIPPED the test in a real cluster: it needs root (sudo make cluster-test)"; \
	fi

e2e: build programs
	@for round in $$(seq $(REPEAT)); do \
	  [ $(REPEAT) = 1 ] || echo "e2e: round $$round of $(REPEAT)"; \
	  $(if $(TESTS),,ctest --preset $(PRESET) --label-regex real --no-tests=error;) \
	  $(if $(TESTS),$(pytest) tests/e2e -k "$(TESTS)",tests/e2e/run); \
	done
	@[ $(REPEAT) = 1 ] || echo "e2e: passed $(REPEAT) times of $(REPEAT)"

cluster-test: program
	@if [ "$$(id -u)" != 0 ]; then echo "cluster-test needs root: sudo make cluster-test"; exit 1; fi
	@tests/cluster/build >/dev/null
	@$(pytest) tests/cluster

demo: program programs
	@KEEP="$(KEEP)" $(python) -B tools/demo

bench:
	@tools/setup bench
	@$(MAKE) program programs PRESET=release
	@ISTHMUS_BINARY=$(CURDIR)/build/release/bin/isthmus bench/run

# Without a daemon or a registry; load it with ctr, podman or docker.
image:
	@$(MAKE) program PRESET=release
	@tools/image build/release/bin/isthmus build/isthmus-image.tar

deb:
	@$(MAKE) program PRESET=release
	@cd build && cpack --config release/CPackConfig.cmake >/dev/null && rm -r _CPack_Packages && ls -l "$$PWD"/isthmus_*.deb

asan:
	@$(MAKE) unit PRESET=asan

# What a fuzzer finds interesting stays in build/fuzz/corpus for the next run; a crash stays in build/fuzz.
SECONDS_EACH ?= 60
fuzz: setup
	@cmake --preset fuzz --log-level=WARNING >/dev/null
	@cmake --build --preset fuzz -j $(JOBS) --target fuzzers
	@for source in tests/fuzz/*_fuzz.cc; do \
	  name=$$(basename $$source _fuzz.cc); mkdir -p build/fuzz/corpus/$$name; \
	  echo "fuzz: $$name for $(SECONDS_EACH) s"; \
	  build/fuzz/bin/$${name}_fuzz -max_total_time=$(SECONDS_EACH) -timeout=5 -verbosity=0 -print_final_stats=1 \
	    -dict=tests/fuzz/$$name.dict -artifact_prefix=build/fuzz/ build/fuzz/corpus/$$name tests/fuzz/corpus/$$name; \
	done

lint: build
	@tools/lint

tidy:
	@tools/tidy_test.py
	@tools/tidy

format:
	@git ls-files -z '*.cc' '*.h' | xargs -0 clang-format-19 -i

clean:
	rm -rf build
