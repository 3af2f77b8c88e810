// Package openmetrics writes metrics as a page that Prometheus and its kin read: in the format OpenMetrics 1.0, in that of
// Prometheus, text 0.0.4, or as PCP's own pmproxy writes them.
//
//	http.Handle("/metrics", &openmetrics.Handler{Reader: &export.Reader{Context: c}})
//
// A metric becomes a family:
//
//	PCP                                    OpenMetrics                     text 0.0.4                      pmproxy's
//	counter                                counter n, sample n_total       counter n_total                 counter n
//	instant or discrete number             gauge n                         gauge n                         gauge n
//	discrete string                        info n, n_info{value="…"} 1     gauge n_info{value="…"} 1       –
//	counter whose instances are buckets    histogram                       histogram                       counter n
//	numbers whose instances are buckets    gaugehistogram                  gauge with le                   gauge n
//	aggregates, event records              –                               –                               –
//
// Its name has "_" in place of dots. Values are in base units, bytes and seconds, which end the name, but for pmproxy's format. Labels are those of
// PCP, below the level of the host's, and instname is the instance. The host's labels are those of target_info. Equal input gives
// an equal page.
//
// The instances of a domain are the buckets of a histogram if the domain or the metric has the label "buckets", which says
// "cumulative" or "disjoint", and each instance has the label "le", the upper bound. The bounds are in the metric's units, or in those
// of the label "le_unit", such as "millisec". The label "sum_metric" names the metric with the sum of what was observed, which may
// be by the last part of its name if the others are those of the metric's.
package openmetrics
