// Pcp-uptime prints how long a host has been up, how many users it has, and its load averages.
// Options, output and exit status are those of pcp-uptime of PCP, which "pcp uptime" runs.
package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/examples/internal/pmcc"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

func main() {
	pcptool.LimitMemory()
	c := &pcptool.Command{Name: "pcp-uptime", Synopsis: "[options]", HighRes: true}
	c.AddOptions("Options", c.Standard("version", "help")...)
	os.Exit(pmcc.Report(os.Stdout, c, run(context.Background(), c), 0))
}

var metrics = []string{"kernel.all.uptime", "kernel.all.nusers", "kernel.all.load"}

func run(ctx context.Context, c *pcptool.Command) error {
	if _, err := c.Parse(os.Args[1:]); err != nil {
		return err
	}
	pc, err := pmcc.Open(ctx, c, pmapi.ModeForward, 0)
	if err != nil {
		return err
	}
	defer pc.Close()
	ids, descs, err := pmcc.Lookup(ctx, pc, metrics)
	if err != nil {
		return err
	}
	var r pdu.Result
	if err := pc.Fetch(ctx, ids, &r); err != nil {
		return &pmcc.Error{Err: err}
	}
	line, missing := format(&r, descs)
	if missing != nil {
		return &pmcc.Error{Err: pdu.ErrValue, Args: missing}
	}
	fmt.Printf(" %s %s\n", r.Time.In(c.Location).Format("15:04:05"), line)
	return nil
}

// format returns the line after the time of day, and the metrics without values.
func format(r *pdu.Result, descs []pdu.Desc) (line string, missing []string) {
	value := func(metric, i int) float64 {
		if r.At(metric).Len() > i {
			if v, err := pdu.As[float64](r.At(metric).Atom(i, descs[metric].Type)); err == nil {
				return v
			}
		}
		if name := metrics[metric]; !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
		return 0
	}
	minutes, users := int64(value(0, 0))/60, int64(value(1, 0))
	hours, days := minutes/60, minutes/60/24
	line = "up "
	switch {
	case days == 1:
		line += "1 day, "
	case days > 1:
		line += fmt.Sprintf("%d days, ", days)
	}
	if hours%24 == 0 {
		line += fmt.Sprintf("%d min, ", minutes%60)
	} else {
		line += fmt.Sprintf("%2d:%02d, ", hours%24, minutes%60)
	}
	if users == 1 {
		line += "1 user, "
	} else {
		line += fmt.Sprintf("%2d users, ", users)
	}
	return line + fmt.Sprintf(" load average: %.2f, %.2f, %.2f", value(2, 0), value(2, 1), value(2, 2)), missing
}
