# Damaged input: valid text and binary with each byte flipped, cut, extended and spliced, tried in the server.
#
# Each try goes through a door (text, typed text, binary, definitions, paths). It is refused with an error of PostgreSQL's own classes,
# never an internal one, or taken; and what is taken prints, reads back as the same value, and verifies. The session lives
# through all of it and does not grow. Then the same bytes are put *behind* the door, as a broken disk or a lying
# definition would: readers may raise, but stay inside the value.
#
# KILN_MUTATIONS sets the number of tries.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $tries = $ENV{KILN_MUTATIONS} || 250_000;
my $generator = ($ENV{KILN_GENERATORS} // '') . '/frames';
plan skip_all => "no generator at $generator: run by make prove_installcheck" unless -x $generator;

my $node = start_node('main', <<'SETTINGS');
autovacuum = off
fsync = off
jit = off
log_min_messages = log
log_min_error_statement = panic
SETTINGS
my $folder = PostgreSQL::Test::Utils::tempdir();

# As many random values as it takes, from a seed that is said and can be set.
my $seed = $ENV{KILN_SEED} || 20000101;
my $values = 2000 + int($tries / 40);
note "seed $seed";
system("'$generator' $values $seed >'$folder/frames'") == 0 or die 'the generator failed';

# In SQL_ASCII any bytes but NUL come as far as kiln_in; in UTF8 the server refuses some first, so it is the place for the rest.
$node->safe_psql('postgres', "CREATE DATABASE ascii ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0");

sub set_up
{
	my ($database) = @_;

	$node->safe_psql($database, <<"SQL");
CREATE EXTENSION kiln;
SELECT kiln_register('$EVENT_1'), kiln_register('$EVENT_2');
CREATE TABLE raw (n serial PRIMARY KEY, definition bytea, hash bytea, frame bytea);
COPY raw (definition, hash, frame) FROM '$folder/frames';
CREATE TABLE bases (n serial PRIMARY KEY, door text, bytes bytea);
CREATE TABLE refused (door text, way text, state text, tries bigint);
CREATE TABLE wrong (door text, bytes bytea, state text, message text);

-- One mutation of a value. i counts through the ways to damage it: byte i flipped, cut before it, bytes put in before it, and
-- the rest of another value from there on.
CREATE FUNCTION mutated(bytes bytea, way text, i int, r int, other bytea) RETURNS bytea LANGUAGE plpgsql AS \$\$
BEGIN
	CASE way
		WHEN 'flip' THEN RETURN set_byte(bytes, i, get_byte(bytes, i) # CASE WHEN r % 3 = 0 THEN 1 << (r % 8) ELSE 1 + r % 255 END);
		WHEN 'cut' THEN RETURN substr(bytes, 1, i);
		WHEN 'extend' THEN RETURN substr(bytes, 1, i) || substr(decode(md5(r::text), 'hex'), 1, 1 + r % 4) || substr(bytes, i + 1);
		ELSE RETURN substr(bytes, 1, i) || substr(other, 1 + r % (1 + length(other)));
	END CASE;
END \$\$;

-- Through a door. What comes back is a value or nothing.
CREATE FUNCTION try(door text, bytes bytea) RETURNS kiln LANGUAGE plpgsql AS \$\$
BEGIN
	CASE door
		WHEN 'frame' THEN RETURN kiln_from_frame(bytes);
		WHEN 'text' THEN RETURN convert_from(bytes, getdatabaseencoding())::kiln;
		WHEN 'typed' THEN RETURN convert_from(bytes, getdatabaseencoding())::kiln::kiln(event);
		WHEN 'npy' THEN RETURN kiln_from_npy(bytes);
		WHEN 'safetensors' THEN RETURN kiln_from_safetensors(bytes);
		WHEN 'encode' THEN RETURN kiln_encode('event', convert_from(bytes, getdatabaseencoding()));
		WHEN 'definition' THEN RETURN kiln_encode(convert_from(bytes, getdatabaseencoding()), '{}'::text);
		WHEN 'path' THEN
			PERFORM kiln_get('{"\$kiln": "event", "id": 1, "name": "n", "tags": ["a"]}'::kiln, convert_from(bytes, getdatabaseencoding()));
			RETURN NULL;
	END CASE;
END \$\$;

-- What was taken has to hold together.
CREATE FUNCTION check_taken(v kiln) RETURNS void LANGUAGE plpgsql AS \$\$
DECLARE
	again kiln := v::text::kiln;
BEGIN
	IF kiln_frame(again) IS DISTINCT FROM kiln_frame(v) THEN
		RAISE EXCEPTION 'the text reads as another value' USING ERRCODE = 'KI001';
	END IF;
	IF NOT v = again OR kiln_hash_value(v) <> kiln_hash_value(again) THEN
		RAISE EXCEPTION 'equality or hash differ' USING ERRCODE = 'KI001';
	END IF;
	IF get_byte(kiln_frame(v), 0) <> 20 THEN		-- an unverified value is what it is
		IF NOT kiln_verify(v) THEN
			RAISE EXCEPTION 'it does not verify' USING ERRCODE = 'KI001';
		END IF;
		PERFORM v::json;
	END IF;
END \$\$;

CREATE PROCEDURE damage(the_door text, wanted int, seed int) LANGUAGE plpgsql AS \$\$
DECLARE
	base record;
	counts jsonb := '{}';
	other bytea := '\\x';
	way text;
	v kiln;
	m bytea;
	k text;
	r int := seed;
	done int := 0;
	taken int := 0;
	message text;
BEGIN
	FOR base IN SELECT n, bytes FROM bases WHERE door = the_door ORDER BY n LOOP
		EXIT WHEN done >= wanted;
		FOREACH way IN ARRAY '{flip,cut,extend,splice}'::text[] LOOP
			FOR i IN 0 .. length(base.bytes) - 1 LOOP
				-- Every byte of it is flipped; of the other ways, some of a long value.
				r := (r::bigint * 48271 % 2147483647)::int;
				CONTINUE WHEN way <> 'flip' AND length(base.bytes) > 60 AND r % length(base.bytes) > 60;
				m := mutated(base.bytes, way, i, r, other);
				done := done + 1;
				BEGIN
					v := try(the_door, m);
					IF v IS NOT NULL THEN
						PERFORM check_taken(v);
						taken := taken + 1;
					END IF;
				EXCEPTION WHEN OTHERS THEN
					k := SQLSTATE;
					IF k LIKE 'XX%' OR k LIKE 'KI%' OR k IN ('53200', '54001', '42883') THEN
						message := SQLERRM;
						INSERT INTO wrong VALUES (the_door, m, k, message);
					END IF;
					k := way || ' ' || k;
					counts := jsonb_set(counts, ARRAY[k], to_jsonb(coalesce((counts->>k)::bigint, 0) + 1));
				END;
			END LOOP;
		END LOOP;
		other := base.bytes;
		IF base.n % 8 = 0 THEN
			COMMIT;
		END IF;
	END LOOP;
	INSERT INTO refused SELECT the_door, split_part(key, ' ', 1), split_part(key, ' ', 2), value::bigint FROM jsonb_each_text(counts);
	INSERT INTO refused VALUES (the_door, 'any', 'taken', taken), (the_door, 'any', 'tried', done);
END \$\$;

CREATE FUNCTION memory() RETURNS bigint LANGUAGE sql AS
	\$\$ SELECT sum(total_bytes)::bigint FROM pg_backend_memory_contexts WHERE name <> 'ErrorContext' \$\$;
SQL

	# Binary: inline frames and tensors as made, others under a registered hash. Text: how these print. Short ones first, so that every part of
	# a value is met; a few long ones.
	my $short = 'length(frame) BETWEEN 6 AND 400';
	$node->safe_psql($database, <<"SQL");
DO \$\$
DECLARE d text;
BEGIN
	FOR d IN SELECT DISTINCT encode(definition, 'escape') FROM raw ORDER BY 1 LOOP
		CONTINUE WHEN d !~ '^[a-z]{3,}[(][ -~]*\$' OR d LIKE '%\\\\%';
		EXIT WHEN (SELECT count(*) >= 40 FROM kiln_schemas);
		BEGIN
			PERFORM kiln_register(d);
		EXCEPTION WHEN OTHERS THEN			-- not the definition of a struct with a name
			NULL;
		END;
	END LOOP;
END \$\$;
INSERT INTO bases (door, bytes) SELECT 'frame', frame FROM raw WHERE $short ORDER BY md5(n::text);
INSERT INTO bases (door, bytes)
	SELECT 'frame', kiln_frame(kiln_encode('event', jsonb_build_object('id', i, 'name', 'name ' || i, 'score', i / 3.0::float8,
		'tags', array['x', repeat('y', i)]))) FROM generate_series(1, 40) i;
INSERT INTO bases (door, bytes)
	SELECT 'text', convert_to(kiln_from_frame(frame)::text, getdatabaseencoding()) FROM raw WHERE $short ORDER BY md5(n::text);
INSERT INTO bases (door, bytes)
	SELECT d, convert_to(format('{"id": %s, "name": "n\\u00e9 \\t%s", "score": %se%s, "tags": ["a", "%s"]}', i, i, i, i, repeat('t', i)), getdatabaseencoding())
	FROM generate_series(1, 60) i, unnest('{typed,encode}'::text[]) d;
INSERT INTO bases (door, bytes)
	SELECT 'npy', kiln_to_npy(kiln_cast(kiln_tensor(ARRAY[[1, i % 2], [0, 1]]::float8[]), (ARRAY['f64', 'f32', 'f16', 'i8', 'u32', 'bool'])[1 + i % 6])) FROM generate_series(1, 60) i;
INSERT INTO bases (door, bytes)
	SELECT 'safetensors', kiln_to_safetensors(kiln_tensor(ARRAY[1, i % 3]::float8[], 'w') || kiln_cast(kiln_tensor(ARRAY[[i]]::float8[], 'x'), 'bf16')) FROM generate_series(1, 60) i;
INSERT INTO bases (door, bytes) SELECT 'definition', definition FROM
	(SELECT DISTINCT definition FROM raw WHERE length(definition) BETWEEN 3 AND 300) d ORDER BY md5(definition);
INSERT INTO bases (door, bytes) SELECT 'path', p::bytea FROM unnest(ARRAY['tags[0]', 'id', 'name', 'tags[-1]', '"na""me".x[12]', 'a.b.c[1][2]."d e"']) p, generate_series(1, 10);
SQL
	return;
}

# One session does all tries of a door: that it ends well shows that it lived through all of them.
sub damage
{
	my ($database, $door, $wanted, $seed) = @_;
	my $ran = $node->safe_psql($database, <<"SQL");
CALL damage('$door', 500, 1);
SELECT memory() AS before \\gset
CALL damage('$door', $wanted, $seed);
SELECT memory() - :before, (SELECT tries FROM refused WHERE door = '$door' AND state = 'tried' ORDER BY tries DESC LIMIT 1),
	(SELECT sum(tries) FROM refused WHERE door = '$door' AND state = 'taken');
SQL
	my ($grown, $tried, $taken) = split /\|/, $ran;

	# The server remembers each server name that it looked for in vain, some 230 bytes a new definition. That is all.
	cmp_ok($grown, '<', 2_000_000 + 40 * $tried, "$database, $door: the session does not grow");
	note "$database, $door: $tried tries, $taken taken, $grown bytes more";
	is($node->safe_psql($database, "SELECT state, encode(bytes, 'escape'), message FROM wrong WHERE door = '$door' LIMIT 5"),
		'', "$database, $door: no internal error, and what is taken holds together");
	return $tried;
}

my $total = 0;
my %share = (frame => 0.55, text => 0.30, typed => 0.07, encode => 0.07, definition => 0.10, path => 0.01,
	npy => 0.04, safetensors => 0.04);

for my $database (qw(ascii postgres))
{
	set_up($database);
	for my $door (sort keys %share)
	{
		# The doors of text are of interest where any bytes pass, that of binary where the texts mean something.
		my $part = ($door =~ /^(?:frame|npy|safetensors)$/) == ($database eq 'postgres') ? 0.85 : 0.15;

		$total += damage($database, $door, int($tries * $share{$door} * $part), $seed % 1000 + length($door));
	}
	note $node->safe_psql($database, q{
		SELECT door, way, string_agg(state || ' ' || tries, ', ' ORDER BY tries DESC) FROM
			(SELECT door, way, state, sum(tries) AS tries FROM refused WHERE way <> 'any' GROUP BY 1, 2, 3) s GROUP BY 1, 2 ORDER BY 1, 2});
}

# ---- behind the door

# A cast that checks nothing stands for damage on disk. Only a superuser can make one. Registered payloads under other definitions
# are what a made hash collision gives.
$node->safe_psql('postgres', <<'SQL');
CREATE CAST (bytea AS kiln) WITHOUT FUNCTION;
CREATE TABLE stored (n serial PRIMARY KEY, bytes bytea);
CREATE PROCEDURE read_damaged(wanted int, seed int) LANGUAGE plpgsql AS $$
DECLARE
	base record;
	other bytea := '\x';
	payload int;
	done int := 0;
	r int := seed;
	m bytea;
	v kiln;
	way text;
	hashes bytea[] := ARRAY(SELECT decode(hash, 'hex') FROM kiln_schemas ORDER BY hash);
	fields text[];
	reader text;
	f text;
	i int;
BEGIN
	FOR base IN SELECT n, bytes FROM bases WHERE door = 'frame' ORDER BY n DESC LOOP
		EXIT WHEN done >= wanted;
		payload := CASE get_byte(base.bytes, 0) WHEN 18 THEN
			5 + get_byte(base.bytes, 1) + 256 * get_byte(base.bytes, 2) WHEN 19 THEN 4 ELSE 9 END;
		CONTINUE WHEN payload >= length(base.bytes);
		BEGIN
			fields := ARRAY(SELECT k FROM kiln_keys(base.bytes::kiln) k LIMIT 20);
		EXCEPTION WHEN OTHERS THEN
			fields := '{}';
		END;
		FOR j IN 1 .. 12 LOOP
			r := (r::bigint * 48271 % 2147483647)::int;
			i := payload + r % (length(base.bytes) - payload);
			way := (ARRAY['flip', 'cut', 'extend', 'splice', 'lie'])[1 + j % 5];
			IF way = 'lie' THEN
				-- Another registered definition over this payload, the bytes of which are none of its.
				m := '\x11'::bytea || (SELECT string_agg(set_byte('\x00', 0, get_byte(h, 7 - b)), '' ORDER BY b)
					FROM (SELECT hashes[1 + r % cardinality(hashes)] AS h) x, generate_series(0, 7) b) || substr(base.bytes, payload + 1);
			ELSE
				m := mutated(base.bytes, way, i, r, other);
			END IF;
			v := m::kiln;
			FOREACH reader IN ARRAY '{text,json,jsonb,eq,hash,each,each_text,keys,unnest,verify,portable,tensors,sum,array,at,slice,row,
					fields,get_1,get_2,get_3,get_4,get_5,get_6,get_7,get_8,get_9,typeof}'::text[] LOOP
				done := done + 1;
				BEGIN
					CASE reader
						WHEN 'text' THEN PERFORM length(v::text);
						WHEN 'json' THEN PERFORM length(v::json::text);
						WHEN 'jsonb' THEN PERFORM v::jsonb;
						WHEN 'eq' THEN PERFORM v = base.bytes::kiln, v < base.bytes::kiln, kiln_cmp(base.bytes::kiln, v);
						WHEN 'hash' THEN PERFORM kiln_hash_value(v), kiln_hash_value_extended(v, 1);
						WHEN 'each' THEN PERFORM count(e.value) FROM kiln_each(v) e;
						WHEN 'each_text' THEN PERFORM count(e.value) FROM kiln_each_text(v) e;
						WHEN 'keys' THEN PERFORM count(*) FROM kiln_keys(v);
						WHEN 'unnest' THEN PERFORM count(u::text) FROM kiln_unnest(v) u;
						WHEN 'verify' THEN PERFORM kiln_verify(v);
						WHEN 'portable' THEN PERFORM kiln_portable(v), kiln_definition(v);
						WHEN 'tensors' THEN PERFORM count(*) FROM kiln_tensors(v);
						WHEN 'sum' THEN PERFORM kiln_sum_agg(v), kiln_tensor_agg(v), kiln_directory_agg('d', v);
						WHEN 'array' THEN PERFORM kiln_to_array(v);
						WHEN 'at' THEN PERFORM kiln_at(v, 1), kiln_at(v, 100000);
						WHEN 'slice' THEN PERFORM kiln_slice(v, 1, 3);
						WHEN 'row' THEN PERFORM kiln_row(v, 1);
						WHEN 'typeof' THEN PERFORM kiln_typeof(v, '');
						ELSE
							FOREACH f IN ARRAY fields || ARRAY['id', 'name', 'tags', 'tags[0]', 'score', ''] LOOP
								BEGIN
									CASE reader
										WHEN 'fields' THEN PERFORM v->f, v->>f, v ? f;
										WHEN 'get_1' THEN PERFORM kiln_get(v, f);
										WHEN 'get_2' THEN PERFORM kiln_get_int8(v, f);
										WHEN 'get_3' THEN PERFORM kiln_get_numeric(v, f);
										WHEN 'get_4' THEN PERFORM kiln_get_bytea(v, f);
										WHEN 'get_5' THEN PERFORM kiln_get_jsonb(v, f);
										WHEN 'get_6' THEN PERFORM kiln_get_timestamptz(v, f)::text;
										WHEN 'get_7' THEN PERFORM kiln_get_kiln(v, f)::text;
										WHEN 'get_8' THEN PERFORM kiln_get_date(v, f)::text, kiln_get_bool(v, f);
										ELSE PERFORM kiln_get(v, f, NULL::text[]);
									END CASE;
								EXCEPTION WHEN OTHERS THEN
									IF SQLSTATE LIKE 'XX%' OR SQLSTATE IN ('53200', '54001', '42883') THEN
										INSERT INTO wrong VALUES ('stored ' || reader || ' ' || f, m, SQLSTATE, SQLERRM);
									END IF;
								END;
							END LOOP;
					END CASE;
				EXCEPTION WHEN OTHERS THEN
					IF SQLSTATE LIKE 'XX%' OR SQLSTATE IN ('53200', '54001', '42883') THEN
						INSERT INTO wrong VALUES ('stored ' || reader, m, SQLSTATE, SQLERRM);
					END IF;
				END;
			END LOOP;
		END LOOP;
		other := base.bytes;
		COMMIT;
	END LOOP;
	INSERT INTO refused VALUES ('stored', 'any', 'tried', done);
END $$;
SQL
my $reads = $tries < 3000 ? 500 : int($tries / 6);
my $ran = $node->safe_psql('postgres', <<"SQL");
CALL read_damaged(500, 7);
SELECT memory() AS before \\gset
CALL read_damaged($reads, 11);
SELECT memory() - :before, max(tries) FROM refused WHERE door = 'stored';
SQL
my ($grown, $read) = split /\|/, $ran;
cmp_ok($grown, '<', 3_000_000, 'reading damaged values: the session does not grow');
note "behind the door: $read reads, $grown bytes more";
is($node->safe_psql('postgres', q{SELECT door, state, message, encode(bytes, 'hex') FROM wrong WHERE door LIKE 'stored%' LIMIT 5}),
	'', 'reading damaged values: no internal error');

# ---- the server is as it was

cmp_ok($total, '>=', $tries, "mutations tried: $total");
note "kiln-count mutations $total";
note "kiln-count reads $read";
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|was terminated by signal|server process .* exited with exit code [2-9]/, 'no crash in the log');
is($node->safe_psql('postgres', q{SELECT '1'::kiln}), $node->safe_psql('ascii', q{SELECT '1'::kiln}), 'and both databases answer');

$node->stop;
done_testing();
