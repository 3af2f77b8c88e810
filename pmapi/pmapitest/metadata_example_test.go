package pmapitest_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// A test of a program that reads event records: two logins, and missed ones.
func ExampleAddEvents() {
	ctx := context.Background()
	src := &pmapitest.Source{Start: noon, End: noon.Add(time.Second)}
	user := pmapitest.Add(src, pmapitest.Metric[string]{Name: "login.user"})
	logins := pmapitest.AddEvents(src, pmapitest.Metric[pdu.Atom]{Name: "login.records"})
	c := src.Context() // gets the records from now on
	logins.Record(pdu.EventPoint, user.Param("ann"))
	logins.Missed(3)
	logins.Record(pdu.EventPoint, user.Param("bob"))
	for e, err := range c.Events(ctx, "login.records", time.Second) {
		if err != nil {
			log.Fatal(err)
		}
		if e.Flags == pdu.EventMissed {
			fmt.Println(e.Missed, "logins were missed")
			continue
		}
		name, err := pmapi.EventValue[string](e, "login.user")
		fmt.Println(e.Flags, name, err)
	}
	// Output:
	// point ann <nil>
	// 3 logins were missed
	// point bob <nil>
}

// A program reads labels of the host, of an agent, of a metric and of instances.
func ExampleInDom_SetLabels() {
	ctx := context.Background()
	src := &pmapitest.Source{Start: noon, Labels: `{"hostname":"web1"}`}
	disks := src.InDom("sda", "nvme0n1")
	disks.SetLabels(`{"device_type":"block"}`, func(i pdu.Instance) string { return fmt.Sprintf(`{"disk":%q}`, i.Name) })
	reads := pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "disk.dev.read", InDom: disks, Labels: `{"direction":"in"}`})
	reads.Set(1, 2)
	src.SetLabels(pdu.LabelDomain, uint32(reads.Desc().PMID.Domain()), `{"agent":"linux"}`)

	g := src.Context().Group()
	nvme := pmapi.AddSet[uint64](g, "disk.dev.read", pmapi.Where(pmapi.LabelIs("disk", "nvme0n1")))
	if _, err := g.Fetch(ctx); err != nil {
		log.Fatal(err)
	}
	labels, err := nvme.Labels(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for disk, v := range nvme.All() {
		fmt.Println(disk.Name, v)
		fmt.Println(labels.Instance(disk.ID))
	}
	// Output:
	// nvme0n1 2
	// {"agent":"linux","device_type":"block","direction":"in","disk":"nvme0n1","hostname":"web1"}
}

// A source has a derived metric, which looks like any other. The test checks how the program reacts
// to a full disk.
func ExampleSource_derived() {
	derived := new(pmapi.Derived)
	if err := derived.Define("disk.full", "100 * disk.used / disk.size"); err != nil {
		log.Fatal(err)
	}
	src := &pmapitest.Source{Start: noon, Derived: derived}
	disks := src.InDom("/", "/home")
	pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "disk.size", InDom: disks, Units: pdu.SpaceKByte}).Set(200, 400)
	pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "disk.used", InDom: disks, Units: pdu.SpaceKByte}).Set(50, 380)
	g := src.Context().Group()
	full := pmapi.AddSet[float64](g, "disk.full")
	if _, err := g.Fetch(context.Background()); err != nil {
		log.Fatal(err)
	}
	for disk, percent := range full.All() {
		fmt.Println(disk.Name, percent)
	}
	// Output:
	// / 25
	// /home 95
}
