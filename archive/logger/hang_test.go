package logger_test

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// A collector that hangs counts as lost when its reply is overdue, and is back when it replies again and so is one that was stopped.
func TestHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := pmapitest.NewFleet(1, func(_ int, src *pmapitest.Source) {
			pmapitest.Add(src, pmapitest.Metric[int32]{Name: "a", PMID: 1}).Set(1)
		})
		host := hosts.Host("host1")
		c, err := host.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		r := &recording{t: t, base: filepath.Join(t.TempDir(), "a"), done: make(chan error, 1)}
		l, err := logger.Options{Config: parse(t, "log mandatory on 1 sec a"), Base: r.base, EndAfter: 40 * time.Second,
			Report: func(e logger.Event) { r.events = append(r.events, e) }}.New(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		go func() { r.done <- l.Run(t.Context()) }()
		r.wait(1500 * time.Millisecond)
		host.Hang()
		r.wait(14 * time.Second)
		host.Resume()
		r.wait(10 * time.Second)
		host.Stop(nil)
		r.wait(3 * time.Second)
		host.Start()
		if err := <-r.done; err != nil {
			t.Error(err)
		}
		want(t, "events", r.kinds(), "Lost", "Restored", "Validating", "Lost", "Restored", "Validating", "Ended")
		marks, records := 0, r.records()
		var last time.Duration
		for _, line := range records {
			text, what, _ := strings.Cut(line, " ")
			at, err := time.ParseDuration(text)
			if err != nil {
				t.Fatal(err)
			}
			if at < last {
				t.Errorf("%q goes back", line)
			}
			if last = at; what == "mark" {
				marks++
			}
		}
		if marks != 2 || len(records) < 15 {
			t.Errorf("%d marks, records %q", marks, records)
		}
	})
}
