# fettle: what a developer types.
#
#   make            build ./fettle, ./fettle-lab, ./fettle-hub, ./fettle-agent and ./fettle-mcp
#   make test       install what the tests need (Debian), then run them all
#   make lab-long   every proof on throwaway machines, the long ones too
#   make park       builds hosts of Debian and Ubuntu once, and checks fettle on them (root)
#   make lab-smq-old  kernels with dm-cache's smq before and after 2017, and the lab on them
#   make lab-zfs    builds OpenZFS, of the release and the newest, and the lab on it
#   make mutate     puts known mistakes into copies of the source: do the tests notice?
#   make bench      the figures of BENCHMARKS.md
#   make man        man pages and completions into out/
#   make lint       vet, gofmt, staticcheck
#   make dist       static binaries for amd64 and arm64 into dist/
#   make packages   .deb and .rpm of both programs, for amd64 and arm64, into dist/
#   make release KEY=FILE  packages and binaries with checksums signed by an SSH key

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
# What is linked differs from go run; what is compiled does not, so that nothing
# is compiled twice. Functions begin at any byte: the gaps are 1.5 % of fettle,
# and check is as fast without.
LDFLAGS := -s -w -funcalign=1 -X fettle/internal/build.version=$(VERSION)
# How long make test tries odd input on each fuzz target; empty: their seeds alone.
FETTLE_FUZZ ?= 1s

.PHONY: build test test-deps mutate park lab-long lab-smq-old lab-zfs bench man lint dist packages release clean

build:
	CGO_ENABLED=0 $(GO) build -ldflags '$(LDFLAGS)' -o . ./cmd/fettle ./cmd/fettle-lab ./cmd/fettle-hub ./cmd/fettle-agent ./cmd/fettle-mcp

# The race detector needs cgo and a C compiler; fettle itself is built without.
# It sleeps a second at each exit unless told not to, and the tests start
# thousands of processes. Each fuzz target gets a moment of its own, too.
test: test-deps
	FETTLE_FUZZ=$(FETTLE_FUZZ) GORACE=atexit_sleep_ms=0 CGO_ENABLED=1 $(GO) test -race -timeout 20m ./...

test-deps:
	@.ci/deps

lab-long: build
	@.ci/deps long
	./fettle lab --all --long
	$(GO) run ./internal/mutate
	FETTLE_LONG=1 $(GO) test -count 1 -timeout 60m ./tools/measure/login/... ./tools/keypath
	FETTLE_LONG=1 $(GO) test -count 1 -timeout 1h -run "TestBoot|TestConsole" ./cli/netboot
	FETTLE_LONG=1 $(GO) test -count 1 -timeout 2h -run TestInstalledSystem ./traps/netbootserial/proof
	FETTLE_LONG=1 $(GO) test -count 1 -timeout 20m ./fleet/hub ./fleet/hub/emulate ./fleet/agent/...
	FETTLE_LONG=1 $(GO) test -count 1 -run TestAsKernelSMQ ./tools/measure/blockcache/cachesim
	FETTLE_LONG=1 $(GO) test -count 1 -timeout 2h -run "TestSlowProgram|TestLongScripts" ./tools/bisect ./cli/proving
	FETTLE_LONG=1 $(GO) test -count 1 -timeout 30m ./fleet/hub/web
	FETTLE_LONG=1 $(GO) test -count 1 -run AllTraps ./host/capture
	.ci/fuzz 2m
	rm -rf dist && $(MAKE) packages
	FETTLE_LONG=1 $(GO) test -count 1 -timeout 60m ./packaging
	$(MAKE) park

# Hosts made by a distribution and its packages; their images are kept in the
# user's cache folder. Its table is out/park.md.
park: build
	@.ci/deps long
	@mkdir -p out
	FETTLE_LONG=1 $(GO) test -count 1 -timeout 120m -v ./lab/park -fettle $(CURDIR)/fettle -table $(CURDIR)/out/park.md

# One machine at a time: their figures are to be compared.
lab-smq-old: build test-deps
	lab/kernels/smq-old/build
	./fettle lab dm-cache-smq/old --jobs 1
	FETTLE_LONG=1 $(GO) test -count 1 -timeout 2h -v -run TestLongScripts/bisect-smq-kernel ./cli/proving

# One machine at a time, here too.
lab-zfs: build
	lab/kernels/zfs/build
	./fettle lab zfs-write-distribution --jobs 1

# Each patch in a folder testdata/mutations is a mistake that tests must notice.
mutate:
	$(GO) run ./internal/mutate

bench: build
	$(GO) test -run '^$$' -bench . -benchmem ./...

man: build
	for p in fettle fettle-lab fettle-hub fettle-agent fettle-mcp; do ./$$p man out/man || exit 1; done
	for p in fettle fettle-lab fettle-hub fettle-agent fettle-mcp; do for s in bash zsh fish; do mkdir -p out/completion && ./$$p completion $$s > out/completion/$$p.$$s; done; done

lint:
	$(GO) vet ./...
	@test -z "$$(gofmt -l .)" || { echo "gofmt these:"; gofmt -l .; exit 1; }
	GOOS=darwin $(GO) vet ./cmd/... ./cli/... && GOARCH=arm64 $(GO) vet ./...
	$(GO) tool staticcheck ./...

dist:
	for a in amd64 arm64; do \
	  for p in fettle fettle-lab fettle-hub fettle-agent fettle-mcp; do \
	    CGO_ENABLED=0 GOOS=linux GOARCH=$$a $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o dist/$$p-linux-$$a ./cmd/$$p || exit 1; \
	  done; \
	done

packages: man dist
	GO='$(GO)' VERSION='$(VERSION)' packaging/build

# To verify: ssh-keygen -Y verify -f ALLOWED_SIGNERS -I fettle -n fettle-release -s SHA256SUMS.sig < SHA256SUMS
release: packages
	@test -n '$(KEY)' || { echo "make release KEY=FILE: which SSH key signs?" >&2; exit 2; }
	cd dist && sha256sum fettle* > SHA256SUMS
	rm -f dist/SHA256SUMS.sig
	ssh-keygen -Y sign -f '$(KEY)' -n fettle-release dist/SHA256SUMS

clean:
	rm -rf fettle fettle-lab fettle-hub fettle-agent fettle-mcp dist out
