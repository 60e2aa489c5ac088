# Three shards behind a partitioned table: which filters, groups and aggregates postgres_fdw sends to them, that the rows are the same
# either way, how types and definitions travel, and what is said where one is missing.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use ShardTest;
use Test::More;

my ($coordinator, @shards) = start_shards(3);
my $columns = 'm kiln(reading)';
my $version = $coordinator->safe_psql('postgres', 'SHOW server_version_num');

# One server's table beside the shards' rows. The key of a partition is a field: no column repeats it.
make_parent('readings', $columns, "HASH (kiln_get_int8(m, 'device'))", $coordinator, @shards);
$coordinator->safe_psql('postgres', "CREATE TABLE single ($columns); INSERT INTO single " . sprintf($SHARD_ROWS, 1, 6000));
$coordinator->safe_psql('postgres', 'INSERT INTO readings SELECT m FROM single');
cmp_ok($_->safe_psql('postgres', 'SELECT count(*) FROM readings'), '>', 1000, $_->name . ' has its part') for @shards;
is($shards[0]->safe_psql('postgres', q{SELECT string_agg(DISTINCT encode(substr(kiln_frame(m), 1, 1), 'hex'), ' ') FROM readings}),
	'11', 'stored by hash there');

sub one
{
	my ($node, $sql) = @_;

	return $node->safe_psql('postgres', $sql);
}

# ---- filters: [condition, what the statement for the shard has to have, or undef where it is evaluated here]

my $date = q{'2026-01-02 00:00:00+00'::timestamp with time zone};
my @filters = (
	# numbers, however spelled
	[ q{kiln_get_int8(m, 'id') < 50}, q{public.kiln_get_int8(m, 'id'::text) < 50} ],
	[ q{(m->'id')::int8 < 50}, q{public.kiln_get_int8(m, 'id'::text) < 50} ],
	[ q{m['id']::int8 < 50}, q{public.kiln_get_int8(m, 'id'::text) < 50} ],
	[ q{kiln_get(m, 'id', NULL::int8) < 50}, q{public.kiln_get(m, 'id'::text, NULL::bigint) < 50} ],
	[ q{(m->'id')::int8 IN (1, 2, 6000)}, q{public.kiln_get_int8(m, 'id'::text) = ANY ('{1,2,6000}'::bigint[])} ],
	[ q{(m->'id')::int8 % 100 = 3}, q{(public.kiln_get_int8(m, 'id'::text) % 100::bigint) = 3} ],
	[ q{(m->'value')::float8 BETWEEN 1000 AND 2000}, q{public.kiln_get_float8(m, 'value'::text) <= 2000::double precision} ],
	[ q{(m->>'id')::int8 < 50}, undef ],
	# other types
	[ q{kiln_get_bool(m, 'ok')}, q{WHERE (public.kiln_get_bool(m, 'ok'::text))} ],
	[ q{NOT (m->'ok')::bool}, q{NOT public.kiln_get_bool(m, 'ok'::text)} ],
	[ q{(m->'at')::timestamptz < '2026-01-02 00:00Z'}, qq{public.kiln_get_timestamptz(m, 'at'::text) < $date} ],
	[ q{(m->'at')::timestamptz < timestamptz '2026-01-01 00:00Z' + interval '1 day'}, undef ],
	[ q{(m->'key')::uuid = md5('7')::uuid}, q{public.kiln_get_uuid(m, 'key'::text) = '8f14e45f-ceea-167a-5a36-dedd4bea2543'::uuid} ],
	[ q{kiln_get_bytea(m, 'kind') = 'stop'}, q{public.kiln_get_bytea(m, 'kind'::text) = E'\\\\x73746f70'::bytea}, 'error' ],
	# strings: as kiln or as jsonb
	[ q{m->'kind' = '"état"'}, q{(m OPERATOR(public.->) 'kind'::text) OPERATOR(public.=) '{"$kiln": "string", "$value": "état"}'::public.kiln} ],
	[ q{m['kind'] = '"stop"'}, q{(m['kind'::text]) OPERATOR(public.=) '{"$kiln": "string", "$value": "stop"}'::public.kiln} ],
	[ q{kiln_get_kiln(m, 'kind') > '"stop"'}, q{public.kiln_get_kiln(m, 'kind'::text) OPERATOR(public.>) } ],
	[ q{m->'kind' = '"stop"' OR m->'kind' = '"start"'}, q{) OR (} ],
	[ q{m @> '{"kind": "stop"}'}, q{m::jsonb @> '{"kind": "stop"}'::jsonb} ],
	[ q{(m->'kind')::jsonb = '"stop"'}, q{public.kiln_get_jsonb(m, 'kind'::text) = '"stop"'::jsonb} ],
	[ q{m->>'kind' = 'stop'}, undef ],
	[ q{kiln_get(m, 'kind') = 'stop'}, undef ],
	[ q{m->>'kind' LIKE 'st%'}, undef ],
	# Only from 17 on is the array type of an extension's type its member, too.
	[ q{m->'kind' IN ('"stop"', '"start"')}, $version < 170000 ? undef : q[(m OPERATOR(public.->) 'kind'::text) OPERATOR(public.=) ANY (E'{] ],
	# what is absent
	[ q{m->>'note' IS NULL}, q{public.kiln_get_text(m, 'note'::text) IS NULL} ],
	[ q{m->'note' IS NOT NULL}, q{(m OPERATOR(public.->) 'note'::text) IS NOT NULL} ],
	[ q{m ? 'note'}, q{m OPERATOR(public.?) 'note'::text} ],
	# inside
	[ q{(m->'place'->'zip')::int4 > 990}, q{public.kiln_get_int4(m, 'place.zip'::text) > 990} ],
	[ q{m['place']['zip']::int4 > 990}, q{public.kiln_get_int4(m, 'place.zip'::text) > 990} ],
	[ q{(m #> '{place,zip}')::int4 > 990}, q{(m OPERATOR(public.#>) '{place,zip}'::text[])::integer > 990} ],
	[ q{(m #>> '{place,zip}')::int4 > 990}, undef ],
	[ q{m->'tags'->0 = '"t3"'}, q{((m OPERATOR(public.->) 'tags'::text) OPERATOR(public.->) 0) OPERATOR(public.=)} ],
	[ q{kiln_get_jsonb(m, 'tags') @> '["t3"]'}, q{public.kiln_get_jsonb(m, 'tags'::text) @> '["t3"]'::jsonb} ],
	[ q{m->'tags' @> '["t3"]'}, q{@> '["t3"]'::jsonb} ],
	[ q{kiln_get(m, 'tags', NULL::text[]) @> '{t3}'}, undef ],
	[ q{(m->'props'->'a')::int4 = 12}, q{public.kiln_get_int4(m, 'props.a'::text) = 12} ],
	[ q{(m->'extra'->'k'->0)::int8 = 1}, q{public.kiln_get_int8(m, 'extra.k[0]'::text) = 1} ],
	[ q{(m->'extra')::jsonb @> '{"k": [0]}'}, q{public.kiln_get_jsonb(m, 'extra'::text) @> '{"k": [0]}'::jsonb} ],
	# the value itself
	[ q{kiln_is(m, 'reading')}, q{public.kiln_is(m, 'reading'::text)} ],
	[ q{octet_length(kiln_frame(m)) > 130}, q{octet_length(public.kiln_frame(m)) > 130} ],
	[ q{kiln_version(m) = 1}, undef ],
	[ q{kiln_verify(m)}, undef ],
	[ q{kiln_schema(m) = 'reading'}, undef ],
	[ q{m::text LIKE '%stop%'}, undef ]);

for my $case (@filters)
{
	my ($condition, $shipped, $error) = @$case;
	my ($remote, $plan) = remote_sql($coordinator, "SELECT m FROM readings WHERE $condition");
	my $statements = () = $remote =~ /^SELECT m FROM public\.readings/mg;

	if (defined $shipped)
	{
		my $hits = () = $remote =~ /\Q$shipped\E/g;

		is("$hits of $statements", '3 of 3', "$condition: sent") or diag($remote);
		unlike($plan, qr/^ *Filter:/m, 'and not evaluated again');
	}
	else
	{
		unlike($remote, qr/WHERE/, "$condition: not sent");
		like($plan, qr/^ *Filter:/m, 'but evaluated here');
	}
	if ($error)
	{
		my ($status, $out, $message) = $coordinator->psql('postgres', "SELECT m FROM readings WHERE $condition");

		like($message, qr/ERROR: .*\n(.*\n)*CONTEXT: +remote SQL command: SELECT m/, 'and its error comes from there');
		next;
	}
	my $rows = q{SELECT count(*), md5(string_agg(m::text, E'\n' ORDER BY kiln_get_int8(m, 'id')))};
	my $expected = one($coordinator, "$rows FROM single WHERE $condition");

	is(one($coordinator, "$rows FROM readings WHERE $condition"), $expected, 'the rows of one server');
	unlike($expected, qr/^0\|/, 'there are some');
}

# Parameters of prepared statements go along, also one that is the key.
my $prepared = "SET plan_cache_mode = force_generic_plan; PREPARE p(text, int8, kiln) AS SELECT kiln_get_int8(m, 'id') FROM readings"
	. " WHERE m->\$1 = '\"stop\"' AND (m->'id')::int8 < \$2 AND m->'kind' = \$3 ORDER BY 1;";
my $plan = one($coordinator, "$prepared EXPLAIN (VERBOSE, COSTS off) EXECUTE p('kind', 20, '\"stop\"')");
like($plan, qr/kiln_get_int8\(m, 'id'::text\) < \$1::bigint.*OPERATOR\(public\.->\) \$2::text.* \$3::public\.kiln/, 'parameters are sent');
is(one($coordinator, "$prepared EXECUTE p('kind', 20, '\"stop\"')"), "2\n7\n12\n17", 'and arrive');
is(one($coordinator, "SELECT count(*) FROM readings WHERE (m->'at')::timestamptz < (SELECT timestamptz '2026-01-01 00:00Z' + interval '1 hour')"),
	59, 'a stable expression can go as a subquery');
like((remote_sql($coordinator, "SELECT m FROM readings WHERE (m->'at')::timestamptz < (SELECT now())"))[0],
	qr/kiln_get_timestamptz\(m, 'at'::text\) < \$1::timestamp with time zone/, 'which is then a parameter');

# ---- pruning, order, groups

my ($remote, $pruned) = remote_sql($coordinator, "SELECT m FROM readings WHERE (m->'device')::int8 = 5 AND m->'kind' = '\"stop\"'");
is(scalar(() = $remote =~ /SELECT/g), 1, 'a field that is the key leads to one shard');
like($remote, qr/kiln_get_int8\(m, 'device'::text\) = 5.*'kind'/, 'with its filter');

($remote) = remote_sql($coordinator, "SELECT m FROM readings ORDER BY (m->'value')::float8, (m->'id')::int8 LIMIT 3");
like($remote, qr/ORDER BY public\.kiln_get_float8\(m, 'value'::text\) ASC NULLS LAST, public\.kiln_get_int8/, 'order is sent');

my $by_key = "SELECT (m->'device')::int8 AS device, count(*), sum((m->'value')::float8), min((m->'at')::timestamptz) FROM %s"
	. " WHERE (m->'ok')::bool GROUP BY 1 ORDER BY 1";
($remote, $plan) = remote_sql($coordinator, sprintf("$by_key", 'readings'));
unlike($remote, qr/GROUP BY/, 'groups are made here');
$plan = one($coordinator, 'SET enable_partitionwise_aggregate = on; EXPLAIN (VERBOSE, COSTS off) ' . sprintf($by_key, 'readings'));
is(scalar(() = $plan =~ /Remote SQL: SELECT public\.kiln_get_int8\(m, 'device'::text\), count\(\*\), sum\(public\.kiln_get_float8.* GROUP BY 1/g),
	3, 'unless partitionwise: groups by the key are made on the shards');
is(one($coordinator, 'SET enable_partitionwise_aggregate = on; ' . sprintf($by_key, 'readings')), one($coordinator, sprintf($by_key, 'single')),
	'with the same rows');

# ---- changes

$plan = one($coordinator, "EXPLAIN (VERBOSE, COSTS off) DELETE FROM readings WHERE (m->'id')::int8 > 5990");
is(scalar(() = $plan =~ /Remote SQL: DELETE FROM public\.readings WHERE \(\(public\.kiln_get_int8\(m, 'id'::text\) > 5990\)\)/g), 3,
	'DELETE runs on the shards');
$plan = one($coordinator, "EXPLAIN (VERBOSE, COSTS off) UPDATE readings SET m = kiln_set(m, 'value', 1.5) WHERE (m->'id')::int8 = 17");
like($plan, qr/SELECT m, ctid FROM public\.readings WHERE .* FOR UPDATE/, 'UPDATE reads the rows that the filter finds');
for my $table (qw(readings single))
{
	one($coordinator, "DELETE FROM $table WHERE (m->'id')::int8 > 5990");
	one($coordinator, "UPDATE $table SET m = kiln_set(m, 'value', 1.5) WHERE (m->'id')::int8 % 1000 = 17");
	one($coordinator, "UPDATE $table SET m['note'] = '\"changed\"' WHERE (m->'id')::int8 % 1000 = 18");
}
my $all = q{SELECT count(*), md5(string_agg(kiln_frame(m)::text, ' ' ORDER BY kiln_get_int8(m, 'id'))) FROM };
is(one($coordinator, $all . 'readings'), one($coordinator, $all . 'single'), 'changed rows are the same bytes');

# ---- an index on the shard serves what was sent

one($_, "CREATE INDEX readings_id ON readings (((m->'id')::int8)); CREATE INDEX readings_kind ON readings ((m->'kind')); ANALYZE") for @shards;
for my $condition (q{m['id']::int8 = 77}, q{kiln_get_int8(m, 'id') = 77}, q{m->'kind' = '"nothing"'})
{
	($remote) = remote_sql($coordinator, "SELECT m FROM readings WHERE $condition");
	my ($statement) = split /\n/, $remote;

	like(one($shards[0], "SET enable_seqscan = off; EXPLAIN $statement"), qr/Index.* Scan .*readings_(id|kind)/, "$condition: by index on the shard");
}

# ---- types and definitions on the way

one($coordinator, 'CREATE SCHEMA imported; IMPORT FOREIGN SCHEMA public LIMIT TO (readings) FROM SERVER shard1 INTO imported');
is(one($coordinator, q{SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'imported.readings'::regclass AND attnum = 1}),
	'kiln(reading)', 'IMPORT FOREIGN SCHEMA brings the column with its schema');
my ($status, $out, $error) = $coordinator->psql('postgres', q{INSERT INTO readings VALUES ('{"$kiln": "other(a i8)", "a": 1}')},
	extra_params => [ '-v', 'VERBOSITY=verbose' ]);
like($error, qr/42804/, 'a value of another schema is refused here');

# A definition that only the coordinator has: the shard says so, and nothing is stored.
my $second = $SHARD_EVENT =~ s/\)\z/, later i32?)/r;
my $hash = one($coordinator, "SELECT kiln_register('$second')");
my $new = q{'{"device": 1, "id": 9001, "at": "2026-02-01T00:00:00Z", "kind": "new", "value": 1, "ok": true, "tags": [], "props": {}, "later": 7}'};
($status, $out, $error) = $coordinator->psql('postgres', "INSERT INTO readings VALUES ($new)", extra_params => [ '-v', 'VERBOSITY=verbose' ]);
like($error, qr/ERROR: +42704: .*$hash/, 'a shard that lacks the definition: which, by its hash');
like($error, qr/HINT:/, 'with a hint');
like($error, qr/remote SQL command: INSERT INTO public\.readings/, 'and where');

# One that only the shard has: rows of old versions are read, the new one says what is missing here.
one($_, "SELECT kiln_register('$second')") for @shards;
one($coordinator, "INSERT INTO readings VALUES ($new)");
is(one($coordinator, q{SELECT m->>'later' FROM readings WHERE (m->'id')::int8 = 9001}), 7, 'once it is there the row goes in and out');
is(one($coordinator, q{SELECT count(*) FROM readings WHERE m ? 'later'}), 1, 'old rows have no such field');
one($coordinator, qq{DROP SERVER kiln_$hash});
is(one($coordinator, q{SELECT count(*) FROM readings WHERE (m->'id')::int8 < 9001}), 5990, 'without it here the other rows are read');
($status, $out, $error) = $coordinator->psql('postgres', q{SELECT m FROM readings WHERE (m->'id')::int8 = 9001}, extra_params => [ '-v', 'VERBOSITY=verbose' ]);
like($error, qr/ERROR: +42704: .*$hash/, 'and reading that one names the hash');
is(one($coordinator, q{SET enable_partitionwise_aggregate = on; SELECT count(*) FROM readings WHERE (m->'id')::int8 = 9001 GROUP BY kiln_get_int8(m, 'device')}),
	1, 'a filter alone needs the definition only on the shard');
one($coordinator, "SELECT kiln_register('$second')");

# A coordinator that knows no definition at all prints the number, and reads once it does.
one($shards[0], q{SELECT kiln_register('lonely(a i32)'); CREATE TABLE lonely (m kiln(lonely)); INSERT INTO lonely VALUES ('{"a": 1}')});
one($coordinator, 'IMPORT FOREIGN SCHEMA public LIMIT TO (lonely) FROM SERVER shard1 INTO imported');
like(one($coordinator, q{SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'imported.lonely'::regclass AND attnum = 1}),
	qr/^kiln\(\d+\)$/, 'an unknown schema is imported by its number');
($status, $out, $error) = $coordinator->psql('postgres', 'SELECT * FROM imported.lonely', extra_params => [ '-v', 'VERBOSITY=verbose' ]);
like($error, qr/42704/, 'reading it says what is missing');
one($coordinator, q{SELECT kiln_register('lonely(a i32)')});
is(one($coordinator, q{SELECT (m->'a')::int4 FROM imported.lonely}), 1, 'which helps as soon as it is registered');
is(one($coordinator, q{SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'imported.lonely'::regclass AND attnum = 1}),
	'kiln(lonely)', 'and the column has its name');

# ---- without the option nothing of kiln is sent

one($coordinator, "ALTER SERVER shard$_ OPTIONS (DROP extensions)") for 1 .. 3;
unlike((remote_sql($coordinator, q{SELECT m FROM readings WHERE (m->'id')::int8 = 1}))[0], qr/WHERE/, 'without extensions kiln no filter is sent');
is(one($coordinator, q{SELECT count(*) FROM readings WHERE (m->'id')::int8 = 1}), 1, 'and the row is found all the same');

$_->stop for $coordinator, @shards;
done_testing();
