//go:build amd64 || arm64 || 386 || riscv64 || loong64

package mmv_test

import (
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pdu"
)

func ExampleOpen() {
	f, err := mmv.Open("testdata/v3.mmv") // or /var/lib/pcp/tmp/mmv/NAME
	if errors.Is(err, mmv.ErrInFlux) {
		fmt.Println("its writer has not completed it yet")
		return
	}
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	s, err := f.Snapshot(time.Now())
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range s.Metrics {
		for _, v := range m.Values {
			fmt.Println(m.Metric.Name, v.Instance.Name, v.Value)
		}
	}
	if v, ok := s.Lookup("hits", "red"); ok {
		n, err := pdu.As[int64](v)
		fmt.Println(n+1, err)
	}
	// Output:
	// hits red 7
	// hits green 2
	// state  "idle"
	// busy  1000
	// rate  2.500000e+00
	// 8 <nil>
}
