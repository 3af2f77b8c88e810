// Package otlp sends metrics to OpenTelemetry: to its collector, and to all that receive OTLP over HTTP, which is encoded as JSON here.
//
//	e, err := otlp.FromEnv() // of OTEL_EXPORTER_OTLP_ENDPOINT and others
//	if err != nil {
//		return err
//	}
//	e.Reader = &export.Reader{Context: c, Names: []string{"kernel", "disk.dev"}}
//	return e.Run(ctx)
//
// A metric becomes one of OpenTelemetry, of the same name, with the one-line help text as its description:
//
//	PCP                                     OTLP
//	counter                                 sum, cumulative and monotonic
//	instant or discrete number              gauge
//	counter whose instances are buckets     histogram, cumulative, with its sum; see package openmetrics for what marks buckets
//	discrete string, with Encoder.Strings   gauge that is 1, whose attribute "value" is the string
//	other strings, aggregates, event records  –
//
// Units are those of UCUM ("KiBy", "ms", "{count}/s"), and values are as they were read, but for counts of thousands and so on,
// which become counts of one; a histogram has the unit of what was observed. The labels of the host are attributes of the resource, such as host.name; other labels, and instname and
// instid, which are the name and the number of the instance, are attributes of the points.
//
// The start time of a counter is when it was seen first, and after a reset, as by a restart of its agent, the time of the last
// value before that. A series that ends has one more point, which says that there is no value.
package otlp
