package mmv_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/pmdammv"
)

// A shop has metrics over a domain, a histogram, a text and labels. Its collector serves them
// without a file. Here the client is in the same process; srv.Serve accepts clients of a listener.
func Example() {
	shop := &mmv.Registry{Name: "shop", Labels: mmv.Labels{"team": "sales"}}
	products := shop.InDom("products", mmv.Domain{Text: "Products of the shop"})
	orders := products.Counter("orders", mmv.Metric{Text: "Orders accepted", Units: pdu.UnitCount})
	stock := products.Gauge("stock", mmv.Metric{Text: "Items in stock", Units: pdu.UnitCount})
	took := shop.Histogram("latency",
		mmv.Metric{Text: "Time to accept an order", Units: pdu.TimeMSec},
		mmv.ExponentialBuckets(1, 2, 12)) // up to 1, 2, 4 ... 2048 ms, and above
	state := shop.Text("state", mmv.Metric{Text: "What the shop is doing"})

	order := func(product string, items int64) {
		start := time.Now()
		orders.With(product).Inc()
		stock.With(product).Add(-items)
		took.ObserveDuration(time.Since(start))
	}
	stock.With("Anvils").Set(10)
	stock.With("Rockets").Set(4)
	state.Set("open")
	order("Anvils", 3)
	order("Rockets", 1)
	order("Anvils", 2)
	if err := shop.Err(); err != nil {
		log.Print(err)
	}

	srv := &collector.Server{}
	defer srv.Close()
	if err := srv.Add(pmdammv.Of(shop)); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	client, err := pmapi.Local(ctx, srv)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	group := client.Group()
	sold := pmapi.AddSet[uint64](group, "mmv.shop.orders", pmapi.Scale("instant")) // not the rate
	left := pmapi.AddSet[int64](group, "mmv.shop.stock")
	timed := pmapi.Add[uint64](group, "mmv.shop.latency.count", pmapi.Scale("instant"))
	doing := pmapi.Add[string](group, "mmv.shop.state")
	if _, err := group.Fetch(ctx); err != nil {
		log.Fatal(err)
	}
	for product, n := range sold.All() {
		fmt.Println("orders", product.Name, n)
	}
	for product, n := range left.All() {
		fmt.Println("stock", product.Name, n)
	}
	fmt.Println(timed.Value())
	fmt.Println(doing.Value())
	// Output:
	// orders Anvils 2
	// orders Rockets 1
	// stock Anvils 5
	// stock Rockets 3
	// 3 <nil>
	// open <nil>
}

// A middleware counts and times the requests of a web server by route.
func Example_webServer() {
	web := &mmv.Registry{Name: "web"}
	routes := web.InDom("routes", mmv.Domain{Text: "Routes of the server"})
	requests := routes.Counter("requests", mmv.Metric{Text: "Requests answered"})
	latency := routes.Histogram("latency",
		mmv.Metric{Text: "Time to answer a request", Units: pdu.TimeMSec},
		mmv.ExponentialBuckets(1, 2, 12))
	measure := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			start := time.Now()
			next.ServeHTTP(w, r)
			_, route, _ := strings.Cut(r.Pattern, " ") // no space in the name of an instance
			if route == "" {
				route = "other" // few instances, whatever paths clients request
			}
			requests.With(route).Inc()
			latency.With(route).ObserveDuration(time.Since(start))
		})
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /item/{id}", func(http.ResponseWriter, *http.Request) {})
	server := measure(mux) // http.ListenAndServe("localhost:8080", server)

	for _, path := range []string{"/item/1", "/item/2", "/nothing"} {
		server.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
	}
	fmt.Println(requests.With("/item/{id}").Value(), latency.With("/item/{id}").Count())
	fmt.Println(requests.With("other").Value(), web.Err())
	// Output:
	// 2 2
	// 1 <nil>
}

// A checkout has its metrics in a struct, so that each test has its own.
type checkout struct {
	metrics mmv.Registry
	orders  *mmv.Vec[mmv.Counter]
}

func newCheckout() *checkout {
	c := &checkout{metrics: mmv.Registry{Name: "shop"}}
	products := c.metrics.InDom("products", mmv.Domain{})
	c.orders = products.Counter("orders", mmv.Metric{Text: "Orders accepted"})
	return c
}

func (c *checkout) order(product string) { c.orders.With(product).Inc() }

// A test checks the handles, Err, and the values as an agent exports them.
func Example_test() {
	c := newCheckout()
	c.order("Anvils")
	c.order("Anvils")
	if n := c.orders.With("Anvils").Value(); n != 2 {
		fmt.Printf("%d orders, want 2\n", n) // t.Errorf in a test
	}
	if err := c.metrics.Err(); err != nil {
		fmt.Println(err)
	}

	f, err := mmv.Read(c.metrics.Source())
	if err != nil {
		log.Fatal(err)
	}
	values, err := f.Snapshot(time.Now())
	if err != nil {
		log.Fatal(err)
	}
	v, ok := values.Lookup("orders", "Anvils") // not mmv.shop.orders
	if !ok {
		log.Fatal("orders of Anvils are not exported")
	}
	fmt.Println(pdu.As[uint64](v))
	// Output: 2 <nil>
}
