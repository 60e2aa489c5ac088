# pg_upgrade --link: definitions, columns, constraints, indexes and partitions come along, and rows as they stand in the files.
#
# KILN_OLD_BINDIR names the folder of programs of another, older installation that has kiln, too; without it the way leads from this
# version to itself. scripts/test makes such an installation where KILN_OLD_PG names a version.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $new = PostgreSQL::Test::Cluster->new('new');
my $new_programs = $new->config_data('--bindir');
my $old_programs = $ENV{KILN_OLD_BINDIR} || $new_programs;
plan skip_all => 'no pg_upgrade' unless -x "$new_programs/pg_upgrade";
BAIL_OUT("no server in KILN_OLD_BINDIR=$old_programs") unless -x "$old_programs/postgres";

sub major
{
	my ($version) = `'$_[0]/postgres' --version` =~ /(\d+)/;

	return $version;
}

# The same settings for both. From 18 on initdb switches checksums on by itself, which pg_upgrade does not add.
my ($old_major, $new_major) = map { major($_) } $old_programs, $new_programs;
my @settings = ('--encoding=UTF8', '--locale=C');
my $old = PostgreSQL::Test::Cluster->new('old', $ENV{KILN_OLD_BINDIR} ? (install_path => $old_programs =~ s{/bin/?$}{}r) : ());
note "from $old_major to $new_major";
$old->init(extra => [ @settings, $old_major >= 18 ? '--no-data-checksums' : () ]);
$new->init(extra => [ @settings, $new_major >= 18 ? '--no-data-checksums' : () ]);

$old->start;
is($old->safe_psql('postgres', "SELECT current_setting('server_version_num')::int / 10000"), $old_major, "a server of version $old_major");
fill_database($old, 'postgres');
my $before = fingerprint($old, 'postgres');
note $before;

# Values that are not in the usual frames, and what a definition leaves when it is forgotten.
$old->safe_psql('postgres', <<'SQL');
CREATE TABLE frames (n int PRIMARY KEY, v kiln);
SELECT kiln_register('forgotten(a i32)');
INSERT INTO frames VALUES (1, kiln_encode('forgotten', '{"a": 5}'::text)), (2, kiln_from_frame('\x1401020304050607080a')), (3, '{"$kiln": "(a i32)", "a": 1}');
INSERT INTO frames SELECT 4, kiln_tensor(array_agg(i::float8)) FROM generate_series(1, 100000) i;
SELECT kiln_forget('forgotten');
SQL
my $frames = 'SELECT n, md5(kiln_frame(v)) FROM frames ORDER BY n';
my $frames_before = $old->safe_psql('postgres', $frames);
my @tables = split /\n/, $old->safe_psql('postgres', q{SELECT oid::regclass FROM pg_class WHERE relkind = 'r' AND relnamespace IN ('aaa'::regnamespace, '"!"'::regnamespace)});
$old->stop;

# It writes into the folder it is run in.
my $folder = PostgreSQL::Test::Utils::tempdir();
chdir $folder or die "$folder: $!";
my $upgraded = run_log([
	'pg_upgrade', '--link', '--no-sync', '-d', $old->data_dir, '-D', $new->data_dir, '-b', $old_programs, '-B', $new_programs,
	'-s', $new->host, '-p', $old->port, '-P', $new->port ]);
ok($upgraded, "pg_upgrade --link from $old_major to $new_major");
unless ($upgraded)
{
	diag slurp_file($_) for grep { -f } glob("$folder/*.log $folder/*/*.log " . $new->data_dir . '/pg_upgrade_output.d/*/log/*.log');
	done_testing();
	exit;
}

$new->start;
is($new->safe_psql('postgres', "SELECT current_setting('server_version_num')::int / 10000"), $new_major, "a server of version $new_major");
is(fingerprint($new, 'postgres'), $before, 'everything is there');
is($new->safe_psql('postgres', $frames), $frames_before, 'so are values whose definition is missing');
$new->safe_psql('postgres', "SELECT kiln_register('forgotten(a i32)')");
is($new->safe_psql('postgres', q{SELECT kiln_get(v, 'a') FROM frames WHERE n = 1}), 5, 'which can be read once it is back');
$new->safe_psql('postgres', "SELECT kiln_forget('forgotten')");

# Indexes and partitions hold what the new server would put there.
$new->safe_psql('postgres', 'CREATE EXTENSION amcheck');
is($new->safe_psql('postgres', q{SELECT bool_and(bt_index_check(i.indexrelid::regclass, true) IS NOT NULL) FROM pg_index i JOIN pg_class c ON c.oid = indexrelid
	JOIN pg_am a ON a.oid = relam WHERE amname = 'btree' AND relnamespace IN ('aaa'::regnamespace, '"!"'::regnamespace)}), 't', 'every btree is sound and has all rows');
is($new->safe_psql('postgres', q{SELECT count(*) FILTER (WHERE NOT satisfies_hash_partition('aaa.by_hash'::regclass, 2, CASE tableoid WHEN 'aaa.by_hash_0'::regclass THEN 0 ELSE 1 END, m)) FROM aaa.by_hash}),
	0, 'every row is in the partition that its hash asks for');
is($new->safe_psql('postgres', q{SELECT bool_and(kiln_verify(m)) FROM aaa.events}), 't', 'every value is sound');
$new->safe_psql('postgres', "VACUUM FULL $_") for @tables;
$new->safe_psql('postgres', 'REINDEX SCHEMA aaa');
$new->safe_psql('postgres', 'REINDEX SCHEMA "!"');
is(fingerprint($new, 'postgres'), $before, 'everything is there also after a rewrite and a REINDEX');

$new->stop;
done_testing();
