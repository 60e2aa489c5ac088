# Results: the rows of CSV files as groups of rows that may be compared, and the few statistics that are made of them.
#
# A group is what was measured together: part, experiment, operation and corpus of one pass. Of a group's passes the last
# valid one counts, or the last if none is valid; then nothing is compared within it. A ratio is asked of a group, for two of
# its rows: between rows of different groups there is no way to ask.

package Results;

use strict;
use warnings;

use constant CONTROL_BOUND => 0.05;
use constant COLUMNS => qw(part experiment operation corpus contender checks flags pass round value unit allocations bytes);

# Results->load(folder): all FOLDER/PART/*.csv
sub load
{
	my ($class, $folder) = @_;
	my $self = bless { groups => {}, order => [], heads => {} }, $class;

	$self->_load_file($_) for sort glob("$folder/*/*.csv");
	$self->_choose_passes;
	return $self;
}

sub _load_file
{
	my ($self, $file) = @_;
	my (%head, @names);

	open my $in, '<:encoding(UTF-8)', $file or die "$file: $!\n";
	while (my $line = <$in>)
	{
		chomp $line;
		if ($line =~ /^# (\w+): (.*)/)
		{
			push @{ $head{$1} }, $2;
			next;
		}
		if (!@names)
		{
			@names = split /,/, $line;
			die "$file: columns are not those of METHOD.md\n" if join(',', @names) ne join(',', COLUMNS);
			next;
		}
		my %row;
		my @values;
		push @values, defined $1 ? $1 : $2 while $line =~ /\G(?:^|,)(?:"([^"]*)"|([^,]*))/g;
		@row{@names} = @values;
		die "$file: a line has not as many values as columns: $line\n" if @values != @names;
		$self->_add(\%row, \%head);
	}
	close $in;
}

sub _add
{
	my ($self, $row, $head) = @_;
	my $key = join "\t", @$row{qw(part experiment operation corpus)};
	my $group = $self->{groups}{$key};

	if (!$group)
	{
		$group = $self->{groups}{$key} = { %$row, passes => {}, head => $head };
		push @{ $self->{order} }, $group;
	}
	push @{ $self->{heads}{ $row->{part} } }, $head if !grep { $_ == $head } @{ $self->{heads}{ $row->{part} } };

	my $pass = $group->{passes}{ $row->{pass} } //= { rows => {}, order => [], control => {} };
	if ($row->{contender} eq 'control')
	{
		$pass->{control}{ $row->{round} } = $row->{value};
		return;
	}
	my $name = "$row->{contender}\t$row->{flags}";
	if (!$pass->{rows}{$name})
	{
		$pass->{rows}{$name} = { %$row, values => [] };
		push @{ $pass->{order} }, $pass->{rows}{$name};
	}
	push @{ $pass->{rows}{$name}{values} }, $row->{value};
}

sub _is_valid
{
	my ($pass) = @_;
	my ($first, $last) = @{ $pass->{control} }{qw(first last)};

	return 0 if !defined $first || !defined $last;
	return $first < $last * (1 + CONTROL_BOUND) && $last < $first * (1 + CONTROL_BOUND);
}

sub _choose_passes
{
	my ($self) = @_;

	for my $group (@{ $self->{order} })
	{
		my @passes = map { $group->{passes}{$_} } sort { $a <=> $b } keys %{ $group->{passes} };
		my @valid = grep { _is_valid($_) } @passes;
		my $chosen = @valid ? $valid[-1] : $passes[-1];

		$group->{valid} = @valid ? 1 : 0;
		$group->{discarded} = @passes - ($group->{valid} ? 1 : 0);
		$group->{rows} = [ grep { $_->{contender} !~ / twin$/ } @{ $chosen->{order} } ];
		$_->{group} = $group for @{ $chosen->{order} };
		$group->{noise} = _noise($chosen);
		$group->{control} = $chosen->{control};
	}
}

# How far the twin is from the row whose function it runs.
sub _noise
{
	my ($pass) = @_;

	for my $twin (grep { $_->{contender} =~ / twin$/ } @{ $pass->{order} })
	{
		(my $name = $twin->{contender}) =~ s/ twin$//;
		my $row = $pass->{rows}{"$name\t$twin->{flags}"} or next;
		my $ratio = median($twin) / median($row);

		return $ratio < 1 ? 1 / $ratio - 1 : $ratio - 1;
	}
	return 0;
}

# ------------------------------------------------------------------ asking

sub groups
{
	my ($self, $part, $experiment) = @_;

	return grep { $_->{part} eq $part && (!defined $experiment || $_->{experiment} eq $experiment) } @{ $self->{order} };
}

sub group
{
	my ($self, $part, $experiment, $operation, $corpus) = @_;

	return $self->{groups}{ join "\t", $part, $experiment, $operation, $corpus };
}

sub heads
{
	my ($self, $part) = @_;

	return @{ $self->{heads}{$part} // [] };
}

# The row of a contender with some flags; without flags, that of its best build.
sub row
{
	my ($group, $contender, $flags) = @_;
	my @rows = grep { $_->{contender} eq $contender } @{ $group->{rows} };

	@rows = grep { $_->{flags} eq $flags } @rows if defined $flags;
	@rows = sort { median($a) <=> median($b) } @rows;
	return $rows[0];
}

sub contenders
{
	my ($group) = @_;
	my %seen;

	return grep { !$seen{$_}++ } map { $_->{contender} } @{ $group->{rows} };
}

sub flags
{
	my ($group) = @_;
	my %seen;

	return grep { !$seen{$_}++ } map { $_->{flags} } @{ $group->{rows} };
}

sub quantile
{
	my ($row, $share) = @_;
	my @sorted = sort { $a <=> $b } @{ $row->{values} };
	my $at = $share * $#sorted;
	my $low = int $at;

	return $sorted[$#sorted] if $low >= $#sorted;
	return $sorted[$low] + ($at - $low) * ($sorted[ $low + 1 ] - $sorted[$low]);
}

sub median
{
	return quantile($_[0], 0.5);
}

# a's median by b's. Nothing is compared that was not measured together, on the same corpus, in a valid pass.
sub ratio
{
	my ($a, $b) = @_;

	return (undef, 'no such row') if !$a || !$b;
	return (undef, 'rows of different groups') if $a->{group} != $b->{group};
	return (undef, 'rows of different units') if $a->{unit} ne $b->{unit};
	return (undef, 'no valid pass') if !$a->{group}{valid};
	return (median($a) / median($b), undef);
}

# Is the difference of two rows of one group inside the noise? Their middle halves overlap, or the medians differ by less than
# the twins did.
sub is_tie
{
	my ($a, $b) = @_;
	my ($ratio) = ratio($a, $b);

	return 0 if !defined $ratio;
	return 1 if quantile($a, 0.25) <= quantile($b, 0.75) && quantile($b, 0.25) <= quantile($a, 0.75);
	$ratio = 1 / $ratio if $ratio < 1;
	return $ratio - 1 <= $a->{group}{noise};
}

1;
