# Logical replication into a database that lacks the definition: in binary the rows are kept and wait to be read, in text the apply
# worker waits. Both are whole once the definition is registered.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $publisher = start_node('publisher', "wal_level = logical\n", allows_streaming => 'logical');
my $subscriber = start_node('subscriber', "wal_retrieve_retry_interval = 200ms\n", allows_streaming => 'logical');
my $from = $publisher->connstr . ' dbname=postgres';

$publisher->safe_psql('postgres', "CREATE EXTENSION kiln; SELECT kiln_register('$EVENT_1')");
$subscriber->safe_psql('postgres', 'CREATE EXTENSION kiln');

sub contents
{
	my ($node, $table) = @_;

	return $node->safe_psql('postgres', "SELECT count(*), md5(string_agg(n || m::text, E'\\n' ORDER BY n)) FROM $table");
}

# ---- binary

my $row = q{kiln_encode('event', jsonb_build_object('id', i, 'name', 'event ' || i, 'score', i / 3.0::float8))};
$_->safe_psql('postgres', 'CREATE TABLE in_binary (n int PRIMARY KEY, m kiln(event))') for $publisher, $subscriber;
$publisher->safe_psql('postgres', 'CREATE PUBLICATION in_binary FOR TABLE in_binary');
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION in_binary CONNECTION '$from' PUBLICATION in_binary WITH (binary = true, copy_data = false)");
$subscriber->wait_for_subscription_sync;
$publisher->safe_psql('postgres', "INSERT INTO in_binary SELECT i, $row FROM generate_series(1, 100) i; UPDATE in_binary SET n = n + 1000 WHERE n <= 10");
$publisher->wait_for_catchup('in_binary');

is($subscriber->safe_psql('postgres', q{SELECT count(*), string_agg(DISTINCT encode(substr(kiln_frame(m), 1, 1), 'hex'), ' ') FROM in_binary}),
	'100|14', 'binary: all rows came, unverified');
like($subscriber->safe_psql('postgres', 'SELECT m FROM in_binary WHERE n = 50'), qr/"\$unverified": true, "\$base64"/, 'and print as such');
my ($status, $out, $error) = $subscriber->psql('postgres', "\\set VERBOSITY verbose\nSELECT kiln_get(m, 'name') FROM in_binary WHERE n = 50");
like($error, qr/42704/, 'reading one says that its definition is missing');
my $hash = $publisher->safe_psql('postgres', "SELECT kiln_register('$EVENT_1')");
like($error, qr/$hash/, 'and which');

$subscriber->safe_psql('postgres', "SELECT kiln_register('$EVENT_1')");
is($subscriber->safe_psql('postgres', q{SELECT kiln_get(m, 'name') FROM in_binary WHERE n = 50}), 'event 50', 'once registered they can be read');
my $same = q{SELECT count(*), md5(string_agg(m::jsonb::text, ' ' ORDER BY n)), sum(kiln_get_int8(m, 'id')) FROM in_binary};
is($subscriber->safe_psql('postgres', $same), $publisher->safe_psql('postgres', $same), 'and are what the publisher has');
$publisher->safe_psql('postgres', "INSERT INTO in_binary SELECT i, $row FROM generate_series(101, 200) i; DELETE FROM in_binary WHERE n = 50");
$publisher->wait_for_catchup('in_binary');
is($subscriber->safe_psql('postgres', q{SELECT DISTINCT encode(substr(kiln_frame(m), 1, 1), 'hex') FROM in_binary WHERE n BETWEEN 101 AND 200}), '11',
	'what comes after that is verified on arrival');
is($subscriber->safe_psql('postgres', $same), $publisher->safe_psql('postgres', $same), 'both have the same rows');

# ---- text, with a definition that the subscriber lacks

$publisher->safe_psql('postgres', "SELECT kiln_register('$EVENT_2')");
$row =~ s/'score'/'tags', array['a', 'b'], 'score'/;
$_->safe_psql('postgres', 'CREATE TABLE in_text (n int, m kiln(event)); ALTER TABLE in_text REPLICA IDENTITY FULL') for $publisher, $subscriber;
$publisher->safe_psql('postgres', 'CREATE PUBLICATION in_text FOR TABLE in_text');
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION in_text CONNECTION '$from' PUBLICATION in_text");
$subscriber->wait_for_subscription_sync;

my $place = -s $subscriber->logfile;
$publisher->safe_psql('postgres', "INSERT INTO in_text SELECT i, $row FROM generate_series(1, 100) i");
my $hash_2 = $publisher->safe_psql('postgres', "SELECT kiln_register('$EVENT_2')");
ok($subscriber->poll_query_until('postgres', "SELECT pg_read_file('" . $subscriber->logfile . "', $place, 1000000) ~ '$hash_2'"),
	'text: the log says which definition is missing');
is($subscriber->safe_psql('postgres', 'SELECT count(*) FROM in_text'), 0, 'and the worker waits');
like(slurp_file($subscriber->logfile, $place), qr/HINT:/, 'with a hint');

$subscriber->safe_psql('postgres', "SELECT kiln_register('$EVENT_2')");
$publisher->wait_for_catchup('in_text');
is(contents($subscriber, 'in_text'), contents($publisher, 'in_text'), 'once registered, all rows come');

# Rows without a key are found by equality.
$publisher->safe_psql('postgres', "UPDATE in_text SET n = n + 1000 WHERE n <= 10; DELETE FROM in_text WHERE n > 95 AND n <= 100");
$publisher->wait_for_catchup('in_text');
is(contents($subscriber, 'in_text'), contents($publisher, 'in_text'), 'updates and deletes find their rows');

$subscriber->stop;
$publisher->stop;
done_testing();
