// Tracedemo reports the same trace data as the programs that PCP ships in
// /usr/share/pcp/demos/trace: transactions, points, observations and counters. Install the trace
// agent and see them with pminfo -f trace.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/trace"
)

const usage = `Usage: tracedemo [-n loops] [-second duration] [app1|app2|app3]

  app1  some calls, one after the other, each waits for the agent (default)
  app2  a loop over three kinds of work, which sends in the background
  app3  three kinds of work side by side

The agent is found by PCP_TRACE_HOST and PCP_TRACE_PORT.

Options:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		log.Fatal(err)
	}
}

// A demo is one of the programs.
type demo struct {
	config trace.Config
	loops  int
	second time.Duration
}

func run(ctx context.Context, args []string, errs io.Writer) error {
	var d demo
	flags := flag.NewFlagSet("tracedemo", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.Usage = func() {
		io.WriteString(errs, usage)
		flags.PrintDefaults()
	}
	flags.IntVar(&d.loops, "n", 0, "`loops` of app2 (0: until it is interrupted) and of each work of app3 (0: 10)")
	flags.DurationVar(&d.second, "second", time.Second, "how long a second of the work lasts")
	if err := flags.Parse(args); err != nil {
		return err
	}
	config, err := trace.FromEnv()
	if err != nil {
		fmt.Fprintln(errs, err) // what is malformed has its default
	}
	d.config = config
	switch flags.Arg(0) {
	case "", "app1":
		return d.app1(ctx)
	case "app2":
		return d.background(ctx, d.app2)
	case "app3":
		return d.background(ctx, d.app3)
	}
	flags.Usage()
	return fmt.Errorf("no program %q", flags.Arg(0))
}

// app1 checks the result of each call.
func (d *demo) app1(ctx context.Context) error {
	s := &trace.Session{Config: d.config}
	defer s.Close()
	if _, err := s.SetState(trace.StateAPI | trace.StateComms | trace.StatePDU); err != nil {
		return err
	}
	for _, tx := range []struct {
		tag     string
		seconds int
	}{{"simple", 2}, {"ascanbe", 1}} {
		if err := s.Begin(ctx, tx.tag); err != nil {
			return err
		}
		if !d.sleep(ctx, tx.seconds) {
			return s.Abort(tx.tag)
		}
		if err := s.End(ctx, tx.tag); err != nil {
			return err
		}
	}
	if err := s.Observe(ctx, "observe", 101.0); err != nil {
		return err
	}
	if err := s.Counter(ctx, "counter", 101.1); err != nil {
		return err
	}
	return s.Point(ctx, "imouttahere")
}

// background runs a program with a Client and sends its remaining data.
func (d *demo) background(ctx context.Context, program func(context.Context, *trace.Client)) error {
	c := &trace.Client{Config: d.config}
	program(ctx, c)
	end, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return c.Close(end)
}

// app2 does one kind of work after the other.
func (d *demo) app2(ctx context.Context, c *trace.Client) {
	work := []func(context.Context, *trace.Client, string){d.waitTime, d.useIO, d.useCPU}
	tags := []string{"time_sucker", "io_sucker", "cpu_sucker"}
	for i := 0; (d.loops == 0 || i < d.loops) && ctx.Err() == nil; i++ {
		c.Point("mainloop")
		work[i%3](ctx, c, tags[i%3])
	}
}

// app3 does all work at the same time. Transactions of one tag could overlap too.
func (d *demo) app3(ctx context.Context, c *trace.Client) {
	var wg sync.WaitGroup
	loops := d.loops
	if loops == 0 {
		loops = 10
	}
	for tag, work := range map[string]func(context.Context, *trace.Client, string){
		"ptime_sucker": d.waitTime, "pio_sucker": d.useIO, "pcpu_sucker": d.useCPU,
	} {
		wg.Go(func() {
			for i := 0; i < loops && ctx.Err() == nil; i++ {
				work(ctx, c, tag)
			}
		})
	}
	wg.Wait()
}

// waitTime is a transaction of up to 9 seconds. An interrupted one does not count.
func (d *demo) waitTime(ctx context.Context, c *trace.Client, tag string) {
	sp := c.Begin(tag)
	defer sp.End()
	if !d.sleep(ctx, rand.IntN(10)) {
		sp.Abort()
	}
}

func (d *demo) useIO(_ context.Context, c *trace.Client, tag string) {
	sp := c.Begin(tag)
	defer sp.End()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		sp.Abort()
		return
	}
	defer null.Close()
	for range rand.IntN(1000) {
		null.WriteString("!")
	}
}

func (d *demo) useCPU(_ context.Context, c *trace.Client, tag string) {
	sp := c.Begin(tag)
	defer sp.End()
	var array [100]float64
	for i := range rand.IntN(0xffff) {
		for j := range array {
			array[j] = float64(i * j)
		}
	}
}

// sleep sleeps for some seconds. It returns false if the program is interrupted.
func (d *demo) sleep(ctx context.Context, seconds int) bool {
	return ctxwait.Sleep(ctx, time.Duration(seconds)*d.second) == nil
}
