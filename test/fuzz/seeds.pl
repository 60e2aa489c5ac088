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

# Files of one tensor in numpy's format: every type, both orders, some shapes.
for my $type (qw(|b1 |i1 <i2 >i4 <i8 |u1 >u2 <u4 >u8 <f2 >f4 <f8), '|S3')
{
	for my $shape ([ '()', 1 ], [ '(3,)', 3 ], [ '(2, 3)', 6 ], [ '(0, 4)', 0 ], [ '(2, 1, 2)', 4 ])
	{
		for my $fortran (qw(False True))
		{
			my $header = "{'descr': '$type', 'fortran_order': $fortran, 'shape': $shape->[0], }\n";
			my ($width) = $type =~ /([0-9])$/;

			seed('fuzz_npy', "\x93NUMPY\x01\x00" . pack('v/a*', $header) . "\1" x ($shape->[1] * $width));
			seed('fuzz_npy', "\x93NUMPY\x03\x00" . pack('V/a*', $header) . "\1" x ($shape->[1] * $width)) if $fortran eq 'True';
		}
	}
}

# Headers of safetensors files and their elements, in the target's own form.
for my $type ([ 'BOOL', 1 ], [ 'I8', 1 ], [ 'I16', 2 ], [ 'I32', 4 ], [ 'I64', 8 ], [ 'U8', 1 ], [ 'U16', 2 ], [ 'U32', 4 ], [ 'U64', 8 ],
	[ 'F16', 2 ], [ 'BF16', 2 ], [ 'F32', 4 ], [ 'F64', 8 ], [ 'F8_E4M3', 1 ])
{
	my ($word, $width) = @$type;
	my $entry = sub { sprintf '"%s":{"dtype":"%s","shape":[%s],"data_offsets":[%d,%d]}', $_[0], $word, $_[1], $_[2], $_[3] };

	seed('fuzz_safetensors', '{' . $entry->('w', '2', 0, 2 * $width) . "}\0" . "\1" x (2 * $width));
	seed('fuzz_safetensors', '{"__metadata__":{"format":"pt"},' . $entry->('', '', 0, $width) . ',' . $entry->('b.\u00e9', '1, 0', $width, $width)
		. "} \0" . "\1" x $width);
	seed('fuzz_safetensors', '{' . $entry->('b', '1,2', $width, 3 * $width) . ',' . $entry->('a', '1', 0, $width) . "}\0" . "\1" x (3 * $width));
}
seed('fuzz_safetensors', "\0" . pack('Q<', 2) . '{}');
seed('fuzz_safetensors', "\0" . pack('Q<', $_) . '{}') for 3, 1000, 2**40;

# Serialized states of aggregates: of lists of values, numbers, rows, named tensors, and by element.
seed('fuzz_states', pack('C C V V C a* a*', 0, 1, 3, 2, 0, 'i32', pack('VV', 1, 2)));
seed('fuzz_states', pack('C C V V C a* a*', 0, 1, length 'message(a bool)', 1, 1, 'message(a bool)', "\1"));
for my $dtype (1 .. 13)
{
	my $width = (undef, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8)[$dtype];

	for my $d ($dtype, $dtype - 1)
	{
		seed('fuzz_states', pack('C C C Q< a*', 1, 1, $d, 3, "\1" x (3 * $width)));
		seed('fuzz_states', pack('C C C C Q< Q<7 a*', 2, 1, $d, 1, 2, 3, (0) x 6, "\1" x (6 * $width)));
		seed('fuzz_states', pack('C C V C C v Q< a* a*', 3, 1, 1, $d, 1, 1, 2, 'w', "\1" x (2 * $width)));
		seed('fuzz_states', pack('C C C C C Q< Q<8 a*', 4, 1, $_, $d, 1, 5, 2, (0) x 7, "\1" x (2 * $width))) for 1, 2;
		seed('fuzz_states', pack('C C C C C Q< Q<8 Q< V V C a* a*', $_, 1, 0, $d, 1, 5, 2, (0) x 7, 5, 0, 2, 1, "\1" x 32, "\0\1")) for 4, 5;
	}
}
