# Every row of test/vectors through the server: the vectors that the codec's tests read too, here by text, frames
# and SQL.
#
# Perl turns the rows into hex, so that neither JSON nor the client's encoding stands between a row and its check;
# one function in the database checks each row and says what is wrong with it. Rows that want definitions
# registered register them in a subtransaction of their own, which is rolled back after the check.

use strict;
use warnings;

use Digest::SHA qw(sha256_hex);
use Encode qw(decode encode);
use FindBin;
use JSON::PP;
use lib $FindBin::RealBin;
use KilnTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $vectors = "$FindBin::RealBin/../vectors";
my $json = JSON::PP->new->utf8->allow_nonref;
my @checks;

# ------------------------------------------------------------------ rows

sub rows
{
	my ($file) = @_;

	open my $handle, '<', "$vectors/$file.jsonl" or die "$file: $!";
	return map { $json->decode($_) } <$handle>;
}

sub check
{
	my ($file, $row, $what, %arguments) = @_;

	$arguments{registered} //= [];
	push @checks, { file => $file, id => $row->{id}, what => $what, arguments => \%arguments };
	return;
}

sub utf8_of
{
	my ($hex) = @_;

	return pack('H*', $hex);
}

sub hex_of
{
	my ($bytes) = @_;

	return unpack('H*', $bytes);
}

# A JSON string as kiln prints it, of UTF-8 bytes.
sub quoted
{
	my ($bytes) = @_;
	my %short = (
		"\b" => '\\b', "\f" => '\\f', "\n" => '\\n', "\r" => '\\r', "\t" => '\\t',
		'"' => '\\"', '\\' => '\\\\');

	$bytes =~ s/([\x00-\x1f"\\])/$short{$1} \/\/ sprintf('\\u%04x', ord $1)/ge;
	return qq{"$bytes"};
}

# Is a canonical definition a struct's?
sub is_struct
{
	my ($definition) = @_;

	return $definition =~ /^(?:"(?:[^"]|"")+"|[a-z_][a-z0-9_]*)?\(.*\)$/s && $definition !~ /^enum\(/;
}

# A value's JSON text with the envelope around it.
sub enveloped
{
	my ($definition, $value) = @_;
	my $head = '{"$kiln": ' . quoted($definition);

	return "$head, \"\$value\": $value}" unless is_struct($definition);
	return "$head}" if $value =~ /^\s*\{\s*\}\s*$/;
	$value =~ s/^\s*\{/$head, / or die "no object: $value";
	return $value;
}

sub inline_frame
{
	my ($definition, $payload) = @_;

	return pack('CV', 0x12, length $definition) . $definition . $payload;
}

sub registered
{
	my ($list) = @_;

	return [ map { hex_of(encode('UTF-8', $_)) } @{ $list // [] } ];
}

# Definitions longer than they could be with "[]" behind them, and those that have no level left for it, have no
# value that is as easily written as an empty list.
sub definition_rows
{
	for my $row (rows('definitions'))
	{
		my $text = utf8_of($row->{text_hex} // '');
		my $canonical = utf8_of($row->{canonical_hex} // '');
		my $valid = $row->{kind} eq 'valid';
		my $recipe = $row->{recipe};

		if ($recipe)
		{
			my @items = map { (my $item = $recipe->{item}) =~ s/%d/$_/; $item } 0 .. $recipe->{count} - 1;

			$text = $recipe->{head} . join($recipe->{sep}, @items) . $recipe->{tail};
			is(length $text, $row->{bytes}, "definitions $row->{id}: the recipe's length");
			$valid = $row->{valid};
			$canonical = $row->{canonical_bytes} == 3 ? 'i32' : $text if $valid;
		}
		if (!$valid)
		{
			check('definitions', $row, 'invalid_definition',
				text => hex_of('{"$kiln": ' . quoted($text) . ', "$value": []}'));
			next;
		}
		if ((!defined $row->{depth} || $row->{depth} < 32) && length $text < 1048576 - 4)
		{
			check('definitions', $row, 'text', frame => hex_of(inline_frame("$canonical\[]", "\0\0\0\0")),
				text => hex_of('{"$kiln": ' . quoted("$text\n[]") . ', "$value": []}'),
				prints => hex_of('{"$kiln": ' . quoted("$canonical\[]") . ', "$value": []}'));
		}
		else
		{
			# a definition that is understood, and a payload of no bytes, which no definition allows
			check('definitions', $row, 'invalid_text', sqlstate => '22P02',
				text => hex_of('{"$kiln": ' . quoted($text) . ', "$base64": ""}'));
		}
		check('definitions', $row, 'register', text => hex_of($text),
			canonical => hex_of($canonical), hash => $row->{hash})
			if is_struct($canonical) && $canonical !~ /^\(/ && length $text < 100_000;
	}
	return;
}

sub payload_rows
{
	for my $row (rows('payloads'))
	{
		my $definition = utf8_of($row->{definition_hex});

		if ($row->{kind} eq 'recipe')
		{
			my $payload = utf8_of($row->{head}) . utf8_of($row->{item}) x $row->{count} . utf8_of($row->{tail});
			my $frame = inline_frame($definition, $payload);

			is(sha256_hex($payload), $row->{sha256}, "payloads $row->{id}: the recipe's digest");
			check('payloads', $row, $row->{valid} ? 'frame' : 'invalid_frame', frame => hex_of($frame),
				stored => hex_of($frame),
				offset => ($row->{offset} // 0) + length($frame) - length($payload), faults => faults($row->{fault}));
			next;
		}

		my $frame = hex_of(inline_frame($definition, utf8_of($row->{payload})));
		my $output = hex_of(enveloped($definition, utf8_of($row->{output_hex})));

		check('payloads', $row, 'frame', frame => $frame, stored => $frame, text => $output);
		check('payloads', $row, 'json', frame => $frame, text => $row->{output_hex});
		check('payloads', $row, 'text', frame => $frame, prints => $output,
			text => hex_of(enveloped($definition, utf8_of($row->{input_hex}))))
			if $row->{kind} eq 'value';
	}
	return;
}

# SQLSTATEs of damaged bytes.
sub faults
{
	my ($fault) = @_;

	return ($fault // '') =~ /^(?:utf8|nul)$/ ? ['22021'] : ['22P03'];
}

sub invalid_payload_rows
{
	for my $row (rows('invalid_payloads'))
	{
		my $definition = utf8_of($row->{definition_hex});

		if ($row->{kind} eq 'payload')
		{
			my $frame = inline_frame($definition, utf8_of($row->{payload}));

			check('invalid_payloads', $row, 'invalid_frame', frame => hex_of($frame), path => $row->{path_hex},
				offset => $row->{offset} + 5 + length $definition, faults => faults($row->{fault}));
			next;
		}
		my ($input, $path) = (utf8_of($row->{input_hex}), utf8_of($row->{path_hex}));

		# a struct that is given as something else has no place in the envelope
		($definition, $input, $path) = ("$definition\[]", "[$input]", '[0]')
			if is_struct($definition) && $input !~ /^\s*\{/;
		check('invalid_payloads', $row, 'invalid_text', path => hex_of($path), sqlstate => sqlstate_of($row),
			text => hex_of(enveloped($definition, $input)));
	}
	return;
}

# The vectors' SQLSTATE, but for an escape that stands for no character: 22P05.
sub sqlstate_of
{
	my ($row) = @_;

	return $row->{reason} =~ /^(?:\\u0000|lone )/ ? '22P05' : $row->{sqlstate};
}

sub frame_rows
{
	my $usual;

	for my $row (rows('frames'))
	{
		my $registered = registered($row->{registered});
		my $kind = $row->{kind};

		$usual = $registered if @$registered == 3;
		if ($kind eq 'frame')
		{
			check('frames', $row, 'frame', registered => $registered,
				frame => $row->{frame}, stored => $row->{stored}, text => $row->{text_hex});
		}
		elsif ($kind eq 'invalid_frame')
		{
			check('frames', $row, 'invalid_frame', registered => $registered,
				frame => $row->{frame}, offset => $row->{offset}, faults => [ '22P03', '22021' ]);
		}
		elsif ($kind eq 'text')
		{
			check('frames', $row, 'text', registered => $registered, column => $row->{column}, text => $row->{text_hex},
				frame => $row->{frame}, prints => hex_of(encode('UTF-8', $row->{prints})));
		}
		elsif ($kind eq 'invalid_text')
		{
			check('frames', $row, 'invalid_text', registered => $registered, column => $row->{column},
				text => $row->{text_hex}, sqlstate => sqlstate_of($row));
		}
		elsif ($kind eq 'ascending')
		{
			check('frames', $row, 'ascending', registered => $usual, frames => $row->{frames});
		}
		else
		{
			check('frames', $row, 'order', registered => $usual,
				a => $row->{a}, b => $row->{b}, order => $row->{order});
		}
	}
	return;
}

sub tensor_rows
{
	for my $row (rows('tensors'))
	{
		my $head = "\x13\0\0\0";

		if ($row->{kind} eq 'directory')
		{
			my $frame = hex_of($head) . $row->{directory};

			check('tensors', $row, 'frame', frame => $frame, stored => $frame, text => $row->{text_hex});
		}
		elsif ($row->{kind} eq 'invalid')
		{
			check('tensors', $row, 'invalid_frame', frame => hex_of($head) . $row->{directory},
				offset => $row->{offset} + 4, faults => [ '22P03', '22021' ]);
		}
		else
		{
			my $count = $row->{shape}[0];
			my $directory = utf8_of($row->{head}) . pack('d<*', map { $_ + 0.5 } 0 .. $count - 1);
			my $data = join ',', map { $_ + 0.5 } 0 .. $count - 1;

			is(sha256_hex($directory), $row->{sha256}, "tensors $row->{id}: the directory's digest");
			check('tensors', $row, 'frame', frame => hex_of($head . $directory), stored => hex_of($head . $directory));
			check('tensors', $row, 'reads', frame => hex_of($head . $directory),
				text => hex_of(qq({"\$kiln": "tensors", )
				. qq("$row->{name}": {"dtype": "$row->{dtype}", "shape": [$count], "data": [$data]}})));
		}
	}
	return;
}

sub path_rows
{
	for my $row (rows('paths'))
	{
		my $definition = utf8_of($row->{definition_hex});
		my %arguments = (
			registered => registered($row->{versions}),
			payload => $row->{payload},
			definition => $row->{definition_hex},
			frame => hex_of(inline_frame($definition, utf8_of($row->{payload}))),
			path => $row->{path_hex});

		if ($row->{kind} eq 'found')
		{
			$arguments{text} = $row->{result_hex};
			$arguments{found} = hex_of(inline_frame(encode('UTF-8', $row->{type}), utf8_of($row->{result_payload})));
		}
		$arguments{sqlstate} = $row->{sqlstate} if $row->{kind} eq 'error';
		check('paths', $row, 'path', %arguments);
	}
	return;
}

# ------------------------------------------------------------------ the server's side

my $functions = <<'SQL';
CREATE EXTENSION kiln;

CREATE FUNCTION bytes_of(arguments jsonb, key text) RETURNS bytea
	LANGUAGE sql IMMUTABLE AS $$ SELECT decode(arguments->>key, 'hex') $$;
CREATE FUNCTION text_of(arguments jsonb, key text) RETURNS text
	LANGUAGE sql IMMUTABLE AS $$ SELECT convert_from(decode(arguments->>key, 'hex'), 'UTF8') $$;
CREATE FUNCTION differs(what text, got text, wanted text) RETURNS text
	LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE WHEN got IS DISTINCT FROM wanted THEN
		format('%s: got %s, wanted %s', what, coalesce(left(got, 300), 'NULL'), coalesce(left(wanted, 300), 'NULL')) END
$$;

-- text input with a column's typmod, as COPY and records call it
CREATE FUNCTION read_text(input text, "column" text) RETURNS kiln
	LANGUAGE plpgsql AS $$
BEGIN
	RETURN kiln_in(input::cstring, 0,
		CASE WHEN "column" IS NULL THEN -1 ELSE kiln_typmod_in(ARRAY["column"]::cstring[]) END);
END $$;

-- … and without it, the length coercion after it, as literals and parameters have it
CREATE FUNCTION read_literal(input text, "column" text) RETURNS kiln
	LANGUAGE plpgsql AS $$
DECLARE v kiln;
BEGIN
	EXECUTE format('SELECT %L::kiln(%I)', input, "column") INTO v;
	RETURN v;
END $$;

-- The error of an action: its SQLSTATE, and its detail.
CREATE FUNCTION fault_of(action text, input text, frame bytea, "column" text, OUT state text, OUT detail text)
	LANGUAGE plpgsql AS $$
BEGIN
	IF action = 'frame' THEN PERFORM kiln_from_frame(frame);
	ELSIF action = 'literal' THEN PERFORM read_literal(input, "column");
	ELSE PERFORM read_text(input, "column"); END IF;
	state := 'accepted';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, detail = PG_EXCEPTION_DETAIL;
END $$;

CREATE FUNCTION check_frame(a jsonb) RETURNS text
	LANGUAGE plpgsql AS $$
DECLARE
	v kiln := kiln_from_frame(bytes_of(a, 'frame'));
	stored text := coalesce(a->>'stored', a->>'frame');
BEGIN
	RETURN coalesce(
		differs('stored', encode(kiln_frame(v), 'hex'), stored),
		differs('sent', encode(kiln_send(v), 'hex'), stored),
		differs('text', CASE WHEN a ? 'text' THEN v::text END, text_of(a, 'text')),
		differs('read back', encode(kiln_frame(v::text::kiln), 'hex'), stored));
END $$;

CREATE FUNCTION check_json(a jsonb) RETURNS text
	LANGUAGE sql AS $$
	SELECT differs('json', kiln_from_frame(bytes_of(a, 'frame'))::json::text, text_of(a, 'text'))
$$;

CREATE FUNCTION check_text(a jsonb) RETURNS text
	LANGUAGE plpgsql AS $$
DECLARE v kiln := read_text(text_of(a, 'text'), a->>'column');
BEGIN
	RETURN coalesce(
		differs('frame', encode(kiln_frame(v), 'hex'), a->>'frame'),
		differs('prints', v::text, text_of(a, 'prints')),
		differs('read back', encode(kiln_frame(read_text(v::text, a->>'column')), 'hex'), a->>'frame'),
		CASE WHEN a->>'column' IS NOT NULL THEN
			differs('as a literal',
				encode(kiln_frame(read_literal(text_of(a, 'text'), a->>'column')), 'hex'), a->>'frame') END);
END $$;

CREATE FUNCTION check_reads(a jsonb) RETURNS text
	LANGUAGE sql AS $$
	SELECT differs('frame', encode(kiln_frame(text_of(a, 'text')::kiln), 'hex'), a->>'frame')
$$;

CREATE FUNCTION check_invalid_text(a jsonb) RETURNS text
	LANGUAGE plpgsql AS $$
DECLARE
	fault record := fault_of('text', text_of(a, 'text'), NULL, a->>'column');
	literal record;
BEGIN
	IF a->>'column' IS NOT NULL THEN
		literal := fault_of('literal', text_of(a, 'text'), NULL, a->>'column');
		IF literal.state = 'accepted' OR literal.state LIKE 'XX%' THEN RETURN 'as a literal: ' || literal.state; END IF;
	END IF;
	RETURN coalesce(
		differs('SQLSTATE', fault.state, a->>'sqlstate'),
		CASE WHEN a ? 'path' THEN
			differs('detail', fault.detail,
				CASE WHEN a->>'path' <> '' THEN 'At path ' || text_of(a, 'path') || '.' ELSE '' END) END);
END $$;

-- A definition is refused as one: not for the value behind it.
CREATE FUNCTION check_invalid_definition(a jsonb) RETURNS text
	LANGUAGE plpgsql AS $$
DECLARE fault record := fault_of('text', text_of(a, 'text'), NULL, NULL);
BEGIN
	RETURN CASE
		WHEN fault.state NOT IN ('42601', '42602', '42701', '42804', '54000', '22021', '22P05', '22003', '42704')
			THEN 'SQLSTATE: ' || fault.state END;
END $$;

CREATE FUNCTION check_invalid_frame(a jsonb) RETURNS text
	LANGUAGE plpgsql AS $$
DECLARE
	fault record := fault_of('frame', NULL, bytes_of(a, 'frame'), NULL);
	detail text := 'At byte offset ' || (a->>'offset');
BEGIN
	IF NOT (a->'faults' ? fault.state) THEN RETURN 'SQLSTATE: ' || fault.state; END IF;
	IF a ? 'path' THEN
		RETURN differs('detail', fault.detail,
			detail || CASE WHEN a->>'path' <> '' THEN ', path ' || text_of(a, 'path') ELSE '' END || '.');
	END IF;
	RETURN CASE WHEN fault.detail NOT LIKE detail || ',%' AND fault.detail NOT LIKE detail || '.'
		THEN 'detail: ' || fault.detail || ' wanted ' || detail END;
END $$;

-- Names that mean something else as a text can't be registered (42939); all other structs with a name can.
CREATE FUNCTION check_register(a jsonb) RETURNS text
	LANGUAGE plpgsql AS $$
DECLARE hash text;
BEGIN
	hash := kiln_register(text_of(a, 'text'));
	RETURN coalesce(
		differs('hash', hash, a->>'hash'),
		differs('hash of the canonical text', kiln_register(text_of(a, 'canonical')), a->>'hash'),
		differs('definition', (SELECT definition FROM kiln_schemas s WHERE s.hash = a->>'hash'),
			text_of(a, 'canonical')));
EXCEPTION WHEN reserved_name THEN
	RETURN NULL;
END $$;

CREATE FUNCTION check_pair(a kiln, b kiln, wanted integer) RETURNS text
	LANGUAGE sql AS $$
	SELECT coalesce(
		differs('compared',
			(CASE WHEN a < b THEN -1 ELSE 0 END + CASE WHEN a > b THEN 1 ELSE 0 END)::text, wanted::text),
		differs('=', (a = b)::text, (wanted = 0)::text),
		differs('<>', (a <> b)::text, (wanted <> 0)::text),
		differs('<=', (a <= b)::text, (wanted <= 0)::text),
		differs('>=', (a >= b)::text, (wanted >= 0)::text),
		CASE WHEN wanted = 0 THEN coalesce(
			differs('hash', kiln_hash_value(a)::text, kiln_hash_value(b)::text),
			differs('extended hash', kiln_hash_value_extended(a, 7)::text, kiln_hash_value_extended(b, 7)::text)) END)
$$;

CREATE FUNCTION check_order(a jsonb) RETURNS text
	LANGUAGE sql AS $$
	SELECT coalesce(check_pair(x, y, (a->>'order')::int), check_pair(y, x, -(a->>'order')::int))
	FROM (SELECT kiln_from_frame(bytes_of(a, 'a')) x, kiln_from_frame(bytes_of(a, 'b')) y) v
$$;

CREATE FUNCTION check_ascending(a jsonb) RETURNS text
	LANGUAGE sql AS $$
	WITH v AS MATERIALIZED (
		SELECT n, kiln_from_frame(decode(frame, 'hex')) AS value
		FROM jsonb_array_elements_text(a->'frames') WITH ORDINALITY f (frame, n))
	SELECT coalesce(
		(SELECT string_agg(format('%s and %s: %s', x.n, y.n, check_pair(x.value, y.value, sign(x.n - y.n)::int)), '; ')
		 FROM v x, v y WHERE check_pair(x.value, y.value, sign(x.n - y.n)::int) IS NOT NULL),
		differs('sorted', (SELECT string_agg(n::text, ' ' ORDER BY value) FROM v),
			(SELECT string_agg(n::text, ' ' ORDER BY n) FROM v)))
$$;

CREATE FUNCTION check_path(a jsonb) RETURNS text
	LANGUAGE plpgsql AS $$
DECLARE
	v kiln := kiln_from_frame(bytes_of(a, 'frame'));
	path text := text_of(a, 'path');
	state text := 'found';
	result text;
	json text;
	part kiln;
BEGIN
	IF jsonb_array_length(a->'registered') > 0 THEN v := kiln_intern(v); END IF;
	BEGIN
		result := kiln_get(v, path);
		json := kiln_get_json(v, path)::text;
		part := kiln_get_kiln(v, path);
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE;
	END;
	IF a ? 'sqlstate' OR state <> 'found' THEN RETURN differs('SQLSTATE', state, a->>'sqlstate'); END IF;
	RETURN coalesce(
		differs('json', json, text_of(a, 'text')),
		differs('text', result,
			CASE WHEN left(text_of(a, 'text'), 1) = '"' THEN text_of(a, 'text')::jsonb #>> '{}'
				ELSE text_of(a, 'text') END),
		differs('value', encode(kiln_frame(kiln_portable(part)), 'hex'), a->>'found'));
END $$;

-- Check one row with its definitions registered, and leave nothing behind.
CREATE FUNCTION check_row(what text, a jsonb) RETURNS text
	LANGUAGE plpgsql AS $$
DECLARE
	definition text;
	problem text;
BEGIN
	FOR definition IN
		SELECT convert_from(decode(d, 'hex'), 'UTF8') FROM jsonb_array_elements_text(a->'registered') d LOOP
		PERFORM kiln_register(definition);
	END LOOP;
	EXECUTE format('SELECT check_%s($1)', what) INTO problem USING a;
	RAISE EXCEPTION USING ERRCODE = 'KILN0', MESSAGE = coalesce(problem, '');
EXCEPTION
	WHEN SQLSTATE 'KILN0' THEN RETURN SQLERRM;
	WHEN OTHERS THEN RETURN SQLSTATE || ' ' || SQLERRM;
END $$;

CREATE TABLE vector (n integer PRIMARY KEY, what text NOT NULL, arguments jsonb NOT NULL);
SQL

# ------------------------------------------------------------------ run

definition_rows();
payload_rows();
invalid_payload_rows();
frame_rows();
tensor_rows();
path_rows();

my $node = start_node('main', "client_min_messages = warning\n");
my $rows = PostgreSQL::Test::Utils::tempdir() . '/rows';

# hex and digits only: nothing that COPY would take for its own
open my $handle, '>', $rows or die "$rows: $!";
print $handle "$_\t$checks[$_]{what}\t", $json->canonical->encode($checks[$_]{arguments}), "\n" for 0 .. $#checks;
close $handle or die "$rows: $!";

$node->safe_psql('postgres', $functions);
$node->safe_psql('postgres', "COPY vector FROM '$rows'");
my $answers = $node->safe_psql('postgres',
	'SELECT n, replace(check_row(what, arguments), chr(10), chr(32)) FROM vector ORDER BY n');
my %problem = map { /^(\d+)\|(.*)$/ ? ($1, $2) : () } split /\n/, decode('UTF-8', $answers);

is(scalar keys %problem, scalar @checks, 'every row has an answer');
for my $n (0 .. $#checks)
{
	my ($file, $id, $what) = @{ $checks[$n] }{qw(file id what)};

	is(encode('UTF-8', $problem{$n} // 'no answer'), '', "$file $id: $what");
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM kiln_schemas'), 0, 'nothing is left registered');

done_testing();
