# Dump and restore between databases of different encodings. Inside a value strings are UTF-8 whatever the encoding, so the same bytes
# come out of each; what an encoding lacks leaves it as an escape.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('main');
my $folder = PostgreSQL::Test::Utils::tempdir();
my @others = qw(latin1 euc_jp sql_ascii);

# What a database holds, in UTF8 from all of them. pg_dump is not told of it.
sub contents
{
	local $ENV{PGCLIENTENCODING} = 'UTF8';

	return fingerprint($node, $_[0]);
}

sub new_database
{
	my ($database, $encoding) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $database TEMPLATE template0 ENCODING '$encoding' LOCALE 'C'");
	return;
}

sub dump_database
{
	my ($database, $file, @options) = @_;

	$node->command_ok([ 'pg_dump', '-f', "$folder/$file", @options, $database ], join ' ', 'dump of', $database, @options);
	return;
}

# The exit status of a plain restore is the first thing returned, then its errors.
sub try_restore
{
	my ($database, $file) = @_;
	my $error;
	my $done = IPC::Run::run([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($database), '-f', "$folder/$file" ],
		'>', '/dev/null', '2>', \$error);

	return ($done, $error);
}

sub restore
{
	my ($database, $file) = @_;
	my ($done, $error) = try_restore($database, $file);

	ok($done, "restore of $file into $database") or diag $error;
	return;
}

# A dump without what tells of its own making.
sub text_of
{
	return join '', grep { !/^\\(un)?restrict / } split /^/, slurp_file("$folder/$_[0]");
}

# ---- everything, from UTF8 to each and back

new_database('source', 'UTF8');
fill_database($node, 'source');
my $before = contents('source');
dump_database('source', 'source.sql');

for my $other (@others)
{
	new_database($other, uc $other);
	restore($other, 'source.sql');
	is(contents($other), $before, "UTF8 to $other: everything is there");
	dump_database($other, "$other.sql", '-E', 'UTF8');
	is(text_of("$other.sql"), text_of('source.sql'), 'and dumped in UTF8 it is the same dump');

	# In the database's own encoding, as pg_dump does by itself.
	dump_database($other, "$other.own.sql");
	like(text_of("$other.own.sql"), qr/^SET client_encoding = '\U$other\E';/m, "a dump of $other is in $other");
	new_database('back', 'UTF8');
	restore('back', "$other.own.sql");
	is(contents('back'), $before, "$other to UTF8: everything is there");
	$node->safe_psql('postgres', 'DROP DATABASE back');
}

# Between two that are not UTF8 a dump is best in UTF8: SQL_ASCII converts nothing, and the server has no conversion between the others.
for my $route ([qw(latin1 euc_jp)], [qw(euc_jp latin1)], [qw(latin1 sql_ascii)], [qw(sql_ascii latin1)])
{
	my ($from, $to) = @$route;

	new_database('back', uc $to);
	restore('back', "$from.sql");
	is(contents('back'), $before, "$from to $to: everything is there");
	$node->safe_psql('postgres', 'DROP DATABASE back');
}
new_database('back', 'SQL_ASCII');
my ($done, $error) = try_restore('back', 'latin1.own.sql');
ok(!$done, 'a dump in LATIN1 does not go into SQL_ASCII');
like($error, qr/ERROR: +invalid byte sequence for encoding "UTF8"/, 'since its bytes are no UTF-8');
$node->safe_psql('postgres', 'DROP DATABASE back');

# ---- characters that the encoding lacks

my $wide = q{SELECT string_agg(kiln_frame(v)::text, ' ' ORDER BY n) FROM wide};
my $wide_rows = <<'SQL';
CREATE TABLE wide (n int PRIMARY KEY, v kiln CHECK (octet_length(kiln_frame(v)) > 0));
INSERT INTO wide VALUES (1, '"\u20ac"'), (2, '{"$kiln": "(a string)", "a": "x\ud83d\ude00y\u0410\u00e9"}'), (3, '{"$kiln": "dict<string>", "$value": {"\u20ac": "\u20ac"}}');
SQL

$node->safe_psql($_, $wide_rows) for 'source', @others;
my $wide_frames = $node->safe_psql('source', $wide);
for my $other (@others)
{
	is($node->safe_psql($other, $wide), $wide_frames, "$other holds what it can't show");
	dump_database($other, "$other.wide.sql", '-t', 'wide');
	for my $to ('UTF8', uc $other)
	{
		new_database('back', $to);
		$node->safe_psql('back', 'CREATE EXTENSION kiln');
		restore('back', "$other.wide.sql");
		is($node->safe_psql('back', $wide), $wide_frames, "from $other to $to nothing is lost");
		$node->safe_psql('postgres', 'DROP DATABASE back');
	}
}

# From UTF8 the characters themselves would go, which the server converts before kiln sees them. In binary they go as they are.
dump_database('source', 'source.wide.sql', '-t', 'wide');
$node->safe_psql('source', "\\copy wide TO '$folder/wide' WITH (FORMAT binary)");
for my $other (qw(latin1 euc_jp))
{
	$node->safe_psql($other, 'DROP TABLE wide');
	($done, $error) = try_restore($other, 'source.wide.sql');
	ok(!$done, "UTF8 to $other: a character that it lacks is refused");
	like($error, qr/has no equivalent in encoding/, 'by the server');
	$node->safe_psql($other, "\\copy wide FROM '$folder/wide' WITH (FORMAT binary)");
	is($node->safe_psql($other, $wide), $wide_frames, 'COPY in binary brings it');
}

$node->stop;
done_testing();
