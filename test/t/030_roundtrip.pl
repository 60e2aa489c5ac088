# Out and in again, for random values of every type: by text and by binary, under settings that must not matter.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $values = 10_000;
my $generator = ($ENV{KILN_GENERATORS} // '') . '/frames';
plan skip_all => "no generator at $generator: run by make prove_installcheck" unless -x $generator;

my $node = start_node('main');
my $folder = PostgreSQL::Test::Utils::tempdir();

system("'$generator' $values >'$folder/frames'") == 0 or die 'the generator failed';

$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION kiln;
CREATE TABLE raw (n serial PRIMARY KEY, definition bytea, hash bytea, frame bytea);
COPY raw (definition, hash, frame) FROM '$folder/frames';
SQL

# About half of the definitions are registered, as far as they can be: those of named structs.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE definitions AS
	SELECT DISTINCT definition, hash, false AS registered, '' AS refused FROM raw WHERE definition IS NOT NULL;
DO $$
DECLARE d record;
BEGIN
	FOR d IN SELECT * FROM definitions WHERE get_byte(hash, 0) % 2 = 0 LOOP
		BEGIN
			PERFORM kiln_register(convert_from(d.definition, 'UTF8'));
			UPDATE definitions SET registered = true WHERE hash = d.hash;
		EXCEPTION WHEN OTHERS THEN
			UPDATE definitions SET refused = SQLERRM WHERE hash = d.hash;
		END;
	END LOOP;
END $$;
SQL
note $node->safe_psql('postgres', 'SELECT registered, refused, count(*) FROM definitions GROUP BY 1, 2 ORDER BY 1, 2');
cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM definitions WHERE registered'), '>', 20, 'definitions were registered');

# Each value as it was made, and each record once more under its definition's hash: so all four kinds of frame are there.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE made (n serial PRIMARY KEY, frame bytea, v kiln);
INSERT INTO made (frame, v) SELECT frame, kiln_from_frame(frame) FROM raw ORDER BY n;
INSERT INTO made (frame, v)
	SELECT f, kiln_from_frame(f)
	FROM raw JOIN definitions USING (definition, hash),
		LATERAL (SELECT (CASE WHEN registered THEN '\x11' ELSE '\x14' END)::bytea || hash || substr(frame, 6 + length(definition)) AS f) x
	ORDER BY n;
SQL
is($node->safe_psql('postgres', q{SELECT string_agg(DISTINCT encode(substr(kiln_frame(v), 1, 1), 'hex'), ' ') FROM made}),
	'11 12 13 14', 'frames of all kinds');
is($node->safe_psql('postgres', 'SELECT count(*) FROM made WHERE kiln_frame(v) <> frame'), 0, 'each is stored as it was made');

my @settings = (
	"SET datestyle = 'ISO, MDY'; SET timezone = 'UTC'; SET extra_float_digits = 1; SET bytea_output = 'hex'; SET intervalstyle = 'postgres'",
	"SET datestyle = 'SQL, DMY'; SET timezone = 'Asia/Kolkata'; SET extra_float_digits = -15; SET bytea_output = 'escape';
	 SET intervalstyle = 'iso_8601'; SET standard_conforming_strings = off; SET escape_string_warning = off; SET xmloption = 'document'",
	"SET datestyle = 'German'; SET timezone = 'America/St_Johns'; SET extra_float_digits = 3; SET bytea_output = 'hex';
	 SET search_path = ''; SET quote_all_identifiers = on; SET client_encoding = 'UTF8'");

# A locale with a decimal comma, where the machine has one.
my ($comma) = grep { /^(de|fr|it|es)_\w+\.utf-?8$/i } split /\n/, `locale -a 2>/dev/null`;
if ($comma)
{
	$settings[1] .= "; SET lc_numeric = '$comma'; SET lc_monetary = '$comma'; SET lc_time = '$comma'";
}
note 'locale with a decimal comma: ', $comma // 'none';

my @texts;
for my $i (0 .. $#settings)
{
	my $set = $settings[$i];
	my $name = 'settings ' . ($i + 1);

	$node->safe_psql('postgres', "$set; CREATE TABLE public.again (n int PRIMARY KEY, way text, v public.kiln)");
	for my $format (qw(text binary csv))
	{
		# Out under these settings, in under the next ones.
		my $other = $settings[($i + 1) % @settings];

		$node->safe_psql('postgres', "$set; COPY public.made (n, v) TO '$folder/copy' (FORMAT $format)");
		$node->safe_psql('postgres', "$other; TRUNCATE public.again; COPY public.again (n, v) FROM '$folder/copy' (FORMAT $format)");
		is($node->safe_psql('postgres', 'SELECT count(*) FROM again'),
			$node->safe_psql('postgres', 'SELECT count(*) FROM made'), "$name, COPY $format: all values");
		is( $node->safe_psql('postgres', q{
				SELECT count(*) FILTER (WHERE kiln_frame(a.v) <> m.frame), count(*) FILTER (WHERE NOT a.v = m.v)
				FROM again a JOIN made m USING (n)}),
			'0|0', "$name, COPY $format: the same values, byte for byte");
	}
	is( $node->safe_psql('postgres', "$set; SELECT count(*) FROM public.made WHERE public.kiln_frame(v::text::public.kiln) OPERATOR(pg_catalog.<>) frame"),
		0, "$name: through text in one session");
	push @texts, $node->safe_psql('postgres', "$set; SELECT md5(string_agg(v::text, E'\\n' ORDER BY n)) FROM public.made");
	$node->safe_psql('postgres', 'DROP TABLE again');
}
is($texts[$_], $texts[0], 'text under settings ' . ($_ + 1) . ' is the same') for 1 .. $#texts;

$node->stop;
done_testing();
