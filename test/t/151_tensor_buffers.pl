# A part of a large tensor costs the pages that hold it: the first chunk, and those of the part.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use Test::More;

my $node = start_node('main', "shared_buffers = 64MB\nautovacuum = off\njit = off\nmax_parallel_workers_per_gather = 0");
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION kiln;
CREATE TABLE large (n int, v kiln);
INSERT INTO large SELECT 1, kiln_tensor_agg(i::float8) FROM generate_series(1, 262144) i;
INSERT INTO large SELECT 2, kiln_reshape(v, '{16384,16}') FROM large WHERE n = 1;
INSERT INTO large SELECT 3, kiln_rename(a.v, '', 'a') || kiln_rename(b.v, '', 'b') FROM large a, large b WHERE a.n = 1 AND b.n = 2;
VACUUM (FREEZE, ANALYZE) large;
SQL
is($node->safe_psql('postgres', "SELECT octet_length(kiln_frame(v)) - 4 FROM large WHERE n = 1"), 2097344, 'a tensor of 2 MiB');

# Levels of the TOAST index: each of the two reads goes down once.
my $toast = $node->safe_psql('postgres', "SELECT reltoastrelid::regclass FROM pg_class WHERE relname = 'large'");
my $index = $node->safe_psql('postgres', "SELECT indexrelid::regclass FROM pg_index WHERE indrelid = '$toast'::regclass");
$node->safe_psql('postgres', 'CREATE EXTENSION pageinspect');
my $levels = 1 + $node->safe_psql('postgres', "SELECT level FROM bt_metap('$index')");
my $heap = $node->safe_psql('postgres', "SELECT pg_relation_size('large') / 8192");

# Pages that a query touches. The first run in a session also reads catalogs.
sub pages
{
	my ($query) = @_;
	my $plan = $node->safe_psql('postgres', "$query; EXPLAIN (ANALYZE, BUFFERS, COSTS off, TIMING off, SUMMARY off) $query");
	my ($hits) = $plan =~ /Buffers: shared hit=(\d+)/;
	my ($reads) = $plan =~ /Buffers: shared .*?read=(\d+)/;
	return ($hits // 0) + ($reads // 0);
}

# What is left of the table's own pages and two descents of the index.
sub toast_pages
{
	my ($query) = @_;
	return pages($query) - $heap - 2 * $levels;
}

my $whole = toast_pages('SELECT kiln_sum(v) FROM large WHERE n = 1');
cmp_ok($whole, '>', 256, "all elements: $whole pages");

for my $case (
	[ 'an element', 'SELECT kiln_at(v, 200000) FROM large WHERE n = 1' ],
	[ 'an element of a matrix', 'SELECT kiln_at(v, 12345, 7) FROM large WHERE n = 2' ],
	[ 'an element of a named tensor', q{SELECT kiln_at(v, 'b', 12345, 7) FROM large WHERE n = 3} ],
	[ '10 elements', 'SELECT kiln_slice(v, 200000, 200009) FROM large WHERE n = 1' ],
	[ '10 rows', 'SELECT kiln_slice(v, 12345, 12354) FROM large WHERE n = 2' ],
	[ '10 rows of a named tensor', q{SELECT kiln_slice(v, 'b', 12345, 12354) FROM large WHERE n = 3} ],
	[ 'a row', 'SELECT kiln_row(v, 12345) FROM large WHERE n = 2' ],
	[ 'the shape', 'SELECT kiln_shape(v) FROM large WHERE n = 2' ])
{
	my ($name, $query) = @$case;
	my $pages = toast_pages($query);
	cmp_ok($pages, '<=', 4, "$name: $pages TOAST pages beside the index");
}

# A name is found by search: one entry a step, whatever the number of tensors.
$node->safe_psql('postgres', <<'SQL');
INSERT INTO large SELECT 4, kiln_directory_agg('tensor ' || i, ARRAY[i]) FROM generate_series(1, 20000) i;
SQL
$heap = $node->safe_psql('postgres', "SELECT pg_relation_size('large') / 8192");
my $pages = pages(q{SELECT kiln_at(v, 'tensor 12345', 1) FROM large WHERE n = 4});
cmp_ok($pages, '<=', $heap + 18 * (2 + $levels), "one of 20,000 tensors: $pages pages in all");
is($node->safe_psql('postgres', q{SELECT kiln_at(v, 'tensor 12345', 1) FROM large WHERE n = 4}), '12345', 'and it is found');

done_testing();
