# The front door: `make` lists what there is.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PREFIX ?= /usr/local
WERROR ?=

# As many compilers as there are cores, but each with 2 GiB of memory.
JOBS ?= $(shell awk -v cores=$$(nproc) '/MemAvailable/ { fit = int($$2 / 2097152) } \
  END { jobs = fit < cores ? fit : cores; print jobs < 1 ? 1 : jobs }' /proc/meminfo)

.PHONY: help build demo test test-asan test-ubsan test-tsan test-emulated test-emulated-sanitized fuzz install format lint bench packages clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-24s %s\n", $$1, $$2 }' Makefile

build: ## build the program, build/release/heed
	@cmake/install_packages.sh build
	@cmake --preset release -DHEED_BUILD_TESTS=OFF -DHEED_BUILD_BENCH=OFF -DHEED_WERROR=OFF
	@cmake --build --preset release -j $(JOBS)

demo: build ## train a small translator, translate a few sentences, draw an alignment
	@cmake/demo.sh

test: ## build everything and run all tests
	@$(MAKE) --no-print-directory test-preset PRESET=release
	@$(MAKE) --no-print-directory test-emulated
	@$(MAKE) --no-print-directory test-emulated-sanitized

test-asan: ## the tests under AddressSanitizer
	@$(MAKE) --no-print-directory test-preset PRESET=asan

test-ubsan: ## the tests under UndefinedBehaviorSanitizer
	@$(MAKE) --no-print-directory test-preset PRESET=ubsan

test-tsan: ## the tests under ThreadSanitizer
	@$(MAKE) --no-print-directory test-preset PRESET=tsan

fuzz: ## fuzz every reader of foreign bytes, FUZZ_SECONDS (60) each (clang)
	@cmake/install_packages.sh build fuzz
	@cmake --preset fuzz
	@cmake --build --preset fuzz -j $(JOBS)
	@cmake/fuzz.sh

.PHONY: test-preset
test-preset:
	@cmake/install_packages.sh build tests
	@cmake --preset $(PRESET) -DHEED_BUILD_TESTS=ON -DHEED_BUILD_BENCH=OFF -DHEED_WERROR=$(or $(WERROR),OFF)
	@cmake --build --preset $(PRESET) -j $(JOBS)
	@ctest --preset $(PRESET) -j $(JOBS)

# Whole models by finite differences, graphs of a million nodes, the proof that gradcheck notices wrong backwards: what
# they are made of is tested.
SLOW_WHEN_EMULATED := WrongBackwardTest|AsAWhole|EveryCombinationOfOptionsLearns|AWideBeamFindsTheBest|DepthCostsNoStack|DeepGraphIsDestroyed
# The same under the sanitizers: whole layers and long decoding; what is the same for any number of threads.
SLOW_WHEN_SANITIZED := TransformerLayerTest.PassesGradcheck|ASentenceDoesNotSeeItsNeighbours|TrainingMemory|AttentionMemory|DependOnTheThreads|AnyNumberOfThreads|TopK.MatchesASortOfManyRows
# Kernels, and what stands on them.
DEVICE_ROOMS := emulator|kernels|autograd|nn|golden
TRAINING_ON_A_DEVICE := DeviceTraining|DeviceCommands|Updater|UpdateReport

test-emulated: ## the tests with the CUDA kernels, on a device that the CPU plays, in every order of a block's threads
	@$(MAKE) --no-print-directory build-on-emulator PRESET=emulated
	@for order in forward reverse shuffled; do \
	  export HEED_EMULATOR_ORDER=$$order; \
	  ctest --preset emulated -j $(JOBS) -L '^($(DEVICE_ROOMS))$$' -E '$(SLOW_WHEN_EMULATED)' && \
	  ctest --preset emulated -j $(JOBS) -L '^train$$' -R '$(TRAINING_ON_A_DEVICE)' || exit 1; \
	done

test-emulated-sanitized: ## the same under AddressSanitizer and UndefinedBehaviorSanitizer, the kernels in every order
	@$(MAKE) --no-print-directory build-on-emulator PRESET=emulated-sanitized
	@ctest --preset emulated-sanitized -j $(JOBS) -L '^($(DEVICE_ROOMS))$$' -E '$(SLOW_WHEN_EMULATED)|$(SLOW_WHEN_SANITIZED)'
	@ctest --preset emulated-sanitized -j $(JOBS) -L '^train$$' -R '$(TRAINING_ON_A_DEVICE)'
	@for order in reverse shuffled; do \
	  HEED_EMULATOR_ORDER=$$order ctest --preset emulated-sanitized -j $(JOBS) -L '^(emulator|kernels)$$' -E '$(SLOW_WHEN_SANITIZED)' || exit 1; \
	done

.PHONY: build-on-emulator
build-on-emulator:
	@cmake/install_packages.sh build tests emulated
	@cmake --preset $(PRESET) -DHEED_BUILD_TESTS=ON -DHEED_BUILD_EXAMPLES=OFF -DHEED_BUILD_BENCH=OFF -DHEED_WERROR=$(or $(WERROR),OFF)
	@cmake --build --preset $(PRESET) -j $(JOBS) --target $(patsubst %,heed_%_tests,emulator kernels autograd nn golden train)

install: build ## install the program and the library under PREFIX (/usr/local)
	@cmake --install build/release --prefix $(PREFIX)

format: ## format every source file
	@cmake/install_packages.sh format
	@git ls-files -co --exclude-standard -- '*.h' '*.cpp' '*.cu' '*.cuh' | xargs clang-format -i

lint: ## check formatting and includes, and run clang-tidy (FILES="a.cpp ...": on those alone)
	@cmake/install_packages.sh build tests bench format
	@cmake/lint.sh $(FILES)

bench: ## measure the kernels
	@cmake/install_packages.sh build bench
	@cmake --preset release -DHEED_BUILD_TESTS=OFF -DHEED_BUILD_BENCH=ON -DHEED_WERROR=OFF
	@cmake --build --preset release -j $(JOBS)
	@build/release/heed_bench

packages: ## install the Debian packages that building, testing and measuring need
	@cmake/install_packages.sh build tests bench format

clean: ## remove everything that was built
	@rm -rf build
