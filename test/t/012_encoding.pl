# Strings are UTF-8 inside a value whatever the server's encoding: what goes in and out of databases in other encodings.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use Test::More;

my $node = start_node('main', "client_min_messages = warning\n");

# A database, and in it a function that gives the error of a query. All queries here are ASCII: chr() and escapes
# make the rest.
sub database
{
	my ($encoding) = @_;
	my $name = lc $encoding;

	$node->safe_psql('postgres', "CREATE DATABASE $name TEMPLATE template0 ENCODING '$encoding' LOCALE 'C'");
	$node->safe_psql($name, <<'SQL');
CREATE EXTENSION kiln;
CREATE FUNCTION attempt(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE answer text;
BEGIN
	EXECUTE query INTO answer;
	RETURN answer;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
CREATE FUNCTION hex(v kiln) RETURNS text LANGUAGE sql AS $$ SELECT encode(kiln_frame(v), 'hex') $$;
CREATE FUNCTION bytes(t text) RETURNS text LANGUAGE sql
	AS $$ SELECT encode(convert_to(t, getdatabaseencoding()), 'hex') $$;
SQL
	return sub {
		my ($query, $answer, $test) = @_;
		my ($status, $stdout, $stderr) = $node->psql($name, "SET client_encoding = 'SQL_ASCII'; $query");

		is($status == 0 ? $stdout : $stderr, $answer, "$encoding: $test");
	};
}

# Two bytes, three and four in UTF-8: é, €, 😀
my %string = (
	'e9' => '1206000000737472696e6702000000c3a9',
	'20ac' => '1206000000737472696e6703000000e282ac',
	'1f600' => '1206000000737472696e6704000000f09f9880');

# ------------------------------------------------------------------ a single-byte encoding

my $latin1 = database('LATIN1');

$latin1->(q{SELECT hex(('"' || chr(233) || '"')::kiln)}, $string{e9}, 'a byte above 127 becomes UTF-8');
$latin1->(q{SELECT hex('"\u00e9"')}, $string{e9}, 'so does an escape');
$latin1->(q{SELECT bytes('"\u00e9"'::kiln::text)},
	unpack('H*', qq({"\$kiln": "string", "\$value": "\xe9"})), 'and goes out as that byte');
$latin1->(q{SELECT hex('"\u20ac"'), hex('"\ud83d\ude00"')},
	"$string{'20ac'}|$string{'1f600'}", 'an escape reads what the encoding lacks');
$latin1->(q{SELECT '"\u20ac\ud83d\ude00"'::kiln},
	q({"$kiln": "string", "$value": "\u20ac\ud83d\ude00"}), 'which goes out as an escape');
$latin1->(q{SELECT '{"\u20ac": "\\\\u20ac"}'::kiln,
		'{"$kiln": "dict<string>", "$value": {"\u20ac": "a\u20acb"}}'::kiln::json},
	q({"$kiln": "json", "$value": {"\u20ac": "\\\\u20ac"}}|{"\u20ac": "a\u20acb"}), 'in keys and in JSON too');
$latin1->(q{SELECT attempt($$ SELECT kiln_get('"\u20ac"', '') $$),
		attempt($$ SELECT kiln_get('"\u00e9"', '') = chr(233) $$)},
	'22P05|true',
	'text that is not JSON has no escapes');
$latin1->(q{SELECT v::text::kiln = v, length(v::text)
		FROM (SELECT ('"' || repeat(chr(233) || '\u20acx' || repeat('y', 100), 500) || '"')::kiln AS v) t},
	't|' . (31 + 500 * (1 + 6 + 1 + 100) + 2), 'a long string, in pieces');
$latin1->(q{SELECT v::text, v::text::kiln = v
		FROM (SELECT '{"$kiln": "(\"\u20ac\" i32,e enum(''\ud83d\ude00''))", "\u20ac": 1, "e": "\ud83d\ude00"}'::kiln AS v) t},
	q({"$kiln": "(\"\u20ac\" i32,e enum('\ud83d\ude00'))", "\u20ac": 1, "e": "\ud83d\ude00"}|t), 'names and labels');
$latin1->(q{SELECT '{"$kiln": "tensors", "\u20ac": {"dtype": "u8", "shape": [1], "data": [1]}}'::kiln},
	q({"$kiln": "tensors", "\u20ac": {"dtype": "u8", "shape": [1], "data": [1]}}), 'tensor names');
$latin1->(q{SELECT attempt($$ SELECT kiln_from_frame('\x120c0000002822e282ac2220626f6f6c2902') $$)},
	'22P03', 'damaged bytes in an error message');
$latin1->(q{SELECT attempt($$ SELECT '{"$kiln": "(a i32)", "\u20ac": 1}'::kiln $$),
		attempt($$ SELECT '{"$kiln": "i32", "$value": "\u20ac"}'::kiln $$)},
	'42703|22P02', 'errors that show such a character');

# ------------------------------------------------------------------ a multibyte encoding

my $euc_jp = database('EUC_JP');

$euc_jp->(q{SELECT hex(convert_from('\x22a4a222', 'EUC_JP')::kiln)},
	'1206000000737472696e6703000000e38182', 'a character of two bytes becomes one of three');
$euc_jp->(q{SELECT bytes('"\u3042x\ud83d\ude00"'::kiln::text)},
	unpack('H*', qq({"\$kiln": "string", "\$value": "\xa4\xa2x\\ud83d\\ude00"})), 'and back, with an escape beside it');
$euc_jp->(q{SELECT v::text::kiln = v FROM (SELECT ('"' || repeat('\u3042\u20ac', 1000) || '"')::kiln AS v) t},
	't', 'a long string');

# ------------------------------------------------------------------ no encoding

my $sql_ascii = database('SQL_ASCII');

$sql_ascii->(q{SELECT hex(convert_from('\x22c3a922', 'SQL_ASCII')::kiln)}, $string{e9}, 'UTF-8 is taken as it is');
$sql_ascii->(q{SELECT hex('"\u20ac"'), bytes('"\u20ac"'::kiln::text)},
	"$string{'20ac'}|" . unpack('H*', qq({"\$kiln": "string", "\$value": "\xe2\x82\xac"})),
	'escapes too, and go out as UTF-8');
$sql_ascii->(q{SELECT attempt($$ SELECT convert_from('\x22e922', 'SQL_ASCII')::kiln $$),
		attempt($$ SELECT convert_from('\x7b2261223a22c328227d', 'SQL_ASCII')::kiln $$)},
	'22021|22021', 'other bytes are refused');
$sql_ascii->(q{SELECT attempt($$ SELECT kiln_from_frame('\x1206000000737472696e6701000000e9') $$)},
	'22021', 'in frames as well');

# ------------------------------------------------------------------ an encoding that has no conversion to UTF-8

my $mule = database('MULE_INTERNAL');

$mule->(q{SELECT '"a\u00e9\ud83d\ude00"'::kiln, hex('"\u00e9"')},
	qq({"\$kiln": "string", "\$value": "a\\u00e9\\ud83d\\ude00"}|$string{e9}), 'escapes both ways');
$mule->(q{SELECT attempt($$ SELECT kiln_get('"\u00e9"', '') $$)}, '42883', 'text that is not JSON has none');

done_testing();
