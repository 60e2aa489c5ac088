# Memory stays flat over many rows for every function there is.
#
# Which functions there are is asked from the catalog, and how to call each is found by trying, so a new function is in the test by itself; one that
# no call is found for is a failure.
#
# KILN_ROWS sets the number of rows for each function; KILN_SECONDS, the time for each that is neither an accessor nor an operator: one that could not be
# done with its rows in that time gets as many as can, and is named.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $rows = $ENV{KILN_ROWS} || 60_000;
my $seconds = $ENV{KILN_SECONDS} || 0;
my $allowed = 200_000;						# bytes that a session may grow between its 1,000th row and its last
my $node = start_node('main', <<'SETTINGS');
autovacuum = off
fsync = off
jit = off
work_mem = 16MB
max_parallel_workers_per_gather = 0
log_min_messages = log
log_min_error_statement = panic
SETTINGS

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION kiln;
SELECT kiln_register('rec(id i64,s string,b bool,f f64?,d date,z timestamptz,tags string[],m dict<i32>,j json,sub p(x i32,y i32),big string)');
CREATE TYPE pair AS (id int8, s text);
CREATE TABLE base AS
	SELECT i, kiln_encode('rec', jsonb_build_object('id', i, 's', 'string ' || i, 'b', i % 2 = 0, 'f', i / 3.0::float8, 'd', '2020-01-01',
			'z', '2020-01-01T00:00:00Z', 'tags', array['a', 'b', 'c'], 'm', '{"k": 1}'::jsonb, 'j', '{"a": [1]}'::jsonb, 'sub', '{"x": 1, "y": 2}'::jsonb,
			'big', CASE WHEN i % 10 = 9 THEN repeat('t', 20000) ELSE '' END)) AS r,
		kiln_tensor(ARRAY[[1, 2, 3], [4, 5, i]]::float8[]) AS t, kiln_tensor(ARRAY[1, 2, i]::float8[]) AS v,
		kiln_tensor(ARRAY[1, 2, i]::float8[], 'w') || kiln_tensor(ARRAY[i], 'x') AS w,
		'{"$kiln": "i64[]", "$value": [1, 2, 3]}'::kiln AS l, '{"$kiln": "dict<i64>", "$value": {"a": 1}}'::kiln AS dd,
		'{"$kiln": "bool[]", "$value": [true, false]}'::kiln AS lb,
		'{"$kiln": "tensors", "": {"dtype": "f64", "shape": [], "data": [1.5]}, "w": {"dtype": "f64", "shape": [], "data": [2.5]}}'::kiln AS t0,
		i::kiln AS si, (i / 7.0)::numeric::kiln AS sn, true::kiln AS sb, '{"$kiln": "bytes", "$value": "\\x00ff"}'::kiln AS sy,
		'01020304-0506-0708-090a-0b0c0d0e0f10'::uuid::kiln AS su, '2020-01-01'::date::kiln AS sd, '2020-01-01'::timestamp::kiln AS st,
		'2020-01-01'::timestamptz::kiln AS sz, '"text"'::kiln AS ss, kiln_portable(kiln_encode('rec', jsonb_build_object('id', i, 's', 's', 'b', true, 'd', '2020-01-01',
			'z', '2020-01-01T00:00:00Z', 'tags', '{}'::text[], 'm', '{}'::jsonb, 'j', 1, 'sub', '{"x": 1, "y": 2}'::jsonb, 'big', ''))) AS p,
		ROW(i::int8, 's')::pair AS rr, ARRAY[1.5, i]::float8[] AS a, ('[' || i || ']')::jsonb AS jb, ('{"id": ' || i || ', "s": "x"}')::json AS js,
		i::int2 AS i2, i::int4 AS i4, i::int8 AS i8, i::float4 AS f4, i::float8 AS f8, i::numeric AS n, i % 2 = 0 AS bo, '2020-01-01'::date AS da,
		'2020-01-01'::timestamp AS ts, '2020-01-01'::timestamptz AS tz, '01020304-0506-0708-090a-0b0c0d0e0f10'::uuid AS uu, NULL::bytea AS fr, NULL::bytea AS npy, NULL::bytea AS saf
	FROM generate_series(1, 100) i;
UPDATE base SET fr = kiln_frame(r), npy = kiln_to_npy(v), saf = kiln_to_safetensors(w);
ANALYZE base;

CREATE FUNCTION memory(i bigint) RETURNS bigint VOLATILE LANGUAGE sql AS
	$$ SELECT sum(total_bytes)::bigint FROM pg_backend_memory_contexts WHERE name <> 'ErrorContext' AND i > 0 $$;

-- The first of some expressions that is not NULL; else the first that is no error.
CREATE FUNCTION first_good(expressions text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE e text; good bool; fallback text;
BEGIN
	FOREACH e IN ARRAY expressions LOOP
		BEGIN
			EXECUTE format('SELECT bool_and(x::text IS NOT NULL) FROM (SELECT %s AS x FROM base WHERE i < 12) s', e) INTO good;
			IF good THEN
				RETURN e;
			END IF;
			fallback := coalesce(fallback, e);
		EXCEPTION WHEN OTHERS THEN
			NULL;
		END;
	END LOOP;
	RETURN fallback;
END $$;
SQL

# ---------------------------------------------------------------- a call of each function

my %candidates = (
	'kiln' => [qw(r v t w l si sn sb sy su sd st sz ss dd p lb t0)],
	'text' => [ map { "'$_'::text" } 'id', 's', 'b', 'd', 'z', 'w', 'f64', 'f32', 'rec', 'k', 'tags[1]', 'sub', 'tags', '', 'x', 'no', 'y' ],
	'bigint' => [ '1::int8', 'i8' ], 'integer' => [ '1', 'i4', '-1' ], 'smallint' => ['i2'], 'boolean' => [ 'bo', 'true' ], 'real' => ['f4'], 'double precision' => ['f8'],
	'numeric' => ['n'], 'bytea' => [ 'fr', 'npy', 'saf' ], 'uuid' => ['uu'], 'date' => ['da'], 'timestamp without time zone' => ['ts'],
	'timestamp with time zone' => ['tz'], 'json' => ['js'], 'jsonb' => [ 'jsonb_build_object($$id$$, i)', 'jb', 'js::jsonb' ], 'record' => ['rr'],
	'anyelement' => [ 'NULL::int8', '5::int8', 'NULL::text', 'NULL::pair' ], 'anyarray' => ['a'], 'text[]' => [ 'ARRAY[$$id$$]', 'ARRAY[$$sub$$, $$x$$]' ],
	'bigint[]' => [ 'ARRAY[1::int8]', 'ARRAY[3::int8]', 'ARRAY[1, 2]::int8[]', 'ARRAY[3, 1]::int8[]' ], 'kiln[]' => ['ARRAY[v, v]'], 'oid' => ['0::oid'], 'regtype' => [q{'pair'::regtype}],
	'cstring[]' => ['ARRAY[$$rec$$]::cstring[]'], '"char"' => ['$$a$$::"char"']);

# Those that a loop over rows says nothing of: they work on the catalog, or on what only the server has.
my %skipped = map { $_ => 1 } qw(kiln_in kiln_recv kiln_out kiln_register kiln_forget kiln_schemas kiln_dump_schemas kiln_fdw_validator kiln_typmod_in kiln_typmod_out
	kiln_subscript kiln_getter_support);

my @functions = map { [ split /\|/, $_, -1 ] } split /\n/, $node->safe_psql('postgres', q{
	SELECT p.oid::regprocedure, p.proname, p.prokind, p.proretset, array_to_string(ARRAY(SELECT format_type(a, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY u (a, n) ORDER BY n), ';'),
		p.provariadic <> 0
	FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
		JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass
	WHERE e.extname = 'kiln' AND NOT 'internal'::regtype = ANY (p.proargtypes) AND p.prorettype <> 'internal'::regtype ORDER BY 1});
my (@calls, @missing);

for my $function (@functions)
{
	my ($signature, $name, $kind, $set, $types, $variadic) = @$function;
	my @types = split /;/, $types;
	my @lists = ([]);

	# Procedures, and what runs a query over a whole table, are called by test/t/160_migrate.pl.
	next if $skipped{$name} || $kind eq 'p' || $types =~ /^regclass/;
	# A definition where the first argument is one.
	for my $i (0 .. $#types)
	{
		my @choices = @{ $candidates{ $types[$i] } || [] };
		@choices = (q{'rec'::text}, q{'(id i64,s string)'::text}, q{'(id i64)'::text}, q{'i64[]'::text}) if $name =~ /^kiln_(encode|misfit|misfit_json)$/ && $i == 0;
		@choices = (q{'values'::text}) if $name =~ /^kiln_misfit/ && $i == 2;
		@choices = (q{'[{"path": "x", "seen": 1}]'::jsonb}) if $name eq 'kiln_infer_report';
		@choices = (q{'rec'::text}) if $name eq 'kiln_infer_agg' && $i == 1;
		@choices = (q{'id'::text}, q{'s'::text}) if $name eq 'kiln_set' && $i == 1;
		@choices = (q{'w' || y}) if $name eq 'kiln_directory_agg' && $i == 0;
		@choices = ('js::text') if $name eq 'kiln_encode' && $i == 1 && $types[$i] eq 'text';
		@lists = map { my $choice = $_; map { [ @$_, $choice ] } @lists } @choices;
	}
	my @expressions;
	for my $list (@lists)
	{
		my @arguments = @$list;

		# Two values of one kind come first: most functions of two want that.
		$arguments[-1] = "VARIADIC $arguments[-1]" if $variadic eq 't' && @arguments;
		my $call = "$name(" . join(', ', @arguments) . ')';

		# An argument that is the outer query's alone would make the aggregate the outer query's.
		$call = "(SELECT $name(" . join(', ', map { "CASE WHEN y > 0 THEN $_ END" } @arguments) . ') FROM generate_series(1, 3) y)' if $kind eq 'a';
		$call = "(SELECT x FROM $call AS x(id int8, s text, b bool, f float8, d date, z timestamptz, tags text[], m jsonb, j json, sub json, big text))" if $name eq 'kiln_to_record';
		$call = "(SELECT count(*) || max(x::text) FROM (SELECT $name(" . join(', ', @arguments) . ') AS x) q)' if $set eq 't';
		my %kinds = map { $_ => 1 } grep { /^[a-z]{1,2}$/ } @arguments;
		push @expressions, [ scalar keys %kinds, $call ];
	}
	@expressions = map { $_->[1] } sort { $a->[0] <=> $b->[0] } @expressions;
	splice @expressions, 8000 if @expressions > 8000;
	my $good = $node->safe_psql('postgres', 'SELECT first_good(ARRAY[' . join(', ', map { "\$e\$$_\$e\$" } @expressions) . ']::text[])');

	if ($good eq '')
	{
		push @missing, $signature;
		next;
	}
	push @calls, [ $signature, $good ];
}
is("@missing", '', 'a call of every function is found: ' . @calls . ' of ' . @functions);

# And what goes through the type's own functions, operators, subscripts and casts.
push @calls, map { [ $_, $_ ] } (
	'r::text', 'r::text::kiln', 't::text::kiln', 'p::text::kiln', 'r::kiln(rec)', 'js::text::kiln', q{(r->'id')::int8}, q{r['sub']['x']}, q{r->'tags'->>1}, q{r #>> '{sub,y}'},
	q{r @> '{"id": 5}'}, 'r = p', 'r < p', 'jb::kiln', 'si::text::kiln::int4', q{kiln_get(r, 'big')}, q{r->>'big'}, 'kiln_frame(r)::text',
	'(SELECT count(DISTINCT x) FROM unnest(ARRAY[r, p, si]) x)', '(SELECT max(x::text) FROM (SELECT unnest(ARRAY[r, p]) x ORDER BY 1) q)', 'ROW(r, p) = ROW(p, r)',
	q{kiln_encode('(n i64=' || i || ')', '{}'::text)}, 'ARRAY[r, p] @> ARRAY[p]');

# ---------------------------------------------------------------- memory, row by row

# Both samples are taken while the query runs: at its 1,000th row and at its last.
sub grown_over
{
	my ($expression, $n) = @_;

	return $node->psql('postgres', <<"SQL", timeout => 3600);
SELECT sum(CASE WHEN k = 1000 THEN -memory(k) WHEN k = $n THEN memory(k) END)
FROM (SELECT k, x IS NULL AS o FROM (SELECT (g - 1) * 100 + i AS k, $expression AS x
		FROM generate_series(1, $n / 100) g, LATERAL (SELECT * FROM base ORDER BY i OFFSET 0) b) s) q
WHERE k IN (1000, $n) OR o IS NOT NULL
SQL
}

# Accessors and operators get all the rows that are asked for; others what fits the time.
my %in_any_case = map { $_ => 1 } split /\n/, $node->safe_psql('postgres', q{
	SELECT p.oid::regprocedure FROM pg_proc p WHERE p.proname LIKE 'kiln\_get%' OR p.oid IN (SELECT oprcode FROM pg_operator)});
my ($worst, $worst_call, $longest, $in_full) = (-1e9, '', 0, 0);
my (@grown, @fewer);
my $start = time;
grown_over('i', 1000);
my $overhead = time - $start;
for my $call (@calls)
{
	my ($name, $expression) = @$call;
	my $n = $rows;

	if ($seconds > 0 && $rows > 60_000 && !$in_any_case{$name} && $name =~ /^kiln_\w+\([\w ,"\[\]]*\)$/)
	{
		my $begun = time;

		grown_over($expression, 60_000);
		my $took = time - $begun - $overhead;
		my $fit = int($seconds * 60_000 / ($took > 0.01 ? $took : 0.01) / 1000) * 1000;

		$n = $fit < 60_000 ? 60_000 : $fit if $fit < $rows;
	}
	my $begun = time;
	my ($status, $grown, $error) = grown_over($expression, $n);
	my $took = time - $begun;

	$longest = $took if $took > $longest;
	if ($status != 0)
	{
		push @grown, "$name: $error";
		next;
	}
	($worst, $worst_call) = ($grown, $name) if $grown > $worst;
	push @grown, "$name: $grown bytes" if $grown > $allowed;
	$in_full++ if $n == $rows;
	push @fewer, "$name: $n" if $n != $rows;
	note sprintf('%s: %d rows, %.1f s, %d bytes', $name, $n, $took, $grown) if $rows > 60_000;
}
is(join("\n", @grown), '', "memory is flat over $rows rows of each of $in_full expressions" . (@fewer ? ', fewer of ' . @fewer . ' slow ones' : ''));
note "the most that one grew: $worst bytes ($worst_call); the longest took ", int($longest), ' s';
note 'rows of the slow ones: ', join(', ', @fewer) if @fewer;

# In one transaction, value by value, in plpgsql; and a definition that changes with each row over many transactions.
is((split /\n/, $node->safe_psql('postgres', <<"SQL"))[-1], 't', 'memory is flat over values changed in a loop');
CREATE FUNCTION change_in_a_loop(n int) RETURNS void LANGUAGE plpgsql AS \$\$
DECLARE v kiln(rec) := (SELECT r FROM base WHERE i = 9); w kiln;
BEGIN
	FOR k IN 1 .. n LOOP
		v := kiln_set(v, 'id', k::int8);
		v['s'] := to_json(k::text);
		w := kiln_merge(v, '{"f": 0.5}');
		IF (v->'id')::int8 <> k OR v->>'s' <> k::text OR w = v THEN
			RAISE EXCEPTION 'wrong';
		END IF;
	END LOOP;
END \$\$;
SELECT change_in_a_loop(500);
SELECT memory(1) AS before \\gset
SELECT change_in_a_loop(greatest($rows / 4, 1000));
SELECT memory(1) - :before < $allowed;
SQL

# Sorting, hashing and indexing call comparison and hash functions in contexts that live as long as the query. These values differ only
# at their ends, so that comparing two of them takes the whole of both.
for my $what ('ORDER BY r', 'ORDER BY r DESC, p')
{
	my $grown = $node->safe_psql('postgres', <<"SQL");
SET work_mem = '8MB';
CREATE TEMP TABLE toasted AS SELECT kiln_set(r, 'big', repeat('t', 20000) || g) AS r, p
	FROM (SELECT * FROM base WHERE i = 9) b, generate_series(1, 4000) g ORDER BY md5(g::text);
SELECT count(*) FROM (SELECT r FROM toasted $what OFFSET 0) s;
SELECT memory(1) AS before \\gset
SELECT max(m) - :before FROM (SELECT CASE WHEN row_number() OVER () % 4000 = 0 THEN memory(1) END AS m FROM (SELECT r FROM toasted $what OFFSET 0) s) q;
SQL
	cmp_ok((split /\n/, $grown)[-1], '<', 24_000_000, "$what of large values: comparisons leave nothing behind");
}

unlike(slurp_file($node->logfile), qr/PANIC|TRAP|XX000|was terminated by signal/, 'no crash in the log');

$node->stop;
done_testing();
