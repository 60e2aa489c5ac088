# scripts/rollout brings the definitions of one database to others: all or nothing for each, again and again, with hash and version, and
# says where they differ.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $script = "$FindBin::RealBin/../../scripts/rollout";
my $source = start_node('source');
my @targets = map { start_node("target$_") } 1 .. 2;
my ($from, @to) = map { $_->connstr . ' dbname=postgres' } $source, @targets;

# Status and all that the script said.
sub rollout
{
	my @arguments = @_;
	my $said = '';

	IPC::Run::run([ $script, @arguments ], '<', \undef, '>&', \$said);
	return ($? >> 8, $said);
}

sub registry
{
	my ($node, $database) = @_;

	return $node->safe_psql($database // 'postgres', 'SET search_path = public, k; SELECT name, version, hash, definition FROM kiln_schemas WHERE valid ORDER BY 1, 2');
}

my ($status, $said) = rollout($from);
is($status, 2, 'a source alone is no rollout');
like($said, qr/usage:/, 'which it says');
($status, $said) = rollout($from, @to);
is($status, 2, 'a source without the extension');
like($said, qr/extension kiln is not installed/, 'says so');

# Two versions, a gap where one was dropped, and names that quoting and COPY have to carry.
$source->safe_psql('postgres', <<"SQL");
CREATE EXTENSION kiln;
SELECT kiln_register('$EVENT_1');
SELECT kiln_register('dropped(a i8)'), kiln_register('$EVENT_2'), kiln_register('dropped(a i16)');
SELECT 'DROP SERVER ' || server FROM kiln_schemas WHERE name = 'dropped' AND version = 1 \\gexec
SELECT kiln_register('"it''s a \\\\ name"(a i8, "Grüße" string)');
SQL
is($source->safe_psql('postgres', q{SELECT version FROM kiln_schemas WHERE name = 'dropped'}), 2, 'a version that is not the first');

($status, $said) = rollout($from, @to);
is($status, 1, 'targets without the extension');
is(scalar(() = $said =~ /extension kiln is not installed/g), 2, 'are said, each');

$targets[0]->safe_psql('postgres', 'CREATE EXTENSION kiln');
$targets[1]->safe_psql('postgres', 'CREATE SCHEMA k; CREATE EXTENSION kiln SCHEMA k');
($status, $said) = rollout('--check', $from, @to);
is($status, 1, '--check of empty targets');
like($said, qr/event: version 1 \([0-9a-f]{16}\) is missing/, 'says what is missing');
is(registry($targets[0]), '', 'and changes nothing');

# What somebody planted in the extension's schema, and would match better than the server's own, is not called.
$targets[0]->safe_psql('postgres', <<'SQL');
CREATE FUNCTION public.format(text, text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'planted'; END $$;
CREATE FUNCTION public.format(text, text, bigint, text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'planted'; END $$;
CREATE FUNCTION public.equal(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'planted'; END $$;
CREATE OPERATOR public.= (LEFTARG = text, RIGHTARG = text, FUNCTION = public.equal);
SQL
($status, $said) = rollout($from, @to);
is($status, 0, 'rollout') or diag($said);
is($said, "target 1: 4 definitions, 4 of them new\ntarget 2: 4 definitions, 4 of them new\n", 'says what it did');
is(registry($_), registry($source), $_->name . ' has hash, version and text of the source') for @targets;
($status, $said) = rollout($from, @to);
is($said, "target 1: 4 definitions, 0 of them new\ntarget 2: 4 definitions, 0 of them new\n", 'again: nothing new');
is((rollout('--check', $from, @to))[0], 0, 'and --check agrees');

# What the source has next goes alone. A target's own schemas stay.
$targets[0]->safe_psql('postgres', q{SELECT kiln_register('mine(a i8)')});
$source->safe_psql('postgres', q{SELECT kiln_register('later(a i8)')});
($status, $said) = rollout($from, @to);
is($said, "target 1: 5 definitions, 1 of them new\ntarget 2: 5 definitions, 1 of them new\n", 'a further definition');
is($targets[0]->safe_psql('postgres', q{SELECT count(*) FROM kiln_schemas WHERE name = 'mine'}), 1, 'what only the target has is left alone');

# A version that the source lacks: refused, whole; the other target is served.
$targets[0]->safe_psql('postgres', q{SELECT kiln_register('event(id i64)')});
$source->safe_psql('postgres', q{SELECT kiln_register('last(a i8)')});
my $before = registry($targets[0]);
($status, $said) = rollout($from, @to, "$to[0] port=1");
is($status, 1, 'a target that differs');
like($said, qr/^target 1: not done\n {4}event: version 3 \([0-9a-f]{16}\) is not the source's$/m, 'is told with what differs');
is(registry($targets[0]), $before, 'and is as it was');
like($said, qr/^target 2: 6 definitions, 1 of them new$/m, 'the next one is done');
like($said, qr/^target 3: not done\n.*(connection|connect)/m, 'one that can not be reached is told, too');

# The same two registered in the other order: the latest would be another one there.
$targets[1]->safe_psql('postgres', "CREATE DATABASE other");
$targets[1]->safe_psql('other', "CREATE EXTENSION kiln; SELECT kiln_register('$EVENT_2'), kiln_register('$EVENT_1')");
($status, $said) = rollout($from, $targets[1]->connstr('other'));
is($status, 1, 'versions in another order');
like($said, qr/event: version 1 \(.*\) is not the source's\n.*event: version 1 \(.*\) is missing/, 'are a difference');

# By a role that is a member of the extension's owner: definitions belong to the owner. By any other: nothing.
$targets[1]->safe_psql('postgres', <<'SQL');
CREATE ROLE keeper LOGIN CREATEROLE; CREATE ROLE deployer LOGIN IN ROLE keeper; CREATE ROLE stranger LOGIN;
CREATE DATABASE owned OWNER keeper;
SQL
$targets[1]->safe_psql('owned', 'CREATE EXTENSION kiln', extra_params => [ '-U', 'keeper' ]);
my $owned = $targets[1]->connstr('owned');
($status, $said) = rollout($from, "$owned user=stranger");
is($status, 1, 'a stranger has no right to register');
like($said, qr/permission denied/, 'and hears so');
($status, $said) = rollout($from, "$owned user=deployer");
is($status, 0, 'a member of the owner has') or diag($said);
is($targets[1]->safe_psql('owned', q{SELECT DISTINCT srvowner::regrole FROM pg_foreign_server}), 'keeper', 'for the owner');

# The pipe of which the script is the careful form, into a database that has nothing.
$targets[1]->safe_psql('postgres', 'CREATE DATABASE piped');
$targets[1]->safe_psql('piped', 'CREATE EXTENSION kiln');
is(shell("psql -XAtq -d '$from' -c 'SELECT kiln_dump_schemas()' | psql -Xq -v ON_ERROR_STOP=1 -1 -d '" . $targets[1]->connstr('piped') . "'"),
	0, 'kiln_dump_schemas() piped');
is(registry($targets[1], 'piped'), registry($source), 'gives the same registry');

# What it is for: rows alone, in text and binary, into a database that had no definition.
$source->safe_psql('postgres', qq{CREATE TABLE events (m kiln(event));
	INSERT INTO events SELECT kiln_encode('event', jsonb_build_object('id', i, 'name', 'n' || i)) FROM generate_series(1, 100) i});
$targets[1]->safe_psql('piped', 'CREATE TABLE events (m kiln(event))');
for my $format (qw(text binary))
{
	is(shell("psql -Xq -d '$from' -c 'COPY events TO STDOUT (FORMAT $format)' | psql -Xq -d '"
			. $targets[1]->connstr('piped') . "' -c 'COPY events FROM STDIN (FORMAT $format)'"), 0, "rows by COPY, $format");
}
is($targets[1]->safe_psql('piped', q{SELECT count(*), sum(kiln_get_int8(m, 'id')), bool_and(kiln_verify(m)) FROM events}), '200|10100|t', 'are read');

$_->stop for $source, @targets;
done_testing();

sub shell
{
	my ($command) = @_;

	return system('bash', '-c', "set -o pipefail; $command") >> 8;
}
