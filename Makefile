# make            build the program: .build/authctl
# make demo       walk through authctl against a small local API
# make test       run all tests
# make test-kill  send SIGKILL during a renewal 1000 times and report what is lost (ROUNDS=N)
# make test-faults  make every system call fail once, with strace (FAULTS='--only get')
# make test-guards  take away one guard at a time: a test must notice (GUARDS='--only no-fsync')
# make test-chaos  kill, stop and lock the keyring under 50 processes (TIME=600 CHAOS='--seed 7')
# make test-waves  10 000 requests at expired tokens, a hundred at a time (WAVES='--store file')
# make test-asan  run the tests of the program with AddressSanitizer; test-tsan: ThreadSanitizer
# make test-valgrind  look for leaks that grow with requests, documents and sessions
# make fuzz       run the fuzzers for TIME seconds each (TARGET='json url' JOBS=2)
# make bench      compare authctl with curl and others: Tests/Benchmarks/RESULTS.md
# make test-keyrings  test with the real KWallet and KeePassXC on a virtual screen
# make test-oauth try sign-ins at real authorization servers, from PyPI, with a real browser
# make lint       run swift-format and check the rules of CONTRIBUTING.md and of the layers
# make docs       generate man/*.1 from the program's help; a test fails when they differ
# make order      generate packaging/functions.txt, from what usual commands run
# make recording  generate docs/session.svg from the first commands in README.md
# make install    install into PREFIX (/usr/local) below DESTDIR; make uninstall removes it
# make deb        build .build/dist/authctl_VERSION-1_ARCH.deb
# make dist       build the package, archives of program and source, SBOM and SHA256SUMS
# make test-fresh run the package, make demo and make test in a new Debian 12; needs root
#
# demo, the tests, deb and dist install missing Debian packages; the other targets do not.

PREFIX ?= /usr/local
DESTDIR ?=
# Where zsh looks for functions, below share. Debian packages use zsh/vendor-completions.
ZSH_FUNCTIONS ?= zsh/site-functions
# The program to install.
AUTHCTL ?= .build/authctl

# Headers of libcurl, libcrypto, libsecret and libjq; git and certificates to fetch the Swift packages.
BUILD_PACKAGES := libcurl4-openssl-dev libssl-dev libsecret-1-dev libjq-dev git ca-certificates
# Libraries that authctl opens at run time, and a keyring on a bus to store secrets in.
DEMO_PACKAGES := $(BUILD_PACKAGES) libsecret-1-0 libjq1 gnome-keyring dbus-daemon libglib2.0-bin
# secret-tool, curl, qrencode, mandoc, man and python3, against which the tests check authctl; the
# shells of completions/; ip to simulate another machine on the network; strace to make system calls
# fail; valgrind to find leaks.
TEST_PACKAGES := $(DEMO_PACKAGES) libsecret-tools curl libqrencode4 qrencode mandoc man-db bash zsh \
  fish openssl python3 iproute2 strace valgrind

# Other Secret Services, a virtual screen, and xdotool to type on it. KWallet needs the plugins to
# encrypt what it sends.
KEYRING_PACKAGES := $(TEST_PACKAGES) keepassxc libkf5wallet-bin libqca-qt5-2-plugins xvfb xdotool

# A browser for the pages of authorization servers, and what their Python environment needs.
OAUTH_PACKAGES := $(BUILD_PACKAGES) chromium chromium-driver python3 python3-venv openssl

# Links the Swift runtime statically and exports no symbols to libraries opened later, which saves
# 1 ms per start. libc, and libcurl, libcrypto, libsecret, libjq and libqrencode, which authctl opens
# on demand, stay dynamic and get their security updates from the system. Debug information would be
# stripped: without it the build is an eighth shorter. The functions that usual commands run are side
# by side (`make order`): 4 MiB less memory, and 3 % less time.
UNSTRIPPED := -c release --product authctl --static-swift-stdlib --disable-local-rpath \
  -debug-info-format none -Xswiftc -Xfrontend -Xswiftc -function-sections -Xswiftc -use-ld=lld \
  -Xlinker --no-export-dynamic -Xlinker --no-warn-symbol-ordering \
  -Xlinker "--symbol-ordering-file=$(CURDIR)/packaging/functions.txt"
RELEASE := $(UNSTRIPPED) -Xlinker -s

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -ec
MAKEFLAGS += --no-print-directory
export GIT_TERMINAL_PROMPT := 0

# SwiftPM writes to its home folder: provide one if HOME is missing or read-only.
ifneq ($(shell test -n "$$HOME" -a -w "$$HOME" && echo yes),yes)
  export HOME := $(CURDIR)/.build/home
  $(shell mkdir -p "$$PWD/.build/home")
endif

.DEFAULT_GOAL := build
.PHONY: build demo test test-kill test-faults fuzz test-guards test-chaos test-waves tried test-asan \
  test-tsan test-valgrind test-keyrings test-oauth test-fresh bench order lint docs recording \
  install uninstall deb dist clean swift

# The static Swift runtime needs libstdc++, which SwiftPM has no option to link statically. Its
# linker searches the build folder first: with the archive there, no libstdc++.so is needed to run.
build: export AUTHCTL_WITHOUT_FOUNDATION := 1
build: swift
	@Tests/packages.sh --check $(BUILD_PACKAGES)
	@bin=$$(swift build $(RELEASE) --show-bin-path); mkdir -p "$$bin"; \
	  archive=$$(clang -print-file-name=libstdc++.a) && [ -f "$$archive" ] && \
	  ln -sf "$$archive" "$$bin/" || echo "No libstdc++.a found: authctl will need libstdc++.so"
	swift build $(RELEASE) </dev/null
	@cp -f "$$(swift build $(RELEASE) --show-bin-path)/authctl" .build/authctl.new
	@mv -f .build/authctl.new .build/authctl
	@echo "Built .build/authctl, $$(stat -c %s .build/authctl) bytes"

demo: swift
	@Tests/packages.sh $(DEMO_PACKAGES)
	swift build --product authctl </dev/null
	swift build --product DemoAPI </dev/null
	@Tests/demo.sh "$$(swift build --show-bin-path)"

# Shows the summary and the failures; everything else is in the log. The tests use the release
# build: a debug build takes half a second to parse its options.
test: swift
	@Tests/packages.sh $(TEST_PACKAGES)
	@test -n "$$AUTHCTL_BINARY" || $(MAKE) build
	swift build --build-tests </dev/null
	@export AUTHCTL_BINARY="$${AUTHCTL_BINARY:-$(CURDIR)/.build/authctl}"; \
	  echo "swift test"; swift test --skip-build --parallel </dev/null >.build/test.log 2>&1 || { \
	  status=$$?; \
	  grep -aE -A 12 '^✘|[Ff]atal error|error:|unexpected signal' .build/test.log | \
	    grep -avE '^(◇|✔|--)' | head -n 1000; \
	  tail -n 1 .build/test.log; \
	  echo "Failed. The whole log is .build/test.log" >&2; \
	  exit $$status; }
	@tail -n 1 .build/test.log

# Prints the lines that begin with "kill:" and the failures. Takes about five minutes.
ROUNDS ?= 1000
test-kill: swift
	@Tests/packages.sh $(TEST_PACKAGES)
	swift build --build-tests </dev/null
	@AUTHCTL_KILL_ROUNDS=$(ROUNDS) swift test --skip-build --filter KillRoundsTests </dev/null \
	  2>&1 | tee .build/test-kill.log | grep -a --line-buffered -E '^(kill:|✘)|error:|with [0-9]+ test'

# These print tables, and the invariants that were broken.
TRIED := --authctl .build/authctl --demo-api "$$(swift build --show-bin-path)/DemoAPI"
test-faults test-chaos test-waves: export PYTHONDONTWRITEBYTECODE := 1
test-faults test-chaos test-waves: tried

# Takes about half an hour.
FAULTS ?=
test-faults:
	@python3 Tests/faults/run.py $(TRIED) --log .build/faults.log $(FAULTS)

# Each store has TIME seconds.
CHAOS ?=
test-chaos:
	@python3 Tests/chaos/run.py $(TRIED) --time $(or $(TIME),600) $(CHAOS)

# Takes about ten minutes.
WAVES ?=
test-waves:
	@python3 Tests/chaos/waves.py $(TRIED) $(WAVES)

tried: swift build
	@Tests/packages.sh $(TEST_PACKAGES)
	swift build --product DemoAPI </dev/null

# Builds a copy of the sources with the faults of Tests/guards/faults.toml in .build/guards, and
# prints which test noticed each. One that none notices fails the target. Takes about ten minutes.
GUARDS ?=
test-guards: swift
	@Tests/packages.sh $(TEST_PACKAGES)
	swift build --build-tests </dev/null
	@PYTHONDONTWRITEBYTECODE=1 python3 Tests/guards/run.py --copy .build/guards $(GUARDS)

# Each takes several times as long as `make test`. SANITIZE='--filter RefreshTests' runs a part;
# Tests/sanitizers/skip.txt has what cannot be run. A free machine is needed: tests have limits.
SANITIZE ?=
test-asan test-tsan: swift
	@Tests/packages.sh $(TEST_PACKAGES)
	swift build --build-tests </dev/null
	@Tests/sanitizers/run.sh $(@:test-%=%) $(SANITIZE)

# The logs are in .build/valgrind. Takes about five minutes.
test-valgrind: swift
	@Tests/packages.sh $(TEST_PACKAGES)
	@test -n "$$AUTHCTL_BINARY" || $(MAKE) build
	swift build --product DemoAPI </dev/null
	@PYTHONDONTWRITEBYTECODE=1 python3 Tests/sanitizers/leaks.py --logs .build/valgrind \
	  --authctl "$${AUTHCTL_BINARY:-.build/authctl}" --demo-api "$$(swift build --show-bin-path)/DemoAPI"

# Prints a table. The inputs that were found are in .build/fuzz/found: put each into a unit test, and
# fix what it shows. To run one: FUZZ_TARGET=json .build/fuzz/fuzz FILE
# Linked by lld, as gold ends with an internal error at the debug information.
TARGET ?=
FUZZ := swift build --scratch-path .build/fuzz -c release --product fuzz \
  -Xswiftc -enable-testing -Xswiftc -sanitize=fuzzer,address -Xcc -fsanitize=fuzzer-no-link,address \
  -Xswiftc -use-ld=lld
fuzz: swift
	@Tests/packages.sh --check $(BUILD_PACKAGES)
	AUTHCTL_FUZZ=1 $(FUZZ) </dev/null
	@ln -sf "$$(AUTHCTL_FUZZ=1 $(FUZZ) --show-bin-path)/fuzz" .build/fuzz/fuzz
	@Tests/Fuzz/run.sh .build/fuzz $(or $(TIME),300) $(TARGET)

# Ratios of one run; they mean little on a busy machine. Takes about ten minutes; without root it
# leaves out https and the distances. BENCH has groups and options for a run that is not written to
# RESULTS.md: BENCH='--quick get_http', BENCH=--help.
BENCH_PACKAGES := $(TEST_PACKAGES) time httpie gh oidc-agent-cli nginx-light gcc \
  libc6-dev pkg-config
BENCH ?=
bench: build
	@Tests/packages.sh $(BENCH_PACKAGES)
	@PYTHONDONTWRITEBYTECODE=1 python3 Tests/Benchmarks/bench.py .build/authctl \
	  $(or $(BENCH),--build --write Tests/Benchmarks/RESULTS.md)

# A function that is missing in the list costs a little memory, one that no longer exists nothing.
order: export AUTHCTL_WITHOUT_FOUNDATION := 1
order: build
	@Tests/packages.sh $(BENCH_PACKAGES)
	swift build $(UNSTRIPPED) </dev/null
	@PYTHONDONTWRITEBYTECODE=1 python3 Tests/Benchmarks/order.py \
	  "$$(swift build $(UNSTRIPPED) --show-bin-path)/authctl" packaging/functions.txt

test-keyrings: swift
	@Tests/packages.sh $(KEYRING_PACKAGES)
	swift build --build-tests </dev/null
	@AUTHCTL_KEYRINGS=1 swift test --skip-build --filter KeyringProgramsTests </dev/null

# The servers are in .build/oauth-servers, with what was sent and shown in its folder run. SERVERS
# names some of them; CASE is a part of the name of a case. A server that cannot be installed or
# started fails the target. Takes about ten minutes.
OAUTH := .build/oauth-servers
test-oauth: swift
	@Tests/packages.sh $(OAUTH_PACKAGES)
	@test -n "$$AUTHCTL_BINARY" || $(MAKE) build
	@test -x $(OAUTH)/venv/bin/pip || python3 -m venv $(OAUTH)/venv
	@$(OAUTH)/venv/bin/pip install --quiet --disable-pip-version-check \
	  --requirement Tests/oauth/requirements.txt
	@$(OAUTH)/venv/bin/python Tests/oauth/run.py "$${AUTHCTL_BINARY:-.build/authctl}" $(OAUTH)/run \
	  $(SERVERS) --case "$(CASE)" | tee .build/test-oauth.log

lint: swift
	swift format lint --strict --recursive --parallel Package.swift Plugins Sources Tests
	@Tests/lint.sh
	swift build </dev/null
	@Tests/floors.sh

docs: swift
	swift build --product authctl </dev/null
	@rm -f man/*.1
	man/pages.sh "$$(swift build --show-bin-path)/authctl" man

recording: swift
	@Tests/packages.sh $(TEST_PACKAGES)
	swift build --build-tests </dev/null
	AUTHCTL_WRITE_RECORDING=1 swift test --skip-build --filter RecordingTests </dev/null

SHARE = $(DESTDIR)$(PREFIX)/share
HELPERS := git docker bazel

install:
	@test -x "$(AUTHCTL)" || { echo "$(AUTHCTL) does not exist yet: run make first" >&2; exit 1; }
	install -d "$(DESTDIR)$(PREFIX)/bin" "$(SHARE)"/man/man{1,5} "$(SHARE)/$(ZSH_FUNCTIONS)" \
	  "$(SHARE)/bash-completion/completions" "$(SHARE)/fish/vendor_completions.d"
	install -m 755 "$(AUTHCTL)" "$(DESTDIR)$(PREFIX)/bin/authctl"
	install -m 644 man/*.1 "$(SHARE)/man/man1/"
	install -m 644 man/*.5 "$(SHARE)/man/man5/"
	for program in $(HELPERS); do \
	  ln -sf authctl "$(DESTDIR)$(PREFIX)/bin/$$program-credential-authctl"; \
	  ln -sf "authctl-helper-$$program.1" "$(SHARE)/man/man1/$$program-credential-authctl.1"; done
	install -m 644 completions/authctl.bash "$(SHARE)/bash-completion/completions/authctl"
	install -m 644 completions/_authctl "$(SHARE)/$(ZSH_FUNCTIONS)/_authctl"
	install -m 644 completions/authctl.fish "$(SHARE)/fish/vendor_completions.d/authctl.fish"

uninstall:
	for program in $(HELPERS); do rm -f "$(SHARE)/man/man1/$$program-credential-authctl.1" \
	  "$(DESTDIR)$(PREFIX)/bin/$$program-credential-authctl"; done
	rm -f "$(DESTDIR)$(PREFIX)/bin/authctl" \
	  $(addprefix "$(SHARE)"/man/man1/,$(notdir $(wildcard man/*.1))) \
	  $(addprefix "$(SHARE)"/man/man5/,$(notdir $(wildcard man/*.5))) \
	  "$(SHARE)/bash-completion/completions/authctl" \
	  "$(SHARE)/$(ZSH_FUNCTIONS)/_authctl" \
	  "$(SHARE)/fish/vendor_completions.d/authctl.fish"

deb: build
	@Tests/packages.sh dpkg-dev
	@packaging/deb.sh

dist: deb
	@packaging/dist.sh

test-fresh: deb
	@Tests/fresh.sh

clean:
	rm -rf .build

swift:
	@command -v swift >/dev/null || { \
	  echo "swift is not on the PATH. authctl requires Swift 6.3: https://www.swift.org/install" >&2; \
	  exit 1; }
