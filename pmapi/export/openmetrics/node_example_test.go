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

// The view node shows the load average of PCP under the names of node_exporter.
func ExampleHandler_node() {
	src := &pmapitest.Source{}
	defer src.Close()
	minutes := src.InDom()
	minutes.SetInstances(pdu.Instance{ID: 1, Name: "1 minute"}, pdu.Instance{ID: 5, Name: "5 minute"},
		pdu.Instance{ID: 15, Name: "15 minute"})
	pmapitest.Add(src, pmapitest.Metric[float32]{Name: "kernel.all.load", InDom: minutes}).Set(0.5, 0.75, 1)

	h := &openmetrics.Handler{Reader: &export.Reader{Context: src.Context()}}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/metrics?view=node", nil))
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "node_load") {
			fmt.Print(line)
		}
	}
	// Output:
	// node_load1 0.5
	// node_load5 0.75
	// node_load15 1
}
