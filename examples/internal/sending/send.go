package sending

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/export"
)

// Context returns a context that SIGINT or SIGTERM cancels. A second signal ends the program at
// once, even while a receiver keeps it waiting.
func Context() (ctx context.Context, stop context.CancelFunc) {
	ctx, stop = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// An Exporter sends the metrics of a context.
type Exporter interface {
	Run(ctx context.Context) error
	Backfill(ctx context.Context, o export.BackfillOptions) error
	Stats() export.Stats
}

var errNoValues = errors.New("no values were read")

// Open opens the host or the archives.
func Open(ctx context.Context, c *pcptool.Command) (*pmapi.Context, error) {
	pc, err := c.Open(ctx, func(d *pmapi.Dialer) { d.AutoReconnect = true })
	if err != nil {
		return nil, err
	}
	if !pcptool.IsArchive(pc) {
		pcptool.Identify(ctx, pc, os.Args)
	}
	if err := c.SetTimes(ctx, pc); err != nil {
		pc.Close()
		return nil, err
	}
	return pc, nil
}

// Send sends the metrics of a host until ctx ends, or those of archives until their end. The error
// reports what the receiver did not accept.
func (o *Options) Send(ctx context.Context, c *pcptool.Command, pc *pmapi.Context, e Exporter) error {
	var err error
	if pcptool.IsArchive(pc) {
		err = o.backfill(ctx, c, e)
	} else {
		err = o.run(ctx, c, e)
	}
	s := e.Stats()
	if o.verbose {
		fmt.Fprintf(os.Stderr, "%d points in %d messages sent, %d points rejected, %d refused, %d dropped, %d wait\n",
			s.Sent.Points, s.Sent.Messages, s.Rejected, s.Failed.Points, s.Dropped.Points, s.Queued.Points)
	}
	if err != nil {
		return c.Errorf("%v", err)
	}
	if lost := s.Failed.Points + s.Dropped.Points + s.Rejected; lost > 0 {
		return c.Errorf("%d points were not taken", lost)
	}
	return nil
}

// run sends what a host has.
func (o *Options) run(ctx context.Context, c *pcptool.Command, e Exporter) error {
	if !c.End.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, c.End)
		defer cancel()
	}
	if err := e.Run(ctx); err != nil {
		return err
	}
	if e.Stats().Read.Messages == 0 && ctx.Err() == nil {
		return errNoValues
	}
	return nil
}

// backfill sends what archives have.
func (o *Options) backfill(ctx context.Context, c *pcptool.Command, e Exporter) error {
	p := &progress{w: os.Stderr, name: c.Name, begin: c.Begin, end: c.End, zone: c.Location}
	b := export.BackfillOptions{State: o.state, KeepGoing: o.skipRefused, Progress: p.report}
	if c.StartGiven {
		b.From = c.Begin
	}
	if c.FinishGiven {
		b.To = c.End
	}
	err := e.Backfill(ctx, b)
	p.print()
	if err != nil && ctx.Err() != nil && o.state != "" {
		return errors.New("interrupted; the same command goes on from here")
	}
	if err == nil && e.Stats().Read.Messages == 0 {
		if _, statErr := os.Stat(o.state); statErr != nil { // with one, there is nothing new
			return errNoValues
		}
	}
	return err
}

// progressEvery is the interval of progress reports.
const progressEvery = time.Second

// A progress tells how far a program has got. Its first calls are by one goroutine, and print
// follows them.
type progress struct {
	w          io.Writer
	name       string
	begin, end time.Time // of all
	zone       *time.Location
	told       time.Time // when the last line was printed

	upto    time.Time // zero when that has been told
	samples uint64
}

// report takes what has been sent, and tells it if it is time to.
func (p *progress) report(upto time.Time, s export.Stats) {
	p.upto, p.samples = upto, s.Sent.Points
	if now := time.Now(); now.Sub(p.told) >= progressEvery {
		p.told = now
		p.print()
	}
}

// print tells what has not been told.
func (p *progress) print() {
	if p.upto.IsZero() {
		return
	}
	part := ""
	if all := p.end.Sub(p.begin); all > 0 {
		part = fmt.Sprintf(" (%.0f%%)", 100*min(max(float64(p.upto.Sub(p.begin))/float64(all), 0), 1))
	}
	fmt.Fprintf(p.w, "%s: sent up to %s%s: %d points\n", p.name, p.upto.In(p.zone).Format(time.DateTime+" MST"), part, p.samples)
	p.upto = time.Time{}
}
