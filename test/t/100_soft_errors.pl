# Bad input reported softly, where the server can (PostgreSQL 16: pg_input_is_valid; 17: COPY with ON_ERROR ignore): it never raises,
# and says what the hard error says.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('main');
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');

if ($version < 160000)
{
	$node->stop;
	plan skip_all => 'this server has no soft errors';
}

$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION kiln;
SELECT kiln_register('$EVENT_1'), kiln_register('$EVENT_2'),
	kiln_register('every(b bool,i i8,u u64,f f32,d f64,s string,y bytes,g uuid,a date,t timestamp,z timestamptz,n numeric,j json,'
		|| 'e enum(''red'',''green''),o i32?,l i16[],m dict<f32>,r (x i32,y i32))');

CREATE TABLE landing_kiln (v kiln);
CREATE TABLE landing_event (v kiln(event));
CREATE TABLE landing_every (v kiln(every));
CREATE TABLE landing_tensor (v kiln(tensor));
SQL

my $good = '{"b": true, "i": -1, "u": 18446744073709551615, "f": 1.5, "d": "NaN", "s": "x", "y": "\\\\x00ff", '
	. '"g": "01020304-0506-0708-090a-0b0c0d0e0f10", "a": "2000-01-01", "t": "2000-01-01T00:00:00", "z": "2000-01-01T00:00:00Z", '
	. '"n": 1.50, "j": {"k": [1]}, "e": "red", "l": [1,2], "m": {"k": 1}, "r": {"x": 1, "y": 2}}';

# A value of each field that its type refuses.
my %bad = (
	b => '1', i => '128', u => '-1', f => '1e39', d => '"1x"', s => '"\\\\ud800"', y => '"\\\\x0"', g => '"0102"', a => '"2000-13-01"',
	t => '"2000-01-01T25:00:00"', z => '"2000-01-01T00:00:00"', n => '"1e"', j => '"\\\\u0000"', e => '"blue"', o => '2.5', l => '[1,70000]',
	m => '{"k": null}', r => '{"x": 1}');
my @every = ($good, '{}', '[1]', '"x"', 'null', '', '{', $good . ' x');
for my $field (sort keys %bad)
{
	my $value = $good;

	if ($field eq 'o')
	{
		$value =~ s/\}$/, "o": $bad{o}}/;
	}
	else
	{
		$value =~ s/"$field": ("(?:[^"]|\\")*"|\{[^{}]*\}|\{"k": \[1\]\}|\[[^\]]*\]|[^,}]+)/"$field": $bad{$field}/;
	}
	isnt($value, $good, "a bad value of field $field");
	push @every, $value;
}
my %inputs = (
	'kiln(every)' => \@every,
	'kiln(event)' => [
		'{"id": 1, "name": "n"}', '{"id": 1}', '{"id": 1, "name": "n", "nome": 1}', '{"$kiln": "every", "b": true}', '42',
		'{"$kiln": "tensors"}', '{"$kiln": "event#0123456789abcdef", "id": 1, "name": "n"}', '{"$kiln": "(id i64)", "id": 1}' ],
	'kiln(nothing)' => [ '{"id": 1}', '42' ],
	'kiln(tensor)' => [
		'{"$kiln": "tensors", "w": {"dtype": "f64", "shape": [2], "data": [1,2]}}', '{"$kiln": "tensors", "w": {"dtype": "f64", "shape": [2], "data": [1]}}',
		'{"$kiln": "tensors", "w": {"dtype": "f65", "shape": [2], "data": [1,2]}}', '{"$kiln": "tensors", "$base64": "AAAA"}', '{"a": 1}',
		'{"$kiln": "tensors", "w": {"dtype": "f16", "shape": [1], "data": [70000]}}' ],
	'kiln' => [
		'{"$kiln": "event", "id": 1, "name": "n"}', '{"$kiln": "event", "id": "x", "name": "n"}', '{"$kiln": "no such", "id": 1}',
		'{"$kiln": "(a i32", "a": 1}', '{"$kiln": "(a i33)", "a": 1}', '{"$kiln": "i64", "$value": 1e99}', '{"$kiln": 5}', '{"$kiln": "#0123456789abcdef"}',
		'{"$kiln": "#0123456789abcdef", "$unverified": true, "$base64": "AAAA"}', '{"$kiln": "#0123456789abcdef", "$unverified": true, "$base64": "A"}',
		'{"$kiln": "i64", "$base64": "AAAA"}', '"\\ud800"', '1e200000', 'nul', '[1', '"a' . ('[' x 10000), ('[' x 10000),
		'{"$kiln": "(a i32=5)"}', '{"$kiln": "(a json=\'x\')"}', '{"$kiln": "(a date=\'x\')"}', '{"$kiln": "(' . join(',', map { "f$_ i8" } 1 .. 1601) . ')"}' ]);

for my $type (sort keys %inputs)
{
	for my $input (@{ $inputs{$type} })
	{
		# Both ways with the typmod: the hard one is COPY of one row, which gives it to the input function.
		my $literal = "\$i\$$input\$i\$";
		my $table = 'landing_' . ($type =~ /\((\w+)\)/ ? $1 : 'kiln');
		my ($status, $soft, $error) = $node->psql('postgres', "SELECT pg_input_is_valid($literal, '$type'), (SELECT sql_error_code FROM pg_input_error_info($literal, '$type'))");
		my ($valid, $soft_state) = split /\|/, $soft;
		my $name = "$type: " . (length($input) > 60 ? substr($input, 0, 57) . '...' : $input);

		is($status, 0, "no error: $name") or diag $error;
		next if $status != 0 || $type eq 'kiln(nothing)';
		(my $copied = $input) =~ s/\\/\\\\/g;
		($status, undef, $error) = $node->psql('postgres', "\\set VERBOSITY verbose\nCOPY $table FROM stdin;\n$copied\n\\.\n");
		my ($hard_state) = $error =~ /ERROR:  (\w{5}): /;
		is($valid, $status == 0 ? 't' : 'f', 'both ways agree on validity');
		is($soft_state // '', $hard_state // '', 'and on the SQLSTATE');
	}
}

# Damaged texts by the thousand.
$node->safe_psql('postgres', <<"SQL");
CREATE TABLE results (n int, valid bool, soft text, hard text);
DO \$\$
DECLARE
	base text;
	m text;
	hard text;
	soft text;
	valid bool;
	n int := 0;
BEGIN
	FOR base IN SELECT unnest(ARRAY[
		\$i\$$good\$i\$,
		'{"\$kiln": "event", "id": 1, "name": "n", "score": 0.5}',
		'{"\$kiln": "(a i32?,b dict<date>,c enum(''x'',''y'')[])", "b": {"k": "2020-01-01"}, "c": ["x", "y"]}',
		'{"\$kiln": "tensors", "w": {"dtype": "f64", "shape": [2,2], "data": [1,2.5,"NaN",4]}}']) LOOP
		FOR i IN 1 .. length(base) LOOP
			FOR k IN 1 .. 4 LOOP
				n := n + 1;
				m := CASE k WHEN 1 THEN left(base, i - 1) || chr(32 + (i * 7 + ascii(substr(base, i, 1))) % 95) || substr(base, i + 1)
					WHEN 2 THEN left(base, i) WHEN 3 THEN left(base, i) || '"' || substr(base, i + 1) ELSE left(base, i - 1) || substr(base, i + 1) END;
				valid := pg_input_is_valid(m, 'kiln');
				soft := (SELECT concat_ws('|', sql_error_code, message, detail, hint) FROM pg_input_error_info(m, 'kiln'));
				hard := '';
				BEGIN
					PERFORM m::kiln;
				EXCEPTION WHEN OTHERS THEN
					DECLARE d text; h text;
					BEGIN
						GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL, h = PG_EXCEPTION_HINT;
						hard := concat_ws('|', SQLSTATE, SQLERRM, nullif(d, ''), nullif(h, ''));
					END;
				END;
				INSERT INTO results VALUES (n, valid, coalesce(soft, ''), hard);
			END LOOP;
		END LOOP;
	END LOOP;
END \$\$;
SQL
is($node->safe_psql('postgres', "SELECT * FROM results WHERE soft <> hard OR valid <> (hard = '') LIMIT 3"), '', 'damaged texts: the same error both ways');
cmp_ok($node->safe_psql('postgres', "SELECT count(*) FROM results WHERE hard <> ''"), '>', 1000, 'most of them are refused');

SKIP:
{
	skip 'no COPY ON_ERROR in this server', 2 if $version < 170000;
	my ($status, $out, $error) = $node->psql('postgres', <<'SQL');
TRUNCATE landing_event;
COPY landing_event FROM stdin (ON_ERROR ignore);
{"id": 1, "name": "one"}
{"id": "x", "name": "two"}
{"id": 3}
not json
{"$kiln": "tensors"}
{"id": 6, "name": "six", "tags": ["a", null]}
{"id": 7, "name": "seven", "tags": ["a"]}
\.
SQL
	is($status, 0, 'COPY passes over bad rows') or diag $error;
	is($node->safe_psql('postgres', q{SELECT string_agg(v->>'id', ' ') FROM landing_event}), '1 7', 'and takes the good ones');
}

$node->stop;
done_testing();
