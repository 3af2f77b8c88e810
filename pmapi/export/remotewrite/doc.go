// Package remotewrite sends metrics to Prometheus, Mimir, VictoriaMetrics and all that receive Prometheus remote write 1.0.
//
//	e := &remotewrite.Exporter{
//		Reader:   &export.Reader{Context: c, Names: []string{"kernel", "disk.dev"}},
//		Endpoint: "http://localhost:9090/api/v1/write",
//	}
//	return e.Run(ctx)
//
// Names, labels, units and kinds are those that package openmetrics gives to metrics, so that a query has the same answer
// whether a host was scraped or has sent its metrics. What a scraper adds, the labels job and instance, an Encoder adds:
// "pcp" and the name of the host, unless it is given others. A label of PCP's with such a name gets "exported_" before it.
//
// Samples have the time of the values. A series that ends, since its instance or its metric is there no more, or the source is away, has
// a last sample that says so, Prometheus' staleness marker.
package remotewrite
