// Package goruntime has the metrics of package runtime/metrics in PCP's terms: names, units, texts,
// and the quantiles of distributions.
package goruntime

import (
	"math"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/pdu"
)

// GodebugNames begins the names of the runtime's counters of what settings of GODEBUG have done.
// There is one metric for each setting. Releases of Go add settings and remove others.
const GodebugNames = "/godebug/non-default-behavior/"

// Setting returns the setting of GODEBUG that a metric counts; ok is false for other metrics.
func Setting(d metrics.Description) (name string, ok bool) {
	rest, ok := strings.CutPrefix(d.Name, GodebugNames)
	name, _, _ = strings.Cut(rest, ":")
	return name, ok && d.Kind == metrics.KindUint64 && name != "" && !strings.Contains(name, " ")
}

// Name is the name of a metric of the runtime below a prefix: its path with dots, a "_" and its
// unit. With the prefix go, /gc/heap/allocs:bytes is go.gc.heap.allocs_bytes. What a name cannot
// have becomes "_".
func Name(prefix, name string) string {
	path, unit, _ := strings.Cut(strings.TrimPrefix(name, "/"), ":")
	full := prefix
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || !scan.IsLetter(part[0]) {
			part = "x" + part
		}
		full += "." + strings.Map(wordRune, part)
	}
	return full + "_" + strings.Map(wordRune, unit)
}

func wordRune(r rune) rune {
	if r < 0x80 && scan.IsLetter(byte(r)) || '0' <= r && r <= '9' {
		return r
	}
	return '_'
}

// Sem is the semantics of a metric of the runtime.
func Sem(d metrics.Description) pdu.Sem {
	if d.Cumulative {
		return pdu.SemCounter
	}
	return pdu.SemInstant
}

// Units is the units of a metric of the runtime. Most units there name what is counted.
func Units(name string) pdu.Units {
	_, unit, _ := strings.Cut(name, ":")
	switch unit {
	case "bytes":
		return pdu.SpaceByte
	case "seconds", "cpu-seconds":
		return pdu.TimeSec
	case "percent", "":
		return pdu.NoUnits
	}
	if strings.ContainsAny(unit, "*/") { // a product or quotient of a newer Go
		return pdu.NoUnits
	}
	return pdu.UnitCount
}

// Sentence is the first of a description, without its full stop.
func Sentence(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	s, _, _ = strings.Cut(s, ". ")
	return strings.TrimSuffix(s, ".")
}

// Limit is a limit of a bucket as part of its name. Limits of times are seconds.
func Limit(v float64, seconds bool) string {
	switch {
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	// The runtime has limits in nanoseconds.
	if ns := math.Round(v * 1e9); seconds && math.Abs(ns) < 1<<62 && math.Abs(ns-v*1e9) <= 1e-9*math.Abs(ns) {
		return strings.Replace(time.Duration(ns).String(), "µ", "u", 1)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// Bucket is the name of a bucket of a distribution.
func Bucket(h *metrics.Float64Histogram, i int, seconds bool) string {
	return Limit(h.Buckets[i], seconds) + "-" + Limit(h.Buckets[i+1], seconds)
}
