#!/usr/bin/perl
# Make clients/wire.jsonl, the vectors that every implementation must pass, of test/vectors and test/golden.
#
#   perl clients/make_wire.pl             writes clients/wire.jsonl
#   perl clients/make_wire.pl --check     says whether it is what would be written
#
# A row is a whole frame, as a client meets it. What is to be read from it comes from the vectors where they say it, else from the small decoder
# of docs/FORMAT.md below, which shares no code with any of the implementations. clients/README.md describes the rows.

use strict;
use warnings;

use FindBin;
use JSON::PP;

my $root = "$FindBin::RealBin/..";
my $target = "$FindBin::RealBin/wire.jsonl";
my $json = JSON::PP->new->utf8->canonical->allow_nonref;
my $most_reads = 48;		# leaves of a value that a row reads, from its beginning on
my $most_bytes = 6000;		# of a frame
my @rows;
my %hash_of;				# canonical definition -> its hash

sub vectors
{
	my ($file) = @_;

	open my $handle, '<', "$root/test/vectors/$file.jsonl" or die "$file: $!";
	return map { $json->decode($_) } <$handle>;
}

sub golden
{
	my ($file) = @_;

	open my $handle, '<', "$root/test/golden/$file.txt" or die "$file: $!";
	return map { chomp; [ split /\t/ ] } grep { !/^#/ } <$handle>;
}

sub bytes_of
{
	return pack 'H*', $_[0];
}

# Characters to UTF-8 and back, whatever they are: noncharacters, too.
sub to_utf8
{
	my ($text) = @_;

	utf8::encode($text);
	return $text;
}

sub from_utf8
{
	my ($bytes) = @_;

	utf8::decode($bytes) or die "not UTF-8: $bytes";
	return $bytes;
}

sub hex_of
{
	return unpack 'H*', $_[0];
}

# ------------------------------------------------------------------ definitions (FORMAT 1), canonical ones only

my %width = (bool => 1, i8 => 1, u8 => 1, i16 => 2, u16 => 2, i32 => 4, u32 => 4, i64 => 8, u64 => 8, f32 => 4, f64 => 8,
	uuid => 16, date => 4, timestamp => 8, timestamptz => 8, enum => 2);

# A type of the text at its pos(): { kind, text, element or fields }.
sub parse_type
{
	my ($text) = @_;
	my $from = pos($$text) // 0;
	my $type;

	if ($$text =~ /\Genum\(/gc)
	{
		1 while $$text =~ /\G'(?:[^']|'')*'[,)]/gc;
		$type = { kind => 'enum' };
	}
	elsif ($$text =~ /\Gdict</gc)
	{
		$type = { kind => 'dict', element => parse_type($text) };
		$$text =~ /\G>/gc or die "no > in $$text";
	}
	elsif ($$text =~ /\G(?:[a-z_][a-z0-9_]*|"(?:[^"]|"")+")?\(/gc)
	{
		$type = { kind => 'struct', fields => [] };
		do
		{
			$$text =~ /\G(?:([a-z_][a-z0-9_]*)|"((?:[^"]|"")+)") /gc or die "no field in $$text";
			my $name = $1 // $2 =~ s/""/"/gr;
			push @{ $type->{fields} }, [ $name, parse_type($text) ];
			$$text =~ /\G=(?:x?'(?:[^']|'')*'|[a-z0-9-]+)/gc;
		} while $$text =~ /\G,/gc;
		$$text =~ /\G\)/gc or die "no ) in $$text";
	}
	else
	{
		$$text =~ /\G([a-z0-9]+)/gc or die "no type in $$text";
		$type = { kind => $1 };
	}
	while ((my $here = pos $$text) || 1)
	{
		$type->{text} = substr $$text, $from, pos($$text) - $from;
		if ($$text =~ /\G\?/gc) { $type = { kind => '?', element => $type } }
		elsif ($$text =~ /\G\[\]/gc) { $type = { kind => '[]', element => $type } }
		else { return $type }
	}
}

sub type_of
{
	my ($definition) = @_;
	my $type = parse_type(\$definition);

	die "text left in $definition" if pos($definition) != length $definition;
	return $type;
}

# ------------------------------------------------------------------ payloads (FORMAT 2), valid ones only

sub step
{
	my ($path, $name) = @_;

	$name = '"' . ($name =~ s/"/""/gr) . '"' if $name eq '' || $name =~ /[.\[\]"]/;
	return $path eq '' ? $name : "$path.$name";
}

sub take
{
	my ($payload, $at, $length) = @_;

	die "too short" if $$at + $length > length $payload;
	$$at += $length;
	return substr $payload, $$at - $length, $length;
}

# Every leaf from position $$at on, as reads.
sub leaves
{
	my ($type, $payload, $at, $path, $reads) = @_;
	my $kind = $type->{kind};

	if ($kind eq 'struct')
	{
		leaves($_->[1], $payload, $at, step($path, $_->[0]), $reads) for @{ $type->{fields} };
	}
	elsif ($kind eq '?')
	{
		if (unpack 'C', take($payload, $at, 1)) { leaves($type->{element}, $payload, $at, $path, $reads) }
		elsif ($path ne '') { push @$reads, { path_hex => hex_of($path), absent => JSON::PP::true } }
	}
	elsif ($kind eq '[]' || $kind eq 'dict')
	{
		my $count = unpack 'V', take($payload, $at, 4);

		for my $n (0 .. $count - 1)
		{
			my $here = "$path\[$n]";
			if ($kind eq 'dict')
			{
				my $length = unpack 'V', take($payload, $at, 4);
				$here = step($path, take($payload, $at, $length));
			}
			leaves($type->{element}, $payload, $at, $here, $reads);
		}
	}
	else
	{
		my $head = $width{$kind} ? '' : take($payload, $at, 4);
		my $bytes = $head . take($payload, $at, $width{$kind} // unpack 'V', $head);
		push @$reads, { path_hex => hex_of($path), type_hex => hex_of($type->{text}), payload => hex_of($bytes) };
	}
	return;
}

sub reads_of
{
	my ($definition, $payload) = @_;
	my ($at, @reads) = (0);

	leaves(type_of($definition), $payload, \$at, '', \@reads);
	die "bytes left under $definition" if $at != length $payload;
	splice @reads, $most_reads if @reads > $most_reads;
	return \@reads;
}

# ------------------------------------------------------------------ rows

sub row
{
	my (%row) = @_;

	return if defined $row{frame} && length $row{frame} > 2 * $most_bytes;
	$row{id} = @rows + 1;
	push @rows, \%row;
	return;
}

sub inline
{
	my ($definition, $payload) = @_;

	return "\x12" . pack('V', length $definition) . $definition . $payload;
}

# The text form of an inline value (FORMAT 5), of its JSON.
sub enveloped
{
	my ($definition, $output) = @_;
	my $name = $definition =~ s/(["\\])/\\$1/gr;

	return qq({"\$kiln": "$name", "\$value": $output}) if type_of($definition)->{kind} ne 'struct';
	$output =~ s/^\{//;
	return qq({"\$kiln": "$name") . ($output eq '}' ? '' : ', ') . $output;
}

sub definition_rows
{
	for my $row (vectors('definitions'))
	{
		if ($row->{kind} eq 'valid')
		{
			$hash_of{ bytes_of($row->{canonical_hex}) } = $row->{hash};
			row(kind => 'definition', valid => JSON::PP::true, map { $_ => $row->{$_} } qw(text text_hex canonical_hex hash));
		}
		elsif ($row->{kind} eq 'invalid')
		{
			row(kind => 'definition', valid => JSON::PP::false, map { $_ => $row->{$_} } qw(text text_hex reason));
		}
	}
	for my $row (golden('hashes'))
	{
		my $canonical = hex_of($row->[0]);
		row(kind => 'definition', valid => JSON::PP::true, text => from_utf8($row->[0]), text_hex => $canonical,
			canonical_hex => $canonical, hash => $row->[1]);
	}
	return;
}

sub payload_rows
{
	my %text;

	for my $row (vectors('payloads'))
	{
		next if $row->{kind} eq 'recipe';
		my ($definition, $payload) = map { bytes_of($row->{$_}) } qw(definition_hex payload);
		my $text = from_utf8(enveloped($definition, bytes_of($row->{output_hex})));
		my $back = $row->{kind} eq 'value' || $row->{text_reads_back};

		$text{$definition}{$payload} = $text;
		row(kind => 'frame', registered_hex => [], frame => hex_of(inline($definition, $payload)), text => $text,
			text_reads_back => $back ? JSON::PP::true : JSON::PP::false, reads => reads_of($definition, $payload));
	}
	for my $row (golden('payloads'))
	{
		my ($definition, $payload) = ($row->[0], bytes_of($row->[1]));

		next if $text{$definition}{$payload};
		row(kind => 'frame', registered_hex => [], frame => hex_of(inline($definition, $payload)), reads => reads_of($definition, $payload));
	}
	return;
}

# The definition and payload of a frame, if it is one of a record and the definition is known.
sub opened
{
	my ($frame, @definitions) = @_;
	my $kind = unpack 'C', $frame;

	if ($kind == 0x12)
	{
		my $length = unpack 'x V', $frame;
		return (substr($frame, 5, $length), substr $frame, 5 + $length);
	}
	my $hash = sprintf '%016x', unpack 'x Q<', $frame;
	for my $definition (@definitions)
	{
		return ($definition, substr $frame, 9) if ($hash_of{$definition} // '') eq $hash;
	}
	return;
}

# Hashes that only the frames' vectors hold: of the definitions registered there, the one that all frames under a hash can be read by.
sub learn_hashes
{
	my %fits;

	for my $row (vectors('frames'))
	{
		next if $row->{kind} ne 'frame' || $row->{stored} !~ /^11/;
		my ($hash, $payload) = unpack 'x Q< a*', bytes_of($row->{stored});
		my @fits = grep { my $definition = $_; eval { reads_of($definition, $payload); 1 } }
			map { to_utf8($_) } @{ $row->{registered} };
		$hash = sprintf '%016x', $hash;
		$fits{$hash} = { map { $_ => 1 } grep { !$fits{$hash} || $fits{$hash}{$_} } @fits };
	}
	for my $hash (keys %fits)
	{
		my @definitions = keys %{ $fits{$hash} };
		die "$hash is of one of @definitions" if @definitions != 1 || ($hash_of{ $definitions[0] } // $hash) ne $hash;
		$hash_of{ $definitions[0] } = $hash;
	}
	return;
}

sub frame_rows
{
	for my $row (vectors('frames'))
	{
		my @definitions = map { to_utf8($_) } @{ $row->{registered} // [] };
		my $registered = [ map { hex_of($_) } @definitions ];

		if ($row->{kind} eq 'frame' && $row->{frame} =~ /^13/)
		{
			tensor_row(bytes_of($row->{frame}), $row->{text}, $registered);
		}
		elsif ($row->{kind} eq 'frame')
		{
			my $stored = bytes_of($row->{stored});
			my ($definition, $payload) = opened($stored, @definitions);
			die "no definition for $row->{stored}" if !defined $definition && $row->{stored} !~ /^14/;

			# what stays unverified is damaged or of a definition that nobody has
			my $read = defined $definition && $row->{stored} !~ /^14/;
			row(kind => 'frame', registered_hex => $registered, frame => $row->{frame}, stored => $row->{stored}, text => $row->{text},
				text_reads_back => JSON::PP::true, readable => $read ? JSON::PP::true : JSON::PP::false,
				reads => $read ? reads_of($definition, $payload) : []);
		}
		elsif ($row->{kind} eq 'invalid_frame')
		{
			row(kind => 'invalid', registered_hex => $registered, map { $_ => $row->{$_} } qw(frame offset reason));
		}
	}
	return;
}

sub invalid_rows
{
	for my $row (vectors('invalid_payloads'))
	{
		next if $row->{kind} ne 'payload';
		my $definition = bytes_of($row->{definition_hex});
		row(kind => 'invalid', registered_hex => [], frame => hex_of(inline($definition, bytes_of($row->{payload}))),
			offset => $row->{offset} + 5 + length $definition, fault => $row->{fault}, reason => $row->{reason});
	}
	for my $row (vectors('tensors'))
	{
		row(kind => 'invalid', registered_hex => [], frame => "13000000$row->{directory}", offset => $row->{offset} + 4, reason => $row->{reason})
			if $row->{kind} eq 'invalid';
	}
	return;
}

my @dtypes = (undef, qw(bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64));

sub tensor_row
{
	my ($frame, $text, $registered) = @_;
	my $directory = substr $frame, 4;
	my @tensors;

	for my $n (0 .. unpack('x12 V', $directory) - 1)
	{
		my ($offset, $length, $dtype, $rank, $name_length, undef, $rest) =
			unpack 'Q< Q< C C v V a*', substr $directory, 64 + 128 * $n, 128;
		push @tensors, {
			name_hex => hex_of(substr $rest, 8 * $rank, $name_length),
			dtype => $dtypes[$dtype],
			shape => [ unpack "Q<$rank", $rest ],
			data => hex_of(substr $directory, $offset, $length) };
	}
	row(kind => 'tensors', registered_hex => $registered, frame => hex_of($frame), text => $text, tensors => \@tensors);
	return;
}

sub tensor_rows
{
	for my $row (vectors('tensors'))
	{
		tensor_row(bytes_of("13000000$row->{directory}"), $row->{text}, []) if $row->{kind} eq 'directory';
	}
	return;
}

# One row a value, with all that the paths' vectors read from it.
sub path_rows
{
	my (%found, @order);

	for my $row (vectors('paths'))
	{
		my $definition = bytes_of($row->{definition_hex});
		my $versions = join ' ', map { hex_of(to_utf8($_)) } @{ $row->{versions} };
		my $key = "$row->{definition_hex} $row->{payload} $versions";

		if (!$found{$key})
		{
			push @order, $key;
			$found{$key} = {
				kind => 'frame', registered_hex => [ split / /, $versions ],
				frame => hex_of(inline($definition, bytes_of($row->{payload}))),
				text => from_utf8(enveloped($definition, to_utf8($row->{value}))), reads => [] };
			# the versions of a name are the registered ones
			unshift @{ $found{$key}{registered_hex} }, $row->{definition_hex} if $versions ne '';
		}
		push @{ $found{$key}{reads} }, {
			path_hex => $row->{path_hex},
			$row->{kind} eq 'found'
				? (type_hex => hex_of(to_utf8($row->{type})), payload => $row->{result_payload})
				: $row->{kind} eq 'null' ? (absent => JSON::PP::true) : (error => $row->{sqlstate}) };
	}
	row(%{ $found{$_} }) for @order;
	return;
}

definition_rows();
payload_rows();
learn_hashes();
frame_rows();
path_rows();
tensor_rows();
invalid_rows();

my $made = join '', map { $json->encode($_) . "\n" } @rows;
if (($ARGV[0] // '') eq '--check')
{
	open my $handle, '<:raw', $target or die "$target: $!";
	my $is = do { local $/; <$handle> };
	die "$target is not what test/vectors and test/golden make: run clients/make_wire.pl\n" if $is ne $made;
	exit 0;
}
open my $handle, '>:raw', $target or die "$target: $!";
print $handle $made;
close $handle or die "$target: $!";
my %count;
$count{ $_->{kind} }++ for @rows;
print join(', ', map { "$count{$_} $_" } sort keys %count), "\n";
