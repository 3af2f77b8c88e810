package otlp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/otlp"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// printMetrics is a receiver of OTLP in JSON that prints the names and units of metrics.
func printMetrics(w http.ResponseWriter, r *http.Request) {
	var message struct {
		ResourceMetrics []struct {
			ScopeMetrics []struct {
				Metrics []struct{ Name, Description, Unit string }
			}
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, resource := range message.ResourceMetrics {
		for _, scope := range resource.ScopeMetrics {
			for _, m := range scope.Metrics {
				fmt.Printf("%s [%s] %s\n", m.Name, m.Unit, m.Description)
			}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, "{}")
}

// An exporter sends one sample of each metric to a receiver.
func ExampleExporter_Run() {
	receiver := httptest.NewServer(http.HandlerFunc(printMetrics))
	defer receiver.Close()
	src := &pmapitest.Source{Host: "web1"}
	defer src.Close()
	pmapitest.Add(src, pmapitest.Metric[uint64]{
		Name: "mem.util.free", Text: "Free memory", Units: pdu.SpaceKByte,
	}).Set(2 << 20)
	pmapitest.Add(src, pmapitest.Metric[uint64]{
		Name: "kernel.all.pswitch", Text: "Context switches", Sem: pdu.SemCounter, Units: pdu.UnitCount,
	}).Set(4711)

	e := &otlp.Exporter{
		Reader:   &export.Reader{Context: src.Context()},
		Endpoint: receiver.URL + "/v1/metrics",
		Samples:  1, // read once; 0 means until the context ends
		JSON:     true,
	}
	if err := e.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println("sent:", e.Stats().Sent.Points, "points")
	// Output:
	// mem.util.free [By] Free memory
	// kernel.all.pswitch [{count}] Context switches
	// sent: 2 points
}
