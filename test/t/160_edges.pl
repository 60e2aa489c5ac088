# The largest values and the most groups: what is stored near 1 GB can be printed, dumped and read again, or is refused with
# 54000 (case 47); a million groups of an aggregate take about the memory and time that array_agg takes (case 56).
#
# Takes up to 4 GB of memory, as much room on disk, and about a minute; the largest values of all, some minutes, with KILN_LARGE=1.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = start_node('main', <<'SETTINGS');
autovacuum = off
fsync = off
full_page_writes = off
wal_level = minimal
max_wal_senders = 0
max_wal_size = 8GB
jit = off
shared_buffers = 64MB
max_parallel_workers_per_gather = 0
log_min_messages = log
log_min_error_statement = panic
SETTINGS
my $folder = PostgreSQL::Test::Utils::tempdir();

$node->safe_psql('postgres', 'CREATE EXTENSION kiln');

# ---------------------------------------------------------------- case 47

# Most bytes of a value; what it needs beside its content is below 100.
my $most = 700_000_000;
my $bytes = sub { qq{kiln_encode('(b bytes)', r) FROM (SELECT convert_to(repeat('x', $_[0]), 'SQL_ASCII') AS b) r} };
my $tensor = sub { qq{kiln_tensor_agg(i / 7.0::float8) FROM generate_series(1, $_[0]) i} };
my @stored = ([ 'bytes of 400 MB', $bytes->(400_000_000) ], [ 'a tensor of 40,000,000 numbers of 17 digits', $tensor->(40_000_000) ]);
push @stored, [ 'bytes, the most there can be', $bytes->($most - 100) ], [ 'a tensor of 87,000,000 numbers', $tensor->(87_000_000) ] if $ENV{KILN_LARGE};

for my $stored (@stored)
{
	my ($name, $select) = @$stored;
	my ($status, $out, $error) = $node->psql('postgres', <<"SQL", timeout => 900);
\\set ON_ERROR_STOP 1
BEGIN;
CREATE TABLE large (v kiln);
INSERT INTO large SELECT $select;
SELECT octet_length(kiln_frame(v)) < $most, octet_length(v::text) < 1073741823 FROM large;
COPY large TO '$folder/large';
CREATE TABLE again (v kiln);
COPY again FROM '$folder/large' (FREEZE);
SELECT (SELECT v FROM large) = (SELECT v FROM again);
COMMIT;
SQL
	is($out, "t|t\nt", "$name: stored, printed, dumped as text and read again (case 47)") or diag $error;
	($status, $out, $error) = $node->psql('postgres', "\\set VERBOSITY sqlstate\nSELECT v::jsonb IS NULL FROM large", timeout => 900);
	like($error, qr/54000/, "$name: as jsonb it is refused as too large");
	is($node->safe_psql('postgres', 'SELECT 1'), 1, 'and the server goes on');
	my $dumped = PostgreSQL::Test::Utils::tempdir() . '/dump';
	$node->command_ok([ 'pg_dump', '-t', 'again', '-f', $dumped, $node->connstr('postgres') ], "$name: pg_dump");
	cmp_ok(-s $dumped, '>', 400_000_000, "$name: and it is in the dump");
	unlink $dumped, "$folder/large";
	$node->safe_psql('postgres', 'DROP TABLE large, again');
}

# Beyond the most, at each door.
for my $refused (
	[ 'bytes of 700 MB', 'SELECT length(v::text) FROM (SELECT ' . $bytes->($most) . ') s(v)' ],
	[ 'a tensor of 87,600,000 numbers', 'SELECT length(v::text) FROM (SELECT ' . $tensor->(87_600_000) . ') s(v)' ],
	[ 'frames of 705 MB', q{SELECT kiln_from_frame('\x12'::bytea || repeat('x', 705000000)::bytea) IS NULL} ])
{
	my ($name, $sql) = @$refused;
	my ($status, $out, $error) = $node->psql('postgres', "\\set VERBOSITY sqlstate\n$sql", timeout => 900);

	like($error, qr/54000/, "$name: refused") or diag $out;
}

# ---------------------------------------------------------------- case 56

# Peak memory of a backend of its own, in kB, and seconds.
sub cost
{
	my ($aggregate, $work_mem) = @_;
	my $begun = time;
	my $out = $node->safe_psql('postgres', <<"SQL", timeout => 600);
SET work_mem = '$work_mem';
SET enable_sort = off;
SELECT count(a) FROM (SELECT $aggregate AS a FROM groups GROUP BY g) s;
SELECT substring(s from 'VmHWM:\\s+(\\d+)')::int - substring(s from 'RssShmem:\\s+(\\d+)')::int FROM pg_read_file('/proc/' || pg_backend_pid() || '/status') s;
SQL
	my ($groups, $memory) = split /\n/, $out;

	is($groups, 1_000_000, "$aggregate: a million groups, work_mem $work_mem (case 56)");
	return ($memory, time - $begun);
}

SKIP:
{
	skip 'no /proc', 1 unless -r '/proc/self/status';
	$node->safe_psql('postgres', 'CREATE UNLOGGED TABLE groups AS SELECT i % 1000000 AS g, i::float8 AS x FROM generate_series(1, 4000000) i; ANALYZE groups');
	for my $work_mem (qw(4MB 256MB))
	{
		my ($memory, $seconds) = cost('kiln_tensor_agg(x)', $work_mem);
		my ($array_memory, $array_seconds) = cost('array_agg(x)', $work_mem);

		note "work_mem $work_mem: $memory kB and $seconds s; array_agg $array_memory kB and $array_seconds s";
		# a plan by hashing takes what work_mem gives it, where array_agg's sorts on disk
		my ($given) = $work_mem =~ /(\d+)/;
		my $most_memory = 2 * $array_memory > 1024 * $given ? 2 * $array_memory : 1024 * $given;

		cmp_ok($memory, '<', $most_memory + 20_000, 'in twice the memory of array_agg, or in work_mem');
		cmp_ok($seconds, '<', 3 * $array_seconds + 2, 'and its time');
	}
}
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|XX000|was terminated by signal/, 'no crash in the log');

$node->stop;
done_testing();
