# The verbs of the project. CI calls the same ones.
# Paths are no part of a build, so that every clone shares the build cache, as in .ci.
export GOFLAGS := $(strip $(filter-out -trimpath,$(GOFLAGS)) -trimpath)

.PHONY: build check test race flaky fuzz bench golden mutants release

build:
	go build -o bin/dx ./cmd/dx

# Binaries of six systems, packages and the files of the image, with checksums, in dist/.
release:
	.ci/release all

test:
	go test ./...

# The race detector, with BASE on what differs from that commit alone (.ci/race-packages).
# RACEFLAGS=-short leaves out what starts processes or members of a cluster, which judge each other by time,
# and what repeats the same many times.
race:
	packages=$$(.ci/race-packages) && { test -z "$$packages" || go test -race -vet=off -timeout 30m $(RACEFLAGS) $$packages; }

# The tests N times at 1, 2 and 4 processors, each time in a new order, whose seed a failure prints:
# make flaky N=20, make flaky PACKAGES="./client ./lanes/ws".
N ?= 1
PACKAGES ?= ./...
flaky:
	for _ in $$(seq $(N)); do go test -cpu 1,2,4 -shuffle on -timeout 1h $(PACKAGES) || exit; done

check:
	test -z "$$(gofmt -l $$(git ls-files '*.go'))"
	go vet ./...
	go tool staticcheck ./...

# Each fuzz target for a while, or for so many inputs: make fuzz FUZZTIME=1m, =1000x. Now
# and then Go tells the end of the time itself as a failure (golang/go#75804): "context
# deadline exceeded", and no input beside it. A count has no such end; what is in the
# corpus and in the cache counts too.
FUZZTIME ?= 10s
fuzz:
	for p in $$(grep -rl --include=*_test.go '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
	  for f in $$(grep -h -o '^func Fuzz[A-Za-z]*' $$p/*_test.go | cut -d' ' -f2); do \
	    go test $$p -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 2s || exit 1; \
	  done; \
	done

bench:
	go test -run '^$$' -bench . -benchmem ./core/... ./schemas/...

# Do the core's tests notice? Every small change to it, tried on them: 10 minutes. A
# minute's worth: make mutants MUTANTS="-n 60"; what may be broken off: MUTANTS="-log FILE".
mutants:
	cd .ci/mutants && go run . $(MUTANTS)

golden:
	go test ./lanes/... ./schemas/... ./core/... -update
