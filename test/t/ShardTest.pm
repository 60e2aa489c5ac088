# What the tests of several servers share: a coordinator and shards, each a cluster of its own, joined by postgres_fdw.

package ShardTest;

use strict;
use warnings;

use Exporter 'import';
use KilnTest;
use PostgreSQL::Test::Cluster;
use Test::More;

our @EXPORT = qw(start_shards connect_shard make_parent remote_sql $SHARD_EVENT $SHARD_ROWS);

# The event of these tests, and $SHARD_ROWS' place for the first and the last number of its rows.
our $SHARD_EVENT = 'reading(device i64, id i64, at timestamptz, kind string, value f64, ok bool, key uuid?, note string?,'
	. ' place (city string, zip i32?)?, tags string[], props dict<i32>, extra json?)';

# Values are multiples of 1/8, so that sums are the same in every order.
our $SHARD_ROWS = <<'SQL';
SELECT kiln_encode('reading', jsonb_strip_nulls(jsonb_build_object(
	'device', i::int8 * 7919 % 97, 'id', i, 'at', timestamptz '2026-01-01 00:00Z' + i * interval '1 minute',
	'kind', (ARRAY['alarm', 'start', 'stop', 'état', 'zone'])[i % 5 + 1], 'value', (i::int8 * 2654435761 % 1000003) / 8.0::float8,
	'ok', i % 3 = 0, 'key', CASE WHEN i % 7 = 0 THEN md5(i::text)::uuid END, 'note', CASE WHEN i % 11 = 0 THEN 'note ' || i END,
	'place', CASE WHEN i % 4 = 0 THEN jsonb_build_object('city', chr(192 + i % 26), 'zip', i % 1000) END,
	'tags', to_jsonb(ARRAY['t' || i % 10, 'x']), 'props', jsonb_build_object('a', i % 13, 'b', -i),
	'extra', CASE WHEN i % 6 = 0 THEN jsonb_build_object('k', ARRAY[i / 6 % 2, 1]) END))) AS m
FROM generate_series(%d, %d) i
SQL

my $settings = <<'SETTINGS';
timezone = 'UTC'
autovacuum = off
fsync = off
max_wal_size = 2GB
jit = off
SETTINGS

# A coordinator and $count shards, with the extension and $SHARD_EVENT in each.
sub start_shards
{
	my ($count, $further) = @_;
	my @nodes = map { start_node($_, $settings . ($further // '')) } 'coordinator', map { "shard$_" } 1 .. $count;

	$_->safe_psql('postgres', "CREATE EXTENSION kiln; SELECT kiln_register('$SHARD_EVENT')") for @nodes;
	$nodes[0]->safe_psql('postgres', 'CREATE EXTENSION postgres_fdw');
	for my $i (1 .. $count)
	{
		connect_shard($nodes[0], $nodes[$i], "shard$i");
	}
	return @nodes;
}

# A foreign server for a node, whose functions of kiln are known to be the same there.
sub connect_shard
{
	my ($coordinator, $shard, $name) = @_;
	my ($host, $port) = ($shard->host, $shard->port);

	$coordinator->safe_psql('postgres', <<"SQL");
CREATE SERVER $name FOREIGN DATA WRAPPER postgres_fdw
	OPTIONS (host '$host', port '$port', dbname 'postgres', extensions 'kiln', batch_size '1000', fetch_size '10000');
CREATE USER MAPPING FOR PUBLIC SERVER $name OPTIONS (user '@{[ $coordinator->safe_psql('postgres', 'SELECT current_user') ]}');
SQL
}

# A table of the given columns on every shard, and a parent that is partitioned over them.
sub make_parent
{
	my ($name, $columns, $key, $coordinator, @shards) = @_;
	my $count = @shards;

	$_->safe_psql('postgres', "CREATE TABLE $name ($columns)") for @shards;
	$coordinator->safe_psql('postgres', "CREATE TABLE $name ($columns) PARTITION BY $key");
	for my $i (1 .. $count)
	{
		my $bounds = $key =~ /^HASH/ ? sprintf('WITH (MODULUS %d, REMAINDER %d)', $count, $i - 1) : "IN ($i)";

		$coordinator->safe_psql('postgres',
			"CREATE FOREIGN TABLE ${name}_$i PARTITION OF $name FOR VALUES $bounds SERVER shard$i OPTIONS (table_name '$name')");
	}
}

# The statements that a query sends to shards, one a line, and the plan.
sub remote_sql
{
	my ($node, $query) = @_;
	my $plan = $node->safe_psql('postgres', "EXPLAIN (VERBOSE, COSTS off) $query");

	return (join("\n", $plan =~ /Remote SQL: (.*)/g), $plan);
}

1;
