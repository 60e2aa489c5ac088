# Who may do what: reading needs no right on anything of ours, registering needs USAGE on the wrapper; nothing that another
# role planted is run by the install script; and nothing that is done to the catalog by hand makes a value read as something that it is not.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('main');

# The SQLSTATE and text of a statement's error in a database, as a role; '' if there is none.
sub error_of
{
	my ($database, $role, $sql) = @_;
	my ($status, $out, $error) = $node->psql($database, "\\set VERBOSITY verbose\n$sql", on_error_stop => 1, extra_params => [ '-U', $role ]);

	return $status == 0 ? '' : $error;
}

sub as
{
	my ($database, $role, $sql) = @_;

	return $node->safe_psql($database, $sql, extra_params => [ '-U', $role ]);
}

# No internal error may be in the log but those that a test asks for.
sub log_is_clean
{
	my ($what) = @_;

	unlike(slurp_file($node->logfile), qr/PANIC|TRAP|was terminated by signal|XX000/, "$what: no crash in the log");
	return;
}

$node->append_conf('postgresql.conf', "log_error_verbosity = verbose\nfsync = off");
$node->reload;
$node->safe_psql('postgres', "CREATE ROLE $_ LOGIN") for qw(owner developer reader evil other);

# ---------------------------------------------------------------- reading without rights

$node->safe_psql('postgres', 'CREATE DATABASE rights OWNER owner TEMPLATE template0');
as('rights', 'owner', <<"SQL");
ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
CREATE SCHEMA house;
CREATE EXTENSION kiln SCHEMA house;
SET search_path = house, public;
SELECT kiln_register('$EVENT_1');
CREATE SCHEMA data;
GRANT USAGE ON SCHEMA data TO reader;
CREATE TABLE data.events (n int PRIMARY KEY, tenant text DEFAULT 'reader', m kiln(event));
INSERT INTO data.events (n, m) SELECT i, kiln_encode('event', jsonb_build_object('id', i, 'name', 'event ' || i)) FROM generate_series(1, 100) i;
GRANT SELECT, INSERT ON data.events TO reader;
SQL
$node->safe_psql('rights', 'REVOKE ALL ON pg_foreign_server, pg_foreign_data_wrapper, pg_extension FROM PUBLIC; REVOKE ALL ON SCHEMA public FROM PUBLIC');

# Not even the extension's schema may be used: values are read, written and copied all the same.
like(as('rights', 'reader', 'SELECT m FROM data.events WHERE n = 7'), qr/"event 7"/, 'a value is read with SELECT on its table alone');
is(as('rights', 'reader', q{INSERT INTO data.events VALUES (101, 'reader', '{"id": 101, "name": "by the reader"}') RETURNING n}), 101, 'and written with INSERT');
like(as('rights', 'reader', 'COPY data.events (m) TO stdout'), qr/by the reader/, 'and copied');
is(as('rights', 'reader', 'SELECT count(DISTINCT m) FROM data.events'), 101, 'and compared');
like(error_of('rights', 'reader', q{SELECT house.kiln_get(m, 'name') FROM data.events}), qr/42501.*schema house/, 'the schema of the functions is closed like any other');

as('rights', 'owner', 'GRANT USAGE ON SCHEMA house TO reader, developer, other');
is(as('rights', 'reader', q{SELECT house.kiln_get(m, 'name'), (m OPERATOR(house.->) 'id')::int8, m::jsonb->>'id' FROM data.events WHERE n = 8}),
	'event 8|8|8', 'once it is open, fields are read');
is(as('rights', 'reader', 'SELECT count(*), bool_and(valid) FROM house.kiln_schemas'), '1|t', 'and the list of definitions');
is(as('rights', 'reader', q{SELECT house.kiln_register('event(id i64,name string,score f64?)') = hash FROM house.kiln_schemas}), 't',
	'kiln_register answers for what is registered');

# ---------------------------------------------------------------- registering

for my $statement (
	q{SELECT house.kiln_register('mine(a i32)')}, q{SELECT house.kiln_register('mine', 'pg_catalog.pg_stat_archiver')},
	q{SELECT house.kiln_forget('event')}, q{CREATE SERVER s FOREIGN DATA WRAPPER kiln OPTIONS (definition 'mine(a i32)')})
{
	like(error_of('rights', 'reader', $statement), qr/42501/, "refused without USAGE: $statement");
}
like(error_of('rights', 'reader', 'DROP SERVER ' . as('rights', 'owner', 'SELECT server FROM house.kiln_schemas')), qr/42501/, 'DROP SERVER too');
is(as('rights', 'reader', 'SELECT count(*) FROM house.kiln_schemas'), 1, 'nothing has changed');

as('rights', 'owner', 'GRANT USAGE ON FOREIGN DATA WRAPPER kiln TO developer');
as('rights', 'developer', q{SELECT house.kiln_register('mine(a i32)')});
is(as('rights', 'owner', q{SELECT srvowner::regrole FROM pg_foreign_server WHERE srvtype = 'mine'}, ), 'owner', 'a developer registers for the owner of the extension')
	if as('rights', 'owner', q{SELECT has_table_privilege('pg_foreign_server', 'SELECT')}) eq 't';
is($node->safe_psql('rights', q{SELECT srvowner::regrole FROM pg_foreign_server WHERE srvtype = 'mine'}), 'owner', 'the server is the owner\'s');
like(error_of('rights', 'developer', "ALTER SERVER kiln_x VERSION '1'; "), qr/42704/, 'no such server');
like(error_of('rights', 'developer', 'ALTER SERVER ' . as('rights', 'owner', q{SELECT server FROM house.kiln_schemas WHERE name = 'mine'}) . q{ OPTIONS (SET definition 'mine(a i64)')}),
	qr/42501/, 'and the developer can\'t alter it');
like(error_of('rights', 'developer', 'GRANT USAGE ON FOREIGN DATA WRAPPER kiln TO reader; SELECT house.kiln_register($$still(a i8)$$)'), qr/^$|42501/, 'USAGE without grant option');
like(error_of('rights', 'reader', q{SELECT house.kiln_register('mine_too(a i32)')}), qr/42501/, 'gives nobody else the right');

# Within a SECURITY DEFINER function the right is that of the function's owner, no more.
as('rights', 'developer', 'SELECT 1');
as('rights', 'owner', <<'SQL');
CREATE FUNCTION data.register(d text) RETURNS text LANGUAGE sql SECURITY DEFINER SET search_path = house AS 'SELECT kiln_register(d)';
CREATE FUNCTION data.names() RETURNS SETOF text LANGUAGE sql SECURITY DEFINER SET search_path = '' AS
	$$ SELECT house.kiln_get(m, 'name') FROM data.events ORDER BY n $$;
GRANT EXECUTE ON FUNCTION data.register(text), data.names() TO reader;
CREATE VIEW data.seen AS SELECT n, house.kiln_get(m, 'name') AS name, m FROM data.events;
GRANT SELECT ON data.seen TO other;
GRANT USAGE ON SCHEMA data TO other;
SQL
like(as('rights', 'reader', q{SELECT data.register('by_definer(a i32)')}), qr/^[0-9a-f]{16}$/, 'SECURITY DEFINER: registers with the right of its owner');
is(as('rights', 'reader', 'SELECT session_user = current_user, current_user'), 't|reader', 'the caller is who it was');
is(as('rights', 'reader', 'SELECT count(*) FROM data.names()'), 101, 'SECURITY DEFINER: reads');
like(as('rights', 'other', 'SELECT n, name, m FROM data.seen WHERE n = 3'), qr/3\|event 3\|/, 'a view of another role');
like(error_of('rights', 'other', 'SELECT m FROM data.events'), qr/42501/, 'which has no right on its table');

# ---------------------------------------------------------------- row security

# None of ours is leakproof: an error of theirs would tell of rows that a policy hides.
is($node->safe_psql('rights', q{
		SELECT p.oid::regprocedure FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass
			JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass
		WHERE e.extname = 'kiln' AND (p.proleakproof OR p.prosecdef)}), '', 'no function is leakproof, none runs with its owner\'s rights');
as('rights', 'owner', <<'SQL');
SET search_path = house, data;
INSERT INTO events VALUES (200, 'secret', '{"id": 4000000000, "name": "hidden"}');
ALTER TABLE events ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON events USING (tenant = current_user AND kiln_get_int8(m, 'id') < 50);
SQL
is(as('rights', 'reader', 'SELECT count(*), max(house.kiln_get_int8(m, $$id$$)) FROM data.events'), '49|49', 'a policy over fields holds');
is(error_of('rights', 'reader', 'SELECT count(*) FROM data.events WHERE house.kiln_get_int4(m, $$id$$) > 0'), '',
	'a condition that would fail on a hidden row never sees it');
like(error_of('rights', 'reader', q{INSERT INTO data.events VALUES (300, 'reader', '{"id": 51, "name": "too far"}')}), qr/42501.*row-level security/, 'nor does a row get in against it');

# ---------------------------------------------------------------- a role that goes

as('rights', 'owner', q{GRANT USAGE ON FOREIGN DATA WRAPPER kiln TO developer});
as('rights', 'developer', q{SELECT house.kiln_register('left_behind(a i32,b string)')});
$node->safe_psql('rights', 'DROP OWNED BY developer; ');
is(as('rights', 'other', q{SELECT count(*) FROM house.kiln_schemas WHERE name IN ('left_behind', 'mine')}), 2, 'DROP OWNED BY of who registered leaves the definitions');
like(error_of('rights', 'developer', q{SELECT house.kiln_register('again(a i32)')}), qr/42501/, 'and takes the right');

# The extension and its servers move to another owner; grants are not moved by REASSIGN OWNED, so the right has to be given.
$node->safe_psql('rights', 'REASSIGN OWNED BY owner TO other');
like(as('rights', 'reader', 'SELECT m FROM data.events WHERE n = 7'), qr/"event 7"/, 'REASSIGN OWNED: values are read');
my $moved = error_of('rights', 'other', q{SELECT house.kiln_register('moved(a i32)')});
like($moved, qr/42501/, 'the new owner lacks the right to register');
$node->safe_psql('rights', 'GRANT USAGE ON FOREIGN DATA WRAPPER kiln TO other WITH GRANT OPTION');
is(error_of('rights', 'other', q{SELECT house.kiln_register('moved(a i32)')}), '', 'until it is given');

# ---------------------------------------------------------------- squatters, and catalogs changed by hand

$node->safe_psql('rights', 'CREATE FOREIGN DATA WRAPPER plain; GRANT USAGE ON FOREIGN DATA WRAPPER plain TO evil; GRANT USAGE ON SCHEMA house, data TO evil; GRANT SELECT ON data.events TO evil; ALTER TABLE data.events DISABLE ROW LEVEL SECURITY');
my $squat = as('rights', 'other', q{SELECT house.kiln_hash('{"$kiln": "squat(a i32)", "a": 1}'::house.kiln)});
as('rights', 'evil', "CREATE SERVER kiln_$squat FOREIGN DATA WRAPPER plain OPTIONS (definition 'squat(a i32)')");
my $error = error_of('rights', 'other', q{SELECT house.kiln_register('squat(a i32)')});
like($error, qr/42710/, 'a squatted server name is 42710');
like($error, qr/HINT:.*Drop or rename/, 'with a hint');
like(error_of('rights', 'other', q{SELECT '{"$kiln": "squat(a i32)", "a": 1}'::house.kiln}), qr/55000.*HINT:.*Drop or rename/s,
	'no value of that definition is made meanwhile, inline neither');
is(as('rights', 'other', q{SELECT house.kiln_get('{"$kiln": "not_squat(a i32)", "a": 1}'::house.kiln, 'a')}), 1, 'others are');
$node->safe_psql('rights', "ALTER SERVER kiln_$squat RENAME TO away");
is(error_of('rights', 'other', q{SELECT house.kiln_register('squat(a i32)')}), '', 'once it is out of the way, it is registered');

my $server = as('rights', 'other', q{SELECT server FROM house.kiln_schemas WHERE name = 'event'});
my $session = open_session($node);
ask_session($session, "\\c rights\nSET search_path = house, \"odd house\";\nPREPARE p AS SELECT kiln_get(m, 'name') FROM data.events WHERE n = 5;\nEXECUTE p;\n\\echo ready\n", qr/ready\n/);
like($session->{out}, qr/event 5/, 'a session with a plan');
for my $change (
	[ "OPTIONS (SET definition 'event(id i64,name bytes,score f64?)')", "OPTIONS (SET definition '$EVENT_1')", qr/55000/ ],
	[ 'RENAME TO elsewhere', undef, qr/42704/ ],
	[ "VERSION '77'", "VERSION '1'", undef ],
	[ "OWNER TO owner", 'OWNER TO other', undef ])
{
	my ($there, $back, $state) = @$change;

	$node->safe_psql('rights', "ALTER SERVER $server $there");
	ask_session($session, "\\set VERBOSITY verbose\nEXECUTE p;\n\\echo after\n", qr/after\n/);
	if ($state)
	{
		like($session->{err}, $state, "ALTER SERVER … $there: an error in a session that has a plan");
		like(as('rights', 'evil', 'SELECT m FROM data.events WHERE n = 5'), qr/"\$base64"/, 'text output prints the base64 form');
		like(error_of('rights', 'evil', 'SELECT house.kiln_get_jsonb(m, $$$$) FROM data.events WHERE n = 5'), $state, 'reading raises in a new one');
	}
	else
	{
		like($session->{out}, qr/event 5/, "ALTER SERVER … $there: nothing changes");
	}
	$node->safe_psql('rights', $back ? "ALTER SERVER $server $back" : "ALTER SERVER elsewhere RENAME TO $server");
	ask_session($session, "EXECUTE p;\n\\echo back\n", qr/back\n/);
	like($session->{out}, qr/event 5/, 'and when it is undone, values are read again');
}

# ---------------------------------------------------------------- the extension moves, goes and comes under open sessions

ask_session($session, "PREPARE q AS SELECT (m->'id')::int8, m::jsonb @> '{\"id\": 5}' FROM data.events WHERE n = 5;\nEXECUTE q;\n\\echo moved\n", qr/moved\n/);
$node->safe_psql('rights', 'CREATE SCHEMA "odd house"; ALTER EXTENSION kiln SET SCHEMA "odd house"');
ask_session($session, "EXECUTE p;\nEXECUTE q;\nSELECT count(*) FROM data.events WHERE (m->'id')::int8 < 50;\n\\echo there\n", qr/there\n/);
like($session->{out}, qr/event 5\n5\|t\n49\n/, 'ALTER EXTENSION SET SCHEMA: plans made before and after it') or diag $session->{err};
$node->safe_psql('rights', 'DROP EXTENSION kiln CASCADE');
ask_session($session, "EXECUTE p;\nSELECT count(*) FROM data.events;\n\\echo dropped\n", qr/dropped\n/);
like($session->{err}, qr/does not exist|42703/, 'DROP EXTENSION: its column is gone');
$node->safe_psql('rights', q{
	CREATE EXTENSION kiln SCHEMA house;
	SET search_path = house;
	SELECT kiln_register('again(a i32,b string)');
	CREATE TABLE data.again (n int, m kiln(again));
	INSERT INTO data.again VALUES (1, '{"a": 5, "b": "new"}');
	ALTER TABLE data.events ADD m kiln(again) DEFAULT '{"a": 6, "b": "default"}'});
ask_session($session, "SET search_path = house;\nSELECT m->>'b' FROM data.again;\nSELECT m->>'b' FROM data.events WHERE n = 5;\n\\echo again\n", qr/again\n/);
like($session->{out}, qr/new\ndefault\n/, 'CREATE EXTENSION: the same session reads new values') or diag $session->{err};
close_session($session);
log_is_clean('catalogs changed by hand');

# ---------------------------------------------------------------- what another role planted

# Every name that the script makes, made before by another role: it is an error, and no object is taken over.
$node->safe_psql('postgres', 'CREATE DATABASE model TEMPLATE template0');
$node->safe_psql('model', 'CREATE EXTENSION kiln');
my @plants;
push @plants, split /\n/, $node->safe_psql('model', q{
	SELECT DISTINCT ON (p.proname) format('CREATE FUNCTION trap.%I(%s) RETURNS int LANGUAGE sql AS $$SELECT 1$$', p.proname,
		(SELECT coalesce(string_agg(format_type(a, NULL), ', '), '') FROM unnest(p.proargtypes) a))
	FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
		JOIN pg_extension e ON e.oid = d.refobjid
	WHERE e.extname = 'kiln' AND NOT 'kiln'::regtype = ANY (p.proargtypes) AND NOT 'kiln[]'::regtype = ANY (p.proargtypes)
		AND NOT 'internal'::regtype = ANY (p.proargtypes) AND NOT 'cstring'::regtype = ANY (p.proargtypes) AND NOT 'cstring[]'::regtype = ANY (p.proargtypes)
		AND p.proname NOT IN ('kiln_schemas')
	ORDER BY p.proname});
push @plants, 'CREATE TYPE trap.kiln AS (a int)', 'CREATE DOMAIN trap.kiln AS int', 'CREATE TABLE trap.kiln_schemas (a int)',
	'CREATE VIEW trap.kiln_columns AS SELECT 1 AS a', 'CREATE FUNCTION trap.kiln_schemas() RETURNS int LANGUAGE sql AS $$SELECT 1$$';
cmp_ok(scalar @plants, '>', 20, 'names to plant: ' . scalar @plants);
$node->safe_psql('postgres', 'CREATE DATABASE trapped TEMPLATE template0');
$node->safe_psql('trapped', 'CREATE SCHEMA trap; GRANT ALL ON SCHEMA trap TO evil; CREATE TABLE public.sprung (what text, by_whom text); GRANT INSERT ON sprung TO PUBLIC');
my @taken;
for my $plant (@plants)
{
	as('trapped', 'evil', $plant);
	my $error = error_of('trapped', 'postgres', 'CREATE EXTENSION kiln SCHEMA trap');

	push @taken, $plant if $error !~ /42723|42710|42P07|42P13|42P17|42883/;
	push @taken, "still there: $plant" if $node->safe_psql('trapped', q{SELECT count(*) FROM pg_extension WHERE extname = 'kiln'}) ne '0';
	$node->safe_psql('trapped', 'DROP EXTENSION IF EXISTS kiln CASCADE');
	$node->safe_psql('trapped', 'DROP OWNED BY evil; GRANT ALL ON SCHEMA trap TO evil; GRANT INSERT ON sprung TO PUBLIC');
}
is("@taken", '', 'each stops the script, with an error that says so');

# An update script makes names, too: those that the older version has not.
my @scripts = glob($node->config_data('--sharedir') . '/extension/kiln--*.sql');
my ($newest) = slurp_file($node->config_data('--sharedir') . '/extension/kiln.control') =~ /^default_version = '([^']+)'/m;
my $updates = 0;
@taken = ();
for my $version (grep { $_ ne $newest } map { m{/kiln--([0-9.]+)\.sql$} ? $1 : () } @scripts)
{
	for my $plant (@plants)
	{
		my $install = "CREATE EXTENSION kiln SCHEMA trap VERSION '$version'";

		$node->safe_psql('trapped', $install);
		if (error_of('trapped', 'evil', $plant) eq '')
		{
			my $error = error_of('trapped', 'postgres', 'ALTER EXTENSION kiln UPDATE');

			$updates++;
			push @taken, $plant if $error !~ /42723|42710|42P07|42P13|42P17|42883/;
			push @taken, "updated: $plant" if $node->safe_psql('trapped', q{SELECT extversion FROM pg_extension WHERE extname = 'kiln'}) ne $version;
		}
		$node->safe_psql('trapped', 'DROP EXTENSION kiln CASCADE; DROP OWNED BY evil; GRANT ALL ON SCHEMA trap TO evil; GRANT INSERT ON sprung TO PUBLIC');
	}
}
is("@taken", '', "so it is with update scripts: $updates names");

# Better matches for what the script and its functions call: operators and functions over the types at hand, which tell when they are run.
my @types = qw(oid int2 int4 int8 text name bool regtype regproc char jsonb anyelement);
my $traps = join '', map {
	my ($operator, $i) = ($_, $_);
	$i =~ s/(.)/sprintf '%02x', ord $1/ge;
	map {
		my $type = $_;
		map { <<"SQL" } grep { $_ eq $type || $type ne 'anyelement' && $_ ne 'anyelement' } @types;
CREATE FUNCTION trap.spring_$i($type, $_) RETURNS bool LANGUAGE plpgsql AS \$\$ BEGIN INSERT INTO public.sprung VALUES ('$operator', current_user); RETURN true; END \$\$;
CREATE OPERATOR trap.$operator (LEFTARG = $type, RIGHTARG = $_, FUNCTION = trap.spring_$i);
SQL
	} @types
} qw(= <> >= > @>);
for my $function ('max(text)', 'max(int8)', 'max(anyelement)', 'unnest(oid[])', 'format(text, text)', 'length(text)', 'quote_ident(text)', 'lower(text)', 'concat(text)',
	'kiln_to_jsonb(jsonb)', 'matchingsel(oid)', 'kiln_typmod_out(int8)', 'kiln_typmod_out(oid)')
{
	$traps .= "CREATE FUNCTION trap.$function RETURNS text LANGUAGE plpgsql AS \$\$ BEGIN INSERT INTO public.sprung VALUES ('function', current_user); RETURN NULL; END \$\$;\n";
}
as('trapped', 'evil', $traps);
is(error_of('trapped', 'postgres', 'CREATE EXTENSION kiln SCHEMA trap'), '', 'the script runs among planted operators and functions');
my $use = <<'SQL';
SET search_path = trap;
SELECT kiln_register('planted(id i64, name string, tags string[], d dict<i32>)');
CREATE TEMP TABLE t (m kiln(planted));
INSERT INTO t VALUES ('{"id": 1, "name": "x", "tags": ["a"], "d": {"k": 1}}'), ('{"id": 2, "name": "y", "tags": [], "d": {}}');
SELECT m->>'name', (m->'id')::int8, m['tags'][0], m::jsonb, kiln_contains(m, '{"id": 1}') FROM t ORDER BY m;
SELECT * FROM kiln_schemas;
SELECT * FROM kiln_columns;
SELECT kiln_dump_schemas();
SELECT count(DISTINCT m), kiln_tensor_agg((m->'id')::int8) FROM t;
SELECT kiln_populate_record(NULL::pg_catalog.pg_stat_archiver, m) FROM t;
SELECT kiln_forget('nothing');
SQL
$node->psql('trapped', $use);
is($node->safe_psql('trapped', 'SELECT what, by_whom, count(*) FROM sprung GROUP BY 1, 2'), '', 'none of them is run, by the script or by what it made');

# What the extension's objects hang on is its own or the system's.
is($node->safe_psql('trapped', q{
		WITH members AS (SELECT classid, objid FROM pg_depend WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
			AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'kiln'))
		SELECT pg_describe_object(d.classid, d.objid, d.objsubid), pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid)
		FROM pg_depend d JOIN members m ON (m.classid, m.objid) = (d.classid, d.objid)
		WHERE d.deptype <> 'e' AND NOT EXISTS (SELECT FROM members r WHERE (r.classid, r.objid) = (d.refclassid, d.refobjid))
			AND d.refobjid >= 16384 AND d.refclassid <> 'pg_namespace'::regclass
			AND NOT EXISTS (SELECT FROM pg_type t JOIN members r ON r.objid = t.typrelid OR r.objid = t.typelem WHERE t.oid = d.refobjid)}),
	'', 'no object of the extension hangs on a planted one');
is($node->safe_psql('trapped', q{
		SELECT p.oid::regprocedure FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
			AND d.refclassid = 'pg_extension'::regclass JOIN pg_extension e ON e.oid = d.refobjid
		WHERE e.extname = 'kiln' AND p.prokind <> 'a' AND p.prolang <> (SELECT oid FROM pg_language WHERE lanname = 'c')
			AND p.prosqlbody IS NULL}),
	'', 'functions in SQL are parsed when they are made, not when they are run');

# The scripts themselves: no DO block, no CREATE OR REPLACE, no IF NOT EXISTS, no schema name put into a string, no operator in an expression that is
# looked up by the search path.
cmp_ok(scalar @scripts, '>', 1, 'scripts: ' . join(' ', map { s{.*/}{}r } @scripts));
for my $script (@scripts)
{
	my $text = slurp_file($script) =~ s/--[^\n]*//gr;

	unlike($text, qr/\b(OR\s+REPLACE|IF\s+NOT\s+EXISTS|EXECUTE\s+format|DO\s+\$|\@extschema|SECURITY\s+DEFINER|LEAKPROOF)/i, $script =~ s{.*/}{}r . ' takes nothing over and runs nothing');
}

# ---------------------------------------------------------------- odd schemas, no search path

for my $schema ("odd name", "a'b", 'a$b', 'a"b', 'Größe', 'kiln')
{
	my $quoted = '"' . $schema =~ s/"/""/gr . '"';

	$node->safe_psql('postgres', 'CREATE DATABASE odd TEMPLATE template0 OWNER owner');
	my $error = error_of('odd', 'owner', "CREATE SCHEMA $quoted; CREATE EXTENSION kiln SCHEMA $quoted;");
	is($error, '', "CREATE EXTENSION by an ordinary owner in schema $quoted");
	my $seen = as('odd', 'owner', <<"SQL");
SET search_path = '';
SELECT $quoted.kiln_register('message(id i64, body string, tags string[])') IS NOT NULL;
CREATE TABLE public.t (n int PRIMARY KEY, m $quoted.kiln(message) CHECK ($quoted.kiln_get_int8(m, 'id') > 0));
CREATE INDEX ON public.t (((m OPERATOR($quoted.->) 'id')::pg_catalog.int8));
CREATE INDEX ON public.t USING gin ((m::pg_catalog.jsonb) pg_catalog.jsonb_path_ops);
INSERT INTO public.t SELECT i, $quoted.kiln_encode('message', pg_catalog.jsonb_build_object('id', i, 'body', 'b' || i, 'tags', array['x']))
	FROM pg_catalog.generate_series(1, 50) i;
ANALYZE public.t;
SET enable_seqscan = off;
SELECT m OPERATOR($quoted.->>) 'body', m['id']::pg_catalog.int8 FROM public.t WHERE (m OPERATOR($quoted.->) 'id')::pg_catalog.int8 = 7;
SELECT pg_catalog.count(*) FROM public.t WHERE m OPERATOR($quoted.@>) '{"id": 8}'::pg_catalog.jsonb;
SELECT pg_catalog.count(DISTINCT m), ($quoted.kiln_tensor_agg($quoted.kiln_get_float8(m, 'id'))) IS NOT NULL FROM public.t;
SELECT pg_catalog.count(*) FROM $quoted.kiln_columns WHERE registered;
SELECT pg_catalog.count(*) FROM $quoted.kiln_dump_schemas();
SQL
	is($seen, "t\nb7|7\n1\n50|t\n1\n1", 'everything works there with an empty search_path');
	like(as('odd', 'owner', "SET search_path = ''; SET enable_seqscan = off; EXPLAIN (COSTS off) SELECT FROM public.t WHERE (m OPERATOR($quoted.->) 'id')::pg_catalog.int8 = 7"),
		qr/Index/, 'expression indexes too');
	$node->safe_psql('postgres', 'DROP DATABASE odd');
}

# ---------------------------------------------------------------- functions for the server's own use

# Each function with an argument or result of type internal, called by hand in every way that the grammar lets through.
my @internal = split /\n/, $node->safe_psql('model', q{
	SELECT format('%s(%s)', p.proname, (SELECT string_agg(CASE
			WHEN a = 'internal'::regtype THEN 'NULL'
			WHEN a = 'anyarray'::regtype THEN 'ARRAY[1.5::float8]'
			WHEN a = 'kiln'::regtype THEN 'kiln_tensor(ARRAY[1.5::float8])'
			WHEN a = 'bytea'::regtype THEN '''\x0000000100000002ffffffffffffffff00''::bytea'
			WHEN a = 'cstring'::regtype THEN '''{}''' WHEN a = 'text'::regtype THEN '''x''::text' WHEN a = 'boolean'::regtype THEN 'true'
			ELSE format('''1''::%s', format_type(a, NULL)) END, ', ' ORDER BY n) FROM unnest(p.proargtypes) WITH ORDINALITY u (a, n)))
	FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
		JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass
	WHERE e.extname = 'kiln' AND ('internal'::regtype = ANY (p.proargtypes) OR p.prorettype = 'internal'::regtype) AND p.prokind = 'f'
	ORDER BY 1});
cmp_ok(scalar @internal, '>', 20, 'functions with internal arguments: ' . scalar @internal);
my @states = grep { /agg_\w+\(|collect_\w+\(|stack_\w+\(|sum_\w+\(|deserialize/ } @internal;
my @calls = map { "SELECT $_" } @internal;
push @calls, map { my $f = $_; map { my $g = $_; (my $call = $f) =~ s/NULL/$g/; "SELECT $call" } @states } grep { /final|serialize|combine/ } @internal;
push @calls, map { my $f = $_; (my $call = $f) =~ s/NULL/x.s/; "SELECT $call FROM (SELECT $states[0] AS s OFFSET 0) x" } grep { /final|serialize/ } @internal;
# Within an aggregate of the user's own, whose state is a value that was made by hand.
push @calls, map { "SELECT max(n) FROM (SELECT count($_) AS n) x" } @internal;
my $answers = '';
my $calls = join '', map { "$_;\n" } @calls;
my ($status, $out, $errors) = $node->psql('model', "SET client_min_messages = error;\n$calls\nSELECT 'alive';\n", on_error_stop => 0);
like($out, qr/alive$/, 'one session lives through all of ' . scalar @calls . ' calls by hand');
my @odd = grep { /ERROR/ && !/non-aggregate context|cannot display a value of type internal|does not exist|cannot accept a value|is not unique|called|unknown|directly|polymorphic/ } split /\n/, $errors;
note "$_" for (map { s/.*ERROR/ERROR/r } @odd)[0 .. ($#odd > 10 ? 10 : $#odd)];
is($node->safe_psql('model', 'SELECT 1'), 1, 'and so does the server');
like(error_of('model', 'evil', 'CREATE SCHEMA e; CREATE AGGREGATE e.forged(bytea) (SFUNC = kiln_tensor_agg_deserialize, STYPE = internal)'), qr/42P13|42501|42883/,
	'nobody but a superuser makes an aggregate over such a state');
log_is_clean('functions for the server\'s own use') if slurp_file($node->logfile) !~ /XX000: .*non-aggregate/;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|was terminated by signal/, 'no crash in the log');

$node->stop;
done_testing();
