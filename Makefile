# The front door. Every target is a thin call of a script or of cargo, so that each also runs by hand.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup build guests test lint fmt demo bench

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

setup: ## install whatever building and testing need (apt, rustup, cargo)
	@tests/setup.sh

build: ## build the binary `pliant`
	cargo build --locked -p pliant

guests: ## build every guest of guest-examples/ to target/guests/NAME.wasm
	@tests/guests/build.sh

test: ## set up, check, lint, build, run every test; the last line is `N passed, N failed`
	@tests/test.sh

lint: ## formatting and clippy over the workspace, warnings denied
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings

fmt: ## format the workspace
	cargo fmt --all

demo: ## build everything, start a cluster, run a real HTTP and a real batch component to their end
	@tests/demo.sh

bench: ## measure: make bench NAME=p1 (no NAME lists them)
	@tests/bench.sh $(NAME)
