# What scripts/test-version and scripts/test-deb share: chroots of the Debian release that ships a PostgreSQL version.
#
# $cache, ${TMPDIR:-/var/tmp}/kiln-chroots, holds what takes long to make and is used again: SUITE-minbase, as debootstrap
# leaves it; SUITE, a copy in which scripts/test has installed what it needs; archives-SUITE, packages that were fetched.
# A chroot from fresh_chroot is for one use: an overlay over another, or a copy where the kernel allows no overlay.
#
# What is mounted is mounted in a mount namespace of the script's own, and what is started runs in a process namespace of
# its own: both end with the script, however it ends, and nothing stays.
#
# Needs root. Settings: KILN_MIRROR, a Debian mirror.

. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

mirror=${KILN_MIRROR:-http://deb.debian.org/debian}
cache=${TMPDIR:-/var/tmp}/kiln-chroots
fresh=()
environment=()

# The exit status that says "not run, for want of something in the surroundings", as automake has it.
skipped=77

# skip reason: what a machine may lack that has no fault of ours.
skip()
{
	printf 'skipped: %s\n' "$*"
	exit $skipped
}

suite_of()
{
	case $1 in
		15) echo bookworm ;;
		17) echo trixie ;;
		18) echo sid ;;
		*) return 1 ;;
	esac
}

# own_namespace "$@": the script once more, with its arguments, in namespaces of its own; returns within them.
own_namespace()
{
	[ "${KILN_NAMESPACE:-}" != own ] || return 0
	[ "$(id -u)" = 0 ] || skip "needs root: it makes and enters a chroot"
	unshare --mount --propagation private --pid --fork true 2>/dev/null || skip "this machine allows no namespaces"
	KILN_NAMESPACE=own exec unshare --mount --propagation private --pid --fork --kill-child -- "$0" "$@"
}

# Settings of the tests that go inside, too.
pass_settings()
{
	local setting

	while IFS= read -r -d '' setting; do
		case $setting in
			KILN_PG=* | KILN_NAMESPACE=* | KILN_MIRROR=*) ;;
			KILN_* | PROVE_TESTS=* | http_proxy=* | https_proxy=*) environment+=("$setting") ;;
		esac
	done < <(env -0)
}

# inside chroot command…
inside()
{
	local chroot=$1

	shift
	chroot "$chroot" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
		"${environment[@]}" "$@"
}

mount_inside()
{
	mkdir -p "$1/proc" "$1/dev/shm" "$1/dev/pts"
	mount -t proc proc "$1/proc"
	mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"
	mount --bind /dev/pts "$1/dev/pts"
	[ ! -e /etc/resolv.conf ] || cp -L /etc/resolv.conf "$1/etc/resolv.conf"
	# None of it has to outlive a power cut.
	echo force-unsafe-io >"$1/etc/dpkg/dpkg.cfg.d/unsafe-io"
	# What the machine's apt was told of proxies holds inside, too.
	apt-config dump 2>/dev/null | grep -E '^Acquire::https?::Proxy' >"$1/etc/apt/apt.conf.d/90proxy" || true
}

# update_inside chroot: package lists that are a week old at most.
update_inside()
{
	inside "$1" sh -c 'find /var/lib/apt/lists -name "*_Packages*" -mtime -7 | grep -q . || apt-get update -q' >"$cache/$suite.apt.log" 2>&1 ||
		{ tail -30 "$cache/$suite.apt.log" >&2; skip "apt-get update failed in a chroot of $suite"; }
}

# Sets $base: the suite as debootstrap leaves it, made if it isn't there yet. No service starts inside.
base_chroot()
{
	base=$cache/$suite-minbase
	[ ! -d "$base" ] || return 0
	mkdir -p "$cache"
	command -v debootstrap >/dev/null ||
		{ apt-get update -q && apt-get install -y -q --no-install-recommends debootstrap; } >"$cache/$suite.log" 2>&1 ||
		skip "debootstrap can't be installed"
	say "Making a chroot of Debian $suite in $base"
	rm -rf "$base.new"
	debootstrap --variant=minbase --include=ca-certificates "$suite" "$base.new" "$mirror" >"$cache/$suite.log" 2>&1 ||
		{ tail -30 "$cache/$suite.log" >&2; skip "debootstrap failed"; }
	printf '#!/bin/sh\nexit 101\n' >"$base.new/usr/sbin/policy-rc.d"
	chmod 755 "$base.new/usr/sbin/policy-rc.d"
	mv "$base.new" "$base"
}

# Sets $chroot: the suite's chroot that is kept, with what was installed into it before; mounted and up to date.
kept_chroot()
{
	chroot=$cache/$suite
	if [ ! -d "$chroot" ]; then
		base_chroot
		cp -a "$base" "$chroot.new"
		mv "$chroot.new" "$chroot"
	fi
	mount_inside "$chroot"
	update_inside "$chroot"
}

# Sets $chroot: one of the suite's own, as debootstrap leaves it, which goes with clear_chroots. Who makes another meanwhile waits
# until this script ends: they share the packages that were fetched.
fresh_chroot()
{
	local folder

	mkdir -p "$cache"
	if [ ${#fresh[@]} -eq 0 ]; then
		exec 9>"$cache/archives-$suite.lock"
		flock 9
		# What a script that was killed has left.
		rm -rf --one-file-system "$cache/fresh-$suite".*
	fi
	base_chroot
	folder=$(mktemp -d "$cache/fresh-$suite.XXXXXX")
	fresh+=("$folder")
	chroot=$folder/root
	mkdir "$folder/upper" "$folder/work" "$chroot"
	chmod 755 "$folder" "$folder/upper"
	if ! mount -t overlay overlay -o "lowerdir=$base,upperdir=$folder/upper,workdir=$folder/work" "$chroot" 2>/dev/null; then
		rmdir "$chroot"
		cp -a "$base" "$chroot"
	fi
	mount_inside "$chroot"
	mkdir -p "$cache/archives-$suite/partial"
	mount --bind "$cache/archives-$suite" "$chroot/var/cache/apt/archives"
	# apt's own user doesn't get at them.
	echo 'APT::Sandbox::User "root";' >"$chroot/etc/apt/apt.conf.d/90sandbox"
	update_inside "$chroot"
}

clear_chroots()
{
	local folder

	cd /
	for folder in "${fresh[@]}"; do
		umount -R -l "$folder/root/"{proc,dev/shm,dev/pts,var/cache/apt/archives} 2>/dev/null || true
		umount -l "$folder/root" 2>/dev/null || true
		rm -rf --one-file-system "$folder"
	done
	fresh=()
}
