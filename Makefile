# Everything a developer types. `make help` lists it. All results go to .venv, target and build, which git ignores.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.ONESHELL:
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?= $(firstword $(foreach name,python3.11 python3.12 python3.13 python3,$(shell command -v $(name) 2>/dev/null)))
VENV := .venv
BIN := $(VENV)/bin
STEP := .ci/step
# One interpreter for every build of the extension, or each would throw the other's work away.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Tests start spinet hundreds of times, and pytest in pytest; without compiled modules each start takes longer.
unexport PYTHONDONTWRITEBYTECODE
# The theme would advertise its successor.
export NO_MKDOCS_2_WARNING := 1

RUST_SOURCES := $(shell find crates presets -name '*.rs' -o -name '*.toml') Cargo.toml Cargo.lock pyproject.toml
CAPTURES := captures
DEMO := build/demo
CARGO_TEST := cargo test --workspace --exclude py --locked --no-fail-fast

##@ Use

.PHONY: demo
demo: $(VENV)/.native ## run real packets through C handlers and show what happened
	@rm -rf $(DEMO)
	@echo; echo '$$ spinet run sdk/examples/ping_pong.c --traffic captures/memcached.pcap --match udp -o $(DEMO)/ping_pong'
	@spinet run sdk/examples/ping_pong.c --traffic $(CAPTURES)/memcached.pcap --match udp -o $(DEMO)/ping_pong
	@echo; echo '$$ spinet run sdk/examples/filter.c --traffic captures/dns.pcap --match "udp.dst_port == 53" -o $(DEMO)/filter'
	@spinet run sdk/examples/filter.c --traffic $(CAPTURES)/dns.pcap --match 'udp.dst_port == 53' -o $(DEMO)/filter
	@echo
	@echo 'Look at  $(DEMO)/ping_pong/out.pcapng       what the NIC sent (tcpdump -r, Wireshark)'
	@echo '         $(DEMO)/ping_pong/packets.parquet  one row a packet: when it passed each stage, where it ran, what it cost'
	@echo '         $(DEMO)/filter/host/               what the handlers wrote to host memory'
	@echo '         sdk/examples/ping_pong.c              the handler; docs/guides/first-handler.md tells how to write your own'

.PHONY: setup
setup: $(VENV)/.native ## make .venv with the spinet command, and build the simulator

.PHONY: libpspin
libpspin: ## libpspin.so and its headers, for C programs written for PsPIN, into build
	@$(STEP) 'cargo (build libpspin)' cargo rustc --release --locked -p capi --lib --crate-type cdylib
	crates/capi/make/install target/release/libcapi.so build
	echo 'build/lib/libpspin.so, build/include; docs/guides/from-pspin.md says how to use them'

.PHONY: dist
dist: $(VENV)/.native ## a wheel for CPython 3.11 and later, and the sources, into build/dist
	@rm -rf build/dist
	$(STEP) 'maturin (pack the wheel)' maturin build --release --locked -o build/dist
	$(STEP) 'maturin (pack the sources)' maturin sdist -o build/dist
	ls build/dist/*

.PHONY: dist-pgo
dist-pgo: $(VENV)/.native ## a wheel compiled with profiles of runs, into build/dist; takes two more builds
	@host=$$(rustc -vV | sed -n 's/^host: //p')
	llvm=$$(rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
	profdata=$$(rustc --print sysroot)/lib/rustlib/$$host/bin/llvm-profdata
	[ -x "$$profdata" ] || profdata=$$(command -v "llvm-profdata-$$llvm") || { echo "error: llvm-profdata of LLVM $$llvm is missing" >&2; echo "hint: rustup component add llvm-tools, or apt install llvm-$$llvm" >&2; exit 2; }
	rm -rf target/pgo/{raw,wheel,train}
	# With --target, build scripts and macros are compiled without these flags.
	wheel() { RUSTFLAGS=$$1 maturin build --release --locked --target "$$host" --target-dir "target/pgo/$$2" -o "$$3"; }
	export -f wheel; export host
	$(STEP) 'instrumented (a wheel that counts)' bash -c 'wheel -Cprofile-generate=$(CURDIR)/target/pgo/raw counting target/pgo/wheel'
	python -m zipfile -e target/pgo/wheel/*.whl target/pgo/train
	$(STEP) 'train (runs of each kind of card)' env PYTHONPATH=$(CURDIR)/target/pgo/train python benches/train.py
	"$$profdata" merge -o target/pgo/spinet.profdata target/pgo/raw
	$(STEP) 'optimised (the wheel)' bash -c 'wheel -Cprofile-use=$(CURDIR)/target/pgo/spinet.profdata fast build/dist'
	ls build/dist/*.whl

##@ Check

# Both at once: while the simulator is linked or Python tests run, there is a core for Rust.
.PHONY: test test-rust test-python
test: ## all tests of the gate, in Rust and in Python
	@rm -f target/log/cargo-test.log target/log/pytest.log
	status=0
	STEP_LINES=1 $(MAKE) -k -j2 test-python test-rust || status=$$?
	read -r passed failed < <(.ci/count target/log/cargo-test.log target/log/pytest.log)
	# Which comparison with qemu ran: the recorded one always, the live one where qemu is.
	sed -n 's/^lockstep:/ /p' target/log/cargo-test.log
	echo "$$passed passed, $$failed failed"
	exit $$status
# Without py, which has no tests and asks libraries for more: so `cargo build -p capi` of the Python tests finds all built.
test-rust:
	@$(STEP) 'cargo-test (models, in Rust)' bash -c '$(CARGO_TEST) --tests; status=$$?; $(CARGO_TEST) --doc && exit $$status'
test-python: $(VENV)/.native
	@$(STEP) 'pytest (command, handlers, documents)' pytest -q -m 'not long' -n auto --dist loadfile

.PHONY: test-long
test-long: $(VENV)/.native ## tests that take minutes: 10,000 random programs against qemu, long property tests, ns-3
	@$(STEP) 'cargo-test-long (10,000 programs against qemu)' env SPINET_QEMU=1 SPINET_PROGRAMS=10000 PROPTEST_CASES=4096 cargo test --workspace --locked --release -- --include-ignored
	$(STEP) 'pytest-long' pytest -q -n auto --dist loadfile
	$(MAKE) test-ns3

.PHONY: test-ns3
test-ns3: $(VENV)/.native ## networks against ns-3 and around it; needs Debian's libns3-dev
	@python -m validation.ns3 --check
	$(STEP) 'pytest-ns3 (networks against ns-3)' pytest -q validation

LINTS := lint-rustfmt lint-clippy lint-ruff lint-ruff-format lint-mypy lint-tidy lint-prose
.PHONY: lint $(LINTS)
lint: $(LINTS) ## formats, clippy, types, rules of the house, prose
lint-rustfmt:
	@$(STEP) 'rustfmt' cargo fmt --all --check
lint-clippy: $(VENV)/.deps
	@$(STEP) 'clippy' cargo clippy --workspace --all-targets --locked -- -D warnings
lint-ruff: $(VENV)/.deps
	@$(STEP) 'ruff' ruff check
lint-ruff-format: $(VENV)/.deps
	@$(STEP) 'ruff-format' ruff format --check
lint-mypy: $(VENV)/.deps
	@$(STEP) 'mypy' mypy
lint-tidy:
	@$(STEP) 'tidy (layers, sources of numbers, sizes of files)' cargo xtask tidy

lint-prose: $(VENV)/.deps
	@$(STEP) 'prose (documents and comments in plain English)' python docs/prose.py

.PHONY: docs docs-rust
docs: docs-rust $(VENV)/.native ## API pages into target/doc; generated pages renewed
	@python docs/generate.py
.PHONY: site
site: $(VENV)/.deps ## the documentation as a site that needs no network, into build/site
	@$(STEP) 'mkdocs (build the site)' mkdocs build --strict
	echo 'build/site/index.html'
docs-rust: $(VENV)/.deps
	@$(STEP) 'cargo-doc' env RUSTDOCFLAGS='-D warnings -A rustdoc::private-intra-doc-links' cargo doc --workspace --no-deps --document-private-items --locked

.PHONY: fuzz
fuzz: ## a minute of fuzzing for each target (needs a nightly Rust and cargo-fuzz)
	@command -v cargo-fuzz >/dev/null || { echo 'error: cargo-fuzz is missing' >&2; echo 'hint: cargo install --locked cargo-fuzz@0.13.2' >&2; exit 2; }
	seeds() { case $$1 in # files that are right, from which the search starts: of its own, and of the repository
		elf) echo crates/{pspin,capi}/tests/elf ;;
		firmware) echo crates/{capi,spinet}/tests/elf ;;
		preset) echo presets ;;
		netlist) echo presets experiments/spinach ;;
		capture | packet) echo captures ;;
	esac; }
	for target in $$(cargo +nightly fuzz list); do
		mkdir -p "fuzz/corpus/$$target" "fuzz/seeds/$$target"
		$(STEP) "fuzz-$$target (one minute)" cargo +nightly fuzz run "$$target" "fuzz/corpus/$$target" "fuzz/seeds/$$target" $$(seeds "$$target") -- -max_total_time=60 -rss_limit_mb=2048
	done

.PHONY: fmt
fmt: $(VENV)/.deps ## put all Rust and Python into shape
	@cargo fmt --all
	ruff check -q --fix --exit-zero
	ruff format -q

##@ Measure

.PHONY: bench
bench: $(VENV)/.native ## speed and memory on one core; writes target/bench.json
	@python benches/run.py

.PHONY: fidelity
fidelity: ## PsPIN against its RTL, figure by figure; writes the tables of docs/machines/pspin.md and pspin-fidelity.md
	@cargo run --quiet --locked --release -p pspin --example fidelity -- --write
	echo 'docs/machines/pspin.md and pspin-fidelity.md are up to date'

.PHONY: reproduce
reproduce: $(VENV)/.native ## every published figure and table, measured anew; writes docs/experiments
	@python docs/reproduce.py

.PHONY: bench-micro
bench-micro: ## the smallest steps: kernel, decoder, memories, packets (criterion)
	@cargo bench --locked --manifest-path benches/micro/Cargo.toml --target-dir target/micro

##@ Housekeeping

.PHONY: clean
clean: ## remove everything that was built
	rm -rf target build $(VENV) fuzz/target .pytest_cache .mypy_cache .ruff_cache python/spinet/*.so

.PHONY: help
help: ## this list
	@awk 'BEGIN { FS = ":.*## " } /^##@/ { printf "\n%s\n", substr($$0, 5) } /^[a-z0-9-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Stamps: what is there already is not made again.

$(VENV)/.deps: requirements.txt
	@command -v cargo >/dev/null || { echo 'error: cargo is missing' >&2; echo 'hint: install Rust, https://rustup.rs' >&2; exit 2; }
	test -n "$(PYTHON)" && "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo 'error: Python 3.11 or later is missing' >&2; echo 'hint: name one: make PYTHON=/path/to/python3.11 ...' >&2; exit 2; }
	$(STEP) 'venv (make .venv)' "$(PYTHON)" -m venv $(VENV)
	$(STEP) 'pip (fetch the handler compiler and libraries, 200 MB)' python -m pip install -q --disable-pip-version-check -r requirements.txt
	touch $@

$(VENV)/.native: $(VENV)/.deps $(RUST_SOURCES)
	@$(STEP) 'maturin (build the simulator; minutes the first time)' maturin develop --release --locked
	touch $@
