# Dump and restore by the owner of a trusted install, who is no superuser: plain and as a directory with four jobs.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('main');
my $folder = PostgreSQL::Test::Utils::tempdir();
my @owner = (extra_params => [ '-U', 'kiln_owner' ]);

$node->safe_psql('postgres', 'CREATE ROLE kiln_owner LOGIN NOSUPERUSER');
$node->safe_psql('postgres', "CREATE DATABASE $_ OWNER kiln_owner TEMPLATE template0") for qw(source plain folder again);

fill_database($node, 'source', @owner);
my $before = fingerprint($node, 'source', @owner);
note $before;
like($before, qr/^events\|601\|/m, 'the source is filled');
is($node->safe_psql('source', q{SELECT rolname FROM pg_foreign_server s JOIN pg_roles r ON r.oid = srvowner GROUP BY 1}),
	'kiln_owner', "definitions belong to the extension's owner");

$node->command_ok([ 'pg_dump', '-U', 'kiln_owner', '-f', "$folder/plain.sql", 'source' ], 'plain dump');
$node->command_ok([ 'psql', '-X', '-q', '-U', 'kiln_owner', '-v', 'ON_ERROR_STOP=1', '-d', 'plain', '-f', "$folder/plain.sql" ],
	'plain restore, no error');
is(fingerprint($node, 'plain', @owner), $before, 'plain restore: everything is there');

$node->command_ok([ 'pg_dump', '-U', 'kiln_owner', '-Fd', '-j', '4', '-f', "$folder/folder", 'source' ], 'dump as a folder, four jobs');
$node->command_ok([ 'pg_restore', '-U', 'kiln_owner', '-e', '-j', '4', '-d', 'folder', "$folder/folder" ],
	'restore of a folder by four jobs, no error');
is(fingerprint($node, 'folder', @owner), $before, 'folder restore: everything is there');

# A dump of a restored database is the same dump.
$node->command_ok([ 'pg_dump', '-U', 'kiln_owner', '-f', "$folder/again.sql", 'plain' ], 'dump of the restored database');
my ($first, $second) = map { join '', grep { !/^\\(un)?restrict / } split /^/, slurp_file($_) } "$folder/plain.sql", "$folder/again.sql";
is($second, $first, 'and it is the same dump');

# Data alone, before the definitions: refused with the way out in a hint; with them it goes in.
$node->command_ok([ 'pg_dump', '-U', 'kiln_owner', '-t', 'aaa.parts_1', '-f', "$folder/table.sql", 'source' ], 'dump of one table');
$node->safe_psql('again', 'CREATE EXTENSION kiln; CREATE SCHEMA aaa; CREATE TABLE aaa.parts (n int, m kiln(event)) PARTITION BY RANGE (n)', @owner);
my ($status, $out, $error) = $node->psql('again', slurp_file("$folder/table.sql"), on_error_stop => 1, @owner);
isnt($status, 0, 'without the definitions it is refused');
like($error, qr/kiln_dump_schemas/, 'with a hint at kiln_dump_schemas()');
$node->safe_psql('again', 'DROP TABLE aaa.parts, aaa.parts_1; CREATE TABLE aaa.parts (n int, m kiln(event)) PARTITION BY RANGE (n)', @owner);
$node->safe_psql('again', $node->safe_psql('source', 'SELECT * FROM kiln_dump_schemas()', @owner), @owner);
$node->safe_psql('again', slurp_file("$folder/table.sql"), @owner);
is($node->safe_psql('again', 'SELECT count(*), md5(string_agg(m::text, $$ $$ ORDER BY n)) FROM aaa.parts_1', @owner),
	$node->safe_psql('source', 'SELECT count(*), md5(string_agg(m::text, $$ $$ ORDER BY n)) FROM aaa.parts_1', @owner),
	'with them it is restored');

$node->stop;
done_testing();
