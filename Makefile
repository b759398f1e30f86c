# Builds, tests and demonstrates Farcall. `make` alone lists what there is.

PREFIX  ?= /usr/local
DESTDIR ?=
STAGE   := $(CURDIR)/build
DIST    := $(STAGE)/dist
PYTHON  := $(STAGE)/venv/bin/python

.PHONY: help build dist install demo test bench bench-peers wheel java lint fuzz soak clean

help: ## list the targets
	@echo "Farcall: call a numerical routine on another machine as if it were local."
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(firstword $(MAKEFILE_LIST)) | column -t -s '|' 2>/dev/null \
	  || sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1: \2/p' $(firstword $(MAKEFILE_LIST))

build: ## build everything and stage it under build/ (bin, lib, include, share, wheels); the jar where a JDK is
	@tools/build.sh 6

demo: ## start a server, solve Linpack remotely, check NPB EP, run transactions over three servers, draw plots
	@tools/build.sh 7
	@echo "[7/7] running the demonstration"
	@FARCALL_STAGE="$(STAGE)" PATH="$(STAGE)/venv/bin:$(STAGE)/bin:$$PATH" "$(PYTHON)" demo/run.py

test: ## run every test (FARCALL_TEST_ALL=1: unchanged ones, too); ends with `N passed, N failed`
	@tools/build.sh 7
	@echo "[7/7] testing"
	@tools/test.sh

dist: ## build what is installed and measured: optimized as a whole, for glibc 2.17 and later
	@tools/dist.sh

bench: dist ## measure against a raw C TCP program and others' systems, in turn; draw the paper's figures
	@FARCALL_STAGE="$(DIST)" PATH="$(DIST)/venv/bin:$(DIST)/bin:$$PATH" "$(DIST)/venv/bin/python" bench/run.py

bench-peers: ## install what bench compares with (ZeroMQ, gRPC, OpenMPI, Dask, Ray)
	@tools/python-environment.sh
	@"$(PYTHON)" bench/run.py --install-peers

install: ## copy what `make dist` staged to PREFIX (default /usr/local), below DESTDIR if set
	@[ -x "$(DIST)/bin/farcall" ] || tools/dist.sh
	@tools/install.sh "$(DIST)" "$(DESTDIR)$(PREFIX)"

wheel: dist ## build the wheel, for old systems too (glibc 2.17)
	@ls "$(DIST)"/wheels/farcall-*.whl

java: build ## the same, and an error where there is no JDK 22 or newer for the Java client
	@tools/java.sh "$(STAGE)"

lint: ## rustfmt and clippy, where they are installed, and the layout of interface files
	@tools/lint.sh

fuzz: ## the fuzz loops of the tests, 50 times as long (FARCALL_FUZZ_TIMES), and cargo-fuzz where it is installed
	@tools/fuzz.sh

soak: build ## each fault alone and twelve pairs, with 10,000 calls each (FARCALL_SOAK_CALLS, FARCALL_SOAK_SEED); models and LAPACK in full
	@tools/soak.sh

clean: ## remove everything that was built
	rm -rf build target
