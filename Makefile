# `make` or `make help` lists what can be made.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

# Everything runs on the Node of the packages, except what installs it.
system_path := $(PATH)
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)

signalbox := node services/cli/bin/signalbox.mjs
report := .signalbox/test-report.json

.PHONY: help
help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

.PHONY: setup
setup: node_modules/.package-lock.json ## install the packages, and as root the programs that are missing
	@test/harness/install-programs.sh

node_modules/.package-lock.json: package-lock.json
	@echo 'setup: npm ci, since node_modules is absent or older than package-lock.json'
	@PATH='$(system_path)' npm ci

.PHONY: generate
generate: setup ## write what is made from declarations: JSON Schemas, lists, reference
	@npm run --silent generate

.PHONY: check
check: generate ## format, lint, types, boundaries; in CI also that generated files are committed
	@biome check .
	@tsc -p .
	@vitest run --project pure test/contract
	@if [ -n "$${CI:-}" ] && [ -n "$$(git status --porcelain)" ]; then \
	  git status --short; git --no-pager diff --stat; \
	  echo 'check: `make generate` changed the files above: commit what it writes.'; exit 1; \
	fi

.PHONY: test
test: setup ## start what the tests need, run all of them, stop it
	@rm -f $(report); status=0; \
	vitest run --reporter=default --reporter=json --outputFile.json=$(report) || status=1; \
	node test/harness/count.ts $(report) || status=1; \
	exit $$status

.PHONY: test-pure
test-pure: setup ## only the tests that need nothing but themselves
	@vitest run --project pure

.PHONY: test-sim
test-sim: setup ## only the simulation (SEEDS=n for more storms, SEED=n to repeat one)
	@vitest run --project simulation

.PHONY: test-int
test-int: setup ## only the tests against a real Kafka, Redis and registry
	@vitest run --project integration

.PHONY: e2e
e2e: setup ## of these, the tests from a webhook to an actor event
	@vitest run --project integration test/e2e

.PHONY: bench
bench: setup ## measure the product against a bare chain (QUICK=1 for a short look, FACTS=n)
	@node --disable-warning=TimeoutNegativeWarning test/bench/bench.ts

.PHONY: chaos
chaos: setup ## disturb real processes while a checker counts (SEED=n FACTS=n FAULTS=n TIME_MS=n)
	@node test/chaos/chaos.ts

.PHONY: chaos-short
chaos-short: setup ## of the tests, a short form of it, and what turns it red without each guard
	@vitest run --project chaos

.PHONY: soak
soak: setup ## run for half an hour, restart one process a minute, tell what grows (TIME_MS=n RATE=n RESTART_MS=n SEED=n)
	@node --disable-warning=TimeoutNegativeWarning --max-old-space-size=6144 test/soak/soak.ts

.PHONY: conversations
conversations: setup ## play chats in thousands of channels, and account for each message (FACTS=n CHANNELS=n RATE=n, 0 for all at once, SEED=n)
	@node --disable-warning=TimeoutNegativeWarning --max-old-space-size=6144 test/conversations-load/conversations-load.ts

.PHONY: takeover
takeover: setup ## measure how soon others go on where one ends (REPEATS=n RATE=n COPIES=n SESSION_MS=n SEED=n)
	@node --disable-warning=TimeoutNegativeWarning test/takeover/takeover.ts

.PHONY: rebuild-under-flow
rebuild-under-flow: setup ## rebuild the mirror while facts flow and readers look for gaps (FACTS=n RATE=n READERS=n COPIES=n)
	@node --disable-warning=TimeoutNegativeWarning --max-old-space-size=6144 test/rebuild-under-flow/rebuild-under-flow.ts

.PHONY: up
up: setup ## run the whole product until Ctrl-C; its data survives
	@$(signalbox) up

.PHONY: demo
demo: setup ## show the whole pipeline at work on recorded payloads (KEEP=1 stays up)
	@$(signalbox) demo $(if $(KEEP),--keep)

.PHONY: provider
provider: setup ## start the folder of a new provider: make provider NAME=acme
	@$(if $(NAME),,echo 'provider: say which: make provider NAME=acme'; exit 1)
	@npm run --silent new-provider -- '$(NAME)'
