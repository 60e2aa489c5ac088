# Documents whose blocks are run: ```sql, ```sh and ```python, with the ```text block right behind as what they print.

package DocTest;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(document_blocks tidy);

# The blocks of a document that are of the kinds asked for: hashes of kind, line, text and expected output, which may be undef.
sub document_blocks
{
	my ($file, @kinds) = @_;
	my (@found, $kind, @lines, $start, $last);

	open my $in, '<:encoding(UTF-8)', $file or die "$file: $!";
	while (my $line = <$in>)
	{
		if (!defined $kind && $line =~ /^```(\w*)\s*$/)
		{
			($kind, $start, @lines) = ($1, $.);
		}
		elsif (defined $kind && $line =~ /^```\s*$/)
		{
			my ($of, $text) = ($kind, join '', @lines);

			undef $kind;
			if ($of eq 'text')
			{
				$last->{expected} = $text if $last && !defined $last->{expected};
				next;
			}
			undef $last;
			next unless grep { $_ eq $of } @kinds;
			$last = { kind => $of, line => $start, text => $text, expected => undef };
			push @found, $last;
		}
		elsif (defined $kind)
		{
			push @lines, $line;
		}
	}
	return @found;
}

# Output without the blanks that psql leaves at line ends, and without empty lines at the end.
sub tidy
{
	my ($text) = @_;

	$text =~ s/^psql:<stdin>:\d+: //mg;
	$text =~ s/[ \t]+$//mg;
	$text =~ s/\n+\z//;
	return $text;
}

1;
