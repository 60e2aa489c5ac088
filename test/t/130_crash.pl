# A server that is killed in the middle of it: what was committed is there and reads, what was not is gone, and indexes hold.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('main', "autovacuum = off\ncheckpoint_timeout = 1h\nfull_page_writes = on\n");
my $folder = PostgreSQL::Test::Utils::tempdir();

fill_database($node, 'postgres');
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION amcheck;
CREATE TABLE rows (n serial PRIMARY KEY, m kiln);
CREATE INDEX rows_value ON rows (m);
CREATE INDEX rows_field ON rows (kiln_get(m, 'a'));
CREATE TABLE tensors (n int, t kiln(tensor));
SQL

# Kill, start, and look at everything.
sub crash
{
	my ($what) = @_;

	$node->stop('immediate');
	$node->start;
	sound($what);
	return;
}

sub sound
{
	my ($what) = @_;

	# Every value in every column of our type, of any table.
	my @columns = split /\n/, $node->safe_psql('postgres', q{
		SELECT format('%I FROM %I.%I', attname, nspname, relname) FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid
			JOIN pg_namespace s ON s.oid = relnamespace
		WHERE atttypid = 'kiln'::regtype AND relkind IN ('r', 'm') AND NOT attisdropped AND nspname NOT LIKE 'pg_temp%'});
	my ($rows, $bad) = (0, 0);

	for my $column (@columns)
	{
		my ($name) = $column =~ /^(\S+)/;
		my ($n, $b) = split /\|/, $node->safe_psql('postgres',
			"SELECT count($name), count(*) FILTER (WHERE NOT kiln_verify($name) OR kiln_frame(${name}::text::kiln) <> kiln_frame($name)) FROM " . ($column =~ s/^\S+ FROM //r));

		$rows += $n;
		$bad += $b;
	}
	is($bad, 0, "$what: $rows values in " . @columns . ' columns verify');
	is($node->safe_psql('postgres', 'SELECT count(*) FROM kiln_schemas WHERE NOT valid'), 0, "$what: all definitions are true");

	my $unsound = '';
	for my $index (split /\n/, $node->safe_psql('postgres', q{
		SELECT c.oid::regclass FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid JOIN pg_am a ON a.oid = c.relam
			JOIN pg_namespace s ON s.oid = relnamespace
		WHERE a.amname = 'btree' AND indisvalid AND nspname IN ('aaa', 'public') AND c.relpersistence = 'p' AND c.relkind = 'i'}))
	{
		my ($status, $out, $error) = $node->psql('postgres', "SELECT bt_index_parent_check('$index', true, true)");

		$unsound .= "$index: $error\n" if $status != 0;
	}
	is($unsound, '', "$what: amcheck finds the indexes sound");
	return;
}

sound('before any crash');
my $before = fingerprint($node, 'postgres');

# ---- a registration that was not committed, and one that was

$node->safe_psql('postgres', <<'SQL');
SET synchronous_commit = on;
SELECT kiln_register('kept(a i32,b string)');
INSERT INTO rows (m) SELECT kiln_encode('kept', jsonb_build_object('a', i, 'b', 'kept ' || i)) FROM generate_series(1, 2000) i;
SQL
my $session = open_session($node);
ask_session($session, <<'SQL', qr/held\n/);
BEGIN;
SELECT kiln_register('lost(a i32,b string)');
INSERT INTO rows (m) SELECT kiln_encode('lost', jsonb_build_object('a', i, 'b', 'lost ' || i)) FROM generate_series(1, 2000) i;
\echo held
SQL
crash('an open registration');
is($node->safe_psql('postgres', q{SELECT string_agg(name, ' ' ORDER BY name) FROM kiln_schemas WHERE name IN ('lost', 'kept')}), 'kept',
	'the definition that was committed is there, the other is not');
is($node->safe_psql('postgres', q{SELECT count(*), min(kiln_schema(m)), max(kiln_schema(m)) FROM rows}), '2000|kept|kept', 'and so are the rows');
like($node->safe_psql('postgres', q{SELECT kiln_register('lost(a i32,b string)')}), qr/^[0-9a-f]{16}$/, 'it can be registered again');
is(fingerprint($node, 'postgres'), $before =~ s/^(schemas\|)(\d+)/$1 . ($2 + 2)/mer =~ s/^schemas.*\n/$node->safe_psql('postgres', q{SELECT 'schemas', count(*), string_agg(s::text, ' ' ORDER BY s::text) FROM (SELECT name, hash FROM kiln_schemas) s}) . "\n"/mer,
	'all else is as it was');

# ---- clients that register and insert, killed at any moment

append_to_file("$folder/clients", <<'PGBENCH');
\set k random(1, 400)
\set n random(1, 1000000)
BEGIN;
SELECT kiln_register(format('busy_%s(a i32,b string,k i32=%s)', :k % 20, :k));
INSERT INTO rows (m) VALUES (kiln_encode(format('busy_%s', :k % 20), jsonb_build_object('a', :n::int, 'b', repeat('x', :n % 2000))));
COMMIT;
PGBENCH
for my $round (1 .. 3)
{
	my $there = $node->safe_psql('postgres', 'SELECT count(*) FROM rows');
	my $clients = IPC::Run::start([ 'pgbench', '-n', '-c', '8', '-j', '2', '-T', '60', '-f', "$folder/clients", '-h', $node->host, '-p', $node->port, 'postgres' ],
		'<', \undef, '>', \my $out, '2>', \my $err);

	$node->poll_query_until('postgres', "SELECT count(*) >= $there + 400 FROM rows") or die 'the clients do nothing';
	$node->stop('immediate');
	IPC::Run::finish($clients);
	$node->start;
	sound("round $round of busy clients");
	note 'rows: ', $node->safe_psql('postgres', 'SELECT count(*), count(DISTINCT kiln_hash(m)) FROM rows');
}

# ---- aggregates

# Have a session run a statement that comes to sleep in its midst, and wait until it does.
sub start_and_wait
{
	my ($statement) = @_;

	ask_session($session = open_session($node), "SELECT pg_backend_pid();\n\\echo begun\n$statement;\n", qr/begun\n/);
	my ($pid) = $session->{out} =~ /(\d+)/;
	$node->poll_query_until('postgres', "SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = $pid") or die 'it does not come to sleep';
	return;
}

start_and_wait(q{INSERT INTO tensors SELECT 1, kiln_tensor_agg(sqrt(i))
	FROM (SELECT i FROM generate_series(1, 5000000) i UNION ALL SELECT 0 FROM pg_sleep(600)) AS s});
crash('an aggregate');
is($node->safe_psql('postgres', 'SELECT count(*) FROM tensors'), 0, 'its row is not there');
$node->safe_psql('postgres', 'INSERT INTO tensors SELECT i % 10, kiln_tensor_agg(sqrt(i)) FROM generate_series(1, 200000) i GROUP BY 1');
crash('aggregates that were committed');
is($node->safe_psql('postgres', 'SELECT count(*), sum((kiln_shape(t))[1]) FROM tensors'), '10|200000', 'their rows are');

# ---- index builds

$node->safe_psql('postgres', <<'SQL');
INSERT INTO rows (m) SELECT kiln_encode('kept', jsonb_build_object('a', i, 'b', repeat(md5(i::text), 1 + i % 10))) FROM generate_series(1, 100000) i;
CHECKPOINT;
SQL
my $late = $node->safe_psql('postgres', 'SELECT max(n) - 1000 FROM rows');

# Among the last rows of a build that calls it, it sleeps.
$node->safe_psql('postgres', "CREATE FUNCTION pauses(n integer) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS
	\$\$ BEGIN IF n = $late THEN PERFORM pg_sleep(600); END IF; RETURN true; END \$\$");
my %indexes = (
	btree => 'CREATE INDEX building ON rows (m)',
	field => q{CREATE INDEX building ON rows (kiln_get(m, 'b'), ((m->'a')::int8))},
	hash => 'CREATE INDEX building ON rows USING hash (m)',
	gin => 'CREATE INDEX building ON rows USING gin ((m::jsonb) jsonb_path_ops)',
	concurrently => 'CREATE INDEX CONCURRENTLY building ON rows (m)');
for my $kind (sort keys %indexes)
{
	start_and_wait("$indexes{$kind} WHERE pauses(n)");
	crash("building an index ($kind)");
	$node->safe_psql('postgres', "DROP INDEX IF EXISTS building; $indexes{$kind}");
	sound("the index built anew ($kind)");
	my $find = q{SELECT count(*) FROM rows WHERE m = (SELECT m FROM rows WHERE n = 1000) AND kiln_get(m, 'b') = 'kept 1000' AND (m->'a')::int8 = 1000 AND m::jsonb @> '{"a": 1000}'};
	is($node->safe_psql('postgres', "SET enable_seqscan = off; $find"), $node->safe_psql('postgres', "SET enable_indexscan = off; SET enable_bitmapscan = off; $find"),
		"and finds what a scan does ($kind)");
	$node->safe_psql('postgres', 'DROP INDEX building');
}
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|XX000|XX001|XX002|was terminated by signal/, 'no crash but ours');

$node->stop;
done_testing();
