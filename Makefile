# `make` explains itself. Everything is done by scripts/, which also run alone.
.DEFAULT_GOAL := help
.PHONY: help setup build screen install pgo demo test test-long bench figures lab lint docs fuzz
SHELL := /bin/bash

# Arguments for the command behind a target, such as ARGS="--once --json".
ARGS ?=

help: ## This text
	@scripts/help.sh

setup: ## Install what is missing: packages (by apt) and Rust (by rustup)
	@scripts/setup.sh

build: ## Build the sluice command for production: target/release/sluice
	@scripts/build.sh release

screen: ## Build the pages of the core's screen, which `make build` embeds: core/web/dist/built
	@scripts/screen.sh

install: ## Install programs, manual pages, completion and systemd unit below PREFIX (/usr/local)
	@scripts/install.sh

pgo: ## Build it once more, optimised by a profile of its own work: target/pgo/sluice
	@scripts/pgo.sh

demo: ## Run a core, a UPF and a RAN in namespaces of this machine; ARGS="--once --json" ends by itself
	@scripts/demo.sh $(ARGS)

test: ## Run all tests; ends with "N passed, N failed"
	@scripts/test.sh $(ARGS)

test-long: ## Run them ten times as long (SLUICE_LONG): more seeds, cases and mutants
	@SLUICE_LONG=$${SLUICE_LONG:-10} TEST_TIMEOUT_S=43200 scripts/test.sh $(ARGS)

bench: ## Measure beside the limit of this machine, and tell what became slower; ARGS="path --json" for one
	@scripts/bench.sh $(ARGS)

figures: ## Measure all figures of SPECIFICATION.md and write its tables, in about 30 minutes; ARGS="--only path-*" for some
	@scripts/figures.sh $(ARGS)

lab: ## Repeat the papers' experiments, quickly: target/lab/report.html; ARGS="all" takes its time
	@scripts/lab.sh $(ARGS)

lint: ## Format, clippy, rustdoc, shell scripts, licences
	@scripts/lint.sh

docs: ## Build the reference of all crates: target/doc
	@scripts/docs.sh

fuzz: ## Fuzz every parser for FUZZ_SECONDS (60) each
	@scripts/fuzz.sh $(ARGS)
