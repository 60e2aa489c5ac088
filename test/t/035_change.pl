# Changes that change nothing, for random values of every type: what is put back, merged with nothing, or taken apart and
# put together again is the same, byte for byte.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $values = 4_000;
my $generator = ($ENV{KILN_GENERATORS} // '') . '/frames';
plan skip_all => "no generator at $generator: run by make prove_installcheck" unless -x $generator;

my $node = start_node('main');
my $folder = PostgreSQL::Test::Utils::tempdir();

system("'$generator' $values 20261130 >'$folder/frames'") == 0 or die 'the generator failed';

# Values of one kind of frame each: inline as they come, and those of named structs by hash.
$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION kiln;
CREATE TABLE raw (n serial PRIMARY KEY, definition bytea, hash bytea, frame bytea);
COPY raw (definition, hash, frame) FROM '$folder/frames';
DO \$\$
DECLARE d record;
BEGIN
	FOR d IN SELECT DISTINCT definition FROM raw WHERE definition IS NOT NULL LOOP
		BEGIN
			PERFORM kiln_register(convert_from(d.definition, 'UTF8'));
		EXCEPTION WHEN OTHERS THEN NULL;
		END;
	END LOOP;
END \$\$;
CREATE TABLE made AS SELECT n, kiln_from_frame(frame) AS v FROM raw WHERE definition IS NOT NULL;
INSERT INTO made SELECT n + 1000000, kiln_intern(v) FROM made;
CREATE FUNCTION form(v kiln) RETURNS text LANGUAGE sql IMMUTABLE AS \$\$
	SELECT CASE WHEN d LIKE '%]' THEN 'list' WHEN d LIKE 'dict<%>' THEN 'dict' WHEN d LIKE '%)' AND d NOT LIKE 'enum(%' THEN 'struct' ELSE 'scalar' END
	FROM kiln_definition(v) AS d \$\$;
CREATE FUNCTION step(key text) RETURNS text LANGUAGE sql IMMUTABLE AS \$\$ SELECT '"' || replace(key, '"', '""') || '"' \$\$;
SQL
is($node->safe_psql('postgres', q{SELECT string_agg(DISTINCT left(encode(kiln_frame(v), 'hex'), 2), ' ') FROM made}), '11 12', 'values in both frames');

# Every field and key of every record and dict, put back where it was: as kiln values.
my ($parts, $changed) = split /\|/, $node->safe_psql('postgres', q{
	SELECT count(*), count(*) FILTER (WHERE kiln_frame(kiln_set(v, step(key), value)) <> kiln_frame(v))
	FROM made, kiln_each(v) AS e
	WHERE form(v) IN ('struct', 'dict')});
cmp_ok($parts, '>', 1000, "$parts parts put back");
is($changed, 0, 'each leaves the value as it was');

# Optional fields made absent, by NULL and by a patch, and set again.
my ($optional, $valid, $alike, $back) = split /\|/, $node->safe_psql('postgres', q{
	SELECT count(*), bool_and(kiln_verify(gone) AND gone -> key IS NULL), bool_and(kiln_frame(gone) = kiln_frame(kiln_merge(v, jsonb_build_object(key, NULL)))),
		bool_and(kiln_frame(kiln_set(gone, step(key), value)) = kiln_frame(v))
	FROM made, kiln_each(v) AS e, LATERAL (SELECT kiln_set(v, step(key), NULL) AS gone OFFSET 0) AS g
	WHERE form(v) = 'struct' AND kiln_typeof(v, step(key)) LIKE '%?'});
cmp_ok($optional, '>', 500, "$optional optional fields");
is("$valid$alike$back", 'ttt', 'each goes and comes back');

# Elements of lists, and the list put together again.
my ($elements, $lists) = split /\|/, $node->safe_psql('postgres', q{
	SELECT count(*), count(DISTINCT n) FROM made, kiln_unnest(v) WHERE form(v) = 'list'});
note "$lists lists of $elements elements";
is($node->safe_psql('postgres', q{
	SELECT count(*) FROM made AS l, kiln_unnest(v) WITH ORDINALITY AS u(e, i)
	WHERE form(v) = 'list' AND kiln_frame(kiln_set(v, '[' || i - 1 || ']', e)) <> kiln_frame(v)}),
	0, 'an element put back leaves its list as it was');

# What was not there comes and goes: a last element, an absent field.
is($node->safe_psql('postgres', q{
	SELECT count(*) FROM made, LATERAL (SELECT kiln_agg(one) AS l FROM (VALUES (v)) AS t(one)) AS a, LATERAL (SELECT kiln_set(l, '[1]', v) AS two) AS b
	WHERE NOT kiln_verify(two) OR kiln_frame(two -> 0) <> kiln_frame(two -> 1)}),
	0, 'a value appended to a list of itself');

# Merged with nothing.
is($node->safe_psql('postgres', q{
	SELECT count(*) FROM made
	WHERE CASE WHEN form(v) IN ('struct', 'dict') THEN kiln_frame(kiln_merge(v, '{}')) <> kiln_frame(v) END}),
	0, 'merging an empty object leaves a value as it was');

# All values of a definition as one list, and apart again.
is($node->safe_psql('postgres', q{
	WITH lists AS MATERIALIZED (SELECT kiln_definition(v) AS d, kiln_agg(v ORDER BY n) AS l FROM made GROUP BY 1)
	SELECT count(*) FILTER (WHERE NOT kiln_verify(l)) FROM lists}), 0, 'lists are valid');
is($node->safe_psql('postgres', q{
	WITH ordered AS (SELECT n, v, kiln_definition(v) AS d, row_number() OVER (PARTITION BY kiln_definition(v) ORDER BY n) AS i FROM made),
		lists AS MATERIALIZED (SELECT d, kiln_agg(v ORDER BY n) AS l FROM ordered GROUP BY d),
		apart AS (SELECT d, i, e FROM lists, kiln_unnest(l) WITH ORDINALITY AS u(e, i))
	SELECT count(*) FROM ordered FULL JOIN apart USING (d, i) WHERE kiln_frame(kiln_portable(v)) IS DISTINCT FROM kiln_frame(e)}),
	0, 'kiln_unnest gives back what kiln_agg took');

# A definition that is inferred takes its document.
my ($inferred, $failed) = split /\|/, $node->safe_psql('postgres', q{
	CREATE FUNCTION inferred(j jsonb) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE d text;
	BEGIN
		BEGIN
			d := kiln_infer(j);
		EXCEPTION WHEN datatype_mismatch OR program_limit_exceeded THEN
			RETURN 'refused';
		END;
		RETURN kiln_verify(kiln_encode(d, j))::text;
	END $$;
	SELECT count(*) FILTER (WHERE i = 'true'), count(*) FILTER (WHERE i NOT IN ('true', 'refused'))
	FROM made, inferred(v::jsonb) AS i WHERE n < 1000000});
cmp_ok($inferred, '>', 1000, "$inferred documents inferred");
is($failed, 0, 'each fits what was inferred');

$node->stop;
done_testing();
