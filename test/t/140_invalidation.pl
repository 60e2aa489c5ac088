# Definitions that change while they are used: an invalidation that arrives inside an accessor's own detoast call, savepoints, and a
# hundred clients that register at once.
#
# How a scan is made to sleep inside detoasting: another session has the TOAST table's index locked, in a transaction that reindexes
# it. The scan has compiled its access plan on a small row and waits for the index on a large one; when it gets the lock, the
# server processes the invalidations that came with the other transaction, there and then.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('main', "autovacuum = off\nlog_error_verbosity = verbose\nfsync = off\n");
$node->append_conf('postgresql.conf', 'max_connections = 150');
$node->start;
my $folder = PostgreSQL::Test::Utils::tempdir();
my $definition = 'doc(id i64,list string[],body string,tail i32)';

$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION kiln;
SELECT kiln_register('$definition'), kiln_register('stable(a i32)');
CREATE TABLE docs (n int PRIMARY KEY, m kiln);
SQL
my $hash = $node->safe_psql('postgres', "SELECT hash FROM kiln_schemas WHERE name = 'doc'");

sub fill
{
	$node->safe_psql('postgres', <<"SQL");
TRUNCATE docs;
INSERT INTO docs
	SELECT i, kiln_encode('$definition', jsonb_build_object('id', i, 'list', array['x', repeat('l', i % 7)],
		'body', repeat('b', CASE WHEN i % 3 = 2 THEN 20000 ELSE 10 END), 'tail', i))
	FROM generate_series(1, 30) i;
SQL
	return;
}

# What another session does to the definition, and what becomes of the reader: it goes on, or stops with one of these errors.
my %changes = (
	'another definition is registered' => [ "SELECT kiln_register('other_' || :'k' || '(a i32)')", '', undef ],
	'a version of the same name is registered' => [ "SELECT kiln_register('doc(id i64,x i32=' || :'k' || ')')", '', undef ],
	'it is dropped and registered again' => [ "SELECT kiln_forget('doc'); SELECT kiln_register('$definition')", '', undef ],
	'it is dropped' => [ "SELECT kiln_forget('doc')", "SELECT kiln_register('$definition')", qr/42704/ ],
	'it lies' => [
		"ALTER SERVER kiln_$hash OPTIONS (SET definition 'doc(id i64,list i64[],body bytes,tail string)')",
		"ALTER SERVER kiln_$hash OPTIONS (SET definition '$definition')", qr/55000/ ],
	'it is dropped, and its server made anew with another text' => [
		"SELECT kiln_forget('doc'); CREATE SERVER kiln_$hash FOREIGN DATA WRAPPER kiln OPTIONS (definition 'doc(tail i8)')",
		"DROP SERVER kiln_$hash; SELECT kiln_register('$definition')", qr/55000/ ]);

my @readers = (
	q{count(kiln_get(m, 'body'))}, q{sum((m->'tail')::int8)}, q{count(m->>'list')}, q{count(m->'list'->>1)}, q{count(kiln_get(m, 'list[1]', NULL::text))},
	q{count(m::jsonb)}, q{count(m::text)}, q{count(DISTINCT m)}, q{max(kiln_hash_value(m))}, q{count(kiln_verify(m))}, q{count(kiln_portable(m))},
	q{count((SELECT max(key) FROM kiln_each(m)))}, q{count((SELECT max(value) FROM kiln_each_text(m)))}, q{count(kiln_get_kiln(m, 'list'))},
	q{count(m['list'])}, q{count(kiln_get(m, 'tail')) + count(kiln_get(m, 'id')) + count(kiln_get(m, 'body'))},
	q{sum(length(kiln_frame(kiln_encode('stable', '{"a": 1}'::text))) + length(kiln_get(m, 'body')))});

my $k = 0;
for my $change (sort keys %changes)
{
	my ($does, $undoes, $state) = @{ $changes{$change} };
	my ($bad, $unexpected, $waited) = ('', '', 0);

	for my $select (@readers)
	{
		fill();
		$k++;
		my $toast = $node->safe_psql('postgres', q{SELECT indexrelid::regclass FROM pg_class JOIN pg_index ON indrelid = reltoastrelid WHERE pg_class.oid = 'docs'::regclass});
		my $reader = open_session($node);
		my $changer = open_session($node);

		# Its caches are warm; the plan is a generic one, kept.
		ask_session($reader, "SET plan_cache_mode = force_generic_plan;\nPREPARE p AS SELECT $select FROM docs;\nSELECT $select FROM docs WHERE n = 1;\nSELECT pg_backend_pid();\n\\echo warm\n", qr/warm\n/);
		my ($pid) = $reader->{out} =~ /(\d+)\nwarm/;
		ask_session($changer, "\\set k $k\nBEGIN;\nREINDEX INDEX $toast;\n\\echo locked\n", qr/locked\n/);
		$reader->{out} = $reader->{err} = '';
		$reader->{in} .= "\\set VERBOSITY verbose\nEXECUTE p;\n\\echo done\n";
		IPC::Run::pump_nb($reader->{run});
		$waited++ if $node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_locks WHERE pid = $pid AND NOT granted");
		ask_session($changer, "$does;\nCOMMIT;\n\\echo changed\n", qr/changed\n/);
		$bad .= "$select: the change: $changer->{err}\n" if $changer->{err} =~ /ERROR/;
		IPC::Run::pump($reader->{run}) until $reader->{out} =~ /done\n/;
		IPC::Run::pump_nb($reader->{run});
		if ($reader->{err} =~ /ERROR:  (\w{5})/)
		{
			my $error = $1;

			$unexpected .= "$select: $reader->{err}\n" if !$state || $error !~ $state;
		}
		# Once more in the same session, and when the definition is back.
		ask_session($reader, "EXECUTE p;\n\\echo again\n", qr/again\n/);
		$unexpected .= "$select, again: $reader->{err}\n" if $reader->{err} =~ /ERROR:  (\w{5})/ && (!$state || $1 !~ $state);
		$node->safe_psql('postgres', $undoes) if $undoes;
		my $there = $node->safe_psql('postgres', "SELECT $select FROM docs");
		ask_session($reader, "EXECUTE p;\n\\echo back\n", qr/back\n/);
		$unexpected .= "$select, back: $reader->{out}$reader->{err}\n" if $reader->{out} ne "$there\nback\n";
		close_session($_) for $reader, $changer;
	}
	is($waited, scalar @readers, "$change: each reader slept inside detoasting");
	is($bad, '', "$change: the change was made");
	is($unexpected, '', "$change: readers go on, or stop with the error that says why");
}
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|XX000|was terminated by signal/, 'no crash in the log');

# ---- savepoints: what was rolled back is gone for the session that made it, at once

my ($status, $out, $error) = $node->psql('postgres', <<'SQL', on_error_stop => 0);
\set VERBOSITY sqlstate
BEGIN;
SAVEPOINT one;
SELECT kiln_register('sp(a i32)') AS hash \gset
SELECT kiln_encode('sp', '{"a": 5}'::text) AS v \gset
SELECT kiln_frame(kiln_encode('sp', '{"a": 5}'::text)) AS frame \gset
SELECT 'made', kiln_get(:'v'::kiln, 'a');
ROLLBACK TO one;
SELECT 'gone', count(*) FROM kiln_schemas WHERE name = 'sp';
SELECT 'unverified', substr(kiln_frame(kiln_from_frame(:'frame')), 1, 1);
SAVEPOINT two;
SELECT kiln_encode('sp', '{"a": 5}'::text);
ROLLBACK TO two;
SELECT kiln_register('sp(a i32)') = :'hash';
SELECT 'again', kiln_get(:'v'::kiln, 'a');
SELECT kiln_register('sp(a i32,b i32=7)') IS NOT NULL;
SAVEPOINT three;
SELECT kiln_register('sp(a i32,c string?)') IS NOT NULL;
SELECT 'third', kiln_definition(kiln_encode('sp', '{"a": 1}'::text));
ROLLBACK TO three;
SELECT 'second', kiln_definition(kiln_encode('sp', '{"a": 1}'::text));
SAVEPOINT four;
SELECT kiln_forget('sp');
ROLLBACK TO four;
SELECT 'still', kiln_get(:'v'::kiln, 'a');
RELEASE two;
ROLLBACK;
SELECT 'none', count(*) FROM kiln_schemas WHERE name = 'sp';
SELECT kiln_get(kiln_from_frame(:'frame'), 'a');
SELECT kiln_register('sp(a i32)') = :'hash';
SELECT 'last', kiln_get(kiln_from_frame(:'frame'), 'a');
SQL
is($out, join("\n", 'made|5', 'gone|0', 'unverified|\x14', 't', 'again|5', 't', 't', 'third|sp(a i32,c string?)', 'second|sp(a i32,b i32=7)', 2, 'still|5', 'none|0', 't', 'last|5'),
	'savepoints');
is($error, join("\n", map { "psql:<stdin>:$_" } '12: ERROR:  42601', '29: ERROR:  42704'), 'and the errors between') or diag $error;

# In one function, with its plans kept: registered and rolled back a thousand times.
is($node->safe_psql('postgres', <<'SQL'), "1000\n1000\nt", 'a thousand subtransactions');
CREATE FUNCTION churn(rounds int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE good int := 0; v kiln;
BEGIN
	FOR i IN 1 .. rounds LOOP
		BEGIN
			PERFORM kiln_register('churn(a i32,n i32=' || i % 3 || ')');
			v := kiln_encode('churn', '{"a": 5}'::text);
			IF kiln_get_int4(v, 'a') = 5 AND kiln_get_int4(v, 'n') = i % 3 THEN
				good := good + 1;
			END IF;
			RAISE EXCEPTION 'back' USING ERRCODE = 'KI000';
		EXCEPTION WHEN SQLSTATE 'KI000' THEN
			IF EXISTS (SELECT FROM kiln_schemas WHERE name = 'churn') THEN
				good := good - 1000000;
			END IF;
		END;
	END LOOP;
	RETURN good;
END $$;
SELECT churn(1000);
SELECT sum(total_bytes) AS before FROM pg_backend_memory_contexts WHERE name LIKE 'kiln%' \gset
SELECT churn(1000);
SELECT sum(total_bytes) - :before < 100000 FROM pg_backend_memory_contexts WHERE name LIKE 'kiln%';
SQL

# ---- a hundred clients, the same ten definitions, each in an order of its own

append_to_file("$folder/register", <<'PGBENCH');
\set seed random(1, 1000000)
SELECT count(kiln_register(format('crowd_%s(a i32,b string%s)', n, repeat('?', n % 2)))) FROM
	(SELECT n FROM generate_series(1, 10) n ORDER BY hashint4(n * 7919 + :seed) OFFSET 0) d;
PGBENCH
$node->command_ok([ 'pgbench', '-n', '-c', '100', '-j', '2', '-t', '3', '-f', "$folder/register", 'postgres' ], 'a hundred clients register, no error');
is($node->safe_psql('postgres', q{SELECT count(*), count(DISTINCT name) FROM kiln_schemas WHERE name LIKE 'crowd%'}), '10|10', 'each definition is there once');

unlike(slurp_file($node->logfile), qr/PANIC|TRAP|XX000|deadlock|was terminated by signal/, 'no crash and no deadlock in the log');
$node->stop;
done_testing();
