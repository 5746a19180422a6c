# fettle: what a developer types.
#
#   make            build ./fettle, ./fettle-lab, ./fettle-hub, ./fettle-agent and ./fettle-mcp
#   make test       install what the tests need (Debian), then run them all
#   make test-fast  those that boot no machine and wait for nothing long
#   make rota       the proofs on throwaway machines that have waited longest, and their record
#   make lab-long   every proof, the long ones too
#   make park       builds hosts of Debian and Ubuntu once, and checks, restarts and upgrades them (root)
#   make lab-smq-old  kernels with dm-cache's smq before and after 2017, and the lab on them
#   make lab-zfs    builds OpenZFS, of the release and the newest, and the lab on it
#   make mutate     puts known mistakes into copies of the source: do the tests notice?
#   make lists      what is generated from the traps: rules.book, docs/traps.md, words that redaction leaves
#   make refresh    confirms tables that age (ends of life, fixed versions) by apt and from endoflife.date
#   make figures    the first figures of BENCHMARKS.md, of whole processes on this machine
#   make bench      its figures of single parts
#   make man        man pages and completions into out/
#   make lint       vet, gofmt, staticcheck
#   make dist       static binaries for amd64 and arm64 into dist/
#   make packages   .deb and .rpm of both programs, for amd64 and arm64, into dist/
#   make release KEY=FILE  packages, binaries and bills of materials, checksums signed by an SSH key
#   packaging/rehearse  make release with a throwaway key, twice, compared and verified

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null)
# What build, man, dist, packages and release make; fewer for a trial.
PROGRAMS ?= fettle fettle-lab fettle-hub fettle-agent fettle-mcp
ARCHES   ?= amd64 arm64
# What is linked differs from go run; what is compiled does not, so that nothing
# is compiled twice. Functions begin at any byte: the gaps are 1.5 % of fettle,
# and check is as fast without.
LDFLAGS := -s -w -funcalign=1 -X fettle/internal/build.version=$(VERSION)
# How long make test tries odd input on each fuzz target; empty: their seeds alone.
FETTLE_FUZZ ?= 1s

.PHONY: build lists test test-vet test-traps test-raced test-plain test-fast test-deps mutate park rota lab-long lab-smq-old lab-zfs refresh figures bench man lint dist packages release clean

build:
	CGO_ENABLED=0 $(GO) build -ldflags '$(LDFLAGS)' -o . $(PROGRAMS:%=./cmd/%)

# The packages whose goroutines share what they hold: their tests run under the race
# detector, which makes all else up to ten times slower. It needs cgo and a C compiler;
# fettle itself is built without. It sleeps a second at each exit unless told not to, and the
# tests start thousands of processes. Each fuzz target gets a moment of its own, too. Those
# that wait longest begin, and what measures time is last, when there is least beside it.
RACED = ./fleet/ssh ./fleet/hub ./host ./assistant/... ./cli/app ./cli/fix ./cli/hub ./cli/serialname ./engine/remedy/machine \
	./engine/run ./engine/trap ./fleet/... ./host/confine ./internal/ssh ./report/notify ./tools/watch ./tools/netboot/httpd \
	./tools/measure/disks ./tools/measure/ksm ./tools/measure/login/...
# The packages of the first line start no goroutine, and hold nothing for several. Of the others here these tests
# alone share what they hold between goroutines: the packages run whole without the detector, too.
UNRACED = ./fleet/hub/store/... ./fleet/hub/message ./fleet/hub/notify ./fleet/hub/synthetic ./fleet/agent/spool $(PARTLY)
PARTLY = ./fleet/hub/web ./engine/rule ./tools/bisect ./tools/measure/blockcache ./tools/measure/blockcache/cachesim
RACED_PAGE = TestLive|TestHealth|TestHealthOfWhoHangsUp|TestMetrics|TestServeEnds|TestPageBesideAFlood|TestFeed
RACED_RULES = TestCache|TestClosedFolder|TestLoad|TestTrust|TestThawWhole|TestUnitsTogether
RACED_TOOLS = TestCarried|TestLooksOn|TestAbort|TestTwoAtOnce|TestSweepIsTheSameOnManyCores
RACED_PACKAGES = $$($(GO) list $(RACED) | grep -vxF "$$($(GO) list $(UNRACED))")
# The database's C code and its C library, translated, have no goroutines: instrumented, they are most
# of what the hub's tests cost. No package may be here that makes functions of sync's generic ones: the
# linker takes them for those of all.
uninstrumented = '-gcflags=modernc.org/$(1)=-dwarf=false -c=1 -race=false'
RACE = -race $(call uninstrumented,sqlite/lib) $(call uninstrumented,libc) $(call uninstrumented,memory)
# What is large and no test spends its time in is compiled without inlining: in three quarters of the time.
OTHERS = cel.dev codeberg.org github.com/antlr4-go github.com/jackc github.com/miekg github.com/modelcontextprotocol \
	github.com/nats-io github.com/vishvananda golang.org/x/tools gonum.org google.golang.org
# Nobody looks at these tests with a debugger: without its tables less is compiled, and 200
# programs are linked in half the time. Without paths of this checkout, the copies that tests
# make of it are compiled from the same cache. Several packages are compiled at once, each by one
# thread (-c): more are in each other's way. All is vetted once, before, not by each go test.
TEST_FLAGS = -timeout 20m -vet=off '-ldflags=-s -w'
test%: export GOFLAGS := $(GOFLAGS) -trimpath '-gcflags=all=-dwarf=false -c=1' $(OTHERS:%='-gcflags=%/...=-dwarf=false -c=1 -l')
test%: export FETTLE_FUZZ := $(FETTLE_FUZZ)
test%: export GORACE = atexit_sleep_ms=0
# With an empty cache, to compile is half of the work, and a sixth of that was to collect garbage.
test%: export GOGC = 400

# All kinds at once, and of each some packages (-p): many wait for a clock or other processes. The
# proofs wait longest, and would be alone at the end; the other tests of traps and of the lab follow.
test:
	@$(MAKE) -s -j2 test-deps test-vet
	@$(MAKE) -s -k -j3 test-traps test-raced test-plain

test-vet:
	@VET=$$($(GO) tool -n vet) CGO_ENABLED=0 $(GO) vet -vettool=$(CURDIR)/.ci/vet ./...

test-raced: export CGO_ENABLED = 1
test-raced:
	@failed=0; $(GO) test $(RACE) $(TEST_FLAGS) -run '^($(RACED_PAGE)|$(RACED_RULES)|$(RACED_TOOLS))$$' $(PARTLY) || failed=1; \
	$(GO) test -p 3 $(RACE) $(TEST_FLAGS) $(RACED_PACKAGES) || failed=1; \
	exit $$failed

# The traps, what recognises them, and the lab that proves them.
TRAPS = ./traps/... ./why/... ./lab/...
test-traps: export CGO_ENABLED = 0
test-traps:
	@failed=0; $(GO) test $(TEST_FLAGS) ./traps/proofs || failed=1; \
	$(GO) test -p 2 $(TEST_FLAGS) $$($(GO) list $(TRAPS) | grep -vxF fettle/traps/proofs) || failed=1; \
	exit $$failed

test-plain: export CGO_ENABLED = 0
test-plain:
	@$(GO) test -p 2 $(TEST_FLAGS) $$($(GO) list ./... | grep -vxF -e "$$($(GO) list $(TRAPS))" -e "$(RACED_PACKAGES)")

# For the time between two edits: what boots no machine and waits for nothing long.
test-fast:
	CGO_ENABLED=0 FETTLE_FUZZ= $(GO) test -short -p 4 $(TEST_FLAGS) ./...

# Without the quicker kernel the tests' machines run on the distribution's.
test-deps:
	@.ci/deps
	@lab/kernels/uml/build || true

# Ten times this, and every proof and every long story has been played.
rota: build
	@.ci/deps long
	./fettle lab --all --long --record docs/proofs.md --oldest 22
	FETTLE_ROTA=1 $(GO) test -count 1 -timeout 1h -run TestLongStories ./cli/stories

lab-long: build
	@.ci/deps long
	./fettle lab --all --long --record docs/proofs.md
	$(GO) run ./internal/mutate
	FETTLE_LONG=1 $(GO) test -count 1 -timeout 60m ./tools/measure/login/... ./tools/keypath
	FETTLE_LONG=1 $(GO) test -count 1 -timeout 1h -run "TestBoot|TestConsole" ./cli/netboot
	FETTLE_LONG=1 $(GO) test -count 1 -timeout 1h -run TestTasks ./tools/netboot/hooks
	FETTLE_LONG=1 $(GO) test -count 1 -timeout 2h -run "TestInstalledSystem|TestGRUB" ./traps/netbootserial/proof ./traps/bootentrybroken
	FETTLE_LONG=1 $(GO) test -count 1 -timeout 20m ./fleet/hub ./fleet/hub/emulate ./fleet/agent/...
	FETTLE_LONG=1 $(GO) test -count 1 -run TestAsKernelSMQ ./tools/measure/blockcache/cachesim
	FETTLE_LONG=1 $(GO) test -count 1 -timeout 2h -run "TestSlowProgram|TestLongScripts" ./tools/bisect ./cli/proving
	FETTLE_LONG=1 $(GO) test -count 1 -timeout 3h ./cli/stories
	FETTLE_LONG=1 $(GO) test -count 1 -timeout 30m ./fleet/hub/web
	FETTLE_LONG=1 $(GO) test -count 1 -run AllTraps ./host/capture
	.ci/fuzz 2m
	rm -rf dist && $(MAKE) packages
	FETTLE_LONG=1 $(GO) test -count 1 -timeout 60m ./packaging
	packaging/rehearse
	$(MAKE) park

# Hosts made by a distribution and its packages; their images are kept in the
# user's cache folder. Its table is out/park.md.
park: build
	@.ci/deps long
	@mkdir -p out
	FETTLE_LONG=1 $(GO) test -count 1 -timeout 8h -v ./lab/park -fettle $(CURDIR)/fettle -table $(CURDIR)/out/park.md

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

# It says what changed, what could not be had, and which rows nobody has confirmed for a year.
lists:
	$(GO) generate ./traps/rules
	FETTLE_UPDATE=1 $(GO) test -count=1 ./traps/proofs -run '^TestTable$$'
	$(GO) test -count=1 ./cli -run '^TestLogWords$$' -logwords

refresh:
	$(GO) run ./traps/rules/refresh
	$(GO) generate ./traps/rules

figures: build
	$(GO) run ./internal/figures

bench: build
	$(GO) test -run '^$$' -bench . -benchmem ./...

# Man pages and completions, by the programs $(1).
pages = mkdir -p out/completion; for p in $(PROGRAMS); do $(1) man out/man || exit 1; \
	for s in bash zsh fish; do $(1) completion $$s > out/completion/$$p.$$s || exit 1; done; done

man: build
	$(call pages,./$$p)

lint:
	$(GO) vet ./...
	@test -z "$$(gofmt -l .)" || { echo "gofmt these:"; gofmt -l .; exit 1; }
	for p in fettle fettle-lab fettle-mcp; do GOOS=darwin CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/$$p || exit 1; done
	GOARCH=arm64 $(GO) vet ./...
	$(GO) tool staticcheck ./...

# One go build for all programs: while one is linked, others are.
dist:
	for a in $(ARCHES); do \
	  CGO_ENABLED=0 GOOS=linux GOARCH=$$a $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o dist/linux-$$a/ $(PROGRAMS:%=./cmd/%) || exit 1; \
	  for p in $(PROGRAMS); do mv dist/linux-$$a/$$p dist/$$p-linux-$$a || exit 1; done; \
	  rmdir dist/linux-$$a; \
	done

# The pages are by the programs in dist/ where one of them runs here: those of make build are compiled otherwise.
HERE := $(shell $(GO) env GOHOSTARCH)
packages: dist $(if $(filter $(HERE),$(ARCHES)),,build)
	$(call pages,$(if $(filter $(HERE),$(ARCHES)),dist/$$p-linux-$(HERE),./$$p))
	GO='$(GO)' VERSION='$(VERSION)' PROGRAMS='$(PROGRAMS)' ARCHES='$(ARCHES)' packaging/build

# To verify: docs/release.md. packaging/rehearse does all this twice, with a throwaway key.
release: packages
	@test -n '$(KEY)' || { echo "make release KEY=FILE: which SSH key signs?" >&2; exit 2; }
	$(GO) build -o out/sbom ./internal/sbom
	for a in $(ARCHES); do for p in $(PROGRAMS); do out/sbom dist/$$p-linux-$$a > dist/$$p-linux-$$a.cdx.json || exit 1; done; done
	rm -f dist/SHA256SUMS dist/SHA256SUMS.sig
	cd dist && sha256sum fettle* > SHA256SUMS
	ssh-keygen -Y sign -f '$(KEY)' -n fettle-release dist/SHA256SUMS

clean:
	rm -rf fettle fettle-lab fettle-hub fettle-agent fettle-mcp dist out
