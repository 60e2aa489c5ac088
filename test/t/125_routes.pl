# Values on their way through COPY, arrays, composites, domains, other types' values and dumps: strings of all kinds
# come back as they were (case 45), binary forms are complete (case 44), and what is damaged in one is refused wherever
# it stands (case 20).

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('main', "fsync = off\nautovacuum = off\n");
my $folder = PostgreSQL::Test::Utils::tempdir();

# ---- strings that some layer takes for its own

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION kiln;
SELECT kiln_register('text_of(s string,d dict<string?>,l string?[],"odd, ""name"" {}" string?)');
CREATE TABLE strings (n serial PRIMARY KEY, s text);
INSERT INTO strings (s) VALUES ('\'), (','), ('\\'), ('"'), (''''), (E'\t'), (E'\n'), (E'\r'), (E'\r\n'), (E'\\.\n'),
	(E'a\n\\.\nb'), ('{'), ('}'), ('['), (']'), ('('), (')'),
	('=>'), (':'), ('NULL'), ('null'), ('\N'), (''), (' leading'), ('trailing '), (U&'\+01F600'), (U&'\2028'),
		(U&'\00e9'), (E'\x01\x1f\x7f'), ('"a" => "b", c=>NULL'), ('(,"""")'),
	('{"$kiln": "i64", "$value": 1}'), ('\x00'), ('\u0041'), ('$$'), ('%s'), ('--'), ('/*'), (repeat('\"', 2000));
CREATE DOMAIN checked AS kiln(text_of) CHECK (length(kiln_get(VALUE, 's')) >= 0);
CREATE TYPE boxed AS (n int, v kiln(text_of), l kiln[]);
CREATE TABLE kept (n int PRIMARY KEY, v kiln(text_of), l kiln[], c boxed, d checked, m kiln(text_of)[], cs boxed[],
	ll kiln[]);
INSERT INTO kept
	SELECT n, v, ARRAY[v, NULL, to_json(s)::text::kiln, v], ROW(n, v, ARRAY[v])::boxed, v, ARRAY[[v, v], [v, NULL]],
		ARRAY[ROW(n, v, NULL)::boxed, NULL],
		CASE WHEN n % 2 = 0 THEN '[5:6]={1,2}' ELSE '{}' END::kiln[]
	FROM (SELECT n, s, kiln_encode('text_of', jsonb_build_object('s', s, 'd', jsonb_build_object(s, s, 'x' || s, NULL),
		'l', jsonb_build_array(s, NULL, s), 'odd, "name" {}', s)) AS v
		FROM strings) AS t;
INSERT INTO kept (n) VALUES (0);
SQL
is( $node->safe_psql('postgres', q{SELECT count(*) FROM kept JOIN strings USING (n) WHERE v->>'s' <> s OR kiln_get(v,
	'l[-1]') <> s OR v->'d'->>s <> s OR v->>'odd, "name" {}' <> s
	OR (c).v->>'s' <> s OR kiln_get(l[3], '') <> s}), 0, 'strings are in values, lists, keys and fields as they were');

my $same = q{SELECT count(*) FILTER (WHERE a IS DISTINCT FROM b), count(*) FROM kept AS a FULL
	JOIN again AS b USING (n)};
my $rows = $node->safe_psql('postgres', 'SELECT count(*) FROM kept');

for my $options ('FORMAT text', 'FORMAT csv', 'FORMAT binary', "FORMAT csv, DELIMITER ';', QUOTE '''', ESCAPE '\\'",
	"FORMAT text, DELIMITER '|', NULL ''", 'FORMAT csv, HEADER')
{
	$node->safe_psql('postgres', "COPY kept TO '$folder/copy' ($options); CREATE TABLE again (LIKE kept); COPY again
		FROM '$folder/copy' ($options)");
	is($node->safe_psql('postgres', $same), "0|$rows", "COPY ($options)");
	$node->safe_psql('postgres', 'DROP TABLE again');
}

# As text of each container, under both readings of a backslash in a literal.
for my $strings ('on', 'off')
{
	my $set = "SET standard_conforming_strings = $strings; SET escape_string_warning = off";

	is( $node->safe_psql('postgres', <<"SQL"), 0, "containers as text, standard_conforming_strings $strings");
$set;
SELECT count(*) FROM kept AS k
WHERE n > 0 AND NOT (v::text::kiln = v AND l::text::kiln[] = l AND c::text::boxed = c AND d::text::checked = d
	AND m::text::kiln[] = m AND cs::text::boxed[] = cs AND k::text::kept = k AND ll::text::kiln[] = ll);
SQL
	is($node->safe_psql('postgres', <<"SQL"), 'same', 'and as a quoted literal');
$set;
DO \$\$
DECLARE
	r record;
	w kiln;
BEGIN
	FOR r IN SELECT * FROM kept WHERE n > 0 LOOP
		EXECUTE format('SELECT %L::kiln', r.v) INTO w;
		IF w <> r.v THEN
			RAISE 'row % differs', r.n;
		END IF;
	END LOOP;
END \$\$;
SELECT 'same';
SQL
}
is( $node->safe_psql('postgres', q{
	SELECT count(*)
	FROM strings JOIN (
			SELECT n, json_agg(v)->0->>'s' AS list, row_to_json(ROW(max(v::text)::kiln))->'f1'->>'s' AS row,
				jsonb_object_agg('k', v)->'k'->>'s' AS object
			FROM kept WHERE n > 0 GROUP BY n) AS made USING (n)
	WHERE list IS DISTINCT FROM s OR row IS DISTINCT FROM s OR object IS DISTINCT FROM s}),
	0, 'in JSON made by core');
SKIP:
{
	skip 'no hstore here', 1 unless $node->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions
		WHERE name = 'hstore'");
	$node->safe_psql('postgres', 'CREATE EXTENSION hstore');
	is($node->safe_psql('postgres', q{SELECT count(*) FROM kept WHERE n > 0 AND (hstore('k',
		v::text)::text::hstore->'k')::kiln <> v}), 0, 'as a value of an hstore');
	$node->safe_psql('postgres', 'DROP EXTENSION hstore');
}

# A dump as INSERT statements, restored under the other reading of backslashes.
$node->command_ok([ 'pg_dump', '--inserts', '-f', "$folder/dump.sql", $node->connstr('postgres') ],
	'pg_dump --inserts');
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$folder/dump.sql", '-d',
	$node->connstr('restored') ], 'restored');
is( $node->safe_psql('restored', q{SELECT md5(string_agg(k::text, E'\n' ORDER BY n)) FROM kept AS k}),
	$node->safe_psql('postgres', q{SELECT md5(string_agg(k::text, E'\n' ORDER BY n)) FROM kept AS k}), 'the same rows');

# ---- damage in what arrives in binary

# A file of one row, with the frame's place in it; each container holds the same value. The value ends in a bool, so one
# byte tells.
my %container = (
	kiln => q{kiln_encode('(s string,b bool)', '{"s": "findme", "b": true}')},
	'kiln[]' => q{ARRAY[NULL, kiln_encode('(s string,b bool)', '{"s": "findme", "b": true}')]},
	holder => q{ROW(1, kiln_encode('(s string,b bool)', '{"s": "findme", "b": true}'))::holder},
	'holder[]' => q{ARRAY[ROW(1, kiln_encode('(s string,b bool)', '{"s": "findme", "b": true}'))::holder]},
	dom => q{kiln_encode('(s string,b bool)', '{"s": "findme", "b": true}')::dom},
	'dom[]' => q{ARRAY[kiln_encode('(s string,b bool)', '{"s": "findme", "b": true}')::dom]});
$node->safe_psql('postgres', 'CREATE TYPE holder AS (n int, v kiln); CREATE DOMAIN dom AS kiln');
for my $type (sort keys %container)
{
	$node->safe_psql('postgres', "CREATE TABLE damaged (v $type); COPY (SELECT $container{$type}) TO '$folder/sound'
		(FORMAT binary)");
	is($node->safe_psql('postgres', "COPY damaged FROM '$folder/sound' (FORMAT binary); SELECT count(*) FROM damaged
		WHERE v = $container{$type}"), 1, "$type in binary");

	my $sound = slurp_file("$folder/sound");
	my $at = index $sound, 'findme';
	my %damage = ('a bool that is none' => [ 6, "\x02" ], 'a length too long' => [ -4, "\x07" ],
		'a length too short' => [ -4, "\x05" ], 'a huge length' => [ -1, "\xff" ],
		'no UTF-8' => [ 2, "\xff" ], 'NUL' => [ 0, "\x00" ]);
	for my $what (sort keys %damage)
	{
		my ($offset, $byte) = @{ $damage{$what} };
		my $file = $sound;

		substr($file, $at + $offset, 1) = $byte;
		unlink "$folder/file";
		append_to_file("$folder/file", $file);
		my ($status, $out, $error) = $node->psql('postgres', "\\set VERBOSITY verbose\nCOPY damaged
			FROM '$folder/file' (FORMAT binary);\nSELECT 'alive';",
			on_error_stop => 0);
		like($error, qr/ERROR:  (22P03|22021): /, "$type: $what");
		is($out, 'alive', 'the session goes on');
	}
	is($node->safe_psql('postgres', 'SELECT count(*) FROM damaged'), 1, 'nothing of it is stored');
	$node->safe_psql('postgres', 'DROP TABLE damaged');
}

$node->stop;
done_testing();
