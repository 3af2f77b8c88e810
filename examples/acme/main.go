// Acme is the factory of PCP's programmer's guide: a program that exports how many products it has
// built and how long they took. It is the counterpart of acme.c in PCP's demos. It writes an MMV
// file for the agent pmdammv:
//
//	go run ./examples/acme &
//	pminfo -f mmv.acme
//	pmval -f2 mmv.acme.products.queuetime
package main

import (
	"context"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"time"

	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pdu"
)

var (
	acme     = mmv.Registry{Name: "acme", Cluster: 321, Process: mmv.ProcessOff} // the file stays, as that of acme.c does
	products = acme.InDom("products", mmv.Domain{
		Serial: 61,
		Text:   "Acme products",
		Help:   "Most popular products produced by the Acme Corporation",
	})
	count = products.Counter("products.count", mmv.Metric{
		Item: 7, Units: pdu.UnitCount,
		Text: "Acme factory product throughput",
		Help: "Monotonic increasing counter of products produced in the Acme Corporation\n" +
			"factory since starting the Acme production application.  Quality guaranteed.",
	})
	busy = products.Counter("products.time", mmv.Metric{
		Item: 8, Units: pdu.TimeUSec,
		Text: "Machine time spent producing Acme products",
		Help: "Machine time spent producing Acme Corporation products.  Does not include\n" +
			"time in queues waiting for production machinery.",
	})
	queued = products.Counter("products.queuetime", mmv.Metric{
		Item: 10, Units: pdu.TimeUSec,
		Text: "Queued time while producing Acme products",
		Help: "Time spent in the queue waiting to build Acme Corporation products,\n" +
			"while some other Acme product was being built instead of this one.",
	})
)

var names = []string{"Anvils", "Rockets", "Giant_Rubber_Bands"}

// A product is the handles of a product's metrics. They are looked up once.
type product struct{ count, busy, queued *mmv.Counter }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var all []product
	for i, name := range names {
		products.Add(mmv.Instance{ID: new(pdu.InstID(i)), Name: name})
		all = append(all, product{count.With(name), busy.With(name), queued.With(name)})
	}
	if err := acme.Publish(""); err != nil {
		log.Print(err)
	}
	defer acme.Close()
	for ctx.Err() == nil {
		build(all, rand.IntN(len(all)), time.Duration(rand.IntN(50000))*time.Microsecond)
	}
}

// build simulates work on one product for d. The other products wait.
func build(all []product, which int, d time.Duration) {
	time.Sleep(d)
	for i, p := range all {
		if i != which {
			p.queued.Add(uint64(d.Microseconds()))
			continue
		}
		p.busy.Add(uint64(d.Microseconds()))
		p.count.Inc()
	}
}
