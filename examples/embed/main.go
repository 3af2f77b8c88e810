// Embed is a web server with a collector inside: PCP's tools see its requests and the statistics of
// its Go runtime, without a daemon, a file or a privilege.
//
//	go run ./examples/embed
//	curl localhost:8080/order
//	pminfo -h localhost:44399 -f shop
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/pmdago"
)

func main() {
	web := flag.String("http", "localhost:8080", "where the web server listens")
	addr := flag.String("pcp", "localhost:44399", "where the collector listens")
	flag.Parse()
	shop := &pmda.Agent{Name: "shop", Domain: 400}
	pages := shop.AddInDom("page", "/", "/order")
	served := make([]atomic.Uint64, len(pages.Instances()))
	pmda.Register(shop, pmda.Metric[uint64]{
		Name: "shop.requests", Text: "Requests served, by page", Sem: pdu.SemCounter, Units: pdu.UnitCount, InDom: pages,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint64, error) {
			return served[i.ID].Load(), nil
		},
	})
	for _, page := range pages.Instances() {
		http.HandleFunc(page.Name, func(w http.ResponseWriter, r *http.Request) {
			served[page.ID].Add(1)
			fmt.Fprintln(w, "Welcome to", page.Name)
		})
	}
	srv := &collector.Server{Logger: slog.Default()}
	for _, a := range []*pmda.Agent{shop, pmdago.New(pmdago.Options{})} {
		if err := srv.Add(a); err != nil {
			log.Fatal(err)
		}
	}
	ln, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	go func() { log.Fatal(http.ListenAndServe(*web, nil)) }()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := srv.Serve(ctx, ln); err != nil {
		log.Fatal(err)
	}
}
