// Package nodeview shows the metrics of PCP's agent linux under the names of Prometheus'
// node_exporter. Package openmetrics documents what the view has.
package nodeview
