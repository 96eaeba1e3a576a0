# The entry points to everything one does with this tree. `make` alone lists them.
# Each target is a line or two here; the work is in scripts/, which run without make too.

SHELL := /bin/bash
.DEFAULT_GOAL := help

# Arguments for the script behind a target, e.g. `make compliance ARGS=--list`.
ARGS ?=

.PHONY: help
help: ## list these targets
	@echo "usage: make <target>"
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: ## build, start the demo site with Kasoku in front, show before and after, keep serving (DEMO_ONCE=1: stop after the table)
	@scripts/run-demo $(ARGS)

.PHONY: build
build: ## build the release program, target/release/kasoku
	@scripts/build-release

.PHONY: install
install: ## install what `make build` has built: the program, its unit, manual, completions and an example configuration (PREFIX=/usr/local, DESTDIR=)
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" scripts/install-program install

.PHONY: uninstall
uninstall: ## remove what `make install` has installed; a configuration that was changed stays
	@PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" scripts/install-program uninstall

.PHONY: deb
deb: build ## build a Debian package, target/debian/kasoku_VERSION_ARCH.deb
	@scripts/build-deb

.PHONY: test
test: ## install what the tests need, then run all of them
	@scripts/install-test-deps
	@scripts/run-tests

# How long the oracle's traffic lasts, in seconds.
SOAK_SECONDS ?= 600

.PHONY: soak
soak: ## mixed traffic for ten minutes, each response checked (SOAK_SECONDS=60; KASOKU_ORACLE_SEED=1 repeats what is asked)
	@KASOKU_ORACLE_SECONDS=$(SOAK_SECONDS) cargo test --release --locked --quiet -p kasoku-oracle --test oracle $(ARGS)

.PHONY: soak-disk
soak-disk: build ## the disk tier: 200 kills twice, 200 losses of power, disks that fail, 10,000 damaged files (KASOKU_DISK_KILLS=20 …: fewer)
	@scripts/soak-disk

.PHONY: soak-shared
soak-shared: build ## the shared tier with three front ends: 2,000 requests for each failure of servers, 10,000 forged items in three ways, 1,000 timed purges of each kind (KASOKU_SHARED_REQUESTS=20000 …: more)
	@KASOKU_TEST_PROGRAM="$${CARGO_TARGET_DIR:-$$PWD/target}/release/kasoku" KASOKU_SHARED_REQUESTS=$${KASOKU_SHARED_REQUESTS:-2000} \
		KASOKU_SHARED_FORGED=$${KASOKU_SHARED_FORGED:-10000} KASOKU_SHARED_COLD_CLIENTS=$${KASOKU_SHARED_COLD_CLIENTS:-100} \
		KASOKU_SHARED_PURGES=$${KASOKU_SHARED_PURGES:-1000} KASOKU_PEERS_PURGES=$${KASOKU_PEERS_PURGES:-1000} \
		cargo test --workspace --test shared_tier --test peers --locked --quiet $(ARGS)

.PHONY: movable-type
movable-type: build ## the real Movable Type 3.35, 6.8.8 and 9.2.1, where their archives are (KASOKU_TEST_APPS): searched, written with, and without a database, which is away for ten minutes twice (ARGS="--outage 20 6.8.8": 20 seconds, that version)
	@python3 -B tests/movable_type/run.py $(ARGS)

.PHONY: gnuboard
gnuboard: build ## the real gnuboard5, where its archive is (KASOKU_TEST_APPS), with all of its skins (ARGS="--version 5.7.5": that one)
	@python3 -B tests/gnuboard/run.py --skins $(ARGS)

.PHONY: rhymix
rhymix: build ## the real Rhymix 2.1.35, where its archive is (KASOKU_TEST_APPS): read, written with and logged in to, with each setting of sessions and tokens, and with a crowd
	@python3 -B tests/rhymix/run.py $(ARGS)

.PHONY: programs
programs: build ## twelve real programs behind one line each, from gitweb to Redmine: which pages become hits, and whether all else works (ARGS="cgit hgweb": these)
	@python3 -B tests/programs/run.py $(ARGS)

.PHONY: conformance
conformance: build ## run http-cache-tests against the release program, both profiles (ARGS=--write: update README.md; SUITE=DIR: another edition)
	@scripts/install-test-deps --only conformance
	@SUITE="$(SUITE)" node --no-warnings tests/conformance/run.mjs $(ARGS)

.PHONY: conformance-peers
conformance-peers: ## run the same suite against nginx, Varnish and Squid from Debian (installs them)
	@scripts/install-test-deps --only conformance,peers
	@node --no-warnings tests/conformance/peers.mjs $(ARGS)

.PHONY: compliance
compliance: ## check that each MUST of RFC 9111 and 9112 is quoted over code and test (ARGS=--list: what is missing)
	@scripts/compliance $(ARGS)

# How long each fuzz target runs, in seconds.
FUZZ_SECONDS ?= 60

.PHONY: fuzz
fuzz: ## fuzz each parser for a minute (FUZZ_SECONDS=3600; ARGS="date range": these alone); docs/fuzzing.md
	@scripts/install-test-deps --only fuzz
	@FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/run-fuzz $(ARGS)

.PHONY: semver
semver: ## whether the crates for applications are compatible with the last release (ARGS=COMMIT: with that commit)
	@scripts/check-semver $(ARGS)

.PHONY: models
models: ## what threads do to fills and the index, in 2,000 schedules each (MODEL_SCHEDULES=100000: more)
	@scripts/run-models $(ARGS)

.PHONY: miri
miri: ## unit tests of the crates without I/O in Miri, where a toolchain has it
	@scripts/run-miri $(ARGS)

.PHONY: bench-hit-ratio
bench-hit-ratio: ## hit ratio of memory, and of memory and disk, against S3-FIFO and LRU (ARGS="--write docs/benchmarks.md": the tables there)
	@cargo run --release --locked --quiet -p kasoku-cache --example hit_ratio -- $(ARGS)

.PHONY: bench
bench: build ## measure against nginx, Varnish, HAProxy, Apache and the limit, write docs/benchmarks.md (ARGS: see bench/run.py)
	@scripts/install-test-deps --only bench
	@python3 -B bench/run.py $(ARGS)

# How long the churn of bench-memory takes, in minutes.
CHURN_MINUTES ?= 60

.PHONY: bench-memory
bench-memory: build ## what is resident of a tier of 256 MiB under an hour of churn, at each mix of sizes (CHURN_MINUTES=8; KASOKU_TEST_CHURN_MIB=1024)
	@KASOKU_TEST_PROGRAM="$${CARGO_TARGET_DIR:-$$PWD/target}/release/kasoku" KASOKU_CHURN_MINUTES=$(CHURN_MINUTES) \
		cargo test --package kasoku --test memory --locked --quiet hours_of_churn -- --ignored --nocapture

.PHONY: bench-mt-search
bench-mt-search: build ## a slow CGI search without a cache, behind Apache's and behind Kasoku; writes bench/reports/mt-search.md
	@scripts/install-test-deps --only mt-search,movable-type
	@python3 -B bench/seeds/mt-search/run.py $(ARGS)

.PHONY: bench-xsendfile
bench-xsendfile: build ## downloads sent by the server, by X-Sendfile and by the application; writes bench/reports/xsendfile.md
	@scripts/install-test-deps --only xsendfile
	@python3 -B bench/seeds/xsendfile/run.py $(ARGS)

.PHONY: bench-downloads
bench-downloads: build ## a board's downloads, read by PHP and named by X-Sendfile; writes bench/reports/downloads.md and README.md
	@scripts/install-test-deps --only downloads
	@python3 -B bench/seeds/downloads/run.py $(ARGS)

.PHONY: bench-corruption
bench-corruption: build ## damage what Kasoku, nginx and Apache have on disk, count wrong bytes; writes bench/reports/corruption.md
	@scripts/install-test-deps --only corruption
	@python3 -B bench/corruption.py $(ARGS)

.PHONY: bench-sessions
bench-sessions: build ## pages of a board that opens a session for everybody, behind nginx, Varnish and Kasoku; writes bench/reports/sessions.md
	@scripts/install-test-deps --only sessions
	@python3 -B bench/seeds/sessions/run.py $(ARGS)

.PHONY: bench-memcached
bench-memcached: build ## images in a ring of memcached servers behind Apache, nginx and Kasoku; writes bench/reports/memcached.md
	@scripts/install-test-deps --only memcached
	@python3 -B bench/seeds/memcached/run.py $(ARGS)

.PHONY: bench-in-process
bench-in-process: build ## a blog's pages from MariaDB, Redis, caches inside the application and Kasoku; writes bench/reports/in-process.md
	@scripts/install-test-deps --only in-process
	@python3 -B bench/seeds/in-process/run.py $(ARGS)

.PHONY: lint
lint: ## cargo fmt --check, clippy and rustdoc, warnings are errors
	@scripts/lint

.PHONY: clean
clean: ## remove what the other targets made
	@cargo clean --quiet
	@rm -rf tests/conformance/node_modules demo/__pycache__
