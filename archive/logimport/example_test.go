package logimport_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/pdu"
)

const table = `time,kernel.load,mem.free
2026-11-23T10:30:00Z,0.5,1000
2026-11-23T10:30:10Z,0.75,900
`

// This example imports a table of comma-separated values.
func Example() {
	dir, _ := os.MkdirTemp("", "logimport")
	defer os.RemoveAll(dir)
	base := filepath.Join(dir, "web1")

	rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil {
		fmt.Println(err)
		return
	}
	im, err := logimport.New(base, archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range rows[0][1:] {
		im.AddMetric(name, pdu.Desc{Type: pdu.TypeDouble, InDom: pdu.NoInDom, Sem: pdu.SemInstant})
	}
	for _, row := range rows[1:] {
		for i, field := range row[1:] {
			err = im.PutText(rows[0][i+1], "", field)
		}
		t, _ := time.Parse(time.RFC3339, row[0])
		err = im.Write(t)
	}
	if err = im.Close(); err != nil {
		fmt.Println(err)
		return
	}

	set, err := archive.Open(context.Background(), base)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer set.Close()
	end, err := set.End()
	fmt.Println(set.Label().Host, set.Start().UTC().Format(time.TimeOnly), end.UTC().Format(time.TimeOnly), err)
	// Output: web1 10:30:00 10:30:10 <nil>
}
