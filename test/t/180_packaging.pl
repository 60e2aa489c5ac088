# What is handed out: META.json against PGXN's specification 1.0.0, one version everywhere, an update script for every release, and
# the archive that "make dist" makes: it holds what is committed, no more and no less, and builds.

use strict;
use warnings;

use File::Find;
use FindBin;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;

my $root = "$FindBin::RealBin/../..";

# ---------------------------------------------------------------- META.json

# The types of PGXN's specification. Each takes a value and tells what is wrong with it, or nothing.
my $semantic = qr/^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-?[A-Za-z][0-9A-Za-z-]*)?$/;
my %licenses = map { $_ => 1 } qw(agpl_3 apache_1_1 apache_2_0 artistic_1 artistic_2 bsd freebsd gfdl_1_2 gfdl_1_3 gpl_1 gpl_2 gpl_3
	lgpl_2_1 lgpl_3_0 mit mozilla_1_0 mozilla_1_1 openssl perl_5 postgresql qpl_1_0 ssleay sun zlib open_source restricted unrestricted unknown);

sub is_string { my ($v) = @_; return defined $v && !ref $v && $v =~ /\S/ ? () : 'no string'; }
sub is_term { my ($v) = @_; return is_string($v) || ($v =~ m{^[^\s/\\[:cntrl:]]{2,}$} ? () : "no term: $v"); }
sub is_tag { my ($v) = @_; return is_string($v) || ($v =~ m{^[^/\\[:cntrl:]]{1,255}$} ? () : "no tag: $v"); }
sub is_version { my ($v) = @_; return is_string($v) || ($v =~ $semantic ? () : "no semantic version: $v"); }
sub is_url { my ($v) = @_; return is_string($v) || ($v =~ m{^[a-z][a-z0-9+.-]*://\S+$} ? () : "no URL: $v"); }
sub is_range { my ($v) = @_; return is_string($v) || map { m{^\s*(?:(?:[<>]=?|[!=]=)\s*)?(\S+)\s*$} && ($1 eq '0' || $1 =~ $semantic) ? () : "no version range: $_" } split /,/, $v; }
sub is_list { my ($of) = @_; return sub { my ($v) = @_; return 'no list' if ref $v ne 'ARRAY' || !@$v; return map { $of->($_) } @$v; }; }
sub is_one_of { my %known = map { $_ => 1 } @_; return sub { my ($v) = @_; return is_string($v) || ($known{$v} ? () : "unknown: $v"); }; }

# A map of the given keys, those with ! required; or of keys that a check takes to values that another does.
sub is_map
{
	my (%keys) = @_;

	return sub
	{
		my ($v) = @_;
		return 'no map' if ref $v ne 'HASH' || !%$v;
		my %known = map { s/!$//r => $keys{$_} } keys %keys;
		my @wrong = map { "lacks $_" } grep { !exists $v->{$_} } map { /^(.*)!$/ ? $1 : () } keys %keys;
		for my $key (sort keys %$v)
		{
			next if $key =~ /^[xX]_/;
			push @wrong, map { "$key: $_" } $known{$key} ? $known{$key}->($v->{$key}) : 'not in the specification';
		}
		return @wrong;
	};
}

sub is_map_of
{
	my ($key_check, $value_check) = @_;

	return sub
	{
		my ($v) = @_;
		return 'no map' if ref $v ne 'HASH' || !%$v;
		return map { my $key = $_; map { "$key: $_" } $key_check->($key), $value_check->($v->{$key}) } sort keys %$v;
	};
}

sub is_license
{
	my ($v) = @_;

	return is_map_of(\&is_string, \&is_url)->($v) if ref $v eq 'HASH';
	return map { is_one_of(keys %licenses)->($_) } ref $v eq 'ARRAY' ? @$v : $v;
}

my $strings = sub { my ($v) = @_; return ref $v eq 'ARRAY' ? is_list(\&is_string)->($v) : is_string($v); };
my $relations = is_map(map { $_ => is_map_of(\&is_term, \&is_range) } qw(requires recommends suggests conflicts));
my $specification = is_map(
	'name!' => \&is_term, 'version!' => \&is_version, 'abstract!' => \&is_string, 'maintainer!' => $strings, 'license!' => \&is_license,
	'provides!' => is_map_of(\&is_term, is_map('file!' => \&is_string, 'version!' => \&is_version, 'abstract' => \&is_string, 'docfile' => \&is_string)),
	'meta-spec!' => is_map('version!' => \&is_version, 'url' => \&is_url),
	'description' => \&is_string, 'generated_by' => \&is_string, 'tags' => is_list(\&is_tag),
	'release_status' => is_one_of(qw(stable testing unstable)),
	'no_index' => is_map('file' => is_list(\&is_string), 'directory' => is_list(\&is_string)),
	'prereqs' => is_map(map { $_ => $relations } qw(configure build test runtime develop)),
	'resources' => is_map('homepage' => \&is_url, 'bugtracker' => is_map('web' => \&is_url, 'mailto' => \&is_string),
		'repository' => is_map('url' => \&is_url, 'web' => \&is_url, 'type' => \&is_string)));

my $json = slurp_file("$root/META.json");
my $meta = JSON::PP->new->utf8->decode($json);
is(join("\n", $specification->($meta)), '', 'META.json is what PGXN\'s specification asks for');
is($meta->{'meta-spec'}{version}, '1.0.0', 'of version 1.0.0');

# The check finds faults: each of these changes is one.
for my $fault (
	[ sub { delete $_[0]{maintainer} }, 'lacks maintainer' ], [ sub { $_[0]{version} = '1.1' }, 'version: no semantic version: 1.1' ],
	[ sub { $_[0]{license} = 'PostgreSQL' }, 'license: unknown: PostgreSQL' ], [ sub { $_[0]{tags} = 'binary' }, 'tags: no list' ],
	[ sub { $_[0]{name} = 'k n' }, 'name: no term: k n' ], [ sub { delete $_[0]{provides}{kiln}{file} }, 'provides: kiln: lacks file' ],
	[ sub { $_[0]{prereqs}{runtime}{requires}{PostgreSQL} = '>= 14' }, 'prereqs: runtime: requires: PostgreSQL: no version range: >= 14' ],
	[ sub { $_[0]{licence} = 'postgresql' }, 'licence: not in the specification' ], [ sub { $_[0]{release_status} = 'done' }, 'release_status: unknown: done' ])
{
	my $bad = decode_json($json);

	$fault->[0]->($bad);
	is(join("\n", $specification->($bad)), $fault->[1], "a fault is seen: $fault->[1]");
}

# ---------------------------------------------------------------- one version everywhere

my ($version) = slurp_file("$root/Makefile") =~ /^KILN_VERSION = (\S+)$/m;
my ($changed) = slurp_file("$root/CHANGELOG.md") =~ /^## (\S+)/m;
my ($packaged) = slurp_file("$root/debian/changelog") =~ /\A\S+ \((\S+)\)/;
is($meta->{version}, $version, 'META.json has the Makefile\'s version');
is($meta->{provides}{kiln}{version}, $version, 'so has the extension in it');
is($changed, $version, 'CHANGELOG.md begins with it');
is($packaged, $version, 'debian/changelog, too');

my %default;
for my $extension (sort keys %{ $meta->{provides} })
{
	my $control = slurp_file("$root/$extension.control");
	my $sql_version = ($control =~ /^default_version = '([^']+)'$/m)[0];

	$default{$extension} = $sql_version;
	like($meta->{provides}{$extension}{version}, qr/^\Q$sql_version\E\.\d+$/, "$extension: version $sql_version is META.json's without the last part");
	ok(-f "$root/$meta->{provides}{$extension}{$_}", "$extension: its $_ is there") for qw(file docfile);
	like($control, qr/^trusted = true$/m, "$extension is trusted");

	# Ways to the newest version: from a script that makes one, by scripts that update.
	my (%made, %leads);
	for my $file (map { s{.*/}{}r } glob("$root/$extension--*.sql"))
	{
		$made{$1} = 1 if $file =~ /^\Q$extension\E--([^-]+)\.sql$/;
		push @{ $leads{$1} }, $2 if $file =~ /^\Q$extension\E--([^-]+)--([^-]+)\.sql$/;
	}
	my $reaches = sub
	{
		my ($from) = @_;
		my (%seen, @next) = ($from => 1);
		for (@next = ($from); @next;)
		{
			my $at = shift @next;
			return 1 if $at eq $sql_version;
			push @next, grep { !$seen{$_}++ } @{ $leads{$at} // [] };
		}
		return 0;
	};
	ok((grep { $reaches->($_) } keys %made), "$extension: CREATE EXTENSION has scripts to version $sql_version");
	is(join(' ', grep { !$reaches->($_) } sort keys %made, keys %leads), '', "$extension: every version has an update to $sql_version");
	if ($extension eq 'kiln')
	{
		my %released = map { $_ => 1 } map { /^## (\d+\.\d+)\.\d+/ ? $1 : () } split /\n/, slurp_file("$root/CHANGELOG.md");

		cmp_ok(scalar keys %released, '>', 1, 'releases in CHANGELOG.md: ' . join(' ', sort keys %released));
		is(join(' ', grep { !$made{$_} && !$leads{$_} && $_ ne $sql_version } sort keys %released), '', 'each has its script');
	}
}

# ---------------------------------------------------------------- Debian's side

my $template = slurp_file("$root/debian/control.in");
is(slurp_file("$root/debian/control"), $template =~ s/PGVERSION/15/gr, 'debian/control is control.in for the server of Debian 12');
my $words = sub { return join ' ', grep { $_ ne '.' } split ' ', $_[0] =~ s/^PostgreSQL License\s+Copyright[^\n]*\n//r; };
my $license = $words->(slurp_file("$root/LICENSE"));
like($words->(slurp_file("$root/debian/copyright")), qr/\Q$license\E$/, 'debian/copyright ends with the license');
ok(-x "$root/$_", "$_ can be run") for qw(debian/rules debian/tests/installcheck scripts/build-deb scripts/test-deb);

# ---------------------------------------------------------------- make dist

SKIP:
{
	skip 'no git here', 8 if system('git --version >/dev/null 2>&1') != 0;

	my $folder = PostgreSQL::Test::Utils::tempdir();
	my $clone = "$folder/clone";
	my $git = "git -C $clone -c user.name=kiln -c user.email=kiln\@localhost -c init.defaultBranch=main -c safe.directory='*'";

	# A repository of what is here, and what a tree that was built and tested in would have besides.
	mkdir $clone;
	is(system("tar -C $root --exclude=./.git --exclude=./build --exclude=./tmp_check --exclude=./log -cf - . | tar -C $clone -xf - "), 0, 'a copy of the tree');
	for my $product (qw(kiln.so src/pg/type.o src/pg/type.bc build/x libkiln.a results/init.out regression.diffs tmp_check/x kiln-0.9.0.zip))
	{
		mkdir "$clone/$1" if $product =~ m{^([^/]+)/[^/]+$};
		open my $out, '>', "$clone/$product" or die "$clone/$product: $!";
		print $out "not to be handed out\n";
		close $out;
	}
	is(system("$git init -q && $git add . && $git commit -q -m dist"), 0, 'as a repository');
	my @committed = split /\n/, `$git ls-files`;
	is(join(' ', grep { /\.(o|bc|so|a|zip|diffs)$/ || m{^(build|results|tmp_check|log)/} } @committed), '', 'git ignores what builds and tests leave');

	is(system("make -s -C $clone dist >/dev/null"), 0, 'make dist');
	ok(-s "$clone/kiln-$version.zip", "makes kiln-$version.zip");
	mkdir "$folder/unpacked";
	is(system('python3', '-m', 'zipfile', '-e', "$clone/kiln-$version.zip", "$folder/unpacked"), 0, 'it is a zip');
	my $unpacked = "$folder/unpacked/kiln-$version";
	my @unpacked;
	find({ no_chdir => 1, wanted => sub { push @unpacked, s{^\Q$folder/unpacked\E/}{}r if -f } }, "$folder/unpacked");
	is(join("\n", sort @unpacked), join("\n", sort map { "kiln-$version/$_" } @committed), 'with everything that is committed, in one folder, and nothing else: '
		. scalar @committed . ' files');
	my @needed = (qw(META.json Makefile README.md LICENSE CHANGELOG.md SECURITY.md), map { ("$_.control", "$_--$default{$_}.sql") } keys %default);
	is(join(' ', grep { !-f "$unpacked/$_" && !glob("$unpacked/" . s/--/--*--/r) } @needed), '', 'with what PGXN and a user look for');
	is(system("diff -r $unpacked/src $root/src -x '*.o' -x '*.bc' >/dev/null"), 0, 'the sources are these');

	is(system("make -j2 -s -C $unpacked with_llvm=no all >$folder/make.log 2>&1"), 0, 'it builds') or diag slurp_file("$folder/make.log");
	is(system("make -s -C $unpacked with_llvm=no DESTDIR=$folder/installed install >$folder/install.log 2>&1"), 0, 'and installs') or diag slurp_file("$folder/install.log");
	my @installed;
	find({ no_chdir => 1, wanted => sub { push @installed, s{.*/}{}r if -f && !m{/bitcode/} } }, "$folder/installed");
	is(join(' ', sort @installed), join(' ', sort 'kiln.so', map { s{.*/}{}r } glob("$root/*.control $root/*--*.sql")), 'the library, control files and scripts');
}

done_testing();
