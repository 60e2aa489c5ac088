# Updates: each older version's SQL objects work under the new library; ALTER EXTENSION UPDATE makes of them what a fresh install has, down to the last
# column of every catalog; no value changes, and nothing that was there is taken away. The comparison itself is tried: each of many small
# differences, made on purpose, has to show in it.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use KilnTest;
use PostgreSQL::Test::Utils;
use Test::More;

# A node whose fill_database() installs an older version.
package OldNode
{
	sub safe_psql
	{
		my ($self, $database, $sql, @options) = @_;

		$self->{seen} += $sql =~ s/^CREATE EXTENSION kiln;/CREATE EXTENSION kiln VERSION '$self->{version}';/m;
		return $self->{node}->safe_psql($database, $sql, @options);
	}
}

my $node = start_node('main', "fsync = off\n");
$node->safe_psql('postgres', 'CREATE ROLE owner LOGIN; CREATE ROLE reader');
my @as_owner = (extra_params => [ '-U', 'owner' ]);

# ---------------------------------------------------------------- the catalogs as text

# What an extension has: an object's row in its catalog, and the rows of other catalogs that belong to it.
my %rows = (
	pg_extension => 'extname = $EXTENSION', pg_proc => 'MEMBER', pg_operator => 'MEMBER', pg_cast => 'MEMBER', pg_opclass => 'MEMBER', pg_opfamily => 'MEMBER',
	pg_foreign_data_wrapper => 'MEMBER', pg_class => 'MEMBER', pg_event_trigger => 'MEMBER', pg_ts_config => 'MEMBER', pg_language => 'MEMBER',
	pg_type => 'MEMBER OR EXISTS (SELECT FROM members m WHERE (m.classid, m.objid) IN ((\'pg_type\'::regclass, t.typelem), (\'pg_class\'::regclass, t.typrelid)))',
	pg_aggregate => 'aggfnoid::oid IN (SELECT objid FROM members WHERE classid = \'pg_proc\'::regclass)',
	pg_amop => 'amopfamily IN (SELECT objid FROM members WHERE classid = \'pg_opfamily\'::regclass)',
	pg_amproc => 'amprocfamily IN (SELECT objid FROM members WHERE classid = \'pg_opfamily\'::regclass)',
	pg_attribute => 'attnum > 0 AND attrelid IN (SELECT objid FROM members WHERE classid = \'pg_class\'::regclass)',
	pg_constraint => 'conrelid IN (SELECT objid FROM members WHERE classid = \'pg_class\'::regclass) OR contypid IN (SELECT objid FROM members WHERE classid = \'pg_type\'::regclass)',
	pg_description => '(classoid, objoid) IN (SELECT classid, objid FROM members) OR classoid = \'pg_extension\'::regclass AND objoid = (SELECT oid FROM pg_extension WHERE extname = $EXTENSION)',
	pg_init_privs => '(classoid, objoid) IN (SELECT classid, objid FROM members)',
	pg_depend => '(classid, objid) IN (SELECT classid, objid FROM members)');
# What the catalogs have in another form.
my @definitions = (
	q{SELECT 'function ' || p.oid::regprocedure || ': ' || pg_get_functiondef(p.oid) FROM pg_proc p JOIN members m ON m.classid = 'pg_proc'::regclass AND m.objid = p.oid WHERE prokind <> 'a'},
	q{SELECT 'arguments ' || p.oid::regprocedure || ': ' || pg_get_function_arguments(p.oid) FROM pg_proc p JOIN members m ON m.classid = 'pg_proc'::regclass AND m.objid = p.oid},
	q{SELECT 'view ' || c.oid::regclass || ': ' || pg_get_viewdef(c.oid) FROM pg_class c JOIN members m ON m.classid = 'pg_class'::regclass AND m.objid = c.oid WHERE relkind IN ('v', 'm')},
	q{SELECT 'index ' || i.indexrelid::regclass || ': ' || pg_get_indexdef(i.indexrelid) FROM pg_index i JOIN members m ON m.classid = 'pg_class'::regclass AND m.objid = i.indrelid});
# Oids, statistics, and what the server counts.
my %passed_over = map { $_ => 1 } qw(oid relfilenode reltoastrelid relpages reltuples relallvisible relallfrozen relfrozenxid relminmxid attcacheoff);

# Of each column that holds oids, the catalog that they are of; the server tells.
my %refers;
for (split /\n/, $node->safe_psql('postgres', q{SELECT fktable, fkcols[1], pktable, is_array FROM pg_get_catalog_foreign_keys() WHERE pkcols = '{oid}' AND array_length(fkcols, 1) = 1}))
{
	my ($table, $column, $of, $is_array) = split /\|/;
	$refers{$table}{$column} = { of => $of, array => $is_array eq 't' };
}

# A statement that gives a line for each thing about the extension.
my @selects;
for my $catalog (sort keys %rows)
{
	my @columns;
	my $identity = q{(SELECT i.type || ' ' || i.identity FROM pg_identify_object(%s, %s, %s) AS i)};
	for (split /\n/, $node->safe_psql('postgres', "SELECT attname, atttypid::regtype FROM pg_attribute WHERE attrelid = '$catalog'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"))
	{
		my ($column, $type) = split /\|/;
		my $refers = $refers{$catalog}{$column};

		next if $passed_over{$column} || $type eq 'pg_node_tree' || $column =~ /^(objoid|refobjid)$/ || $column eq 'objid';
		push @columns, !$refers ? "t.$column\::text"
			: $refers->{array} ? "(SELECT string_agg(coalesce(" . sprintf($identity, "'$refers->{of}'::regclass", 'u.o', 0) . ", '0'), ', ' ORDER BY u.n) FROM unnest(t.$column\::oid[]) WITH ORDINALITY AS u (o, n))"
			: sprintf($identity, "'$refers->{of}'::regclass", "t.$column\::oid", 0);
		$columns[-1] = "'$column=' || coalesce($columns[-1], 'NULL')";
	}
	push @columns, map { "'$$_[0]=' || coalesce(" . sprintf($identity, "t.$$_[1]", "t.$$_[2]", "t.$$_[3]") . ", '-')" }
		$catalog eq 'pg_depend' ? ([ 'object', 'classid', 'objid', 'objsubid' ], [ 'on', 'refclassid', 'refobjid', 'refobjsubid' ])
		: $catalog =~ /^pg_(description|init_privs)$/ ? [ 'object', 'classoid', 'objoid', 'objsubid' ] : ();
	my $condition = $rows{$catalog} =~ s/\bMEMBER\b/EXISTS (SELECT FROM members m WHERE m.classid = '$catalog'::regclass AND m.objid = t.oid)/r;
	push @selects, "SELECT '$catalog: ' || concat_ws(' ', " . join(', ', @columns) . ") FROM $catalog AS t WHERE $condition";
}
my $snapshot = "SELECT replace(line, E'\\n', '~') FROM (" . join(' UNION ALL ', map { s/\$EXTENSION/'kiln'/gr } map { "($_)" } @selects, @definitions) . ') AS x (line) ORDER BY line COLLATE "C"';
my $members = q{WITH members AS (SELECT d.classid, d.objid FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND d.refclassid = 'pg_extension'::regclass
	WHERE d.deptype = 'e' AND e.extname = 'kiln')};

# The catalogs' lines in a database, after the statements given, which are rolled back.
sub catalogs
{
	my ($database, $change) = @_;

	my $lines = $node->safe_psql($database, "BEGIN;\nSET search_path = pg_catalog;\n" . ($change // '') . ";\n$members $snapshot;\nROLLBACK;");
	# What some minor releases count in a view's columns.
	$lines =~ s/\battoptions=\K\{pg_attver=\d+\}/NULL/g;
	return $lines;
}

# The lines that one text has and another hasn't.
sub difference
{
	my ($one, $other) = @_;
	my %has;

	$has{$_}++ for split /\n/, $other;
	return grep { !$has{$_} || $has{$_}-- < 1 } split /\n/, $one;
}

sub identities
{
	my ($database) = @_;

	return $node->safe_psql($database, "SET search_path = pg_catalog; $members SELECT i.type || ' ' || i.identity FROM members, pg_identify_object(classid, objid, 0) AS i ORDER BY 1");
}

# ---------------------------------------------------------------- a fresh install

my ($newest) = slurp_file($node->config_data('--sharedir') . '/extension/kiln.control') =~ /^default_version = '([^']+)'/m;
my %versions = map { $_ => 1 } map { m{/kiln--([0-9.]+)(?:--[0-9.]+)?\.sql$} ? $1 : () } glob($node->config_data('--sharedir') . '/extension/kiln--*.sql');
my @old = sort { $a <=> $b } grep { $_ ne $newest } keys %versions;
cmp_ok(scalar @old, '>', 0, "older versions: @old; the newest is $newest");

$node->safe_psql('postgres', 'CREATE DATABASE fresh TEMPLATE template0 OWNER owner');
fill_database($node, 'fresh', @as_owner);
my $fresh = catalogs('fresh');
my $fingerprint = fingerprint($node, 'fresh', @as_owner);
my @lines = split /\n/, $fresh;
cmp_ok(scalar @lines, '>', 1500, 'lines about the extension in the catalogs: ' . @lines);
is($node->safe_psql('fresh', "$members SELECT string_agg(DISTINCT classid::regclass::text, ' ') FROM members WHERE classid::regclass::text <> ALL ('{" . join(',', keys %rows) . "}')"),
	'', 'no object is of a kind that the comparison does not know');
like($fresh, qr/^$_: /m, "there are lines of $_") for grep { !/^pg_(event_trigger|ts_config|language|constraint)$/ } keys %rows;
unlike($fresh, qr/^(?!pg_depend).*\b(?:oid|proc|type|namespace|owner)=\d{4,}/m, 'none of them has a number where a name belongs');

# ---------------------------------------------------------------- each older version

for my $version (@old)
{
	my $database = "from_" . $version =~ tr/./_/r;
	my $old = bless { node => $node, version => $version, seen => 0 }, 'OldNode';

	$node->safe_psql('postgres', "CREATE DATABASE $database TEMPLATE template0 OWNER owner");
	fill_database($old, $database, @as_owner);
	is($old->{seen}, 1, "$version: a database is filled");
	is($node->safe_psql($database, q{SELECT extversion FROM pg_extension WHERE extname = 'kiln'}), $version, 'with its SQL objects');
	is(fingerprint($node, $database, @as_owner), $fingerprint, 'they answer as the newest do, under the new library');
	my @had = split /\n/, identities($database);
	my $before = catalogs($database);

	my $session = open_session($node);
	ask_session($session, "\\c $database\nPREPARE p AS SELECT kiln_get(m, 'name'), m->>'id' FROM aaa.events WHERE n = 5;\nEXECUTE p;\n\\echo ready\n", qr/ready\n/);

	is($node->safe_psql($database, "GRANT USAGE ON FOREIGN DATA WRAPPER kiln TO reader; REVOKE EXECUTE ON FUNCTION kiln_get_int8(kiln, text) FROM PUBLIC; ALTER EXTENSION kiln UPDATE;
			SELECT extversion FROM pg_extension WHERE extname = 'kiln'", @as_owner), $newest, "$version: its owner updates it to $newest");
	my $granted = catalogs($database);
	like($granted, qr/^pg_foreign_data_wrapper: .*\breader=U/m, 'what was granted stays granted');
	like($granted, qr/^pg_proc: proname=kiln_get_int8 .*proacl=\{(?!.*[{,]=X).*\}/m, 'what was revoked stays revoked');
	$node->safe_psql($database, 'REVOKE USAGE ON FOREIGN DATA WRAPPER kiln FROM reader; GRANT EXECUTE ON FUNCTION kiln_get_int8(kiln, text) TO PUBLIC', @as_owner);

	# A privilege that was taken and given back is written out.
	my $updated = catalogs($database) =~ s/^(pg_proc: proname=kiln_get_int8 .*proacl=)\{[^}]*\}/$1NULL/mr;
	is(join("\n", difference($updated, $fresh)), '', 'the catalogs have nothing that a fresh install has not');
	is(join("\n", difference($fresh, $updated)), '', 'and lack nothing');
	is(fingerprint($node, $database, @as_owner), $fingerprint, 'no value has changed');
	my %has = map { $_ => 1 } split /\n/, identities($database);
	is(join("\n", grep { !$has{$_} } @had), '', 'no object has gone: ' . @had . ' before, ' . keys(%has) . ' now');
	cmp_ok(scalar difference($before, $fresh) + scalar difference($fresh, $before), '>', 0, 'the update was one');

	ask_session($session, "EXECUTE p;\n\\echo again\n", qr/again\n/);
	like($session->{out}, qr/^event 5\|5\n/, 'a session that was open goes on') or diag $session->{err};
	close_session($session);
	$node->safe_psql($database, 'DROP EXTENSION kiln CASCADE; CREATE EXTENSION kiln', @as_owner);
	my $again = catalogs($database);
	is(join("\n", difference($again, $fresh), difference($fresh, $again)), '', 'dropped and made again, it is a fresh install');
}

# ---------------------------------------------------------------- the comparison sees

my @changes = (
	'ALTER FUNCTION public.kiln_get(public.kiln, text) VOLATILE', 'ALTER FUNCTION public.kiln_get(public.kiln, text) COST 7', 'ALTER FUNCTION public.kiln_get(public.kiln, text) PARALLEL RESTRICTED',
	'ALTER FUNCTION public.kiln_get(public.kiln, text) CALLED ON NULL INPUT', 'ALTER FUNCTION public.kiln_get(public.kiln, text) LEAKPROOF', 'ALTER FUNCTION public.kiln_get(public.kiln, text) SET work_mem = 64',
	'ALTER FUNCTION public.kiln_get(public.kiln, text) SUPPORT pg_catalog.array_unnest_support', 'ALTER FUNCTION public.kiln_get(public.kiln, text) RENAME TO kiln_gets', 'ALTER FUNCTION public.kiln_dump_schemas() ROWS 9',
	'COMMENT ON FUNCTION public.kiln_get(public.kiln, text) IS NULL', q{COMMENT ON TYPE public.kiln IS 'other'}, q{COMMENT ON OPERATOR public.-> (public.kiln, text) IS 'other'}, q{COMMENT ON CAST (public.kiln AS jsonb) IS 'other'},
	q{COMMENT ON COLUMN public.kiln_schemas.name IS 'one'}, q{COMMENT ON EXTENSION kiln IS 'other'}, 'REVOKE EXECUTE ON FUNCTION public.kiln_get(public.kiln, text) FROM PUBLIC', 'GRANT SELECT ON public.kiln_schemas TO reader',
	'REVOKE SELECT ON public.kiln_columns FROM PUBLIC', 'GRANT USAGE ON FOREIGN DATA WRAPPER kiln TO PUBLIC', 'ALTER FOREIGN DATA WRAPPER kiln NO VALIDATOR', 'ALTER OPERATOR public.= (public.kiln, public.kiln) SET (RESTRICT = NONE)',
	'ALTER TYPE public.kiln SET (STORAGE = extended)', 'ALTER TYPE public.kiln SET (SEND = NONE)', q{UPDATE pg_cast SET castcontext = 'i' WHERE castsource = 'public.kiln'::regtype AND casttarget = 'jsonb'::regtype},
	'ALTER EXTENSION kiln DROP FUNCTION public.kiln_get(public.kiln, text)', 'ALTER EXTENSION kiln DROP CAST (public.kiln AS jsonb)', 'CREATE FUNCTION public.kiln_more() RETURNS int LANGUAGE sql RETURN 1; ALTER EXTENSION kiln ADD FUNCTION public.kiln_more()',
	'ALTER VIEW public.kiln_schemas ALTER name SET DEFAULT $$x$$', 'ALTER VIEW public.kiln_schemas RENAME COLUMN name TO called', 'ALTER VIEW public.kiln_schemas SET (security_barrier)',
	q{CREATE OR REPLACE VIEW public.kiln_schemas AS SELECT s.name, s.version, s.hash, s.definition, s.valid, s.server FROM public.kiln_schemas() AS s WHERE s.valid},
	q{UPDATE pg_amop SET amopstrategy = 2 WHERE amopopr = 'public.=(public.kiln,public.kiln)'::regoperator AND amopmethod = (SELECT oid FROM pg_am WHERE amname = 'hash')}, 'ALTER OPERATOR CLASS public.kiln_ops USING hash RENAME TO kiln_hash', 'ALTER FUNCTION public.kiln_get(public.kiln, text) OWNER TO owner',
	'CREATE SCHEMA elsewhere; ALTER FUNCTION public.kiln_get(public.kiln, text) SET SCHEMA elsewhere',
	q{UPDATE pg_aggregate SET aggtransspace = 99 WHERE aggfnoid = (SELECT min(aggfnoid::oid) FROM pg_aggregate a JOIN members_of_kiln m ON m.objid = a.aggfnoid::oid)},
	q{DELETE FROM pg_init_privs WHERE objoid = 'public.kiln_schemas'::regclass}, q{UPDATE pg_extension SET extrelocatable = false WHERE extname = 'kiln'});
for my $change (@changes)
{
	my $sql = $change =~ s/members_of_kiln/(SELECT objid FROM pg_depend WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'kiln'))/r;

	my $changed = catalogs('fresh', "SET LOCAL allow_system_table_mods = on; $sql");
	my @seen = (difference($changed, $fresh), difference($fresh, $changed));
	cmp_ok(scalar @seen, '>', 0, "seen: $sql");
}
is(catalogs('fresh'), $fresh, 'without a change, nothing is seen');

$node->stop;
done_testing();
