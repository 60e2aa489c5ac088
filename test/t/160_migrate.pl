# From jsonb with no definition written by hand: kiln_infer_agg, kiln_register, kiln_convert; then every read gives what jsonb gave. A row that does not fit
# is listed and left; what is stopped is resumed; a parallel plan and a forged state; memory.
#
# KILN_ROWS sets the number of generated events.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time sleep);

my $rows = $ENV{KILN_ROWS} || 100_000;
my $node = start_node('main', "autovacuum = off\nfsync = off\njit = off\nmax_wal_size = 4GB\ntimezone = 'UTC'\nmax_parallel_workers_per_gather = 2\n");

sub sql
{
	return $node->safe_psql('postgres', $_[0]);
}

# A statement, what it printed, and what it told.
sub told
{
	my ($statement) = @_;
	my ($out, $err);
	my $status = $node->psql('postgres', $statement, stdout => \$out, stderr => \$err, timeout => 3600);

	return ($status, $out // '', $err // '');
}

sql('CREATE EXTENSION kiln');

# ---------------------------------------------------------------- infer, register, convert, compare

# All of it for a table of n and j; gives the keys of the whole.
sub migrate
{
	my ($table, $name) = @_;
	my $begun = time;
	my $definition = sql("SELECT kiln_infer_agg(j, '$name') FROM $table");
	my $inferred = time;

	note "$table: $definition";
	sql("SELECT kiln_register(\$d\$$definition\$d\$); ALTER TABLE $table ADD m kiln($name)");
	my $registered = time;
	my ($status, $out, $err) = told("CALL kiln_convert('$table', 'j', 'm', '$name')");
	my $converted = time;

	is($status, 0, "$table: kiln_convert") or diag $err;
	note sprintf '%s: inferred in %.1f s, converted in %.1f s', $table, $inferred - $begun, $converted - $registered;
	like($err, qr/NOTICE:  kiln_convert: at the end of public\.$table, rows done: \d+, left as they were: 0/, "$table: told at the end");
	return map { s/^"(.*)"$/$1/r } split /\n/, sql("SELECT path FROM kiln_infer_report('$table', 'j') WHERE path <> '' AND path !~ '[.*]'");
}

# Each way to read a jsonb document against its counterpart.
sub compare
{
	my ($table, @keys) = @_;
	my $count = sql("SELECT count(*) FROM $table");
	my @checks = (
		[ 'the whole', 'm::jsonb IS DISTINCT FROM j' ],
		[ 'the text of the whole', 'm::jsonb::text::jsonb IS DISTINCT FROM j::text::jsonb' ],
		[ 'jsonb_each', '(SELECT jsonb_object_agg(key, value::jsonb) FROM kiln_each(m)) IS DISTINCT FROM j' ],
		[ 'jsonb_object_keys', '(SELECT array_agg(k ORDER BY k COLLATE "C") FROM kiln_keys(m) k) IS DISTINCT FROM (SELECT array_agg(k ORDER BY k COLLATE "C") FROM jsonb_object_keys(j) k)' ],
		[ '@> itself', 'NOT m @> j' ]);

	is(sql("SELECT count(m) FROM $table"), $count, "$table: all $count rows are converted");
	for my $key (@keys)
	{
		push @checks, [ "-> $key", "(m->'$key')::jsonb IS DISTINCT FROM j->'$key'" ],
			# a null is not there for kiln; a number's text may differ by the zeros at its end, and in how a float is written
			[ "->> $key", "CASE WHEN jsonb_typeof(j->'$key') = 'number' THEN (m->>'$key')::numeric IS DISTINCT FROM (j->>'$key')::numeric
				WHEN jsonb_typeof(j->'$key') IN ('object', 'array') THEN (m->>'$key')::jsonb IS DISTINCT FROM (j->>'$key')::jsonb
				ELSE m->>'$key' IS DISTINCT FROM j->>'$key' END" ],
			[ "#> $key", "(m #> '{$key}')::jsonb IS DISTINCT FROM j #> '{$key}'" ],
			[ "? $key", "(m ? '$key') IS DISTINCT FROM (j ? '$key' AND j->'$key' <> 'null')" ],
			[ "\@> $key", "j ? '$key' AND NOT m \@> jsonb_build_object('$key', j->'$key')" ],
			[ "jsonb_extract_path $key", "kiln_get_jsonb(m, '$key') IS DISTINCT FROM jsonb_extract_path(j, '$key')" ];
	}
	my @counts = split /\|/, sql('SELECT ' . join(', ', map { "count(*) FILTER (WHERE $_->[1])" } @checks) . " FROM $table");
	is(join('; ', map { $counts[$_] ? "$checks[$_][0]: $counts[$_]" : () } 0 .. $#checks), '', "$table: " . @checks . ' ways to read, the same in each row');
	return;
}

SKIP:
{
	my $json = '/usr/share/iso-codes/json/iso_639-3.json';

	skip "$json is not there (package iso-codes)", 1 unless -r $json;
	sql("CREATE TABLE languages AS SELECT row_number() OVER ()::int AS n, j FROM jsonb_array_elements(pg_read_file('$json')::jsonb -> '639-3') j");
	my @keys = migrate('languages', 'language');

	is("@keys", 'alpha_2 alpha_3 bibliographic common_name inverted_name name scope type', 'languages: the keys');
	cmp_ok(sql('SELECT count(*) FROM languages'), '>', 7000, 'languages: all of them');
	compare('languages', @keys);
}

# What services write: ids, times, texts beyond ASCII, fractions exact and not, lists, nested objects, keys that are data, fields that some lack, kinds that mix.
sql(<<"SQL");
CREATE TABLE events (n int PRIMARY KEY, j jsonb);
INSERT INTO events SELECT i, jsonb_build_object('id', i, 'trace', md5(i::text)::uuid, 'at', to_jsonb('2024-03-01'::timestamptz + i * interval '37 ms'),
		'day', '2024-03-01'::date + i % 366, 'name', 'event ' || chr(200 + i % 200), 'ok', i % 7 <> 0, 'load', i / 8.0::float8, 'ratio', i / 7.0::float8,
		'price', round(i / 3.0, 2), 'exact', (i || '.123456789012345678')::numeric, 'big', 9223372036854775807 - i,
		'tags', (SELECT coalesce(jsonb_agg('t' || k), '[]') FROM generate_series(1, i % 4) k), 'matrix', jsonb_build_array(jsonb_build_array(i % 3, 1), '[]'::jsonb),
		'user', jsonb_build_object('id', i % 1000, 'mail', 'u' || i % 1000 || '\@example.org', 'zone', CASE WHEN i % 2 = 0 THEN 'UTC' ELSE 'Europe/Rome' END),
		'labels', jsonb_build_object('host-' || i % 200, i % 5, 'rack-' || i % 90, null))
	|| CASE WHEN i % 10 = 0 THEN jsonb_build_object('error', jsonb_build_object('code', i % 600, 'stack', jsonb_build_array('a', 'b'))) ELSE '{}' END
	|| jsonb_build_object('any', CASE i % 4 WHEN 0 THEN to_jsonb(i) WHEN 1 THEN '"text"' WHEN 2 THEN '{"x": [null]}' ELSE 'null' END)
FROM generate_series(1, $rows) i;
ANALYZE events;
SQL
my @keys = migrate('events', 'event');
is(sql("SELECT kiln_definition(m) FROM events LIMIT 1") =~ s/u?i\d+|u\d+/INT/gr,
	'event(any json,at timestamptz,big INT,day date,error (code INT,stack string[])?,exact numeric,id INT,labels dict<INT?>,load f64,matrix INT[][],name string,'
		. 'ok bool,price f64,ratio f64,tags string[],trace uuid,user (id INT,mail string,zone string))', 'events: what was inferred');
compare('events', @keys);
is(sql(q{SELECT count(*) FROM events WHERE (m->'user'->>'mail') IS DISTINCT FROM (j->'user'->>'mail') OR (m #>> '{error,code}') IS DISTINCT FROM (j #>> '{error,code}')
		OR (m->'tags'->>0) IS DISTINCT FROM (j->'tags'->>0) OR (m->'labels'->>('host-' || n % 200)) IS DISTINCT FROM (j->'labels'->>('host-' || n % 200))
		OR (m->'ratio')::float8 IS DISTINCT FROM (j->'ratio')::float8 OR (m->'exact')::numeric IS DISTINCT FROM (j->'exact')::numeric
		OR (m->'at')::timestamptz IS DISTINCT FROM (j->>'at')::timestamptz OR (m #> '{any,x}')::jsonb IS DISTINCT FROM j #> '{any,x}'}),
	0, 'events: reads along a path, and as SQL types');
note 'bytes: ' . sql('SELECT sum(pg_column_size(j)), sum(pg_column_size(m)) FROM events');

# ---------------------------------------------------------------- a parallel plan

sql('SET parallel_setup_cost = 0; SET min_parallel_table_scan_size = 0; CREATE TABLE serial AS SELECT kiln_infer_agg(j) AS d, kiln_infer_report_agg(j) AS r FROM events');
like(sql('SET parallel_setup_cost = 0; SET min_parallel_table_scan_size = 0; EXPLAIN (COSTS off) SELECT kiln_infer_agg(j), kiln_infer_report_agg(j) FROM events'), qr/Finalize Aggregate.*Partial Aggregate/s, 'the plan over many rows is parallel');
sql('CREATE TABLE alone AS SELECT * FROM serial LIMIT 0');
sql('SET max_parallel_workers_per_gather = 0; INSERT INTO alone SELECT kiln_infer_agg(j), kiln_infer_report_agg(j) FROM events');
is(sql('SELECT s.d = a.d, s.r = a.r FROM serial s, alone a'), 't|t', 'definition and report are those of a serial plan');

# ---------------------------------------------------------------- rows that do not fit

my @odd = ('{"id": "x"}', '[1]', 'null');
sql("INSERT INTO events VALUES " . join(', ', map { '(' . -($_ + 1) . ", '$odd[$_]')" } 0 .. $#odd));
my ($status, $out, $err) = told("CALL kiln_convert('events', 'j', 'm', 'event')");
is($status, 0, 'rows that do not fit are no failure');
like($err, qr/rows done: 0, left as they were: 3/, 'they are counted');
is(() = $err =~ /row \(\d+,\d+\) of public\.events is left as it was: /g, 3, 'and told of') or diag $err;
is(sql(q{SELECT string_agg(key->>'n', ' ' ORDER BY (key->>'n')::int) FROM kiln_misfits('events', 'j', 'event')}), '-3 -2 -1', 'and listed');
is(sql('SELECT count(*) FROM events WHERE m IS NULL'), 3, 'and left');
like(sql(q{SELECT reason FROM kiln_misfits('events', 'j', 'event') WHERE key->>'n' = '-2'}), qr/expected an object, found a list/, 'with why');

# ---------------------------------------------------------------- stopped, and resumed

# A conversion that would take long: each thousandth part of the rows sleeps.
sql('CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.02); RETURN NEW; END $$');
sql("CREATE TRIGGER slow BEFORE UPDATE ON events FOR EACH ROW WHEN (OLD.n % (($rows) / 1000) = 0) EXECUTE FUNCTION slow(); ALTER TABLE events DISABLE TRIGGER slow");

sub begin_conversion
{
	my ($batch) = @_;
	my ($out, $err) = ('', '');
	my $run = IPC::Run::start([ 'psql', '-X', '-q', '-d', $node->connstr('postgres'), '-c', "CALL kiln_convert('events', 'j', 'm', 'event', $batch)" ],
		'<', \undef, '>', \$out, '2>', \$err, IPC::Run::timeout(600));

	return ($run, \$err);
}

sub converted
{
	return sql('SELECT count(m) FROM events');
}

# Begin again, have it stopped once some batches are committed, and see that it stands there.
sub stopped
{
	my ($how, $stop, $expected) = @_;

	sql('UPDATE events SET m = NULL; VACUUM FULL events; ALTER TABLE events ENABLE TRIGGER slow');
	my ($run, $err) = begin_conversion(1000);
	for (1 .. 600)
	{
		last if sql('SELECT EXISTS (SELECT FROM events WHERE m IS NOT NULL)') eq 't';
		sleep 0.1;
	}
	$stop->();
	IPC::Run::finish($run);
	like($$err, $expected, "$how: the call ends");
	sql('ALTER TABLE events DISABLE TRIGGER slow');
	my $done = converted();
	cmp_ok($done, '>', 0, "$how: $done rows are done");
	cmp_ok($done, '<', $rows, "$how: not all are");
	my (undef, undef, $rest) = told("CALL kiln_convert('events', 'j', 'm', 'event')");
	like($rest, qr/rows done: @{[ $rows - $done ]}, left as they were: 3/, "$how: the same call does the rest");
	is(sql('SELECT count(*) FROM events WHERE m::jsonb IS DISTINCT FROM j AND n > 0'), 0, "$how: all rows are equal to their sources");
	return;
}

stopped('a cancel', sub { sql(q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'CALL kiln_convert%' AND pid <> pg_backend_pid()}) }, qr/canceling statement due to user request/);
stopped('a crash', sub { $node->stop('immediate'); $node->start }, qr/server closed the connection|terminating connection|connection to server was lost/);
sql('UPDATE events SET m = NULL; ALTER TABLE events ENABLE TRIGGER slow');
($status, $out, $err) = told("SET statement_timeout = '300ms'; CALL kiln_convert('events', 'j', 'm', 'event', 100);");
like($err, qr/canceling statement due to statement timeout/, 'statement_timeout holds for the whole call');
sql('ALTER TABLE events DISABLE TRIGGER slow');
told("CALL kiln_convert('events', 'j', 'm', 'event')");
is(converted(), $rows, 'and the rest comes by the next one');

# Rows that change and come while it runs.
sql('UPDATE events SET m = NULL; VACUUM FULL events');
my ($run, $errors) = begin_conversion(500);
my $changes = 0;
while ($run->pumpable && $changes < 40)
{
	$changes++;
	sql("UPDATE events SET j = j || '{\"ok\": false}' WHERE n % 1000 = $changes; INSERT INTO events SELECT $rows + $changes, j FROM events WHERE n = 1");
	IPC::Run::pump_nb($run);
}
IPC::Run::finish($run);
unlike($$errors, qr/ERROR/, "$changes rounds of changes beside it: no error");
told("CALL kiln_convert('events', 'j', 'm', 'event')");
is(sql('SELECT count(*) FROM events WHERE m IS NULL AND n > 0'), 0, 'after one more call no row is without its value');

# ---------------------------------------------------------------- the latest version

sql(q{SELECT kiln_register(replace(kiln_infer_agg(j, 'event') FILTER (WHERE n > 0), 'event(', 'event(added string?,')) FROM events});
cmp_ok(sql('SELECT count(*) FROM events WHERE kiln_outdated(m)'), '>=', $rows, 'a new version makes all outdated');
($status, $out, $err) = told("CALL kiln_upgrade_table('events', 'm', 5000)");
like($err, qr/left as they were: 0/, 'kiln_upgrade_table');
is(sql('SELECT count(*) FROM events WHERE kiln_outdated(m)'), 0, 'none is outdated any more');
is(sql('SELECT count(DISTINCT kiln_version(m)) FROM events'), 1, 'all are of one version');

# ---------------------------------------------------------------- memory

sql(q{CREATE FUNCTION memory(i bigint) RETURNS bigint VOLATILE LANGUAGE sql AS
	$$ SELECT sum(total_bytes)::bigint FROM pg_backend_memory_contexts WHERE name <> 'ErrorContext' AND i > 0 $$});
my $grown = sql("SET max_parallel_workers_per_gather = 0; SELECT max(memory(n)) FILTER (WHERE n = $rows) - max(memory(n)) FILTER (WHERE n = 2000) FROM
	(SELECT n, j FROM events WHERE n > 0 ORDER BY n OFFSET 0) e HAVING kiln_infer_agg(j) IS NOT NULL");
cmp_ok($grown, '<', 200_000, "kiln_infer_agg: memory is flat over the rows ($grown bytes)");
my $wide = sql("SET max_parallel_workers_per_gather = 0; SELECT max(memory(i)) FILTER (WHERE i = 50000) || ' ' || length(kiln_infer_agg(j)) FROM
	(SELECT i, jsonb_build_object('k' || i % 1500, jsonb_build_object('x' || i % 700, i, 'y' || i, jsonb_build_object('z' || i, i))) AS j FROM generate_series(1, 50000) i OFFSET 0) e");
my ($most, $length) = split / /, $wide;
cmp_ok($most, '<', 40_000_000, "and bounded where keys never end ($most bytes)");
sql(q{CREATE TABLE seen (n int, bytes bigint);
	CREATE FUNCTION note_memory() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen VALUES (NEW.n, memory(NEW.n)); RETURN NEW; END $$;
	UPDATE events SET m = NULL; VACUUM FULL events});
sql("CREATE TRIGGER note_memory BEFORE UPDATE ON events FOR EACH ROW WHEN (OLD.n % (($rows) / 10) = 5) EXECUTE FUNCTION note_memory()");
told("CALL kiln_convert('events', 'j', 'm', 'event', 1000)");
my $spread = sql('SELECT max(bytes) - min(bytes) FROM seen WHERE n > (SELECT min(n) FROM seen)');
cmp_ok($spread, '<', 1_000_000, "kiln_convert: memory is flat over the batches ($spread bytes)");

# ---------------------------------------------------------------- forged states

# An aggregate whose serialization is spoilt on its way from worker to leader: one byte, or all from there on.
SKIP:
{
	my $folder = PostgreSQL::Test::Utils::tempdir();
	my $include = $node->config_data('--includedir-server');

	# an installation that was copied has no headers of its own
	($include) = grep { -e "$_/postgres.h" } $include, glob('/usr/include/postgresql/' . ($node->config_data('--version') =~ /(\d+)/)[0] . '/server');
	open my $c, '>', "$folder/spoil.c" or die;
	print $c <<'C';
#include "postgres.h"
#include "fmgr.h"
#include "utils/guc.h"
PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(spoil);
Datum
spoil(PG_FUNCTION_ARGS)
{
	PGFunction	serialize = (PGFunction) load_external_function("$libdir/kiln", "kiln_infer_agg_serialize", true, NULL);
	bytea	   *state = DatumGetByteaPP(serialize(fcinfo));
	int			at = atoi(GetConfigOption("spoil.at", false, false));
	int			by = atoi(GetConfigOption("spoil.by", false, false));
	int			n = VARSIZE(state) - VARHDRSZ;

	if (by == 0 && at < n)
		SET_VARSIZE(state, VARHDRSZ + at);
	else if (at < n)
		VARDATA(state)[at] ^= (char) by;
	PG_RETURN_BYTEA_P(state);
}
C
	close $c;
	skip 'no C compiler, or no headers', 1 if !$include || system("cc -shared -fPIC -w -I'$include' -I/usr/include/postgresql -o '$folder/spoil.so' '$folder/spoil.c'") != 0;
	chmod 0755, $folder;
	sql(<<"SQL");
CREATE FUNCTION spoil(internal) RETURNS bytea AS '$folder/spoil.so' LANGUAGE C STRICT IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE spoilt(jsonb) (SFUNC = kiln_infer_agg_add, STYPE = internal, FINALFUNC = kiln_infer_agg_final, COMBINEFUNC = kiln_infer_agg_combine,
	SERIALFUNC = spoil, DESERIALFUNC = kiln_infer_agg_deserialize, PARALLEL = SAFE);
CREATE TABLE few AS SELECT jsonb_build_object('a', i, 'b', jsonb_build_object('c', 'x'), 'l', '[1, null]'::jsonb, 'o', '{"\$k": 1}'::jsonb) AS j FROM generate_series(1, 300) i;
ALTER TABLE few SET (parallel_workers = 2);
ANALYZE few;
CREATE FUNCTION try_states(rounds int) RETURNS TABLE (outcome text, n bigint) LANGUAGE plpgsql
	SET parallel_setup_cost = 0 SET parallel_tuple_cost = 0 SET min_parallel_table_scan_size = 0 SET parallel_leader_participation = off
	SET max_parallel_workers_per_gather = 2 AS \$\$
DECLARE outcomes text[] := '{}'; d text;
BEGIN
	FOR i IN 0 .. rounds LOOP
		PERFORM set_config('spoil.at', CASE WHEN i = 0 THEN 1000000 ELSE (i * 37) % 2200 END::text, false), set_config('spoil.by', CASE WHEN i % 3 = 0 THEN 0 ELSE 1 + (i * 11) % 255 END::text, false);
		BEGIN
			EXECUTE 'SELECT spoilt(j) FROM few' INTO d;		-- SELECT INTO has no parallel plan
			outcomes := outcomes || CASE WHEN d IS NULL THEN 'null' ELSE 'taken' END;
		EXCEPTION WHEN OTHERS THEN
			outcomes := outcomes || SQLSTATE::text;
		END;
	END LOOP;
	RETURN QUERY SELECT o, count(*) FROM unnest(outcomes) o GROUP BY 1;
END \$\$;
SQL
	my %outcomes = map { split /\|/ } split /\n/, sql('SELECT * FROM try_states(150)');
	note join ', ', map { "$_: $outcomes{$_}" } sort keys %outcomes;
	cmp_ok($outcomes{'22P03'} // 0, '>', 20, 'spoilt states are refused as damaged bytes');
	is(join(' ', grep { !/^(taken|22P03|54000|42804)$/ } sort keys %outcomes), '', 'or taken, and no other way');
}

unlike(slurp_file($node->logfile), qr/PANIC|TRAP|XX000|was terminated by signal/, 'no crash in the log');
$node->stop;
done_testing();
