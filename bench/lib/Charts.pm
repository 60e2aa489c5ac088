# Charts: bars, lines and points drawn by gnuplot from results, as text/charts.tsv says. Each is to be understood alone: a title that is
# a sentence, an axis with its unit, the value on each bar.

package Charts;

use strict;
use warnings;

use Results;

my @colours = ('#c2410c', '#1d4ed8', '#15803d', '#7e22ce', '#db2777', '#475569', '#0e7490');

# The value of a contender in a group: its best build's median, or the bytes.
sub _value
{
	my ($group, $contender, $what) = @_;

	return undef if !$group;
	my $row = Results::row($group, $contender) or return undef;
	if ($what eq 'bytes')
	{
		my ($sized) = grep { $_->{contender} eq $contender && $_->{bytes} ne '' } @{ $group->{rows} };
		return $sized ? $sized->{bytes} : undef;
	}
	return $group->{valid} ? Results::median($row) : undef;
}

sub _label
{
	my ($value) = @_;

	return sprintf '%.3g', $value if $value < 100;
	return sprintf '%.0f', $value if $value < 10000;
	return sprintf '%.0fk', $value / 1000;
}

# A point for each contender: the first place's bytes to the right, the second's time upwards. The axis says both, parted by a bar; a name
# that ends in < stands left of its point.
sub _draw_points
{
	my ($name, $title, $axis, $results, $part, $places, $series, $file) = @_;
	my ($right, $up) = split /\|/, $axis;
	my (@data, @plots, @times);

	for my $i (0 .. $#$series)
	{
		my ($contender, $as) = @{ $series->[$i] };
		my @called = split /&/, $contender;		# as the first place calls it, and the second
		my ($bytes, $time) = map { _value($results->group($part, @{ $places->[$_] }[1 .. 3]), $called[$_] // $called[0], 'time') } 0, 1;

		my $side = $as =~ s/<$// ? 'right offset -1.4' : 'left offset 1.4';

		next if !defined $bytes || !defined $time;
		push @times, $time;
		push @data, sprintf "\$point%d << EOD\n%.6g %.6g \"%s\"\nEOD\n", $i, $bytes, $time, "$as: " . _label($bytes) . ' bytes, ' . _label($time) . ' ns';
		push @plots, sprintf '$point%d using 1:2 with points pt 7 ps 1.8 lc rgb "%s" notitle', $i, $colours[ $i % @colours ];
		push @plots, sprintf '$point%d using 1:2:3 with labels %s,0 font ",13" notitle', $i, $side;
	}
	return 0 if !@data;
	my ($least, $most) = (sort { $a <=> $b } @times)[ 0, -1 ];
	my ($bottom, $top) = ($least / 2, $most * 2);
	open my $gnuplot, '|-', 'gnuplot' or die "gnuplot: $!\n";
	print $gnuplot @data, <<"SCRIPT", 'plot ', join(', ', @plots), "\n";
set terminal svg noenhanced size 960,420 font "Helvetica,13" background "white"
set output "$file"
set title "$title" font ",16"
set xlabel "$right"
set ylabel "$up"
set border 3 lc rgb "#888888"
set tics nomirror
set grid lc rgb "#dddddd"
set logscale y
set format y "%g"
set xrange [0:*]
set yrange [$bottom:$top]
set offsets 0,graph 0.3,0,0
SCRIPT
	close $gnuplot or die "gnuplot could not draw $name\n";
	return 1;
}

# Bytes for an axis.
sub _size
{
	my ($bytes) = @_;

	return $bytes < 2**20 ? sprintf('%.0f KB', $bytes / 1024) : sprintf('%.0f MB', $bytes / 2**20);
}

# Draw one chart; false if no result is there for it.
sub draw
{
	my ($results, $spec, $file) = @_;
	my ($name, $kind, $what, $title, $axis, $part, $places, $contenders) = @$spec;
	my @places = map { my @p = split /\|/; \@p } split /;/, $places;	# label|experiment|operation|corpus
	my @series = map { my ($c, $as) = split /=/; [ $c, $as // $c ] } split /;/, $contenders;
	my ($data, $found) = ('', 0);

	for my $s (@series)
	{
		$data .= "\$series" . join('_', map { sprintf '%02x', ord } split //, $s->[0]) . " << EOD\n";
		my $x = 0;
		for my $place (@places)
		{
			my ($label, $experiment, $operation, $corpus) = @$place;
			my $value = _value($results->group($part, $experiment, $operation, $corpus), $s->[0], $what);
			my $at = $kind eq 'lines' ? $label : $x;

			$data .= defined $value ? sprintf("%s %.6g \"%s\"\n", $at, $value, _label($value)) : "$at NaN \"\"\n";
			$found++ if defined $value;
			$x++;
		}
		$data .= "EOD\n";
	}
	return 0 if !$found;
	return _draw_points($name, $title, $axis, $results, $part, \@places, \@series, $file) if $kind eq 'points';

	my $n = @series;
	my $width = 0.8 / $n;
	my $script = <<"HEAD";
set terminal svg noenhanced size 960,500 font "Helvetica,13" background "white"
set output "$file"
set title "$title" font ",16"
set ylabel "$axis"
set border 3 lc rgb "#888888"
set tics nomirror
set grid ytics lc rgb "#dddddd"
set key below horizontal samplen 1
HEAD
	$script .= $what eq 'bytes' ? "set yrange [0:*]\nset offsets 0,0,graph 0.1,0\n"
		: "set logscale y\nset format y \"%g\"\nset offsets 0,0,graph 0.12,0\n";
	my (@plots, @labels);
	if ($kind eq 'lines')
	{
		my $tics = join ', ', map { sprintf '"%s" %s', _size($places[$_][0]), $places[$_][0] } 0 .. $#places;

		$script .= "set logscale x\nset xtics ($tics)\nset xlabel \"size of the value\"\nset key inside top left vertical Left reverse\n";
	}
	else
	{
		my $tics = join ', ', map { "\"$places[$_][0]\" $_" } 0 .. $#places;
		$script .= "set xtics ($tics)\nset xrange [-0.55:" . ($#places + 0.55) . "]\nset boxwidth " . $width * 0.92 . "\nset style fill solid 0.9\n";
	}
	for my $i (0 .. $#series)
	{
		my $block = "\$series" . join('_', map { sprintf '%02x', ord } split //, $series[$i][0]);
		my $shift = ($i - ($n - 1) / 2) * $width;
		my $colour = $colours[ $i % @colours ];

		if ($kind eq 'lines')
		{
			push @plots, "$block using 1:2 with linespoints lw 2 pt 7 lc rgb \"$colour\" title \"$series[$i][1]\"";
			next;
		}
		push @plots, "$block using (\$1+($shift)):2 with boxes lc rgb \"$colour\" title \"$series[$i][1]\"";
		push @labels, "$block using (\$1+($shift)):2:3 with labels left rotate by 90 offset 0,0.4 font \",10\" notitle";
	}
	open my $gnuplot, '|-', 'gnuplot' or die "gnuplot: $!\n";
	print $gnuplot $data, $script, 'plot ', join(', ', @plots, @labels), "\n";
	close $gnuplot or die "gnuplot could not draw $name\n";
	return 1;
}

1;
