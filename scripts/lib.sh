# What the scripts here share: packages, a private PostgreSQL installation, a throwaway server.
#
# Everything happens in one temporary folder, $work: a copy of the tree is built there, so the clone stays as it is;
# the extension is installed into a private copy of the installed PostgreSQL (programs copied, the rest linked:
# PostgreSQL finds its files by its programs' place), so the system's own is not touched; the server listens on a
# socket in that folder alone. The folder goes when the script ends, however it ends. What stays are Debian packages.
#
# Nothing here runs as root but apt-get: the server refuses to, and so as root all work is done as user postgres.
#
# Settings: KILN_PG, the server's major version (the newest installed, else Debian's own); TMPDIR.

set -Eeuo pipefail
trap 'echo "${0##*/}: ${BASH_SOURCE[0]##*/}, line $LINENO: failed: $BASH_COMMAND" >&2' ERR

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=
server_runs=

say()
{
	printf '\n== %s\n' "$*"
}

die()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# ------------------------------------------------------------------ packages

as_root()
{
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "needs root or sudo for: $*"
	fi
}

apt()
{
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -q -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

package_is_installed()
{
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Install those of the named packages that are missing. Package lists are fetched only if apt can't do without.
ensure_packages()
{
	local package missing=()

	for package in "$@"; do
		package_is_installed "$package" || missing+=("$package")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	command -v apt-get >/dev/null || die "needs these Debian packages: ${missing[*]}"
	say "Installing with apt-get: ${missing[*]}"
	if ! apt install --no-install-recommends "${missing[@]}" >"$work/apt.log" 2>&1; then
		apt update >"$work/apt.log" 2>&1 || { cat "$work/apt.log" >&2; die "apt-get update failed"; }
		apt install --no-install-recommends "${missing[@]}" >"$work/apt.log" 2>&1 ||
			{ tail -30 "$work/apt.log" >&2; die "apt-get install failed"; }
	fi
}

# Debian's PostgreSQL makes and starts a cluster when a server package is installed. Nobody here asked for one.
without_main_cluster()
{
	local folder=/etc/postgresql-common/createcluster.d
	local setting=$folder/kiln-scripts.conf status=0

	as_root mkdir -p "$folder"
	echo "create_main_cluster = false" | as_root tee "$setting" >/dev/null
	"$@" || status=$?
	as_root rm -f "$setting"
	as_root rmdir --ignore-fail-on-non-empty "$folder" 2>/dev/null || true
	return $status
}

newest_installed_server()
{
	local program

	for program in /usr/lib/postgresql/*/bin/postgres; do
		[ ! -x "$program" ] || echo "$program"
	done | cut -d/ -f5 | sort -n | tail -1
}

debian_default_server()
{
	apt-cache depends postgresql 2>/dev/null | sed -n 's/.*Depends: postgresql-\([0-9][0-9]*\)$/\1/p' |
		sort -n | tail -1 || true
}

# Sets $major, the server's version, and installs what building and running need, with further packages as given.
ensure_server()
{
	local install=ensure_packages

	major=${KILN_PG:-$(newest_installed_server)}
	if [ -z "$major" ]; then
		command -v apt-get >/dev/null || die "no PostgreSQL server in /usr/lib/postgresql"
		major=$(debian_default_server)
		if [ -z "$major" ]; then
			apt update >"$work/apt.log" 2>&1 || { cat "$work/apt.log" >&2; die "apt-get update failed"; }
			major=$(debian_default_server)
		fi
		[ -n "$major" ] || die "apt knows no package postgresql"
	fi
	package_is_installed "postgresql-$major" || [ -x "/usr/lib/postgresql/$major/bin/postgres" ] ||
		install="without_main_cluster ensure_packages"
	$install gcc libc6-dev make "postgresql-$major" "postgresql-server-dev-$major" libutf8proc-dev libxxhash-dev \
		iso-codes tzdata "$@"
}

# ------------------------------------------------------------------ the temporary folder

# Whoever works in $work. setpriv replaces itself by the command, so that signals and time limits reach it.
as_worker()
{
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid=postgres --regid=postgres --init-groups env HOME="$work" USER=postgres LOGNAME=postgres "$@"
	else
		"$@"
	fi
}

begin()
{
	work=$(mktemp -d "${TMPDIR:-/tmp}/kiln.XXXXXX")
	trap cleanup EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	chmod 755 "$work"
	mkdir -m 1777 "$work/tmp"
	export TMPDIR=$work/tmp
	# Nothing of the caller's session may steer the clients, and no locale the output.
	unset "${!PG@}"
	export LC_ALL=C.UTF-8 TZ=UTC
	cd "$work"
}

# Stop the server and remove the folder.
clear_away()
{
	trap '' INT TERM HUP
	[ -z "$server_runs" ] || stop_server
	cd /
	[ -z "$work" ] || rm -rf "$work"
	work=
}

cleanup()
{
	local status=$?

	trap - EXIT
	clear_away
	exit $status
}

# export_tree folder: copy the tree there, as it is in the work tree now but without what git ignores. The folder exists and is empty.
export_tree()
{
	local to=$1 file

	if git -c safe.directory='*' -C "$root" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
		git -c safe.directory='*' -C "$root" ls-files -coz --exclude-standard |
			while IFS= read -r -d '' file; do
				[ ! -e "$root/$file" ] || printf '%s\0' "$file"
			done |
			tar -C "$root" --null -T - -cf - | tar -C "$to" --no-same-owner -xf -
	else
		tar -C "$root" --exclude=./build --exclude=./.git --exclude='*.o' --exclude='*.bc' --exclude='*.so' -cf - . |
			tar -C "$to" --no-same-owner -xf -
	fi
}

# The same to $work/$1, for the one who works there.
copy_tree()
{
	mkdir "$work/$1"
	export_tree "$work/$1"
	[ "$(id -u)" != 0 ] || chown -R postgres: "$work/$1"
}

# Make a folder's entries reachable in another, which can then take entries of its own.
link_entries()
{
	mkdir -p "$2"
	find "$1" -mindepth 1 -maxdepth 1 -exec ln -s -t "$2" {} +
}

# A private copy of server $major's installation in $work/pg, beside those of other versions: sets $bin, its programs, and $pg_config.
private_installation()
{
	local system_bin=/usr/lib/postgresql/$major/bin system_config share lib

	system_config=$system_bin/pg_config
	[ -x "$system_config" ] || die "$system_config is missing"
	share=$("$system_config" --sharedir)
	lib=$("$system_config" --pkglibdir)
	bin=$work/pg$system_bin
	pg_config=$bin/pg_config

	mkdir -p "$bin" "$work/pg/usr/include"
	cp -pL "$system_bin"/* "$bin"
	link_entries "$lib" "$work/pg$lib"
	link_entries "$share" "$work/pg$share"
	# Folders that take files of ours must be real ones.
	rm -f "$work/pg$lib/bitcode" "$work/pg$share/extension"
	link_entries "$share/extension" "$work/pg$share/extension"
	mkdir "$work/pg$lib/bitcode"
	[ ! -d "$lib/bitcode" ] || link_entries "$lib/bitcode" "$work/pg$lib/bitcode"
	ln -sfn /usr/include/postgresql "$work/pg/usr/include/postgresql"
	# An installed Kiln must not shine through.
	rm -rf "$work/pg$share/extension"/kiln{,_pgvector}{.control,--*.sql} "$work/pg$lib/kiln.so" \
		"$work/pg$lib/bitcode/kiln" "$work/pg$lib/bitcode/kiln.index.bc"
	[ "$(id -u)" != 0 ] || chown -R -h postgres: "$work/pg"
	[ "$("$pg_config" --pkglibdir)" = "$work/pg$lib" ] || die "this PostgreSQL does not find its files by its programs' place"
}

# make in a copy of the tree: build_in tree target…
build_in()
{
	local tree=$1

	shift
	as_worker make -C "$work/$tree" PG_CONFIG="$pg_config" "$@"
}

# ------------------------------------------------------------------ the throwaway server

# start_server [initdb options]: sets PGHOST, PGPORT and PGUSER for clients.
start_server()
{
	export PGHOST=$work/s PGPORT=5432 PGUSER=postgres PGDATABASE=postgres PATH=$bin:$PATH

	mkdir "$work/s"
	[ "$(id -u)" != 0 ] || chown postgres: "$work" "$work/s"
	as_worker "$bin/initdb" -D "$work/data" -U postgres -A trust -E UTF8 --no-sync "$@" >"$work/initdb.log" 2>&1 ||
		{ cat "$work/initdb.log" >&2; die "initdb failed"; }
	cat >"$work/settings" <<-SETTINGS
		listen_addresses = ''
		unix_socket_directories = '$work/s'
		port = 5432
		fsync = off
		shared_buffers = 256MB
		max_wal_size = 4GB
		autovacuum = off
		log_checkpoints = off
		timezone = 'UTC'
	SETTINGS
	as_worker tee -a "$work/data/postgresql.conf" <"$work/settings" >/dev/null
	launch_server
}

launch_server()
{
	server_runs=yes
	as_worker "$bin/pg_ctl" -D "$work/data" -l "$work/server.log" -w -t 60 start >/dev/null </dev/null ||
		{ cat "$work/server.log" >&2; die "the server did not start"; }
}

# stop_server [mode]
stop_server()
{
	as_worker "$bin/pg_ctl" -D "$work/data" -m "${1-immediate}" -w -t 60 stop >/dev/null 2>&1 </dev/null || true
	server_runs=
}
