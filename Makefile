# What each target needs is installed first (scripts/prepare.sh). Node is the one of node_modules, never the system's.
SHELL := /bin/bash
machine := $(if $(filter aarch64,$(shell uname -m)),arm64,x64)
export PATH := $(CURDIR)/node_modules/node-linux-$(machine)/bin:$(CURDIR)/node_modules/.bin:$(PATH)
reports := .cache/reports
# 1: `make check` has just passed on the same files, and left its report.
CHECKED ?=
# What hosts have: the commit that was released last.
FROM ?= 537693254451a8d949901a5e1b1ca2dd22a47947

.DEFAULT_GOAL := help
.PHONY: help demo test test-long test-upgrade test-conformance check build packages client image chart repository publish bench soak fuzz clean

help:
	@echo "make demo    show the main job with real programs (CHECK=1: end after the last step)"
	@echo "make test    check, build, then the stories with the built executable"
	@echo "make test-long   the same with every repetition in full, fuzzing and an hour of sessions, into bench/LONG.md [STEP=tests, upgrade, conformance, fuzz or soak]"
	@echo "make test-upgrade   packages of the last release become today's, and back, under load [FROM=commit or tag]"
	@echo "make test-conformance   Kubernetes' own specs, directly at an API server and through us: the same ones pass"
	@echo "make check   types, formatting, lint, unused code, layers, unit tests; under a minute"
	@echo "make build   dist/platform, with links tsh and tctl"
	@echo "make packages    deb and rpm of both packages, and the client, into dist/packages [VERSION=1.1.0] [ARCH=x64|arm64] [FAST=1: larger, in a minute]"
	@echo "make client      tsh and tctl for systems with Node.js, as npm takes it, into dist/packages [VERSION=1.1.0]"
	@echo "make image       the agent's container image for Kubernetes, signed, into dist/packages [KEY=pem-file] [VERSION=1.1.0] [ARCH=x64]"
	@echo "make chart       the chart platform-kube-agent into dist/packages [VERSION=1.1.0]"
	@echo "make repository  adds them to signed repositories for apt, yum, helm and containers: KEY=secret-key-file [PASSPHRASE_FILE=file] [PACKAGES=dist/packages] [OUT=dist/repository]"
	@echo "make publish     copies the repositories to where they are served from: TO=host:/folder [OUT=dist/repository]"
	@echo "make bench   measurements beside their peers, into bench/RESULTS.md"
	@echo "make fuzz    every decoder, 100,000 runs each, or what five minutes allow"

demo: build
	@scripts/prepare.sh demo
	@scripts/demo.sh

# The closing line counts check's unit tests and the stories; its own status is that of the whole.
test:
	@scripts/prepare.sh test
	@mkdir -p $(reports); rm -f $(reports)/stories.json; [ "$(CHECKED)" = 1 ] || rm -f $(reports)/unit.json
	@checked=0; [ "$(CHECKED)" = 1 ] || node scripts/check.ts || checked=1; \
	built=0; node scripts/build.ts || built=1; \
	if [ $$built = 0 ]; then STORIES_REPORT=$(reports)/stories.json NODE_COMPILE_CACHE=$(CURDIR)/.cache/modules vitest run --project slow --project 'stories*' || true; fi; \
	node scripts/test-summary.ts $(reports)/unit.json $(reports)/stories.json && [ $$checked = 0 ]

# What a release needs: some three hours.
test-long:
	@scripts/prepare.sh test
	@node scripts/test-long.ts $(STEP)

test-upgrade: build
	@scripts/prepare.sh test
	@TEST_FROM="$(FROM)" vitest run --project stories --reporter verbose test/stories/agents-from-release.test.ts test/stories/control-from-release.test.ts

# The specs are compiled once on a machine.
test-conformance: build
	@scripts/prepare.sh test
	@scripts/kubernetes.sh build conformance
	@TEST_LONG=1 vitest run --project stories-alone --reporter verbose test/stories/kubernetes-conformance.test.ts

# Its properties are tried with a quarter of the inputs of `make test`.
check:
	@scripts/prepare.sh check
	@FUZZ_RUNS=25 node scripts/check.ts

build:
	@scripts/prepare.sh build
	@node scripts/build.ts

packages:
	@scripts/prepare.sh packages
	@node scripts/package.ts $(if $(VERSION),--version "$(VERSION)") $(if $(ARCH),--arch "$(ARCH)") $(if $(FAST),--fast)
	@node scripts/client.ts $(if $(VERSION),--version "$(VERSION)")

client:
	@scripts/prepare.sh client
	@node scripts/client.ts $(if $(VERSION),--version "$(VERSION)")

image:
	@scripts/prepare.sh image
	@node scripts/image.ts $(if $(VERSION),--version "$(VERSION)") $(if $(ARCH),--arch "$(ARCH)") $(if $(KEY),--key "$(KEY)") \
		$(if $(PASSPHRASE_FILE),--passphrase-file "$(PASSPHRASE_FILE)")

chart:
	@scripts/prepare.sh chart
	@node scripts/chart.ts $(if $(VERSION),--version "$(VERSION)")

repository:
	@scripts/prepare.sh repository
	@node scripts/repository.ts --key "$(or $(KEY),$(error KEY=FILE says which file has the secret key; docs/packages.md))" \
		$(if $(PASSPHRASE_FILE),--passphrase-file "$(PASSPHRASE_FILE)") \
		--packages "$(or $(PACKAGES),dist/packages)" --out "$(or $(OUT),dist/repository)"

publish:
	@scripts/prepare.sh publish
	@node scripts/publish.ts --out "$(or $(OUT),dist/repository)" "$(or $(TO),$(error TO=HOST:/FOLDER says where the repository is served from; docs/packages.md))"

bench: build
	@scripts/prepare.sh bench
	@node bench/bench.ts

soak: build
	@scripts/prepare.sh bench
	@node bench/run-soak.ts

fuzz:
	@scripts/prepare.sh check
	@FUZZ_RUNS=100000 vitest run --project unit --project slow --testTimeout=3600000 --sequence.shuffle.tests $$(grep -rl fast-check --include=*.test.ts agent cli control core scripts updater web)

clean:
	@rm -rf dist .cache
