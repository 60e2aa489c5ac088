# Many sessions registering the same definitions at the same time all succeed, and each definition is there once (case 36).

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('main');
my $folder = PostgreSQL::Test::Utils::tempdir();

$node->safe_psql('postgres', 'CREATE EXTENSION kiln');

# ---- two sessions, one definition

for my $end (qw(COMMIT ROLLBACK))
{
	my $definition = 'race_' . lc($end) . '(a i32,b string)';
	my ($first, $second) = map { open_session($node) } 1, 2;

	ask_session($first, "BEGIN;\nSELECT kiln_register('$definition');\n\\echo one\n", qr/one\n/);
	ask_session($second, "\\echo begun\nSELECT kiln_register('$definition');\n\\echo two\n", qr/begun\n/);

	ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_locks WHERE NOT granted"),
		"$end: the second session waits for the first");
	unlike($second->{out}, qr/two/, 'it has not gone on');
	close_session($first, "$end;");
	close_session($second);

	my ($one) = $first->{out} =~ /^([0-9a-f]{16})$/m;
	my ($two) = $second->{out} =~ /^([0-9a-f]{16})$/m;
	is($first->{err} . $second->{err}, '', 'neither has an error');
	is($two, $one, 'both have the same hash');
	is($node->safe_psql('postgres', "SELECT count(*) FROM kiln_schemas WHERE hash = '$one'"), 1, 'the definition is there once');
}

# ---- twenty clients, ten definitions a round, each client in an order of its own

my $rounds = 6;
my $known = $node->safe_psql('postgres', 'SELECT count(*) FROM kiln_schemas');

$node->safe_psql('postgres', <<"SQL");
CREATE TABLE definitions (round int, n int, definition text);
INSERT INTO definitions
	SELECT r, n, format('shared_%s(round i8=%s,a i32,b string%s)', n, r, repeat('?', n % 2)) FROM generate_series(1, $rounds) r, generate_series(1, 10) n;
SQL
append_to_file("$folder/all", <<'PGBENCH');
\set seed random(1, 1000000)
SELECT count(kiln_register(definition)) FROM (
	SELECT definition FROM definitions WHERE round = :round ORDER BY hashint4(n * 7919 + :seed) OFFSET 0) d;
PGBENCH
append_to_file("$folder/by_one", <<'PGBENCH');
\set seed random(1, 1000000)
BEGIN;
SELECT kiln_register(definition) FROM definitions WHERE round = :round ORDER BY hashint4(n * 7919 + :seed) LIMIT 1;
SELECT kiln_register(definition) FROM definitions WHERE round = :round ORDER BY hashint4(n * 104729 + :seed) LIMIT 1;
SELECT kiln_register(definition) FROM definitions WHERE round = :round ORDER BY hashint4(n * 1299709 + :seed) LIMIT 1;
COMMIT;
SELECT count(kiln_register(definition)) FROM (
	SELECT definition FROM definitions WHERE round = :round ORDER BY hashint4(n * 31 + :seed) OFFSET 0) d;
PGBENCH

for my $round (1 .. $rounds)
{
	my $script = $round % 2 ? 'all' : 'by_one';

	$node->command_ok([ 'pgbench', '-n', '-c', '20', '-j', '2', '-t', '3', '-D', "round=$round", '-f', "$folder/$script", 'postgres' ],
		"round $round: twenty clients, no error");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM kiln_schemas') - $known, 10 * $round, 'each definition is there once');
}
unlike(slurp_file($node->logfile), qr/deadlock|ERROR|PANIC/, 'nor does the log have one');

# Versions of a name follow each other: each round made one.
is( $node->safe_psql('postgres', q{
		SELECT count(*), count(DISTINCT version) FROM kiln_schemas WHERE name = 'shared_4'}),
	"$rounds|$rounds", 'versions of one name are distinct');

$node->stop;
done_testing();
