package pcptool_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/cnum"
	"github.com/pcp-go/pcp/internal/hostspec"
	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// setEnv makes the environment that of a run until the test ends.
func (r suiteRun) setEnv(t *testing.T) {
	for _, v := range append(pcptest.Env(), r.env...) {
		if name, value, _ := strings.Cut(v, "="); strings.HasPrefix(name, "PCP_") {
			t.Setenv(name, value)
		}
	}
}

// once is a single run without arguments.
func once() func(*testing.T) []suiteRun { return func(*testing.T) []suiteRun { return []suiteRun{{}} } }

// each is a run for each argument.
func each(args ...string) func(*testing.T) []suiteRun {
	return func(*testing.T) []suiteRun { return runsOf(args...) }
}

func runsOf(args ...string) (runs []suiteRun) {
	for _, arg := range args {
		runs = append(runs, suiteRun{args: []string{arg}})
	}
	return runs
}

// without leaves out lines that begin with certain words.
func without(words ...string) func(string) string {
	return func(text string) string {
		var b strings.Builder
		for line := range strings.Lines(text) {
			if !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(line, w) }) {
				b.WriteString(line)
			}
		}
		return b.String()
	}
}

// rewrite replaces the lines of a text that a pattern matches: by what ours makes of its groups.
func rewrite(t *testing.T, text, pattern string, ours func(groups []string) string) string {
	t.Helper()
	re := regexp.MustCompile("(?m)^" + pattern + "$")
	if !re.MatchString(text) {
		t.Errorf("no line matches %s", pattern)
	}
	return re.ReplaceAllStringFunc(text, func(line string) string { return ours(re.FindStringSubmatch(line)) })
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func integer(t *testing.T, text string) int64 {
	t.Helper()
	v, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func atomStr(t *testing.T, _ suiteRun, _ string) string {
	var b strings.Builder
	line := func(left string, a pdu.Atom) { fmt.Fprintf(&b, "%s -> %s\n", left, a) }
	line("-42", pdu.Int32(-42))
	line("2147483648", pdu.Uint32(1<<31))
	line("-1234567890123", pdu.Int64(-1234567890123))
	line("9223372036854775808", pdu.Uint64(1<<63))
	line("123.456", pdu.Float32(123.456))
	line("0.123456789", pdu.Float64(0.123456789))
	for _, s := range []string{"mary had a little lamb", "abcdefghijklmnopqrstuvwxyz0123456789X", "abcdefghijklmnopqrstuvwxyz0123456789XYZ"} {
		line(s, pdu.String(s))
	}
	for _, highRes := range []bool{false, true} {
		for n := range 3 {
			e := pdu.EventBuilder{HighRes: highRes}
			for range n {
				e.Begin(time.Unix(1, 0), pdu.EventPoint)
			}
			a, err := e.Atom()
			if err != nil {
				t.Fatal(err)
			}
			line("???", a)
		}
	}
	bytes := []byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f")
	static := pdu.Aggregate(bytes)
	static.Type = pdu.TypeAggregateStatic
	line("???", static)
	for n := 0; n <= 16; n += 2 {
		line(fmt.Sprintf("??? [len=%d]", n), pdu.Aggregate(bytes[:n]))
	}
	b.WriteString("\nAnd now some error cases ...\n")
	line("bad type", pdu.Atom{Type: 123})
	line("no support type", pdu.Atom{Type: pdu.TypeNoSupport})
	line("unknown type", pdu.Atom{Type: pdu.TypeUnknown})
	return b.String()
}

func registerDerived(_ *testing.T, r suiteRun, _ string) string {
	name, expr, _ := strings.Cut(r.args[0], "=")
	err := new(pmapi.Derived).Define(name, expr)
	if e, ok := errors.AsType[*pmapi.DerivedError](err); ok {
		text := fmt.Sprintf("derived: Error: pmRegisterDerivedMetric(\"%s\", ...)\n%s\n%*s^\n", name, expr, e.Offset, "")
		if e.Message != "" {
			text += e.Message + "\n"
		}
		return text
	}
	return fmt.Sprintf("derived: registered \"%s\" as: \"%s\"\n", name, expr)
}

func derivedFiles(t *testing.T) []suiteRun {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a": "x = no-such-metric\ny = sample.lights\nz = hinv.ncpu + hinv.ndisk\n",
		"b": "a = sample.lights\nb = bozo}\nc=sample.bin*hinv.ncpu\nd = +\n",
		"c": "# comment\n\nfoo.a = 1+\nfoo.b=2\nfoo.b(oneline)=\"x\" y\nfoo.c\n = 3\nfoo.d(help)=x\nfoo.b(more)=x\nfoo.b(oneline)='c'\nfoo.b(helptext)='a\nb'\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return runsOf(filepath.Join(dir, "a"), filepath.Join(dir, "b"), filepath.Join(dir, "c"), "no-such-file")
}

func loadDerived(_ *testing.T, r suiteRun, _ string) string {
	n, err := new(pmapi.Derived).Load(r.args[0])
	result, messages := strconv.Itoa(n), ""
	switch {
	case errors.Is(err, os.ErrNotExist):
		result = pdu.FromError(err).Error()
	case err != nil:
		messages = err.Error() + "\n"
	}
	return fmt.Sprintf("pmLoadDerivedConfig(%s) returns: %s\n%s", r.args[0], result, messages)
}

func errorCodes(*testing.T) []suiteRun {
	r := suiteRun{args: []string{"--", "0", "12344", "12345", "-1000", "-22", "7", "13394", "12352", "21349", "21364", "21344"}}
	for n := 12346; n < 12450; n++ {
		if n != 12415 { // of PCP 7
			r.args = append(r.args, strconv.Itoa(n))
		}
	}
	return []suiteRun{r}
}

func errStr(t *testing.T, r suiteRun, _ string) string {
	var b strings.Builder
	for _, arg := range r.args[1:] {
		n := integer(t, arg)
		fmt.Fprintf(&b, "%s (%d) -> %v\n-(%s) (%d) -> %v\n", arg, n, pdu.Error(n), arg, -n, pdu.Error(-n))
	}
	return b.String()
}

func configNames(t *testing.T) []suiteRun {
	conf, err := pcpconf.Load("/etc/pcp.conf")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"NO_SUCH_VAR", "PCP_NO_SUCH_VAR"}
	for _, v := range conf.Environ() {
		name, _, _ := strings.Cut(v, "=")
		args = append(args, name)
	}
	file := filepath.Join(t.TempDir(), "pcp.conf")
	text := "# PCP_A=1\nPCP_B=\"two words\"\nPCP_C='x'\nPCP_D=\nPCP_B=3\nD=4\n PCP_E=5\nPCP_F=a=b\nPCP_G=\"x\nPCP_H='x\"\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	other := suiteRun{env: []string{"PCP_CONF=" + file, "PCP_C=env"}, args: []string{"PCP_A", "PCP_B", "PCP_C", "PCP_D", "D", "PCP_E", "PCP_F", "PCP_G", "PCP_H"}}
	return []suiteRun{{args: args}, other}
}

func getConfig(t *testing.T, r suiteRun, _ string) string {
	r.setEnv(t)
	var b strings.Builder
	for _, name := range r.args {
		value, err := pcptool.Config(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s -> %s\n", name, value)
	}
	return b.String()
}

func optionLines(t *testing.T) []suiteRun {
	var runs []suiteRun
	for name, text := range map[string]string{
		"folio":    "PCPFolio\nVersion: 1\nArchive:     smash\t20140624.10.52\n",
		"multi":    "PCPFolio\nVersion: 1\nArchive:     smash\t20140624.10.52\nArchive:     verge\t20140624.00.10\n",
		"badmagic": "PPCFolio\nVersion: 1\nArchive:     smash\t20140624.10.52\n",
		"version2": "PCPFolio\nVersion: 2\nArchive:     smash\t20140624.10.52\n",
		"nohost":   "PCPFolio\nVersion: 1\nArchive:     20140624.10.52\n",
		"empty":    "PCPFolio\nVersion: 1\n",
		"nothing":  "",
	} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, runsOf("--archive-folio="+file, "--hostsfile="+file)...)
	}
	for _, line := range []string{"", "-?", "--help", "-x -X goodness", "--extra --eXtra goodness", "-y -Y not", "--fubar --foobar eek", "-h foo.bar.com -t 1sec -s 5",
		"--host foo.bar.com --interval 1sec --samples 5", "-h a -h b", "-h a -a b", "-a b -h a", "-s foo", "-s -1", "-t foo", "--interval=1.5fortnights", "-Z UTC -z", "-z -Z UTC",
		"-g -p 42", "-p 42 -g", "-q", "--nosuch", "-h", "--ho", "--host", "--h", "--fub", "--fo", "-a a -a b", "--samples=3 x y", "--host-list=foo,bar", "--host-list=foo",
		"--archive-list=a,b", "--archive-list=a", "--archive-folio=/no/such", "-H /no/such", "-S @10:15", "-O today", "-z", "-a a -z -S @10:15", "-a a -S foo", "-n /no/such/names"} {
		runs = append(runs, suiteRun{args: strings.Fields(line)})
	}
	for _, env := range []string{"PCP_HOST_LIST=foo.com,bar.org", "PCP_SAMPLES=x", "PCP_INTERVAL=2 seconds", "PCP_INTERVAL=x", "PCP_HOST=acme.com\nPCP_ARCHIVE=log"} {
		runs = append(runs, suiteRun{env: strings.Split(env, "\n")})
	}
	return runs
}

func getOptions(t *testing.T, r suiteRun, _ string) string {
	r.setEnv(t)
	var errs strings.Builder
	c := &pcptool.Command{Name: "getoptions", Synopsis: "[options]", Stderr: &errs, TimeControlled: true}
	c.AddOptions("General options", c.Standard("align", "archive", "guimode", "host", "namespace", "origin", "guiport", "start", "samples", "finish",
		"interval", "timezone", "hostzone", "version", "help")...)
	c.AddOptions("Context options", c.Standard("spec-local", "local-PMDA", "hostsfile", "host-list", "archive-list", "archive-folio")...)
	ignore := func(string) error { return nil }
	c.AddOptions("Testing options",
		tool.Option{Short: 'x', Long: "extra", Help: "an extra option, for testing", Set: ignore},
		tool.Option{Short: 'X', Long: "eXtra", Arg: "ARG", Help: "an extra option with an argument", Set: ignore},
		tool.Option{Short: 'y', Help: "a short-option-only without argument", Set: ignore},
		tool.Option{Short: 'Y', Arg: "N", Help: "a short-option-only with an argument", Set: ignore},
		tool.Option{Long: "fubar", Help: "a long-option-only without argument", Set: ignore},
		tool.Option{Long: "foobar", Arg: "N", Help: "a long-option-only with an argument", Set: ignore})
	_, err := c.Parse(r.args)
	c.Report(err)
	return errs.String()
}

// messagesOnly leaves out the lines of getoptions about its variables.
func messagesOnly(text string) string {
	_, after, _ := strings.Cut(text, "    Lflag: ")
	if i := strings.IndexByte(after, '\n'); i >= 0 {
		text = after[i+1:]
	}
	return without("Warning: usage error detected", "Warning: runtime error detected")(text)
}

func scaleLines(*testing.T) []suiteRun {
	var runs []suiteRun
	add := func(line string) { runs = append(runs, suiteRun{args: strings.Fields(line)}) }
	for t := range 6 {
		for _, s := range []string{"1024 1:0:0:4:0:0 1:0:0:3:0:0", "1048576 1:0:0:3:0:0 1:0:0:4:0:0", "4096 1:-1:0:2:3:0 1:-1:0:3:5:0", "14400 1:-1:0:3:5:0 1:-1:0:2:3:0",
			"92160 1:1:-1:1:3:0 1:1:-1:2:4:1", "15 1:1:-1:2:4:1 1:1:-1:1:3:0", "1024 -1:1:0:2:3:0 -1:1:0:1:2:0", "1000 -1:1:0:1:2:0 -1:1:0:2:3:0"} {
			add(strconv.Itoa(t) + " " + s)
		}
	}
	for _, s := range []string{"3 4096 1:0:0:5:0:0 1:0:0:6:0:0", "3 4 1:0:0:6:0:0 1:0:0:5:0:0", "3 4096 1:0:0:7:0:0 1:0:0:6:0:0", "3 4096 1:0:0:5:0:0 1:0:0:7:0:0",
		"3 3600 0:1:0:0:6:0 0:1:0:0:4:0", "3 3600 0:1:0:0:4:0 0:1:0:0:6:0", "3 0 0:1:0:0:1:0 0:2:0:0:1:0", "3 123456 0:0:0:0:0:0 0:0:1:0:0:0", "3 123456 0:0:1:0:0:0 0:0:0:0:0:0"} {
		add(s)
	}
	return runs
}

func grindConv(t *testing.T, r suiteRun, _ string) string {
	units := func(text string) pdu.Units {
		var n [6]int
		for i, f := range strings.Split(text, ":") {
			n[i] = int(integer(t, f))
		}
		return pdu.MakeUnits(n[0], n[1], n[2], n[3], n[4], n[5])
	}
	a, err := pdu.ParseAtom(r.args[1], pdu.Type(integer(t, r.args[0])))
	if err != nil {
		t.Fatal(err)
	}
	from, to := units(r.args[2]), units(r.args[3])
	out := fmt.Sprintf("type=%d input units=%v value=%v\n", a.Type, from, a)
	b, err := a.ConvertUnits(from, to)
	if err != nil {
		return out + fmt.Sprintf("pmConvScale Error: %v\n", pdu.FromError(err))
	}
	return out + fmt.Sprintf("output units=%v value=%v\n", to, b)
}

func inDomNumber(t *testing.T, r suiteRun, _ string) string {
	d, err := pdu.ParseInDom(r.args[0])
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s = %d\n", r.args[0], uint32(d))
}

func numberInDom(t *testing.T, r suiteRun, _ string) string {
	return fmt.Sprintf("%s = %v\n", r.args[0], pdu.InDom(integer(t, r.args[0])))
}

func pmidNumber(t *testing.T, r suiteRun, _ string) string {
	id, err := pdu.ParsePMID(r.args[0])
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s = %d\n", r.args[0], uint32(id))
}

func numberPMID(t *testing.T, r suiteRun, _ string) string {
	return fmt.Sprintf("%s = %v\n", r.args[0], pdu.PMID(integer(t, r.args[0])))
}

func numbers(*testing.T) (runs []suiteRun) {
	for _, s := range strings.Fields(`0.4321 4.321 43.21 432.1 4321 43210 0 0.00001 0.0001 0.001 0.01 0.1 1.0 10.0 100.0 1000.0 10000.0 1000000.0 10000000.0
		100000000.0 1000000000.0 10000000000.0 100000000000.0 1000000000000.0 10000000000000.0 0.005 0.0051 9.995 9.9951 99.995 99.9951 999.95 999.951 999995
		9999951 9999500 99995100 99995000 999951000 999950000 9999510000 9999500000 99995100000 99995000000 999951000000 999950000000 9999510000000 9999500000000
		99995100000000 99995000000000 999951000000000 999950000000000 9999510000000000 9999500000000000 99995100000000000`) {
		runs = append(runs, runsOf(s, "-"+s)...)
	}
	return runs
}

func numberStr(t *testing.T, r suiteRun, _ string) string {
	return pdu.FormatNumber(number(t, r.args[0])) + "\n"
}

func intervals(*testing.T) []suiteRun {
	var args []string
	for _, n := range []string{"123", "45.67", "8.", "   9.123   ", "1.25", "0.16666667"} {
		for _, unit := range strings.Fields("nanosecond nsec microsecond usec millisecond msec second sec s minute min m hour hr h day d") {
			args = append(args, n+unit, n+unit+"s", strings.ToUpper(n+" "+unit))
		}
		args = append(args, n)
	}
	args = append(args, "1min30sec", "1d1h1m1s1msec", "1.5 hr 10 min 15 sec", "1 2 3 4 5 6 7 8 9 10", "55seconds",
		"123+sec", "123.456.789min", "4minutes 30secoonds", "sec", "123sec min")
	return []suiteRun{{args: args}}
}

// parseIntervals prints intervals with so many decimals.
func parseIntervals(decimals int) func(*testing.T, suiteRun, string) string {
	return func(_ *testing.T, r suiteRun, _ string) string {
		var b strings.Builder
		for _, arg := range r.args {
			d, err := pmapi.ParseInterval(arg)
			if err != nil {
				fmt.Fprintf(&b, "\"%s\" Error:\n%v\n", arg, pcptool.SyntaxError(err))
				continue
			}
			if decimals == 6 {
				d = d.Round(time.Microsecond)
			}
			nsec := fmt.Sprintf("%09d", d%time.Second)
			fmt.Fprintf(&b, "\"%s\" Time: %d.%s sec\n", arg, d/time.Second, nsec[:decimals])
		}
		return b.String()
	}
}

func hostLines(*testing.T) []suiteRun {
	return runsOf("nas1.servers.com:44321,4321@firewall.servers.com:44322", "nas1.servers.com:44321@firewall.servers.com:44322", "nas1.servers.com:44321@firewall.servers.com",
		"nas1.servers.com@firewall.servers.com", "nas1.servers.com:44321", "[fda4:caa0:9105:6d00:c06b:922:fae:9423]:44321", "nas1:x", "nas1:", "[::1", "[::1]x")
}

func hostPart(b *strings.Builder, i int, h hostspec.HostPort) {
	fmt.Fprintf(b, "host[%d]: \"%s\"", i, h.Name)
	switch len(h.Ports) {
	case 0:
	case 1:
		b.WriteString(" port:")
	default:
		b.WriteString(" ports:")
	}
	for _, p := range h.Ports {
		fmt.Fprintf(b, " %d", p)
	}
	b.WriteByte('\n')
}

func hostError(function string, err error) string {
	return function + " error:\n" + pcptool.SyntaxError(err).Error() + "\n\n"
}

func parseHostSpec(_ *testing.T, r suiteRun, _ string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "pmParseHostSpec(\"%s\", ...)\n", r.args[0])
	h, err := hostspec.Parse(r.args[0])
	if err != nil {
		return b.String() + hostError("pmParseHostSpec", err)
	}
	for i, p := range append([]hostspec.HostPort{h.Host}, h.Proxies...) {
		hostPart(&b, i, p)
	}
	fmt.Fprintf(&b, "pmUnparseHostSpec(\"%s\") -> \"%s\"\n", r.args[0], h)
	return b.String()
}

func hostAttrLines(*testing.T) []suiteRun {
	return runsOf("pcps://nas1.servers.com:44321,4321@firewall.servers.com:44322?compress", "pcp://localhost:23?compress", "pcp://some.host?user=pcpqa&compress&pass=blah",
		"pcp://some.host?user=pcpqa", "some.host?user=pcpqa", "some.host", "local:where/am/i.sock", "unix://tmp/holey.sock?compress&exclusive", "local://tmp/holey.sock?user=pcpqa&compress")
}

func parseHostAttrs(_ *testing.T, r suiteRun, _ string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "pmParseHostAttrsSpec(\"%s\", ...)\n", r.args[0])
	h, err := hostspec.Parse(r.args[0])
	if err != nil {
		return b.String() + hostError("pmParseHostAttrsSpec", err)
	}
	text := h.String()
	if h.Path != "" {
		hostPart(&b, 0, hostspec.HostPort{Name: h.Path})
	} else {
		for i, p := range append([]hostspec.HostPort{h.Host}, h.Proxies...) {
			hostPart(&b, i, p)
		}
	}
	switch { // which C has as an attribute
	case h.Protocol == hostspec.Unix:
		b.WriteString("unixsock\n")
	case h.Protocol == hostspec.Local:
		b.WriteString("local\n")
	case h.Protocol == hostspec.PCPS:
		b.WriteString("protocol=pcps\n")
	case strings.HasPrefix(r.args[0], "pcp:"):
		b.WriteString("protocol=pcp\n")
		text = "pcp://" + text
	}
	for _, a := range h.Attrs {
		if a.Value == "" {
			fmt.Fprintf(&b, "%s\n", a.Name)
		} else {
			fmt.Fprintf(&b, "%s=%s\n", a.Name, a.Value)
		}
	}
	fmt.Fprintf(&b, "pmUnparseHostAttrsSpec(\"%s\") -> \"%s\"\n", r.args[0], text)
	return b.String()
}

// sortedAttrs sorts attributes, which C has in the order of a hash table.
func sortedAttrs(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if head, attrs, ok := strings.Cut(line, "?"); ok && strings.Contains(line, "->") {
			_, attrs, _ = strings.Cut(attrs, " -> ")
			_, attrs, _ = strings.Cut(strings.TrimSuffix(attrs, `"`), "?")
			words := strings.Split(attrs, "&")
			slices.Sort(words)
			_, name, _ := strings.Cut(line, " -> ")
			name, _, _ = strings.Cut(name, "?")
			lines[i] = head + " -> " + name + "?" + strings.Join(words, "&")
		}
	}
	slices.Sort(lines[1:])
	return strings.Join(lines, "\n")
}

func metricLines(*testing.T) (runs []suiteRun) {
	add := func(args ...string) { runs = append(runs, suiteRun{args: args}) }
	for _, inst := range []string{"", "[singular]", "[one,two,three]"} {
		add("sample"+inst, "1", "default_arch")
		add("sample"+inst, "0", "default_host")
		add("my_arch/sample"+inst, "1", "default_arch")
		add("my_host:sample"+inst, "0", "default_host")
		add("other_host:sample"+inst, "1", "default_arch")
		add("/other/arch/sample"+inst, "0", "default_host")
		add("@:sample"+inst, "0", "default_host")
	}
	add("my_arch   /   sample  [singular]", "1", "default_arch")
	for _, s := range []string{" my_host : sample [ one , two , three ] ", "../../relative/pathname/myarch/metric", "metric.a.b.c.d[]",
		"/full/pathname/myarch/metric[fumble mumble]", "./myarch/metric[fumble,,mumble]", `foo["instance with strange chars :/,[]\""]`,
		`20080424:12:05/disk.dev.total["sda1"]`, "20080424:12:05/disk.all.total", "one/two:three", "foo:bar/fumble[mumble]", "foo/bar[fumble]mumble", "foo:", ":badhost",
		"bad/arch/", "/bad/arch/[", "norsqb[", "nolsqb-instance]", `metric["noclosingquote`, `metric["noclosingquote]`, `metric["noclosing]"`, `metric["ends in backslash\`} {
		add(s, "0", "default_host")
	}
	return runs
}

func parseMetricSpec(t *testing.T, r suiteRun, _ string) string {
	var b strings.Builder
	kind := pmapi.SourceKind(integer(t, r.args[1]))
	fmt.Fprintf(&b, "pmParseMetricSpec(\"%s\", %d, \"%s\", ...)\n", r.args[0], kind, r.args[2])
	s, err := pmapi.ParseMetricSpec(r.args[0], kind, r.args[2])
	if err != nil {
		return b.String() + fmt.Sprintf("pmParseMetricSpec Error:\n%v\n\n", pcptool.SyntaxError(err))
	}
	fmt.Fprintf(&b, "isarch:   %d\nsource:   \"%s\"\nmetric:   \"%s\"\n", s.Kind, s.Source, s.Metric)
	for i, inst := range s.Instances {
		fmt.Fprintf(&b, "inst[%d]:  \"%s\"\n", i, inst)
	}
	return b.String()
}

// convScale converts one number to the unit of each line in turn.
func convScale(t *testing.T, r suiteRun, theirs string) string {
	if r.args[0] == "x" {
		return rewrite(t, theirs, ` *(\d+\.\d) (\S.*) -> .*\d+\.\d (\S.*)`, func(g []string) string {
			v := number(t, g[1])
			w, _ := pdu.As[float64](convertUnits(t, pdu.Float64(v), g[2], g[3]))
			return fmt.Sprintf("%12.1f %s -> %12.1f %s", v, g[2], w, g[3])
		})
	}
	dims := map[string][3]int{"n": {}, "c": {0, 0, 1}, "s": {1, 0, 0}, "t": {0, 1, 0}, "r": {1, -1, 0}}[r.args[0]]
	scales := [3]int{0, 3, 0}
	if dims[0] == 1 {
		scales[0] = 2
	}
	if dims[1] == 0 {
		scales[1] = 0
	}
	units := func() pdu.Units { return pdu.MakeUnits(dims[0], dims[1], dims[2], scales[0], scales[1], scales[2]) }
	a := pdu.Float32(12345678)
	return rewrite(t, theirs, `scale(Space|Time|Count)=(-?\d+) old: .*`, func(g []string) string {
		old, was := units(), a
		scales[map[string]int{"Space": 0, "Time": 1, "Count": 2}[g[1]]] = int(integer(t, g[2]))
		var err error
		if a, err = a.ConvertUnits(old, units()); err != nil {
			t.Fatal(err)
		}
		before, _ := pdu.As[float64](was)
		after, _ := pdu.As[float64](a)
		return fmt.Sprintf("scale%s=%s old: %12.1f \"%s\" new: %12.1f \"%s\"", g[1], g[2], before, old, after, units())
	})
}

func printValues(t *testing.T, _ suiteRun, theirs string) string {
	types := map[string]pdu.Type{"32": pdu.Type32, "U32": pdu.TypeU32, "64": pdu.Type64, "U64": pdu.TypeU64, "FLOAT": pdu.TypeFloat, "DOUBLE": pdu.TypeDouble}
	return rewrite(t, theirs, `PM_TYPE_(\w+): .* correct: (\S+)(.*)`, func(g []string) string {
		a, err := pdu.ParseAtom(g[2], types[g[1]])
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("PM_TYPE_%s: %s correct: %s%s", g[1], pdu.ValueFormat{}.Format(a), g[2], g[3])
	})
}

// freeTimes reads times as the start of a time window. What the program calls #1 has no limits, and
// #2 is not before the start.
func freeTimes(t *testing.T, _ suiteRun, theirs string) string {
	at := func(name string) time.Time {
		m := regexp.MustCompile(`(?m)^   "` + name + ` *" +(.*)$`).FindStringSubmatch(theirs)
		v, err := time.ParseInLocation(time.DateTime, m[1], time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	first, last := at("start"), at("end")
	return rewrite(t, theirs, `#([123]) "(.*)"( +)(.*)`, func(g []string) string {
		w, err := pmapi.WindowSpec{Start: g[2], Location: time.UTC}.Window(first, last)
		if err != nil {
			return pcptool.SyntaxError(err).Error()
		}
		v := w.Start
		switch {
		case g[1] == "3":
			v = w.End
		case g[1] == "1" && v.Equal(first):
			return g[0] // before the start
		}
		return fmt.Sprintf("#%s \"%s\"%s%s", g[1], g[2], g[3], v.Format(time.DateTime))
	})
}

// convertUnits converts a value between the units that two texts name.
func convertUnits(t *testing.T, a pdu.Atom, from, to string) pdu.Atom {
	units := func(text string) pdu.Units {
		u, _, err := pdu.ParseUnits(text)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	a, err := a.ConvertUnits(units(from), units(to))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// scaleGrid converts integers there and back, and prints units.
func scaleGrid(t *testing.T, _ suiteRun, theirs string) string {
	theirs = rewrite(t, theirs, `error\?  (\d+) (.*) -> \d+ (.*) -> \d+ (.*)`, func(g []string) string {
		a := pdu.Int32(int32(integer(t, g[1])))
		b := convertUnits(t, a, g[2], g[3])
		return fmt.Sprintf("error?  %s %s -> %v %s -> %v %s", g[1], g[2], b, g[3], convertUnits(t, b, g[3], g[4]), g[4])
	})
	return rewrite(t, theirs, `(\{ *(-?\d+), *(-?\d+), *(-?\d+), *(-?\d+), *(-?\d+), *(-?\d+) \}) .*`, func(g []string) string {
		var n [6]int
		for i := range n {
			n[i] = int(integer(t, g[i+2]))
		}
		return fmt.Sprintf("%s %v", g[1], pdu.MakeUnits(n[0], n[1], n[2], n[3], n[4], n[5]))
	})
}

func semStr(*testing.T, suiteRun, string) string {
	return fmt.Sprintf("1 -> %v\n3 -> %v\n4 -> %v\n\nAnd now some error cases ...\nout of range high -> %v\nout of range low -> %v\n",
		pdu.SemCounter, pdu.SemInstant, pdu.SemDiscrete, pdu.Sem(999), pdu.Sem(-1))
}

// zoneTimes computes the times of day in two months in zones. What follows the arrow is the zone in
// the form of archives.
func zoneTimes(t *testing.T, _ suiteRun, theirs string) string {
	var loc *time.Location
	return rewrite(t, theirs, `(.* -> (.*)|In (March|September) daylight saving is .*)`, func(g []string) string {
		if g[3] == "" {
			loc = tool.LoadZone(g[2])
			return g[0]
		}
		at := time.Unix(951912000, 0)
		if g[3] == "September" {
			at = time.Unix(967809600, 0)
		}
		at = at.In(loc)
		on := "off"
		if at.IsDST() {
			on = "on"
		}
		return fmt.Sprintf("In %s daylight saving is %s, and the time is %s", g[3], on, at.Format("02 January 2006 15:04 MST"))
	})
}

func unitLines(*testing.T) (runs []suiteRun) {
	add := func(args ...string) { runs = append(runs, suiteRun{args: args}) }
	add("tuple", "0", "0", "0", "1", "1", "1")
	add("tuple", "1", "-1", "0", "2", "3", "0")
	add("tuple", "-8", "7", "0", "0", "0", "0")
	for _, s := range []string{"2e5", "-/2", "2eg", "25 sec/kb", "5 ms / 3 sec", "nanoseconds^-8 bytes count x 10^-8 / nanosecond^-7 byte count x 10^-7",
		"NANOSEC kBytes^-6 count x 10^-6 / nS kByte^-5 count x 10^-5", "microseconds mbytes count x 10^-4^-3 / microsecond^-2 mbyte count x 10^-3",
		"microsec mb^-1 count x 10^-2 / us kb^0 count x 10^-1", "kibibytes", "mebibytes", "gibibytes", "tebibytes", "pebibytes", "exbibytes", "zebibytes", "yobibytes",
		"kilobytes / kilobyte", "megabytes / megabyte", "gigabytes / gigabyte", "terabytes / terabyte", "petabytes / petabyte", "exabytes / exabyte",
		"kibibytes / kilobyte", "mebibytes / megabyte", "gibibytes / gigabyte", "tebibytes / terabyte", "pebibytes / petabyte", "exbibytes / exabyte",
		"zebibytes / zettabyte", "yobibytes / yottabyte", "milliseconds^-4 gbytes^-3 count x 10^0 / millisecond^-2 gbyte^-1 count x 10",
		"millisec gb^0 count / ms tbytes count x 10^1^1", "seconds^1 tbyte^2 count x 10^2 / second^3 tb^4 count x 10^3", "seconds tbyte^6 count x 10^2 / second tb^5 count x 10^3",
		"sec pbytes^8 count x 10^4 / minutes pbyte^7 count x 10^5", "minute^9 pb count x 10^5 / min^10 ebytes count x 10^6", "hours^11 ebyte count x 10^6 / hour^12 eb count x 10^8",
		"hr^11 space-0^12 / time-0^12 space-1^13", "time-1 space-2^14 / time-2 space-3^15", "time-3 space-3 / counts time-4 space-4", "time-5 space-5 / space-6",
		"time-6 space-7 / space-8", "time-7 space-9 / space-10", "time-8 space-11 / space-12", "time-9 space-13 / space-14", "time-10 space-15 / space-0", "time-11",
		"time-12", "time-13", "time-14", "time-15", "s", "count x 10^6", "count x 10^6^1", "count x 10^1^6", "25kb^3/1sec^2", "sec^-2 / kb^-3"} {
		add("parse", s)
	}
	return runs
}

func parseUnits(t *testing.T, r suiteRun, _ string) string {
	text, b := r.args[1], strings.Builder{}
	if r.args[0] == "tuple" {
		var n [6]int
		for i := range n {
			n[i] = int(integer(t, r.args[1+i]))
		}
		u := pdu.MakeUnits(n[0], n[2], n[1], n[3], n[5], n[4])
		fmt.Fprintf(&b, "%s => ", unitsTuple(u))
		text = u.String()
	}
	u, mult, err := pdu.ParseUnits(text)
	message := ""
	if err != nil {
		message = strings.TrimPrefix(err.Error(), fmt.Sprintf("units %q: ", text))
		message = strings.TrimSuffix(message, pdu.ErrConv.Error())
		message = strings.TrimSuffix(message, ": ") + " "
	}
	code := 0
	if err != nil {
		code = int(pdu.FromError(err))
	}
	fmt.Fprintf(&b, "\"%s\" => conv rc %d %s=> %s*%s => \"%v\"", text, code, message, unitsTuple(u), cnum.AppendG(nil, mult, 6), u)
	if r.args[0] == "tuple" {
		b.WriteByte(' ')
	}
	return b.String() + "\n"
}

func unitsTuple(u pdu.Units) string {
	return fmt.Sprintf("(%d,%d,%d,%d,%d,%d)", u.DimSpace(), u.DimCount(), u.DimTime(), u.ScaleSpace(), u.ScaleCount(), u.ScaleTime())
}

func extractLines(*testing.T) (runs []suiteRun) {
	for _, s := range []string{"7b", "0x3fffffff", "0x7fffffff", "0xffffffff", "0x3fffffffffffffff", "0x7fffffffffffffff"} {
		runs = append(runs, suiteRun{args: []string{"-v", s}})
	}
	return runs
}

// extractValues converts a number, as every type, to every type.
func extractValues(t *testing.T, r suiteRun, _ string) string {
	text := strings.TrimPrefix(r.args[1], "0x")
	v, err := strconv.ParseUint(text, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	var e pdu.EventBuilder
	e.Begin(time.Unix(1, 0), pdu.EventPoint)
	events, _ := e.Atom()
	e = pdu.EventBuilder{HighRes: true}
	e.Begin(time.Unix(1, 0), pdu.EventPoint)
	highRes, _ := e.Atom()
	words := func(n uint32) []byte { return []byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)} }
	var block []byte
	for i := range uint32(3) {
		block = append(block, words(uint32(v)-1+i)...)
	}
	sources := []struct {
		name string
		a    pdu.Atom
	}{
		{"long", pdu.Int32(int32(v))}, {"ulong", pdu.Uint32(uint32(v))}, {"longlong", pdu.Int64(int64(v))}, {"ulonglong", pdu.Uint64(v)},
		{"float", pdu.Float32(float32(v))}, {"double", pdu.Float64(float64(v))}, {"char *", pdu.String(strconv.FormatUint(v, 10))},
		{"pmValueBlock *", pdu.Aggregate(block)}, {"pmEventArray", events}, {"pmHighResEventArray", highRes},
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nValue: %d 0x%x\n", int64(v), v)
	for _, from := range sources {
		for _, to := range sources {
			fmt.Fprintf(&b, "(%s) %s => (%s) %s\n", from.name, xvalText(from.a), to.name, xvalTo(from.a, to.a.Type))
		}
	}
	return b.String()
}

// xvalText is how the program prints a value.
func xvalText(a pdu.Atom) string {
	switch a.Type {
	case pdu.TypeAggregate:
		text := fmt.Sprintf("[vlen=%d]", len(a.Bytes()))
		for w := range slices.Chunk(a.Bytes(), 4) {
			text += fmt.Sprintf(" %02x%02x%02x%02x", w[3], w[2], w[1], w[0])
		}
		return text
	case pdu.TypeEvent, pdu.TypeHighResEvent:
		e, _ := a.Events()
		return fmt.Sprintf("[%d event records]", e.Len())
	case pdu.TypeFloat, pdu.TypeDouble:
		v, _ := pdu.As[float64](a)
		return string(cnum.AppendE(nil, v, 6))
	}
	return a.String()
}

func xvalTo(a pdu.Atom, t pdu.Type) string {
	var to pdu.Atom
	var err error
	switch t {
	case pdu.Type32:
		to, err = convertTo[int32](a)
	case pdu.TypeU32:
		to, err = convertTo[uint32](a)
	case pdu.Type64:
		to, err = convertTo[int64](a)
	case pdu.TypeU64:
		to, err = convertTo[uint64](a)
	case pdu.TypeFloat:
		to, err = convertTo[float32](a)
	case pdu.TypeDouble:
		to, err = convertTo[float64](a)
	case pdu.TypeString:
		to, err = convertTo[string](a)
	case pdu.TypeAggregate:
		to, err = convertTo[[]byte](a)
	default:
		err = pdu.ErrConv
	}
	if err != nil {
		return ": " + pdu.FromError(err).Error()
	}
	return xvalText(to)
}

func convertTo[T pdu.Scalar](a pdu.Atom) (pdu.Atom, error) {
	v, err := pdu.As[T](a)
	return pdu.AtomOf(v), err
}
