package logrewrite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

var (
	disks = pdu.MakeInDom(60, 1)
	reads = pdu.Desc{PMID: pdu.MakePMID(60, 0, 4), Type: pdu.TypeU32, InDom: disks, Sem: pdu.SemCounter, Units: pdu.UnitCount}
	boot  = pdu.Desc{PMID: pdu.MakePMID(60, 26, 0), Type: pdu.Type64, InDom: pdu.NoInDom, Sem: pdu.SemInstant, Units: pdu.MakeUnits(0, 1, 0, 0, 3, 0)}
)

// input makes an archive of two metrics and four data records in two volumes. The third record is a
// mark.
func input(t *testing.T, version int) string {
	t.Helper()
	base := filepath.Join(t.TempDir(), "in")
	o := archive.WriterOptions{Label: archive.Label{Version: version, Host: "web1", TimeZone: "UTC", PID: 7}, VolumeRecords: 3}
	w, err := o.Create(base)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1_800_000_000, 250_000_000)
	labels, err := pdu.ParseLabels(pdu.LabelDomain, `{"agent":"linux","os":"x"}`, false)
	if err != nil {
		t.Fatal(err)
	}
	_, inDom := w.UpdateInDom(at, disks, []pdu.Instance{{ID: 1, Name: "sda"}, {ID: 2, Name: "sdb ssd"}, {ID: 3, Name: "sdc"}})
	err = errors.Join(inDom,
		w.WriteMetric(archive.Metric{Desc: reads, Names: []string{"disk.dev.read"}}),
		w.WriteMetric(archive.Metric{Desc: boot, Names: []string{"boot.time"}}),
		w.WriteText(archive.TextRecord{Kind: pdu.TextOneLine | pdu.TextPMID, Ident: uint32(reads.PMID), Text: "reads"}),
		w.WriteLabels(archive.LabelRecord{Time: at, Class: pdu.LabelDomain, Ident: 60, Sets: []pdu.LabelSet{labels}}))
	for i := range 4 {
		at = at.Add(time.Second)
		if i == 2 {
			err = errors.Join(err, w.WriteMark(at))
			continue
		}
		s := pdu.ResultWriter{Time: at}
		s.Begin(reads.PMID)
		for inst := range 3 {
			s.Uint32(pdu.InstID(inst+1), uint32(1000*(inst+1)+i))
		}
		s.Begin(boot.PMID)
		s.Int64(pdu.NoInst, 7200)
		err = errors.Join(err, w.WriteSets(&s))
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return base
}

// dump returns the metadata and values of an archive as text.
func dump(t *testing.T, base string) string {
	t.Helper()
	set, err := archive.Open(context.Background(), base)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	var b strings.Builder
	l, meta := set.Label(), set.Metadata()
	fmt.Fprintf(&b, "%d %s %s %d\n", l.Version, l.Host, l.TimeZone, l.Start.UnixMilli()-1_800_000_000_000)
	for m := range meta.Metrics() {
		fmt.Fprintf(&b, "%v %v %v %v %v %q\n", m.Names, m.PMID, m.Type, m.InDom, m.Sem, m.Units)
	}
	for d := range meta.InDoms() {
		fmt.Fprintf(&b, "%v %d %v\n", d.ID, d.Time(0).UnixMilli()-1_800_000_000_000, d.State(0))
	}
	for text := range meta.Texts() {
		fmt.Fprintf(&b, "text %v %s\n", pdu.PMID(text.Ident), text.Text)
	}
	for labels := range meta.AllLabels() {
		for i := range labels.Len() {
			fmt.Fprintf(&b, "label %d %s\n", labels.Ident, labels.Record(i).Sets[0].JSON)
		}
	}
	for r, err := range set.Records() {
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind == archive.KindMark {
			fmt.Fprintf(&b, "%d mark\n", r.Time.UnixMilli()-1_800_000_000_000)
		}
		if r.Kind != archive.KindResult {
			continue
		}
		var values pdu.Result
		if err := r.Result(&values); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%d.%d", r.File.Volume(), r.Time.UnixMilli()-1_800_000_000_000)
		for _, s := range values.All() {
			desc, _ := meta.Desc(s.PMID)
			fmt.Fprintf(&b, " %v", s.PMID)
			for inst, v := range s.All(desc.Type) {
				fmt.Fprintf(&b, " %d=%v", inst, v)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

const unchanged = `web1 UTC 1250
[disk.dev.read] 60.0.4 U32 60.1 counter "count"
[boot.time] 60.26.0 64 PM_INDOM_NULL instant "sec"
60.1 250 [{1 sda} {2 sdb ssd} {3 sdc}]
text 60.0.4 reads
label 60 {"agent":"linux","os":"x"}
0.1250 60.0.4 1=1000 2=2000 3=3000 60.26.0 -1=7200
0.2250 60.0.4 1=1001 2=2001 3=3001 60.26.0 -1=7200
3250 mark
1.4250 60.0.4 1=1003 2=2003 3=3003 60.26.0 -1=7200
`

// TestRewrite checks which lines of the dump change.
func TestRewrite(t *testing.T) {
	for _, test := range []struct {
		name, rules string
		change      []string // old and new texts
	}{
		{"nothing", "metric nosuch { delete }", nil},
		{"global", `global { hostname -> b tz -> "EST5" time -> -1 }`, []string{"web1 UTC 1250", "b EST5 250", "60.1 250", "60.1 -750",
			"0.1250", "0.250", "0.2250", "0.1250", "3250", "2250", "1.4250", "1.3250"}},
		{"type", "metric disk.dev.read { type -> 64 name -> d.r sem -> instant }", []string{"[disk.dev.read] 60.0.4 U32 60.1 counter", "[d.r] 60.0.4 64 60.1 instant"}},
		{"pmid", "metric 60.0.* { pmid -> 61.*.* }", []string{"60.0.4", "61.0.4", "label 60", "label 61"}},
		{"rescale", "metric boot.time { units -> 0,1,0,0,HOUR,0 rescale }", []string{`"sec"`, `"hour"`, "7200", "2"}},
		{"relabel", `metric boot.time { units -> 0,1,0,0,HOUR,0 }`, []string{`"sec"`, `"hour"`}},
		{"instances", `indom 60.1 { inst 1 -> 9 iname "sdb" -> "x y" iname "sdc" -> delete }`, []string{"1 sda} {2 sdb ssd} {3 sdc}", "2 x y} {9 sda}",
			" 1=", " 9=", " 3=3000", "", " 3=3001", "", " 3=3003", ""}},
		{"indom", "indom 60.1 { indom -> 60.7 }", []string{"60.1", "60.7"}},
		{"sum", "metric disk.dev.read { indom -> NULL output sum }", []string{"U32 60.1", "U32 PM_INDOM_NULL", "60.1 250 [{1 sda} {2 sdb ssd} {3 sdc}]\n", "",
			"1=1000 2=2000 3=3000", "-1=6000", "1=1001 2=2001 3=3001", "-1=6003", "1=1003 2=2003 3=3003", "-1=6009"}},
		{"average", "metric disk.dev.read { indom -> NULL output avg }", []string{"U32 60.1", "U32 PM_INDOM_NULL", "60.1 250 [{1 sda} {2 sdb ssd} {3 sdc}]\n", "",
			"1=1000 2=2000 3=3000", "-1=2000", "1=1001 2=2001 3=3001", "-1=2001", "1=1003 2=2003 3=3003", "-1=2003"}},
		{"instance", `metric disk.dev.read { indom -> NULL output iname "sdb" }`, []string{"U32 60.1", "U32 PM_INDOM_NULL", "60.1 250 [{1 sda} {2 sdb ssd} {3 sdc}]\n", "",
			"1=1000 2=2000 3=3000", "-1=2000", "1=1001 2=2001 3=3001", "-1=2001", "1=1003 2=2003 3=3003", "-1=2003"}},
		{"onto instances", `metric boot.time { indom -> 60.1 output inst 3 }`, []string{"64 PM_INDOM_NULL", "64 60.1", " -1=7200", " 3=7200"}},
		{"onto renumbered instances", `indom 60.1 { indom -> 60.7 inst 3 -> 9 iname "sdc" -> "sdx" }
			metric boot.time { indom -> 60.7 output iname "sdc" }`, []string{"60.1", "60.7", "64 PM_INDOM_NULL", "64 60.7",
			"{3 sdc}", "{9 sdx}", " 3=", " 9=", " -1=7200", " 9=7200"}},
		{"of renumbered instances", `indom 60.1 { indom -> 60.7 inst 3 -> 9 } metric disk.dev.read { indom -> 60.7 output inst 3 }`, []string{
			"60.1", "60.7", "{3 sdc}", "{9 sdc}", "1=1000 2=2000 3=3000", "9=3000", "1=1001 2=2001 3=3001", "9=3001", "1=1003 2=2003 3=3003", "9=3003"}},
		{"delete", "metric boot.time { delete } text metric 60.*.* { delete } label domain 60 { delete }", []string{
			"[boot.time] 60.26.0 64 PM_INDOM_NULL instant \"sec\"\n", "", " 60.26.0 -1=7200", "", "text 60.0.4 reads\n", "",
			"label 60 {\"agent\":\"linux\",\"os\":\"x\"}\n", ""}},
		{"text and labels", `text metric 60.0.4 "reads" { text -> "say \"reads\"" } label domain 60 "os" { value -> 7 }`, []string{
			"reads\nlabel 60 {\"agent\":\"linux\",\"os\":\"x\"}\n", "say \"reads\"\nlabel 60 {\"agent\":\"linux\",\"os\":7}\n"}},
		{"two clauses", `text metric 60.0.4 { text -> "b" metric -> 60.26.0 } label domain 60 "os" { label -> "o" value -> 7 }`, []string{
			"text 60.0.4 reads\nlabel 60 {\"agent\":\"linux\",\"os\":\"x\"}\n", "text 60.26.0 b\nlabel 60 {\"agent\":\"linux\",\"o\":7}\n"}},
		{"new label of a set", `label domain 60 { new "a" 1 }`, []string{`{"agent":"linux","os":"x"}`, `{"a":1,"agent":"linux","os":"x"}`}},
		{"move labels", `label domain 60 "os" { domain -> 61 value -> 7 } label domain 60 "agent" { domain -> 61 }`, []string{
			`label 60 {"agent":"linux","os":"x"}`, `label 61 {"agent":"linux","os":7}`}},
		{"new label", `label item disk.dev.read { new "a" "b" }`, []string{"label 60", fmt.Sprintf("label %d {\"a\":\"b\"}\nlabel 60", uint32(reads.PMID))}},
	} {
		for _, version := range []int{2, 3} {
			t.Run(fmt.Sprint(test.name, version), func(t *testing.T) {
				in := input(t, version)
				rules, err := Parse("rules", strings.NewReader(test.rules))
				if err != nil {
					t.Fatal(err)
				}
				if err := (Options{}).Rewrite(t.Context(), in, in+".out", rules); err != nil {
					t.Fatal(err)
				}
				want := strings.NewReplacer(test.change...).Replace(fmt.Sprint(version, " ", unchanged))
				if diff := cmp.Diff(want, dump(t, in+".out")); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestCopy checks that a copy has the same bytes in all files except the index, and that version 2
// can be written as version 3.
func TestCopy(t *testing.T) {
	in := input(t, 2)
	rules := Rules{}
	for _, version := range []int{2, 3} {
		out := fmt.Sprint(in, version)
		if err := (Options{Version: version}).Rewrite(t.Context(), in, out, rules); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fmt.Sprint(version, " ", unchanged), dump(t, out)); diff != "" {
			t.Errorf("version %d (-want +got):\n%s", version, diff)
		}
	}
	for _, suffix := range []string{".meta", ".0", ".1"} {
		want, err := os.ReadFile(in + suffix)
		got, err2 := os.ReadFile(in + "2" + suffix)
		if err != nil || err2 != nil || !bytes.Equal(want, got) {
			t.Errorf("%s is not the same (%v, %v)", suffix, err, err2)
		}
	}
	if err := (Options{}).Rewrite(t.Context(), in, in+"2", rules); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over an archive: %v", err)
	}
	if err := (Options{Version: 2}).Rewrite(t.Context(), in+"3", in+"4", rules); !errors.Is(err, pdu.ErrLabel) {
		t.Errorf("version 2 of version 3: %v", err)
	}
}

// TestFailures checks the errors of values that cannot be converted.
func TestFailures(t *testing.T) {
	in := input(t, 3)
	for _, test := range []struct{ rules, want string }{
		{"metric boot.time { type -> 32 } metric disk.dev.read { units -> 0,1,0,0,SEC,0 }", ""},
		{"metric boot.time { units -> 0,1,0,0,NSEC,0 rescale type -> u32 }", "Error: boot.time (60.26.0): extracting value from type 64 to U32: Truncation in value conversion"},
		{"metric boot.time { name -> boot.time.first }", ""},
		{"metric boot.time { name -> disk }", "metric name disk.dev.read is below disk, which is a metric"},
		{"metric boot.time { name -> disk.dev.read.time }", "metric name disk.dev.read.time is below disk.dev.read, which is a metric"},
		{"metric boot.time { pmid -> 60.0.4 }", "metric disk.dev.read (60.0.4): type was U32, is 64"},
	} {
		rules, err := Parse("rules", strings.NewReader(test.rules))
		if err != nil {
			t.Fatal(err)
		}
		err = (Options{}).Rewrite(t.Context(), in, in+".out", rules)
		if got := fmt.Sprint(err); test.want == "" && err != nil || !strings.Contains(got, test.want) {
			t.Errorf("%s: %s, want %s", test.rules, got, test.want)
		}
		left, _ := filepath.Glob(in + ".out*")
		if err != nil && left != nil {
			t.Errorf("%s: left after an error: %v", test.rules, left)
		}
		for _, path := range left {
			os.Remove(path)
		}
	}
}

// TestFailureKeepsOthers checks that a failed rewrite keeps archives that archive.Open finds under
// the output name.
func TestFailureKeepsOthers(t *testing.T) {
	in := input(t, 3)
	dir := filepath.Dir(in)
	rules, err := Parse("rules", strings.NewReader("metric boot.time { units -> 0,1,0,0,NSEC,0 rescale type -> u32 }"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	before, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, out := range []string{dir, "x," + filepath.Base(in)} {
		if err := (Options{}).Rewrite(t.Context(), in, out, rules); err == nil {
			t.Errorf("%s: no error", out)
		}
		if after, _ := filepath.Glob(filepath.Join(dir, "*")); !cmp.Equal(before, after) {
			t.Fatalf("%s: files %v, before %v", out, after, before)
		}
	}
}

// TestOutputWarnings checks the warnings for instances that a domain lacks, before and after its
// rules.
func TestOutputWarnings(t *testing.T) {
	for _, test := range []struct{ rules, want string }{
		{`metric boot.time { indom -> 60.7 output inst 3 }`, ``},
		{`metric boot.time { indom -> 60.7 output iname "sdx" }`, `Instance "sdx" from OUTPUT clause not found in new indom 60.7`},
		{`metric boot.time { indom -> 60.7 output inst 9 }`, `Instance 9 from OUTPUT clause not found in new indom 60.7`},
		{`metric disk.dev.read { indom -> 60.7 output inst 9 }`,
			"Instance 9 from OUTPUT clause not found in old indom 60.1\nInstance 9 from OUTPUT clause not found in new indom 60.7"},
	} {
		rules, err := Parse("rules", strings.NewReader(`indom 60.1 { indom -> 60.7 inst 3 -> 9 iname "sdc" -> "sdx" } `+test.rules))
		if err != nil {
			t.Fatal(err)
		}
		in := input(t, 3)
		var got []string
		o := Options{Warn: func(w Warning) { got = append(got, w.Text) }}
		if err := o.Rewrite(t.Context(), in, in+".out", rules); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(got, "\n"); got != test.want {
			t.Errorf("%s: warnings %q, want %q", test.rules, got, test.want)
		}
	}
}

// TestLimits checks that records too large for an archive are refused.
func TestLimits(t *testing.T) {
	in := input(t, 2)
	for _, test := range []struct{ rules, want string }{
		{"metric boot.time { name -> " + strings.Repeat("a", 5000) + " }", "Metric name of 5000 characters, limit 4096"},
		{"label domain 60 { label -> \"" + strings.Repeat("a", 300) + "\" }", "Label name of 300 characters, limit 255"},
		{"label domain 60 { value -> \"" + strings.Repeat("a", 70000) + "\" }", "limits 255 and 65535"},
	} {
		rules, err := Parse("rules", strings.NewReader(test.rules))
		if err != nil {
			t.Fatal(err)
		}
		if err := (Options{}).Rewrite(t.Context(), in, in+".out", rules); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.40s: %v, want %s", test.rules, err, test.want)
		}
	}
}

// TestSeveral checks that two archives become one, with a mark between them.
func TestSeveral(t *testing.T) {
	one := input(t, 2)
	rules, err := Parse("rules", strings.NewReader("global { time -> 10 } metric boot.time { delete }"))
	if err != nil {
		t.Fatal(err)
	}
	two, out := one+"two", one+"out"
	if err := (Options{Version: 3}).Rewrite(t.Context(), one, two, rules); err != nil {
		t.Fatal(err)
	}
	rules, err = Parse("rules", strings.NewReader("metric disk.dev.read { name -> d.r }"))
	if err != nil {
		t.Fatal(err)
	}
	if err := (Options{}).Rewrite(t.Context(), one+","+two, out, rules); err != nil {
		t.Fatal(err)
	}
	want := "3 " + strings.Replace(unchanged, "disk.dev.read", "d.r", 1) + `4251 mark
2.11250 60.0.4 1=1000 2=2000 3=3000
2.12250 60.0.4 1=1001 2=2001 3=3001
13250 mark
3.14250 60.0.4 1=1003 2=2003 3=3003
`
	if diff := cmp.Diff(want, dump(t, out)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPadBlocks checks that blocks are padded as in PCP, and that nothing else changes.
func TestPadBlocks(t *testing.T) {
	for _, test := range []struct{ blocks, want string }{
		{"", ""},
		{"\x03\x00\x00\x05a\x00\x01,\x03\x00\x00\x08abcd\x03\x00\x00\x06ab\x00\x00", "\x03\x00\x00\x05a~~~\x03\x00\x00\x08abcd\x03\x00\x00\x06ab~~"},
		{"\x03\x00\x00\x03\x00\x00\x00\x05a\x00\x00\x00", "\x03\x00\x00\x03\x00\x00\x00\x05a\x00\x00\x00"}, // no block
		{"\x03\x00\x00\x09abcd", "\x03\x00\x00\x09abcd"},                                                   // length beyond the end
	} {
		b := []byte(test.blocks)
		if padBlocks(b); string(b) != test.want {
			t.Errorf("%q: %q, want %q", test.blocks, b, test.want)
		}
	}
}

// TestOutputOfRenumbered checks OUTPUT with an instance domain that other rules move, and with
// instances that they change. Rules refer to the state before all rules.
func TestOutputOfRenumbered(t *testing.T) {
	metrics := []struct{ rule, to string }{
		{"metric boot.time", "%d=7200"},
		{"metric disk.dev.read", "%d=3000"},
	}
	instances := []struct {
		rules string
		id    int
	}{{"", 3}, {"inst 3 -> 9", 9}, {`iname "sdc" -> "sdx"`, 3}, {`inst 3 -> 9 iname "sdc" -> "sdx"`, 9}}
	for _, output := range []struct {
		text  string
		known bool
	}{{"inst 3", true}, {`iname "sdc"`, true}, {"inst 8", false}, {`iname "sdy"`, false}} {
		for _, inst := range instances {
			for _, m := range metrics {
				rules := []string{
					fmt.Sprintf("indom 60.1 { indom -> 60.7 %s }\n", inst.rules),
					fmt.Sprintf("%s { indom -> 60.7 output %s }\n", m.rule, output.text),
				}
				for range 2 {
					slices.Reverse(rules)
					text := rules[0] + rules[1]
					got, warnings := rewriteDump(t, text)
					if want := fmt.Sprintf(m.to, inst.id); output.known && (!strings.Contains(got, want) || len(warnings) != 0) {
						t.Errorf("%swarns %q, want %s in\n%s", text, warnings, want, got)
					}
					if !output.known && len(warnings) == 0 {
						t.Errorf("%sdoes not warn, and makes\n%s", text, got)
					}
				}
			}
		}
	}
}

// rewriteDump applies rules to input, and returns a dump of the new archive and the warnings.
func rewriteDump(t *testing.T, rules string) (dumped string, warnings []Warning) {
	t.Helper()
	parsed, err := Parse("rules", strings.NewReader(rules))
	if err != nil {
		t.Fatal(err)
	}
	in := input(t, 3)
	o := Options{Warn: func(w Warning) { warnings = append(warnings, w) }}
	if err := o.Rewrite(t.Context(), in, in+".out", parsed); err != nil {
		t.Fatalf("%s%v", rules, err)
	}
	return dump(t, in+".out"), warnings
}
