# Stepkeeper. `make` or `make help` lists what there is to do.

GO       ?= go
BIN      := bin
# Built from source at this version by `go run`, so that a fresh machine needs only Go.
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.12.2
VALE     := github.com/errata-ai/vale/v3/cmd/vale@v3.7.1
RELEASER := github.com/goreleaser/goreleaser/v2@v2.15.1
# The working copy, for `stepkeeper init` and `stepkeeper agent new`: -trimpath leaves it out everywhere else.
LDFLAGS  := -ldflags "-X 'github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/scaffold.builtFrom=$(CURDIR)'"
# The build profile, taken by `make profile`. Only programs that are run for their speed are built with it: it
# compiles every package once more.
PROFILE  := cmd/stepkeeper/default.pgo
export GOFLAGS := $(shell $(GO) env GOFLAGS) -pgo=off
# What shares memory between goroutines; the whole suite is race-all.
RACE_PKGS ?= $(addprefix ./,client client/aws/operate dev/api dev/embedded dev/memory dev/sqlite functions/agent/worker functions/scheduler functions/supervisor shared/engine shared/port/queuetest shared/port/storetest shared/sqs shared/state)
# Of their tests those that compute alone, or wait for ten seconds, add nothing but time to it.
RACE_SKIP ?= TestAStoredTaskAcceptsEveryEvent|TestZeroTimesAreNotAssumedOnes|TestSequences|TestStoreInSQLiteWithoutCache|TestTheCheckerCanFail|$\
	TestStoreIn(Memory|SQLite)$$/^(create|replace|batch|documents|limits|due|list|definitions|leases|ledger)$$|$\
	TestOrdersNearTheLimitOfTheirDocumentEnd|TestOrdersNearTheDocumentLimitEnd|TestAnHourOfExpiredCredentialsUndoesNothing|TestEndedOrdersExpireMeanwhile
RACE_ALL   = $(shell $(GO) list ./... | grep -v -E '/(bench|examples|e2e|infra|localstack|importrules|mutants|soak|simulate)(/|$$)')
TEST_PKGS ?= $(shell $(GO) list ./... | grep -v '/infra$$')
# What -short leaves out of these are builds of what they write, which belong to each change.
CMD_PKGS  ?= $(shell $(GO) list ./cmd/...)
FUZZTIME ?= 10s
# Property tests draw the same cases each time, so that a change fails by its own fault; 0 draws others.
export RAPID_SEED ?= 1

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/stepkeeper
	$(GO) build -trimpath -pgo=auto $(LDFLAGS) -o $(BIN)/stepkeeper ./cmd/stepkeeper

.PHONY: install
install: ## Install stepkeeper into $GOBIN, or $(go env GOPATH)/bin
	$(GO) install -trimpath -pgo=auto $(LDFLAGS) ./cmd/stepkeeper

.PHONY: test
test: ## Run the tests that need nothing but Go; test-infra runs those of the templates
	@# Most packages wait more than they compute. With -short the searches are shallow; test-deep has them whole.
	$(GO) test -short -p 4 $(filter-out $(CMD_PKGS),$(TEST_PKGS))
	$(GO) test -p 4 $(CMD_PKGS)

.PHONY: test-deep
test-deep: ## The same tests with their searches as deep as they go; nightly
	$(GO) test -count=1 -timeout 60m $(TEST_PKGS)

SEQUENCES ?= 12

.PHONY: test-dynamo
test-dynamo: ## Run the tests that need a DynamoDB against DynamoDB Local (needs npm and a JDK)
	shared/dynamo/dynamotest/local.sh bash -c '\
		RAPID_CHECKS=$(SEQUENCES) $(GO) test -count=1 -timeout 20m -parallel 4 ./shared/dynamo/... ./internal/cost/... ./verify/bench/cost && \
		RAPID_CHECKS=$(SEQUENCES) $(GO) test -count=1 -timeout 20m -parallel 4 -run Dynamo ./shared/port/storetest && \
		$(GO) test -count=1 -v -run "^TestUnitsOfEachOperation$$" ./verify/bench/cost'

.PHONY: race
race: ## The race detector on what shares memory between goroutines (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -race -short -timeout 20m -p 4 -skip '$(RACE_SKIP)' $(RACE_PKGS)

.PHONY: race-all
race-all: ## The same on all packages; nightly
	CGO_ENABLED=1 $(GO) test -race -short -timeout 60m $(RACE_ALL)

.PHONY: fuzz
fuzz: ## Fuzz each target for FUZZTIME (default 10s)
	@GO="$(GO)" FUZZTIME="$(FUZZTIME)" bash verify/ci/fuzz.sh

.PHONY: mutants
mutants: ## Break each rule of the protocol in turn; the tests must notice; nightly
	$(GO) run ./verify/mutants/run -json mutants.json

WITHIN ?= 60s

.PHONY: mutants-changed
mutants-changed: ## Of these mutants those of what has changed, then others drawn by the tree's hash, for WITHIN=60s
	$(GO) run ./verify/mutants/run -changed -within $(WITHIN) -json mutants.json

.PHONY: mutants-infra
mutants-infra: need-node ## The mutants of the infrastructure (needs Node)
	STEPKEEPER_NEED_NODE=1 JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=20 $(GO) run ./verify/mutants/run -only infra/

.PHONY: mutants-dynamo
mutants-dynamo: ## The mutants of the DynamoDB store (needs npm and a JDK)
	shared/dynamo/dynamotest/local.sh $(GO) run ./verify/mutants/run -only shared/dynamo/

.PHONY: mutants-simulated
mutants-simulated: ## Which mutants the simulator notices alone; it must notice all but those argued to be out of its reach
	$(GO) run ./verify/mutants/run -by simulate

N     ?= 10
FLOOR ?= 60
ENOUGH ?= 10s

.PHONY: mutants-sampled
mutants-sampled: ## Mutants drawn at random in each room (N=10 SEED=1 ROOM=core,api FLOOR=60 ENOUGH=10s); N=30 ENOUGH=30s nightly
	$(GO) run ./verify/mutants/sampled -n $(N) -seed $(SEED) -room "$(ROOM)" -floor $(FLOOR) -enough $(ENOUGH) -json mutants-sampled.json

.PHONY: mutants-drawn
mutants-drawn: ## 40 mutants drawn by the tree's hash from the rooms that have changed; 75 % must be noticed
	$(GO) run ./verify/mutants/sampled -changed -total 40 -floor 75 -json mutants-sampled.json

.PHONY: demo
demo: build ## The main job: 1,000 orders, failing services, SIGKILL, audit
	$(BIN)/stepkeeper demo

MINUTES ?= 5
SEED    ?= 1

.PHONY: soak
soak: build ## The long run: real processes killed, frozen, cut off, audited (MINUTES=5 SEED=1)
	$(GO) test ./verify/soak -run '^TestSoak$$' -count 1 -timeout 0 -v -args \
		-minutes $(MINUTES) -seed $(SEED) -binary $(CURDIR)/$(BIN)/stepkeeper -report $(CURDIR)/soak.json

.PHONY: bench
bench: build bench-programs ## Measure; prints the figures and writes bench.json
	$(BIN)/bench --out bench.json --binary $(BIN)/stepkeeper --floor $(BIN)/floor

.PHONY: bench-programs
bench-programs:
	$(GO) build -trimpath -pgo=off -o $(BIN)/floor ./verify/bench/floor
	$(GO) build -trimpath -pgo=$(PROFILE) -o $(BIN)/bench ./verify/bench

ROUNDS ?= 3

.PHONY: bench-peers
bench-peers: need-node bench-programs ## Measure beside Restate and DBOS, and write the tables of docs/reference/performance.md (ROUNDS=3; Linux)
	cd verify/peers && npm ci --silent --no-audit --no-fund && \
		for engine in dbos restate; do $(GO) build -trimpath -o $(CURDIR)/$(BIN)/$$engine ./$$engine || exit 1; done && \
		$(GO) run . -programs $(CURDIR)/$(BIN) -out $(CURDIR)/docs/reference/performance.md -rounds $(ROUNDS)

.PHONY: test-peers
test-peers: ## Vet and test the module of bench-peers, which ./... does not contain; nightly
	cd verify/peers && $(GO) vet ./... && $(GO) test ./...

.PHONY: profile
profile: ## Take the build profile of bin/stepkeeper anew, from the bench in the process and over HTTP
	@# The bench runs in a folder whose name says nothing about this machine, because a profile holds it.
	dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	$(GO) build -trimpath -pgo=off -o "$$dir/floor" ./verify/bench/floor && $(GO) build -trimpath -pgo=off -o "$$dir/bench" ./verify/bench && \
	for part in throughput http; do \
		"$$dir/bench" --only $$part --floor "$$dir/floor" --out "$$dir/bench.json" --cpuprofile "$$dir/$$part" || exit 1; done && \
	$(GO) tool pprof -proto "$$dir/throughput" "$$dir/http" >"$$dir/merged" && mv "$$dir/merged" $(PROFILE) && ls -l $(PROFILE)

.PHONY: cost
cost: ## Measure what an order consumes on AWS, and what that costs (needs npm and a JDK)
	shared/dynamo/dynamotest/local.sh $(GO) test ./verify/bench/cost -run '^TestMeasure$$' -count 1 \
		-timeout 60m -v -args -out $(CURDIR)/internal/cost/units.json

EXPLORE ?= 60s
REPORT = $(GO) test ./simulate/internal/explore -run '^TestReport$$' -count 1 -timeout 0 -v -args \
	-report $(CURDIR)/simulate-report.json

.PHONY: simulate-report
simulate-report: ## The simulator's gate of every change, after `make mutants-changed`; writes simulate-report.json
	$(REPORT) -explore $(EXPLORE)

.PHONY: simulate-nightly
simulate-nightly: ## The same, deeper: pairs of faults, 300,000 seeds, up to three faults on a path
	$(REPORT) -seeds 300000 -pairs 3000 -faults 3 -explore 1h -cells $(CURDIR)/simulate-cells.tsv

.PHONY: nightly
nightly: ## The deep searches, one after another; all of them run, and the last line names those that failed
	@failed=; for target in test-deep test-peers "test-dynamo SEQUENCES=300" race-all mutants mutants-infra mutants-dynamo mutants-simulated \
		"mutants-sampled N=30 ENOUGH=30s SEED=$$(date +%Y%m%d)" simulate-nightly "soak MINUTES=30" "fuzz FUZZTIME=2m"; do \
		echo "=== make $$target"; $(MAKE) --no-print-directory $$target || failed="$$failed, $$target"; done; \
	[ -z "$$failed" ] || { echo "failed$${failed#,}" >&2; exit 1; }

.PHONY: lint
lint: PAGES = README.md $(wildcard docs/*.md docs/*/*.md)
lint: ## Lint the code with the pinned golangci-lint, and the documents and texts of the program with the pinned Vale
	@# Its shared cache mixes up the paths of two clones; this one belongs to the clone.
	GOLANGCI_LINT_CACHE=$(CURDIR)/$(BIN)/lint-cache $(GO) run $(GOLANGCI) run ./...
	$(GO) run $(VALE) --config verify/prose/vale.ini --no-exit --output JSON $(PAGES) | $(GO) run ./verify/prose $(PAGES)
	$(GO) run ./verify/prose -texts $(BIN)/texts
	$(GO) run $(VALE) --config verify/prose/vale.ini --no-exit --output JSON $(BIN)/texts/*.md | $(GO) run ./verify/prose $(BIN)/texts/*.md

# Two systems stand for the others of a release, which share their code with one of these or with Linux.
.PHONY: cross
cross: ## Build the program for macOS and Windows
	for system in darwin/arm64 windows/amd64; do \
		CGO_ENABLED=0 GOOS=$${system%/*} GOARCH=$${system#*/} $(GO) build -trimpath -o $(BIN)/cross/ ./cmd/stepkeeper || exit 1; done

# Go writes the tag of a clean working copy into the program. Without the tag it is a snapshot.
.PHONY: release
release: ## Build the files of a release into bin/release: make release VERSION=v0.1.0 (PUBLISH=1: a draft on GitHub)
	@test -n "$(VERSION)" || { echo "Name the version: make release VERSION=v0.1.0" >&2; exit 2; }
	VERSION="$(VERSION)" GORELEASER_CURRENT_TAG="$(VERSION)" GOFLAGS= $(GO) run $(RELEASER) release --clean \
		$(if $(PUBLISH),,$(if $(filter $(VERSION),$(shell git tag --points-at HEAD)),--skip=publish,--snapshot))
	$(MAKE) --no-print-directory template ARGS="--context prebuilt=../bin/release"

LINT_TEMPLATE := $(BIN)/cfn-lint/bin/cfn-lint

.PHONY: template
template: need-node ## Write the order example as a CloudFormation template into bin/template, and lint it (needs Python)
	$(GO) run ./cmd/stepkeeper aws template infra --out $(BIN)/template $(ARGS)
	@test -x $(LINT_TEMPLATE) || { python3 -m venv $(BIN)/cfn-lint && $(BIN)/cfn-lint/bin/pip install -q cfn-lint==1.58.0; }
	@# The CDK names dependencies that a reference implies.
	$(LINT_TEMPLATE) --ignore-checks W3005 -- $(BIN)/template/*.template.json

.PHONY: fmt
fmt: ## Format the code
	$(GO) fmt ./...

.PHONY: clean
clean: ## Remove what the targets above have made
	rm -rf $(BIN) bench.json mutants.json mutants-sampled.json simulate-report.json simulate-cells.tsv explored-*.json demo-report.json soak.json coverage.out

# The app on AWS. ARGS goes to the CDK: make deploy ARGS="-c stack=Shop -c email=ops@example.com";
# infra/app/main.go lists what there is. Paths in it are from the folder infra.
CDK := cd infra && CDK_DISABLE_CLI_TELEMETRY=true JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=20 node_modules/.bin/cdk --no-notices

.PHONY: need-node
need-node:
	@command -v node >/dev/null && command -v npm >/dev/null || { \
		echo "The CDK needs Node 20 or later and npm: https://nodejs.org. Everything else works without." >&2; exit 1; }

infra/node_modules/.package-lock.json: infra/package.json infra/package-lock.json
	cd infra && npm ci --silent
	@# Templates of cdk init, in Go that is no Go: ./... and gofmt would trip over them.
	@rm -rf infra/node_modules/aws-cdk/lib/init-templates
	@touch $@

.PHONY: synth
synth: need-node infra/node_modules/.package-lock.json ## Build the functions and write the templates into infra/cdk.out
	$(CDK) synth --quiet $(ARGS)

.PHONY: deploy
deploy: need-node infra/node_modules/.package-lock.json ## Deploy to the account of your AWS credentials
	$(CDK) deploy $(ARGS)

.PHONY: diff
diff: need-node infra/node_modules/.package-lock.json ## What deploy would change
	$(CDK) diff $(ARGS)

.PHONY: destroy
destroy: need-node infra/node_modules/.package-lock.json ## Delete the stack; asks first, and keeps tables and queues
	$(CDK) destroy $(ARGS)

.PHONY: smoke
smoke: build ## Send orders through a deployment and audit them: make smoke STACK=Shop
	@test -n "$(STACK)" || { echo "Name the stack: make smoke STACK=Shop [REGION=eu-central-1] [ARGS=\"--orders 100\"]" >&2; exit 2; }
	$(BIN)/stepkeeper smoke --stack $(STACK) $(if $(REGION),--region $(REGION)) $(ARGS)

.PHONY: test-infra
test-infra: need-node ## Test the templates (needs Node)
	STEPKEEPER_NEED_NODE=1 JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=20 $(GO) test -count=1 ./infra/...

.PHONY: test-sdk
test-sdk: need-node build ## Test the packages of sdk, and the grades that their agents earn (needs Python 3.11 and Node)
	sdk/test.sh

CHROMIUM ?= $(or $(shell command -v chromium || command -v chromium-browser || command -v google-chrome),chromium)

.PHONY: test-console
test-console: need-node infra/node_modules/.package-lock.json ## Test the console in Chromium (CHROMIUM=its program), with axe-core; SCREENSHOTS=folder
	STEPKEEPER_CHROMIUM="$(CHROMIUM)" STEPKEEPER_AXE="$(CURDIR)/infra/node_modules/axe-core/axe.min.js" STEPKEEPER_SCREENSHOTS="$(abspath $(SCREENSHOTS))" \
		$(GO) test -count=1 -v -timeout 10m -run '^TestBrowser' ./cmd/stepkeeper/internal/console

.PHONY: lambda-size
lambda-size: ## Build the functions, and measure size, start and memory
	$(GO) test -count=1 -v ./infra/build -run TestFunctionsKeepTheirLimits -measure

# The app in an emulator on this machine; docs/how-to/localstack.md. Nothing listens but on 127.0.0.1.
LOCAL := $(GO) run ./cmd/stepkeeper aws local
LOCAL_STATE := $(CURDIR)/localstack/.state

.PHONY: local-up
local-up: ## Start LocalStack: in Docker where an engine answers, as a process otherwise
	@STATE=$(LOCAL_STATE)/process $(LOCAL) up

.PHONY: local-deploy
local-deploy: need-node ## Deploy the app into LocalStack (after local-up)
	@mkdir -p $(LOCAL_STATE) && $(GO) run ./localstack/services -agents $(LOCAL_STATE)
	@$(LOCAL) deploy infra --context keep=false,agents=$(LOCAL_STATE)/agents.yaml,workflows=../workflows/order.yaml $(ARGS)

.PHONY: local-services
local-services: ## Run the example's remote services on this machine, for local-deploy; until Ctrl-C
	$(GO) run ./localstack/services

.PHONY: local-down
local-down: ## Stop LocalStack, and MiniStack
	@STATE=$(LOCAL_STATE)/process $(LOCAL) down
	@localstack/ministack/start.sh stop

.PHONY: install-emulators
install-emulators: need-node infra/node_modules/.package-lock.json ## Fetch what test-infra, test-dynamo and integration need, one after another
	shared/dynamo/dynamotest/local.sh true
	localstack/process/start.sh install
	localstack/ministack/start.sh install

.PHONY: integration
integration: ## Test the deployed stack on LocalStack; BACKEND=ministack: with IAM enforced
	@GO="$(GO)" BACKEND="$(BACKEND)" ARGS="$(ARGS)" localstack/integration.sh

.PHONY: account-check
account-check: need-node infra/node_modules/.package-lock.json ## Deploy to your account with the documented permissions, test, destroy: ACCOUNT=123456789012, or BACKEND=ministack
	@test -n "$(ACCOUNT)$(BACKEND)" || { echo "Name the account: make account-check ACCOUNT=123456789012, or BACKEND=ministack" >&2; exit 2; }
	@$(if $(BACKEND),PACKAGE=./verify/account GO="$(GO)" BACKEND="$(BACKEND)" ARGS="$(ARGS)" localstack/integration.sh,ACCOUNT="$(ACCOUNT)" $(GO) test -v -count=1 -timeout 2h ./verify/account $(ARGS))
