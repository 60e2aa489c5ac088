# kiln_tensor_agg over ten million rows: parallel plans give the same numbers as a serial one, with ORDER BY in the same order.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use Test::More;

my $rows = 10_000_000;
my $node = start_node('main', <<'SETTINGS');
shared_buffers = 512MB
max_wal_size = 8GB
work_mem = 512MB
maintenance_work_mem = 512MB
max_worker_processes = 8
autovacuum = off
jit = off
SETTINGS

# Numbers of every kind, none of them in order, many of them more than once. 0 and -0 are equal but not the same, hence float8send.
$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION kiln;
CREATE UNLOGGED TABLE samples AS
	SELECT i, CASE WHEN i % 1000003 = 0 THEN 'NaN'::float8 WHEN i % 1000033 = 0 THEN '-Infinity' WHEN i % 99991 = 0 THEN '-0'
		ELSE (i::int8 * 2654435761 % 5000011) / 7.0::float8 END AS x
	FROM generate_series(1, $rows) i;
ANALYZE samples;
CREATE TABLE made (name text PRIMARY KEY, v kiln);
SQL

my $serial = 'SET max_parallel_workers_per_gather = 0';
my $parallel = join '; ', 'SET max_parallel_workers_per_gather = 2', 'SET parallel_setup_cost = 0', 'SET parallel_tuple_cost = 0',
	'SET min_parallel_table_scan_size = 0';

my $plan = $node->safe_psql('postgres', "$parallel; EXPLAIN (ANALYZE, COSTS off, TIMING off) SELECT kiln_tensor_agg(x) FROM samples");
like($plan, qr/Partial Aggregate/, 'the aggregate runs in parallel');
like($plan, qr/Workers Launched: [12]/, 'with workers');
unlike($node->safe_psql('postgres', "$serial; EXPLAIN (COSTS off) SELECT kiln_tensor_agg(x) FROM samples"), qr/Partial|Gather/, 'and serially');

# INSERT … SELECT never runs in parallel: the value goes by way of a materialized view.
$node->safe_psql('postgres', "$parallel; CREATE MATERIALIZED VIEW parallel AS SELECT kiln_tensor_agg(x) AS v FROM samples");
$node->safe_psql('postgres', "$serial; CREATE MATERIALIZED VIEW serial AS SELECT kiln_tensor_agg(x) AS v FROM samples");

for my $name (qw(parallel serial))
{
	is($node->safe_psql('postgres', "SELECT kiln_shape(v) FROM $name"), "{$rows}", "$name: all rows");
	$node->safe_psql('postgres',
		"$serial; INSERT INTO made SELECT '$name', kiln_tensor_agg(x ORDER BY x, float8send(x)) FROM $name, unnest(kiln_to_array(v)) x");
}
is($node->safe_psql('postgres', q{SELECT a.v = b.v FROM made a, made b WHERE a.name = 'parallel' AND b.name = 'serial'}), 't',
	'the same multiset of numbers');
is( $node->safe_psql('postgres', q{
		SELECT (SELECT kiln_tensor_agg(x ORDER BY x, float8send(x)) FROM samples) = v FROM made WHERE name = 'parallel'}), 't',
	'and it is that of the table');

# In order.
my @ordered = map { $node->safe_psql('postgres', "$_; SELECT md5(kiln_frame(kiln_tensor_agg(x ORDER BY i))) FROM samples") } $serial, $parallel;
is($ordered[0], $ordered[1], 'with ORDER BY the same value in both');
is( $node->safe_psql('postgres', 'SELECT md5(kiln_frame(kiln_tensor(array_agg(x ORDER BY i)))) FROM samples'),
	$ordered[0], 'which is that of the array');

# Groups, some of them empty to a worker; and no rows at all.
my $groups = 'SELECT md5(string_agg(h, $$ $$ ORDER BY g)) FROM (SELECT i % 1000 AS g, md5(kiln_frame(kiln_tensor_agg(x ORDER BY i))) AS h FROM samples WHERE i <= 500000 GROUP BY 1) s';
is($node->safe_psql('postgres', "$parallel; $groups"), $node->safe_psql('postgres', "$serial; $groups"), 'groups');
is($node->safe_psql('postgres', "$parallel; SELECT kiln_tensor_agg(x) IS NULL FROM samples WHERE i < 0"),
	$node->safe_psql('postgres', "$serial; SELECT kiln_tensor_agg(x) IS NULL FROM samples WHERE i < 0"), 'no rows');

# A NULL that only a worker sees is the same error.
for my $set ($serial, $parallel)
{
	my ($status, $out, $error) = $node->psql('postgres', "\\set VERBOSITY verbose\n$set; SELECT kiln_tensor_agg(CASE WHEN i = 9999999 THEN NULL ELSE x END) FROM samples");
	like($error, qr/22004/, 'a NULL row is an error');
}

$node->stop;
done_testing();
