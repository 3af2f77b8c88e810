package logrewrite

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// TestReplace checks which text is replaced, and by what.
func TestReplace(t *testing.T) {
	for _, test := range []struct{ find, with, text, want string }{
		{"b+", "x", "abbcb", "axcb"},      // only the first match
		{"a|ab", "<&>", "cabd", "c<ab>d"}, // the longest
		{"(b)(z)?(c)", `\3\2\1\9\&\\`, "abcd", `acb&\d`},
		{"[[:digit:]]{2}", "", "a123", "a3"},
		{"x", "y", "abc", "abc"},
		{"^", `>\`, "a", `>\a`},
	} {
		p, err := new(Plan).pattern(test.find, test.with)
		if err != nil {
			t.Fatal(err)
		}
		got, found, err := p.replace(test.text)
		if got != test.want || err != nil || found != (test.want != test.text) {
			t.Errorf("%s -> %s of %s: %q, %v, %v", test.find, test.with, test.text, got, found, err)
		}
	}
	p, err := new(Plan).pattern("a+", strings.Repeat("&", 1<<10))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.replace(strings.Repeat("a", 1<<20)); !errors.Is(err, pdu.ErrTooBig) {
		t.Errorf("a gigabyte: %v", err)
	}
	for find, want := range map[string]string{"a(": `Unmatched ( or \(`, "a)": `Unmatched ) or \)`, "[a": "Unmatched [, [^, [:, [., or [=", "*": "Invalid preceding regular expression",
		"[b-a]": "Invalid range end", `a\`: "Trailing backslash", "a{3,1}": `Invalid content of \{\}`} {
		_, err := new(Plan).pattern(find, "")
		if e, ok := errors.AsType[*Error](err); !ok || e.Text != "regcomp error: "+want {
			t.Errorf("%s: %v, want %s", find, err, want)
		}
	}
}

// later makes an archive like input, with another metric of strings and one in watts.
func later(t *testing.T) string {
	t.Helper()
	base := filepath.Join(t.TempDir(), "in")
	w, err := archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC", PID: 7}}.Create(base)
	if err != nil {
		t.Fatal(err)
	}
	name := pdu.Desc{PMID: pdu.MakePMID(60, 12, 1), Type: pdu.TypeString, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete}
	power := pdu.Desc{PMID: pdu.MakePMID(60, 12, 2), Type: pdu.TypeDouble, InDom: pdu.NoInDom, Sem: pdu.SemInstant, Units: pdu.Watt}
	at := time.Unix(1_800_000_000, 250_000_000)
	_, inDom := w.UpdateInDom(at, disks, []pdu.Instance{{ID: 1, Name: "sda"}, {ID: 2, Name: "sdb ssd"}, {ID: 3, Name: "sdc"}})
	err = errors.Join(inDom, w.WriteMetric(archive.Metric{Desc: reads, Names: []string{"disk.dev.read"}}),
		w.WriteMetric(archive.Metric{Desc: name, Names: []string{"kernel.name"}}), w.WriteMetric(archive.Metric{Desc: power, Names: []string{"power"}}))
	s := pdu.ResultWriter{Time: at}
	s.Begin(reads.PMID)
	s.Uint32(2, 7)
	s.Begin(name.PMID)
	s.String(pdu.NoInst, "web1 and web2")
	s.Begin(power.PMID)
	s.Float64(pdu.NoInst, 1500)
	if err := errors.Join(err, w.WriteSets(&s), w.Close()); err != nil {
		t.Fatal(err)
	}
	return base
}

// TestRewriteLater checks the changes, warnings and summaries of clauses added after PCP 6.0.3.
func TestRewriteLater(t *testing.T) {
	const (
		unchanged = `3 web1 UTC 250
[disk.dev.read] 60.0.4 U32 60.1 counter "count"
[kernel.name] 60.12.1 STRING PM_INDOM_NULL discrete ""
[power] 60.12.2 DOUBLE PM_INDOM_NULL instant "power (W)"
60.1 250 [{1 sda} {2 sdb ssd} {3 sdc}]
0.250 60.0.4 2=7 60.12.1 -1="web1 and web2" 60.12.2 -1=1.500000e+03
`
		head = "PCP Archive Log Rewrite Specifications Summary\n"
	)
	for _, test := range []struct {
		rules   string
		change  []string
		summary string
	}{
		{`global { hostname -> "a b" }`, []string{"3 web1", "3 a b"}, head + "Hostname:\tweb1 -> a b\n"},
		{"indom 60.1 { iname redact }", []string{"1 sda", "1 1 [redacted]", "2 sdb ssd", "2 2 [redacted]", "3 sdc", "3 3 [redacted]"}, head + `
Instance Domain: 60.1
Instance:	[1] "sda" -> [1] "1 [redacted]"
Instance:	[2] "sdb ssd" -> [2] "2 [redacted]"
Instance:	[3] "sdc" -> [3] "3 [redacted]"

Metric: disk.dev.read (60.0.4)
Inst Changes:	<- InDom 60.1
`},
		{`indom 60.1 { iname replace /^sd([ab])/ -> "disk-\1" inst 2 -> 9 }`, []string{"1 sda", "1 disk-a", "{2 sdb ssd} {3 sdc}", "{3 sdc} {9 disk-b ssd}", "2=7", "9=7"}, head + `
Instance Domain: 60.1
Instance:	[1] "sda" -> [1] "disk-a"
Instance:	[2] "sdb ssd" -> [9] "disk-b ssd"

Metric: disk.dev.read (60.0.4)
Inst Changes:	<- InDom 60.1
`},
		{`metric kernel.name { value replace /web[0-9]/ -> "<&>" } metric disk.dev.read { value "7" -> "8" }`, []string{"web1 and", "<web1> and"},
			"Metric: disk.dev.read (60.0.4): Type U32 not STRING, cannot change value\n" + head + "\nMetric: kernel.name (60.12.1)\nValue:\t\t/web[0-9]/ -> \"<&>\"\n"},
		{"metric kernel.name { value /web1/ -> /a1/ value /web2/ -> /b/ value /a/ -> /c/ }", []string{"web1 and web2", "c1 and b"},
			head + "\nMetric: kernel.name (60.12.1)\nValue:\t\t/web1/ -> \"a1\"\nValue:\t\t/web2/ -> \"b\"\nValue:\t\t/a/ -> \"c\"\n"},
		{"metric disk.dev.read { type -> string } metric power { type -> string }", []string{"60.0.4 U32", "60.0.4 STRING", "60.12.2 DOUBLE", "60.12.2 STRING", "2=7", `2="7"`, "-1=1.500000e+03", `-1="1.500000e+03"`},
			head + "\nMetric: power (60.12.2)\nType:\t\tDOUBLE -> STRING\n\nMetric: disk.dev.read (60.0.4)\nType:\t\tU32 -> STRING\n"},
		{"metric power { extraunits -> 0,0,0,0,0,0,power,kW rescale }", []string{"(W)", "(kW)", "e+03", "e+00"}, head + "\nMetric: power (60.12.2)\nUnits:\t\tpower (W) -> power (kW) (rescale)\n"},
		{"metric power { extraunits -> 0,0,0,0,0,0,voltage,mV rescale }", []string{"power (W)", "voltage (mV)"},
			"Metric: power (60.12.2): Dimension changed, cannot rescale\n" + head + "\nMetric: power (60.12.2)\nUnits:\t\tpower (W) -> voltage (mV)\n"},
		{"metric power { name -> kernel.name dupok } metric kernel.name { name -> old }", []string{"[kernel.name]", "[old]", "[power] ", "[kernel.name] "},
			head + "\nMetric: kernel.name (60.12.1)\nName:\t\tkernel.name -> old\n\nMetric: power (60.12.2)\nName:\t\tpower -> kernel.name\n"},
	} {
		in := later(t)
		rules, err := Parse("rules", strings.NewReader(test.rules))
		if err != nil {
			t.Fatal(err)
		}
		set, err := archive.Open(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		p, err := Options{Warn: func(w Warning) { fmt.Fprintln(&said, w.Text) }}.Plan(set)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(p.Add(rules), p.Check(), p.Summary(&said), p.Write(t.Context(), in+".out"), set.Close()); err != nil {
			t.Errorf("%s: %v", test.rules, err)
			continue
		}
		if diff := cmp.Diff(test.summary, said.String()) + cmp.Diff(strings.NewReplacer(test.change...).Replace(unchanged), dump(t, in+".out")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.rules, diff)
		}
	}
}

// TestErrorsLater checks errors of clauses added after PCP 6.0.3 that depend on the archive.
func TestErrorsLater(t *testing.T) {
	in := later(t)
	for _, test := range []struct{ rules, want string }{
		{"metric kernel.name { delete value /b/ -> // }", "Conflicting value clause for deleted metric kernel.name"},
		{"metric kernel.name { value /b/ -> // delete }", "Conflicting delete and other clauses for metric kernel.name"},
		{"metric nosuch { value /(/ -> // }", `regcomp error: Unmatched ( or \(`},
		{"indom 7.7 { iname replace /(/ -> // }", `regcomp error: Unmatched ( or \(`},
		{"metric kernel.name { type if string -> 32 }", "Old type (PM_TYPE_STRING) must be numeric"},
		{"metric kernel.name { name -> power }", "Metric name power already assigned for PMID 60.12.2"},
		{`indom 60.1 { iname "sda" -> "x" iname redact }`, `Duplicate or conflicting clauses for instance [1] "sda" of indom 60.1`},
		{"indom 60.1 { iname replace /sd.*/ -> // }", `Instance [1] "sda" of indom 60.1: no name`},
		{"indom 60.1 { iname replace /sd.*/ -> /x/ }", `Duplicate instance name "x" (1) and "x" (2) for indom 60.1`},
	} {
		rules, err := Parse("rules", strings.NewReader(test.rules))
		if err != nil {
			t.Fatal(err)
		}
		if err := (Options{}).Rewrite(t.Context(), in, in+".out", rules); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.rules, err, test.want)
		}
	}
}
