package pmcdconf

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// A configCase is a configuration file with the expected errors and warnings, without their
// prefixes.
type configCase struct {
	name, text string
	want       []string
	// differs says how pmcd reads the file differently.
	differs string
}

// pipe is a valid line.
const pipe = "good 9 pipe binary /bin/true\n"

// agentCases has files without access sections.
var agentCases = []configCase{
	{name: "empty", text: ""},
	{name: "comments", text: "# only\n\n   # comments \"\n"},
	{name: "pipe", text: "foo 2 pipe binary /bin/true -d 2\n"},
	{name: "words in any case", text: "foo 2 PIPE Binary NotReady notready x\n"},
	{name: "dso", text: "foo 2 dso init /x.so # c\n"},
	{name: "socket inet", text: "foo 2 socket inet 1234\n"},
	{name: "socket name", text: "foo 2 socket ipv6 http cmd a b\n"},
	{name: "socket unix", text: "foo 2 Socket UNIX rel\n"},
	{name: "domain limits", text: "foo 0 pipe binary x\nbar 510 pipe binary x\n"},
	{name: "same name twice", text: "foo 2 pipe binary x\nfoo 3 pipe binary y\n"},
	{name: "no newline", text: "foo 02 pipe binary x"},
	{name: "blanks", text: " \t foo\t2\vpipe\fbinary x\r\n"},
	{name: "continued", text: "foo 2 pipe\\\n binary x \\\n y\n"},
	{name: "continued comment", text: "foo 2 pipe binary x # c \\\nbar\n"},
	{name: "continued to the end", text: "foo 2 pipe binary x\\\n"},
	{name: "quotes", text: "\"foo bar\" \"2\" \"pipe\" \"binary\" \"a b\" a\"b c\" \"\" \"d\"e\n"},
	{name: "escapes", text: "foo 2 pipe binary \\#x a\\\"b \"c \\\" \\# d\" e\\ f\\\\ \\\"g \\\\#h\n"},
	{name: "comment in a word", text: "foo 2 pipe binary a#b c\n"},
	{name: "marks are ordinary", text: "fo:o 2 pipe binary a:b;c,[access]\n"},
	{name: "long line", text: "foo 2 pipe binary " + strings.Repeat("x", 2180) + "\n"},

	{name: "no domain", text: "foo\n", want: []string{`[line 1]: Error: expected domain number for "foo" agent`}},
	{name: "bad domains", text: "foo xx\nbar -1 dso\n\nbaz 2x\n", want: []string{
		`[line 1]: Error: expected domain number for "foo" agent`,
		`[line 2]: Error: expected domain number for "bar" agent`,
		`[line 4]: Error: expected domain number for "baz" agent`}},
	{name: "domain out of range", text: "foo 511 pipe binary x\n", want: []string{`[line 1]: Error: Illegal domain number (511) for "foo" agent`}},
	{name: "domain twice", text: "foo 2 pipe binary x\nbar 2 pipe binary y\n", want: []string{
		`[line 2]: Error: domain number for "bar" agent clashes with "foo" agent`}},
	{name: "no kind", text: "foo 2\nbar 3 tape\n", want: []string{
		"[line 1]: Error: expected `dso', `socket' or `pipe'",
		"[line 2]: Error: expected `dso', `socket' or `pipe'"}},
	{name: "access is no kind", text: "foo 2 [access]\n", want: []string{"[line 1]: Error: expected `dso', `socket' or `pipe'"}},
	{name: "dso entry", text: "foo 2 dso\n", want: []string{"[line 1]: Error: expected DSO entry point"}},
	{name: "dso path", text: "foo 2 dso init\n", want: []string{"[line 1]: Error: expected DSO pathname"}},
	{name: "dso relative", text: "foo 2 dso init x.so\n", want: []string{`[line 1]: Error: path "x.so" to PMDA is not absolute`}},
	{name: "dso more", text: "foo 2 dso init /x.so more\n", want: []string{"[line 1]: Error: too many parameters for DSO"}},
	{name: "socket family", text: "foo 2 socket\nfoo 2 socket foo\n", want: []string{
		"[line 1]: Error: expected socket address domain (`inet', `ipv6', or `unix')",
		"[line 2]: Error: expected socket address domain (`inet', `ipv6', or `unix')"}},
	{name: "socket port", text: "foo 2 socket inet\nfoo 2 socket unix\n", want: []string{
		"[line 1]: Error: expected socket port name or number",
		"[line 2]: Error: expected socket port name or number"}},
	{name: "socket port name", text: "a 2 socket inet nosuch\nb 2 socket inet -1\nc 2 socket inet 12ab\n", want: []string{
		"[line 1]: Error: failed to get port number for port name nosuch",
		"[line 2]: Error: failed to get port number for port name -1",
		"[line 3]: Error: failed to get port number for port name 12ab"}},
	{name: "pipe format", text: "foo 2 pipe\nfoo 2 pipe text x\n", want: []string{
		"[line 1]: Error: pipe PDU type expected (`binary')",
		"[line 2]: Error: pipe PDU type expected (`binary')"}},
	{name: "pipe command", text: "foo 2 pipe binary\nfoo 2 pipe binary notready\n", want: []string{
		"[line 1]: Error: command to create pipe agent expected.",
		"[line 2]: Error: command to create pipe agent expected."}},
	{name: "open quote", text: "a xx\nfoo 2 pipe binary \"x # y\nbar\n", want: []string{
		`[line 1]: Error: expected domain number for "a" agent`,
		"[line 2]: Error: unterminated quoted string", ": Can't continue, giving up"}},
	{name: "closing quote escaped", text: "foo 2 pipe binary \"x\\\\\" # c\n", want: []string{
		"[line 1]: Error: unterminated quoted string", ": Can't continue, giving up"}},
	{name: "too long", text: "foo 2 pipe binary " + strings.Repeat("x", 2181) + "\n", want: []string{
		"[line 1]: Error: ridiculously long line (2200 characters)", ": Can't continue, giving up"}},
	{name: "too long a comment", text: pipe + "#" + strings.Repeat("x", 3000) + "\n", want: []string{
		"[line 2]: Error: ridiculously long line (2200 characters)", ": Can't continue, giving up"}},
	{name: "too long together", text: "foo 2 pipe binary x" + strings.Repeat(" x \\\n", 700) + "\n", want: []string{
		"[line 1]: Error: ridiculously long line (2200 characters)", ": Can't continue, giving up"}},

	{name: "bad line, then good", text: "foo xx\n" + pipe, want: []string{`[line 1]: Error: expected domain number for "foo" agent`},
		differs: "only the last agent's line decides the exit status"},
	{name: "domain overflows", text: "foo 99999999999999 pipe binary x\n",
		want:    []string{`[line 1]: Error: Illegal domain number (99999999999999) for "foo" agent`},
		differs: "prints the number modulo 2^32"},
	{name: "port out of range", text: "foo 2 socket inet 99999\n", want: []string{"[line 1]: Error: failed to get port number for port name 99999"},
		differs: "accepts it"},
	{name: "port empty", text: "foo 2 socket inet \"\"\n", want: []string{"[line 1]: Error: failed to get port number for port name "}},
	{name: "line numbers", text: "good 9 pipe \\\n binary x\nfoo\n", want: []string{`[line 3]: Error: expected domain number for "foo" agent`},
		differs: "counts continued lines as one"},
}

// testLoader knows the accounts and hosts that the cases are about, and those of
// most systems.
func testLoader() *loader {
	return &loader{
		lookupPort: func(_, service string) (int, error) {
			if service == "http" {
				return 80, nil
			}
			return 0, errors.New("unknown port")
		},
		lookupHost: func(name string) ([]netip.Addr, error) {
			switch name {
			case "here", "localhost":
				return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.1")}, nil
			case "web":
				return []netip.Addr{netip.MustParseAddr("::ffff:10.0.0.1"), netip.MustParseAddr("fe80::1%eth0")}, nil
			case "nowhere":
				return nil, nil
			}
			return nil, errors.New("no such host")
		},
		hostname: func() (string, error) { return "here", nil },
		accounts: fstest.MapFS{
			"passwd": {Data: []byte("root:x:0:0:root:/root:/bin/sh\n\n#\nodd:x:y:0::\nodd:x:0:y::\n" +
				"pcp:x:999:995::/:/bin/false\nann:x:1000:1000::/:/bin/sh\n")},
			"group": {Data: []byte("root:x:0:\nwheel:x:10:pcp,ann\npcp:x:995:\nann:x:1000:ann\n")},
		},
	}
}

// complaints returns the texts of errors and warnings, without their prefixes and reasons.
func complaints(conf *Config, err error) (texts []string) {
	add := func(e *fault) {
		short := *e
		short.err = nil
		texts = append(texts, strings.TrimPrefix(PMCDText(&short), "pmcd config"))
	}
	if conf != nil {
		for _, w := range conf.Warnings {
			add(w.(*fault))
		}
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			if e, ok := errors.AsType[*fault](err); ok {
				add(e)
			} else {
				texts = append(texts, err.Error())
			}
		}
	}
	return texts
}

func TestParse(t *testing.T) {
	for _, c := range append(agentCases[:len(agentCases):len(agentCases)], accessCases...) {
		t.Run(c.name, func(t *testing.T) {
			conf, err := testLoader().parse("pmcd.conf", strings.NewReader(c.text))
			if diff := cmp.Diff(c.want, complaints(conf, err)); diff != "" {
				t.Errorf("complaints (-want +got):\n%s", diff)
			}
			if conf == nil && err == nil {
				t.Error("no Config and no error")
			}
		})
	}
}

func TestParseAgents(t *testing.T) {
	const text = `# agents
pmcd 2 dso pmcd_init /lib/pmda_pmcd.so
foo xx
"a b" 3 pipe binary notready cmd "x y" \#z a"b
sock 4 socket INET http
sock 5 socket ipv6 4242 \
  cmd ""
sock 6 socket unix /run/s
last 2 pipe binary x`
	want := []Agent{
		{Name: "pmcd", Domain: 2, Kind: "dso", Entry: "pmcd_init", Path: "/lib/pmda_pmcd.so", Line: 2},
		{Name: "a b", Domain: 3, Kind: "pipe", NotReady: true, Argv: []string{"cmd", "x y", "#z", `a"b`}, Line: 4},
		{Name: "sock", Domain: 4, Kind: "socket", Network: "inet", Address: "http", Port: 80, Line: 5},
		{Name: "sock", Domain: 5, Kind: "socket", Network: "ipv6", Address: "4242", Port: 4242, Argv: []string{"cmd", ""}, Line: 6},
		{Name: "sock", Domain: 6, Kind: "socket", Network: "unix", Address: "/run/s", Line: 8},
	}
	conf, err := testLoader().parse("f", strings.NewReader(text))
	if err == nil || conf == nil {
		t.Fatalf("got %v, %v, want the good lines and an error", conf, err)
	}
	if diff := cmp.Diff(want, conf.Agents); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	if conf.Access != nil {
		t.Errorf("got access rules %v, want none", conf.Access)
	}
	for i, line := range []string{
		`pmcd 2 dso pmcd_init /lib/pmda_pmcd.so`,
		`"a b" 3 pipe binary notready cmd "x y" \#z a\"b`,
		`sock 4 socket inet http`,
		`sock 5 socket ipv6 4242 cmd ""`,
		`sock 6 socket unix /run/s`,
	} {
		if got := conf.Agents[i].String(); got != line {
			t.Errorf("String: got %s, want %s", got, line)
		}
	}
	// A backslash at the end of a line would join the next line to it.
	if got, want := (Agent{Name: "a", Kind: "pipe", Argv: []string{`x\`}}).String(), `a 0 pipe binary x\ `; got != want {
		t.Errorf("String: got %q, want %q", got, want)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "pmcd.conf")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Load(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: got %v", err)
	}
	write(file, pipe+"[access]\ndisallow 1.2.3.4 : store;\n")
	tests := []struct {
		name, extra string
		rules       int
		want        []string
	}{
		{"none", "", 1, nil},
		{"more rules", "allow 1.2.3.* : fetch;", 2, nil},
		{"empty", "#\n", 0, []string{"access config[line 2]: Error: no valid statements in [access] section"}},
		{"header", "[access]\n", 0, []string{"access config[line 1]: Error: allow or disallow statement expected"}},
		{"open quote", "allow \"x", 0, []string{"access config[line 1]: Error: unterminated quoted string"}},
		{"clash", "allow 1.2.3.4 : all;", 0, []string{
			"access config[line 1]: Warning: access control error for host '1.2.3.4': Invalid argument"}},
	}
	for _, tt := range tests {
		if tt.extra != "" {
			write(file+".access", tt.extra)
		}
		conf, err := Load(file)
		if diff := cmp.Diff(tt.want, complaints(conf, err)); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", tt.name, diff)
		}
		if conf != nil && len(conf.Access.Hosts) != tt.rules {
			t.Errorf("%s: got %d rules, want %d", tt.name, len(conf.Access.Hosts), tt.rules)
		}
	}
	write(file, "foo\n")
	if conf, err := Load(file); len(complaints(conf, err)) != 1 {
		t.Errorf("with a fault in the first file got %v, want its one alone", err)
	}
	os.Remove(file + ".access")
	if err := os.Symlink("pmcd.conf.access", file+".access"); err != nil {
		t.Skip(err)
	}
	write(file, pipe)
	if conf, err := Load(file); conf != nil || err == nil {
		t.Errorf("with rules that cannot be read got %v, %v, want no Config", conf, err)
	}
}

// TestLoadClosesFiles checks that a file of access rules beside a file with errors is not read,
// and that no file stays open.
func TestLoadClosesFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pmcd.conf")
	for name, text := range map[string]string{file: "foo\n", file + ".access": "allow * : all;\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which closes files that nobody has
	descriptors := func() []os.DirEntry {
		open, err := os.ReadDir("/dev/fd")
		if err != nil {
			t.Skip(err)
		}
		return open
	}
	before := descriptors()
	for range 20 {
		Load(file)
	}
	if after := descriptors(); len(after) >= len(before)+20 {
		t.Errorf("%d descriptors after %d", len(after), len(before))
	}
}

func TestParseReadError(t *testing.T) {
	conf, err := Parse("f", iotest.ErrReader(errors.New("broken")))
	want := []string{"[line 1]: Error: read: broken", ": Can't continue, giving up"}
	if diff := cmp.Diff(want, complaints(conf, err)); diff != "" || conf != nil {
		t.Errorf("got %v and (-want +got):\n%s", conf, diff)
	}
}

// TestError checks that an Error contains its reason, and that errors.As finds it.
func TestError(t *testing.T) {
	_, err := testLoader().parse("f", strings.NewReader("[access]\nallow 1.2.3.4 : all;\ndisallow 1.2.3.4 : store;\n"))
	e, ok := errors.AsType[*fault](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	const clash = "Permission clash for 1.2.3.4 with earlier statement for 1.2.3.4"
	const msg = "Warning: access control error for host '1.2.3.4': Invalid argument (" + clash + ")"
	if e.Error() != "f:3: "+msg || e.file != "f" || errors.Unwrap(e).Error() != clash {
		t.Errorf("got %q in %q, want f:3: %s", e, e.file, msg)
	}
	if got := PMCDText(err); got != "pmcd config[line 3]: "+msg {
		t.Errorf("the text of pmcd is %q, want pmcd config[line 3]: %s", got, msg)
	}
}

func ExampleParse() {
	conf, err := Parse("pmcd.conf", strings.NewReader(`
simple 253 pipe binary /usr/lib/simple -d 253
broken 999 pipe binary /usr/lib/broken

[access]
allow "local:" : all;
disallow .* : store;
`))
	fmt.Println(err)
	fmt.Println(conf.Agents[0].Name, conf.Agents[0].Argv)
	// Output:
	// pmcd.conf:3: Illegal domain number (999) for "broken" agent
	// simple [/usr/lib/simple -d 253]
}
