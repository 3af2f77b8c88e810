// Pcp2otlp sends metrics of a host to OpenTelemetry's collector, or another receiver of OTLP over HTTP: all metrics, or those named
// and below the names given. The receiver is that of -u, or that which OTEL_EXPORTER_OTLP_ENDPOINT and its kin name, as package
// otlp has them, or http://localhost:4318. SIGINT and SIGTERM end it, after a last attempt to send what waits.
//
//	pcp2otlp -t 10sec kernel disk.dev       # every 10 seconds to a collector on this computer
//	pcp2otlp -h web1 -u https://otlp.example.com/v1/metrics -z
//	pcp2otlp -s 1 -o kernel.all.load        # one message on standard output
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/otlp"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// options are those that PCP's tools do not have in common.
type options struct {
	url                    string
	gzip, strings, verbose bool
	print                  bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := &options{}
	c := newCommand(o)
	os.Exit(c.Report(run(ctx, c, o)))
}

func newCommand(o *options) *tool.Command {
	c := &tool.Command{Name: "pcp2otlp", Synopsis: "[options] [metricname ...]"}
	c.AddOptions("General options", c.Standard("debug", "host", "derived", "namespace", "samples", "interval", "version", "help")...)
	c.AddOptions("Sending options",
		tool.Option{Short: 'u', Long: "url", Arg: "URL", Help: "receiver, such as http://localhost:4318/v1/metrics",
			Set: func(v string) error { o.url = v; return nil }},
		tool.Option{Short: 'z', Long: "gzip", Help: "compress messages", Set: tool.Flag(&o.gzip)},
		tool.Option{Short: 'S', Long: "strings", Help: "send discrete strings, as attributes", Set: tool.Flag(&o.strings)},
		tool.Option{Short: 'o', Long: "stdout", Help: "print messages, a line each, in place of sending them", Set: tool.Flag(&o.print)},
		tool.Option{Short: 'v', Long: "verbose", Help: "print counts at the end", Set: tool.Flag(&o.verbose)})
	return c
}

func run(ctx context.Context, c *tool.Command, o *options) error {
	names, err := c.Parse(os.Args[1:])
	if err != nil {
		return err
	}
	e, err := otlp.FromEnv()
	if err != nil {
		return c.Errorf("%v", err)
	}
	pc, err := c.Open(ctx, func(d *pmapi.Dialer) { d.AutoReconnect = true })
	if err != nil {
		return err
	}
	defer pc.Close()
	tool.Identify(ctx, pc, append([]string{"pcp2otlp"}, os.Args[1:]...))
	e.Reader = &export.Reader{Context: pc, Names: names}
	e.Encoder.Strings = o.strings
	e.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	e.Gzip = e.Gzip || o.gzip
	e.Samples = max(c.Samples, 0)
	if o.url != "" {
		e.Endpoint = o.url
	}
	if c.Interval > 0 {
		e.Interval = c.Interval
	}
	if o.print {
		e.Gzip, e.Client = false, printer()
	}
	if err := e.Run(ctx); err != nil {
		return c.Errorf("%v", err)
	}
	s := e.Stats()
	if o.verbose {
		fmt.Fprintf(os.Stderr, "%d points in %d messages sent, %d points rejected, %d refused, %d dropped\n",
			s.Sent.Points, s.Sent.Messages, s.Rejected, s.Failed.Points, s.Dropped.Points)
	}
	if s.Read.Messages == 0 && ctx.Err() == nil && !e.Disabled {
		return c.Errorf("no values were read")
	}
	if s.Failed.Points+s.Dropped.Points+s.Rejected > 0 {
		return c.Errorf("%d points were not taken", s.Failed.Points+s.Dropped.Points+s.Rejected)
	}
	return nil
}
