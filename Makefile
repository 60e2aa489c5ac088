# Kiln: typed binary records and tensors for PostgreSQL.
#
#   make, make install, make installcheck     the extension, by the PGXS convention (PG_CONFIG=… picks the server)
#   make CHECKED=1                            every access plan runs with full checks; a disagreement is a PANIC
#   make UBSAN=1                              with UndefinedBehaviorSanitizer; what it reports ends the backend
#   make libkiln                              the codec alone, libkiln.a; needs no PostgreSQL
#   make clients                              the C client of clients/c, its example and benchmark; needs libpq
#   make unit, differential [SANITIZE=1]      the codec's tests, also under ASan and UBSan
#   make fuzz [FUZZ_SECONDS=30], fuzz-replay  fuzz targets, and their corpora without a fuzzer
#   make prove_installcheck                   TAP tests against the installed extension (not as root)
#   make format, clean
#   make dist                                 kiln-VERSION.zip of what is committed, as PGXN takes it
#   make deb                                  Debian packages, in build/deb, for each server version that has its headers here
#
# "make WERROR=-Werror" fails on warnings, as the tests do; what a later compiler finds stops nobody else.

KILN_VERSION = 1.1.0
WERROR =
comma := ,

CODEC_SOURCES := $(sort $(wildcard src/codec/*.c))
SERVER_SOURCES := $(sort $(wildcard src/pg/*.c))
HEADER_FILES := $(wildcard src/codec/*.h src/pg/*.h)

# ---- the extension

EXTENSION = kiln kiln_pgvector
MODULE_big = kiln
DATA = $(sort $(wildcard kiln--*.sql kiln_pgvector--*.sql))
PGFILEDESC = "kiln - typed binary records and tensors"
OBJS = $(CODEC_SOURCES:.c=.o) $(SERVER_SOURCES:.c=.o)

# The server's headers come in as system headers, so that warnings are about our code alone.
PG_CPPFLAGS = -I$(srcdir)/src/codec -I$(srcdir)/src/pg -isystem $(includedir_server) $(if $(CHECKED),-DKILN_CHECKED)
# No fused multiply-add where the CPU has it: sums come out the same everywhere.
PG_CFLAGS = -Wall -Wextra -Wno-unused-parameter -fno-semantic-interposition -ffp-contract=off $(WERROR)
PG_CFLAGS += $(if $(UBSAN),-fsanitize=undefined$(comma)alignment -fno-sanitize-recover=all)
# "make CC=clang" against a server that gcc built: some of its flags mean nothing to clang, which also warns of comparisons
# inside the server's macros. Neither is a fault of ours.
ifneq ($(findstring clang,$(CC)),)
PG_CFLAGS += -Wno-sign-compare -Wno-ignored-attributes -Wno-ignored-optimization-argument -Wno-unknown-warning-option
endif

SHLIB_LINK = -lutf8proc $(if $(UBSAN),-fsanitize=undefined)
ifeq ($(shell uname -s),Linux)
# Calls between our own files need no detour through the linkage table.
SHLIB_LINK += -Wl,-Bsymbolic-functions
endif

# The story of the regression tests starts with init; a test that is not in the list runs after those that are.
REGRESS_ORDER = init type text registry encode get cast compare tensor json coerce cases
REGRESS_FOUND := $(sort $(basename $(notdir $(wildcard sql/*.sql))))
REGRESS = $(filter $(REGRESS_FOUND),$(REGRESS_ORDER)) $(filter-out $(REGRESS_ORDER),$(REGRESS_FOUND))
REGRESS_OPTS = --encoding=UTF8 --no-locale
PROVE_TESTS ?= test/t/*.pl

EXTRA_CLEAN = build libkiln.a kiln-$(KILN_VERSION).zip results regression.diffs regression.out tmp_check log

# PGXS has a rule for an archive of that name; ours holds the codec alone.
haslibarule = yes

PG_CONFIG = pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs 2>/dev/null)

# Isolation tests are a part of installcheck where the server's development files have the programs for them, as Debian's do.
ifneq ($(wildcard $(PGXS:%/makefiles/pgxs.mk=%/test/isolation/pg_isolation_regress*)),)
ISOLATION := $(sort $(basename $(notdir $(wildcard test/isolation/specs/*.spec))))
endif
ISOLATION_OPTS = --inputdir=test/isolation --load-extension=kiln --encoding=UTF8 --no-locale

ifneq ($(wildcard $(PGXS)),)
include $(PGXS)

# PGXS tracks neither headers nor flags: objects are made again when either changes.
$(OBJS) $(OBJS:.o=.bc): $(HEADER_FILES) build/server.flags

SERVER_FLAGS = $(PG_CONFIG) $(CC) $(CFLAGS) $(CPPFLAGS)
build/server.flags: FORCE
	@mkdir -p build
	@echo '$(SERVER_FLAGS)' | cmp -s - $@ || echo '$(SERVER_FLAGS)' >$@

prove_installcheck:
	$(prove_installcheck)
else
all install installcheck prove_installcheck:
	@echo "$(PG_CONFIG) --pgxs leads to no PGXS: install PostgreSQL's server headers (Debian: postgresql-server-dev-all)," >&2
	@echo "or say which with PG_CONFIG=/path/to/pg_config. The codec alone is built by \"make libkiln\"." >&2
	@exit 1
clean:
	rm -f $(OBJS) $(OBJS:.o=.bc)
	rm -rf $(EXTRA_CLEAN)
endif

# ---- the codec alone, and its tests

SANITIZERS = -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
# Under sanitizers gcc warns of paths that can't be taken, so warnings are errors only without.
CODEC_CFLAGS = -std=c11 -O2 -g -ffp-contract=off -Wall -Wextra -Isrc/codec $(if $(SANITIZE),$(SANITIZERS),$(WERROR))
TEST_CFLAGS = $(subst -std=c11,-std=gnu11,$(CODEC_CFLAGS)) -Itest/support
TEST_LIBS = -lutf8proc -lm

# Compiler and sanitizer each have a folder of their own, so that no object is mistaken for another's.
BUILD = build/$(notdir $(CC))$(if $(SANITIZE),-sanitized)
CODEC_OBJECTS = $(CODEC_SOURCES:src/codec/%.c=$(BUILD)/codec/%.o)
SUPPORT_OBJECTS = $(patsubst test/support/%.c,$(BUILD)/support/%.o,$(sort $(wildcard test/support/*.c)))
SUPPORT_HEADERS = $(wildcard test/support/*.h)
SUPPORT = $(BUILD)/libsupport.a

DIFFERENTIAL_TEST = $(BUILD)/unit/test_differential
UNIT_TESTS = $(filter-out $(DIFFERENTIAL_TEST),$(patsubst test/%.c,$(BUILD)/%,$(sort $(wildcard test/unit/test_*.c))))

libkiln: libkiln.a

libkiln.a: $(CODEC_OBJECTS)
	rm -f $@
	$(AR) rcs $@ $^

clients:
	$(MAKE) -C clients/c CC='$(CC)' WERROR='$(WERROR)' SANITIZE='$(SANITIZE)'

# What every test program links: the codec, and what tests share.
$(SUPPORT): $(SUPPORT_OBJECTS) $(CODEC_OBJECTS)
	rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/codec/%.o: src/codec/%.c $(HEADER_FILES)
	@mkdir -p $(@D)
	$(CC) $(CODEC_CFLAGS) -fPIC -c -o $@ $<

$(BUILD)/support/%.o: test/support/%.c $(SUPPORT_HEADERS) $(HEADER_FILES)
	@mkdir -p $(@D)
	$(CC) $(TEST_CFLAGS) -c -o $@ $<

$(BUILD)/unit/%: test/unit/%.c $(SUPPORT) $(SUPPORT_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(TEST_CFLAGS) -o $@ $< $(SUPPORT) -lcmocka $(TEST_LIBS)

unit: $(UNIT_TESTS)
	@failed=0; for program in $(UNIT_TESTS); do echo "+ $$program"; $$program || failed=1; done; exit $$failed

differential: $(DIFFERENTIAL_TEST)
	$(DIFFERENTIAL_TEST)

# Programs that make values for the TAP tests.
GENERATORS = $(patsubst test/%.c,$(BUILD)/%,$(sort $(wildcard test/gen/*.c)))
$(BUILD)/gen/%: test/gen/%.c $(SUPPORT) $(SUPPORT_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(TEST_CFLAGS) -o $@ $< $(SUPPORT) $(TEST_LIBS)

prove_installcheck: export KILN_GENERATORS = $(CURDIR)/$(BUILD)/gen
prove_installcheck: $(GENERATORS)

# ---- fuzzing: one target a property. Seeds are made from the vectors; test/fuzz/corpus/TARGET holds inputs worth keeping

FUZZ_SECONDS = 30
# What ends a target's run. A fixed seed and count make it the same run each time: scripts/test must not fail by chance.
FUZZ_LIMIT = -max_total_time=$(FUZZ_SECONDS)
FUZZ_CC = clang
FUZZ_CFLAGS = -std=gnu11 -O1 -g -Isrc/codec -Itest/support $(SANITIZERS) -fsanitize=fuzzer
CODEC_FUZZ = $(sort $(basename $(notdir $(wildcard test/fuzz/fuzz_*.c))))
# Readers of src/pg, against the server's headers and a stand-in for the rest of it (test/fuzz/server/stand_in.h); these
# targets are left out where there is no server.
SERVER_FUZZ = $(if $(includedir_server),$(sort $(basename $(notdir $(wildcard test/fuzz/server/fuzz_*.c)))))
FUZZ_NAMES = $(CODEC_FUZZ) $(SERVER_FUZZ)
FUZZ_TARGETS = $(FUZZ_NAMES:%=build/fuzz/%)
REPLAYS = $(FUZZ_NAMES:%=$(BUILD)/replay/%)
CORPORA = build/fuzz/seeds/$$name $$(ls -d test/fuzz/corpus/$$name 2>/dev/null)

build/fuzz/seeds: test/fuzz/seeds.pl $(wildcard test/vectors/*.jsonl test/fuzz/fuzz_*.c test/fuzz/server/fuzz_*.c)
	rm -rf $@
	mkdir -p $(FUZZ_NAMES:%=$@/%)
	perl test/fuzz/seeds.pl test/vectors $@

STAND_IN = test/fuzz/server/stand_in.c $(addprefix src/pg/,$(addsuffix .c,agg change encoding error exact frame json_text \
	number_in print tensor_agg tensor_build tensor_collect tensor_convert tensor_elementwise tensor_math tensor_npy tensor_read \
	tensor_safetensors tensor_shape tensor_stack toast toast_cache))
STAND_IN_CFLAGS = -w -ffp-contract=off -fno-pie -Isrc/pg -Itest/fuzz/server -isystem $(includedir_server)
# The server's library brings its own palloc() and may; what else the server has, no target reaches.
STAND_IN_LIBS = -no-pie -Wl,-z,muldefs -Wl,--unresolved-symbols=ignore-all -L$(pkglibdir) -L$(libdir) -lpgcommon -lpgport
STAND_IN_OBJECTS = $(notdir $(STAND_IN:.c=.o))
vpath %.c src/pg test/fuzz/server

build/fuzz/server/%.o: %.c $(HEADER_FILES) $(wildcard test/fuzz/server/*.h)
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_CFLAGS) -fsanitize=fuzzer-no-link $(STAND_IN_CFLAGS) -c -o $@ $<

$(SERVER_FUZZ:%=build/fuzz/%): build/fuzz/%: build/fuzz/server/%.o $(STAND_IN_OBJECTS:%=build/fuzz/server/%) $(CODEC_SOURCES)
	$(FUZZ_CC) $(FUZZ_CFLAGS) -ffp-contract=off -fno-pie -o $@ $(filter %.o,$^) $(CODEC_SOURCES) $(STAND_IN_LIBS) $(TEST_LIBS)

$(BUILD)/server/%.o: %.c $(HEADER_FILES) $(wildcard test/fuzz/server/*.h)
	@mkdir -p $(@D)
	$(CC) $(TEST_CFLAGS) $(STAND_IN_CFLAGS) -c -o $@ $<

$(SERVER_FUZZ:%=$(BUILD)/replay/%): $(BUILD)/replay/%: $(BUILD)/server/%.o test/fuzz/replay.c $(STAND_IN_OBJECTS:%=$(BUILD)/server/%) $(SUPPORT)
	@mkdir -p $(@D)
	$(CC) $(TEST_CFLAGS) -fno-pie -o $@ test/fuzz/replay.c $(filter %.o,$^) $(SUPPORT) $(STAND_IN_LIBS) $(TEST_LIBS)

build/fuzz/%: test/fuzz/%.c $(CODEC_SOURCES) $(HEADER_FILES) $(wildcard test/support/*)
	@mkdir -p $(@D)
	$(FUZZ_CC) $(FUZZ_CFLAGS) -o $@ $< $(wildcard test/support/*.c) $(CODEC_SOURCES) $(TEST_LIBS)

$(BUILD)/replay/%: test/fuzz/%.c test/fuzz/replay.c $(SUPPORT) $(SUPPORT_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(TEST_CFLAGS) -o $@ $< test/fuzz/replay.c $(SUPPORT) $(TEST_LIBS)

fuzz: $(FUZZ_TARGETS) build/fuzz/seeds
	@failed=0; for name in $(FUZZ_NAMES); do \
		mkdir -p build/fuzz/found/$$name; \
		build/fuzz/$$name $(FUZZ_LIMIT) -timeout=20 -rss_limit_mb=2048 -verbosity=0 -print_final_stats=1 \
			-artifact_prefix=build/fuzz/$$name- build/fuzz/found/$$name $(CORPORA) \
			&& echo "ok fuzz $$name" || { echo "not ok fuzz $$name"; failed=1; }; \
	done; exit $$failed

fuzz-replay: $(REPLAYS) build/fuzz/seeds
	@failed=0; for name in $(FUZZ_NAMES); do \
		$(BUILD)/replay/$$name $(CORPORA) && echo "ok replay $$name" || { echo "not ok replay $$name"; failed=1; }; \
	done; exit $$failed

# ---- the house

format:
	clang-format -i $(wildcard src/*/*.[ch] test/*/*.[ch] bench/*/*.[ch] clients/c/*.[ch])

dist:
	git archive --format=zip --prefix=kiln-$(KILN_VERSION)/ -o kiln-$(KILN_VERSION).zip HEAD

deb:
	scripts/build-deb

FORCE:

.PHONY: FORCE all install installcheck prove_installcheck clean libkiln clients unit differential fuzz fuzz-replay format dist deb
.SECONDARY:
