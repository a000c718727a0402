# make run    build a release and start the server     PORT=3306 DATADIR=./data
# make test   every check and test                     TESTS="-p cohort-txn" for a part
# make bench  measure against MariaDB                  BENCH="--quick" for a short run
# make large    measure large transactions, and what they cost     LARGE="--quick" or "--megabytes 4000"
# make readers  measure what readers of the binlog get, and cost   READERS="--quick" or "--part load"
# make tpch   the queries of TPC-H against MariaDB     TPCH="--scale 0.01 --aging 0" for a short run
# make tpcc   the transactions of TPC-C, killed ROUNDS=200 times and against MariaDB   TPCC="--quick"
# make history  redraw published results about commit protocols   HISTORY="--quick" or "--full"
# make sim    simulated faults by fresh seeds     SECONDS=600, or SEED=N to run one again
# make sweep  a fault at every operation of the disk, in turn    RUNGS="journal mysql57" for some protocols
# make torture  kill -9, power cuts, failing and full disks   ROUNDS=200
# make promote  crash a source with semi-synchronous commits, look what its replica has   ROUNDS=200
# make follow  every reader follows a load, is killed, and its source crashes   TRANSACTIONS=20000
# make locking  interleaved statements against MariaDB's InnoDB   SECONDS=600
# make queries  generated joins, subqueries and sets against MariaDB    SECONDS=600, or SEED=N to run one again
# make sqllogictest  the whole corpus of ../shared/sqllogictest
# make compare  generated statements against MariaDB by fresh seeds    SECONDS=600, or SEED=N to run one again
# make schedules  the commit path's threads in more orders   SCHEDULES=100000
# make mutants  change the commit path, look for what no test notices   MUTANTS="--file crates/txn/src/locks.rs"
# make accept  the long forms of the tests, one after another    MINUTES=2 for each that goes on by the clock
# make attack  hostile clients, at length    ATTACKS=100000 random packets and statements
# make deb    a Debian package, in target/debian
# make package  install that package into a copy of this system, use it, take it off
# make fuzz   libFuzzer on the readers of network and disk    TARGETS="sql" RUNS=10000000
# make build  the release binary, target/release/cohort
# make tuned  the same by what it does under load, target/release/cohort-tuned: what is measured and packed
# make fmt    format the code
# make clean  forget what was built, but for RocksDB
#
# Build output goes to a cache folder outside of the checkout, and ./target becomes a link to it,
# unless CARGO_TARGET_DIR says otherwise or ./target is a folder already. RocksDB is compiled once
# and kept there too.

SHELL := /bin/sh
.SHELLFLAGS := -euc

PORT ?= 3306
DATADIR ?= ./data
TESTS ?= --workspace
BENCH ?=
HISTORY ?=
TPCH ?=
TPCC ?=
READERS ?=
LARGE ?=
SEED ?=
SECONDS ?= 600
ROUNDS ?= 200
RUNGS ?=
TARGETS ?= protocol binlog journal sql compose
RUNS ?= 10000000
SCHEDULES ?= 100000
MUTANTS ?=
MINUTES ?= 2
TRANSACTIONS ?= 20000
ATTACKS ?= 100000

CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/cohort
OUTPUT := $(abspath $(or $(CARGO_TARGET_DIR),target))

rocksdb_version := $(shell sed -n '/^name = "rust-librocksdb-sys"$$/{n;s/version = "\(.*\)"/\1/p;}' Cargo.lock)
ifndef ROCKSDB_LIB_DIR
    rocksdb := $(CACHE)/rocksdb-$(rocksdb_version)-$(shell uname -m)
    export ROCKSDB_LIB_DIR := $(rocksdb)
    export ROCKSDB_INCLUDE_DIR := $(rocksdb)/include
    export ROCKSDB_STATIC := 1
endif

.PHONY: run build tuned test accept attack deb package bench large readers tpch tpcc history sim sweep torture promote follow locking compare queries sqllogictest schedules mutants fuzz fmt clean \
    tools-build tools-test tools-bench tools-tuned target rocksdb librocksdb crates-beside-rocksdb
.DEFAULT_GOAL := build

# For trying out: whoever reaches this machine's loopback address is root, which the server warns of.
run: build
	exec "$(OUTPUT)/release/cohort" serve --bind-address=127.0.0.1 --port="$(PORT)" --datadir="$(DATADIR)" --insecure-root-on-loopback

build: rocksdb
	cargo build --release --package cohort-server

tuned: tools-tuned rocksdb
	cargo build --release --package cohort-bench
	scripts/tuned.sh "$(OUTPUT)"

# One profile for lints, documentation and tests, so that each crate is compiled once.
test: tools-test rocksdb
	@echo "== format"
	cargo fmt --all --check
	@echo "== dependencies"
	scripts/dependencies.sh "$(CACHE)/tools"
	@echo "== lints"
	cargo clippy --profile checked --workspace --all-targets -- -D warnings
	@echo "== fuzz targets"
	CUSTOM_LIBFUZZER_PATH=/unlinked/libfuzzer.a cargo check --locked --profile checked --manifest-path fuzz/Cargo.toml --target-dir "$(OUTPUT)"
	@echo "== each crate alone"
	scripts/alone.sh
	@echo "== documentation"
	RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" cargo doc --profile checked --workspace --no-deps --document-private-items
	@echo "== tests"
	scripts/drivers.sh "$(CACHE)/drivers"
	scripts/peers.sh "$(CACHE)/peers"
	scripts/sqllogictest.sh "$(CACHE)/tools" ../shared/sqllogictest
	cargo build --profile checked --package cohort-server
	COHORT_BIN="$(OUTPUT)/checked/cohort" cargo test --profile checked $(TESTS) --no-fail-fast

# Every real tool, server and application, at length: some hour and a half on two cores. What `make test` looks at for
# seconds; each part can be called by its own name as well.
accept: tools-test tuned
	$(MAKE) test
	$(MAKE) package
	$(MAKE) attack
	$(MAKE) compare locking sim SECONDS=$$(($(MINUTES) * 60))
	$(MAKE) sqllogictest
	$(MAKE) schedules
	$(MAKE) torture ROUNDS=20
	$(MAKE) promote ROUNDS=100
	$(MAKE) follow TRANSACTIONS=2000
	$(MAKE) sweep
	$(MAKE) bench BENCH="--quick"
	$(MAKE) large LARGE="--quick"
	$(MAKE) readers READERS="--quick"
	$(MAKE) tpch
	$(MAKE) tpcc ROUNDS=20 TPCC="--quick"
	$(MAKE) history HISTORY="--quick"

# With the tuned binary: others' latency is judged.
attack: tools-test tuned
	COHORT_BIN="$(OUTPUT)/release/cohort-tuned" COHORT_ATTACKS=$(ATTACKS) cargo test --profile checked --no-fail-fast \
	    --package cohort-blackbox --test attack -- --nocapture --test-threads=1

deb: tuned
	[ -x "$(CACHE)/tools/bin/cargo-deb" ] || \
	    cargo install --locked --root "$(CACHE)/tools" --version "^3.8" --no-default-features cargo-deb
	scripts/notices.sh | gzip -9n >"$(OUTPUT)/release/third-party-notices.txt.gz"
	"$(CACHE)/tools/bin/cargo-deb" --no-build --package cohort-server --output "$(OUTPUT)/debian/cohort.deb"
	@echo "the package: $(OUTPUT)/debian/cohort.deb"

# Installs the package, into a copy of this system that goes with the test, uses it, and takes it off again.
package: tools-test deb
	COHORT_BIN="$(OUTPUT)/release/cohort-tuned" COHORT_DEB="$(OUTPUT)/debian/cohort.deb" cargo test --profile checked --package cohort-blackbox --test package -- --nocapture

bench: tools-bench tuned
	COHORT_BIN="$(OUTPUT)/release/cohort-tuned" cargo run --release --package cohort-bench -- run $(BENCH)

large: tools-bench tuned
	COHORT_BIN="$(OUTPUT)/release/cohort-tuned" cargo run --release --package cohort-bench -- large $(LARGE)

readers: tools-bench tuned
	COHORT_BIN="$(OUTPUT)/release/cohort-tuned" cargo run --release --package cohort-bench -- readers $(READERS)

tpch: tools-bench tuned
	COHORT_BIN="$(OUTPUT)/release/cohort-tuned" cargo run --release --package cohort-bench -- tpch $(TPCH)

tpcc: tools-bench tuned
	COHORT_BIN="$(OUTPUT)/release/cohort-tuned" COHORT_ROUNDS=$(ROUNDS) cargo test --profile checked --package cohort-bench \
	    --test tpcc -- --nocapture
	COHORT_BIN="$(OUTPUT)/release/cohort-tuned" cargo run --release --package cohort-bench -- tpcc $(TPCC)

history: tools-bench tuned
	scripts/peers.sh "$(CACHE)/peers"
	COHORT_BIN="$(OUTPUT)/release/cohort-tuned" cargo run --release --package cohort-bench -- history --peers "$(CACHE)/peers" $(HISTORY)

sim: rocksdb
	cargo run --profile checked --package cohort-sim -- $(if $(SEED),--seed $(SEED),--seconds $(SECONDS))

sweep: tools-test rocksdb
	COHORT_STRIDE=1 cargo test --profile checked --no-fail-fast --package cohort-sim --test sweep -- --nocapture --test-threads=11 $(RUNGS)

torture: tools-test rocksdb
	cargo build --profile checked --package cohort-server
	COHORT_BIN="$(OUTPUT)/checked/cohort" COHORT_ROUNDS=$(ROUNDS) cargo test --profile checked --no-fail-fast \
	    --package cohort-blackbox --test crash --test full_disk --package cohort-sim --test real_process -- --nocapture --test-threads=1

promote: tools-test rocksdb
	cargo build --profile checked --package cohort-server
	COHORT_BIN="$(OUTPUT)/checked/cohort" COHORT_ROUNDS=$(ROUNDS) cargo test --profile checked \
	    --package cohort-blackbox --test binlog_readers -- --nocapture no_acknowledged_transaction

# Needs some 8 GB below TMPDIR, and fetches some 250 MB once.
follow: tools-test rocksdb
	scripts/drivers.sh "$(CACHE)/drivers"
	scripts/peers.sh "$(CACHE)/peers" mysql-5.6.24 mariadb-11.4.5
	scripts/followers.sh "$(CACHE)/followers"
	cargo build --profile checked --package cohort-server
	COHORT_BIN="$(OUTPUT)/checked/cohort" COHORT_FOLLOW=$(TRANSACTIONS) cargo test --profile checked --no-fail-fast \
	    --package cohort-blackbox --test followers -- --nocapture --test-threads=1

locking: tools-test rocksdb
	cargo build --profile checked --package cohort-server
	COHORT_BIN="$(OUTPUT)/checked/cohort" COHORT_SECONDS=$(SECONDS) cargo test --profile checked \
	    --package cohort-blackbox --test locking -- --nocapture

compare: tools-test rocksdb
	cargo build --profile checked --package cohort-server
	COHORT_BIN="$(OUTPUT)/checked/cohort" COHORT_SECONDS=$(SECONDS) $(if $(SEED),COHORT_SEED=$(SEED)) COHORT_DIFFERENCES=100 \
	    cargo test --profile checked --package cohort-blackbox --test same_answers_random -- --nocapture

queries: tools-test rocksdb
	cargo build --profile checked --package cohort-server
	COHORT_BIN="$(OUTPUT)/checked/cohort" COHORT_SECONDS=$(SECONDS) $(if $(SEED),COHORT_SEED=$(SEED)) COHORT_DIFFERENCES=20 \
	    cargo test --profile checked --package cohort-blackbox --test queries_random -- --nocapture

sqllogictest: tools-test rocksdb
	scripts/sqllogictest.sh "$(CACHE)/tools" ../shared/sqllogictest
	cargo build --profile checked --package cohort-server
	COHORT_BIN="$(OUTPUT)/checked/cohort" COHORT_WHOLE=1 cargo test --profile checked \
	    --package cohort-blackbox --test sqllogictest -- --nocapture

schedules: rocksdb
	COHORT_SCHEDULES=$(SCHEDULES) cargo test --profile checked --package cohort-txn --lib schedules::

# On a copy of the checkout that stays in the cache folder, so that each mutant is an incremental build of one crate.
# What is changed, and with which settings, stands in .cargo/mutants.toml; what came of it in docs/mutants.md. Mutants
# of the logs are shown to the tests of `cohort-txn` as well. --iterate leaves out what earlier runs caught.
mutants: tools-build rocksdb
	@command -v cargo-mutants >/dev/null || cargo install --locked --version "^27.1" cargo-mutants
	rm -rf "$(CACHE)/mutants/tree/crates" && mkdir -p "$(CACHE)/mutants/tree"
	git ls-files -z | tar --create --null --files-from=- | tar --extract --directory="$(CACHE)/mutants/tree"
	cd "$(CACHE)/mutants/tree"; export CARGO_TARGET_DIR="$(CACHE)/mutants/target" CARGO_INCREMENTAL=1; found=0; \
	for packages in "cohort-txn" "cohort-journal cohort-txn" "cohort-binlog cohort-txn"; do \
	    mkdir -p "$(CACHE)/mutants/$${packages%% *}"; \
	    cargo mutants --in-place --iterate --package $${packages%% *} $$(printf ' --test-package %s' $$packages) \
	        --output "$(CACHE)/mutants/$${packages%% *}" $(MUTANTS) || found=$$?; \
	done; exit $$found

# Inputs found on the way, and how many executions there were, stay in the cache folder; those that are kept are in
# crates/fuzz/corpus. Without a sanitizer, since only unsafe code needs one, so that the stable toolchain does. A
# target directory of its own: everything is compiled to count coverage, but for RocksDB.
fuzz: tools-build rocksdb
	@command -v cargo-fuzz >/dev/null || cargo install --locked --version "^0.13" cargo-fuzz
	cargo fuzz build --sanitizer none --fuzz-dir fuzz --target-dir "$(CACHE)/fuzz/target"
	for target in $(TARGETS); do \
	    scripts/fuzz.sh "$(CACHE)"/fuzz/target/*-linux-gnu/release/$$target "$(CACHE)/fuzz/inputs/$$target" $(RUNS) \
	        $$(sed -n 's/^\([a-z_]*\) = /-\1=/p' fuzz/$$target.options) -dict=fuzz/$$target.dict "crates/fuzz/corpus/$$target"; \
	done

fmt:
	cargo fmt --all

clean: target
	cargo clean --target-dir "$(realpath $(OUTPUT))"

tools-build tools-test tools-bench tools-tuned: tools-%:
	@scripts/install.sh $*

rocksdb: tools-build target
ifdef rocksdb
	@[ -e "$(rocksdb)/librocksdb.a" ] || \
	    $(MAKE) --no-print-directory --jobs="$$(nproc)" --output-sync=none librocksdb crates-beside-rocksdb \
	    rocksdb="$(rocksdb)" profile="$(profile)"
endif

# The first build: RocksDB, and beside it all crates that can be compiled without it, so that no processor is idle. Both
# are children of one make, whose jobserver shares out the processors. The second ends at the crate that wants RocksDB;
# what else fails fails again, and is shown, in the build that comes after.
librocksdb:
	+@scripts/rocksdb.sh "$(rocksdb)"

crates-beside-rocksdb:
	+@cargo build $(profile) --package cohort-server --keep-going >/dev/null 2>&1 || true

build run bench large readers tpch tpcc history deb package attack accept: profile = --release
profile = --profile checked

target:
ifeq ($(CARGO_TARGET_DIR),)
	@[ -d target ] || { rm -f target; mkdir -p "$(CACHE)/target"; ln -s "$(CACHE)/target" target; }
endif
