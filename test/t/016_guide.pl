# docs/GUIDE.md and docs/SCALING.md, word for word: every sql, sh and python block is run, and the text block right behind it has to be
# what it prints. A document has a coordinator and three shards with an empty database app each; where it says host=shard1 or host
# 'shard1', the cluster of that name is meant. Blocks for the shell and Python run in a folder that has the clone's scripts and clients.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use DocTest;
use KilnTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = "$FindBin::RealBin/../..";
my $python = '/usr/bin/python3';
my $has_python = system("$python -c 'import numpy, psycopg' 2>/dev/null") == 0;
plan skip_all => 'needs the package iso-codes' unless -r '/usr/share/iso-codes/json/iso_639-3.json';

my %nodes = map { $_ => start_node($_, "timezone = 'UTC'\nfsync = off\njit = off\n") } qw(coordinator shard1 shard2 shard3);
my $folder = PostgreSQL::Test::Utils::tempdir('guide');
symlink "$root/$_", "$folder/$_" or die "$folder/$_: $!" for qw(scripts clients);

# What a block prints, standard error too.
sub said
{
	my ($block) = @_;
	my $text = $block->{text};
	my $out = '';
	my %command = (
		sql => [ qw(psql -X -q -v VERBOSITY=default -f -) ],
		sh => [ qw(bash -eu -o pipefail -s) ],
		python => [ $python, '-' ]);

	for my $name (keys %nodes)
	{
		my ($host, $port) = ($nodes{$name}->host, $nodes{$name}->port);

		$text =~ s/\bhost=$name\b/host=$host port=$port/g;
		$text =~ s/\bhost '$name'/host '$host', port '$port'/g;
	}
	$text = "SET client_min_messages = warning;\n$text" if $block->{kind} eq 'sql';
	utf8::encode($text);
	{
		local $ENV{PGHOST} = $nodes{coordinator}->host;
		local $ENV{PGPORT} = $nodes{coordinator}->port;
		local $ENV{PGDATABASE} = 'app';
		local $ENV{PYTHONPATH} = "$root/clients/python";
		local $ENV{PYTHONIOENCODING} = 'utf-8';

		IPC::Run::run($command{ $block->{kind} }, '<', \$text, '>&', \$out, init => sub { chdir $folder or die "$folder: $!" });
	}
	$block->{status} = $?;
	utf8::decode($out);
	return tidy($out);
}

for my $name (qw(GUIDE SCALING))
{
	my @blocks = document_blocks("$root/docs/$name.md", qw(sql sh python));

	cmp_ok(scalar(@blocks), '>', 5, "$name.md has blocks");
	$_->safe_psql('postgres', 'DROP DATABASE IF EXISTS app') for @nodes{qw(coordinator shard1 shard2 shard3)};
	$_->safe_psql('postgres', 'CREATE DATABASE app') for values %nodes;
	for my $block (@blocks)
	{
	  SKIP:
		{
			skip 'needs python3-numpy and python3-psycopg', 1 if $block->{kind} eq 'python' && !$has_python;

			my $got = said($block);
			my $title = "$name.md, line $block->{line}, $block->{kind}";

			if (defined $block->{expected})
			{
				is($got, tidy($block->{expected}), "$title: says what it shows");
			}
			else
			{
				is($got, '', "$title: runs and says nothing");
			}
			is($block->{status}, 0, 'and succeeds') if $block->{kind} ne 'sql';
		}
	}
}

$_->stop for values %nodes;
done_testing();
