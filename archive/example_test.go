package archive_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// This example reads the values of one metric from a given time.
func Example() {
	set, err := archive.Open(context.Background(), "testdata/v3")
	if err != nil {
		log.Fatal(err)
	}
	defer set.Close()
	meta := set.Metadata()
	id, err := meta.Names().Lookup("sample.bin")
	if err != nil {
		log.Fatal(err)
	}
	desc, _ := meta.Desc(id)
	bins := pdu.NewSelection([]pdu.PMID{id})
	c := set.Cursor()
	if err := c.SeekNext(set.Start().Add(900 * time.Millisecond)); err != nil {
		log.Fatal(err)
	}
	for {
		err := c.Next()
		if errors.Is(err, pdu.ErrEOL) {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		if _, err := c.Select(bins); err != nil {
			log.Fatal(err)
		}
		if v := bins.At(0); v.Len() > 0 { // valid until the next call of Next
			first := meta.InDom(desc.InDom).At(c.Time())[0]
			fmt.Println(v.Len(), "values, the first one of", first.Name, "is", v.Atom(0, desc.Type))
		}
	}
	// Output:
	// 9 values, the first one of bin-100 is 100
	// 9 values, the first one of bin-100 is 100
}

// This example reads the records of one file, as programs do that rewrite or check archives.
func ExampleFile_Records() {
	file, err := archive.Options{}.OpenFile(context.Background(), "testdata/v3.meta")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	for r, err := range file.Records() {
		if err != nil {
			log.Fatal(err) // with the file, the offset and the number of the record
		}
		if r.Kind == archive.KindInDom {
			d, err := r.InDom()
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(r.Kind, d.InDom, len(d.Instances), "instances")
		}
	}
	// Output:
	// indom 2.1 1 instances
	// indom 29.1 3 instances
	// indom 29.2 9 instances
}
