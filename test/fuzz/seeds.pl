# Seeds for the fuzz targets, made from the vectors: seeds.pl VECTORS SEEDS
#
# Writes one file an input into SEEDS/TARGET, each in the form that the target's opening comment gives. A target without
# a rule here starts from its corpus alone, or from nothing.

use strict;
use warnings;

my ($vectors, $seeds) = @ARGV;
my %count;

sub seed
{
	my ($target, $bytes) = @_;

	return unless -d "$seeds/$target";
	my $name = sprintf "$seeds/$target/%04d", $count{$target}++;
	open my $file, '>:raw', $name or die "$name: $!";
	print $file $bytes;
	close $file or die "$name: $!";
}

# The hex fields of each row of a file of vectors, decoded: enough for seeds, and no JSON module is needed.
sub rows
{
	my ($name, @fields) = @_;
	my @rows;

	open my $file, '<', "$vectors/$name.jsonl" or die "$vectors/$name.jsonl: $!";
	while (my $line = <$file>)
	{
		my %row;

		for my $field (@fields)
		{
			$row{$field} = pack 'H*', $1 if $line =~ /"$field": ?"((?:[0-9a-f]{2})*)"/;
		}
		push @rows, \%row;
	}
	return @rows;
}

seed('fuzz_schema', $_->{text_hex}) for grep { defined $_->{text_hex} } rows('definitions', 'text_hex');
seed('fuzz_directory', $_->{directory}) for grep { defined $_->{directory} } rows('tensors', 'directory');
seed('fuzz_frame', $_->{frame}) for grep { defined $_->{frame} } rows('frames', 'frame');
seed('fuzz_path', $_->{path_hex}) for grep { defined $_->{path_hex} } rows('paths', 'path_hex');

seed('fuzz_evolve', pack('C C a8', $_, 1, "seed $_")) for 0 .. 15;

for my $file (qw(payloads invalid_payloads))
{
	for my $row (rows($file, 'definition_hex', 'payload'))
	{
		next unless defined $row->{definition_hex} && defined $row->{payload} && length $row->{definition_hex} < 65536;
		seed('fuzz_validate', pack('C v/a* a*', 255, $row->{definition_hex}, $row->{payload}));
	}
}
