package tool_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// A myval is a tool that prints the values of a metric at an interval, and the rates of counters,
// as pmval(1) does.
type myval struct {
	tool.Command
	open      func(ctx context.Context) (*pmapi.Context, error)
	precision int
	raw       bool
}

func newMyval() *myval {
	m := &myval{precision: 3}
	m.Command = tool.Command{Name: "myval", Synopsis: "[options] metric"}
	m.open = m.Open
	m.AddOptions("General options", m.Standard("host", "samples", "finish", "interval", "version", "help")...)
	m.AddOptions("Reporting options",
		tool.Option{Short: 'f', Long: "precision", Arg: "N", Help: "digits after the point",
			Set: tool.Number(&m.precision, 0, "-f requires a number")},
		tool.Option{Short: 'r', Long: "raw", Help: "print counters, not their rates", Set: tool.Flag(&m.raw)})
	return m
}

func (m *myval) run(ctx context.Context, args []string) error {
	operands, err := m.Parse(args)
	if err != nil {
		return err
	}
	if len(operands) != 1 {
		return fmt.Errorf("one metric expected: %w", tool.ErrUsage)
	}
	spec, err := pmapi.ParseMetricSpec(operands[0], pmapi.SourceHost, "")
	if err != nil {
		return err
	}
	pc, err := m.open(ctx)
	if err != nil {
		return err
	}
	defer pc.Close()
	window, err := m.Window(ctx, pc)
	if err != nil {
		return err
	}
	g := pc.Group()
	var options []pmapi.ItemOption
	if m.raw {
		options = append(options, pmapi.Scale("instant"))
	}
	values := pmapi.AddSet[float64](g, spec.Metric, options...)
	for now, err := range g.Every(ctx, cmp.Or(m.Interval, time.Second)) {
		if err != nil {
			return err
		}
		for i := range values.Len() {
			inst, v, err := values.At(i)
			if spec.Instances != nil && !slices.Contains(spec.Instances, inst.Name) {
				continue
			}
			if err != nil { // no value, or no rate yet
				fmt.Printf("%-6s %12s\n", inst.Name, "?")
				continue
			}
			fmt.Printf("%-6s %12.*f\n", inst.Name, m.precision, v)
		}
		if m.Samples--; m.Samples == 0 || !window.End.IsZero() && now.Add(m.Interval).After(window.End) {
			break
		}
	}
	return nil
}

// A whole tool. Its main function is
//
//	func main() {
//		m := newMyval()
//		os.Exit(m.Report(m.run(context.Background(), os.Args[1:])))
//	}
//
// Here its source is not a collector but a pmapitest.Source, whose time passes at once.
func Example() {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	src := &pmapitest.Source{Start: noon}
	pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "shop.orders", Sem: pdu.SemCounter, Units: pdu.UnitCount,
		Value: func(now time.Time, _ pdu.Instance) (uint64, error) {
			seconds := uint64(now.Sub(noon).Seconds())
			return 7000 + seconds*seconds, nil
		}})
	pmapitest.Add(src, pmapitest.Metric[float64]{Name: "shop.cache", InDom: src.InDom("pages", "images"), Units: pdu.SpaceKByte,
		Value: func(_ time.Time, i pdu.Instance) (float64, error) { return 1.5 + 100*float64(i.ID), nil }})

	for _, line := range []string{
		"-s 1 shop.cache",
		"-s 1 -f 1 shop.cache[pages]",
		"-s 4 -t 5sec shop.orders", // the first sample of a counter has no rate
		"-s 1 -r shop.orders",
		"-s 1 shop.nosuch",
		"-s many shop.cache",
	} {
		fmt.Println("$ myval", line)
		m := newMyval()
		m.Stderr = stdout{}
		m.open = func(context.Context) (*pmapi.Context, error) { return src.Context(), nil }
		status := m.Report(m.run(context.Background(), strings.Fields(line)))
		fmt.Println("exit status", status)
	}
	// Output:
	// $ myval -s 1 shop.cache
	// pages         1.500
	// images      101.500
	// exit status 0
	// $ myval -s 1 -f 1 shop.cache[pages]
	// pages           1.5
	// exit status 0
	// $ myval -s 4 -t 5sec shop.orders
	//                   ?
	//               5.000
	//              15.000
	//              25.000
	// exit status 0
	// $ myval -s 1 -r shop.orders
	//            7225.000
	// exit status 0
	// $ myval -s 1 shop.nosuch
	// myval: pmapi: lookup "shop.nosuch" on pmapitest: Unknown metric name
	// exit status 1
	// $ myval -s many shop.cache
	// myval: -s requires a positive numeric argument
	// Usage: myval [options] metric
	//
	// General options:
	//   -h HOST, --host=HOST  metrics source is PMCD on host
	//   -s N, --samples=N     terminate after this many samples
	//   -T TIME, --finish=TIME
	//                         end of the time window
	//   -t DELTA, --interval=DELTA
	//                         sampling interval
	//   -V, --version         display version number and exit
	//   -?, --help            show this usage message and exit
	//
	// Reporting options:
	//   -f N, --precision=N   digits after the point
	//   -r, --raw             print counters, not their rates
	// exit status 1
}

// stdout adds what a tool prints on standard error to the output of an example.
type stdout struct{}

func (stdout) Write(b []byte) (int, error) { return fmt.Print(string(b)) }

func ExampleCommand_Parse() {
	c := &tool.Command{Name: "pmx", Synopsis: "[options] metric ..."}
	c.AddOptions("General options", c.Standard("archive", "host", "interval")...)
	metrics, err := c.Parse([]string{"-h", "web1", "-t", "1min30", "kernel.all.load", "hinv.ncpu"})
	fmt.Println(metrics, c.Interval, err)
	// Output:
	// [kernel.all.load hinv.ncpu] 1m30s <nil>
}
