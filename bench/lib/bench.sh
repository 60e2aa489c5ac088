# What bench/micro, bench/peers/run and bench/run share: packages, builds, the head of a results file, the two runs of
# the harness (one counts allocations, one is timed).
#
# Everything is built under $BENCH_BUILD (build/bench), results go to $results. Nothing is installed but Debian
# packages that are missing, and that is said.

. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"

build=${BENCH_BUILD:-$root/build/bench}
results=$root/bench/results
quick=
rounds=11 leg_ms=200 passes=3
core=${BENCH_CORE:-$(($(nproc) - 1))}
cc=${CC:-gcc}
cxx=${CXX:-g++}
export LC_ALL=C.UTF-8 TZ=UTC

# Few and short rounds, one pass, one build: to see that all works. Never to be judged by.
be_quick()
{
	quick=yes
	rounds=3 leg_ms=0.5 passes=1
	results=${BENCH_RESULTS:-$build/quick}
}

bench_packages()
{
	work=$build
	mkdir -p "$build" "$results"
	ensure_packages gcc g++ libc6-dev libutf8proc-dev libxxhash-dev "$@"
}

# ------------------------------------------------------------------ builds

# up_to_date target source…: is the target newer than all of them, and of all headers here?
up_to_date()
{
	local target=$1 source

	shift
	[ -e "$target" ] || return 1
	for source in "$@" "$root"/src/codec/*.[ch] "$root"/bench/lib/*.[ch] "$root"/bench/*/*.h "${BASH_SOURCE[0]}"; do
		[ ! "$source" -nt "$target" ] || return 1
	done
}

# The harness itself: always -O2, the corpus in it.
build_host()
{
	up_to_date "$build/host" && up_to_date "$build/count.so" && return
	say "Building the harness"
	"$cc" -std=gnu11 -O2 -g -Wall -Wextra -Werror -I"$root/src/codec" -rdynamic -o "$build/host" \
		"$root/bench/lib/host.c" "$root/bench/lib/corpus.c" -ldl
	"$cc" -std=gnu11 -O2 -Wall -Wextra -Werror -shared -fPIC -o "$build/count.so" "$root/bench/lib/count.c"
}

# A folder name for a set of flags.
flags_folder()
{
	echo "$build/$(echo "$*" | tr -d ' ' | tr -c 'A-Za-z0-9\n' _)"
}

# The codec's objects for a set of flags: what the extension is built from, as it stands.
build_codec()
{
	local folder source object made=

	folder=$(flags_folder "$@")
	mkdir -p "$folder"
	for source in "$root"/src/codec/*.c; do
		object=$folder/$(basename "$source" .c).codec.o
		up_to_date "$object" || made="$made $source"
	done
	[ -n "$made" ] || return 0
	rm -f "$folder"/*.codec.o
	printf '%s\n' "$root"/src/codec/*.c | xargs -P 2 -I{} sh -c \
		'"$0" "$@" -c -o "$1/$(basename "{}" .c).codec.o" "{}"' 2>/dev/null true || true
	for source in "$root"/src/codec/*.c; do
		"$cc" -std=c11 "$@" -g -fPIC -fvisibility=hidden -I"$root/src/codec" \
			-c -o "$folder/$(basename "$source" .c).codec.o" "$source"
	done
}
