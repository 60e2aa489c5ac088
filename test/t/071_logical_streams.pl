# Logical replication while definitions come and go: registered between the rows that need them, copied at the start of a subscription,
# rows without a key, values out of line that an update leaves alone, a subscriber without the extension; and what a decoding plugin
# that knows nothing of kiln shows.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $publisher = start_node('publisher', "wal_level = logical\nmax_wal_senders = 30\nmax_replication_slots = 30\n", allows_streaming => 'logical');
my $subscriber = start_node('subscriber', "wal_retrieve_retry_interval = 200ms\nmax_replication_slots = 30\nmax_logical_replication_workers = 20\nmax_worker_processes = 30\n", allows_streaming => 'logical');
my $from = $publisher->connstr . ' dbname=postgres';

# A subscription and each table that it copies take an origin, of which 18 has a number of its own.
if ($subscriber->safe_psql('postgres', 'SHOW server_version_num') >= 180000)
{
	$subscriber->append_conf('postgresql.conf', 'max_active_replication_origins = 30');
	$subscriber->restart;
}

$_->safe_psql('postgres', 'CREATE EXTENSION kiln') for $publisher, $subscriber;

sub both
{
	my ($sql) = @_;

	$_->safe_psql('postgres', $sql) for $publisher, $subscriber;
	return;
}

# A subscription to one table, which is made on both sides; options as in WITH.
sub subscribe
{
	my ($table, $columns, $options) = @_;

	both("CREATE TABLE $table ($columns)");
	$publisher->safe_psql('postgres', "CREATE PUBLICATION $table FOR TABLE $table");
	$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION $table CONNECTION '$from' PUBLICATION $table WITH ($options)");
	$subscriber->wait_for_subscription_sync;
	return;
}

# Both tables hold the same rows and all can be read. Those that came unverified stay so, and are the same values.
sub is_same
{
	my ($table, $test) = @_;
	my $contents = qq{SELECT count(*), md5(string_agg((to_jsonb(t) || jsonb_build_object('definition', kiln_definition(m)))::text, ' ' ORDER BY n)),
		md5(string_agg(substr(kiln_frame(kiln_intern(kiln_portable(m))), 2)::text, ' ' ORDER BY n)) FROM $table t};

	$publisher->wait_for_catchup($table);
	is($subscriber->safe_psql('postgres', $contents), $publisher->safe_psql('postgres', $contents), $test);
	return;
}

# How many values of the subscriber's table wait to be verified?
sub unverified
{
	my ($table) = @_;

	return $subscriber->safe_psql('postgres', "SELECT count(*) FROM $table WHERE get_byte(kiln_frame(m), 0) = 20");
}

# Wait until the subscriber's log says, from a place on, that a definition is missing.
sub wait_for_complaint
{
	my ($hash, $place, $test) = @_;

	ok($subscriber->poll_query_until('postgres', "SELECT pg_read_file('" . $subscriber->logfile . "', $place, 10000000) ~ '$hash is not registered'"), $test);
	return;
}

# ---- definitions registered between the rows, and in their transaction

for my $binary ('false', 'true')
{
	my $table = "stream_$binary";
	my $way = $binary eq 'true' ? 'binary' : 'text';
	my @versions = map { "$table(id i64,name string" . join('', map { ",f$_ i32?" } 1 .. $_) . ')' } 0 .. 3;

	subscribe($table, "n int PRIMARY KEY, m kiln", "binary = $binary, copy_data = false");
	$subscriber->safe_psql('postgres', "SELECT kiln_register('$versions[0]'), kiln_register('$versions[1]'), kiln_register('$versions[3]')");
	my $place = -s $subscriber->logfile;
	$publisher->safe_psql('postgres', <<"SQL");
SELECT kiln_register('$versions[0]');
INSERT INTO $table SELECT i, kiln_encode('$table', jsonb_build_object('id', i, 'name', 'zero')) FROM generate_series(1, 10) i;
BEGIN;
INSERT INTO $table SELECT i, kiln_encode('$table', jsonb_build_object('id', i, 'name', 'still zero')) FROM generate_series(11, 20) i;
SELECT kiln_register('$versions[1]');
INSERT INTO $table SELECT i, kiln_encode('$table', jsonb_build_object('id', i, 'name', 'one', 'f1', i)) FROM generate_series(21, 30) i;
SAVEPOINT here;
SELECT kiln_register('$versions[3]');
INSERT INTO $table SELECT i, kiln_encode('$table', jsonb_build_object('id', i, 'name', 'three, lost', 'f3', i)) FROM generate_series(31, 40) i;
ROLLBACK TO SAVEPOINT here;
INSERT INTO $table SELECT i, kiln_encode('$table', jsonb_build_object('id', i, 'name', 'one again', 'f1', i)) FROM generate_series(31, 40) i;
COMMIT;
SQL
	is_same($table, "$way: definitions registered before and amid the rows of a transaction");
	is(unverified($table), 0, "$way: all were verified on arrival");

	my $hash = $publisher->safe_psql('postgres', "SELECT kiln_register('$versions[2]')");
	$publisher->safe_psql('postgres', <<"SQL");
INSERT INTO $table SELECT i, kiln_encode('$table', jsonb_build_object('id', i, 'name', 'two', 'f2', i)) FROM generate_series(41, 50) i;
UPDATE $table SET m = kiln_upgrade(m) WHERE n <= 5;
SQL
	if ($binary eq 'true')
	{
		$publisher->wait_for_catchup($table);
		is(unverified($table), 15, 'binary: rows of a definition that is missing wait to be read');

		# Updates and deletes find these rows by their key.
		$publisher->safe_psql('postgres', "UPDATE $table SET n = n + 1000 WHERE n IN (1, 50); DELETE FROM $table WHERE n IN (2, 49)");
		$publisher->wait_for_catchup($table);
		is($subscriber->safe_psql('postgres', "SELECT string_agg(n::text, ' ' ORDER BY n) FROM $table WHERE n IN (1, 2, 49, 50, 1001, 1050)"),
			'1001 1050', 'binary: and can be updated and deleted');
	}
	else
	{
		wait_for_complaint($hash, $place, 'text: rows of a definition that is missing are waited for');
		is($subscriber->safe_psql('postgres', "SELECT count(*) FROM $table"), 40, 'text: what came before is there');
	}
	$subscriber->safe_psql('postgres', "SELECT kiln_register('$versions[2]')");
	is_same($table, "$way: once it is registered both are the same");

	# Forgotten at the publisher and registered once more, under another number of a version.
	$publisher->safe_psql('postgres', <<"SQL");
SELECT kiln_forget('$table');
SELECT kiln_register('$versions[2]');
INSERT INTO $table SELECT i, kiln_encode('$table', jsonb_build_object('id', i, 'name', 'two', 'f2', i)) FROM generate_series(51, 60) i;
SELECT kiln_register('$versions[0]'), kiln_register('$versions[1]');
SQL
	is_same($table, "$way: after all were forgotten and registered again");
}

# ---- rows that are copied when a subscription begins

$publisher->safe_psql('postgres', "CREATE TABLE copied (n int PRIMARY KEY, m kiln); CREATE PUBLICATION copied FOR TABLE copied;");
my $copied_hash = $publisher->safe_psql('postgres', "SELECT kiln_register('copied(id i64,tags string[])')");
$publisher->safe_psql('postgres', "INSERT INTO copied SELECT i, kiln_encode('copied', jsonb_build_object('id', i, 'tags', array['a', 'b'])) FROM generate_series(1, 1000) i");
$subscriber->safe_psql('postgres', 'CREATE TABLE copied (n int PRIMARY KEY, m kiln)');
my $copied_place = -s $subscriber->logfile;
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION copied CONNECTION '$from' PUBLICATION copied");
wait_for_complaint($copied_hash, $copied_place, 'copy: waits for the definition, too');
is($subscriber->safe_psql('postgres', 'SELECT count(*) FROM copied'), 0, 'copy: and has nothing by halves');
$subscriber->safe_psql('postgres', $publisher->safe_psql('postgres', "SELECT s FROM kiln_dump_schemas() s WHERE s LIKE '%$copied_hash%'"));
$subscriber->wait_for_subscription_sync;
is_same('copied', 'copy: done once the definition is there');

# ---- rows without a key are found by equality, whatever the frame at either side

for my $binary ('false', 'true')
{
	my $table = "full_$binary";
	my $way = $binary eq 'true' ? 'binary' : 'text';
	my $definition = "$table(id i64,name string,score f64?)";

	subscribe($table, 'n int, m kiln', "binary = $binary, copy_data = false");
	both("ALTER TABLE $table REPLICA IDENTITY FULL");
	$publisher->safe_psql('postgres', "SELECT kiln_register('$definition')");
	$subscriber->safe_psql('postgres', "SELECT kiln_register('$definition')") if $binary eq 'false';
	$publisher->safe_psql('postgres', <<"SQL");
INSERT INTO $table SELECT i, kiln_encode('$table', jsonb_build_object('id', i, 'name', 'row ' || i, 'score', i / 3.0::float8)) FROM generate_series(1, 100) i;
INSERT INTO $table SELECT i, kiln_encode('(id i64,name string)', jsonb_build_object('id', i, 'name', 'inline ' || i)) FROM generate_series(101, 150) i;
INSERT INTO $table VALUES (200, '42'), (201, '"x"'), (202, kiln_tensor('{1,2,3}'::int4[])), (203, '-0.0'), (204, 'null');
SQL
	$publisher->wait_for_catchup($table);

	# In binary both the rows and what they are compared with are unverified so far: no definition is asked for.
	is(unverified($table), $binary eq 'true' ? 100 : 0, "$way: the rows have come");
	$publisher->safe_psql('postgres', <<"SQL");
UPDATE $table SET n = n + 1000 WHERE n % 10 = 1;
UPDATE $table SET m = kiln_set(m, 'name', 'changed'::text) WHERE n BETWEEN 30 AND 40 OR n BETWEEN 130 AND 140;
DELETE FROM $table WHERE n BETWEEN 50 AND 60 OR n BETWEEN 142 AND 145 OR n = 202;
SQL
	$publisher->wait_for_catchup($table);
	my $numbers = "SELECT count(*), sum(n) FROM $table";
	is($subscriber->safe_psql('postgres', $numbers), $publisher->safe_psql('postgres', $numbers), "$way: updates and deletes found their rows");

	# From here on what comes is verified, and what it is compared with may not be.
	$subscriber->safe_psql('postgres', "SELECT kiln_register('$definition')");
	is_same($table, "$way: both are the same");
	$publisher->safe_psql('postgres', <<"SQL");
UPDATE $table SET m = kiln_set(m, 'name', 'once more'::text) WHERE n BETWEEN 62 AND 80;
UPDATE $table SET m = kiln_portable(m) WHERE n BETWEEN 81 AND 90;
UPDATE $table SET n = n + 5000 WHERE n BETWEEN 62 AND 90;
DELETE FROM $table WHERE n BETWEEN 5075 AND 5085 OR n BETWEEN 91 AND 93 OR n > 202 AND n < 1000;
SQL
	is_same($table, "$way: also once the definition is there");
}

# ---- values out of line that an update does not touch

for my $binary ('false', 'true')
{
	my $way = $binary eq 'true' ? 'binary' : 'text';

	for my $identity ('DEFAULT', 'FULL')
	{
		my $table = lc "toast_${binary}_$identity";
		my $definition = "$table(id i64,name string,data f64[])";

		subscribe($table, 'n int PRIMARY KEY, k int DEFAULT 0, m kiln', "binary = $binary, copy_data = false");
		both("ALTER TABLE $table REPLICA IDENTITY $identity");
		$publisher->safe_psql('postgres', "SELECT kiln_register('$definition')");
		$subscriber->safe_psql('postgres', "SELECT kiln_register('$definition')") if $binary eq 'false';
		$publisher->safe_psql('postgres', <<"SQL");
INSERT INTO $table (n, m)
	SELECT i, kiln_encode('$table', r) FROM generate_series(1, 20) i,
		LATERAL (SELECT i AS id, 'large ' || i AS name, array_agg(x / 7.0::float8) AS data FROM generate_series(1, 3000 + i) x) r;
UPDATE $table SET k = n * 10 WHERE n <= 10;
SQL
		is($publisher->safe_psql('postgres', "SELECT pg_relation_size(reltoastrelid) > 400000 FROM pg_class WHERE relname = '$table'"), 't',
			"$way, identity $identity: the values are out of line");
		$publisher->wait_for_catchup($table);
		is(unverified($table), $binary eq 'true' ? 20 : 0, "$way, identity $identity: they came as they had to");
		is($subscriber->safe_psql('postgres', "SELECT sum(k), min(octet_length(kiln_frame(m))) > 24000 FROM $table"), '550|t',
			"$way, identity $identity: an update of another column leaves them whole");
		$subscriber->safe_psql('postgres', "SELECT kiln_register('$definition')");
		$publisher->safe_psql('postgres', <<"SQL");
UPDATE $table SET k = n * 100 WHERE n BETWEEN 5 AND 15;
UPDATE $table SET m = kiln_set(m, 'name', 'changed'::text) WHERE n BETWEEN 8 AND 12;
DELETE FROM $table WHERE n IN (10, 19);
SQL
		is_same($table, "$way, identity $identity: both are the same");
	}
}

# ---- a subscriber that has no kiln at all: the text form is JSON

$subscriber->safe_psql('postgres', 'CREATE DATABASE bare');
$publisher->safe_psql('postgres', <<"SQL");
CREATE TABLE bare (n int PRIMARY KEY, m kiln, j kiln, t kiln);
CREATE PUBLICATION bare FOR TABLE bare;
SELECT kiln_register('bare(id i64,name string)');
INSERT INTO bare SELECT i, v, v, v FROM generate_series(1, 20) i, LATERAL kiln_encode('bare', jsonb_build_object('id', i, 'name', 'row ' || i)) v;
SQL
$subscriber->safe_psql('bare', "CREATE TABLE bare (n int PRIMARY KEY, m text, j jsonb, t varchar)");
$subscriber->safe_psql('bare', "CREATE SUBSCRIPTION bare CONNECTION '$from' PUBLICATION bare");
$subscriber->wait_for_subscription_sync($publisher, 'bare', 'bare');
$publisher->safe_psql('postgres', "UPDATE bare SET m = kiln_set(m, 'id', n + 100) WHERE n <= 10; INSERT INTO bare VALUES (100, '42', 'null', kiln_tensor('{1,2}'::int4[]))");
$publisher->wait_for_catchup('bare');
is($subscriber->safe_psql('bare', q{SELECT count(*), md5(string_agg(m || t, ' ' ORDER BY n)) FROM bare}),
	$publisher->safe_psql('postgres', q{SELECT count(*), md5(string_agg(m::text || t::text, ' ' ORDER BY n)) FROM bare}),
	'no kiln: columns of text take the text form');
is($subscriber->safe_psql('bare', q{SELECT md5(string_agg((j - '$kiln')::text, ' ' ORDER BY n)) FROM bare WHERE n < 100}),
	$publisher->safe_psql('postgres', q{SELECT md5(string_agg(j::jsonb::text, ' ' ORDER BY n)) FROM bare WHERE n < 100}),
	'no kiln: a column of jsonb takes it as JSON');
$subscriber->safe_psql('bare', 'DROP SUBSCRIPTION bare');

# ---- a plugin that prints text: it reads back as what it was, by the catalog as it was

SKIP:
{
	skip 'no test_decoding', 6 unless $publisher->config_data('--pkglibdir') && -e $publisher->config_data('--pkglibdir') . '/test_decoding.so';

	$publisher->safe_psql('postgres', <<'SQL');
CREATE TABLE decoded (n int PRIMARY KEY, k int, m kiln);
ALTER TABLE decoded REPLICA IDENTITY FULL;
CREATE TABLE changes (n serial, what text, k int, frame text);
CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP <> 'INSERT' THEN
		INSERT INTO changes (what, frame) VALUES (TG_OP || ' old', encode(kiln_frame(OLD.m), 'hex'));
	END IF;
	IF TG_OP <> 'DELETE' THEN
		INSERT INTO changes (what, frame) VALUES (TG_OP || ' new', encode(kiln_frame(NEW.m), 'hex'));
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE ON decoded FOR EACH ROW EXECUTE FUNCTION note_change();
SELECT slot_name FROM pg_create_logical_replication_slot('decoded', 'test_decoding');

-- Registered in the transaction that inserts; another one comes after; at last all are forgotten before anything is decoded.
BEGIN;
SELECT kiln_register('decoded(id i64,name string)');
INSERT INTO decoded SELECT i, i, kiln_encode('decoded', jsonb_build_object('id', i, 'name', 'it''s "' || i || '" \ ' || chr(233))) FROM generate_series(1, 20) i;
COMMIT;
SELECT kiln_register('decoded(id i64,name string,data f64[]?)');
INSERT INTO decoded SELECT 100, 0, kiln_encode('decoded', r) FROM (SELECT 1 AS id, 'large' AS name, array_agg(x / 7.0::float8) AS data FROM generate_series(1, 3000) x) r;
INSERT INTO decoded VALUES (101, 0, '42'), (102, 0, '{"$kiln": "(a string)", "a": "it''s"}'), (103, 0, kiln_tensor('{1,2}'::int4[]));
UPDATE decoded SET m = kiln_set(m, 'name', 'changed'::text) WHERE n < 5;
UPDATE decoded SET k = k + 1 WHERE n BETWEEN 5 AND 10 OR n > 99;
DELETE FROM decoded WHERE n IN (7, 101);
SELECT kiln_forget('decoded');
SQL
	my $decoded = $publisher->safe_psql('postgres', "SELECT data FROM pg_logical_slot_get_changes('decoded', NULL, NULL) WHERE data LIKE 'table public.decoded:%'");
	my @lines = split /\n/, $decoded;
	my %count;
	$count{$_}++ for map { /^table public\.decoded: (\w+):/ } @lines;
	is_deeply(\%count, { INSERT => 24, UPDATE => 14, DELETE => 2 }, 'test_decoding: all changes are there, though the definitions were forgotten since');
	unlike($decoded, qr/"\$base64"|"\$unverified"/, 'each in its text form');

	my $text = qr/m\[(?:public\.)?kiln\]:('(?:[^']|'')*')/;
	my @texts;
	for (@lines)
	{
		my ($what) = /^table public\.decoded: (\w+):/;

		if ($what eq 'UPDATE')
		{
			# The new tuple does not repeat a value out of line that stays.
			my ($old, $new) = /old-key: .*?$text new-tuple: .*?(?:$text|:unchanged-toast-datum)$/;

			push @texts, [ 'UPDATE old', $old ], [ 'UPDATE new', $new // $old ];
		}
		else
		{
			push @texts, [ $what eq 'INSERT' ? 'INSERT new' : 'DELETE old', /$text$/ ];
		}
	}
	is(scalar(grep { !defined $_->[1] } @texts), 0, 'test_decoding: every line has its values');
	$publisher->safe_psql('postgres', "SELECT kiln_register('decoded(id i64,name string)'), kiln_register('decoded(id i64,name string,data f64[]?)')");
	my $read = $publisher->safe_psql('postgres', join '', map { "SELECT '$_->[0]', encode(kiln_frame($_->[1]), 'hex');\n" } @texts);
	is($read, $publisher->safe_psql('postgres', 'SELECT what, frame FROM changes ORDER BY n'), 'test_decoding: each reads back as the same bytes');

	# Without the old row, an update leaves a value out of line unmentioned.
	$publisher->safe_psql('postgres', 'ALTER TABLE decoded REPLICA IDENTITY DEFAULT; UPDATE decoded SET k = 1000 WHERE n = 100');
	like($publisher->safe_psql('postgres', "SELECT data FROM pg_logical_slot_get_changes('decoded', NULL, NULL) WHERE data LIKE 'table public.decoded: UPDATE%'"),
		qr/m\[(public\.)?kiln\]:unchanged-toast-datum$/, 'test_decoding: what is unchanged and out of line is left out');
	is($publisher->safe_psql('postgres', "SELECT kiln_verify(m), kiln_get_float8(m, 'data[2999]') = 3000 / 7.0::float8 FROM decoded WHERE n = 100"), 't|t', 'and is whole');
	$publisher->safe_psql('postgres', "SELECT pg_drop_replication_slot('decoded')");
}

$subscriber->stop;
$publisher->stop;
done_testing();
