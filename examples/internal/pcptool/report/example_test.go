package report_test

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool/report"
	"github.com/pcp-go/pcp/pmapi"
)

// A report of three metrics in an archive. Counters become rates.
func Example() {
	ctx := context.Background()
	c, err := pmapi.Open(ctx, "../../pmstat/testdata/archive") // or pmapi.Dial(ctx, "web1.example.com")
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	var specs []report.Spec
	for _, text := range []string{
		"kernel.all.load,load,1 minute,,,9,2",
		"kernel.all.pswitch,switches",
		"kernel.all.intr,interrupts,,count/min",
	} {
		spec, err := report.ParseSpec(text)
		if err != nil {
			log.Fatal(err)
		}
		specs = append(specs, spec)
	}
	o := report.NewOptions()
	o.Timestamp, o.InstInfo, o.Samples, o.Interval = true, false, 4, 2*time.Second
	o.Delimiter, o.TimeFormat = "  ", "%H:%M:%S"
	r, err := report.New(ctx, c, o, specs, report.Times{Location: time.UTC})
	if err != nil {
		log.Fatal(err)
	}
	if err := r.Run(ctx, report.NewPrinter(os.Stdout, r)); err != nil {
		log.Fatal(err)
	}
	// Output:
	//                load  switches  interrupts
	//                       count/s   count/min
	// 05:12:04        N/A       N/A         N/A
	// 05:12:06       7.81       N/A         N/A
	// 05:12:08       7.81  115764.5  480600.000
	// 05:12:10       7.58  123903.0  400800.000
}
