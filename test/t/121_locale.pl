# A locale with a decimal comma changes nothing: numbers are read and written as JSON has them. (case 8)

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use PostgreSQL::Test::Utils;
use Test::More;

# A locale of our own, so that the machine need not have one: everything as in C, but the marks of numbers.
my $folder = PostgreSQL::Test::Utils::tempdir();
my $name = 'xx_COMMA';
my $copies = join '', map { "LC_$_\ncopy \"POSIX\"\nEND LC_$_\n" } qw(CTYPE COLLATE MONETARY TIME MESSAGES);

append_to_file("$folder/source", <<"LOCALE");
comment_char %
escape_char /
LC_NUMERIC
decimal_point "<U002C>"
thousands_sep "<U002E>"
grouping 3;3
END LC_NUMERIC
$copies
LOCALE
# The first where the charmaps are installed; the second has ASCII built in.
my $made = grep { system("localedef --no-archive -c $_ -i '$folder/source' '$folder/$name' >'$folder/log' 2>&1") >= 0 &&
	-e "$folder/$name/LC_NUMERIC" }
	'-f UTF-8', '';
plan skip_all => 'localedef makes no locale here: ' . slurp_file("$folder/log") unless $made;

$ENV{LOCPATH} = $folder;
my $node = start_node('main');

# Does the server have it, and does it bite?
is($node->safe_psql('postgres', "SET lc_numeric = '$name'; SELECT to_char(1234.5, '9G999D9')"), ' 1.234,5',
	'the server knows the locale');

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION kiln;
SELECT kiln_register('sample(x f64,y f32,n numeric,l f64[],d f64=''0.5'',e f32=x''0000003f'',j json)');
CREATE TABLE kept (k int, v kiln(sample), t kiln(tensor));
SQL
my $values = q{
	SELECT k, kiln_encode('sample', r), kiln_tensor(r.l)
	FROM (SELECT 1 AS k, 0.5::float8 AS x, 1.25::float4 AS y, 1234.50 AS n, '{0.1,1e300,-2.5e-7}'::float8[] AS l,
		'{"k": 1.5}'::jsonb AS j) AS s,
		LATERAL (SELECT s.x, s.y, s.n, s.l, s.j) AS r
	UNION ALL SELECT 2, '{"x": 0.5, "y": 1.5, "n": 1234.5, "l": [1.5,2.5], "j": [0.5]}'::kiln(sample),
		'{"$kiln": "tensors", "": {"dtype": "f32", "shape": [2], "data": [0.1,0.2]}}'
	UNION ALL SELECT 3, kiln_encode('sample',
		'{"x": "NaN", "y": 1e-3, "n": 1e3, "l": [], "j": 0.25, "d": 1.75}'::jsonb), kiln_tensor_agg(x / 3)
		FROM generate_series(1, 5) AS x
	UNION ALL SELECT 4, kiln_encode('sample', '{"x": "0.5", "y": 0, "n": "0.25", "l": [1e22], "j": "0,5"}'::json),
		kiln_tensor('{0.5}'::float4[], dtype => 'bf16')
};
my $digest = q{SELECT md5(string_agg(concat_ws(' ', k, v, t, v::json, v::jsonb, kiln_get(v, 'x'), v->>'y', v->>'n',
	kiln_get_float8(v, 'l[0]'), (v->'n')::numeric,
	kiln_frame(v), kiln_hash_value(v->'x'), kiln_definition(v)), E'\n' ORDER BY k)) FROM kept};

$node->safe_psql('postgres', "INSERT INTO kept $values");
my $expected = $node->safe_psql('postgres', $digest);

my $comma = "SET lc_numeric = '$name'; SET lc_monetary = 'C'";
is($node->safe_psql('postgres', "$comma; $digest"), $expected, 'the same text, JSON and numbers');
is($node->safe_psql('postgres', "$comma; BEGIN; TRUNCATE kept; INSERT INTO kept $values; $digest"), $expected,
	'the same values from the same input');
is( $node->safe_psql('postgres', "$comma; SELECT count(*) FROM kept WHERE kiln_frame(v::text::kiln) <> kiln_frame(v)
	OR kiln_frame(t::text::kiln) <> kiln_frame(t)"),
	0, 'text reads back');
is( $node->safe_psql('postgres', "$comma; SELECT
	kiln_hash(kiln_encode('sample(x f64,y f32,n numeric,l f64[],d f64=''0.5'',e f32=x''0000003f'',j json)',
	'{\"x\": 1, \"y\": 1, \"n\": 1, \"l\": [], \"j\": 1}'))"),
	$node->safe_psql('postgres', "SELECT hash FROM kiln_schemas WHERE name = 'sample'"),
		'a definition with a default has its hash');
for my $bad ('{"$kiln": "f64", "$value": 0,5}', '{"$kiln": "f64", "$value": "0,5"}',
	'{"$kiln": "numeric", "$value": "1.234,5"}')
{
	my ($status, $out, $error) = $node->psql('postgres', "$comma; SELECT '$bad'::kiln");

	isnt($status, 0, "no comma in a number: $bad");
	like($error, qr/invalid input for type kiln/, 'it is refused as input');
}

# A database that has it from the start, also in a worker.
$node->safe_psql('postgres', "ALTER DATABASE postgres SET lc_numeric = '$name'");
is($node->safe_psql('postgres', 'SHOW lc_numeric'), $name, 'a database with the locale');
is($node->safe_psql('postgres', $digest), $expected, 'the same there');
is( $node->safe_psql('postgres', "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET
	min_parallel_table_scan_size = 0; SELECT sum((v->'n')::numeric), max(kiln_get(v, 'y')) FROM kept"),
	'3469.25|1.5', 'and in parallel workers');

$node->stop;
done_testing();
