package pmdaproc

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// TestConditions checks the normal forms of conditions.
func TestConditions(t *testing.T) {
	for text, want := range map[string]string{
		"": "", " # nothing\n": "", "Version 1.0": "", "Version 1.0 true": "(true)", "false": "(false)",
		"uid == 0": "(uid == 0)", "1 < 2": "(1 < 2)", "uid<.5": "(uid < 0.500000)", "5. >= gid": "(5 >= gid)",
		`"a" == fname`: `("a" == fname)`, "fname != uname": "(fname != uname)", "fname ~ /x.y/": `(fname ~ "x.y")`, `"" !~ //`: `("" !~ "")`,
		"true || false && ! true": "((true) || ((false) && (! (true))))", "(true || false) && true": "(((true) || (false)) && (true))",
		"true && true && true": "(((true) && (true)) && (true))", "! ! true": "(! (! (true)))",
		`cpuburn > 0.2 && (uname == "root" || fname ~ /pyth/) && !(psargs ~ /zzz/)`: `(((cpuburn > 0.200000) && ((uname == "root") || (fname ~ "pyth"))) && (! (psargs ~ "zzz")))`,
	} {
		c, err := parseCondition(text)
		got := ""
		if c != nil {
			got = c.String()
		}
		if err != nil || got != want {
			t.Errorf("%q is %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"uid == 0 uid == 1", "Version 2.0 true", "version 1.0 true", `fname ~ "x"`, "true &&", "uid = 0", "UID == 0", `fname == "abc`, "-1 < uid",
		"virtualsize >= 1e", "fname ~ /[/", "fname ~ /a", "syscalls > 1", "uid == fname", "uid ~ /1/", "fname < uname", "()", "(true", "true)", "!", "&&", "uid", "1.2.3 < uid", ". < uid",
		"fname ~ /\\(/", `fname ~ /\(a\)\1/`, strings.Repeat("(", 1000) + "true" + strings.Repeat(")", 1000), strings.Repeat("true &&", maxCondition), "true\x00", "true | true", "fname == \"a\nb\""} {
		if c, err := parseCondition(text); err == nil {
			t.Errorf("%.50q is %v", text, c)
		}
	}
}

// TestPatterns checks that patterns have the syntax of Emacs.
func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"b", "abc", true}, {"^b", "abc", false}, {"c$", "abc", true}, {"a.c", "abc", true}, {"x*", "", true}, {"ab+c", "abbc", true}, {"ab?c", "ac", true},
		{"a|b", "a", false}, {"a|b", "a|b", true}, {`a\|b`, "b", true}, {"(a)", "a", false}, {"(a)", "(a)", true}, {`\(ab\)*c`, "ababc", true},
		{"[ab]", "b", true}, {"[^ab]", "ab", false}, {"[]a]", "]", true}, {`[\]`, `\`, true}, {`\.`, "x", false}, {`\.`, ".", true}, {"a{2}", "aa", false}, {"a{2}", "a{2}", true},
		{"*a", "*a", true}, {"^*a", "*a", true}, {`\(*a\)`, "*a", true}, {`\<a`, "b a", true}, {"a.b", "a\nb", true},
		{"a^b", "a^b", true}, {"a$b", "a$b", true}, {`^a$\|^b$`, "b", true}, {`\(a$\)`, "ba", true}, {`x\(^a\)`, "xa", false}, {"[[:a]", ":", true}, {"[[:a]", "[", true},
		{"[[:digit:]]", "t]", true}, {"[[:digit:]]", "5]", false}, {"\\ü", "ü", true},
	} {
		p, err := compilePattern(c.pattern)
		if err != nil || p.MatchString(c.text) != c.want {
			t.Errorf("%q matches %q: %v, want %v", c.pattern, c.text, err, c.want)
		}
	}
}

// FuzzCondition checks that the normal form of a condition without patterns parses to the same
// normal form.
func FuzzCondition(f *testing.F) {
	f.Add(`Version 1.0 uid == 0 && (fname != "x" || ! 1 < gid)`)
	f.Add(`fname ~ /a[b\(c\)/ # x`)
	f.Add("\"\n\" == psargs")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseCondition(text)
		if err != nil || c == nil {
			return
		}
		c.holds(new(variables))
		form := c.String()
		if strings.Contains(form, "~") || len(form) > maxCondition {
			return
		}
		again, err := parseCondition(form)
		if err != nil && !strings.Contains(err.Error(), "nested parentheses") || err == nil && again.String() != form {
			t.Errorf("%q has the normal form %q, which is %v, %v", text, form, again, err)
		}
	})
}

// hotTree writes a machine with two processors and two processes. The first process has run for the
// given ticks.
func hotTree(t *testing.T, root string, ticks, idle, io int) {
	t.Helper()
	for name, text := range map[string]string{
		"stat":         fmt.Sprintf("cpu 1 2 3 %d 5\ncpu0 1\ncpu1 1\nintr 1\n", idle),
		"10/stat":      fmt.Sprintf("10 (burner) R 1 1 1 0 -1 0 0 0 0 0 %d 50 0 0 20 0 1 0 99 2048000 25 0\n", ticks),
		"10/status":    fmt.Sprintf("Name:\tburner\nUid:\t0\t0\t0\t0\nGid:\t7\t7\t7\t7\nvoluntary_ctxt_switches:\t%d\nnonvoluntary_ctxt_switches:\t5\n", ticks),
		"10/io":        fmt.Sprintf("read_bytes: %d\nwrite_bytes: 5\n", io),
		"10/schedstat": fmt.Sprintf("1 %d 3\n", ticks*1e7),
		"10/cmdline":   "burner\x00-x\x00",
		"11/stat":      "11 (idler) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 99 1024 1 0\n",
		"11/status":    "Name:\tidler\nUid:\t1000\t0\t0\t0\nGid:\t8\t7\t7\t7\n",
		"11/cmdline":   "idler\x00",
		"12/status":    "Name:\tgone\n",
		"13/stat":      "",
	} {
		path := filepath.Join(root, "proc", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEvaluation checks the values of processes after two evaluations.
func TestEvaluation(t *testing.T) {
	p := newProc(&Options{Root: t.TempDir(), PageSize: 4096})
	p.add()
	s := newSampler(p)
	c, err := parseCondition(`cpuburn > 0.2 || fname == "idler" && uid == 1000 && gid == 8 && psargs == "idler"`)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	hotTree(t, p.Root, 100, 1000, 1024)
	e, err := s.evaluate(c, start)
	if err != nil || len(e.hot) != 1 || e.hot[11] == nil || e.totals != (totals{}) {
		t.Errorf("the first has %v, %v", e, err)
	}
	hotTree(t, p.Root, 200, 1220, 1024+4096)
	e, err = s.evaluate(c, start.Add(2*time.Second))
	if err != nil || len(e.hot) != 2 {
		t.Fatalf("the second has %v, %v", e, err)
	}
	want := variables{}
	for v, n := range map[int]float64{varGID: 7, varCPUBurn: 0.5, varCtxSwitch: 50, varVirtualSize: 2000, varResidentSize: 100, varIODemand: 2, varSchedWait: 0.5} {
		want.numbers[v] = n
	}
	if got := e.hot[10].values; got.numbers != want.numbers || got.texts[varPSArgs] != "burner -x" || got.texts[varFName] != "burner" {
		t.Errorf("%+v, want %+v", got, want)
	}
	for name, v := range map[string][2]float32{"idle": {e.totals.idle, 1.1}, "burn": {e.totals.burn, 0.5}, "transient": {e.totals.transient, 0.4}, "not burn": {e.totals.notBurn, 0},
		"other": {e.totals.other, 0.4}, "percent": {e.totals.percent, 100 * 0.4 / 0.9}} {
		if math.Abs(float64(v[0]-v[1])) > 1e-4 {
			t.Errorf("%s is %v, want %v", name, v[0], v[1])
		}
	}
	if e, err = s.evaluate(c, start.Add(2*time.Second)); err != nil || len(e.hot) != 1 {
		t.Errorf("at the same time there are %v, %v", e, err)
	}
}

// hotValues fetches from an agent as a user.
func hotValues(t *testing.T, p *proc, uid int, id pmda.ItemID) (n int, err error) {
	t.Helper()
	c := pmda.NewClient(1, 1)
	c.UID, c.GID = uid, uid
	var w pdu.ResultWriter
	pmid := pdu.MakePMID(Domain, int(id)>>10&0xfff, int(id)&0x3ff)
	if err := p.Fetch(t.Context(), &pmda.Request{Client: c}, []pdu.PMID{pmid}, &w); err != nil {
		t.Fatal(err)
	}
	r, err := w.Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range r.All() {
		if n, err = set.Len(), set.Err(); id == pmda.Item(52, 99) {
			v, _ := pdu.As[int32](set.Atom(0, pdu.TypeU32))
			n = int(v)
		}
	}
	return n, err
}

// TestHotproc checks that an agent with a configuration lists the matching processes while it is
// served.
func TestHotproc(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "hotproc.conf")
	if err := os.WriteFile(conf, []byte("#pmdahotproc\nVersion 1.0\n\nfname == \"idler\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := newProc(&Options{Root: t.TempDir(), HotprocConfig: conf, NoAccessChecks: true})
	p.add()
	hotTree(t, p.Root, 1, 1, 1)
	p.hotList.interval = time.Millisecond
	defer p.BeginServing(nil)()
	await := func(want int) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			n, err := hotValues(t, p, -1, pmda.Item(52, 99))
			if n == want && err == nil {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("there are %d hot processes, %v, want %d", n, err, want)
			}
		}
	}
	await(1)
	if n, err := hotValues(t, p, -1, pmda.Item(61, 2)); n != 1 || err != nil {
		t.Errorf("predicate.virtualsize: %d values, %v", n, err)
	}
	if n, err := hotValues(t, p, -1, pmda.Item(56, 0)); n != 1 || err != nil {
		t.Errorf("id.uid: %d values, %v", n, err)
	}
	if err := p.hotList.set("true", func(n uint32) uint32 { return n + 1 }); err != nil {
		t.Fatal(err)
	}
	await(2)
	if err := p.hotList.set("", func(n uint32) uint32 { return n + 1 }); err != nil {
		t.Fatal(err)
	}
	await(0)
	if p.hotList.generation != 0 {
		t.Error(p.hotList.generation)
	}
	if err := os.Chmod(conf, 0o646); err != nil {
		t.Fatal(err)
	}
	if err := p.hotList.load(); err == nil {
		t.Error("a file that anybody may write to was loaded")
	}
}

// TestHotprocAccess checks that clients without credentials do not see which processes are hot.
func TestHotprocAccess(t *testing.T) {
	p := newProc(&Options{Root: t.TempDir()})
	p.add()
	hotTree(t, p.Root, 1, 1, 1)
	for _, id := range []pmda.ItemID{pmda.Item(61, 7), pmda.Item(52, 0)} {
		if n, err := hotValues(t, p, -1, id); n > 0 || err != pdu.ErrPermission {
			t.Error(n, err)
		}
	}
	for _, id := range []pmda.ItemID{pmda.Item(60, 2), pmda.Item(60, 8)} {
		if n, err := hotValues(t, p, -1, id); n != 1 || err != nil {
			t.Error(n, err)
		}
	}
}
