# pg_upgrade --link from this version to itself: definitions, columns, constraints and indexes come along.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $old = start_node('old');
my $programs = $old->config_data('--bindir');
plan skip_all => 'no pg_upgrade' unless -x "$programs/pg_upgrade";

my $new = new_node('new');

fill_database($old, 'postgres');
my $before = fingerprint($old, 'postgres');
note $before;
$old->stop;

# It writes into the folder it is run in.
my $folder = PostgreSQL::Test::Utils::tempdir();
chdir $folder or die "$folder: $!";
my $upgraded = run_log([
	'pg_upgrade', '--link', '--no-sync', '-d', $old->data_dir, '-D', $new->data_dir, '-b', $programs, '-B', $programs,
	'-s', $new->host, '-p', $old->port, '-P', $new->port ]);
ok($upgraded, 'pg_upgrade --link');
unless ($upgraded)
{
	diag slurp_file($_) for grep { -f } glob("$folder/*.log $folder/*/*.log " . $new->data_dir . '/pg_upgrade_output.d/*/log/*.log');
	done_testing();
	exit;
}

$new->start;
is(fingerprint($new, 'postgres'), $before, 'everything is there');
$new->safe_psql('postgres', 'VACUUM FULL aaa.events; REINDEX TABLE aaa.events');
is(fingerprint($new, 'postgres'), $before, 'also after a rewrite and a REINDEX');

$new->stop;
done_testing();
