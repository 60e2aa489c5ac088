# Builds of the harness and the contenders: make -f bench/lib/build.mk BUILD=folder VARIANTS="O2 O3 native" micro peers
#
# A variant is a set of compiler flags. Each contender becomes one shared object a variant, with the codec, built with the same flags,
# inside. Symbols are hidden, so that variants loaded side by side stay apart.

ROOT := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))../..)
BUILD ?= $(ROOT)/build/bench
VARIANTS ?= O2 O3
WERROR ?= -Werror

FLAGS_O2 = -O2
FLAGS_O3 = -O3
FLAGS_native = -O3 -march=native

BENCH = $(ROOT)/bench
HEADERS = $(wildcard $(ROOT)/src/codec/*.h $(BENCH)/*/*.h) $(BENCH)/lib/build.mk
CODEC = $(basename $(notdir $(wildcard $(ROOT)/src/codec/*.c)))
EXPERIMENTS = $(basename $(notdir $(wildcard $(BENCH)/experiments/*.c)))
PEERS = kiln flatbuffers capnp protobuf protobuf_c msgpack

WARN = -Wall -Wextra $(WERROR)
COMMON = -g -fPIC -fvisibility=hidden -I$(ROOT)/src/codec -I$(BENCH)/lib -I$(BENCH)/peers
LINK = -shared -Wl,-Bsymbolic -Wl,--exclude-libs,ALL
GEN = $(BUILD)/gen

LIBS_kiln = -lutf8proc
LIBS_flatbuffers =
LIBS_capnp = -lcapnp -lkj
LIBS_protobuf = -lprotobuf-lite
LIBS_protobuf_c = -lprotobuf-c
LIBS_msgpack = -lmsgpackc

micro: $(BUILD)/host $(BUILD)/count.so $(foreach v,$(VARIANTS),$(EXPERIMENTS:%=$(BUILD)/$(v)/%.so))
peers: $(BUILD)/host $(BUILD)/count.so $(foreach v,$(VARIANTS),$(PEERS:%=$(BUILD)/$(v)/peer_%.so))

$(BUILD)/host: $(BENCH)/lib/host.c $(BENCH)/lib/corpus.c $(HEADERS)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -g $(WARN) -I$(ROOT)/src/codec -rdynamic -o $@ $(filter %.c,$^) -ldl

$(BUILD)/count.so: $(BENCH)/lib/count.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 $(WARN) -shared -fPIC -o $@ $<

# ---- what the schema compilers make, once for all variants

$(GEN)/scenarios_generated.h: $(BENCH)/peers/scenarios.fbs
	@mkdir -p $(@D)
	flatc --cpp --scoped-enums -o $(GEN) $<

$(GEN)/scenarios.capnp.h: $(BENCH)/peers/scenarios.capnp
	@mkdir -p $(@D)
	capnp compile -oc++:$(GEN) --src-prefix=$(BENCH)/peers $<

$(GEN)/scenarios.pb.h: $(BENCH)/peers/scenarios.proto
	@mkdir -p $(@D)
	protoc --cpp_out=$(GEN) -I$(BENCH)/peers $<

$(GEN)/scenarios.pb-c.h: $(BENCH)/peers/scenarios.proto
	@mkdir -p $(@D)
	protoc-c --c_out=$(GEN) -I$(BENCH)/peers $<

# ---- a variant

define variant
$(BUILD)/$(1)/codec/%.o: $(ROOT)/src/codec/%.c $$(HEADERS)
	@mkdir -p $$(@D)
	$$(CC) -std=c11 $$(FLAGS_$(1)) $$(WARN) $$(COMMON) -c -o $$@ $$<

$(BUILD)/$(1)/libkiln.a: $$(CODEC:%=$(BUILD)/$(1)/codec/%.o)
	rm -f $$@
	$$(AR) rcs $$@ $$^

$(BUILD)/$(1)/%.so: $(BENCH)/experiments/%.c $(BUILD)/$(1)/libkiln.a $$(HEADERS)
	$$(CC) -std=gnu11 $$(FLAGS_$(1)) $$(WARN) $$(COMMON) $$(LINK) -o $$@ $$< $(BUILD)/$(1)/libkiln.a -lutf8proc -llz4 -lzstd -lm

$(BUILD)/$(1)/peer_kiln.so: $(BENCH)/peers/kiln.c $(BUILD)/$(1)/libkiln.a $$(HEADERS)
	$$(CC) -std=gnu11 $$(FLAGS_$(1)) $$(WARN) $$(COMMON) $$(LINK) -o $$@ $$< $(BUILD)/$(1)/libkiln.a $$(LIBS_kiln)

$(BUILD)/$(1)/peer_flatbuffers.so: $(BENCH)/peers/flatbuffers.cc $(GEN)/scenarios_generated.h $$(HEADERS)
	@mkdir -p $$(@D)
	$$(CXX) -std=c++17 $$(FLAGS_$(1)) $$(WARN) -DNDEBUG -fno-gnu-unique -fvisibility-inlines-hidden $$(COMMON) -isystem $(GEN) $$(LINK) -o $$@ $$<

$(BUILD)/$(1)/peer_capnp.so: $(BENCH)/peers/capnp.cc $(GEN)/scenarios.capnp.h $$(HEADERS)
	@mkdir -p $$(@D)
	$$(CXX) -std=c++17 $$(FLAGS_$(1)) $$(WARN) -DNDEBUG -fno-gnu-unique -fvisibility-inlines-hidden $$(COMMON) -isystem $(GEN) $$(LINK) -o $$@ $$< \
		$(GEN)/scenarios.capnp.c++ $$(LIBS_capnp)

$(BUILD)/$(1)/peer_protobuf.so: $(BENCH)/peers/protobuf.cc $(GEN)/scenarios.pb.h $$(HEADERS)
	@mkdir -p $$(@D)
	$$(CXX) -std=c++17 $$(FLAGS_$(1)) $$(WARN) -DNDEBUG -fno-gnu-unique -fvisibility-inlines-hidden $$(COMMON) -isystem $(GEN) $$(LINK) -o $$@ $$< \
		$(GEN)/scenarios.pb.cc $$(LIBS_protobuf)

$(BUILD)/$(1)/peer_protobuf_c.so: $(BENCH)/peers/protobuf_c.c $(GEN)/scenarios.pb-c.h $$(HEADERS)
	@mkdir -p $$(@D)
	$$(CC) -std=gnu11 $$(FLAGS_$(1)) $$(WARN) -DNDEBUG $$(COMMON) -isystem $(GEN) $$(LINK) -o $$@ $$< $(GEN)/scenarios.pb-c.c $$(LIBS_protobuf_c)

$(BUILD)/$(1)/peer_msgpack.so: $(BENCH)/peers/msgpack.c $$(HEADERS)
	@mkdir -p $$(@D)
	$$(CC) -std=gnu11 $$(FLAGS_$(1)) $$(WARN) -DNDEBUG $$(COMMON) $$(LINK) -o $$@ $$< $$(LIBS_msgpack)
endef
$(foreach v,$(VARIANTS),$(eval $(call variant,$(v))))

.PHONY: micro peers
.SECONDARY:
