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
CREATE VIEW aaa.seen AS SELECT n, (m->'id')::int8 AS id, m->>'name' AS name FROM aaa.events;
CREATE MATERIALIZED VIEW aaa.kept AS SELECT n, m, m::jsonb AS j FROM aaa.events;
SQL
}

# One line a relation: rows, and a digest of all they hold. Reads through indexes too, and uses what the functions and domains hold.
sub fingerprint
{
	my ($node, $database, @psql) = @_;

	return $node->safe_psql($database, <<'SQL', @psql);
SELECT 'events', count(*), md5(string_agg(e::text, E'\n' ORDER BY n)) FROM aaa.events e;
SELECT 'parts', count(*), md5(string_agg(p::text, E'\n' ORDER BY n)) FROM aaa.parts p;
SELECT 'everything', count(*), md5(string_agg(e::text, E'\n' ORDER BY n)) FROM aaa.everything e;
SELECT 'seen', count(*), md5(string_agg(s::text, E'\n' ORDER BY n)) FROM aaa.seen s;
SELECT 'kept', count(*), md5(string_agg(k::text, E'\n' ORDER BY n)) FROM aaa.kept k;
SELECT 'frames', md5(string_agg(kiln_frame(m)::text, ' ' ORDER BY n)) FROM aaa.events;
SELECT 'schemas', count(*), string_agg(s::text, ' ' ORDER BY s::text) FROM (SELECT name, hash FROM kiln_schemas) s;
SELECT 'defaults', aaa.name_of(), aaa.atomic_name('{"$kiln": "(name string)", "name": "atomic"}'), null::aaa.positive_event IS NULL;
SET enable_seqscan = off;
SELECT 'by name', n FROM aaa.events WHERE kiln_get(m, 'name') = 'event 77';
SELECT 'by id', n FROM aaa.events WHERE (m->'id')::int8 = 78 AND m->>'name' <> 'nobody';
SELECT 'by value', n FROM aaa.events WHERE m = (SELECT m FROM aaa.parts WHERE n = 79);
INSERT INTO aaa.events (n) VALUES (-1) RETURNING 'inserted', m;
DELETE FROM aaa.events WHERE n = -1;
SQL
}

1;
