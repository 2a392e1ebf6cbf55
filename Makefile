VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# Without the path of the clone in it, what one clone has compiled is found by the next one in the build cache.
export GOFLAGS := $(strip $(shell go env GOFLAGS) -trimpath)

.PHONY: build release test lint fmt faults upgrade fairness scale bench screens bin/faults bin/scale bin/bench

build: ## One static binary in bin/.
	CGO_ENABLED=0 go build -ldflags '-s -w -X main.version=$(VERSION)' -o bin/ledgerhook ./cmd/ledgerhook

release: ## Archives, Debian packages, lists of parts and checksums in dist/, of a clean checkout: make release VERSION=1.2.3
	cd deploy/release && CGO_ENABLED=0 go test ./... && CGO_ENABLED=0 go run . -version "$(if $(filter command line environment,$(origin VERSION)),$(VERSION))"

# SQLite is C that was translated to Go, argon2 pure arithmetic: the race detector finds nothing in them and makes
# them ten times slower. Only what has no type parameters may be left out: a generic function that both sides need
# is linked once, and would be lost to the detector everywhere. Around SQLite, pointers come from numbers all the time:
# there the detector stays, and only the check of each such pointer, which comes with it, is left out.
without_race = $(foreach package,modernc.org/sqlite/lib modernc.org/memory golang.org/x/crypto/argon2 golang.org/x/crypto/blake2b,-gcflags=$(package)=-race=false) \
	$(foreach package,modernc.org/libc modernc.org/sqlite,-gcflags=$(package)=-d=checkptr=0)

# The longest packages first, so that none of them is left to run alone at the end.
longest = ./ledger ./app/browsertest ./app/acceptance

test: ## Every test, with the race detector, beside a PostgreSQL and a Redis of its own.
	CGO_ENABLED=1 .ci/with-servers go test -race $(without_race) -count=1 -vet=off -p 2 -parallel 4 -timeout 20m $(longest) ./...

faults: bin/faults ## What is lost and doubled when everything fails, in a table.
	@exec bin/faults

FROM = $(shell git describe --tags --abbrev=0 2>/dev/null || git rev-parse HEAD^)

upgrade: bin/faults ## The previous release and this one side by side through a migration, under load: make upgrade FROM=v1.2.3
	@dir=$$(mktemp -d) && trap 'git worktree remove --force '$$dir'/from; rm -rf '$$dir EXIT && git worktree add -q --detach $$dir/from $(FROM) && \
	(cd $$dir/from && CGO_ENABLED=0 go build -o $$dir/ledgerhook ./cmd/ledgerhook) && bin/faults -only upgrade -from $$dir/ledgerhook

fairness: bin/faults ## What partners that never answer do to one that does, and what a long outage costs.
	@exec bin/faults -fairness

scale: bin/scale ## What is lost and doubled when a large installation loses a part of its stores, in a table.
	@exec bin/scale

bin/scale:
	go build -o $@ ./bench/scale

bin/faults: # not "go run", which passes no signal on
	go build -o $@ ./bench/faults

bench: bin/bench ## How fast it is and what each delivery costs, beside the limits of this machine, in tables.
	@exec bin/bench

bin/bench:
	go build -o $@ ./bench/load

screens: ## The pictures of the documentation, in docs/screens.
	CGO_ENABLED=0 .ci/with-servers go test -count=1 -run TestEveryPage ./app/browsertest -screens ../../docs/screens

bench-pages: ## How long each page takes with 1,000,000 deliveries, beside an almost empty ledger, in a table.
	CGO_ENABLED=0 .ci/with-servers go test -count=1 -v -timeout 60m ./bench/pages -deliveries 1000000 -times

# "go list -export" compiles everything as "go build" does, and links none of the programs: the tests link what they run.
lint: ## What a reviewer need not look for.
	@unformatted=$$(gofmt -l .) && [ -z "$$unformatted" ] || { echo "run make fmt:" $$unformatted; exit 1; }
	go mod tidy -diff
	CGO_ENABLED=0 go list -export ./... >/dev/null
	CGO_ENABLED=0 go vet ./...
	CGO_ENABLED=0 go tool staticcheck ./...
	.ci/vulnerabilities

fmt: ## Format every Go file.
	gofmt -w .
