package logger_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// TestSlowCollector checks a task that is always due, because the collector is slower than its
// interval. It must delay neither other tasks nor callers that change them.
func TestSlowCollector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := new(pmapitest.Source)
		pmapitest.Add(src, pmapitest.Metric[int32]{Name: "a", PMID: 1}).Set(1)
		pmapitest.Add(src, pmapitest.Metric[int32]{Name: "b", PMID: 2}).Set(2)
		src.SetDelay(30 * time.Millisecond)
		r := record(t, src, "log mandatory on 10 msec a log mandatory on 1 sec b", logger.Options{})
		r.wait(2500 * time.Millisecond)
		began := time.Now()
		if _, err := r.l.Control(t.Context(), logger.Mandatory, logger.Off, 0, []logger.Target{{PMID: 1}}); err != nil {
			t.Error(err)
		}
		if d := time.Since(began); d > 200*time.Millisecond {
			t.Errorf("a request was held up for %v", d)
		}
		if err := r.stop(time.Second); err != nil {
			t.Error(err)
		}
		if n := strings.Count(strings.Join(r.records(), "\n"), "b=2"); n < 3 {
			t.Errorf("%d records of b", n)
		}
	})
}

// TestControlOfHungLogger checks that a request waits for a fetch in progress no longer than its
// context lasts, and that Status does not wait.
func TestControlOfHungLogger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := new(pmapitest.Source)
		pmapitest.Add(src, pmapitest.Metric[int32]{Name: "a", PMID: 1}).Set(1)
		r := record(t, src, "log mandatory on 1 sec a", logger.Options{})
		r.wait(1500 * time.Millisecond)
		src.SetDelay(time.Hour)
		r.wait(time.Second)
		targets := []logger.Target{{PMID: 1}}
		for name, f := range map[string]func(ctx context.Context) error{
			"Control": func(ctx context.Context) error {
				_, err := r.l.Control(ctx, logger.Mandatory, logger.Off, 0, targets)
				return err
			},
			"Enquire": func(ctx context.Context) error { _, err := r.l.Enquire(ctx, targets); return err },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			began := time.Now()
			if err := f(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
				t.Errorf("%s: %v after %v", name, err, time.Since(began))
			}
			cancel()
		}
		if s := r.l.Status(); s.Records == 0 {
			t.Errorf("%+v", s)
		}
		src.SetDelay(0)
		if err := r.stop(0); err != nil {
			t.Error(err)
		}
	})
}

// TestHang checks that a collector that hangs counts as lost when its reply is overdue, and is back
// when it replies again. The same holds for a collector that was stopped.
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
		l, err := logger.Options{Config: "log mandatory on 1 sec a", Base: r.base, EndAfter: 40 * time.Second,
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
