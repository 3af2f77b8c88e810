package logextract_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logextract"
	"github.com/pcp-go/pcp/pdu"
)

// This example merges two archives of a logger that was restarted.
func ExampleOptions_Run() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	load := archive.Metric{Desc: pdu.Desc{PMID: pdu.MakePMID(60, 2, 0), Type: pdu.TypeFloat, InDom: pdu.NoInDom, Sem: pdu.SemInstant}, Names: []string{"load"}}
	morning := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	inputs := []string{filepath.Join(dir, "20261123.08.00"), filepath.Join(dir, "20261123.12.00")}
	for i, base := range inputs {
		w, err := archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}}.Create(base)
		if err != nil {
			fmt.Println(err)
			return
		}
		values := pdu.ResultWriter{Time: morning.Add(time.Duration(4*i) * time.Hour)}
		values.Begin(load.PMID)
		values.Float32(pdu.NoInst, 0.5)
		if err := w.WriteMetric(load); err != nil {
			fmt.Println(err)
		}
		if err := w.WriteSets(&values); err != nil {
			fmt.Println(err)
		}
		if err := w.Close(); err != nil {
			fmt.Println(err)
		}
	}
	day := filepath.Join(dir, "20261123")
	if err := (logextract.Options{}).Run(context.Background(), inputs, day); err != nil {
		fmt.Println(err)
		return
	}
	set, err := archive.Open(context.Background(), day)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer set.Close()
	c := set.Cursor()
	for c.Next() == nil {
		fmt.Println(c.Time().UTC().Format(time.StampMilli), c.Record().Kind)
	}
	// Output:
	// Nov 23 08:00:00.000 result
	// Nov 23 08:00:00.001 mark
	// Nov 23 12:00:00.000 result
}
