# A hot standby reads values; kiln_register answers there for what is registered, and says why not for what is not.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use Test::More;

my $primary = start_node('primary', '', allows_streaming => 1);
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

fill_database($primary, 'postgres');
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('write'));

my $read = 'SELECT count(*), md5(string_agg(e::text, $$ $$ ORDER BY n)), sum((m->$$id$$)::int8) FROM aaa.events e';
is($standby->safe_psql('postgres', $read), $primary->safe_psql('postgres', $read), 'the standby reads what the primary has');
is($standby->safe_psql('postgres', q{SELECT kiln_get(m, 'tags[1]') FROM aaa.events WHERE n = 600}), 'b', 'fields too');
is($standby->safe_psql('postgres', q{SET enable_seqscan = off; SELECT n FROM aaa.events WHERE (m->'id')::int8 = 78 AND m->>'name' <> 'nobody'}),
	78, 'and through an index');

is($standby->safe_psql('postgres', "SELECT kiln_register('$EVENT_2')"), $primary->safe_psql('postgres', "SELECT kiln_register('$EVENT_2')"),
	'kiln_register of a registered definition gives its hash');
my ($status, $out, $error) = $standby->psql('postgres', "\\set VERBOSITY verbose\nSELECT kiln_register('other(a i8)')");
isnt($status, 0, 'kiln_register of a new one is refused');
like($error, qr/25006/, 'as any writing on a standby is');
is($standby->safe_psql('postgres', 'SELECT 1'), 1, 'the standby goes on');

# In one session on the standby: a definition that comes, is used, goes, and comes again.
my $session = open_session($standby);
my $ask = "SELECT kiln_get(v, 'a') FROM others;\n\\echo done\n";

$primary->safe_psql('postgres', q{
	SELECT kiln_register('other(a i8)');
	CREATE TABLE others (v kiln);
	INSERT INTO others VALUES ('{"$kiln": "other", "a": 5}')});
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('write'));
is(ask_session($session, $ask, qr/done\n/), "5\ndone\n", 'a definition registered later is there');
$primary->safe_psql('postgres', "SELECT kiln_forget('other')");
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('write'));
ask_session($session, "\\set VERBOSITY verbose\n$ask", qr/done\n/);
like($session->{err}, qr/42704/, 'one that was dropped is missing, also to a session that has used it');
$primary->safe_psql('postgres', "SELECT kiln_register('other(a i8)')");
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('write'));
is(ask_session($session, $ask, qr/done\n/), "5\ndone\n", 'and is back once registered again');
close_session($session);

# Reading takes no transaction ID on the primary either.
is($primary->safe_psql('postgres', "BEGIN; SELECT kiln_register('other(a i8)') = '' ; SELECT pg_current_xact_id_if_assigned() IS NULL; COMMIT"),
	"f\nt", 'kiln_register of a registered definition takes no transaction ID');

# Text and binary output of everything, and a read-only transaction.
for my $format ('text', 'binary')
{
	my @rows = map { scalar $_->safe_psql('postgres', "COPY (SELECT n, m, later FROM aaa.events ORDER BY n) TO STDOUT WITH (FORMAT $format)") } $standby, $primary;

	cmp_ok(length $rows[0], '>', 30000, "the standby's rows in $format");
	ok($rows[0] eq $rows[1], "are the primary's");
}
is($standby->safe_psql('postgres', 'BEGIN READ ONLY; SELECT kiln_verify(t), kiln_at(t, 20000) FROM aaa.everything WHERE n = 3; COMMIT'), 't|20000',
	'a value out of line');

# Promoted, it registers and writes.
$standby->promote;
is($standby->safe_psql('postgres', q{SELECT kiln_register('promoted(a i8)') = kiln_hash(kiln_encode('promoted(a i8)', '{"a": 1}'::text))}), 't', 'once promoted it registers');
is($standby->safe_psql('postgres', q{INSERT INTO others VALUES ('{"$kiln": "promoted", "a": 6}'), ('{"$kiln": "other", "a": 7}'); SELECT string_agg(kiln_get(v, 'a'), ' ') FROM others}),
	'5 6 7', 'and writes');
is(fingerprint($standby, 'postgres') =~ s/^schemas.*\n//mr, fingerprint($primary, 'postgres') =~ s/^schemas.*\n//mr, 'and has everything');

$standby->stop;
$primary->stop;
done_testing();
