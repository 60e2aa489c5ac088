# Tensors against numpy: 2,000 random ones of every dtype, through text, binary, files, arrays, slices, reductions and aggregates.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use Test::More;

# The distribution's own interpreter: that is whose packages these are.
my $python = '/usr/bin/python3';
plan skip_all => 'needs python3-numpy and python3-psycopg'
	if system("$python -c 'import numpy, psycopg' 2>/dev/null") != 0;

my $node = start_node('main');
$node->safe_psql('postgres', 'CREATE EXTENSION kiln');

my $conninfo = $node->connstr('postgres');
my $output = `$python $FindBin::RealBin/tensor_numpy.py "$conninfo" 2000 2>&1`;
is($?, 0, 'the comparison ran');
is($output, "2000 tensors, 0 differences\n", 'no difference');
is($node->safe_psql('postgres', 'SELECT 1'), '1', 'the server is up');

done_testing();
