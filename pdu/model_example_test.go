package pdu_test

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

func ExampleAs() {
	v := pdu.Uint64(5_000_000_000)
	f, err := pdu.As[float64](v)
	fmt.Println(f, err)
	n, err := pdu.As[int32](v)
	fmt.Println(n, err, errors.Is(err, pdu.ErrTrunc))
	// Output:
	// 5e+09 <nil>
	// 0 Truncation in value conversion true
}

func ExampleError() {
	err := fmt.Errorf("open: %w", pdu.Error(-13)) // as it came from a Linux peer
	fmt.Println(err)
	fmt.Println(errors.Is(err, fs.ErrPermission))
	fmt.Println(int32(pdu.FromError(err)))
	// Output:
	// open: Permission denied
	// true
	// -13
}

func ExampleUnits() {
	const rate = pdu.SpaceKByte | pdu.PerSec
	fmt.Println(rate)
	fmt.Println(pdu.MakeUnits(0, 0, 1, 0, 0, 6))
	// Output:
	// Kbyte / sec
	// count x 10^6
}

func ExampleParseUnits() {
	u, mult, err := pdu.ParseUnits("10 MiB / minute")
	fmt.Println(u, mult, err)
	_, _, err = pdu.ParseUnits("furlong")
	fmt.Println(err)
	// Output:
	// Mbyte / min 0.1 <nil>
	// units "furlong": unrecognized or duplicate base unit: Impossible value or scale conversion
}

func ExampleEventBuilder() {
	var b pdu.EventBuilder
	b.Begin(time.Unix(1_700_000_000, 0), pdu.EventStart|pdu.EventID)
	b.Param(pdu.MakePMID(250, 0, 1), pdu.Uint32(42))
	b.Param(pdu.MakePMID(250, 0, 2), pdu.String("GET /"))
	b.Missed(time.Unix(1_700_000_001, 0), 3)
	a, err := b.Atom()
	if err != nil {
		fmt.Println(err)
		return
	}
	events, err := a.Events()
	if err != nil {
		fmt.Println(err)
		return
	}
	for r := range events.All() {
		fmt.Println(r.Time.Unix(), r.Flags, r.Missed)
		for id, v := range r.Params() {
			fmt.Println(" ", id, v)
		}
	}
	// Output:
	// 1700000000 start,id 0
	//   250.0.1 42
	//   250.0.2 "GET /"
	// 1700000001 missed 3
}

func ExampleMergeLabels() {
	host, err := pdu.ParseLabels(pdu.LabelContext, `{"hostname": "web1", "tier": "test"}`, false)
	if err != nil {
		fmt.Println(err)
		return
	}
	item, err := pdu.MakeLabels(pdu.LabelItem, map[string]any{"tier": "prod", "rack": map[string]int{"row": 4}}, false)
	if err != nil {
		fmt.Println(err)
		return
	}
	all, err := pdu.MergeLabels(nil, host, item)
	fmt.Println(all, err)
	tier, ok := all.Lookup("tier")
	fmt.Println(tier, ok)
	// Output:
	// {"hostname":"web1","rack.row":4,"tier":"prod"} <nil>
	// prod true
}
