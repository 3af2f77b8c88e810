// Package remotewrite sends metrics to Prometheus, Mimir, Thanos, VictoriaMetrics and other
// receivers of Prometheus remote write 1.0: live from a collector, or from archives with their
// original times.
//
//	d := &pmapi.Dialer{AutoReconnect: true}
//	c, err := d.Dial(ctx, "localhost")
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	e := &remotewrite.Exporter{
//		Reader:   &export.Reader{Context: c, Names: []string{"kernel", "disk.dev"}},
//		Endpoint: "http://localhost:9090/api/v1/write",
//	}
//	return e.Run(ctx) // every 15 seconds, until ctx ends
//
// Prometheus accepts remote write if it is started with --web.enable-remote-write-receiver. The
// command examples/pcp2prometheus is this package with options.
//
// # Names and labels
//
// Names, labels, units and types are those of package openmetrics, so a query has the same result
// for a host that is scraped and for a host that sends its metrics. Like a scrape, the Exporter
// adds the labels job and instance. Unless Exporter.Labels has others, job is "pcp" and instance is
// the name of the host. A label of PCP with one of these names gets the prefix "exported_".
//
// # Times and ends of series
//
// A sample has the time of its value. A series ends when its instance or its metric disappears, or
// when the source cannot be read. The Exporter then sends the staleness marker of Prometheus as its
// last sample.
//
// # If the receiver is away
//
// Messages wait in memory, up to 64 MiB, and are sent in order when the receiver is back.
// Exporter.MaxQueue changes the limit. With Exporter.Directory they wait in files, which the next
// run sends first. If there is no room for a message, the oldest messages are dropped, and
// Exporter.Stats counts them.
//
// # Logins and certificates
//
// Exporter.Header adds headers to each request, such as Authorization. A user and a password in the
// Endpoint are sent as HTTP basic authentication. Exporter.Client has the TLS settings.
//
// # Send an archive
//
// Open the archive with pmapi.Open and call Exporter.Backfill instead of Run:
//
//	err := e.Backfill(ctx, export.BackfillOptions{State: "web1.sent"})
//
// Package export describes how to continue after an interruption.
//
// Prometheus rejects samples that are older than a window. Make the window longer than the age of
// the archive in its configuration:
//
//	storage:
//	  tsdb:
//	    out_of_order_time_window: 30d
package remotewrite
