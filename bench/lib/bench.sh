# What bench/micro, bench/peers/run and bench/run share: packages, builds, the two runs of the harness (one counts
# allocations, one is timed), and the head of a results file.
#
# Everything is built under build/bench ($BENCH_BUILD). Nothing is installed but Debian packages that are missing, and
# that is said. Settings: BENCH_CORE, the core to be pinned to (the last one); CC, CXX.

. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib.sh"

build=${BENCH_BUILD:-$root/build/bench}
results=${BENCH_RESULTS:-$root/bench/results}
quick=
rounds=11 leg_ms=200 passes=3
core=${BENCH_CORE:-$(($(nproc) - 1))}
export CC=${CC:-gcc} CXX=${CXX:-g++} LC_ALL=C.UTF-8 TZ=UTC

# Takes the options that all commands have; sets the names that are left: wanted.
bench_options()
{
	wanted=()
	while [ $# -gt 0 ]; do
		case $1 in
			--quick) quick=yes rounds=3 leg_ms=0.3 passes=1 results=${BENCH_RESULTS:-$build/quick} ;;
			--rounds) rounds=$2 && shift ;;
			--leg-ms) leg_ms=$2 && shift ;;
			--passes) passes=$2 && shift ;;
			--results) results=$(realpath -m "$2") && shift ;;
			-*) die "unknown option $1" ;;
			*) wanted+=("$1") ;;
		esac
		shift
	done
}

bench_packages()
{
	work=$build
	mkdir -p "$build" "$results"
	ensure_packages gcc g++ libc6-dev make util-linux libutf8proc-dev libxxhash-dev "$@"
}

# build_variants part variant…: says what fails, and nothing else.
build_variants()
{
	local part=$1

	shift
	make -s -j"$(nproc)" -f "$root/bench/lib/build.mk" BUILD="$build" VARIANTS="$*" "$part" >"$build/build.log" 2>&1 ||
		{ tail -40 "$build/build.log" >&2; die "the build of $part failed"; }
}

# ------------------------------------------------------------------ results

package_version()
{
	dpkg-query -W -f '${Version}' "$1" 2>/dev/null || echo "not installed"
}

commit()
{
	local changed=

	git -c safe.directory='*' -C "$root" diff --quiet HEAD -- src bench ':!bench/results' ':!bench/text' 2>/dev/null ||
		changed=", with changes"
	echo "$(git -c safe.directory='*' -C "$root" rev-parse --short=12 HEAD 2>/dev/null || echo unknown)$changed"
}

# The lines before the table: results_head part [package…]
results_head()
{
	local package mode=full

	[ -z "$quick" ] || mode="quick (proves that it works; no figure counts)"

	cat <<-HEAD
		# part: $1
		# date: $(date -u +%Y-%m-%dT%H:%M:%SZ)
		# commit: $(commit)
		# machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) cores, family $(sed -n 's/^cpu family[^:]*: //p' /proc/cpuinfo | head -1) model $(sed -n 's/^model[^n:]*: //p' /proc/cpuinfo | head -1), $(sed -n 's/^MemTotal: *//p' /proc/meminfo)
		# caches: $(lscpu | sed -n 's/^\(L[123]d\{0,1\}\) cache: */\1 /p' | paste -sd, | sed 's/,/, /g')
		# hypervisor: $(lscpu | sed -n 's/^Hypervisor vendor: *//p')
		# kernel: $(uname -sr)
		# compiler: $("$CC" --version | head -1)
		# libc: $(getconf GNU_LIBC_VERSION)
		# rounds: $rounds of at least $leg_ms ms a leg, core $core
		# mode: $mode
		# load: $(cut -d' ' -f1-3 /proc/loadavg)
	HEAD
	shift
	for package in "$@"; do
		echo "# package: $package $(package_version "$package")"
	done
	echo "part,experiment,operation,corpus,contender,checks,flags,pass,round,value,unit,allocations,bytes"
}

# ------------------------------------------------------------------ runs

# The shared objects of some sources in some variants, with their flags, as the harness wants them.
objects()
{
	local variant name

	for variant in $variants; do
		for name in "$@"; do
			case $variant in
				native) echo "$build/$variant/$name.so=-O3 -march=native" ;;
				*) echo "$build/$variant/$name.so=-$variant" ;;
			esac
		done
	done
}

# run_host part experiment object…: one experiment, into its results file. False if the harness refused something.
run_host()
{
	local part=$1 experiment=$2 file status=0
	local golden=$root/test/golden

	shift 2
	file=$results/$part/$experiment.csv
	mkdir -p "$results/$part"
	LD_PRELOAD=$build/count.so "$build/host" --golden "$golden" --count "$file.counts" "$@" -- "$experiment"
	results_head "$part" "${packages[@]}" >"$file.new"
	taskset -c "$core" "$build/host" --part "$part" --golden "$golden" --counts "$file.counts" --out "$file.new" \
		--rounds "$rounds" --leg-ms "$leg_ms" --passes "$passes" "$@" -- "$experiment" || status=$?
	mv "$file.new" "$file"
	rm -f "$file.counts"
	return $status
}

# run_all part object-names… : each of $wanted
run_all()
{
	local part=$1 experiment refused=() made=()

	shift
	mapfile -t made < <(objects "$@")
	for experiment in "${wanted[@]}"; do
		run_host "$part" "$experiment" "${made[@]}" || refused+=("$experiment")
	done
	[ ${#refused[@]} -eq 0 ] || die "these have no figures, or not all of them: ${refused[*]}"
}
