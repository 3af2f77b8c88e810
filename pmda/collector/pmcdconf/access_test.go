package pmcdconf

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmda/internal/access"
)

// inAccess returns a file with the statements in its access section, from line 2 on.
func inAccess(statements string) string { return "[access]\n" + statements }

func accessFault(line, text string) []string { return []string{"[line " + line + "]: Error: " + text} }

func specFault(kind, spec string) []string {
	return []string{"[line 2]: Warning: access control error for " + kind + " '" + spec + "': Invalid argument"}
}

// accessCases has access sections. In the valid ones all hosts and accounts exist on most systems.
var accessCases = []configCase{
	{name: "section", text: pipe + "[ access ]\nallow * : all;\n"},
	{name: "section over lines", text: pipe + "[\nACCESS\n]\nallow\nhosts .*\n:\nfetch # c \"\n,store;\n"},
	{name: "header then text", text: "[access] allow .*:all;"},
	{name: "host forms", text: inAccess("allow hosts localhost, 127.0.0.1 : fetch; allow host \"unix:\" : all;\n")},
	{name: "words in any case", text: inAccess("ALLOW LocalHost : Maximum 3 Connections; disallow USERS root : Fetch;\n")},
	{name: "quoted word", text: inAccess("allow \"users\" root : \"fetch\";\n")},
	{name: "no keyword", text: pipe + "[axess]\n", want: accessFault("2", `"access" keyword expected`)},
	{name: "no keyword at the end", text: pipe + "[\n", want: accessFault("3", `"access" keyword expected`)},
	{name: "no bracket", text: pipe + "[access\nallow * : all;\n", want: accessFault("3", "']' expected")},
	{name: "no statements", text: pipe + "[access]\n", want: accessFault("3", "no valid statements in [access] section")},
	{name: "two sections", text: inAccess("allow .* : all; [access]\nallow 1.2.3.4 : all;"), want: accessFault("2", "allow or disallow statement expected")},
	{name: "faults go on", text: inAccess("permit .* : all; x \"a;b\";\nallow x y;\ndisallow z : ;\nallow .* : all\n"), want: []string{
		"[line 2]: Error: allow or disallow statement expected",
		"[line 2]: Error: allow or disallow statement expected",
		"[line 3]: Error: ',' or ':' expected after \"x\"",
		"[line 4]: Error: empty or incomplete permissions list",
		"[line 6]: Error: ',' or ';' expected in permission list"}},
	{name: "empty statement", text: inAccess("allow .* : all;;"), want: accessFault("2", "allow or disallow statement expected")},
	{name: "no hosts", text: inAccess("allow hosts : fetch;\nallow ;\nallow :*;\nallow"), want: []string{
		"[line 2]: Error: no hosts in allow/disallow statement", "[line 3]: Error: no hosts in allow/disallow statement",
		"[line 4]: Error: no hosts in allow/disallow statement", "[line 5]: Error: no hosts in allow/disallow statement"}},
	{name: "no users", text: inAccess("allow users : fetch;"), want: accessFault("2", "no users in allow/disallow statement")},
	{name: "no groups", text: inAccess("allow group : fetch;"), want: accessFault("2", "no groups in allow/disallow statement")},
	{name: "host after comma", text: inAccess("allow a, : fetch;"), want: accessFault("2", "host expected after ','")},
	{name: "user after comma", text: inAccess("allow users a, ;"), want: accessFault("2", "user expected after ','")},
	{name: "group after comma", text: inAccess("allow groups a,"), want: accessFault("2", "group expected after ','")},
	{name: "comma after comma", text: inAccess("allow a,, b : fetch;"), want: accessFault("2", `',' or ':' expected after ","`)},
	{name: "two hosts", text: inAccess("allow * * : fetch;"), want: accessFault("2", `',' or ':' expected after "*"`)},

	{name: "operations", text: inAccess("allow .* : fetch, store, fetch;")},
	{name: "all except", text: inAccess("allow .* : all except fetch, maximum 3 connections; disallow 1.2.3.4 : all except store;")},
	{name: "all and all", text: inAccess("allow .* : all, all;")},
	{name: "limit first", text: inAccess("allow .* : maximum 010 connections, all;")},
	{name: "bad operation", text: inAccess("allow .* : bad;"), want: accessFault("2", "bad access specifier")},
	{name: "leading comma", text: inAccess("allow .* : ,fetch;"), want: accessFault("2", "bad access specifier")},
	{name: "except except", text: inAccess("allow .* : all except except;"), want: accessFault("2", "bad access specifier")},
	{name: "no comma", text: inAccess("allow .* : fetch store;"), want: accessFault("2", "',' or ';' expected in permission list")},
	{name: "fetch except", text: inAccess("allow .* : fetch except store;"), want: accessFault("2", "',' or ';' expected in permission list")},
	{name: "trailing comma", text: inAccess("allow .* : fetch,\n;"), want: accessFault("3", "misplaced (trailing) ',' in permission list")},
	{name: "except nothing", text: inAccess("allow .* : all except;"), want: accessFault("2", "empty or incomplete permissions list")},
	{name: "all and fetch", text: inAccess("allow .* : all, fetch;"), want: accessFault("2", `can't have "all" mixed with specific permissions`)},
	{name: "fetch and all", text: inAccess("allow .* : fetch, all;"), want: accessFault("2", `can't have "all" mixed with specific permissions`)},
	{name: "except fetch and all", text: inAccess("allow .* : all except fetch, all;"), want: accessFault("2", `can't have "all" mixed with specific permissions`)},
	{name: "except all", text: inAccess("allow .* : all except all;"), want: accessFault("2", `can't have "all" within an "all except"`)},
	{name: "except limit", text: inAccess("allow .* : all except maximum 3 connections;"), want: accessFault("2", `connection limit may not immediately follow "all except"`)},
	{name: "two limits", text: inAccess("allow .* : maximum 3 connections, maximum 3 connections;"), want: accessFault("2", "connection limit already specified")},
	{name: "disallow limit", text: inAccess("disallow .* : maximum 3 connections;"), want: accessFault("2", "can't specify connection limit in a disallow statement")},
	{name: "limit 0", text: inAccess("allow .* : maximum 0 connections;"), want: accessFault("2", "maximum connection limit must be a positive number")},
	{name: "limit x", text: inAccess("allow .* : maximum 3x connections;"), want: accessFault("2", "maximum connection limit must be a positive number")},
	{name: "limit without end", text: inAccess("allow .* : maximum 1 connection;"), want: accessFault("2", `"connections" expected`)},
	{name: "unlimited", text: inAccess("allow .* : unlimited connections;"), want: accessFault("2", `"connections" expected`)},

	{name: "patterns", text: inAccess("disallow .* : store; allow 1.2.* : fetch; disallow 1.* : all; allow 1.2.3* : maximum 3 connections; allow 010.* : all;")},
	{name: "patterns6", text: inAccess(`disallow ":*" : store; allow "fe80:*" : all; allow "fe80::223:14ff:feaf:*" : all; allow "FE80::*" : all;
		allow "a:b:c:d:e:f:1:*" : all; allow "1::2:*" : all; allow "1:2*" : all; allow "1:2:3:4:5:6::*" : all; allow "1:2:3:4:5::6:*" : all; allow "0:*" : all;`)},
	{name: "all of a family", text: inAccess(`allow "::*" : fetch; disallow ":*" : store; allow ".*" : store; disallow "unix:*" : store;`)},
	{name: "addresses", text: inAccess(`allow "::1" : all; disallow 127.0.0.1 : store; allow "::ffff:1.2.3.4" : all; allow 0.0.0.0 : fetch; allow "1:0::2" : fetch;`)},
	{name: "local", text: inAccess(`disallow "local:" : store; allow "local:*" : fetch; allow "unix:/*" : maximum 2 connections;`)},
	{name: "levels", text: inAccess("allow 1.2.3.4,5.6.7.8 : all; disallow 1.2.3.*,2.3.4.* : all; allow 3.*, 4.4.* : fetch; allow 1.2.3.0 : store; allow 1.2.4.0 : all;")},
	{name: "merge", text: inAccess("allow 1.2.3.4 : fetch; disallow 1.2.3.4 : store; allow 1.2.3.4 : maximum 3 connections;")},
	{name: "merge the same", text: inAccess("allow 1.2.3.4 : all, maximum 3 connections; allow 1.2.3.4 : fetch, maximum 3 connections;")},
	{name: "clash beside", text: inAccess("allow 1.2.3.4 : fetch; disallow 1.2.3.4 : store; allow 1.2.3.4 : fetch;"), want: specFault("host", "1.2.3.4")},
	{name: "user rules", text: inAccess("allow user * : all; allow users root : fetch, maximum 3 connections; disallow user root : store;")},
	{name: "user rules without others", text: inAccess("allow user root : all;")},
	{name: "group rules", text: inAccess("disallow group * : all except fetch; allow group root : fetch;")},
	{name: "wildcard inside", text: inAccess("allow *.a : all;"), want: specFault("host", "*.a")},
	{name: "wildcard twice", text: inAccess("allow ** : all;"), want: specFault("host", "**")},
	{name: "wildcard of words", text: inAccess("allow a.b.c.d.* : all;"), want: specFault("host", "a.b.c.d.*")},
	{name: "wildcard too big", text: inAccess("allow 300.* : all;"), want: specFault("host", "300.*")},
	{name: "wildcard without dot", text: inAccess("allow 1* : all;"), want: specFault("host", "1*")},
	{name: "too many dots", text: inAccess("allow 1.2.3.4.* : all;"), want: specFault("host", "1.2.3.4.*")},
	{name: "too many colons", text: inAccess(`allow "a:b:c:d:e:f:1:2:*" : all;`), want: specFault("host", "a:b:c:d:e:f:1:2:*")},
	{name: "too many empty", text: inAccess(`allow "a::b::c:*" : all;`), want: specFault("host", "a::b::c:*")},
	{name: "empty first", text: inAccess(`allow ":1:*" : all;`), want: specFault("host", ":1:*")},
	{name: "leading colons", text: inAccess(`allow "::ffff:*" : all;`), want: specFault("host", "::ffff:*")},
	{name: "group too big", text: inAccess(`allow "12345:*" : all;`), want: specFault("host", "12345:*")},
	{name: "the rest is not looked at", text: inAccess("allow 1.*.2, 1.2.3.4, 2.*.3 : fetch; foo;"), want: append(specFault("host", "1.*.2"),
		"[line 2]: Error: allow or disallow statement expected")},
	{name: "clash", text: inAccess("allow 1.2.3.4 : all; disallow 1.2.3.4 : store;"), want: specFault("host", "1.2.3.4")},
	{name: "clash of subsets", text: inAccess("disallow 1.2.3.4 : store; disallow 1.2.3.4 : all;"), want: specFault("host", "1.2.3.4")},
	{name: "clash of limits", text: inAccess("allow .* : maximum 3 connections; allow .* : maximum 4 connections;"), want: specFault("host", ".*")},
	{name: "clash of users", text: inAccess("allow user root : all; disallow user root : store;"), want: specFault("user", "root")},
	{name: "clash of groups", text: inAccess("allow group root : maximum 1 connections; allow group root : maximum 2 connections;"), want: specFault("group", "root")},
	{name: "unknown user", text: inAccess("allow user nosuch, root : all;"), want: specFault("user", "nosuch")},
	{name: "unknown group", text: inAccess("allow group nosuch : all;"), want: specFault("group", "nosuch")},
	{name: "unknown host", text: inAccess("allow nosuch.invalid : all; allow 1.2.3.4 : fetch;"), want: []string{
		"[line 2]: Warning: access control error for host 'nosuch.invalid': No route to host"}},
	{name: "unknown hosts alone", text: inAccess("allow \"\" : all;\n"), want: accessFault("3", "no valid statements in [access] section"),
		differs: "prints the warning too, which is lost with the Config here"},

	{name: "partial clash", text: inAccess("disallow .* : store; allow * : all;"), want: []string{
		"[line 2]: Warning: Permission clash for .* with earlier statement for .*"}, differs: "prints it otherwise"},
	{name: "path", text: inAccess(`allow "unix:/a" : all;`), want: []string{
		`[line 2]: Warning: Ignoring the path in host pattern "/a"`}, differs: "prints it otherwise"},
	{name: "open quote", text: inAccess("allow .* : all;\nallow \"x;\n"), want: accessFault("3", "unterminated quoted string"),
		differs: "goes on after it"},
	{name: "open quote alone", text: inAccess("allow .* : all;\n\"x;\n"), want: accessFault("3", "unterminated quoted string"),
		differs: "succeeds"},
	{name: "open quote in the header", text: "[ \"\n", want: accessFault("1", "unterminated quoted string"),
		differs: "adds that it wanted a word"},
	{name: "end in a list", text: inAccess("allow .* :"), want: accessFault("2", "empty or incomplete permissions list"),
		differs: "fails without a word"},
	{name: "end after except", text: inAccess("allow .* : all except"), want: accessFault("2", "empty or incomplete permissions list"),
		differs: "expects a comma or semicolon"},
	{name: "limit overflows", text: inAccess("allow .* : maximum 99999999999 connections;"),
		want: accessFault("2", "maximum connection limit must be a positive number"), differs: "takes it modulo 2^32"},
	{name: "empty octet", text: inAccess("allow 1..* : all;"), want: specFault("host", "1..*"), differs: "takes it for 0"},
	{name: "after a bad agent", text: "foo\n[access]\nallow .* : bad;\n", want: []string{
		`[line 1]: Error: expected domain number for "foo" agent`, "[line 3]: Error: bad access specifier"},
		differs: "does not read the section"},
	{name: "header and word", text: "[access]allow .* : all;", differs: "wants a blank between"},
	{name: "others last", text: inAccess("allow user root : fetch; disallow user * : store; allow user * : fetch; disallow group * : all; allow group root : all;"),
		differs: "crashes"},
	{name: "others clash", text: inAccess("allow user * : all; disallow user * : store;"), want: specFault("user", "*"), differs: "crashes"},
}

func parseAccess(t *testing.T, statements string) *Access {
	t.Helper()
	conf, err := testLoader().parse("f", strings.NewReader(inAccess(statements)))
	if err != nil {
		t.Fatal(err)
	}
	return conf.Access
}

func TestAccessTables(t *testing.T) {
	a := parseAccess(t, `allow localhost, web : all except store, maximum 3 connections; disallow * : store;
		allow user * : fetch; allow user pcp : all; disallow user ann : store;
		allow group root, wheel : fetch;`)
	var b bytes.Buffer
	if err := a.WriteTables(&b, func(r *access.Rule) int {
		if r == &a.Hosts[0].Rule {
			return 1
		}
		return 0
	}); err != nil {
		t.Fatal(err)
	}
	const want = `
Host access list:
00 01 Cur/MaxCons host-spec                               host-mask                               lvl host-name
== == =========== ======================================= ======================================= === ==============
 y  n     1     3 127.0.0.1                               255.255.255.255                           0 localhost
 y  n     0     3 10.0.0.1                                255.255.255.255                           0 web
 y  n     0     3 fe80::1                                 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff   0 web
    n     0     0 /                                       /                                         1 unix:
    n     0     0 0.0.0.0                                 0.0.0.0                                   4 .*
    n     0     0 ::                                      ::                                        8 :*
User access list:
00 01 Cur/MaxCons     uid user-name                       group-list
== == =========== ======= =============================== ==========================================================
    n     0     0    1000 ann                             1000(ann),10(wheel)
 y  y     0     0     999 pcp                             995(pcp),10(wheel)
 y        0     0       * *                              
Group access list:
00 01 Cur/MaxCons     gid group-name                      user-list
== == =========== ======= =============================== ==========================================================
 y        0     0      10 wheel                           999(pcp),1000(ann)
 y        0     0       0 root                            0(root)
 n  n     0     0       * *                              

`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.Reset()
	(*Access)(nil).WriteTables(&b, nil)
	if got := strings.Count(b.String(), "access list empty"); got != 3 {
		t.Errorf("tables of nothing: got\n%s", &b)
	}
}

// TestAccessLookups checks that each name is looked up once. A failed lookup is an error of the
// statement.
func TestAccessLookups(t *testing.T) {
	asked := map[string]int{}
	l := testLoader()
	lookup := l.lookupHost
	l.lookupHost = func(name string) ([]netip.Addr, error) {
		asked[name]++
		return lookup(name)
	}
	const text = "[access]\nallow localhost : fetch; allow \"local:\" : fetch; allow web : fetch; allow nowhere : all;\n"
	conf, err := l.parse("f", strings.NewReader(text))
	if err != nil || len(conf.Warnings) != 1 {
		t.Fatal(conf, err)
	}
	if diff := cmp.Diff(map[string]int{"here": 1, "web": 1, "nowhere": 1}, asked); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}

	l.hostname = func() (string, error) { return "", errors.New("no name") }
	if _, err = l.parse("f", strings.NewReader(text)); err != nil || asked["localhost"] != 1 {
		t.Errorf("without a host name: %v, asked for %v", err, asked)
	}
	l.lookupHost = func(string) ([]netip.Addr, error) { return nil, errors.New("no hosts") }
	if conf, err = l.parse("f", strings.NewReader(text)); err != nil || len(conf.Access.Local) != 2 {
		t.Errorf("without a resolver: got %v, %v, want both loopback addresses", conf, err)
	}
	for _, l.accounts = range []fs.FS{fstest.MapFS{}, fstest.MapFS{"passwd": {}}} {
		_, err = l.parse("f", strings.NewReader("[access]\nallow user root : all;\n"))
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("without accounts: got %v", err)
		}
	}
}

// TestManyRules checks that the time for many rules is proportional to their number.
func TestManyRules(t *testing.T) {
	const some = 50_000
	many := pcptest.AttackSize(some, 4*some)
	limit := time.Duration(many/some) * 4 * time.Second
	var b strings.Builder
	b.WriteString("[access]\n")
	for i := range many {
		fmt.Fprintf(&b, "allow 10.%d.%d.%d : fetch;\n", i>>16, i>>8&255, i&255)
	}
	begin := time.Now()
	pcptest.Attack(t, func() {
		if c, err := Parse("many", strings.NewReader(b.String())); err != nil || len(c.Access.Hosts) != many {
			t.Fatalf("%v", err)
		}
	}, nil)
	took := time.Since(begin)
	t.Logf("%d rules in %v", many, took)
	if took > limit {
		t.Errorf("%d rules took %v", many, took)
	}
}
