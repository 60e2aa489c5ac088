# What shards need of the catalog: calls with a path or a name are planned without a collation, before and after the update to 1.1, and
# use the same indexes; every aggregate has the parts that a combination across servers needs. Where Citus is installed it makes use of
# them: kiln tables are distributed, and aggregates combined by worker_partial_agg and coord_combine_agg.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use Test::More;

my $citus = -e qx(pg_config --sharedir) =~ s/\n//r . '/extension/citus.control';
my $node = start_node('main', $citus ? "shared_preload_libraries = 'citus'\n" : '');

sub one
{
	my ($sql, $database) = @_;

	return $node->safe_psql($database // 'postgres', $sql);
}

# ---- collations

my $members = q{pg_depend d WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
	AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'kiln') AND d.classid = };
one('CREATE EXTENSION kiln');
my $text_arguments = qq{
	SELECT %s FROM pg_proc p WHERE p.oid IN (SELECT objid FROM $members 'pg_proc'::regclass)
		AND prokind = 'f' AND provolatile = 'i' AND NOT proretset AND prorettype <> 'internal'::regtype
		AND proargtypes::oid[] && ARRAY['text'::regtype, 'text[]'::regtype]::oid[]};
cmp_ok(one(sprintf $text_arguments, 'count(*)'), '>', 40, 'immutable functions with a path or name');
is(one(sprintf "$text_arguments AND prosupport <> 'kiln_getter_support'::regproc", 'p.oid::regprocedure'), '',
	'each has the support function that plans it without a collation');

# An index on either spelling serves both: in 1.0 as it was released, with this library, and after the update.
one('CREATE DATABASE old');
one(q{
	CREATE EXTENSION kiln VERSION '1.0';
	SELECT kiln_register('event(id i64, kind string)');
	CREATE TABLE by_function (m kiln(event)); CREATE INDEX by_function_id ON by_function (kiln_get_int8(m, 'id'));
	CREATE TABLE by_cast (m kiln(event)); CREATE INDEX by_cast_id ON by_cast (((m->'id')::int8));
	CREATE TABLE by_operator (m kiln(event)); CREATE INDEX by_operator_kind ON by_operator ((m->'kind'));
	CREATE TABLE by_text (m kiln(event)); CREATE INDEX by_text_kind ON by_text ((m->>'kind')) WHERE m ? 'kind'}, 'old');
sub check_indexes
{
	my ($version, $database) = @_;

	for my $case (
		[ 'by_function', q{kiln_get_int8(m, 'id') = 1} ], [ 'by_function', q{(m->'id')::int8 = 1} ], [ 'by_function', q{m['id']::int8 = 1} ],
		[ 'by_cast', q{kiln_get_int8(m, 'id') = 1} ], [ 'by_cast', q{(m->'id')::int8 = 1} ], [ 'by_operator', q{m->'kind' = '"x"'} ],
		[ 'by_text', q{m->>'kind' = 'x' AND m ? 'kind'} ], [ 'by_text', q{kiln_get(m, 'kind') = 'x' AND m ? 'kind'} ])
	{
		my ($table, $condition) = @$case;

		like(one("SET enable_seqscan = off; EXPLAIN SELECT * FROM $table WHERE $condition", $database), qr/Index.* ${table}_(id|kind)/,
			"$version, $table: $condition by index");
	}
}
check_indexes('1.0', 'old');
one('ALTER EXTENSION kiln UPDATE', 'old');
check_indexes('updated', 'old');
one(q{DROP INDEX by_function_id, by_cast_id, by_operator_kind, by_text_kind;
	CREATE INDEX by_function_id ON by_function (kiln_get_int8(m, 'id')); CREATE INDEX by_cast_id ON by_cast (((m->'id')::int8));
	CREATE INDEX by_operator_kind ON by_operator ((m->'kind')); CREATE INDEX by_text_kind ON by_text ((m->>'kind')) WHERE m ? 'kind'}, 'old');
check_indexes('made after it', 'old');

# A function of somebody else that has our support function keeps its collation.
one(q{CREATE FUNCTION upper_of(text, text) RETURNS text IMMUTABLE LANGUAGE internal AS 'textcat' SUPPORT kiln_getter_support});
is(one(q{SELECT upper_of('a', 'b') || upper_of(upper('ä' COLLATE "C"), 'x')}), 'abäx', 'what else has that support function is left alone');

# ---- aggregates

my $aggregates = qq{FROM pg_aggregate a WHERE a.aggfnoid IN (SELECT objid FROM $members 'pg_proc'::regclass)};
cmp_ok(one("SELECT count(*) $aggregates"), '>=', 19, 'aggregates of the extension');
is(one("SELECT a.aggfnoid::regprocedure $aggregates AND a.aggcombinefn = 0::regproc"), '', 'each has a combine function');
is(one("SELECT a.aggfnoid::regprocedure $aggregates AND a.aggtranstype = 'internal'::regtype
		AND (a.aggserialfn = 0::regproc OR a.aggdeserialfn = 0::regproc)"), '', 'one with an internal state can write and read it');
is(one("SELECT a.aggfnoid::regprocedure $aggregates AND (SELECT proparallel FROM pg_proc WHERE oid = a.aggfnoid) <> 's'"), '', 'all are parallel safe');
is( one("SELECT a.aggfnoid::regprocedure, f.oid::regprocedure $aggregates"
			=~ s/WHERE/, pg_proc f WHERE f.oid IN (a.aggtransfn, a.aggcombinefn, a.aggserialfn, a.aggdeserialfn, a.aggfinalfn) AND f.proparallel <> 's' AND/r),
	'', 'and so are their parts');

# ---- Citus

SKIP:
{
	skip 'Citus is not installed here', 6 unless $citus;

	one(q{CREATE EXTENSION citus; SELECT citus_set_coordinator_host('localhost', current_setting('port')::int);
		SET citus.shard_replication_factor = 1;
		SELECT kiln_register('reading(device i64, id i64, value f64)');
		CREATE TABLE single (device int, m kiln(reading), t kiln(tensor));
		INSERT INTO single SELECT i % 97, kiln_encode('reading', jsonb_build_object('device', i % 97, 'id', i, 'value', i / 8.0::float8)),
			kiln_tensor(ARRAY[sin(i), cos(i), i]) FROM generate_series(1, 2000) i;
		CREATE TABLE spread (device int, m kiln(reading), t kiln(tensor));
		SELECT create_distributed_table('spread', 'device', shard_count => 4);
		INSERT INTO spread SELECT * FROM single});
	my $query = q{SELECT count(*), sum((m->'value')::float8) FROM %s WHERE (m->'id')::int8 % 7 = 3};
	is(one(sprintf $query, 'spread'), one(sprintf $query, 'single'), 'Citus: filter and sum');
	for my $aggregate (qw(kiln_sum_agg kiln_avg_agg kiln_min_agg kiln_max_agg))
	{
		is(one("SET citus.coordinator_aggregation_strategy = 'disabled'; SELECT kiln_frame($aggregate(t)) FROM spread"),
			one("SELECT kiln_frame($aggregate(t)) FROM single"), "Citus: $aggregate combined from the workers' states");
	}
	is(one(q{SELECT kiln_shape(kiln_tensor_agg(t)) FROM spread}), one(q{SELECT kiln_shape(kiln_tensor_agg(t)) FROM single}), 'Citus: stacked');
}

$node->stop;
done_testing();
