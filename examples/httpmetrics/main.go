// Httpmetrics is a web server that counts and times its requests by route and exports the figures
// to PCP's tools:
//
//	go run ./examples/httpmetrics -pcp localhost:44399 & pminfo -h localhost:44399 -f mmv.web
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/pmdammv"
)

var (
	reg      = mmv.Registry{Name: "web"}
	routes   = reg.InDom("routes", mmv.Domain{Text: "Routes of the web server"})
	inFlight = reg.Gauge("in_flight", mmv.Metric{Text: "Requests in progress", Units: pdu.UnitCount})
	requests = routes.Counter("requests", mmv.Metric{Text: "Requests served", Units: pdu.UnitCount})
	latency  = routes.Histogram("latency", mmv.Metric{Text: "Time to serve a request", Units: pdu.TimeMSec},
		mmv.ExponentialBuckets(0.125, 2, 16))
)

// measure is middleware that counts and times the requests of next, a ServeMux.
func measure(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inFlight.Inc()
		defer inFlight.Dec()
		start := time.Now()
		next.ServeHTTP(w, r)
		route := strings.ReplaceAll(cmp.Or(r.Pattern, "none"), " ", "_") // names of instances differ before a space
		requests.With(route).Inc()
		latency.With(route).ObserveDuration(time.Since(start))
	})
}

func main() {
	addr := flag.String("http", "localhost:8080", "address of the web server")
	pcp := flag.String("pcp", "localhost:44399", "address of the collector")
	flag.Parse()
	http.HandleFunc("GET /order/{id}", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "order", r.PathValue("id")) })
	if err := reg.Publish(""); err != nil { // one way out: a file for pmdammv. If it fails, the metrics go on in memory
		log.Print(err)
	}
	srv := &collector.Server{} // another: a collector in this process. Either would do
	ln, err := net.Listen("tcp", *pcp)
	if err := cmp.Or(err, srv.Add(pmdammv.Of(&reg))); err != nil {
		log.Fatal(err)
	}
	go srv.Serve(context.Background(), ln)
	log.Fatal(http.ListenAndServe(*addr, measure(http.DefaultServeMux)))
}
