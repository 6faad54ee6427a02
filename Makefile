# Stepkeeper. `make` or `make help` lists what there is to do.

GO       ?= go
BIN      := bin
# Built from source at this version by `go run`, so that a fresh machine needs only Go.
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.12.2
# What runs goroutines: everything but the long end-to-end tests.
RACE_PKGS ?= $(shell $(GO) list ./... | grep -v -E '/(bench|examples|e2e)(/|$$)')
FUZZTIME ?= 10s

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/stepkeeper
	$(GO) build -trimpath -o $(BIN)/stepkeeper ./cmd/stepkeeper

.PHONY: install
install: ## Install stepkeeper into $GOBIN
	$(GO) install -trimpath ./cmd/stepkeeper

.PHONY: test
test: ## Run all tests (needs nothing but Go)
	$(GO) test ./...

.PHONY: race
race: ## Run the tests with the race detector (needs a C compiler)
	$(GO) test -race -short -timeout 20m $(RACE_PKGS)

.PHONY: fuzz
fuzz: ## Fuzz each target for FUZZTIME (default 10s)
	@GO="$(GO)" FUZZTIME="$(FUZZTIME)" bash internal/ci/fuzz.sh

.PHONY: mutants
mutants: ## Break each rule of the protocol in turn; the tests must notice
	$(GO) run ./internal/mutants/run -json mutants.json

.PHONY: mutants-simulated
mutants-simulated: ## Which mutants the simulator notices alone, and not with all faults off
	$(GO) run ./internal/mutants/run -by simulate

.PHONY: demo
demo: build ## The main job: 1,000 orders, failing services, SIGKILL, audit
	$(BIN)/stepkeeper demo

.PHONY: bench
bench: build ## Measure; prints the figures and writes bench.json
	$(GO) run ./bench --out bench.json --binary $(BIN)/stepkeeper

.PHONY: simulate-report
simulate-report: ## The simulator's gate of every change; writes simulate-report.json
	$(GO) run ./shared/simulate/report

.PHONY: simulate-nightly
simulate-nightly: ## The same, deeper: pairs of faults, a million seeds, three faults on a path
	$(GO) run ./shared/simulate/report --seeds 1000000 --pairs 3000 --faults 3 --explore 2h

.PHONY: lint
lint: ## Lint with the pinned golangci-lint
	$(GO) vet ./...
	$(GO) run $(GOLANGCI) run ./...

.PHONY: fmt
fmt: ## Format the code
	$(GO) fmt ./...

.PHONY: clean
clean: ## Remove what the targets above have made
	rm -rf $(BIN) bench.json mutants.json demo-report.json simulate-report.json coverage.out
