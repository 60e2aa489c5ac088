# kiln_pgvector: casts between tensors and pgvector's types. Values come through bit by bit, what a type can't hold is refused in its own
# words, an expression index serves nearest neighbours of a tensor column, and nothing depends on schemas or on who planted what in them.
# What docs/MIGRATING.md shows of it (blocks named pgsql, each with its output) is run here, too.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('main');

# A statement's error in verbose form, '' if there is none.
sub error_of
{
	my ($database, $sql, @options) = @_;
	my ($status, $out, $error) = $node->psql($database, "\\set VERBOSITY verbose\n$sql", on_error_stop => 1, @options);

	return $status == 0 ? '' : $error;
}

$node->safe_psql('postgres', 'CREATE DATABASE without TEMPLATE template0; CREATE DATABASE plain TEMPLATE template0');
like(error_of('without', 'CREATE EXTENSION kiln; CREATE EXTENSION kiln_pgvector'),
	qr/42704: required extension "vector" is not installed\n.*HINT:  Use CREATE EXTENSION \.\.\. CASCADE/s, 'without pgvector: the server\'s own error, with its hint');
is($node->safe_psql('without', q{SELECT count(*) FROM pg_extension WHERE extname = 'kiln_pgvector'}), 0, 'and nothing is made');

if ($node->safe_psql('postgres', q{SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'}) == 0)
{
	note 'the rest is skipped: the extension vector is not available';
	$node->stop;
	done_testing();
	exit;
}

# ---------------------------------------------------------------- values

$node->safe_psql('plain', <<'SQL');
CREATE EXTENSION kiln_pgvector CASCADE;
CREATE TABLE source (n int PRIMARY KEY, v vector(24), h halfvec(24));
SELECT setseed(0.5);
INSERT INTO source SELECT i, a::vector, a::halfvec
	FROM generate_series(1, 2000) i, LATERAL (SELECT array_agg(((random() - 0.5) * 2 ^ ((i + k) % 30 - 15))::real) AS a FROM generate_series(1, 24) AS k) r;
CREATE TABLE target (n int PRIMARY KEY, v kiln(tensor), h kiln);
INSERT INTO target SELECT n, v, h FROM source;
SQL
is($node->safe_psql('plain', q{SELECT count(*) FILTER (WHERE vector_send(t.v::vector) = vector_send(s.v)), count(*) FILTER (WHERE halfvec_send(t.h::halfvec) = halfvec_send(s.h)),
		count(*) FILTER (WHERE t.v::real[] = s.v::real[]), bool_and(kiln_dtype(t.v) = 'f32' AND kiln_dtype(t.h) = 'f16' AND kiln_shape(t.v) = '{24}')
		FROM source s JOIN target t USING (n)}), '2000|2000|2000|t', 'vector and halfvec become f32 and f16 by assignment, and come back as the same bits');
is($node->safe_psql('plain', q{SELECT NULL::vector::kiln IS NULL, NULL::halfvec::kiln IS NULL, NULL::kiln::vector IS NULL, NULL::kiln::halfvec IS NULL}), 't|t|t|t', 'NULL is NULL');
is($node->safe_psql('plain', q{SELECT kiln_tensor('{0.1,-2}'::float8[])::vector, kiln_tensor('{0.1,-2}'::float8[])::halfvec, kiln_tensor('{1,2}'::int8[])::vector,
		kiln_tensor('{1.5,2}'::float8[], dtype => 'bf16')::vector, '{"$kiln": "f32[]", "$value": [1,2]}'::kiln::vector, kiln_tensor('{0.1}'::real[])::vector(1)}),
	'[0.1,-2]|[0.099975586,-2]|[1,2]|[1.5,2]|[1,2]|[0.1]', 'other dtypes and lists are rounded to what the type holds');
is($node->safe_psql('plain', q{SELECT '{1:1,3:2.5}/5'::sparsevec::vector::kiln::vector::sparsevec}), '{1:1,3:2.5}/5', 'a sparsevec goes by way of vector');
is($node->safe_psql('plain', q{SELECT max(abs((kiln_dot(t.v, t.v)) - (s.v <#> s.v) * -1) / nullif(kiln_dot(t.v, t.v), 0)) < 1e-5 FROM source s JOIN target t USING (n)}), 't',
	'both have the same inner products');

for my $case (
	[ q{kiln_tensor('{1,2}'::real[])::vector(3)}, '22000', 'another number of dimensions than the column has' ],
	[ q{kiln_tensor('{1,2}'::real[])::halfvec(3)}, '22000', 'the same of halfvec' ],
	[ q{kiln_tensor('{{1,2},{3,4}}'::real[])::vector}, '22000', 'a matrix' ],
	[ q{kiln_tensor('{}'::real[])::vector}, '22000', 'no elements' ],
	[ q{kiln_tensor('{NaN}'::real[])::vector}, '22000', 'NaN' ],
	[ q{kiln_tensor('{1,Infinity}'::float8[])::vector}, '22000', 'infinity' ],
	[ q{kiln_tensor('{1e300}'::float8[])::vector}, '22000|22003', 'a number beyond real' ],
	[ q{kiln_tensor('{1e6}'::float8[])::halfvec}, '22003', 'a number beyond f16' ],
	[ q{(SELECT kiln_tensor_agg(1.0::real) FROM generate_series(1, 16001))::vector}, '54000', 'more dimensions than a vector has' ],
	[ q{'{"$kiln": "(a i8)", "a": 1}'::kiln::vector}, '42804', 'a struct' ],
	[ q{'{"$kiln": "f32?[]", "$value": [1,null]}'::kiln::vector}, '22004', 'an absent element' ])
{
	my ($expression, $state, $what) = @$case;

	like(error_of('plain', "SELECT $expression"), qr/ERROR:  (?:$state): /, "refused with $state: $what");
}
like(error_of('plain', 'INSERT INTO source (n, v) SELECT -n, v FROM target'), qr/42804/, 'a tensor goes into a vector column by a cast alone');
is($node->safe_psql('plain', q{SELECT kiln_tensor('{NaN,1}'::real[])::real[]}), '{NaN,1}', 'which the cast to real[] does not refuse');

# ---------------------------------------------------------------- indexes

my $query = q{ARRAY(SELECT ((n * 7919 % 1000) / 500.0 - 1)::real FROM generate_series(1, 24) n)};
$node->safe_psql('plain', <<'SQL');
TRUNCATE source, target;
INSERT INTO source SELECT i, a::vector, a::halfvec
	FROM generate_series(1, 3000) i, LATERAL (SELECT array_agg((random() * 2 - 1)::real) AS a FROM generate_series(1, 24) WHERE i > 0) r;
INSERT INTO target SELECT n, v, h FROM source;
CREATE INDEX target_hnsw ON target USING hnsw ((v::vector(24)) vector_l2_ops);
CREATE INDEX target_half ON target USING hnsw ((h::halfvec(24)) halfvec_cosine_ops);
CREATE INDEX source_hnsw ON source USING hnsw (v vector_l2_ops);
ANALYZE source, target;
SQL
like($node->safe_psql('plain', "SET enable_seqscan = off; EXPLAIN (COSTS off) SELECT n FROM target ORDER BY v::vector(24) <-> $query\::vector LIMIT 10"),
	qr/Index Scan using target_hnsw/, 'an expression index serves the order by distance');
like($node->safe_psql('plain', "SET enable_seqscan = off; EXPLAIN (COSTS off) SELECT n FROM target ORDER BY h::halfvec(24) <=> $query\::halfvec LIMIT 10"),
	qr/Index Scan using target_half/, 'so one over halfvec does');
my $nearest = sub
{
	my ($table, $settings) = @_;
	return $node->safe_psql('plain', "$settings; SELECT string_agg(n::text, ' ' ORDER BY d, n) FROM (SELECT n, v::vector(24) <-> $query\::vector AS d FROM $table ORDER BY d LIMIT 10) x");
};
my $exact = $nearest->('target', 'SET enable_indexscan = off');
is($nearest->('source', 'SET enable_indexscan = off'), $exact, 'without an index the neighbours are those of the vector column');
for my $found ($nearest->('target', 'SET enable_seqscan = off; SET hnsw.ef_search = 400'), $nearest->('source', 'SET enable_seqscan = off; SET hnsw.ef_search = 400'))
{
	my %exact = map { $_ => 1 } split / /, $exact;

	cmp_ok(scalar(grep { $exact{$_} } split / /, $found), '>=', 9, "with it, at least nine of ten: $found");
}
$node->safe_psql('plain', q{UPDATE target SET v = v::vector + (SELECT array_agg(5::real)::vector FROM generate_series(1, 24)) WHERE n <= 10});
is($node->safe_psql('plain', q{SET enable_seqscan = off; SELECT count(*) FROM (SELECT n FROM target ORDER BY v::vector(24) <-> (SELECT array_agg(5::real)::vector(24) FROM generate_series(1, 24)) LIMIT 10) x WHERE n <= 10}),
	10, 'and the index follows an update');
like(error_of('plain', q{INSERT INTO target VALUES (-1, kiln_tensor('{1,2}'::real[]))}), qr/22000: expected 24 dimensions, not 2/, 'the index keeps the column to its dimensions');

unlike($node->safe_psql('plain', 'EXPLAIN (VERBOSE, COSTS off) SELECT v::vector, h::halfvec, (SELECT s.v::kiln FROM source s LIMIT 1) FROM target'), qr/kiln_(to|from)_/, 'casts are inlined: no call of a function in SQL');

# ---------------------------------------------------------------- what the catalog says

is($node->safe_psql('plain', q{SELECT count(*), bool_and(provolatile = 'i' AND proparallel = 's' AND prosqlbody IS NOT NULL AND NOT prosecdef AND obj_description(p.oid, 'pg_proc') <> '')
		FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e' JOIN pg_extension e ON e.oid = d.refobjid WHERE extname = 'kiln_pgvector'}),
	'4|t', 'functions: immutable, parallel safe, parsed once, with comments');
is($node->safe_psql('plain', q{SELECT string_agg(format('%s>%s:%s', castsource::regtype, casttarget::regtype, castcontext), ' ' ORDER BY castsource::regtype::text, casttarget::regtype::text)
		FROM pg_cast c JOIN pg_depend d ON d.objid = c.oid AND d.classid = 'pg_cast'::regclass AND d.deptype = 'e' JOIN pg_extension e ON e.oid = d.refobjid WHERE extname = 'kiln_pgvector'}),
	'halfvec>kiln:a kiln>halfvec:e kiln>vector:e vector>kiln:a', 'casts: assignment where nothing is lost, explicit otherwise');
is($node->safe_psql('plain', q{SELECT relocatable, trusted, requires FROM pg_available_extension_versions WHERE name = 'kiln_pgvector'}), 't|t|{plpgsql,kiln,vector}', 'relocatable and trusted');

# ---------------------------------------------------------------- schemas, roles, plants

$node->safe_psql('postgres', 'CREATE ROLE owner LOGIN; CREATE ROLE evil LOGIN; CREATE DATABASE schemas TEMPLATE template0 OWNER owner');
$node->safe_psql('schemas', q{CREATE SCHEMA "of vector"; CREATE EXTENSION vector SCHEMA "of vector"; GRANT USAGE ON SCHEMA "of vector" TO owner, evil});
my @as_owner = (extra_params => [ '-U', 'owner' ]);
is(error_of('schemas', q{CREATE SCHEMA "of ""kiln"; CREATE SCHEMA "a'b$"; GRANT ALL ON SCHEMA "of ""kiln" TO evil; CREATE EXTENSION kiln SCHEMA "of ""kiln"; CREATE EXTENSION kiln_pgvector SCHEMA "a'b$"}, @as_owner),
	'', 'an ordinary owner installs it, the three in schemas of their own');
my $use = q{SET search_path = ''; SELECT '[1,2]'::%1$s.vector::%2$s.kiln::%1$s.vector(2), '[1,2]'::%1$s.halfvec::%2$s.kiln::%1$s.halfvec};
is($node->safe_psql('schemas', sprintf($use, '"of vector"', '"of ""kiln"'), @as_owner), '[1,2]|[1,2]', 'it works with an empty search_path');
$node->safe_psql('schemas', q{CREATE SCHEMA one; ALTER EXTENSION vector SET SCHEMA one; ALTER EXTENSION kiln SET SCHEMA one; ALTER EXTENSION kiln_pgvector SET SCHEMA one; GRANT USAGE ON SCHEMA one TO owner, evil});
is($node->safe_psql('schemas', sprintf($use, 'one', 'one'), @as_owner), '[1,2]|[1,2]', 'and after all three have moved');

# Functions that would match better than the extensions' own, types and functions in the schemas that come first.
$node->safe_psql('schemas', q{DROP EXTENSION kiln_pgvector; CREATE SCHEMA trap; GRANT ALL ON SCHEMA one, trap TO evil});
for my $plant (
	[ q{CREATE FUNCTION one.kiln_tensor(real[], text, text) RETURNS one.kiln LANGUAGE sql AS 'SELECT NULL::one.kiln'}, qr/42710: function kiln_tensor.* stands in the way/, 'a function of the kind that a body calls' ],
	[ q{CREATE FUNCTION trap.kiln_to_vector(one.kiln) RETURNS one.vector LANGUAGE sql AS 'SELECT NULL::one.vector'}, qr/42723/, 'a function of the same name' ],
	[ q{CREATE DOMAIN trap.vector AS int; CREATE DOMAIN trap.halfvec AS int; CREATE DOMAIN trap.kiln AS int; CREATE DOMAIN trap.text AS int; CREATE DOMAIN trap.name AS int}, qr/^$/, 'types of the same names do not matter' ],
	[ join('; ', map { "CREATE FUNCTION trap.$_ LANGUAGE plpgsql AS \$\$ BEGIN RAISE 'sprung'; END \$\$" } 'replace(text, text, text) RETURNS text', 'concat(text, text) RETURNS text', 'min(text) RETURNS text',
		'to_regtype(text) RETURNS regtype', 'kiln_tensor(real[], text, text) RETURNS one.kiln'), qr/^$/, 'nor do functions that the script calls' ])
{
	my ($sql, $error, $what) = @$plant;

	$node->safe_psql('schemas', $sql, extra_params => [ '-U', 'evil' ]);
	like(error_of('schemas', 'CREATE EXTENSION kiln_pgvector SCHEMA trap'), $error, "planted: $what");
	is($node->safe_psql('schemas', sprintf($use, 'one', 'one')), '[1,2]|[1,2]', 'the casts are right') if $error eq qr/^$/;
	$node->safe_psql('schemas', 'DROP EXTENSION IF EXISTS kiln_pgvector; DROP OWNED BY evil; GRANT ALL ON SCHEMA one, trap TO evil; GRANT USAGE ON SCHEMA one TO evil');
}

# ---------------------------------------------------------------- dump and restore

my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump';
$node->safe_psql('postgres', 'CREATE DATABASE restored TEMPLATE template0');
command_ok([ 'pg_dump', '-Fc', '-f', $dump, $node->connstr('plain') ], 'pg_dump');
command_ok([ 'pg_restore', '--exit-on-error', '-d', $node->connstr('restored'), $dump ], 'pg_restore');
my $all = q{SELECT md5(string_agg(t::text, '' ORDER BY n)), (SELECT count(*) FROM pg_indexes WHERE tablename = 'target') FROM target t};
is($node->safe_psql('restored', $all), $node->safe_psql('plain', $all), 'casts and expression indexes come through a dump');

# ---------------------------------------------------------------- what docs/MIGRATING.md shows

my $migrating = slurp_file("$FindBin::RealBin/../../docs/MIGRATING.md");
my $shown = 0;
$node->safe_psql('postgres', 'CREATE DATABASE docs TEMPLATE template0');
while ($migrating =~ /^```pgsql\n(.*?)^```\n\s*^```output\n(.*?)^```$/msg)
{
	my ($sql, $expected) = ($1, $2);
	my $out = '';

	IPC::Run::run([ 'psql', '-X', '-q', '-d', $node->connstr('docs'), '-f', '-' ], '<', \"SET client_min_messages = warning;\n$sql", '>&', \$out);
	$out =~ s/^psql:<stdin>:\d+: //mg;
	s/[ \t]+$//mg, s/\n+\z// for $out, $expected;
	is($out, $expected, 'MIGRATING.md: says what it shows');
	$shown++;
}
cmp_ok($shown, '>', 0, "examples in MIGRATING.md: $shown");

$node->stop;
done_testing();
