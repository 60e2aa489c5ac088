# In a schema of an odd name, with search_path empty, under any setting: look-ups go by OID, and what is immutable is.
# (case 46)

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('main', "fsync = off\nautovacuum = on\nautovacuum_naptime = 1s\n");
my $folder = PostgreSQL::Test::Utils::tempdir();
my $k = q{"Odd, schema"};

# What the server calls on its own: indexes, generated columns, checks, partial indexes, statistics, views.
$node->safe_psql('postgres', <<"SQL");
CREATE SCHEMA $k;
CREATE EXTENSION kiln SCHEMA $k;
SELECT $k.kiln_register('reading(id i64,at timestamptz,d date,x f64,y f32,b bytes,n numeric,s string?,l f64[])');
SET search_path = $k, public;
CREATE TABLE public.readings (
	n int PRIMARY KEY,
	v kiln(reading) CHECK (kiln_get_int8(v, 'id') >= 0 AND v->>'s' <> 'never'),
	document jsonb GENERATED ALWAYS AS (v::jsonb) STORED,
	at timestamptz GENERATED ALWAYS AS ((v->'at')::timestamptz) STORED
);
CREATE INDEX readings_text ON public.readings (kiln_get_text(v, 's'));
CREATE INDEX readings_id ON public.readings (((v->'id')::int8)) WHERE (v->'x')::float8 < 100;
CREATE INDEX readings_value ON public.readings (v);
CREATE INDEX readings_hash ON public.readings USING hash (v);
CREATE INDEX readings_gin ON public.readings USING gin ((v::jsonb) jsonb_path_ops);
CREATE STATISTICS public.readings_statistics ON (kiln_get_text(v, 's')), ((v->'id')::int8) FROM public.readings;
INSERT INTO public.readings (n, v)
	SELECT i, kiln_encode('reading', jsonb_build_object('id', i, 'at', timestamptz '2024-02-29 12:00:00.5+00' + i *
		interval '1 hour', 'd', date '2000-01-01' + i, 'x', i / 7.0::float8,
		'y', i / 3.0::float4, 'b', '\\x00' || lpad(to_hex(i), 4, '0'), 'n', i / 8.0, 's', 's' || i, 'l',
			jsonb_build_array(i / 3.0::float8, 0.1)))
	FROM generate_series(1, 300) AS i;
CREATE MATERIALIZED VIEW public.kept AS SELECT n, v, v->>'s' AS s, kiln_get_float8(v, 'x') AS x,
	v\@>'{"id": 7}' AS seven FROM public.readings;
SQL

# Nothing of this has our schema in reach.
for my $path (q{''}, q{pg_catalog}, q{"$user", nothing})
{
	my $set = "SET search_path = $path";

	for my $command ('REINDEX TABLE public.readings', 'ANALYZE public.readings',
		'CLUSTER public.readings USING readings_value', 'REFRESH MATERIALIZED VIEW public.kept',
		'VACUUM (FULL, ANALYZE) public.readings', "UPDATE public.readings SET n = n WHERE n <= 10",
			'ALTER TABLE public.readings ADD again int DEFAULT 1; ALTER TABLE public.readings DROP again')
	{
		my ($status, $out, $error) = $node->psql('postgres', "$set; $command");

		is($status, 0, "search_path = $path: " . substr($command, 0, 50)) or diag $error;
	}
}
$node->safe_psql('postgres', 'UPDATE public.readings SET n = n');
ok($node->poll_query_until('postgres', q{SELECT autoanalyze_count > 0 FROM pg_stat_user_tables
	WHERE relname = 'readings'}), 'autovacuum analyzed the table');
unlike(slurp_file($node->logfile), qr/ERROR:.*kiln/, 'and found what it needed');

# ---- what depends on no setting

my @settings = (
	"SET datestyle = 'ISO, MDY'",
	"SET datestyle = 'SQL, DMY'; SET timezone = 'Asia/Kolkata'; SET extra_float_digits = -15; SET bytea_output =
		'escape'; SET intervalstyle = 'iso_8601'; SET xmlbinary = 'hex'",
	"SET datestyle = 'German'; SET timezone = 'America/St_Johns'; SET extra_float_digits = 3; SET
		standard_conforming_strings = off; SET escape_string_warning = off; SET quote_all_identifiers = on",
	"SET lc_numeric = 'C'; SET lc_time = 'C'; SET lc_monetary = 'C'; SET timezone = '<+03>-03'; SET array_nulls = off;
		SET default_transaction_isolation = 'serializable'; SET client_encoding = 'LATIN1'");
my $question = "SELECT md5(string_agg(concat_ws(' ', v::text, v::pg_catalog.json, v::pg_catalog.jsonb, $k.kiln_get(v,
	'at'), $k.kiln_get(v, 'y'), $k.kiln_frame(v)::text OPERATOR(pg_catalog.=) $k.kiln_send(v)::text,"
	. " $k.kiln_hash_value(v), document = v::pg_catalog.jsonb, extract(epoch FROM at)), E'\\n' ORDER BY n))
		FROM public.readings";
my @answers = map { $node->safe_psql('postgres', "$_; $question") } @settings;
is($answers[$_], $answers[0], "the same text and bytes under settings $_") for 1 .. $#answers;

# A row written under one setting is found through each index under another.
my $object = q('{"id": 900, "at": "2024-02-29T12:00:00Z", "d": "2024-02-29", "x": 0.1, "y": 0.1, "b": "\\\\x5c27", )
	. q("n": 0.10, "s": "here", "l": [0.1]}');
my $row = "kiln_encode('reading', $object\::jsonb)";
$node->safe_psql('postgres', "$settings[1]; SET search_path = $k, public; INSERT INTO readings (n, v) VALUES (900,
	$row)");
for my $where ("v = $row", "(v->'id')::int8 = 900 AND (v->'x')::float8 < 100", "kiln_get_text(v, 's') = 'here'",
	'v::jsonb @> \'{"at": "2024-02-29T12:00:00+00:00"}\'')
{
	my $query = "SET search_path = $k, public; SET enable_seqscan = off; SET enable_indexonlyscan = off;";

	unlike($node->safe_psql('postgres', "$settings[3]; $query EXPLAIN SELECT n FROM readings WHERE $where"),
		qr/Seq Scan/, "an index serves $where");
	is($node->safe_psql('postgres', "SET timezone = 'Asia/Kolkata'; $query SELECT n FROM readings WHERE $where"), 900,
		'and finds the row');
}
SKIP:
{
	skip 'no amcheck here', 1 unless $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions
		WHERE name = 'amcheck'");
	$node->safe_psql('postgres', 'CREATE EXTENSION amcheck');
	is($node->safe_psql('postgres', q{SELECT count(bt_index_parent_check(c.oid, true)::text) FROM pg_class AS c
		JOIN pg_am AS a ON a.oid = c.relam WHERE c.relname LIKE 'readings%' AND a.amname = 'btree'}),
		4, 'the btree indexes are in order');
	$node->safe_psql('postgres', 'DROP EXTENSION amcheck');
}

# What depends on a setting or the catalog is refused where it would be kept.
for my $column ("text GENERATED ALWAYS AS (v::text) STORED", "$k.kiln GENERATED ALWAYS AS (n::$k.kiln) STORED")
{
	my ($status, $out, $error) = $node->psql('postgres', "SET search_path = $k,
		public; ALTER TABLE readings ADD refused $column");

	like($error, qr/generation expression is not immutable/, "refused: $column");
}
my (undef, undef, $error) = $node->psql('postgres', "SET search_path = $k,
	public; CREATE INDEX ON readings ((v::text))");
like($error, qr/functions in index expression must be marked IMMUTABLE/, 'refused: an index on the text form');

# ---- dump and restore, which run with no search_path at all

$node->safe_psql('postgres', 'REFRESH MATERIALIZED VIEW public.kept');
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$folder/dump", $node->connstr('postgres') ], 'pg_dump');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'pg_restore', '-e', '-d', $node->connstr('restored'), "$folder/dump" ], 'pg_restore');
is($node->safe_psql('restored', $question), $node->safe_psql('postgres', $question), 'the same rows');
is($node->safe_psql('restored', "SET enable_seqscan = off; SELECT count(*), max(s) FROM public.kept
	WHERE v OPERATOR($k.>=) (SELECT min(v::text)::$k.kiln FROM public.kept WHERE n = 1) OR true"),
	$node->safe_psql('postgres', 'SELECT count(*), max(s) FROM public.kept'), 'the materialized view too');

$node->stop;
done_testing();
