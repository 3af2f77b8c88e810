package pmapi_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// madeShop returns a made-up source: disks with labels, and event records of orders.
func madeShop() *pmapitest.Source {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	src := &pmapitest.Source{Start: noon, End: noon.Add(2 * time.Second), Labels: `{"hostname":"shop1"}`}
	disks := src.InDom("sda", "nvme0n1", "nvme1n1")
	disks.SetLabels(`{"indom_name":"per disk"}`, func(i pdu.Instance) string {
		if i.ID == 0 {
			return `{"device_type":"disk"}`
		}
		return fmt.Sprintf(`{"device_type":"nvme","slot":%d}`, i.ID)
	})
	for k, name := range []string{"disk.dev.read_bytes", "disk.dev.write_bytes"} {
		pmapitest.Add(src, pmapitest.Metric[uint64]{
			Name: name, Text: "bytes of a disk", Sem: pdu.SemCounter, Units: pdu.SpaceKByte, InDom: disks,
			Value: func(now time.Time, i pdu.Instance) (uint64, error) {
				return uint64(now.Sub(noon).Seconds()) * 1024 * uint64(1+int(i.ID)+k), nil
			},
		})
	}
	pmapitest.Add(src, pmapitest.Metric[float64]{Name: "kernel.all.load", InDom: src.InDom("1 minute", "5 minute")}).Set(0.5, 0.25)
	item := pmapitest.Add(src, pmapitest.Metric[string]{Name: "order.item"})
	orders := pmapitest.AddEvents(src, pmapitest.Metric[pdu.Atom]{Name: "order.records"})
	src.OnRequest = func(_ context.Context, r pmapitest.Request) error {
		if r.Method == "Fetch" && src.Now().Equal(noon.Add(time.Second)) {
			orders.Record(pdu.EventPoint, item.Param("tea"))
			orders.Missed(2)
		}
		return nil
	}
	return src
}

// Where selects the NVMe disks by a label.
func ExampleWhere() {
	ctx := context.Background()
	g := madeShop().Context().Group()
	read := pmapi.AddSet[float64](g, "disk.dev.read_bytes", pmapi.Scale("Mbyte/second"), pmapi.Where(pmapi.LabelIs("device_type", "nvme")))
	for now, err := range g.Every(ctx, time.Second) {
		if err != nil {
			log.Fatal(err)
		}
		for disk, v := range read.All() {
			fmt.Println(now.Format(time.TimeOnly), disk.Name, v, read.Units())
		}
	}
	// Output:
	// 12:00:01 nvme0n1 2 Mbyte/second
	// 12:00:01 nvme1n1 3 Mbyte/second
	// 12:00:02 nvme0n1 2 Mbyte/second
	// 12:00:02 nvme1n1 3 Mbyte/second
}

// A program adds all metrics below a name to a group, and prints them with their units.
func ExampleAddTree() {
	ctx := context.Background()
	src := madeShop()
	g := src.Context().Group()
	disk := pmapi.AddTree[float64](g, "disk")
	for range 2 {
		if _, err := g.Fetch(ctx); err != nil {
			log.Fatal(err)
		}
		src.Advance(time.Second)
	}
	for metric, set := range disk.All() {
		sum := 0.0
		for _, v := range set.All() {
			sum += v
		}
		fmt.Println(metric, sum, set.Units())
	}
	// Output:
	// disk.dev.read_bytes 6144 Kbyte / sec
	// disk.dev.write_bytes 9216 Kbyte / sec
}

// The tags of a struct name the metrics of a group.
func ExampleAddFields() {
	ctx := context.Background()
	var host struct {
		Load pmapi.Item[float64] `pcp:"kernel.all.load[1 minute]"`
		Read pmapi.Set[float64]  `pcp:"disk.dev.read_bytes" scale:"Mbyte/second"`
	}
	src := madeShop()
	g := src.Context().Group()
	if err := pmapi.AddFields(g, &host); err != nil {
		log.Fatal(err)
	}
	for range 2 {
		if _, err := g.Fetch(ctx); err != nil {
			log.Fatal(err)
		}
		src.Advance(time.Second)
	}
	load, err := host.Load.Value()
	fmt.Println(load, err)
	read, err := host.Read.Get("sda")
	fmt.Println(read, err)
	// Output:
	// 0.5 <nil>
	// 1 <nil>
}

// Labels returns all labels of an item: those of the host, of the instance domain and of the
// instance.
func ExampleItem_Labels() {
	ctx := context.Background()
	g := madeShop().Context().Group()
	read := pmapi.Add[float64](g, "disk.dev.read_bytes", pmapi.Instance("nvme1n1"))
	if _, err := g.Fetch(ctx); err != nil {
		log.Fatal(err)
	}
	labels, err := read.Labels(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for l := range labels.All() {
		fmt.Println(l.Name, l.Text(), "of class", l.Flags.Class())
	}
	// Output:
	// device_type nvme of class instances
	// hostname shop1 of class context
	// indom_name per disk of class indom
	// slot 2 of class instances
}

// Events yields the records of a metric of events as they arrive.
func ExampleContext_Events() {
	ctx := context.Background()
	for e, err := range madeShop().Context().Events(ctx, "order.records", time.Second) {
		switch {
		case err != nil:
			log.Print(err) // and go on
		case e.Flags == pdu.EventMissed:
			fmt.Println(e.Missed, "orders were missed")
		default:
			item, err := pmapi.EventValue[string](e, "order.item")
			fmt.Println(e.Time.Format(time.TimeOnly), item, err)
		}
	}
	// Output:
	// 12:00:01 tea <nil>
	// 2 orders were missed
}

// An item can be removed in a loop over the group. Later fetches do not request its metric.
func ExampleItem_Remove() {
	ctx := context.Background()
	g := madeShop().Context().Group()
	load := pmapi.Add[float64](g, "kernel.all.load", pmapi.Instance("1 minute"))
	read := pmapi.Add[uint64](g, "disk.dev.read_bytes", pmapi.Instance("sda"), pmapi.Scale("instant"))
	for now, err := range g.Every(ctx, time.Second) {
		if err != nil {
			log.Fatal(err)
		}
		bytes, _ := read.Value()
		l, err := load.Value()
		fmt.Println(now.Format(time.TimeOnly), bytes, l, errors.Is(err, pdu.ErrArg))
		load.Remove()
	}
	// Output:
	// 12:00:00 0 0.5 false
	// 12:00:01 1024 0 true
	// 12:00:02 2048 0 true
}

// Time says how old a value is: a metric of discrete semantics keeps its value until the collector
// has another one.
func ExampleItem_Time() {
	ctx := context.Background()
	src := &pmapitest.Source{Start: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)}
	kernel := pmapitest.Add(src, pmapitest.Metric[string]{Name: "kernel.uname.release", Sem: pdu.SemDiscrete})
	kernel.Set("6.1.0")
	g := src.Context().Group()
	release := pmapi.Add[string](g, "kernel.uname.release")
	for range 3 {
		now, err := g.Fetch(ctx)
		if err != nil {
			log.Fatal(err)
		}
		v, err := release.Value()
		fmt.Println(v, err, now.Sub(release.Time()))
		src.Advance(time.Minute)
		kernel.Set() // an archive has it once
	}
	// Output:
	// 6.1.0 <nil> 0s
	// 6.1.0 <nil> 1m0s
	// 6.1.0 <nil> 2m0s
}

// A program prints the descriptor of an item, its help text and the units of its values, which are
// rates here.
func ExampleItem_Desc() {
	ctx := context.Background()
	c := madeShop().Context()
	g := c.Group()
	read := pmapi.Add[float64](g, "disk.dev.read_bytes", pmapi.Instance("sda"))
	if _, err := g.Fetch(ctx); err != nil {
		log.Fatal(err)
	}
	d := read.Desc()
	text, err := c.Text(ctx, d.PMID, pdu.TextOneLine)
	fmt.Println(d.Type, d.Sem, d.Units, "|", read.Units(), "|", text, err)
	// Output:
	// U64 counter Kbyte | Kbyte / sec | bytes of a disk <nil>
}
