# The same twenty queries on one server and on three shards give the same rows, and what they filter by is in the statements that go to
# the shards. Rows go in through the parent, by INSERT in batches and by COPY, and by COPY to a shard. KILN_ROWS says how many (100,000).
# Then tensors: which aggregates run on the shards, and that sums, means, extremes and stacks are the same bits wherever they run.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use ShardTest;
use Test::More;
use Time::HiRes qw(time);

my $rows = $ENV{KILN_ROWS} || 100_000;
my ($coordinator, @shards) = start_shards(3);
my $columns = 'm kiln(reading)';
my $partitionwise = 'SET enable_partitionwise_aggregate = on;';

sub one
{
	my ($sql) = @_;

	return $coordinator->safe_psql('postgres', $sql);
}

# The same, with a note of how long it took: $count rows of what $name says.
sub timed
{
	my ($name, $count, $sql) = @_;
	my $begun = time;
	my $result = one($sql);
	my $took = time - $begun;

	note(sprintf '%s: %.2f s%s', $name, $took, $count ? sprintf(', %d rows/s', $count / $took) : '');
	return $result;
}

# ---- in

make_parent('readings', $columns, "HASH (kiln_get_int8(m, 'device'))", $coordinator, @shards);
one("CREATE TABLE single ($columns)");
my $copied = int($rows / 20);
timed('INSERT into one server, encoded from jsonb', $rows, 'INSERT INTO single ' . sprintf($SHARD_ROWS, 1, $rows));
timed('INSERT … SELECT through the parent, batch_size 1000', $rows - 2 * $copied,
	'INSERT INTO readings SELECT m FROM single WHERE kiln_get_int8(m, \'id\') <= ' . ($rows - 2 * $copied));

my $file = $coordinator->basedir . '/rows.copy';
one("COPY (SELECT m FROM single WHERE kiln_get_int8(m, 'id') > @{[ $rows - 2 * $copied ]} AND kiln_get_int8(m, 'id') <= @{[ $rows - $copied ]}) TO '$file'");
timed('COPY into the parent', $copied, "COPY readings FROM '$file'");

# COPY to each shard by itself: which rows are a shard's, the partition's bounds say.
for my $i (1 .. 3)
{
	one(q{COPY (SELECT m FROM single WHERE kiln_get_int8(m, 'id') > } . ($rows - $copied)
		. qq{ AND satisfies_hash_partition('readings'::regclass, 3, @{[ $i - 1 ]}, kiln_get_int8(m, 'device'))) TO '$file'});
	my $begun = time;
	$shards[ $i - 1 ]->safe_psql('postgres', "COPY readings FROM '$file'");
	note(sprintf 'COPY to %s itself: %.2f s, %d rows/s', $shards[ $i - 1 ]->name, time - $begun, $copied / 3 / (time - $begun));
}
unlink $file;

my @parts = map { $_->safe_psql('postgres', 'SELECT count(*) FROM readings') } @shards;
is($parts[0] + $parts[1] + $parts[2], $rows, "$rows rows: " . join(' + ', @parts));
cmp_ok($_, '>', $rows / 5, 'a fair part') for @parts;
# How many devices there are: without, the planner takes each row for a group of its own and makes the groups here.
one("CREATE STATISTICS readings_${_}_groups ON (kiln_get_int8(m, 'device')), (kiln_get_text(m, 'kind')) FROM readings_$_") for 1 .. 3;
one('ANALYZE single, readings');
$_->safe_psql('postgres', "CREATE INDEX ON readings (((m->'id')::int8)); ANALYZE readings") for @shards;
one("CREATE INDEX ON single (((m->'id')::int8))");

# ---- twenty queries: [query of a table, what goes to the shards]

my $id = qr/public\.kiln_get_int8\(m, 'id'::text\)/;
my @queries = (
	[ q{SELECT count(*), sum((m->'value')::float8), min(kiln_get_text(m, 'kind') COLLATE "C") FROM %s}, qr/SELECT m FROM/ ],
	[ q{SELECT m FROM %s WHERE (m->'id')::int8 = 4711}, qr/$id = 4711/ ],
	[ q{SELECT m FROM %s WHERE m['id']::int8 BETWEEN 100 AND 120 ORDER BY (m->'id')::int8}, qr/$id >= 100.*$id <= 120/ ],
	[ q{SELECT (m->'id')::int8, m->>'note' FROM %s WHERE kiln_get_int8(m, 'id') IN (11, 22, 23) ORDER BY 1}, qr/$id = ANY \('\{11,22,23\}'/ ],
	[ q{SELECT count(*) FROM %s WHERE m->'kind' = '"alarm"' AND (m->'ok')::bool}, qr/kiln_get_bool\(m, 'ok'.*'kind'::text\) OPERATOR\(public\.=\)/ ],
	[ q{SELECT count(*), max((m->'at')::timestamptz) FROM %s WHERE (m->'at')::timestamptz >= '2026-01-03 00:00Z'}, qr/kiln_get_timestamptz\(m, 'at'::text\) >=/ ],
	[ q{SELECT (m->>'kind') COLLATE "C" AS kind, count(*), avg((m->'value')::float8) FROM %s WHERE (m->'value')::float8 < 10000 GROUP BY 1 ORDER BY 1},
		qr/kiln_get_float8\(m, 'value'::text\) < 10000/ ],
	[ q{SELECT (m->'device')::int8 AS device, count(*), sum((m->'value')::float8) FROM %s GROUP BY 1 ORDER BY 1},
		qr/SELECT public\.kiln_get_int8\(m, 'device'::text\), count\(\*\), sum\(public\.kiln_get_float8.*GROUP BY 1/ ],
	[ q{SELECT (m->'device')::int8 AS device, max((m->'at')::timestamptz) FROM %s WHERE m ? 'note' GROUP BY 1 HAVING count(*) > 5 ORDER BY 1 LIMIT 7},
		qr/OPERATOR\(public\.\?\) 'note'::text/ ],
	[ q{SELECT (m->'id')::int8, (m->'value')::float8 FROM %s ORDER BY (m->'value')::float8 DESC, (m->'id')::int8 LIMIT 10},
		qr/ORDER BY public\.kiln_get_float8\(m, 'value'::text\) DESC/ ],
	[ q{SELECT count(*) FROM %s WHERE m->>'note' IS NULL}, qr/kiln_get_text\(m, 'note'::text\) IS NULL/ ],
	[ q{SELECT count(*) FROM %s WHERE (m->'place'->'zip')::int4 < 50 AND m->'place'->'city' = '"À"'}, qr/'place\.zip'::text\) < 50/ ],
	[ q{SELECT count(*) FROM %s WHERE m @> '{"tags": ["t3"], "ok": true}'}, qr/m::jsonb @> / ],
	[ q{SELECT m->'key', (m->'id')::int8 FROM %s WHERE (m->'key')::uuid < '05000000-0000-0000-0000-000000000000' ORDER BY 2},
		qr/kiln_get_uuid\(m, 'key'::text\) < / ],
	[ q{SELECT sum((m->'props'->'a')::int4), sum((m->'props'->'b')::int8) FROM %s WHERE (m->'device')::int8 = 42}, qr/'device'::text\) = 42/ ],
	[ q{SELECT DISTINCT (m->'tags'->>0) COLLATE "C" FROM %s WHERE (m->'props'->'a')::int4 = 1 ORDER BY 1}, qr/'props\.a'::text\) = 1/ ],
	[ q{SELECT a.id, b.id FROM (SELECT (m->'id')::int8 AS id, (m->'key')::uuid AS key FROM %1$s WHERE (m->'id')::int8 < 200) a
		JOIN (SELECT (m->'id')::int8 AS id, (m->'key')::uuid AS key FROM %1$s WHERE m->'key' IS NOT NULL) b USING (key) ORDER BY 1, 2},
		qr/'key'::text\) IS NOT NULL/ ],
	[ q{SELECT id, lag(value) OVER (ORDER BY id) FROM (SELECT (m->'id')::int8 AS id, (m->'value')::float8 AS value FROM %s
		WHERE (m->'id')::int8 < 30) r ORDER BY 1}, qr/$id < 30/ ],
	[ q{SELECT kiln_frame(kiln_tensor_agg((m->'value')::float8 ORDER BY (m->'id')::int8)) FROM %s WHERE (m->'device')::int8 < 3},
		qr/'device'::text\) < 3/ ],
	[ q{SELECT e.key, count(*) FROM %s, kiln_each_text(m) AS e WHERE (m->'id')::int8 <= 50 GROUP BY 1 ORDER BY 1}, qr/$id <= 50/ ]);

is(scalar(@queries), 20, 'twenty queries');
for my $case (@queries)
{
	my ($query, $sent) = @$case;
	my $sharded = sprintf $query, 'readings';
	my $plan = one("$partitionwise EXPLAIN (VERBOSE, COSTS off) $sharded");

	like(join("\n", $plan =~ /Remote SQL: (.*)/g), $sent, "$query: sent");

	my $expected = timed('  on one server', 0, sprintf $query, 'single');
	isnt($expected, '', 'has rows');
	ok(timed('  on three shards', 0, "$partitionwise $sharded") eq $expected, 'and three shards have the same')
	  or diag("one server: $expected\nshards: " . one("$partitionwise $sharded"));
}

# ---- tensors

make_parent('series', 'shard int, name text, t kiln(tensor)', 'LIST (shard)', $coordinator, @shards);
one(q{CREATE TABLE single_series AS
	SELECT i % 3 + 1 AS shard, 'series ' || i AS name, (SELECT kiln_tensor_agg(sin(i * 1000 + k) * 10.0::float8 ^ (i % 30) ORDER BY k) FROM generate_series(1, 200) k) AS t
	FROM generate_series(1, 300) i});
one('INSERT INTO series SELECT * FROM single_series; ANALYZE series');
for my $aggregate (qw(kiln_sum_agg kiln_avg_agg kiln_min_agg kiln_max_agg))
{
	my $expected = one("SELECT kiln_frame($aggregate(t)) FROM single_series");
	my $plan = one("EXPLAIN (VERBOSE, COSTS off) SELECT $aggregate(t) FROM series_2");

	like($plan, qr/Remote SQL: SELECT public\.$aggregate\(t\) FROM public\.series/, "$aggregate of one shard runs there");
	is(one("SELECT kiln_frame($aggregate(t)) FROM series_2"), one("SELECT kiln_frame($aggregate(t)) FROM single_series WHERE shard = 2"), 'and gives the same bits');
	is(one("SELECT kiln_frame($aggregate(t)) FROM series"), $expected, 'over all shards, made here: the same bits');

	$plan = one("$partitionwise EXPLAIN (VERBOSE, COSTS off) SELECT $aggregate(t) FROM series");
	like($plan, qr/Finalize Aggregate/, 'partitionwise it is combined here');
	is(scalar(() = $plan =~ /Partial Aggregate/g), 3, 'from a state a shard');
	is(one("$partitionwise SELECT kiln_frame($aggregate(t)) FROM series"), $expected, 'the same bits');

	my $by_shard = "SELECT shard, count(*) AS n, $aggregate(t) AS v FROM series GROUP BY shard";
	$plan = one("$partitionwise EXPLAIN (VERBOSE, COSTS off) $by_shard");
	is(scalar(() = $plan =~ /Remote SQL: SELECT shard, count\(\*\), public\.$aggregate\(t\) FROM public\.series GROUP BY 1/g), 3,
		'grouped by the key it runs on the shards');
	is( one("$partitionwise SELECT shard, n, kiln_frame(v) FROM ($by_shard) x ORDER BY 1"),
		one("SELECT shard, count(*), kiln_frame($aggregate(t)) FROM single_series GROUP BY 1 ORDER BY 1"), 'with the same bits');

	# min and max of the shards' own are those of all; sums of sums are rounded once more
	is(one("$partitionwise SELECT kiln_frame($aggregate(v)) FROM ($by_shard) x"), $expected, 'and again, over the shards\' results')
	  if $aggregate =~ /min|max/;
}
my $sums = 'SELECT shard, count(*) AS n, kiln_sum_agg(t) AS v FROM series GROUP BY shard';
cmp_ok(one("$partitionwise SELECT kiln_l2_distance(kiln_sum_agg(v), (SELECT kiln_sum_agg(t) FROM single_series)) / kiln_norm(kiln_sum_agg(v)) FROM ($sums) x"),
	'<', 1e-15, 'a sum of sums is the sum but for a rounding');
cmp_ok(one("$partitionwise SELECT kiln_l2_distance(kiln_scale(kiln_sum_agg(v), 1.0 / sum(n)::float8), (SELECT kiln_avg_agg(t) FROM single_series))"
		. " / kiln_norm(kiln_sum_agg(v)) FROM ($sums) x"), '<', 1e-15, 'and divided by the number of rows the mean');
for my $stacked ('kiln_tensor_agg(t ORDER BY name COLLATE "C")', 'kiln_directory_agg(name, t ORDER BY name COLLATE "C")',
	q{kiln_tensor_agg(kiln_norm(t) ORDER BY name COLLATE "C")})
{
	is(one("SELECT kiln_frame($stacked) FROM series"), one("SELECT kiln_frame($stacked) FROM single_series"), "$stacked over the shards");
}
like(one('EXPLAIN (VERBOSE, COSTS off) SELECT name FROM series WHERE kiln_at(t, 3) > 0.5'),
	qr/Remote SQL: SELECT name FROM public\.series WHERE \(\(public\.kiln_at\(t, 3::bigint\) > 0\.5::double precision\)\)/, 'elements are filters, too');
for my $condition (q{kiln_norm(t) > 5}, q{kiln_mean(t, '') > 0}, q{kiln_at(t, '', 3) < 0}, q{kiln_dot(t, kiln_tensor(array_fill(1::float8, ARRAY[200]))) > 0},
	q{kiln_l2_distance(t, (SELECT t FROM single_series WHERE name = 'series 7')) < 20}, q{kiln_shape(t) = '{200}'})
{
	my ($remote, $plan) = remote_sql($coordinator, "SELECT name FROM series WHERE $condition");

	is(scalar(() = $remote =~ /SELECT name FROM public\.series WHERE \(\(public\.kiln_/g), 3, "$condition: sent");
	is(one("SELECT count(*), md5(string_agg(name, ' ' ORDER BY name COLLATE \"C\")) FROM series WHERE $condition"),
		one("SELECT count(*), md5(string_agg(name, ' ' ORDER BY name COLLATE \"C\")) FROM single_series WHERE $condition"), 'the same rows');
}
my $near = q{SELECT name FROM %s ORDER BY kiln_cosine_distance(t, (SELECT t FROM single_series WHERE name = 'series 7')), name LIMIT 5};
is(one(sprintf $near, 'series'), one(sprintf $near, 'single_series'), 'nearest neighbours');

$_->stop for $coordinator, @shards;
done_testing();
