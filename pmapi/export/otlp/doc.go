// Package otlp sends metrics to OpenTelemetry's collector and to other receivers of OTLP over HTTP:
// live from a PCP collector, or from archives with their original times. Messages are protobuf, or
// JSON with Exporter.JSON.
//
//	d := &pmapi.Dialer{AutoReconnect: true}
//	c, err := d.Dial(ctx, "localhost")
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	e, err := otlp.FromEnv() // OTEL_EXPORTER_OTLP_ENDPOINT and others
//	if err != nil {
//		return err
//	}
//	e.Reader = &export.Reader{Context: c, Names: []string{"kernel", "disk.dev"}}
//	return e.Run(ctx) // every minute, until ctx ends
//
// Without FromEnv, an Exporter sends to http://localhost:4318/v1/metrics, or to its Endpoint. An
// Endpoint without a path, such as http://otel:4318, gets /v1/metrics. The command
// examples/pcp2otlp is this package with options.
//
// # Metrics
//
// A metric keeps its name. If Prometheus would give two metrics the same name, one gets a number,
// as package openmetrics describes. The description is the one-line help text.
//
//	PCP                                    OTLP
//	counter                                sum, cumulative and monotonic
//	instant or discrete number             gauge
//	counter, instances as buckets          histogram, cumulative, with its sum
//	discrete string, with Exporter.Strings gauge of value 1; the attribute value is the string
//	other string, aggregate, event record  –
//
// Package openmetrics says which labels mark instances as buckets.
//
// Values are in base units, as package openmetrics writes them: bytes, seconds, Celsius, volts,
// amperes and watts. Units are those of UCUM: "By", "s", "{count}/s". A number without units has no
// unit. A histogram has the unit of the observed values. Units without a base unit, such as square
// kilobytes, stay as they are: "KiBy2".
//
// # Attributes
//
// The labels of the host are attributes of the resource, such as host.name. The attribute
// service.instance.id is the name of the host unless Exporter.Resource or the environment sets it:
// Prometheus needs it to tell two hosts apart. Other labels are attributes of the points, and so
// are instname and instid, the name and the number of the instance.
//
// # Start times and ends of series
//
// The start time of a counter is the time of its first value. After a reset, such as a restart of
// its agent, the start time is that of the last value before it. A series that ends has one more
// point with the flag that means "no recorded value".
//
// # If the receiver is away
//
// Messages wait in memory, up to 64 MiB, and are sent in order when the receiver is back.
// Exporter.MaxQueue is another limit. With Exporter.Directory they wait in files, which the next
// run sends first. If there is no room, the oldest are dropped; Exporter.Stats counts them.
//
// # Logins and certificates
//
// Exporter.Header adds headers to each request, such as Authorization. Exporter.Client has the
// TLS settings. FromEnv reads both from the environment.
//
// # Send an archive
//
// Open the archive with pmapi.Open and call Exporter.Backfill in place of Run:
//
//	err := e.Backfill(ctx, export.BackfillOptions{State: "web1.sent"})
//
// Package export describes how to continue after an interruption.
package otlp
