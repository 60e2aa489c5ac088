# What the documents show is what the server says: every sql block of README.md and docs/*.md is run, and the text block
# right behind it has to be its output, as psql prints it. A block's document is one session in a database of its own.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use DocTest;
use KilnTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = "$FindBin::RealBin/../..";
my $node = start_node('main');

# Documents of several servers, or with blocks for the shell or Python: test/t/016_guide.pl runs them.
my %elsewhere = map { $_ => 1 } qw(GUIDE SCALING);

my $tried = 0;
for my $file ("$root/README.md", sort glob("$root/docs/*.md"))
{
	my ($name) = $file =~ m{([^/]+)\.md$};
	next if $elsewhere{$name};
	my @blocks = document_blocks($file, 'sql') or next;
	my $database = "docs_\L$name";
	my $script = '';

	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$script .= "SET client_min_messages = warning;\n";
	$script .= "\\echo \@\@block $_\n$blocks[$_]{text}\n" for 0 .. $#blocks;
	my ($out, $err) = ('', '');
	IPC::Run::run(
		[ 'psql', '-X', '-q', '--no-psqlrc', '-v', 'VERBOSITY=default', '-d', $node->connstr($database), '-f', '-' ],
		'<', \do { my $utf8 = $script; utf8::encode($utf8); $utf8 },
		'>&', \$out);
	utf8::decode($out);
	my %said;
	while ($out =~ /^\@\@block (\d+)\n(.*?)(?=^\@\@block |\z)/msg)
	{
		$said{$1} = $2;
	}
	for my $i (0 .. $#blocks)
	{
		my ($line, $expected) = @{ $blocks[$i] }{qw(line expected)};
		my $got = tidy($said{$i} // '(nothing)');

		$tried++;
		if (defined $expected)
		{
			is($got, tidy($expected), "$name.md, line $line: says what it shows");
		}
		else
		{
			unlike($got, qr/^(ERROR|FATAL|PANIC)/m, "$name.md, line $line: runs");
		}
	}
}
cmp_ok($tried, '>', 10, "$tried blocks tried");

# SQL.md tells of every function of the extension.
my $sql = slurp_file("$root/docs/SQL.md");
my @functions = split /\n/, $node->safe_psql(
	'docs_sql', q{
	SELECT DISTINCT p.proname FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid
	WHERE d.classid = 'pg_proc'::regclass AND d.refclassid = 'pg_extension'::regclass
		AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'kiln') ORDER BY 1});
cmp_ok(scalar @functions, '>', 100, 'functions of the extension are found');
is(join(' ', grep { $sql !~ /\b\Q$_\E\b/ } @functions), '', 'SQL.md tells of every function');

done_testing();
