// Pcp2otlp sends metrics to OpenTelemetry's collector, or to another receiver of OTLP over HTTP. It
// sends all metrics of a host or of archives, or the metrics with or below the names given. The
// receiver is the URL of -u, or that of OTEL_EXPORTER_OTLP_ENDPOINT and the related variables (see
// package otlp), or http://localhost:4318. A host is read at regular intervals until SIGINT or
// SIGTERM. Then pending messages are retried once, unless a second signal comes. An archive is sent
// from start to end, and each record has its recorded time.
//
//	pcp2otlp -t 10sec kernel disk.dev       # every 10 seconds to a collector on this computer
//	pcp2otlp -h web1 -u https://otlp.example.com/v1/metrics --gzip --bearer-file token
//	pcp2otlp -s 1 -o kernel.all.load        # one message on standard output
//	pcp2otlp -a /var/log/pcp/pmlogger/web1 --state web1.sent   # can be resumed
package main

import (
	"context"
	"maps"
	"os"
	"strings"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/examples/internal/sending"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/otlp"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// options are the options that pcp2prometheus lacks.
type options struct {
	sending.Options
	gzip, print bool
}

func main() {
	ctx, stop := sending.Context()
	defer stop()
	var o options
	c := sending.NewCommand("pcp2otlp", &o.Options,
		tool.Option{Long: "gzip", Help: "compress messages", Set: tool.Flag(&o.gzip)},
		tool.Option{Short: 'o', Long: "stdout", Help: "print messages, a line each, in place of sending them", Set: tool.Flag(&o.print)})
	os.Exit(c.Report(run(ctx, c, &o)))
}

func run(ctx context.Context, c *pcptool.Command, o *options) error {
	names, err := o.Parse(c, os.Args[1:])
	if err != nil {
		return err
	}
	e, err := otlp.FromEnv()
	if err != nil {
		return c.Errorf("%v", err)
	}
	if e.Disabled {
		return nil
	}
	pc, err := sending.Open(ctx, c)
	if err != nil {
		return err
	}
	defer pc.Close()
	e.Reader = &export.Reader{Context: pc, Names: names}
	e.Samples, e.Directory, e.MaxQueue, e.Log = max(c.Samples, 0), o.Queue, o.MaxQueue, o.Log
	e.Strings, e.Resource = o.Strings, append(e.Resource, o.Labels...)
	e.Gzip = e.Gzip || o.gzip
	if e.Header == nil {
		e.Header = o.Header
	}
	maps.Copy(e.Header, o.Header)
	if o.URL != "" {
		e.Endpoint = strings.TrimSuffix(o.URL, "/")
	}
	if c.Interval > 0 {
		e.Interval = c.Interval
	}
	if o.Client != nil {
		e.Client = o.Client
	}
	if o.print {
		e.Gzip, e.JSON, e.Client = false, true, printer()
	}
	return o.Send(ctx, c, pc, e)
}
