package pmapi_test

import (
	"fmt"
	"time"

	"github.com/pcp-go/pcp/pmapi"
)

func ExampleParseInterval() {
	d, err := pmapi.ParseInterval("1 hour 30 min")
	fmt.Println(d, err)

	_, err = pmapi.ParseInterval("10 furlongs")
	fmt.Println(err)
	// Output:
	// 1h30m0s <nil>
	// bad interval "10 furlongs": unexpected value at "furlongs"
}

func ExampleWindowSpec() {
	first := time.Date(2023, time.November, 14, 22, 13, 20, 0, time.UTC) // of an archive
	last := first.Add(24 * time.Hour)
	spec := pmapi.WindowSpec{Start: "@23:00", Finish: "-1hour", Align: "15min", Origin: "20min", Location: time.UTC}
	w, err := spec.Window(first, last)
	fmt.Println(w.Start.Format(time.ANSIC))
	fmt.Println(w.End.Format(time.ANSIC))
	fmt.Println(w.Origin.Format(time.ANSIC), err)

	_, err = pmapi.WindowSpec{Start: "@23:70"}.Window(first, last)
	fmt.Println(err)
	// Output:
	// Tue Nov 14 23:00:00 2023
	// Wed Nov 15 21:13:20 2023
	// Tue Nov 14 23:30:00 2023 <nil>
	// bad time "23:70": unexpected value at "70"
}
