# Dump and restore by the owner of a trusted install, who is no superuser: every format, whole and by parts, in the order of the dump
# and in others. What is restored is what was there, to the byte.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use List::Util 'shuffle';
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('main');
my $folder = PostgreSQL::Test::Utils::tempdir();
my @owner = (extra_params => [ '-U', 'kiln_owner' ]);

$node->safe_psql('postgres', 'CREATE ROLE kiln_owner LOGIN NOSUPERUSER');
new_database('source');
fill_database($node, 'source', @owner);
my $before = fingerprint($node, 'source', @owner);
note $before;
like($before, qr/^events\|601\|/m, 'the source is filled');
is($node->safe_psql('source', q{SELECT rolname FROM pg_foreign_server s JOIN pg_roles r ON r.oid = srvowner GROUP BY 1}),
	'kiln_owner', "definitions belong to the extension's owner");

sub new_database
{
	my ($database) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $database OWNER kiln_owner TEMPLATE template0");
	return;
}

# Dump the source to a file or folder of that name.
sub dump_source
{
	my ($file, @options) = @_;

	$node->command_ok([ 'pg_dump', '-U', 'kiln_owner', '-f', "$folder/$file", @options, 'source' ], "dump: $file");
	return;
}

# Restore such a file into a database; any error fails. Plain ones by psql, all others by pg_restore.
sub restore
{
	my ($database, $file, @options) = @_;
	my @program = $file =~ /\.sql$/
		? ('psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', @options, '-f', "$folder/$file")
		: ('pg_restore', '-e', @options, "$folder/$file");

	$node->command_ok([ @program, '-U', 'kiln_owner', '-d', $database ], join ' ', "$database: restore,", @options, $file);
	return;
}

# What a program says, which succeeds.
sub output_of
{
	my ($command) = @_;
	my ($out, $error) = PostgreSQL::Test::Utils::run_command($command);

	is($error, '', "@$command[0, 1]: no error");
	return "$out\n";
}

# What the database holds is what the source holds. It is not needed again.
sub is_whole
{
	my ($database) = @_;

	is(fingerprint($node, $database, @owner), $before, "$database: everything is there");
	$node->safe_psql('postgres', "DROP DATABASE $database");
	return;
}

# ---- each format, whole

dump_source('plain.sql');
new_database('plain');
restore('plain', 'plain.sql');

# A dump of a restored database is the same dump.
$node->command_ok([ 'pg_dump', '-U', 'kiln_owner', '-f', "$folder/again.sql", 'plain' ], 'dump of the restored database');
my ($first, $second) = map { join '', grep { !/^\\(un)?restrict / } split /^/, slurp_file("$folder/$_") } 'plain.sql', 'again.sql';
is($second, $first, 'and it is the same dump');
is_whole('plain');

dump_source('folder', '-Fd', '-j', '4');
new_database('folder');
restore('folder', 'folder', '-j', '4');
is_whole('folder');

dump_source('custom', '-Fc');
for my $options ([], [ '-1' ], [ '-j', '4' ])
{
	new_database('custom');
	restore('custom', 'custom', @$options);
	is_whole('custom');
}

dump_source('archive.tar', '-Ft');
new_database('tar');
restore('tar', 'archive.tar');
is_whole('tar');

# As INSERT statements, whose literals come to the column by another way than COPY's.
dump_source('inserts.sql', '--inserts', '--load-via-partition-root');
dump_source('column_inserts.sql', '--column-inserts', '--rows-per-insert=50');
for my $file (qw(inserts.sql column_inserts.sql))
{
	new_database('inserts');
	restore('inserts', $file);
	is_whole('inserts');
}

# Over what is there already.
new_database('over');
restore('over', 'plain.sql');
restore('over', 'custom', '--clean', '--if-exists');
is_whole('over');

# ---- by parts

my @sections = qw(pre-data data post-data);
new_database('sections');
restore('sections', 'custom', "--section=$_") for @sections;
is_whole('sections');

dump_source("$_.sql", "--section=$_") for @sections;
new_database('section_dumps');
restore('section_dumps', "$_.sql") for @sections;
is_whole('section_dumps');

# All of the schema, with its constraints, indexes and foreign keys, and then the rows.
dump_source('schema.sql', '--schema-only');
dump_source('data.sql', '--data-only');
dump_source('data', '--data-only', '-Fc');
for my $file (qw(data.sql data))
{
	new_database('data_only');
	restore('data_only', 'schema.sql');
	is($node->safe_psql('data_only', 'SELECT count(*) FROM aaa.events', @owner), 0, 'data_only: the schema alone');
	restore('data_only', $file);
	$node->safe_psql('data_only', 'REFRESH MATERIALIZED VIEW aaa.kept', @owner);
	is_whole('data_only');
}

# ---- rows, and what comes after them, in other orders: nothing waits for the rows of another table

my $orders = $ENV{KILN_ORDERS} || 4;
my $list = output_of([ 'pg_restore', '-l', "$folder/custom" ]);
my @rows = $list =~ /^(\d+; .* TABLE DATA .*\n)/mg;
my @indexes = grep { !/ INDEX ATTACH / } $list =~ /^(\d+; .* INDEX .*\n)/mg;
cmp_ok(@rows, '>=', 14, 'the list has rows of many tables');
cmp_ok(@indexes, '>=', 5, 'and indexes');
for my $order (1 .. $orders)
{
	my %in_place_of;

	srand($order);
	for my $lines (\@rows, \@indexes)
	{
		my @others = $order == 1 ? reverse @$lines : shuffle @$lines;

		@in_place_of{@$lines} = @others;
	}

	unlink "$folder/list";
	append_to_file("$folder/list", join '', map { $in_place_of{$_} // $_ } split /^/, $list);
	new_database("order_$order");
	restore("order_$order", 'custom', '-L', "$folder/list");
	is_whole("order_$order");
}

# ---- one table

# Without the definitions it is refused with the way out in a hint; with them it goes in.
my $content = 'SELECT count(*), md5(string_agg(m::text, $$ $$ ORDER BY n)) FROM aaa.parts_1';
my $parent = 'CREATE TABLE aaa.parts (n int, m kiln(event)) PARTITION BY RANGE (n)';
dump_source('table.sql', '-t', 'aaa.parts_1');
new_database('one');
$node->safe_psql('one', "CREATE EXTENSION kiln; CREATE SCHEMA aaa; $parent", @owner);
my ($status, $out, $error) = $node->psql('one', slurp_file("$folder/table.sql"), on_error_stop => 1, @owner);
isnt($status, 0, 'one table: without the definitions it is refused');
like($error, qr/kiln_dump_schemas/, 'with a hint at kiln_dump_schemas()');
$node->safe_psql('one', "DROP TABLE aaa.parts, aaa.parts_1; $parent", @owner);
$node->safe_psql('one', $node->safe_psql('source', 'SELECT * FROM kiln_dump_schemas()', @owner), @owner);
restore('one', 'table.sql');
is($node->safe_psql('one', $content, @owner), $node->safe_psql('source', $content, @owner), 'one table: with them it is restored');
$node->safe_psql('one', 'DROP TABLE aaa.parts_1', @owner);
restore('one', 'custom', '-n', 'aaa', '-t', 'parts_1');
is($node->safe_psql('one', $content, @owner), $node->safe_psql('source', $content, @owner), 'one table: also out of a dump of everything');

# ---- portable values: rows that carry their definitions into a database that knows none

my $digest = q{SELECT count(*), md5(string_agg(m::jsonb::text || kiln_schema(m) || kiln_get(m, 'name'), ' ' ORDER BY n)), sum(kiln_get_int8(m, 'id'))};
new_database('stranger');
$node->safe_psql('stranger', 'CREATE EXTENSION kiln', @owner);
$node->safe_psql('source', 'CREATE TABLE aaa.portable AS SELECT n, kiln_portable(m) AS m FROM aaa.events', @owner);
for my $format ('text', 'csv', 'binary')
{
	$node->safe_psql('source', "\\copy aaa.portable TO '$folder/rows' ($format)" =~ s/\(/WITH (FORMAT /r, @owner);
	$node->safe_psql('stranger', "CREATE TABLE rows (n int, m kiln)", @owner);
	$node->safe_psql('stranger', "\\copy rows FROM '$folder/rows' ($format)" =~ s/\(/WITH (FORMAT /r, @owner);
	is($node->safe_psql('stranger', "$digest FROM rows", @owner), $node->safe_psql('source', "$digest FROM aaa.events", @owner),
		"portable, $format: everything is there");
	is($node->safe_psql('stranger', 'SELECT count(*) FILTER (WHERE kiln_verify(m)), (SELECT count(*) FROM kiln_schemas) FROM rows', @owner),
		'601|0', 'and sound, without a definition in the catalog');
	$node->safe_psql('stranger', 'DROP TABLE rows', @owner);
}
$node->command_ok([ 'pg_dump', '-U', 'kiln_owner', '-f', "$folder/portable.sql", '-t', 'aaa.portable', 'source' ], 'portable: dump of their table');
$node->safe_psql('stranger', 'CREATE SCHEMA aaa', @owner);
restore('stranger', 'portable.sql');
is($node->safe_psql('stranger', "$digest FROM aaa.portable", @owner), $node->safe_psql('source', "$digest FROM aaa.events", @owner),
	'portable: everything is there');

# Once the definitions have come they are what they were before they were made portable.
my $frames = 'SELECT md5(string_agg(kiln_frame(%s)::text, $$ $$ ORDER BY n)) FROM %s';
$node->safe_psql('stranger', $node->safe_psql('source', 'SELECT * FROM kiln_dump_schemas()', @owner), @owner);
is($node->safe_psql('stranger', sprintf($frames, 'kiln_intern(m)', 'aaa.portable'), @owner),
	$node->safe_psql('source', sprintf($frames, 'm', 'aaa.events'), @owner), 'portable: interned, the same bytes as at first');

$node->stop;
done_testing();
