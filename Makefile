# skind: one command builds (make), one shows the main job (make demo), one passes every test
# (make test). The last two install missing Debian packages first; what they do stands in README.md.

config ?= release
VERSION := 0.1.0
build := build/$(config)

ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif
PREFIX ?= /usr/local
DESTDIR ?=
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)

BUILD_PACKAGES := gcc g++ libc6-dev libmicrohttpd-dev libgnutls28-dev zlib1g-dev libjansson-dev curl ca-certificates
TEST_PACKAGES := libcmocka-dev libgmp-dev clang-format clang-tidy cppcheck python3 jq openssl
BENCH_PACKAGES := wrk jq perl python3
FUZZ_PACKAGES := clang libclang-rt-dev
VALGRIND_PACKAGES := valgrind libcmocka-dev libgmp-dev python3 jq

warnings := -Wall -Wextra -Wpedantic -Werror
common := -g -fPIC -fno-math-errno -ffp-contract=off -fvisibility=hidden -pthread -I. \
	-DSKIND_VERSION='"$(VERSION)"' $(warnings)
flags_release := -O3 -fstack-protector-strong -D_FORTIFY_SOURCE=2
flags_debug := -O0 -D_GLIBCXX_ASSERTIONS
flags_asan := -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
flags_tsan := -O1 -fno-omit-frame-pointer -fsanitize=thread
flags_fuzz := -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all \
	-fsanitize=fuzzer-no-link
flags := $(common) $(flags_$(config))
ifeq ($(flags_$(config)),)
$(error config is one of release, debug, asan, tsan, fuzz)
endif

CFLAGS_ALL = -std=c17 $(flags) $(CFLAGS)
CXXFLAGS_ALL = -std=c++17 -fno-exceptions -fno-rtti $(flags) $(CXXFLAGS)
LDFLAGS_ALL = $(flags) -Wl,-z,relro,-z,now $(LDFLAGS)
API_LIBS := -ljansson
# charconv lives in libstdc++; linked in so that the daemon needs no C++ runtime beside it
CXX_RUNTIME := $(if $(filter asan tsan fuzz,$(config)),-lstdc++,-Wl,-Bstatic -lstdc++ -Wl,-Bdynamic) -lm
SERVER_LIBS := -lmicrohttpd -lgnutls -lz

lib_src := $(wildcard lib/*.c lib/kernels/*.c)
api_src := $(wildcard api/*.c)
server_src := $(wildcard server/*.c server/handlers/*.c)
lib_obj := $(lib_src:%.c=$(build)/%.o)
api_obj := $(api_src:%.c=$(build)/%.o) $(build)/api/numbers.o
server_obj := $(server_src:%.c=$(build)/%.o)

.DELETE_ON_ERROR:
.PHONY: all demo run test setup-build setup-test setup-bench setup-fuzz setup-valgrind unit unit-build http format format-fix \
	lint install bench clean fuzz fuzz-build soak valgrind

all: $(build)/skind $(build)/libskin.a $(build)/libskin.so

$(build)/skind: $(server_obj) $(build)/libskinapi.a $(build)/libskin.a
	$(CC) $(LDFLAGS_ALL) -o $@ $^ $(SERVER_LIBS) $(API_LIBS) $(CXX_RUNTIME)

$(build)/libskin.a: $(lib_obj)
	rm -f $@ && $(AR) rcs $@ $^

$(build)/libskinapi.a: $(api_obj)
	rm -f $@ && $(AR) rcs $@ $^

$(build)/libskin.so: $(lib_obj)
	$(CC) $(LDFLAGS_ALL) -shared -Wl,-soname,libskin.so.0 -o $@ $^ -lm

# rewritten only when it would differ: another version, flag or compiler makes every object anew
stamp := $(build)/built-with
stamp_text := $(VERSION) $(CC) $(CFLAGS_ALL) $(CXX) $(CXXFLAGS_ALL) $(LDFLAGS_ALL) \
	$(shell $(CC) --version 2>&1 | head -n 1; $(CXX) --version 2>&1 | head -n 1)
export stamp_text

ifneq ($(file <$(stamp)),$(stamp_text))
.PHONY: $(stamp)
endif
$(stamp):
	@mkdir -p $(@D)
	@printf '%s\n' "$$stamp_text" > $@

$(build)/%.o: %.c $(stamp)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

$(build)/%.o: %.cc $(stamp)
	@mkdir -p $(@D)
	$(CXX) $(CXXFLAGS_ALL) -MMD -MP -c -o $@ $<

$(build)/api/openapi.o: api/openapi.json

-include $(shell find $(build) -name '*.d' 2>/dev/null)

# Unit tests: tests/unit/lib_*.c see libskin alone, api_*.c see the contract too, server_*.c all but main.
unit_bin := $(patsubst tests/unit/%.c,$(build)/tests/unit/%,$(wildcard tests/unit/*.c))
server_test_obj := $(filter-out $(build)/server/main.o,$(server_obj))

$(build)/tests/unit/lib_%: $(build)/tests/unit/lib_%.o $(build)/libskin.a
	$(CC) $(LDFLAGS_ALL) -o $@ $^ -lcmocka -lm

$(build)/tests/unit/lib_exact: $(build)/tests/unit/lib_exact.o $(build)/libskin.a
	$(CC) $(LDFLAGS_ALL) -o $@ $^ -lcmocka -lgmp -lm

$(build)/tests/unit/api_%: $(build)/tests/unit/api_%.o $(build)/libskinapi.a $(build)/libskin.a
	$(CC) $(LDFLAGS_ALL) -o $@ $^ -lcmocka $(API_LIBS) $(CXX_RUNTIME)

$(build)/tests/unit/server_%: $(build)/tests/unit/server_%.o $(server_test_obj) $(build)/libskinapi.a $(build)/libskin.a
	$(CC) $(LDFLAGS_ALL) -o $@ $^ -lcmocka $(SERVER_LIBS) $(API_LIBS) $(CXX_RUNTIME)

# each allocation of ours can be made to fail
$(build)/tests/unit/api_memory: LDFLAGS += -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

# the daemon, but operations wait for the test where it asks for that
stall_bin := $(build)/tests/http/skind-stall

$(stall_bin): $(build)/tests/http/stall.o $(server_obj) $(build)/libskinapi.a $(build)/libskin.a
	$(CC) $(LDFLAGS_ALL) -Wl,--wrap=api_operation_run -o $@ $^ $(SERVER_LIBS) $(API_LIBS) $(CXX_RUNTIME)

# Fuzz targets: each tests/fuzz/*.c, under libFuzzer (config=fuzz) or with a main that replays files.
fuzz_support := $(build)/tests/fuzz/support/init.o $(build)/tests/fuzz/support/reply.o
fuzz_bin := $(patsubst tests/fuzz/%.c,$(build)/tests/fuzz/%,$(wildcard tests/fuzz/*.c))
fuzz_main := $(if $(filter fuzz,$(config)),,$(build)/tests/fuzz/support/replay.o)

$(fuzz_bin): %: %.o $(fuzz_support) $(fuzz_main) $(server_test_obj) $(build)/libskinapi.a $(build)/libskin.a
	$(CC) $(LDFLAGS_ALL) $(if $(fuzz_main),,-fsanitize=fuzzer) -o $@ $^ $(SERVER_LIBS) $(API_LIBS) $(CXX_RUNTIME)

fuzz-build: $(fuzz_bin)

.SECONDARY: # keep the tests' objects

unit-build: $(unit_bin) $(stall_bin)

# ---- what a new machine lacks -------------------------------------------------------------------

# $(call ensure,PACKAGES): installs the Debian packages that are not there; silent when all are
define ensure
	@missing=; for package in $(1); do \
		dpkg-query -W -f='$${Status}' $$package 2>/dev/null | grep -q 'ok installed' || \
			missing="$$missing $$package"; \
	done; \
	if [ -n "$$missing" ]; then \
		echo "installing:$$missing"; \
		$(SUDO) apt-get update -q && \
		$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $$missing; \
	fi
endef

setup-build:
	$(call ensure,$(BUILD_PACKAGES))

setup-test:
	$(call ensure,$(BUILD_PACKAGES) $(TEST_PACKAGES))

setup-fuzz:
	$(call ensure,$(BUILD_PACKAGES) $(FUZZ_PACKAGES))

setup-valgrind:
	$(call ensure,$(BUILD_PACKAGES) $(VALGRIND_PACKAGES))

setup-bench:
	$(call ensure,$(BUILD_PACKAGES) $(BENCH_PACKAGES))

# ---- the commands of README.md ------------------------------------------------------------------

demo: setup-build
	@$(MAKE) -s -j $(shell nproc) config=$(config) all
	@tests/demo.sh $(build)/skind

run: all
	$(build)/skind $(ARGS)

test: setup-test
	@tests/run.sh

unit: unit-build
	@for test in $(unit_bin); do $$test || exit 1; done

http: all $(stall_bin)
	SKIND=$(CURDIR)/$(build)/skind tests/http/run.sh

bench: setup-bench
	@$(MAKE) -s -j $(shell nproc) config=release all build/release/tests/bench/plain_server
	tests/bench/http.sh build/release
	python3 tests/bench/batch.py build/release/skind
	python3 tests/bench/stream.py build/release/skind
	python3 tests/bench/healthz.py build/release/skind

# FUZZ_SECONDS (60) for each target; FUZZ_TARGETS names some of them
fuzz: setup-fuzz
	@$(MAKE) -s -j $(shell nproc) config=fuzz CC=clang CXX=clang++ fuzz-build
	@tests/fuzz/run.sh build/fuzz

# SOAK_MINUTES (10)
soak: setup-test
	@$(MAKE) -s -j $(shell nproc) config=release all
	@tests/soak.sh build/release/skind

valgrind: setup-valgrind
	@$(MAKE) -s -j $(shell nproc) config=release all unit-build fuzz-build
	@tests/valgrind.sh build/release

# ---- format and lint ----------------------------------------------------------------------------

c_files := $(wildcard lib/*.[ch] lib/kernels/*.[ch] api/*.[ch] server/*.[ch] server/handlers/*.[ch] \
	tests/*.h tests/unit/*.[ch] tests/http/*.[ch] tests/bench/*.[ch] tests/fuzz/*.[ch] \
	tests/fuzz/support/*.[ch])
cc_files := $(wildcard api/*.cc)
tidy_c := $(patsubst %,tidy/%,$(filter %.c,$(c_files)))
tidy_cc := $(patsubst %,tidy/%,$(cc_files))

format:
	clang-format --dry-run -Werror $(c_files) $(cc_files)

format-fix:
	clang-format -i $(c_files) $(cc_files)

.PHONY: $(tidy_c) $(tidy_cc) cppcheck layering
$(tidy_c): tidy/%: %
	clang-tidy --quiet $< -- -std=c17 -I. -DSKIND_VERSION='"$(VERSION)"' 2>/dev/null

$(tidy_cc): tidy/%: %
	clang-tidy --quiet $< -- -std=c++17 -I. 2>/dev/null

cppcheck:
	cppcheck --quiet --std=c17 --enable=warning,performance,portability --inline-suppr \
		--suppress=missingIncludeSystem --error-exitcode=1 -I. -DSKIND_VERSION='""' \
		-D__BYTE_ORDER__=1234 -D__ORDER_LITTLE_ENDIAN__=1234 lib api server tests/unit tests/http \
		tests/bench tests/fuzz

layering: $(build)/libskin.a
	tests/layering.sh $(build)

lint: $(tidy_c) $(tidy_cc) cppcheck layering

# ---- installing ---------------------------------------------------------------------------------

define skin_pc
prefix=$(PREFIX)
libdir=$${prefix}/lib
includedir=$${prefix}/include

Name: skin
Description: Bind matrices and skinning palettes
Version: $(VERSION)
Libs: -L$${libdir} -lskin
Libs.private: -lm
Cflags: -I$${includedir}
endef
export skin_pc

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/lib/pkgconfig
	install -m 755 $(build)/skind $(DESTDIR)$(PREFIX)/bin/
	install -m 644 lib/skin.h $(DESTDIR)$(PREFIX)/include/
	install -m 644 $(build)/libskin.a $(DESTDIR)$(PREFIX)/lib/
	install -m 755 $(build)/libskin.so $(DESTDIR)$(PREFIX)/lib/libskin.so.$(VERSION)
	ln -sf libskin.so.$(VERSION) $(DESTDIR)$(PREFIX)/lib/libskin.so.0
	ln -sf libskin.so.0 $(DESTDIR)$(PREFIX)/lib/libskin.so
	printf '%s\n' "$$skin_pc" > $(DESTDIR)$(PREFIX)/lib/pkgconfig/skin.pc

$(build)/tests/bench/plain_server: $(build)/tests/bench/plain_server.o $(build)/libskin.a
	$(CC) $(LDFLAGS_ALL) -o $@ $^ -lmicrohttpd -ljansson -lm

clean:
	rm -rf build
