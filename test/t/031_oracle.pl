# jsonb as an oracle: what any spelling reads from a random value is what jsonb reads from v::jsonb, NULLs included; the
# order and equality of scalars are those of jsonb's numbers and strings; equal values have equal hashes.
#
# Documented differences: an absent list element or dict value is NULL, where jsonb has a null; a float's text is the
# shortest that reads back, where jsonb has its digits written out and no -0.
#
# KILN_ORACLE sets the number of values, KILN_SEED the seed.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $values = $ENV{KILN_ORACLE} || 20_000;
my $paths = 8;		# of each definition, chosen at random
my $generator = ($ENV{KILN_GENERATORS} // '') . '/frames';
plan skip_all => "no generator at $generator: run by make prove_installcheck" unless -x $generator;

my $node = start_node('main', "fsync = off\nautovacuum = off\njit = off\nshared_buffers = 256MB\n");
my $folder = PostgreSQL::Test::Utils::tempdir();
my $seed = $ENV{KILN_SEED} || 20000101;

# One frame in ten is of tensors, which have no fields.
note "seed $seed";
my $frames = int($values * 10 / 9) + 10;
system("'$generator' $frames $seed >'$folder/frames'") == 0 or die 'the generator failed';

$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION kiln;
CREATE TABLE raw (n serial PRIMARY KEY, definition bytea, hash bytea, frame bytea);
COPY raw (definition, hash, frame) FROM '$folder/frames';
DELETE FROM raw WHERE definition IS NULL;
-- half of the definitions are registered, as far as they can be
DO \$\$
DECLARE d bytea;
BEGIN
	FOR d IN SELECT DISTINCT definition FROM raw WHERE get_byte(hash, 0) % 2 = 0 LOOP
		BEGIN
			PERFORM kiln_register(convert_from(d, 'UTF8'));
		EXCEPTION WHEN OTHERS THEN
			NULL;
		END;
	END LOOP;
END \$\$;
CREATE TABLE made AS
	SELECT n, dense_rank() OVER (ORDER BY definition)::int AS d, v, v::jsonb AS j FROM raw,
		LATERAL (SELECT kiln_intern(kiln_from_frame(frame)) AS v) AS x;
CREATE INDEX ON made (d);
VACUUM ANALYZE made;
SQL
cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM made'), '>=', $values, 'values');
note $node->safe_psql('postgres', q{SELECT count(DISTINCT d), count(*) FILTER (WHERE hex = '11'),
	count(*) FILTER (WHERE hex = '12')
	FROM (SELECT d, left(encode(kiln_frame(v), 'hex'), 2) AS hex FROM made) AS t});

# ---- paths: those of a value lead somewhere in it, and perhaps nowhere in another of its definition

$node->safe_psql('postgres', <<"SQL");
CREATE FUNCTION key_step(key text) RETURNS text LANGUAGE sql IMMUTABLE
	AS \$\$ SELECT '"' || replace(key, '"', '""') || '"' \$\$;
CREATE FUNCTION object(node jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE
	AS \$\$ SELECT CASE WHEN jsonb_typeof(node) = 'object' THEN node END \$\$;
CREATE TABLE paths AS
	WITH RECURSIVE walk(d, node, steps, path) AS (
		SELECT d, j, '{}'::text[], '' FROM made
		UNION ALL
		SELECT d, child, steps || step,
			path || CASE WHEN jsonb_typeof(node) = 'array' THEN '[' || step || ']'
				WHEN path = '' THEN key_step(step) ELSE '.' || key_step(step) END
		FROM walk, LATERAL (
			SELECT key AS step, value AS child FROM jsonb_each(object(node))
			-- a dict has keys that it has not
			UNION ALL
			SELECT key || 'x', NULL FROM jsonb_object_keys(object(node)) AS k (key)
			WHERE kiln_typeof((SELECT m.v FROM made AS m WHERE m.d = walk.d LIMIT 1), path) ~ '^dict'
			UNION ALL
			SELECT position::text, node->position
			FROM (SELECT jsonb_array_length(node) AS l WHERE jsonb_typeof(node) = 'array') AS a,
				LATERAL (VALUES (0), (l - 1), (-1), (l), (-l - 1)) AS p (position)
		) AS below
		WHERE cardinality(steps) < 6
	)
	SELECT d, steps, path, kiln_typeof(v, path) AS type
	FROM (SELECT *, row_number() OVER (PARTITION BY d ORDER BY md5(d || path || '$seed')) AS nth
			FROM (SELECT DISTINCT d, steps, path FROM walk) AS u) AS chosen,
		LATERAL (SELECT v FROM made AS m WHERE m.d = chosen.d LIMIT 1) AS one
	WHERE nth <= $paths;
SQL
note $node->safe_psql('postgres', q{SELECT count(*), count(DISTINCT d), max(cardinality(steps)) FROM paths});
note $node->safe_psql('postgres', q{SELECT string_agg(type || ' ' || n, ', ' ORDER BY n DESC)
	FROM (SELECT regexp_replace(type, '^(.*[\]]|dict<|enum\(|[^ ]*\().*$', '\1') AS type, count(*) AS n FROM paths
	GROUP BY 1 ORDER BY 2 DESC LIMIT 30) AS t});

# ---- every spelling of every path, over all values of its definition

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE wrong (d int, path text, type text, spelling text, n int, got text, wanted text);
-- What a type is called in SQL, and its getter; NULL for what is no scalar.
CREATE TABLE sql_types (type text PRIMARY KEY, sql text, getter text);
INSERT INTO sql_types VALUES ('bool', 'boolean', 'kiln_get_bool'), ('i8', 'smallint', 'kiln_get_int2'), ('i16',
	'smallint', 'kiln_get_int2'), ('i32', 'integer', 'kiln_get_int4'),
	('i64', 'bigint', 'kiln_get_int8'), ('u8', 'smallint', 'kiln_get_int2'), ('u16', 'integer', 'kiln_get_int4'),
		('u32', 'bigint', 'kiln_get_int8'), ('u64', 'numeric', 'kiln_get_numeric'),
	('f32', 'real', 'kiln_get_float4'), ('f64', 'double precision', 'kiln_get_float8'), ('numeric', 'numeric',
		'kiln_get_numeric'), ('string', 'text', 'kiln_get_text'),
	('bytes', 'bytea', 'kiln_get_bytea'), ('uuid', 'uuid', 'kiln_get_uuid'), ('date', 'date', 'kiln_get_date'),
	('timestamp', 'timestamp without time zone', 'kiln_get_timestamp'), ('timestamptz', 'timestamp with time zone',
		'kiln_get_timestamptz');

-- Is a text what jsonb has there? NaN with other bits is a string in both.
CREATE FUNCTION same_text(got text, wanted jsonb, type text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE
		WHEN got IS NULL OR wanted IS NULL OR wanted = 'null' THEN got IS NULL AND (wanted IS NULL OR wanted = 'null')
		WHEN jsonb_typeof(wanted) IN ('object', 'array') THEN got::jsonb = wanted
		WHEN type = 'f64' AND jsonb_typeof(wanted) = 'number' THEN got::float8 = wanted::float8
		WHEN type = 'f32' AND jsonb_typeof(wanted) = 'number' THEN got::float4 = wanted::float4
		WHEN type = 'json' AND jsonb_typeof(wanted) = 'number' THEN got::numeric = wanted::numeric
		ELSE got = wanted #>> '{}'
	END
$$;
CREATE FUNCTION same_json(got jsonb, wanted jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
	SELECT coalesce(got, 'null') = coalesce(wanted, 'null')
$$;
-- NaN payloads aside, what jsonb's text is as a value of an SQL type
CREATE FUNCTION plain_nan(t text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT CASE WHEN t LIKE 'NaN(%' THEN 'NaN'
	ELSE t END $$;

CREATE FUNCTION check_path(which paths) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	arrows text := 'v';
	arrows_but_last text := 'v';
	subscripts text := 'v';
	last_step text;
	base text := regexp_replace(which.type, '\?$', '');
	expressions text[];
	nat sql_types;
	counted bigint;
	is_position boolean;
	rest text := which.path;
BEGIN
	FOR i IN 1 .. cardinality(which.steps) LOOP
		is_position := rest LIKE '[%';
		last_step := CASE WHEN is_position THEN which.steps[i] ELSE format('%L::text', which.steps[i]) END;
		rest := ltrim(substr(rest, 1 + length(CASE WHEN is_position THEN '[' || which.steps[i] || ']'
			ELSE key_step(which.steps[i]) END)), '.');
		arrows_but_last := arrows;
		arrows := format('(%s -> %s)', arrows, last_step);
		subscripts := format('%s[%s]', subscripts, last_step);
	END LOOP;
	subscripts := CASE WHEN subscripts = 'v' THEN 'v' ELSE '(' || subscripts || ')' END;

	-- texts and whole values: a name, an expression, and how it is compared
	expressions := ARRAY[
		ARRAY['kiln_get', format('kiln_get(v, %L)', which.path), 'text'], ARRAY['kiln_get of a column',
			'kiln_get(v, path)', 'text'],
		ARRAY['kiln_get_text', format('kiln_get_text(v, %L)', which.path), 'text'], ARRAY['kiln_get NULL::text',
			format('kiln_get(v, %L, NULL::text)', which.path), 'text'],
		ARRAY['#>>', format('(v #>> %L)', which.steps), 'text'], ARRAY['#>> of a column', '(v #>> steps)', 'text'],
		ARRAY['kiln_get_jsonb', format('kiln_get_jsonb(v, %L)', which.path), 'jsonb'], ARRAY['kiln_get_json',
			format('kiln_get_json(v, %L)::jsonb', which.path), 'jsonb'],
		ARRAY['kiln_get NULL::jsonb', format('kiln_get(v, %L, NULL::jsonb)', which.path), 'jsonb'],
		ARRAY['#>', format('(v #> %L)::jsonb', which.steps), 'jsonb'], ARRAY['#> of a column', '(v #> steps)::jsonb',
			'jsonb'],
		ARRAY['kiln_get_kiln', format('kiln_get_kiln(v, %L)::jsonb', which.path), 'jsonb'], ARRAY['->',
			arrows || '::jsonb', 'jsonb'],
		ARRAY['-> as json', arrows || '::json::jsonb', 'jsonb'], ARRAY['[]', subscripts || '::jsonb', 'jsonb']];
	IF cardinality(which.steps) > 0 THEN
		expressions := expressions || ARRAY[ARRAY['->>', format('(%s ->> %s)', arrows_but_last, last_step), 'text']];
	END IF;
	-- scalars by their own type
	SELECT * INTO nat FROM sql_types WHERE type = base;
	IF FOUND THEN
		expressions := expressions || ARRAY[ARRAY[nat.getter, format('%s(v, %L)', nat.getter, which.path), nat.sql],
			ARRAY['kiln_get NULL::' || nat.sql, format('kiln_get(v, %L, NULL::%s)', which.path, nat.sql), nat.sql]];
		IF nat.sql <> 'text' THEN
			expressions := expressions || ARRAY[ARRAY['-> and cast', format('%s::%s', arrows, nat.sql), nat.sql],
				ARRAY['[] and cast', format('%s::%s', subscripts, nat.sql), nat.sql],
				ARRAY['#> and cast', format('(v #> steps)::%s', nat.sql), nat.sql]];
		END IF;
		IF base ~ '^[iu](8|16|32)$' OR base = 'i64' THEN
			expressions := expressions || ARRAY[ARRAY['kiln_get_int8', format('kiln_get_int8(v, %L)', which.path),
				'bigint'], ARRAY['kiln_get_numeric', format('kiln_get_numeric(v, %L)', which.path), 'numeric'],
				ARRAY['kiln_get_float8', format('kiln_get_float8(v, %L)', which.path), 'double precision']];
		END IF;
	END IF;

	EXECUTE (
		SELECT format('
				INSERT INTO wrong
					SELECT %1$s, path, type, x.spelling, n, x.got, x.wanted
					FROM (SELECT n, v, j #> %4$L AS w, %3$L::text AS type, %2$L::text AS path, %4$L::text[] AS steps
							FROM made WHERE d = %1$s) AS m,
						LATERAL (VALUES %5$s) AS x (spelling, got, wanted, same)
					WHERE same IS NOT TRUE',
				which.d, which.path, base, which.steps, string_agg(CASE e[3]
					WHEN 'text' THEN format('(%L, %s, w #>> ''{}'', same_text(%2$s, w, type))', e[1], e[2])
					WHEN 'jsonb' THEN format('(%L, %s::text, w::text, same_json(%2$s, w))', e[1], e[2])
					ELSE format('(%L, %s::text, w #>> ''{}'', (%2$s) IS NOT DISTINCT FROM plain_nan(w #>> ''{}'')::%s)',
						e[1], e[2], e[3])
				END, ', '))
		FROM (SELECT ARRAY[expressions[i][1], expressions[i][2], expressions[i][3]] AS e
			FROM generate_subscripts(expressions, 1) AS i) AS l);
	GET DIAGNOSTICS counted = ROW_COUNT;
	RETURN counted;
EXCEPTION WHEN OTHERS THEN
	INSERT INTO wrong VALUES (which.d, which.path, which.type, 'raised ' || SQLSTATE || ' ' || SQLERRM);
	RETURN 1;
END $$;
SELECT set_config('timezone', 'UTC', false);
SELECT sum(check_path(p)) FROM paths AS p;
SQL
my ($reads, $found) = split /\|/, $node->safe_psql('postgres', q{SELECT count(*), count(nullif(j #> steps, 'null'))
	FROM paths JOIN made USING (d)});
cmp_ok($found, '>', $values, "$reads reads by each spelling, $found of them find something");
cmp_ok($reads - $found, '>', $values / 10, 'and others nothing');
is($node->safe_psql('postgres', 'SELECT count(*) FROM wrong'), 0, 'every read is what jsonb reads')
	or diag $node->safe_psql('postgres',
		q{
		SELECT spelling, type, count(*), min(d), min(n), left(min(path), 60), left(min(got), 60), left(min(wanted), 60)
		FROM wrong GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 40});

# ---- present and not null

is( $node->safe_psql('postgres', q{SELECT count(*) FROM paths AS p JOIN made USING (d) WHERE cardinality(steps) = 1
	AND path LIKE '"%'
	AND (v ? steps[1]) IS DISTINCT FROM (j->steps[1] IS NOT NULL AND j->steps[1] <> 'null')}), 0,
		'? is there and not null');

# ---- order and equality

# Scalars of one definition and path, as kiln values, and as SQL has them from jsonb.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE parts (d int, path text, type text, n int, part kiln, wanted jsonb);
INSERT INTO parts
	SELECT d, path, regexp_replace(type, '\?$', ''), n, v #> steps, j #> steps FROM paths JOIN made USING (d)
	WHERE regexp_replace(type, '\?$', '') IN (SELECT type FROM sql_types) AND v #> steps IS NOT NULL;
CREATE INDEX ON parts (d, path);
ANALYZE parts;
-- numbers by value with NaN last, strings and bytes by bytes, all else as its own type has it
CREATE FUNCTION as_numeric(type text, wanted jsonb) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN type ~ '^([iuf][0-9]+|numeric)$' THEN plain_nan(wanted #>> '{}')::numeric WHEN type = 'bool'
		THEN (wanted::bool)::int::numeric END $$;
CREATE FUNCTION as_bytes(type text, wanted jsonb) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE type WHEN 'string' THEN convert_to(wanted #>> '{}', 'UTF8') WHEN 'bytes' THEN (wanted #>> '{}')::bytea
		WHEN 'uuid' THEN uuid_send((wanted #>> '{}')::uuid) END $$;
CREATE FUNCTION as_time(type text, wanted jsonb) RETURNS timestamp LANGUAGE sql STABLE AS $$
	SELECT CASE WHEN type IN ('timestamp', 'timestamptz') THEN (wanted #>> '{}')::timestamptz AT TIME ZONE 'UTC' END $$;
CREATE FUNCTION as_date(type text, wanted jsonb) RETURNS date LANGUAGE sql STABLE AS $$ SELECT CASE WHEN type = 'date'
	THEN (wanted #>> '{}')::date END $$;
CREATE TABLE keyed AS SELECT *, as_numeric(type, wanted) AS x, as_bytes(type, wanted) AS b, as_time(type, wanted) AS t,
	as_date(type, wanted) AS y FROM parts;
CREATE INDEX ON keyed (d, path);
ANALYZE keyed;
SQL
note $node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT (d, path)) FROM parts');
is( $node->safe_psql('postgres', q{
	SELECT count(*), count(*) FILTER (WHERE a.part = b.part IS DISTINCT FROM row_a = row_b
		OR a.part < b.part IS DISTINCT FROM row_a < row_b OR a.part >= b.part IS DISTINCT FROM row_a >= row_b)
	FROM keyed AS a JOIN keyed AS b USING (d, path), LATERAL (SELECT ROW(coalesce(a.x, 0), coalesce(a.b, ''),
		coalesce(a.t, 'epoch'), coalesce(a.y, 'epoch')) AS row_a,
		ROW(coalesce(b.x, 0), coalesce(b.b, ''), coalesce(b.t, 'epoch'), coalesce(b.y,
			'epoch')) AS row_b) AS r}) =~ s/^\d+\|//r,
	0, 'every pair of scalars compares as SQL has it');
is( $node->safe_psql('postgres', q{
	SELECT count(*) FROM (
		SELECT array_agg(n ORDER BY part, n) AS by_kiln, array_agg(n ORDER BY x, b, t, y, n) AS by_sql
			FROM keyed GROUP BY d, path) AS o
	WHERE by_kiln <> by_sql}), 0, 'ORDER BY on scalars');
is( $node->safe_psql('postgres', q{
	SELECT count(*) FROM keyed AS a JOIN keyed AS b USING (d, path)
	WHERE jsonb_typeof(a.wanted) = jsonb_typeof(b.wanted) AND jsonb_typeof(a.wanted) IN ('number', 'boolean')
		AND (a.part < b.part IS DISTINCT FROM a.wanted < b.wanted
		OR a.part = b.part IS DISTINCT FROM (a.wanted = b.wanted))}), 0, 'as jsonb has it');
# A constant on the other side, in each way that a user writes one.
is( $node->safe_psql('postgres', q{
	SELECT count(*) FROM keyed WHERE x IS NOT NULL AND type <> 'bool' AND jsonb_typeof(wanted) = 'number'
		AND NOT (part = x::kiln AND part <= x::kiln AND part = wanted::text::kiln AND NOT part < x::kiln)}),
	0, 'a number equals itself as numeric and as a literal');

# Equal values have equal hashes: whole ones, their parts, and the same ones in other frames.
is( $node->safe_psql('postgres', q{
	SET enable_hashagg = off;
	CREATE TEMP TABLE all_values AS SELECT v FROM made UNION ALL SELECT kiln_portable(v) FROM made UNION ALL SELECT part
		FROM parts UNION ALL SELECT x::kiln FROM keyed WHERE x IS NOT NULL AND type <> 'bool'
		UNION ALL SELECT v::text::kiln FROM made WHERE n % 4 = 0;
	SELECT count(*) FILTER (WHERE hashes > 1), count(*) > 1000 FROM (SELECT count(DISTINCT (kiln_hash_value(v),
		kiln_hash_value_extended(v, 42))) AS hashes FROM all_values GROUP BY v) AS t}),
	'0|t', 'equal values have equal hashes');
is( $node->safe_psql('postgres',
	'SELECT count(*) FROM made WHERE NOT (v = kiln_portable(v) AND kiln_cmp(v, v::text::kiln) = 0)'), 0,
	'a value equals itself in every frame');

$node->stop;
done_testing();
