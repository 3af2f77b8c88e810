package logrewrite

import (
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

// TestConvertErrorRecord looks at the data record that an error has: how far it is changed.
func TestConvertErrorRecord(t *testing.T) {
	in := input(t, 3)
	for _, test := range []struct{ rules, want string }{
		{"metric disk.dev.read { pmid -> 60.0.9 type -> 64 } metric boot.time { units -> 0,1,0,0,NSEC,0 rescale type -> u32 }",
			"1800000001 60.0.9/1 1=1000 2=2000 3=3000 60.26.0/0"},
		{"global { time -> 100 } indom 60.1 { inst 2 -> delete } metric boot.time { units -> 0,1,0,0,NSEC,0 rescale type -> u32 }",
			"1800000101 60.0.4/0 1=1000 3=3000 60.26.0/0"},
	} {
		rules, err := Parse("rules", strings.NewReader(test.rules))
		if err != nil {
			t.Fatal(err)
		}
		err = (Options{}).Rewrite(t.Context(), in, in+".out", rules)
		e, ok := errors.AsType[*ConvertError](err)
		if !ok {
			t.Errorf("%s: %v", test.rules, err)
			continue
		}
		got := fmt.Sprint(e.Record.Time.Unix())
		for _, set := range e.Record.All() {
			got += fmt.Sprintf(" %v/%d", set.PMID, set.Form())
			for inst, a := range set.All(pdu.TypeU32) {
				got += fmt.Sprintf(" %d=%v", inst, a)
			}
		}
		if got != test.want {
			t.Errorf("%s: record %s, want %s", test.rules, got, test.want)
		}
	}
}

// TestLateDescriptors rewrites an archive that tells of other metrics before those of its first
// data record.
func TestLateDescriptors(t *testing.T) {
	for _, version := range []int{2, 3} {
		in := filepath.Join(t.TempDir(), "in")
		w, err := archive.WriterOptions{Label: archive.Label{Version: version, Host: "web1", TimeZone: "UTC"}}.Create(in)
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(w.WriteMetric(archive.Metric{Desc: reads, Names: []string{"disk.dev.read"}}),
			w.WriteMetric(archive.Metric{Desc: boot, Names: []string{"boot.time"}}))
		at := time.Unix(1_800_000_000, 0)
		for i, id := range []pdu.PMID{boot.PMID, reads.PMID} {
			s := pdu.ResultWriter{Time: at.Add(time.Duration(i) * time.Second)}
			s.Begin(id)
			if id == boot.PMID {
				s.Int64(pdu.NoInst, 5)
			}
			err = errors.Join(err, w.WriteSets(&s))
		}
		if err := errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		rules, err := Parse("rules", strings.NewReader("metric boot.time { type -> u32 }"))
		if err != nil {
			t.Fatal(err)
		}
		if err := (Options{}).Rewrite(t.Context(), in, in+".out", rules); err != nil {
			t.Fatal(err)
		}
		want := strings.Replace(dump(t, in), "60.26.0 64", "60.26.0 U32", 1)
		if diff := cmp.Diff(want, dump(t, in+".out")); diff != "" || !strings.Contains(want, "U32") {
			t.Errorf("version %d (-want +got):\n%s", version, diff)
		}
	}
}

// TestTrace reads what is told of an archive in two volumes.
func TestTrace(t *testing.T) {
	in := input(t, 2)
	rules, err := Parse("rules", strings.NewReader("metric boot.time { delete } global { time -> 3 }"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	o := Options{Trace: func(line string) {
		if strings.HasPrefix(line, "Log: write ") { // the time of day is that of some zone
			_, place, _ := strings.Cut(line, " numpmid")
			line = "Log: write numpmid" + place
		}
		if !strings.HasPrefix(line, "Log: read ") || strings.Contains(line, "EOF") {
			lines = append(lines, line)
		}
	}}
	if err := o.Rewrite(t.Context(), in, in+".out", rules); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Metadata: read V2 InDom 60.1 @ offset=132",
		"Metadata: write V2 InDom 60.1 @ offset=132",
		"Metadata: read PMID 60.0.4 @ offset=200",
		"Metadata: write PMID 60.0.4 @ offset=200",
		"Metadata: read PMID 60.26.0 @ offset=253",
		"Metadata: read Text @ offset=302",
		"Metadata: write help text 5 251658244 @ offset=253",
		"Metadata: read V2 LabelSet @ offset=328",
		"Metadata: write V2 LabelSet Domain 60 @ offset=279",
		"Metadata: read EOF @ offset=414",
		"Log: write numpmid=1 @ offset=132",
		"Log: write numpmid=1 @ offset=188",
		"Log: write numpmid=0 @ offset=244",
		"Log: write numpmid=1 @ offset=132",
		"Log: read EOF @ offset=220",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
