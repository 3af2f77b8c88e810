package pmapi_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"testing/fstest"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// watch is a monitor. It reports new processes, network traffic and the use of each CPU.
func watch(ctx context.Context, c *pmapi.Context) {
	g := c.Group()
	forks := pmapi.Add[float64](g, "kernel.all.sysfork", pmapi.Scale("count/minute"))
	in := pmapi.AddSet[float64](g, "network.interface.in.bytes", pmapi.Scale("Kbyte/second"))
	user := pmapi.AddSet[float64](g, "kernel.percpu.cpu.user", pmapi.Scale("%"))
	for now, err := range g.Every(ctx, time.Second) {
		// No collector, a *pmapi.Gap on a new connection, a misspelt name: log it and continue.
		if err := cmp.Or(err, g.Err()); err != nil {
			fmt.Println(now.Format(time.TimeOnly), err)
			continue
		}
		if v, err := forks.Value(); err == nil { // the first sample of a counter has no rate
			fmt.Printf("%s %.0f new processes a minute\n", now.Format(time.TimeOnly), v)
		}
		for nic, v := range in.All() {
			fmt.Printf("  %-5s %6.1f KB/s received\n", nic.Name, v)
		}
		for cpu, v := range user.All() {
			fmt.Printf("  %-5s %6.1f %% in user mode\n", cpu.Name, v)
		}
	}
}

// A complete monitor with rates, units and a lost connection. The metrics come from package
// pmapitest here. The main function of a program is
//
//	func main() {
//		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
//		defer stop()
//		c, err := (&pmapi.Dialer{AutoReconnect: true}).OpenSource(ctx, "localhost")
//		if err != nil {
//			log.Fatal(err)
//		}
//		defer c.Close()
//		watch(ctx, c)
//	}
func Example_monitor() {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	src := &pmapitest.Source{
		Host: "web1", Start: noon, End: noon.Add(5 * time.Second), AutoReconnect: true,
	}
	add := func(name string, units pdu.Units, perSecond float64, insts *pmapitest.InDom) {
		pmapitest.Add(src, pmapitest.Metric[uint64]{
			Name: name, Sem: pdu.SemCounter, Units: units, InDom: insts,
			Value: func(now time.Time, _ pdu.Instance) (uint64, error) {
				return uint64(now.Sub(noon).Seconds() * perSecond), nil
			},
		})
	}
	add("kernel.all.sysfork", pdu.UnitCount, 3, nil)
	add("network.interface.in.bytes", pdu.SpaceByte, 2560, src.InDom("eth0"))
	add("kernel.percpu.cpu.user", pdu.TimeMSec, 250, src.InDom("cpu0", "cpu1"))
	src.BreakAt(noon.Add(2*time.Second), noon.Add(3*time.Second))

	watch(context.Background(), src.Context())
	// Output:
	// 12:00:01 180 new processes a minute
	//   eth0     2.5 KB/s received
	//   cpu0    25.0 % in user mode
	//   cpu1    25.0 % in user mode
	// 12:00:02 pmapi: fetch on web1: IPC protocol failure: the connection is broken
	// 12:00:03 pmapi: fetch on web1: no connection for 1s (the connection is broken)
	// 12:00:05 180 new processes a minute
	//   eth0     2.5 KB/s received
	//   cpu0    25.0 % in user mode
	//   cpu1    25.0 % in user mode
}

// A program reads a collector or archives, depending on a text such as a command-line argument.
func ExampleDialer_OpenSource() {
	ctx := context.Background()
	c, err := new(pmapi.Dialer).OpenSource(ctx, "../archive/testdata/v3") // or "web1.example.com"
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	mode, _, _ := c.Mode()
	label, err := c.ArchiveLabel()
	fmt.Println(mode, label.Host, err)
	// Output:
	// forward vm <nil>
}

// The rows of an archive on full seconds, which do not depend on when the recording started.
func ExampleContext_SetMode() {
	ctx := context.Background()
	c, err := pmapi.Open(ctx, "../archive/testdata/v3")
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	label, err := c.ArchiveLabel()
	if err != nil {
		log.Fatal(err)
	}
	start := label.Start.Truncate(time.Second).Add(time.Second)
	if err := c.SetMode(ctx, pmapi.ModeInterp, start, 0); err != nil {
		log.Fatal(err)
	}
	g := c.Group()
	bin := pmapi.Add[float64](g, "sample.bin", pmapi.Instance("bin-300"))
	for now, err := range g.Every(ctx, 500*time.Millisecond) {
		if err != nil {
			log.Fatal(err)
		}
		v, err := bin.Value()
		fmt.Println(now.UTC().Format("15:04:05.0"), v, err)
	}
	// Output:
	// 00:57:09.0 300 <nil>
	// 00:57:09.5 300 <nil>
}

// Archives in a zip file, an object store or, as here, in memory are opened through an fs.FS.
func ExampleArchiveOptions() {
	ctx := context.Background()
	memory := fstest.MapFS{}
	for _, file := range []string{"monday.0", "monday.index", "monday.meta"} {
		data, err := os.ReadFile("../archive/testdata/v3" + file[len("monday"):])
		if err != nil {
			log.Fatal(err)
		}
		memory[file] = &fstest.MapFile{Data: data}
	}
	c, err := pmapi.ArchiveOptions{Files: archive.Options{FS: memory}}.Open(ctx, "monday")
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	names, err := c.Traverse(ctx, "sample.string")
	fmt.Println(names, err)
	// Output:
	// [sample.string.hullo] <nil>
}

// The definitions of a Dialer hold for all its contexts. A mistake in the syntax is an error of
// Define. A mistake that depends on the metrics is an error of the item.
func ExampleDerived() {
	ctx := context.Background()
	srv := openShop()
	defer srv.Close()

	d := new(pmapi.Derived)
	err := errors.Join(
		d.Define("my.sold", "sum(shop.sold)"),
		d.Define("my.open", "100 * sum(shop.open) / count(shop.open)"),
		d.Define("my.mistake", "shop.sold + shop.motto"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Define("my.rate", "rate(shop.sold"))

	c, err := (&pmapi.Dialer{Derived: d}).Local(ctx, srv) // or Dial(ctx, "web1.example.com")
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	g := c.Group()
	sold := pmapi.Add[float64](g, "my.sold", pmapi.Scale("instant"))
	open := pmapi.Add[float64](g, "my.open")
	pmapi.AddSet[float64](g, "my.mistake")
	if _, err := g.Fetch(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(sold.Value())
	fmt.Println(open.Value())
	if e, ok := errors.AsType[*pmapi.DerivedError](g.Err()); ok {
		fmt.Println(e.Name, e.Part, "|", e.Message)
	}
	// Output:
	// derived metric my.rate: "rate(shop.sold" at byte 13: Metric name expected to follow rate(
	// 201 <nil>
	// 100 <nil>
	// my.mistake shop.sold + shop.motto | Illegal operator for counter and non-counter
}
