package export_test

import (
	"context"
	"fmt"
	"log"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// A Reader reads all metrics below a name, with their metadata.
func ExampleReader() {
	src := &pmapitest.Source{}
	defer src.Close()
	disks := src.InDom("sda", "sdb")
	pmapitest.Add(src, pmapitest.Metric[uint64]{
		Name: "disk.dev.read", Text: "Reads of a disk", InDom: disks, Sem: pdu.SemCounter,
	}).Set(120, 7)
	pmapitest.Add(src, pmapitest.Metric[uint32]{Name: "kernel.all.nprocs"}).Set(211)

	r := &export.Reader{Context: src.Context(), Names: []string{"disk"}}
	snap, err := r.Read(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for m, values := range snap.All() {
		fmt.Println(m.Name, "-", m.Line)
		for inst, value := range values.All(m.Desc.Type) {
			fmt.Println(m.InDom.Name(inst), value)
		}
	}
	// Output:
	// disk.dev.read - Reads of a disk
	// sda 120
	// sdb 7
}
