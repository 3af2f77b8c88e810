// Pcp2prometheus sends metrics to Prometheus, or to another receiver of remote write such as Mimir,
// Thanos and VictoriaMetrics. It sends all metrics of a host or of archives, or the metrics with or
// below the names given. A host is read at regular intervals until SIGINT or SIGTERM. Then pending
// messages are retried once, unless a second signal comes. An archive is sent from start to end,
// and each record has its recorded time.
//
//	pcp2prometheus -t 10sec kernel disk.dev      # every 10 seconds to the Prometheus of this host
//	pcp2prometheus -h web1 -u https://mimir.example.com/api/v1/push \
//		--header 'X-Scope-OrgID: web' --user web --password-file web.secret
//	pcp2prometheus -a /var/log/pcp/pmlogger/web1 --state web1.sent   # can be resumed
//
// Start Prometheus with --web.enable-remote-write-receiver. For archives, also set
// storage.tsdb.out_of_order_time_window in its configuration.
package main

import (
	"context"
	"errors"
	"os"
	"regexp"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/examples/internal/sending"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/remotewrite"
)

func main() {
	ctx, stop := sending.Context()
	defer stop()
	var o sending.Options
	c := sending.NewCommand("pcp2prometheus", &o)
	os.Exit(c.Report(run(ctx, c, &o)))
}

func run(ctx context.Context, c *pcptool.Command, o *sending.Options) error {
	names, err := o.Parse(c, os.Args[1:])
	if err != nil {
		return err
	}
	if err := checkLabels(o.Labels); err != nil {
		return c.UsageErrorf("%v", err)
	}
	pc, err := sending.Open(ctx, c)
	if err != nil {
		return err
	}
	defer pc.Close()
	return o.Send(ctx, c, pc, &remotewrite.Exporter{
		Reader:   &export.Reader{Context: pc, Names: names},
		Labels:   o.Labels,
		Strings:  o.Strings,
		Endpoint: o.URL, Header: o.Header, Client: o.Client, Log: o.Log,
		Interval: c.Interval, Samples: max(c.Samples, 0), Directory: o.Queue, MaxQueue: o.MaxQueue,
	})
}

// labelName matches valid names of labels in Prometheus.
var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

func checkLabels(labels []export.Label) error {
	for _, l := range labels {
		if !labelName.MatchString(l.Name) || len(l.Name) > 1 && l.Name[:2] == "__" {
			return errors.New("--label " + l.Name + ": names are of letters, digits and _, and do not begin with __")
		}
	}
	return nil
}
