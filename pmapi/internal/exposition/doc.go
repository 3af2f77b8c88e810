// Package exposition writes metrics as pages in the exposition formats of Prometheus and PCP's
// pmproxy. Package openmetrics documents the formats.
package exposition
