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

// TestConvertErrorRecord checks how far the record of a ConvertError is changed.
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

// TestLateDescriptors rewrites an archive that describes other metrics before those of its first
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
