//go:build unix

package mmv_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pdu"
)

// printValues prints the values of a registry.
func printValues(r *mmv.Registry) {
	f, err := mmv.Read(r.Source())
	if err != nil {
		log.Fatal(err)
	}
	s, err := f.Snapshot(time.Now())
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range s.Metrics {
		for _, v := range m.Values {
			fmt.Println(m.Metric.Name, v.Instance.Name, v.Value)
		}
	}
}

// A program with a file for pmdammv. With reg.Publish("") instead, it is where pmdammv looks.
func ExampleRegistry() {
	reg := &mmv.Registry{Name: "shop"}
	orders := reg.Counter("orders.count", mmv.Metric{Text: "Orders accepted", Units: pdu.UnitCount})
	queue := reg.Gauge("orders.queued", mmv.Metric{Text: "Orders waiting", Units: pdu.UnitCount})
	state := reg.Text("state", mmv.Metric{})

	dir, err := os.MkdirTemp("", "mmv")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := reg.Publish(dir); err != nil {
		log.Print(err) // the program goes on
	}
	defer reg.Close()

	orders.Inc()
	queue.Set(3)
	queue.Dec()
	state.Set("open")

	f, err := mmv.Open(filepath.Join(dir, "shop"))
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	s, err := f.Snapshot(time.Now())
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range s.Metrics {
		fmt.Println(m.Metric.Name, m.Values[0].Value)
	}
	// Output:
	// orders.count 1
	// orders.queued 2
	// state "open"
}

func ExampleRegistry_InDom() {
	reg := &mmv.Registry{Name: "acme", Cluster: 321}
	products := reg.InDom("products", mmv.Domain{Serial: 61, Text: "Acme products"})
	// Others are numbered by their names.
	products.Add(mmv.Instance{ID: new(pdu.InstID(0)), Name: "Anvils"}, mmv.Instance{ID: new(pdu.InstID(1)), Name: "Rockets"})
	count := products.Counter("products.count", mmv.Metric{Item: 7, Units: pdu.UnitCount})

	anvils := count.With("Anvils") // kept, since it is used often
	anvils.Add(2)
	count.With("Rockets").Inc()
	count.With("Giant_Rubber_Bands").Inc()
	products.Remove("Rockets")
	printValues(reg)
	// Output:
	// products.count Anvils 2
	// products.count Giant_Rubber_Bands 1
}

func ExampleHistogram() {
	reg := &mmv.Registry{Name: "shop"}
	latency := reg.Histogram("latency", mmv.Metric{Units: pdu.TimeSec}, []float64{0.1, 0.2, 0.4}, 0.5)
	for _, seconds := range []float64{0.05, 0.15, 0.15, 3} {
		latency.Observe(seconds)
	}
	fmt.Println(latency.Count(), latency.Sum(), latency.Quantile(0.75))
	printValues(reg)
	// Output:
	// 4 3.35 0.2
	// latency.bucket ..0.1 1
	// latency.bucket 0.1..0.2 2
	// latency.bucket 0.2..0.4 0
	// latency.bucket 0.4.. 1
	// latency.count  4
	// latency.sum  3.350000e+00
	// latency.p50  1.500000e-01
}

func ExampleTimer() {
	reg := &mmv.Registry{Name: "shop"}
	busy := reg.Timer("busy", mmv.Metric{Text: "Time spent on requests"})
	handle := func() {
		defer busy.Start().Stop()
		time.Sleep(time.Millisecond)
	}
	handle()
	fmt.Println(busy.Value() >= time.Millisecond)
	// Output: true
}

func ExampleRegistry_OnRead() {
	reg := &mmv.Registry{Name: "shop"}
	stock := []string{"anvil", "rocket"}
	size := reg.Gauge("stock.size", mmv.Metric{})
	reg.OnRead(func() { size.Set(int64(len(stock))) })
	printValues(reg)
	// Output: stock.size  2
}

func ExampleLabels() {
	reg := &mmv.Registry{Name: "shop", Labels: mmv.Labels{"tier": "front", "revision": mmv.Optional(17)}}
	reg.Counter("orders", mmv.Metric{Labels: mmv.Labels{"critical": true}})
	f, err := mmv.Read(reg.Source())
	if err != nil {
		log.Fatal(err)
	}
	for _, l := range f.Labels {
		fmt.Println(l.JSON)
	}
	// Output:
	// {"revision":17}
	// {"tier":"front"}
	// {"critical":true}
}

func ExampleRegistry_Err() {
	reg := &mmv.Registry{Name: "shop"}
	reg.Counter("orders", mmv.Metric{}).Inc()
	reg.Counter("orders", mmv.Metric{}).Inc() // counts, unseen
	_, text, _ := strings.Cut(reg.Err().Error(), "metric ")
	text, _, _ = strings.Cut(text, " at ")
	fmt.Println(text)
	// Output: "orders": already registered
}
