package logger_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
)

// BenchmarkRecord records metrics of a collector in this process as often as it can: a record is a
// fetch and a write.
func BenchmarkRecord(b *testing.B) {
	for _, metrics := range []int{10, 1000} {
		b.Run(fmt.Sprint("metrics=", metrics), func(b *testing.B) {
			srv := &collector.Server{Logger: slog.New(slog.DiscardHandler)}
			defer srv.Close()
			a := &pmda.Agent{Name: "bench", Domain: 60}
			for i := range metrics {
				pmda.Register(a, pmda.Metric[uint64]{Name: fmt.Sprint("bench.m", i), Sem: pdu.SemCounter,
					Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { return uint64(i), nil }})
			}
			if err := srv.Add(a); err != nil {
				b.Fatal(err)
			}
			c, err := pmapi.Local(b.Context(), srv)
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			// The interval has passed whenever a record is made.
			o := logger.Options{Config: "log mandatory on 1 msec { bench }", Base: filepath.Join(b.TempDir(), "a"), EndRecords: b.N + 1}
			l, err := o.New(b.Context(), c)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			if err := l.Run(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
	}
}
