# What several TAP tests share: a database full of uses of kiln, and a fingerprint of what it holds.

package KilnTest;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use Test::More;

our @EXPORT = qw(start_node new_node fill_database fingerprint open_session ask_session close_session $EVENT_1 $EVENT_2);

# Two versions of one schema.
our $EVENT_1 = q{event(id i64,name string,score f64?)};
our $EVENT_2 = q{event(id i64,name string,score f64?,tags string[]?)};

# A running node, with further settings if given.
sub start_node
{
	my ($name, $settings, %options) = @_;

	my $node = new_node($name, $settings, %options);

	$node->start;
	return $node;
}

# The same, not started. The encoding is not left to the environment.
sub new_node
{
	my ($name, $settings, %options) = @_;

	my $node = PostgreSQL::Test::Cluster->new($name);
	$node->init(extra => [ '--encoding=UTF8', '--locale=C' ], %options);
	$node->append_conf('postgresql.conf', "max_connections = 50\n" . ($settings // ''));
	return $node;
}

# A psql session that stays open. ask_session gives it SQL, which ends with an \echo, and waits until that shows; an error does not
# keep it from showing. out and err hold what came since the last question.
sub open_session
{
	my ($node) = @_;
	my %session = (in => '', out => '', err => '');

	$session{run} = IPC::Run::start([ 'psql', '-X', '-q', '-A', '-t', '-d', $node->connstr . ' dbname=postgres' ],
		'<', \$session{in}, '>', \$session{out}, '2>', \$session{err}, IPC::Run::timeout(120));
	return \%session;
}

sub ask_session
{
	my ($session, $sql, $until) = @_;

	$session->{out} = $session->{err} = '';
	$session->{in} .= $sql;
	IPC::Run::pump($session->{run}) until $session->{out} =~ $until;
	IPC::Run::pump_nb($session->{run});		# what stderr still holds was written before
	return $session->{out};
}

sub close_session
{
	my ($session, $sql) = @_;

	$session->{in} .= ($sql // '') . "\n\\q\n";
	IPC::Run::finish($session->{run});
	return;
}

# Everything a user hangs on a kiln column, in a schema that sorts before public. Domains and functions are restored
# before the definitions are: what they hold is portable, as docs/SQL.md asks for.
sub fill_database
{
	my ($node, $database, @psql) = @_;

	$node->safe_psql($database, <<"SQL", @psql);
CREATE EXTENSION kiln;
SELECT kiln_register('$EVENT_1');
CREATE SCHEMA aaa;

CREATE DOMAIN aaa.positive_event AS kiln
	DEFAULT '{"\$kiln": "$EVENT_1", "id": 7, "name": "domain"}'
	CHECK (kiln_get_int8(VALUE, 'id') > 0);
CREATE FUNCTION aaa.name_of(m kiln DEFAULT '{"\$kiln": "$EVENT_1", "id": 8, "name": "function"}') RETURNS text
	LANGUAGE sql IMMUTABLE AS \$\$ SELECT public.kiln_get(m, 'name') \$\$;
CREATE FUNCTION aaa.atomic_name(m kiln) RETURNS text
	LANGUAGE sql IMMUTABLE BEGIN ATOMIC SELECT kiln_get(m, 'name'); END;

CREATE TABLE aaa.events (
	n int PRIMARY KEY,
	m kiln(event) NOT NULL DEFAULT '{"id": 1, "name": "default"}'
		CHECK (kiln_get_int8(m, 'id') > 0 AND length(m->>'name') > 0),
	score float8 GENERATED ALWAYS AS (kiln_get_float8(m, 'score')) STORED,
	document jsonb GENERATED ALWAYS AS (m::jsonb) STORED
);
CREATE INDEX events_name ON aaa.events (kiln_get(m, 'name'));
CREATE INDEX events_id ON aaa.events (((m->'id')::int8)) WHERE m->>'name' <> 'nobody';
CREATE INDEX events_value ON aaa.events (m);
CREATE INDEX events_hash ON aaa.events USING hash (m);
CREATE TABLE aaa.everything (n int PRIMARY KEY, v kiln, l kiln[], d aaa.positive_event, t kiln(tensor));
CREATE TABLE aaa.parts (n int, m kiln(event)) PARTITION BY RANGE (n);
CREATE TABLE aaa.parts_1 PARTITION OF aaa.parts FOR VALUES FROM (0) TO (1000);

INSERT INTO aaa.events (n) VALUES (0);
INSERT INTO aaa.events (n, m)
	SELECT i, kiln_encode('event', jsonb_build_object('id', i, 'name', 'event ' || i, 'score', i / 7.0::float8))
	FROM generate_series(1, 500) i;
SELECT kiln_register('$EVENT_2');
INSERT INTO aaa.events (n, m)
	SELECT i, kiln_encode('event', jsonb_build_object('id', i, 'name', repeat(chr(233), i), 'tags', array['a', 'b']))
	FROM generate_series(501, 600) i;
ALTER TABLE aaa.events ADD later kiln(event) DEFAULT '{"id": 2, "name": "later"}' CHECK (kiln_get(later, 'tags[0]') IS NULL);
INSERT INTO aaa.parts SELECT n, m FROM aaa.events WHERE n BETWEEN 1 AND 999;
INSERT INTO aaa.everything VALUES
	(1, '42', ARRAY['1'::kiln, '"x"'::kiln], DEFAULT, kiln_tensor('{{1,2},{3,4}}'::float8[])),
	(2, '{"\$kiln": "(a i8,b dict<f32>)", "a": -1, "b": {"x": 1.5}}', '{}', DEFAULT, kiln_tensor('{}'::float8[])),
	(3, (SELECT m FROM aaa.events WHERE n = 600), NULL, (SELECT m FROM aaa.events WHERE n = 3),
		(SELECT kiln_tensor_agg(i::float8) FROM generate_series(1, 20000) i)),
	(4, '{"free": ["json", null]}', NULL, NULL, NULL);
CREATE DOMAIN aaa.typed_event AS kiln(event)
	DEFAULT '{"\$kiln": "$EVENT_1", "id": 9, "name": "typed domain"}'
	CHECK (kiln_get_int8(VALUE, 'id') > 0 AND kiln_get(VALUE, 'name') <> '');
CREATE TYPE aaa.pair AS (m kiln(event), v kiln, l kiln(event)[]);
CREATE TABLE aaa.composites (n int PRIMARY KEY, p aaa.pair, ps aaa.pair[], d aaa.typed_event, ds aaa.typed_event[]);
INSERT INTO aaa.composites (n, p, ps, ds)
	SELECT n, ROW(m, '42', ARRAY[m, later])::aaa.pair, ARRAY[ROW(later, NULL, '{}')::aaa.pair, NULL], ARRAY[m, NULL] FROM aaa.events WHERE n % 100 = 1;

-- The first of all names, and a foreign key between kiln columns.
CREATE SCHEMA "!";
CREATE TABLE "!"."!" (m kiln(event) PRIMARY KEY CHECK (m->>'name' <> ''), t kiln(tensor) DEFAULT kiln_tensor('{1,2}'::int4[]));
CREATE TABLE aaa.refers (m kiln(event) REFERENCES "!"."!");
INSERT INTO "!"."!" SELECT m FROM aaa.events WHERE n > 550;
INSERT INTO aaa.refers SELECT m FROM aaa.events WHERE n > 570;

-- Partitions by an expression, by value, whose bounds are values of a registered definition, and by hash.
CREATE TABLE aaa.by_id (m kiln(event)) PARTITION BY RANGE (kiln_get_int8(m, 'id'));
CREATE TABLE aaa.by_id_1 PARTITION OF aaa.by_id FOR VALUES FROM (MINVALUE) TO (300);
CREATE TABLE aaa.by_id_2 PARTITION OF aaa.by_id FOR VALUES FROM (300) TO (MAXVALUE);
CREATE TABLE aaa.by_value (m kiln) PARTITION BY RANGE (m);
CREATE TABLE aaa.by_value_1 PARTITION OF aaa.by_value FOR VALUES FROM (MINVALUE) TO ('300');
CREATE TABLE aaa.by_value_2 PARTITION OF aaa.by_value FOR VALUES FROM ('300') TO ('{"\$kiln": "event", "id": 100, "name": ""}');
CREATE TABLE aaa.by_value_3 PARTITION OF aaa.by_value DEFAULT;
CREATE TABLE aaa.by_hash (m kiln(event)) PARTITION BY HASH (m);
CREATE TABLE aaa.by_hash_0 PARTITION OF aaa.by_hash FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE aaa.by_hash_1 PARTITION OF aaa.by_hash FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO aaa.by_id SELECT m FROM aaa.events;
INSERT INTO aaa.by_value SELECT m->'id' FROM aaa.events UNION ALL SELECT m FROM aaa.events;
INSERT INTO aaa.by_hash SELECT m FROM aaa.events;

CREATE INDEX events_document ON aaa.events USING gin ((m::jsonb) jsonb_path_ops);
CREATE STATISTICS aaa.events_statistics ON (kiln_get_int8(m, 'id')), (m->>'name') FROM aaa.events;
CREATE POLICY events_policy ON aaa.events USING (kiln_get_int8(m, 'id') > 0);
CREATE TRIGGER events_trigger BEFORE UPDATE ON aaa.events FOR EACH ROW
	WHEN (kiln_get_int8(NEW.m, 'id') > 1000) EXECUTE FUNCTION suppress_redundant_updates_trigger();

-- A schema, a field and a label that are no ASCII.
DO \$\$
DECLARE size text := 'gr' || chr(246) || chr(223) || 'e';
BEGIN
	PERFORM kiln_register(format('%I(%I f64?,e enum(%L))', size, size, chr(233)));
	EXECUTE format('CREATE TABLE aaa.sizes (n int PRIMARY KEY, m kiln(%I) CHECK (kiln_get_float8(m, %L) > 0))', size, '"' || size || '"');
	EXECUTE format('INSERT INTO aaa.sizes SELECT i, jsonb_build_object(%L, i / 3.0::float8, %L, %L) FROM generate_series(1, 9) i',
		size, 'e', chr(233));
END \$\$;
CREATE VIEW aaa.seen AS SELECT n, (m->'id')::int8 AS id, m->>'name' AS name FROM aaa.events;
CREATE MATERIALIZED VIEW aaa.kept AS SELECT n, m, m::jsonb AS j FROM aaa.events;
SQL
}

# One line a relation: rows, and a digest of all they hold. Reads through indexes too, and uses what the functions and domains hold.
sub fingerprint
{
	my ($node, $database, @psql) = @_;

	return $node->safe_psql($database, <<'SQL', @psql);
SELECT 'events', count(*), md5(convert_to(string_agg(e::text, E'\n' ORDER BY n), 'UTF8')) FROM aaa.events e;
SELECT 'parts', count(*), md5(convert_to(string_agg(p::text, E'\n' ORDER BY n), 'UTF8')) FROM aaa.parts p;
SELECT 'everything', count(*), md5(convert_to(string_agg(e::text, E'\n' ORDER BY n), 'UTF8')) FROM aaa.everything e;
SELECT 'seen', count(*), md5(convert_to(string_agg(s::text, E'\n' ORDER BY n), 'UTF8')) FROM aaa.seen s;
SELECT 'kept', count(*), md5(convert_to(string_agg(k::text, E'\n' ORDER BY n), 'UTF8')) FROM aaa.kept k;
SELECT 'composites', count(*), md5(convert_to(string_agg(c::text, E'\n' ORDER BY n), 'UTF8')) FROM aaa.composites c;
SELECT 'sizes', count(*), md5(convert_to(string_agg(s::text, E'\n' ORDER BY n), 'UTF8')) FROM aaa.sizes s;
SELECT 'first', count(*), md5(convert_to(string_agg(f::text, E'\n' ORDER BY m), 'UTF8')) FROM "!"."!" f;
SELECT 'refers', count(*), md5(convert_to(string_agg(r::text, E'\n' ORDER BY m), 'UTF8')) FROM aaa.refers r;
SELECT 'partition', p.tableoid::regclass, count(*), md5(convert_to(string_agg(p.m::text, E'\n' ORDER BY p.m), 'UTF8')) FROM (
	SELECT tableoid, m FROM aaa.by_id UNION ALL SELECT tableoid, m FROM aaa.by_value UNION ALL SELECT tableoid, m FROM aaa.by_hash) p
	GROUP BY p.tableoid ORDER BY p.tableoid::regclass::text;
SELECT 'frames', md5(string_agg(kiln_frame(m)::text, ' ' ORDER BY n)) FROM aaa.events;
SELECT 'schemas', count(*), string_agg(s::text, ' ' ORDER BY s::text) FROM (SELECT name, hash FROM kiln_schemas) s;
SELECT 'defaults', aaa.name_of(), aaa.atomic_name('{"$kiln": "(name string)", "name": "atomic"}'), null::aaa.positive_event IS NULL;
SET enable_seqscan = off;
SELECT 'by name', n FROM aaa.events WHERE kiln_get(m, 'name') = 'event 77';
SELECT 'by id', n FROM aaa.events WHERE (m->'id')::int8 = 78 AND m->>'name' <> 'nobody';
SELECT 'by value', n FROM aaa.events WHERE m = (SELECT m FROM aaa.parts WHERE n = 79);
SELECT 'by content', n FROM aaa.events WHERE m @> '{"name": "event 78"}';
SELECT 'typed default', kiln_get(d, 'name') FROM aaa.composites WHERE n = 1;
INSERT INTO aaa.events (n) VALUES (-1) RETURNING 'inserted', m;
DELETE FROM aaa.events WHERE n = -1;
SQL
}

1;
