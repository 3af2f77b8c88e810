package logrewrite_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logrewrite"
	"github.com/pcp-go/pcp/pdu"
)

// record makes an archive of one metric with the values 1, 2 and 3.
func record(base string) error {
	w, err := archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC", PID: 1}}.Create(base)
	if err != nil {
		return err
	}
	desc := pdu.Desc{PMID: pdu.MakePMID(60, 0, 4), Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemCounter, Units: pdu.UnitCount}
	if err := w.WriteMetric(archive.Metric{Desc: desc, Names: []string{"disk.all.read"}}); err != nil {
		return err
	}
	for i := range 3 {
		s := pdu.ResultWriter{Time: time.Unix(1_800_000_000+int64(i), 0)}
		s.Begin(desc.PMID)
		s.Uint32(pdu.NoInst, uint32(i+1))
		if err := w.WriteSets(&s); err != nil {
			return err
		}
	}
	return w.Close()
}

// Rewrite copies an archive and applies rules.
func Example() {
	dir, err := os.MkdirTemp("", "logrewrite")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "web1"), filepath.Join(dir, "web2")
	if err := record(in); err != nil {
		log.Fatal(err)
	}

	rules, err := logrewrite.Parse("rules", strings.NewReader(`
		global { hostname -> web2 }
		metric disk.all.read { name -> disk.all.reads type -> U64 }`))
	if err != nil {
		log.Fatal(err)
	}
	if err := (logrewrite.Options{}).Rewrite(context.Background(), in, out, rules); err != nil {
		log.Fatal(err)
	}

	set, err := archive.Open(context.Background(), out)
	if err != nil {
		log.Fatal(err)
	}
	defer set.Close()
	fmt.Println(set.Label().Host)
	for m := range set.Metadata().Metrics() {
		fmt.Println(m.Names[0], m.Type)
	}
	// Output:
	// web2
	// disk.all.reads U64
}

// Summary lists the changes before any file is written.
func ExamplePlan_Summary() {
	dir, err := os.MkdirTemp("", "logrewrite")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	in := filepath.Join(dir, "web1")
	if err := record(in); err != nil {
		log.Fatal(err)
	}
	set, err := archive.Open(context.Background(), in)
	if err != nil {
		log.Fatal(err)
	}
	defer set.Close()

	rules, err := logrewrite.Parse("rules", strings.NewReader(`
		metric disk.all.read { sem -> instant type if 64 -> U64 }
		metric no.such.metric { delete }`))
	if err != nil {
		log.Fatal(err)
	}
	plan, err := logrewrite.Options{Warn: func(w logrewrite.Warning) { fmt.Println(w) }}.Plan(set)
	if err != nil {
		log.Fatal(err)
	}
	if err := plan.Add(rules); err != nil {
		log.Fatal(err)
	}
	if err := plan.Check(); err != nil {
		log.Fatal(err)
	}
	if err := plan.Summary(os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output:
	// Warning [rules, line 2]
	// Metric: disk.all.read (60.0.4): type: PM_TYPE_U32: No conditional change to PM_TYPE_U64
	// Warning [rules, line 3]
	// Metric: no.such.metric: Unknown metric name
	// PCP Archive Log Rewrite Specifications Summary
	//
	// Metric: disk.all.read (60.0.4)
	// Semantics:	counter -> instant
}
