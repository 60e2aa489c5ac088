# The clients: the server, the codec, the C client and the Python client all pass clients/wire.jsonl, and the clients' own tests and examples
# run against a server. Each of their tests is a test here.

use strict;
use warnings;

use FindBin;
use JSON::PP;
use lib $FindBin::RealBin;
use KilnTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = "$FindBin::RealBin/../..";
my $clients = "$root/clients";
my $folder = PostgreSQL::Test::Utils::tempdir();
my $python = '/usr/bin/python3';

my $node = start_node('main', "client_min_messages = warning\n");
$node->safe_psql('postgres', 'CREATE EXTENSION kiln');
@ENV{qw(PGHOST PGPORT PGDATABASE)} = ($node->host, $node->port, 'postgres');
delete @ENV{qw(PGUSER PGOPTIONS PGCLIENTENCODING)};

# A command's output, and whether it ended well.
sub output_of
{
	my (@command) = @_;
	my $output = '';

	my $good = IPC::Run::run(\@command, '<', \undef, '>&', \$output, IPC::Run::timeout(300));
	return ($good, $output);
}

# ------------------------------------------------------------------ the server and the vectors

my ($made, $said) = output_of($^X, "$clients/make_wire.pl", '--check');
ok($made, 'wire.jsonl is what test/vectors and test/golden make') or diag($said);

$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION differs(what text, got text, wanted text) RETURNS text
	LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN got IS DISTINCT FROM wanted THEN
		format('%s: got %s, wanted %s', what, coalesce(left(got, 200), 'NULL'), coalesce(left(wanted, 200), 'NULL')) END
$$;
CREATE FUNCTION text_of(hex text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT convert_from(decode(hex, 'hex'), 'UTF8') $$;

-- A definition, as that of an empty list; a struct with a name also by registering it. At the limits there is no room for the list.
CREATE FUNCTION check_valid_definition(w jsonb) RETURNS text
	LANGUAGE plpgsql AS $$
DECLARE
	problem text;
BEGIN
	BEGIN
		problem := differs('canonical', kiln_definition(
			jsonb_build_object('$kiln', text_of(w->>'text_hex') || E'\n[]', '$value', '[]'::jsonb)::text::kiln),
			text_of(w->>'canonical_hex') || '[]');
	EXCEPTION WHEN program_limit_exceeded THEN
		NULL;
	END;
	RETURN coalesce(problem, differs('hash', kiln_register(text_of(w->>'text_hex')), w->>'hash'));
EXCEPTION WHEN reserved_name OR invalid_name OR datatype_mismatch OR wrong_object_type OR invalid_parameter_value THEN
	RETURN problem;		-- no struct, or none that may be registered
END $$;

-- One that is none is refused as such, not for the value under it.
CREATE FUNCTION check_definition(w jsonb) RETURNS text
	LANGUAGE plpgsql AS $$
BEGIN
	IF (w->'valid')::bool THEN RETURN check_valid_definition(w); END IF;
	PERFORM jsonb_build_object('$kiln', text_of(w->>'text_hex'), '$value', NULL)::text::kiln;
	RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
	RETURN CASE WHEN SQLSTATE NOT IN ('42601', '42602', '42701', '42804', '54000', '22021', '22P05', '22003', '42704')
		THEN SQLSTATE || ' ' || SQLERRM END;
END $$;

-- What is at a path, as the inline frame of its type; NULL for nothing, and the SQLSTATE of an error.
CREATE FUNCTION read_at(v kiln, path text) RETURNS text
	LANGUAGE plpgsql AS $$
BEGIN
	RETURN encode(kiln_frame(kiln_portable(kiln_get_kiln(v, path))), 'hex');
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;

CREATE FUNCTION inline_frame(type_hex text, payload text) RETURNS text
	LANGUAGE sql IMMUTABLE AS $$
	SELECT '12' || lpad(to_hex(n & 255), 2, '0') || lpad(to_hex(n >> 8), 2, '0') || '0000' || type_hex || payload
	FROM (SELECT length(type_hex) / 2 AS n) AS s
$$;

CREATE FUNCTION check_frame(w jsonb) RETURNS text
	LANGUAGE plpgsql AS $$
DECLARE
	v kiln := kiln_from_frame(decode(w->>'frame', 'hex'));
	stored text := coalesce(w->>'stored', w->>'frame');
	problem text := coalesce(
		differs('stored', encode(kiln_frame(v), 'hex'), stored),
		differs('sent', encode(kiln_send(v), 'hex'), stored),
		CASE WHEN w ? 'text' THEN differs('text', v::text, w->>'text') END,
		CASE WHEN (w->'text_reads_back')::bool THEN differs('read back', encode(kiln_frame((w->>'text')::kiln), 'hex'), stored) END);
BEGIN
	-- other versions of a name count for registered values
	IF problem IS NULL AND w->>'frame' LIKE '12%' AND jsonb_array_length(w->'registered_hex') > 0 THEN v := kiln_intern(v); END IF;
	RETURN coalesce(problem, (
		SELECT string_agg(differs('at ' || text_of(r->>'path_hex'), read_at(v, text_of(r->>'path_hex')),
			CASE WHEN r ? 'payload' THEN inline_frame(r->>'type_hex', r->>'payload') ELSE r->>'error' END), '; ')
		FROM jsonb_array_elements(w->'reads') AS r));
END $$;

CREATE FUNCTION check_tensors(w jsonb) RETURNS text
	LANGUAGE plpgsql AS $$
DECLARE
	v kiln := kiln_from_frame(decode(w->>'frame', 'hex'));
BEGIN
	RETURN coalesce(
		differs('stored', encode(kiln_frame(v), 'hex'), w->>'frame'),
		differs('text', v::text, w->>'text'),
		differs('read back', encode(kiln_frame((w->>'text')::kiln), 'hex'), w->>'frame'),
		(SELECT string_agg(coalesce(
			differs('dtype of ' || name, kiln_dtype(v, name), t->>'dtype'),
			differs('shape of ' || name, to_jsonb(kiln_shape(v, name))::text, (t->'shape')::text)), '; ')
		 FROM (SELECT t, text_of(t->>'name_hex') AS name FROM jsonb_array_elements(w->'tensors') AS t) AS s));
END $$;

CREATE FUNCTION check_invalid(w jsonb) RETURNS text
	LANGUAGE plpgsql AS $$
DECLARE
	detail text;
BEGIN
	PERFORM kiln_from_frame(decode(w->>'frame', 'hex'));
	RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
	RETURN CASE WHEN SQLSTATE NOT IN ('22P03', '22021') THEN 'SQLSTATE ' || SQLSTATE
		WHEN detail !~ ('^At byte offset ' || (w->>'offset') || '[.,]') THEN 'detail ' || detail || ', wanted offset ' || (w->>'offset') END;
END $$;

-- Check one row with its definitions registered, and leave nothing behind.
CREATE FUNCTION check_row(w jsonb) RETURNS text
	LANGUAGE plpgsql AS $$
DECLARE
	problem text;
	definition text;
BEGIN
	FOR definition IN SELECT text_of(d) FROM jsonb_array_elements_text(coalesce(w->'registered_hex', '[]')) AS d LOOP
		PERFORM kiln_register(definition);
	END LOOP;
	EXECUTE format('SELECT check_%s($1)', w->>'kind') INTO problem USING w;
	RAISE EXCEPTION USING ERRCODE = 'KILN0', MESSAGE = coalesce(problem, '');
EXCEPTION
	WHEN SQLSTATE 'KILN0' THEN RETURN SQLERRM;
	WHEN OTHERS THEN RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE TABLE wire (line text);
SQL

# A definition's text goes in as hex alone: it may hold what no text of the server can.
my %rows;
my $copy = "$folder/wire";
{
	open my $in, '<:raw', "$clients/wire.jsonl" or die "wire.jsonl: $!";
	open my $out, '>:raw', $copy or die "$copy: $!";
	while (my $line = <$in>)
	{
		my $row = decode_json($line);

		$rows{ $row->{kind} }++;
		delete $row->{text} if $row->{kind} eq 'definition';
		$line = encode_json($row) . "\n";
		$line =~ s/\\/\\\\/g;
		print $out $line;
	}
	close $out or die "$copy: $!";
}
$node->safe_psql('postgres', "COPY wire FROM '$copy'");
my %problems;
for (split /\n/, $node->safe_psql('postgres', q{
	SELECT j->>'kind', j->>'id', replace(check_row(j), E'\n', ' ') FROM (SELECT line::jsonb AS j FROM wire) AS w ORDER BY (j->>'id')::int}))
{
	my ($kind, $id, $problem) = split /\|/, $_, 3;
	$problems{$kind}{$id} = $problem;
}
for my $kind (sort keys %rows)
{
	my @wrong = grep { $problems{$kind}{$_} ne '' } sort { $a <=> $b } keys %{ $problems{$kind} };

	is(scalar keys %{ $problems{$kind} }, $rows{$kind}, "server: all $rows{$kind} rows of kind $kind were tried");
	is(join('; ', map { "row $_: $problems{$kind}{$_}" } @wrong[ 0 .. ($#wrong > 9 ? 9 : $#wrong) ]), '', "server: rows of kind $kind");
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM kiln_schemas'), 0, 'nothing is left registered');

# ------------------------------------------------------------------ C

SKIP:
{
	my ($there) = output_of('sh', '-c',
		q{printf '#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <setjmp.h>\n#include <cmocka.h>\n#include <libpq-fe.h>\n' | }
		. q{cc -E $(pkg-config --cflags libpq 2>/dev/null || echo -I$(pg_config --includedir)) - >/dev/null 2>&1});
	skip 'needs a C compiler, libpq-dev and libcmocka-dev', 1 unless $there;

	my $build = "$folder/c";
	my ($built, $log) = output_of('make', '-C', "$clients/c", "BUILD=$build", 'WERROR=-Werror', 'all', 'tests');
	ok($built, 'C: builds without a warning') or diag($log);

	local @ENV{qw(KILN_WIRE CMOCKA_MESSAGE_OUTPUT)} = ($clients, 'TAP');
	for my $program (qw(test_wire test_stream test_server))
	{
		my ($good, $tap) = output_of("$build/$program");
		my ($planned) = $tap =~ /^1\.\.(\d+)/m;
		my $seen = 0;

		while ($tap =~ /^(not )?ok \d+ - (\w+)/mg)
		{
			ok(!$1, "C: $program: $2") or diag($tap);
			$seen++;
		}
		is("$good " . ($planned // 'no plan'), "1 $seen", "C: $program ran to its end") or diag($tap);
	}
	is_deeply([ output_of("$build/example") ], [ 1, <<'TEXT' ], 'C: the example');
1000 rows written
sum of level: 124875
row 500: sensor 3, unit bar, schema kiln_example(sensor i64,level f64,unit string)
a tensor of f64, 2 by 3, sum 21
TEXT
	my ($good, $report) = output_of("$build/bench_copy", 5000, 1);
	ok($good, 'C: the benchmark runs') or diag($report);
	like($report, qr/^5000 rows, sums equal$/m, 'C: all its legs give the same sums');
}

# ------------------------------------------------------------------ Python

SKIP:
{
	skip 'needs python3-psycopg, python3-numpy and python3-xxhash', 1
		if system("$python -c 'import numpy, psycopg, xxhash' 2>/dev/null") != 0;

	local @ENV{qw(PYTHONPATH PYTHONDONTWRITEBYTECODE KILN_WIRE)} = ("$clients/python", 1, $clients);
	# not from the top: there a module of the extension is called kiln, too
	my ($good, $log) = output_of('sh', '-c', 'cd "$0" && exec "$@"', "$clients/python",
		$python, '-m', 'unittest', '-v', 'tests.test_wire', 'tests.test_values', 'tests.test_server');
	my ($ran) = $log =~ /^Ran (\d+) tests/m;
	my $seen = 0;

	while ($log =~ /^(test_\w+) \(([\w.]+)\) \.\.\. (.*)$/mg)
	{
		my ($test, $class, $result) = ($1, $2, $3);

		$class =~ s/^tests\.//;
		$class =~ s/\.\Q$test\E$//;
		is($result, 'ok', "Python: $class: $test");
		$seen++;
	}
	is("$good " . ($ran // 'none'), "1 $seen", 'Python: all tests ran') or diag($log);
	cmp_ok($seen, '>', 30, 'Python: there are tests');
	is_deeply([ output_of($python, "$clients/python/example.py") ], [ 1, <<'TEXT' ], 'Python: the example');
kiln_py_example(sensor=3, level=125.0, unit='bar', trace=[0.0, 1.0, 2.0])
125.0 bar 3.0
ndarray float64 (2, 3) 3000.0 in place
-1
124749.0
TEXT
}

is($node->safe_psql('postgres', 'SELECT count(*) FROM kiln_schemas'), 0, 'no client leaves anything registered');

done_testing();
