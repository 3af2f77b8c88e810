package otlp

import "github.com/pcp-go/pcp/pmapi/export/send"

// A Count is a number of messages and of the data points in them.
type Count = send.Count

// Stats are the counters of an Exporter.
type Stats = send.Stats
