# A statement can be cancelled inside every long loop, and values of the greatest depth work under the default stack and fail cleanly under
# a small one.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = start_node('main', <<'SETTINGS');
autovacuum = off
fsync = off
jit = off
work_mem = 16MB
max_parallel_workers_per_gather = 0
log_min_messages = log
log_min_error_statement = panic
SETTINGS

$node->safe_psql('postgres', 'CREATE EXTENSION kiln');

# ---------------------------------------------------------------- cancel

# Values over which each loop runs for a second or more.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE large (name text PRIMARY KEY, v kiln, t text, b bytea, a float8[]);
INSERT INTO large (name, v) SELECT 'strings', kiln_encode('string[]', (SELECT jsonb_agg('element ' || i) FROM generate_series(1, 3000000) i));
INSERT INTO large (name, v) SELECT 'dict', kiln_encode('dict<i64>', (SELECT jsonb_object_agg('key ' || i, i) FROM generate_series(1, 1000000) i));
INSERT INTO large (name, v) SELECT 'structs', kiln_encode('(a i64,b string?)[]', (SELECT jsonb_agg('{"a": 1, "b": "x"}'::jsonb) FROM generate_series(1, 2000000) i));
INSERT INTO large (name, v) SELECT 'numbers', kiln_encode('f64[]', (SELECT jsonb_agg(i / 7.0) FROM generate_series(1, 4000000) i));
INSERT INTO large (name, v, a) SELECT 'tensor', kiln_tensor_agg(sqrt(i)), array_agg(sqrt(i)) FROM generate_series(1, 8000000) i;
INSERT INTO large (name, v) SELECT 'matrix', kiln_reshape(v, ARRAY[2, 4000000]) FROM large WHERE name = 'tensor';
UPDATE large SET t = v::text WHERE name NOT IN ('tensor', 'matrix');
UPDATE large SET b = kiln_frame(v);
SQL
my @long = (
	map({ my $name = $_; map { [ $name, $_ ] } 'length(v::text)', 'length(v::json::text)', 'length(v::jsonb::text)', 't::kiln = v', 'kiln_from_frame(b) = v', 'kiln_verify(v)',
			q{kiln_encode(kiln_definition(v), t::json->'$value') = v}, 'kiln_hash_value(v)', 'kiln_portable(v) = v' } qw(strings dict structs numbers)),
	map({ [ 'strings', $_ ] } q{kiln_get(v, '[2999999]')}, 'v->>2999999', '(SELECT count(*) FROM kiln_unnest(v))', q{kiln_get(v, '', NULL::text[]) IS NULL}, q{kiln_get_kiln(v, '[-1]') IS NULL},
		q{kiln_set(v, '[2999999]', 'x'::text) IS NULL}),
	map({ [ 'dict', $_ ] } q{kiln_get(v, '"key 999999"')}, q{v->'no such key'}, '(SELECT count(*) FROM kiln_each(v))', '(SELECT count(*) FROM kiln_each_text(v))', '(SELECT count(*) FROM kiln_keys(v))',
		q{kiln_merge(v, '{"x": 1}') IS NULL}),
	map({ [ 'structs', $_ ] } q{kiln_get(v, '[1999999].b')}, '(SELECT count(*) FROM kiln_unnest(v))', 'kiln_infer(v::jsonb) IS NULL'),
	map({ [ 'numbers', $_ ] } 'v::float8[] IS NULL', q{kiln_get(v, '', NULL::float8[]) IS NULL}, q{kiln_get(v, '', NULL::text[]) IS NULL}, 'v::numeric[] IS NULL'),
	map({ [ 'tensor', $_ ] } 'length(v::text)', 'v::text::kiln = v', 'kiln_to_array(v) IS NULL', 'v::numeric[] IS NULL', 'kiln_tensor(a) = v', q{kiln_tensor(a, dtype => 'f16') IS NULL},
		'kiln_sum(v)', 'kiln_norm(v)', 'kiln_dot(v, v)', 'kiln_l2_distance(v, v)', 'kiln_add(v, v) = v', q{kiln_cast(v, 'f32') = v}, '(SELECT count(*) FROM kiln_values(v))',
		'(SELECT kiln_sum_agg(v) FROM generate_series(1, 20)) IS NULL', '(SELECT kiln_tensor_agg(v) FROM generate_series(1, 5)) IS NULL',
		'(SELECT kiln_tensor_agg(x) FROM unnest(a) x) IS NULL', '(SELECT kiln_agg(i::kiln) FROM generate_series(1, 3000000) i) IS NULL', 'kiln_to_npy(v) IS NULL', 'kiln_from_npy(kiln_to_npy(v)) = v',
		'kiln_from_safetensors(kiln_to_safetensors(v)) = v', 'kiln_verify(v)', 'kiln_hash_value(v)'),
	map({ [ 'matrix', $_ ] } 'v::float8[] IS NULL', 'kiln_slice(v, 1, 2) IS NULL', 'kiln_row(v, 2) IS NULL'));

# Milliseconds that it takes, cancelled after 100 ms or, with limit 0, not; and the error.
sub run_long
{
	my ($name, $expression, $limit) = @_;
	my $begun = time;
	my ($status, $out, $error) = $node->psql('postgres', <<"SQL", timeout => 170);
\\set VERBOSITY sqlstate
SET statement_timeout = $limit;
\\timing on
SELECT ($expression)::text IS NULL FROM large WHERE name = '$name';
SQL
	my ($took) = ($out // '') =~ /Time: ([0-9.]+) ms/;

	return ($took // 1000 * (time - $begun), $error, $status);
}

# One that is not cancelled soon is held against the time that it takes when nobody cancels it: most of that is too late. The machine has other
# work, too, so that it is tried three times. What core does at the end of a large jsonb object, sorting its keys, it does in one piece.
my @late;
my ($cancelled, $slowest, $slowest_call) = (0, 0, '');
for my $long (@long)
{
	my ($name, $expression) = @$long;
	my ($took, $error, $status) = run_long($name, $expression, 100);
	my $late = $status != 0 && $error !~ /57014/ ? $error : '';

	$cancelled++ if $error =~ /57014/;
	for my $try (1 .. 3)
	{
		last if $took < 300;
		my ($whole) = run_long($name, $expression, 0);
		my ($again) = run_long($name, $expression, 100);

		$took = $again if $again < $took;
		$late = $whole > 450 && $took > 0.75 * $whole && "$name $expression" !~ /^dict .*(?:jsonb|kiln_merge)/ ? "$took ms, of $whole ms in all" : '';
		last if $late eq '';
	}
	($slowest, $slowest_call) = ($took, "$name: $expression") if $took > $slowest;
	push @late, "$name: $expression: $late" if $late ne '';
}
is(join("\n", @late), '', 'statement_timeout works inside each of ' . @long . ' long loops');
note "$cancelled of them were cancelled at 100 ms, the others were done by then; the slowest took $slowest ms ($slowest_call)";
cmp_ok($cancelled, '>', @long / 3, 'many of them run for longer than that');
is($node->safe_psql('postgres', 'SELECT count(*) FROM large'), 6, 'the server goes on');

# ---------------------------------------------------------------- depth

# The greatest depth of definitions, in each way to nest, and mixed; and of json.
my $nested = sub {
	my ($levels, $open, $close, $value_open, $value_close, $leaf, $value) = @_;

	return [ $open x $levels . $leaf . $close x $levels, $value_open x $levels . $value . $value_close x $levels ];
};
my %deep = (
	structs => $nested->(31, '(a ', ')', '{"a": ', '}', '(b i32)', '{"b": 1}'),
	lists => $nested->(32, '', '[]', '[', ']', 'i32', '1'),
	dicts => $nested->(32, 'dict<', '>', '{"k": ', '}', 'i32', '1'),
	optionals => $nested->(16, '(a ', '?)', '{"a": ', '}', 'i32', '1'),
	mixed => $nested->(10, '(a dict<', '>[])', '{"a": [{"k": ', '}]}', 'i32', '1'));
my @walks = (
	'length(v::text) > 0', 'v::text::kiln = v', 'v::jsonb IS NOT NULL', 'v::json IS NOT NULL', 'kiln_verify(v)', 'kiln_frame(v) = kiln_frame(kiln_from_frame(kiln_frame(v)))',
	'kiln_hash_value(v) IS NOT NULL', 'kiln_encode(kiln_definition(v), v::json->$$$value$$) IS NULL OR true', 'kiln_portable(v) = v', 'kiln_get_jsonb(v, $$$$) IS NOT NULL',
	'kiln_intern(v) = v', 'kiln_infer(v::jsonb) IS NOT NULL');
for my $stack ('2MB', '100kB')
{
	my $wrong = '';

	for my $kind (sort keys %deep)
	{
		my ($type, $value) = @{ $deep{$kind} };

		for my $walk ('v IS NOT NULL', @walks)
		{
			my ($status, $out, $error) = $node->psql('postgres', <<"SQL");
\\set VERBOSITY sqlstate
SET max_stack_depth = '$stack';
SELECT $walk FROM (SELECT kiln_encode('$type', '$value'::text) AS v) s;
SQL
			next if $status == 0 && $out eq 't';
			next if $stack eq '100kB' && $error =~ /54001/;
			next if $walk =~ /infer/ && $error =~ /54001|54000|42601|22P02/;	# a definition inferred is as deep as its JSON, or refused
			$wrong .= "$kind, $walk: $out $error\n";
		}
	}
	is($wrong, '', "values of the greatest depth, max_stack_depth = $stack");
}
# Deeper than that is refused, however deep.
for my $levels (33, 1000, 100000)
{
	my ($status, $out, $error) = $node->psql('postgres', "\\set VERBOSITY sqlstate\nSELECT kiln_encode(repeat('(a ', $levels) || 'i32' || repeat(')', $levels), '{}'::text)");

	like($error, qr/54001|54000|42601/, "$levels levels of a definition are refused");
	($status, $out, $error) = $node->psql('postgres', "\\set VERBOSITY sqlstate\nSELECT length((repeat('[', $levels) || repeat(']', $levels))::kiln::text)");
	if ($levels <= 200)
	{
		like($out, qr/^\d+$/, "$levels levels of JSON are taken") or diag $error;
	}
	else
	{
		like($error, qr/54001|54000|22P02/, "$levels levels of JSON are refused");
	}
}
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|XX000|was terminated by signal/, 'no crash in the log');

$node->stop;
done_testing();
