# Stepkeeper. `make` or `make help` lists what there is to do.

GO       ?= go
BIN      := bin
# Built from source at this version by `go run`, so that a fresh machine needs only Go.
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.12.2
VALE     := github.com/errata-ai/vale/v3/cmd/vale@v3.7.1
RELEASER := github.com/goreleaser/goreleaser/v2@v2.15.1
GREMLINS := github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0
# The build profile, taken by `make profile`. Only releases and benches are built with it: it compiles every package
# once more.
PROFILE  := verify/bench/stepkeeper.pgo
# What shares memory between goroutines; nightly has the whole suite. The engine and the Supervisor start none
# (verify/importrules); dev/embedded runs them beside each other.
RACE_PKGS ?= $(addprefix ./,client client/aws/operate dev/api dev/embedded dev/memory dev/sqlite functions/agent/worker functions/scheduler shared/port/queuetest shared/port/storetest shared/sqs shared/state)
# Of their tests those that compute alone, or repeat with many orders what others do with few, add nothing but time to it.
RACE_SKIP ?= TestAStoredTaskAcceptsEveryEvent|TestSequences|TestTheCheckerCanFail|$\
	TestStoreIn(Memory|SQLite)$$/^(create|batch|kept|documents|limits|due|place|list|definitions|leases|ledger)$$|$\
	Test(SQS|SQLite|SQLiteByTimers)$$/^(send|delete|delay|visibility|limits|depth|dead)$$|$\
	TestOrdersNearTheDocumentLimitEnd|$\
	TestTheReserveHasRoomForTheLongestDocument|TestLostCommitsAreNoticed|TestADamagedOrderIsSetAside|$\
	TestAnOutageGivesUpNoOrder|TestStatisticsAreBounded|$\
	TestCrashesOf(PlainOperations|PointsOfNoReturn)|TestPoliciesAllowWhatIsCalled
RACE_ALL   = $(shell $(GO) list ./... | grep -v -E '/(bench|examples|e2e|infra|localstack|importrules|soak|simulate)(/|$$)')
# Whole processes, the simulator's gate, templates and emulators belong to `make check`.
TEST_PKGS ?= $(shell $(GO) list ./... | grep -v -E '/stepkeeper/(infra|localstack|verify|internal/simulate/explore)(/|$$)')
FUZZTIME ?= 10s
# Property tests draw the same cases each time, so that a change fails by its own fault; 0 draws others.
export RAPID_SEED ?= 1
# The program that tests of processes start.
PROGRAM  := STEPKEEPER_PROGRAM=$(CURDIR)/$(BIN)/stepkeeper
# Tests that build modules or start the program, and so are no part of `make test`.
BUILDING := ^(TestReadme|TestFirstHour|TestHowTo|TestFirstDeployment|TestInitForAWS|TestEverySnippet|TestAgentNewCompiles)$$

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/stepkeeper
	$(GO) build -o $(BIN)/stepkeeper ./cmd/stepkeeper

.PHONY: test
test: ## Run the tests of behaviour, which need nothing but Go
	$(GO) test -short -p 4 $(TEST_PKGS)

# Its tests run without vet, which is a part of lint.
.PHONY: check
check: ## Run all that has to pass beside `make test`: linters, processes, templates, emulators, other languages
	bash verify/ci/check.sh

# The program as a process, and tests that build modules.
.PHONY: test-processes
test-processes: build
	$(PROGRAM) $(GO) test -vet=off -short -p 2 -timeout 20m ./verify/...
	$(GO) test -vet=off -timeout 20m -run '$(BUILDING)' ./cmd/stepkeeper ./cmd/stepkeeper/internal/cli

.PHONY: test-deep
test-deep: build
	$(PROGRAM) $(GO) test -count=1 -timeout 60m $(TEST_PKGS) ./verify/... ./internal/simulate/explore

SEQUENCES ?= 6

# Run the tests that need a DynamoDB against DynamoDB Local (needs npm and a JDK). SHORT=1, as make check does, leaves out
# cases that do not depend on how finished orders are listed, where they run a second time, and the races there, which
# make integration has.
.PHONY: test-dynamo
test-dynamo:
	shared/dynamo/dynamotest/local.sh bash -c '\
		RAPID_CHECKS=$(SEQUENCES) $(GO) test -vet=off -count=1 -timeout 20m -parallel 4 ./shared/dynamo/... ./verify/bench/cost && \
		RAPID_CHECKS=$(SEQUENCES) $(GO) test -vet=off -count=1 -timeout 20m -parallel 4 -run Dynamo \
			$(if $(SHORT),-skip "TestStoreInDynamo/open_orders_listed/(batch|kept|race|due|definitions|leases)") ./shared/port/storetest'

.PHONY: race
race: ## The race detector on what shares memory between goroutines (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -vet=off -race -short -timeout 20m -p 4 -skip '$(RACE_SKIP)' $(RACE_PKGS)

# The same on all packages; nightly.
.PHONY: race-all
race-all:
	CGO_ENABLED=1 $(GO) test -race -short -timeout 60m $(RACE_ALL)

# Fuzz each target for FUZZTIME (default 10s).
.PHONY: fuzz
fuzz:
	@GO="$(GO)" FUZZTIME="$(FUZZTIME)" bash verify/ci/fuzz.sh

# Break the code of a package in one place at a time: its tests must notice. .gremlins.yaml says how.
MUTATED := shared/protocol shared/engine shared/state functions/scheduler functions/supervisor functions/agent/worker
.PHONY: mutants
mutants:
	for package in $(MUTATED); do $(GO) run $(GREMLINS) unleash ./$$package || exit 1; done

# The same on the lines that differ from origin/main.
.PHONY: mutants-changed
mutants-changed:
	$(GO) run $(GREMLINS) unleash --diff origin/main .

.PHONY: demo
demo: build ## The main job: 1,000 orders, failing services, SIGKILL, audit
	$(BIN)/stepkeeper demo

MINUTES ?= 5
SEED    ?= 1

# The long run: real processes killed, frozen, cut off, audited (MINUTES=5 SEED=1).
.PHONY: soak
soak: build
	$(PROGRAM) $(GO) test ./verify/soak -run '^TestSoak$$' -count 1 -timeout 0 -v -args \
		-minutes $(MINUTES) -seed $(SEED) -report $(CURDIR)/soak.json

.PHONY: bench
bench: bench-programs ## Measure; prints the figures and writes bench.json
	$(BIN)/bench --out bench.json --binary $(BIN)/profiled/stepkeeper --floor $(BIN)/floor

.PHONY: bench-programs
bench-programs:
	$(GO) build -o $(BIN)/floor ./verify/bench/floor
	$(GO) build -pgo=$(PROFILE) -o $(BIN)/bench ./verify/bench
	$(GO) build -pgo=$(PROFILE) -o $(BIN)/profiled/stepkeeper ./cmd/stepkeeper

ROUNDS ?= 3

# Measure beside Restate and DBOS, and write the tables of docs/reference/performance.md (ROUNDS=3; Linux).
.PHONY: bench-peers
bench-peers: need-node bench-programs
	cd verify/peers && npm ci --silent --no-audit --no-fund && \
		for engine in dbos restate; do $(GO) build -trimpath -o $(CURDIR)/$(BIN)/$$engine ./$$engine || exit 1; done && \
		$(GO) run . -programs $(CURDIR)/$(BIN) -out $(CURDIR)/docs/reference/performance.md -rounds $(ROUNDS)

# Vet and test the module of bench-peers, which ./... does not contain; nightly.
.PHONY: test-peers
test-peers:
	cd verify/peers && $(GO) vet ./... && $(GO) test ./...

# Take the build profile of bin/stepkeeper anew, from the bench in the process and over HTTP.
.PHONY: profile
profile:
	@# The bench runs in a folder whose name says nothing about this machine, because a profile holds it.
	dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	$(GO) build -trimpath -o "$$dir/floor" ./verify/bench/floor && $(GO) build -trimpath -o "$$dir/bench" ./verify/bench && \
	for part in throughput http; do \
		"$$dir/bench" --only $$part --floor "$$dir/floor" --out "$$dir/bench.json" --cpuprofile "$$dir/$$part" || exit 1; done && \
	$(GO) tool pprof -proto "$$dir/throughput" "$$dir/http" >"$$dir/merged" && mv "$$dir/merged" $(PROFILE) && ls -l $(PROFILE)

# Measure what an order consumes on AWS, and write the tables of docs/explanation/cost.md (needs npm and a JDK).
.PHONY: cost
cost:
	shared/dynamo/dynamotest/local.sh $(GO) test ./verify/bench/cost -run '^TestUnits$$' -count 1 -update

GATE = $(GO) test ./internal/simulate/explore -count 1 -timeout 0 -v \
	-run '^(TestDrawnWorkflows|TestSingleFaults|TestTapes|TestSimulatorPage.*)$$'

# The simulator's gate of every change: seeds, every single fault, tapes.
.PHONY: simulate-report
simulate-report:
	$(GATE)

# The same, deeper: 300,000 seeds, and pairs of faults.
.PHONY: simulate-nightly
simulate-nightly:
	$(GATE) -args -seeds 300000 -pairs 5000

.PHONY: nightly
nightly: ## The deep searches, one after another; all of them run, and the last line names those that failed
	@failed=; for target in test-deep test-peers cross integration "integration BACKEND=ministack" "test-dynamo SEQUENCES=300" race-all mutants simulate-nightly "soak MINUTES=30" \
		"fuzz FUZZTIME=2m"; do \
		echo "=== make $$target"; $(MAKE) --no-print-directory $$target || failed="$$failed, $$target"; done; \
	[ -z "$$failed" ] || { echo "failed$${failed#,}" >&2; exit 1; }

.PHONY: lint
lint: ## Lint the code with the pinned golangci-lint, and the documents with the pinned Vale
	@# Its shared cache mixes up the paths of two clones. This one belongs to the clone's folder, and a new clone finds it.
	GOLANGCI_LINT_CACHE=$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/stepkeeper/lint$(CURDIR) $(GO) run $(GOLANGCI) run ./...
	$(GO) run $(VALE) --minAlertLevel error README.md docs

# Two systems stand for the others of a release, which share their code with one of these or with Linux.
# Build the program for macOS and Windows; nightly, and with each snapshot of a release.
.PHONY: cross
cross:
	for system in darwin/arm64 windows/amd64; do \
		CGO_ENABLED=0 GOOS=$${system%/*} GOARCH=$${system#*/} $(GO) build -o $(BIN)/cross/ ./cmd/stepkeeper || exit 1; done

# Go writes the tag of a clean working copy into the program. Without the tag it is a snapshot.
.PHONY: release
release: ## Build the files of a release into bin/release: make release VERSION=v0.1.0 (PUBLISH=1: a draft on GitHub)
	@test -n "$(VERSION)" || { echo "Name the version: make release VERSION=v0.1.0" >&2; exit 2; }
	VERSION="$(VERSION)" GORELEASER_CURRENT_TAG="$(VERSION)" GOFLAGS= $(GO) run $(RELEASER) release --clean \
		$(if $(PUBLISH),,$(if $(filter $(VERSION),$(shell git tag --points-at HEAD)),--skip=publish,--snapshot))
	GO="$(GO)" bash verify/ci/image.sh bin/release
	bash verify/ci/release.sh bin/release
	$(MAKE) --no-print-directory template ARGS="--context prebuilt=../bin/release"

LINT_TEMPLATE := $(BIN)/cfn-lint/bin/cfn-lint

# Write the order example as a CloudFormation template into bin/template, and lint it (needs Python).
.PHONY: template
template: need-node
	$(GO) run ./cmd/stepkeeper aws template infra --out $(BIN)/template $(ARGS)
	@test -x $(LINT_TEMPLATE) || { python3 -m venv $(BIN)/cfn-lint && $(BIN)/cfn-lint/bin/pip install -q cfn-lint==1.58.0; }
	@# The CDK names dependencies that a reference implies.
	$(LINT_TEMPLATE) --ignore-checks W3005 -- $(BIN)/template/*.template.json

.PHONY: fmt
fmt: ## Format the code
	$(GO) run $(GOLANGCI) fmt ./...

.PHONY: clean
clean: ## Remove what the targets above have made
	rm -rf $(BIN) bench.json demo-report.json soak.json coverage.out

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

# Build the functions and write the templates into infra/cdk.out.
.PHONY: synth
synth: need-node infra/node_modules/.package-lock.json
	$(CDK) synth --quiet $(ARGS)

.PHONY: deploy
deploy: need-node infra/node_modules/.package-lock.json ## Deploy to the account of your AWS credentials
	$(CDK) deploy $(ARGS)

# What deploy would change.
.PHONY: diff
diff: need-node infra/node_modules/.package-lock.json
	$(CDK) diff $(ARGS)

# Delete the stack; asks first, and keeps tables and queues.
.PHONY: destroy
destroy: need-node infra/node_modules/.package-lock.json
	$(CDK) destroy $(ARGS)

# Send orders through a deployment and audit them: make smoke STACK=Shop.
.PHONY: smoke
smoke: build
	@test -n "$(STACK)" || { echo "Name the stack: make smoke STACK=Shop [REGION=eu-central-1] [ARGS=\"--orders 100\"]" >&2; exit 2; }
	$(BIN)/stepkeeper doctor --smoke --stack $(STACK) $(if $(REGION),--region $(REGION)) $(ARGS)

# Test the templates (needs Node). The CDK's own validation only warns, and costs processor time with every stack.
.PHONY: test-infra
test-infra: need-node
	STEPKEEPER_NEED_NODE=1 CDK_VALIDATION=false JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=20 $(GO) test -vet=off -count=1 -timeout 20m ./infra/...

# Test the packages of sdk, and the grades that their agents earn (needs Python 3.11 and Node).
.PHONY: test-sdk
test-sdk: need-node build
	sdk/test.sh

CHROMIUM ?= $(or $(shell command -v chromium || command -v chromium-browser || command -v google-chrome),chromium)

# Test the console in Chromium (CHROMIUM=its program), with axe-core; SCREENSHOTS=folder.
.PHONY: test-console
test-console: need-node infra/node_modules/.package-lock.json
	STEPKEEPER_CHROMIUM="$(CHROMIUM)" STEPKEEPER_AXE="$(CURDIR)/infra/node_modules/axe-core/axe.min.js" STEPKEEPER_SCREENSHOTS="$(abspath $(SCREENSHOTS))" \
		STEPKEEPER_MERMAID="$(CURDIR)/infra/node_modules/@mermaid-js/tiny/dist/mermaid.tiny.js" \
		$(GO) test -count=1 -v -timeout 10m -run '^TestBrowser' ./cmd/stepkeeper/internal/console

# Write what the pages take from the program: outputs, diagrams of states, and the console's screenshots.
IMAGES := overview orders order order-phone-dark incidents answers
.PHONY: docs
docs: ## Write the outputs, diagrams and screenshots of the documents anew (needs Node and Chromium)
	$(GO) test ./shared/protocol -run '^TestDiagramsOfStates$$' -update
	$(GO) test ./dev/embedded -run '^TestCallsOfThePage$$' -update
	$(GO) test ./cmd/stepkeeper -timeout 20m -run '^(TestFirstHour|TestHowTo)$$' -update
	$(MAKE) --no-print-directory test-console SCREENSHOTS=$(BIN)/screenshots
	for image in $(IMAGES); do cp $(BIN)/screenshots/$$image.png docs/images/console-$$image.png || exit 1; done

# Build the functions, and measure size and start.
.PHONY: lambda-size
lambda-size:
	$(GO) test -count=1 -v ./infra/build -run TestFunctionsKeepTheirLimits -measure

# The app in an emulator on this machine; docs/how-to/localstack.md. Nothing listens but on 127.0.0.1.
LOCAL := $(GO) run ./cmd/stepkeeper aws local
LOCAL_STATE := $(CURDIR)/localstack/.state

# Start LocalStack: in Docker where an engine answers, as a process otherwise.
.PHONY: local-up
local-up:
	@STATE=$(LOCAL_STATE)/process $(LOCAL) up

# Deploy the app into LocalStack (after local-up).
.PHONY: local-deploy
local-deploy: need-node
	@mkdir -p $(LOCAL_STATE) && $(GO) run ./localstack/services -agents $(LOCAL_STATE)
	@$(LOCAL) deploy infra --context keep=false,agents=$(LOCAL_STATE)/agents.yaml,workflows=../examples/order/order.yaml $(ARGS)

# Run the example's remote services on this machine, for local-deploy; until Ctrl-C.
.PHONY: local-services
local-services:
	$(GO) run ./localstack/services

# Stop LocalStack, and MiniStack.
.PHONY: local-down
local-down:
	@STATE=$(LOCAL_STATE)/process $(LOCAL) down
	@localstack/ministack/start.sh stop

# Fetch what test-infra, test-dynamo and integration need, one after another.
.PHONY: install-emulators
install-emulators: need-node infra/node_modules/.package-lock.json
	shared/dynamo/dynamotest/local.sh true
	localstack/process/start.sh install
	localstack/ministack/start.sh install

.PHONY: integration
integration: build ## Test the deployed stack on LocalStack; BACKEND=ministack: with IAM enforced; SHORT=1: as make check does
	@$(PROGRAM) GO="$(GO)" BACKEND="$(BACKEND)" SHORT="$(SHORT)" ARGS="$(ARGS)" localstack/integration.sh

# Deploy to your account with the documented permissions, test, destroy: ACCOUNT=123456789012, or BACKEND=ministack.
.PHONY: account-check
account-check: need-node infra/node_modules/.package-lock.json
	@test -n "$(ACCOUNT)$(BACKEND)" || { echo "Name the account: make account-check ACCOUNT=123456789012, or BACKEND=ministack" >&2; exit 2; }
	@$(if $(BACKEND),PACKAGE=./verify/account GO="$(GO)" BACKEND="$(BACKEND)" ARGS="$(ARGS)" localstack/integration.sh,ACCOUNT="$(ACCOUNT)" $(GO) test -v -count=1 -timeout 2h ./verify/account $(ARGS))
