package openmetrics_test

import (
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/openmetrics"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// A scrape returns a counter in milliseconds in seconds.
func ExampleHandler() {
	src := &pmapitest.Source{}
	defer src.Close()
	pmapitest.Add(src, pmapitest.Metric[uint64]{
		Name: "disk.dev.read_time", Text: "Time of reads", InDom: src.InDom("sda", "sdb"),
		Sem: pdu.SemCounter, Units: pdu.TimeMSec,
	}).Set(1500, 20)

	h := &openmetrics.Handler{Reader: &export.Reader{Context: src.Context(), Names: []string{"disk"}}}
	req := httptest.NewRequest("GET", "/metrics", nil)
	req.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	for line := range strings.Lines(w.Body.String()) {
		if strings.Contains(line, "disk") { // the other lines are about the page
			fmt.Print(line)
		}
	}
	// Output:
	// # TYPE disk_dev_read_time_seconds counter
	// # UNIT disk_dev_read_time_seconds seconds
	// # HELP disk_dev_read_time_seconds Time of reads
	// disk_dev_read_time_seconds_total{instname="sda"} 1.5
	// disk_dev_read_time_seconds_total{instname="sdb"} 0.02
}
