# Real data: all languages of ISO 639-3, as Debian's iso-codes has them, through a typed column by every way in, and back.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use Test::More;

my $json = '/usr/share/iso-codes/json/iso_639-3.json';
plan skip_all => "$json is not there (package iso-codes)" unless -r $json;

my $node = start_node('main');

$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION kiln;
CREATE TABLE source AS
	SELECT row_number() OVER ()::int AS n, j FROM jsonb_array_elements(pg_read_file('$json')::jsonb -> '639-3') j;
SELECT kiln_register('language(alpha_3 string,name string,scope string,type string,alpha_2 string?,bibliographic string?,'
	'common_name string?,inverted_name string?)');
CREATE TYPE language_row AS (alpha_3 text, name text, scope text, type text, alpha_2 text, bibliographic text, common_name text,
	inverted_name text);
SQL

my $rows = $node->safe_psql('postgres', 'SELECT count(*) FROM source');
cmp_ok($rows, '>', 7000, "$rows languages");

# The definition has every key of the source, so that nothing is left out unseen.
is($node->safe_psql('postgres', q{SELECT string_agg(DISTINCT k, ' ' ORDER BY k) FROM source, jsonb_object_keys(j) k}),
	'alpha_2 alpha_3 bibliographic common_name inverted_name name scope type', 'the keys of the source are those of the schema');
cmp_ok($node->safe_psql('postgres', q{SELECT count(*) FROM source WHERE j->>'name' ~ '[^ -~]'}), '>', 50, 'names beyond ASCII among them');

my %ways = (
	'kiln_encode from jsonb' => q{SELECT n, kiln_encode('language', j) FROM source},
	'kiln_encode from json' => q{SELECT n, kiln_encode('language', j::json) FROM source},
	'kiln_encode from a row' => q{SELECT n, kiln_encode('language', jsonb_populate_record(null::language_row, j)) FROM source},
	'assignment from jsonb' => q{SELECT n, j FROM source},
	'text' => q{SELECT n, j::text::kiln FROM source});

for my $way (sort keys %ways)
{
	$node->safe_psql('postgres', "CREATE TABLE languages (n int PRIMARY KEY, m kiln(language)); INSERT INTO languages $ways{$way}");

	is($node->safe_psql('postgres', 'SELECT count(*) FROM languages'), $rows, "$way: every row came in");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM languages JOIN source USING (n) WHERE m::jsonb IS DISTINCT FROM j'),
		0, "$way: as jsonb each equals its source");
	for my $field (qw(alpha_3 name scope type alpha_2 bibliographic common_name inverted_name))
	{
		is( $node->safe_psql('postgres', qq{
				SELECT count(*) FILTER (WHERE kiln_get(m, '$field') IS DISTINCT FROM j->>'$field'),
					count(*) FILTER (WHERE m->>'$field' IS DISTINCT FROM j->>'$field'),
					count(*) FILTER (WHERE (m->'$field')::jsonb IS DISTINCT FROM j->'$field')
				FROM languages JOIN source USING (n)}),
			'0|0|0', "$way: $field");
	}
	$node->safe_psql('postgres', 'DROP TABLE languages');
}

# All ways in give the same bytes.
$node->safe_psql('postgres', 'CREATE TABLE languages (n int, m kiln(language))');
$node->safe_psql('postgres', "INSERT INTO languages $ways{$_}") for sort keys %ways;
is($node->safe_psql('postgres', 'SELECT count(*) FROM (SELECT n FROM languages GROUP BY n HAVING count(DISTINCT kiln_frame(m)) <> 1) x'),
	0, 'the same bytes by every way in');

$node->stop;
done_testing();
