package logger_test

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// sourceOf has singular metrics with values 1, 2, ... in the order of their names.
func sourceOf(names ...string) (*pmapitest.Source, []*pmapitest.Metric[int32]) {
	src := &pmapitest.Source{}
	var all []*pmapitest.Metric[int32]
	for i, name := range names {
		m := pmapitest.Add(src, pmapitest.Metric[int32]{Name: name, PMID: pdu.MakePMID(60, 0, i)})
		m.Set(int32(i + 1))
		all = append(all, m)
	}
	return src, all
}

// TestTasks checks that tasks are recorded at their start and at multiples of their intervals, and
// that metrics that are recorded once come first.
func TestTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, _ := sourceOf("a", "b", "c", "d")
		r := record(t, src, `log mandatory on 1 sec { a b }
			log mandatory on once c
			log advisory on 1 sec d
			log mandatory on 2500 msec c
			log mandatory on default a`, logger.Options{Interval: 3 * time.Second})
		if err := r.stop(3500 * time.Millisecond); err != nil {
			t.Error(err)
		}
		want(t, "records", r.records(), "0s c=3", "20ms b=2 a=1", "20ms a=1", "20ms c=3", "20ms d=4", "1.02s b=2 a=1", "1.02s d=4",
			"2.02s b=2 a=1", "2.02s d=4", "2.52s c=3", "3.02s b=2 a=1", "3.02s a=1", "3.02s d=4")
	})
}

// TestMissedTicks checks that a task skips the times that a slow collector makes it miss, and that
// its times do not drift.
func TestMissedTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, _ := sourceOf("a")
		var slow atomic.Bool
		src.OnRequest = func(_ context.Context, q pmapitest.Request) error {
			if slow.Load() && q.Method == "Fetch" {
				time.Sleep(2300 * time.Millisecond)
			}
			return nil
		}
		r := record(t, src, "log mandatory on 1 sec a", logger.Options{})
		r.wait(1500 * time.Millisecond)
		slow.Store(true)
		r.wait(2 * time.Second) // a fetch from 2.02 to 4.32
		slow.Store(false)
		if err := r.stop(3 * time.Second); err != nil {
			t.Error(err)
		}
		want(t, "records", r.records(), "0s a=1", "1s a=1", "4.3s a=1", "5s a=1", "6s a=1")
	})
}

// TestConfiguration checks that requests of a configuration add up, and that mandatory requests
// exclude advisory ones. The results are those of pmlogger 6.0.3.
func TestConfiguration(t *testing.T) {
	src := &pmapitest.Source{}
	d := src.InDom("red", "green", "blue")
	pmapitest.Add(src, pmapitest.Metric[int32]{Name: "x.one", PMID: 1})
	pmapitest.Add(src, pmapitest.Metric[int32]{Name: "x.two", PMID: 2})
	pmapitest.Add(src, pmapitest.Metric[int32]{Name: "colour", PMID: 3, InDom: d})
	bad := pmapitest.Add(src, pmapitest.Metric[int32]{Name: "bad"})
	bad.FailDesc(pdu.ErrPMID)
	for _, c := range []struct{ config, tasks, events string }{
		{"log mandatory on 1 sec x", "mandatory on 1s: x.one x.two", ""},
		{"log mandatory on 1 sec x.one log mandatory off x.one", "mandatory on 1s: x.one", ""},
		{"log mandatory on 1 sec x.one log mandatory on 2 sec x.one", "mandatory on 1s: x.one; mandatory on 2s: x.one", ""},
		{"log advisory on 1 sec x.one log mandatory on 2 sec x.one", "advisory on 1s: x.one; mandatory on 2s: x.one", ""},
		{"log mandatory on 1 sec x.one log advisory on 2 sec x.one", "mandatory on 1s: x.one", "Conflict"},
		{"log mandatory off x.one log advisory on 2 sec { x }", "advisory on 2s: x.two", "Conflict"},
		{"log mandatory maybe x.one log advisory on 2 sec { x.one }", "advisory on 2s: x.one", ""},
		{"log mandatory on once x.one log mandatory on once x.two", "mandatory on once: x.one x.two", ""},
		{`log mandatory on 1 sec colour["red"] log mandatory on 1 sec colour[2]`, "mandatory on 1s: colour[0 2]", ""},
		{`log mandatory on 1 sec colour["red"] log mandatory on 1 sec colour`, "mandatory on 1s: colour", ""},
		{`log mandatory on 1 sec colour["red"] log advisory on 1 sec colour`, "mandatory on 1s: colour[0]", "Conflict"},
		{`log mandatory on 1 sec colour["red"] log advisory on 1 sec colour["red", "green"]`, "mandatory on 1s: colour[0]; advisory on 1s: colour[1]", "Conflict"},
		{`log advisory on 1 sec colour["red"] log mandatory on 2 sec colour["red", "green"]`, "mandatory on 2s: colour[0 1]", ""},
		{`log mandatory on 1 sec { colour["pink", "blue"] nosuch bad x.one["red"] }`, "mandatory on 1s: colour[2]",
			"MetricSkipped:instance MetricSkipped:lookup MetricSkipped:desc MetricSkipped:instance"},
	} {
		r := &recording{}
		pc := src.Context()
		tasks, err := logger.Options{Config: c.config, Report: func(e logger.Event) { r.events = append(r.events, e) }}.Check(t.Context(), pc)
		pc.Close()
		if err != nil {
			t.Errorf("%s: %v", c.config, err)
		}
		var got []string
		for _, task := range tasks {
			text := task.Setting.String() + ":"
			for _, m := range task.Metrics {
				text += " " + m.Name
				if m.Instances != nil {
					text += strings.ReplaceAll(strings.Trim(sprint(m.Instances), ""), ", ", " ")
				}
			}
			got = append(got, text)
		}
		if tasks := strings.Join(got, "; "); tasks != c.tasks {
			t.Errorf("%s\nhas tasks %s, want %s", c.config, tasks, c.tasks)
		}
		if events := strings.Join(r.kinds(), " "); events != c.events {
			t.Errorf("%s\nhas events %s, want %s", c.config, events, c.events)
		}
	}
}

// TestNothing checks that a configuration with nothing to record is an error, except with Linger,
// which lets clients change that.
func TestNothing(t *testing.T) {
	src, _ := sourceOf("a")
	c := src.Context()
	defer c.Close()
	base := filepath.Join(t.TempDir(), "a")
	if _, err := (logger.Options{Base: base, Config: "log mandatory off a"}).New(t.Context(), c); !errors.Is(err, logger.ErrNothing) {
		t.Errorf("an empty configuration has %v", err)
	}
	if _, err := (logger.Options{Base: base, Linger: true}).New(t.Context(), c); err != nil {
		t.Error(err)
	}
}

// TestExists checks that New refuses the base name of an existing archive.
func TestExists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, _ := sourceOf("a")
		r := record(t, src, "log mandatory on 1 sec a", logger.Options{})
		if err := r.stop(time.Second); err != nil {
			t.Fatal(err)
		}
		c := src.Context()
		defer c.Close()
		if l, err := (logger.Options{Base: r.base, Config: "log mandatory on 1 sec a"}).New(t.Context(), c); l != nil || !errors.Is(err, fs.ErrExist) {
			t.Error(l, err)
		}
	})
}

// TestEndReason checks that every reason has a text, also one that does not exist.
func TestEndReason(t *testing.T) {
	texts := map[string]bool{}
	for r := logger.EndRecords; r <= logger.EndChanged+1; r++ {
		texts[r.String()] = true
	}
	if want := int(logger.EndChanged) + 2; len(texts) != want || texts[""] || !texts["EndReason(6)"] {
		t.Errorf("%d texts, want %d: %v", len(texts), want, texts)
	}
}

// TestEnds checks the ends of the options, and the result of Run.
func TestEnds(t *testing.T) {
	for name, c := range map[string]struct {
		o      logger.Options
		reason logger.EndReason
		took   time.Duration
	}{
		"records": {logger.Options{EndRecords: 3}, logger.EndRecords, 2020 * time.Millisecond},
		"after":   {logger.Options{EndAfter: 1500 * time.Millisecond}, logger.EndTime, 1500 * time.Millisecond},
		"bytes":   {logger.Options{EndBytes: 1200, Writer: archive.WriterOptions{Label: archive.Label{Version: 3}}}, logger.EndBytes, 4020 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src, _ := sourceOf("a")
				start := time.Now()
				r := record(t, src, "log mandatory on 1 sec a", c.o)
				if err := <-r.done; err != nil {
					t.Error(err)
				}
				if took := time.Since(start); took != c.took {
					t.Errorf("ended after %v, want %v", took, c.took)
				}
				if e := reported[logger.Ended](r); len(e) != 1 || e[0].Reason != c.reason {
					t.Errorf("reported %v", e)
				}
				if s := r.l.Status(); c.o.EndBytes > 0 && s.Bytes < c.o.EndBytes {
					t.Errorf("ended with %d bytes", s.Bytes)
				}
				r.cancel()
			})
		})
	}
}

// TestVolumes checks that volumes end at each of three limits, and on request.
func TestVolumes(t *testing.T) {
	for name, c := range map[string]struct {
		w      archive.WriterOptions
		reason string
		want   int
	}{
		"records": {archive.WriterOptions{VolumeRecords: 3}, "sample counter", 3},
		"time":    {archive.WriterOptions{VolumeTime: 4 * time.Second}, "sample time", 2},
		"bytes":   {archive.WriterOptions{VolumeSize: 1100}, "sample byte size", 2},
		"request": {archive.WriterOptions{}, "pmlc request", 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src, _ := sourceOf("a")
				r := record(t, src, "log mandatory on 1 sec a", logger.Options{Writer: c.w})
				r.wait(4500 * time.Millisecond)
				if c.reason == "pmlc request" {
					if n, err := r.l.NewVolume("pmlc request"); n != 1 || err != nil {
						t.Error(n, err)
					}
					if s, want := r.l.Status(), (archive.Label{Version: 3}); s.Volume != 1 || s.Size != want.Len() {
						t.Errorf("at once it is volume %d of %d bytes", s.Volume, s.Size)
					}
				}
				if err := r.stop(5 * time.Second); err != nil {
					t.Error(err)
				}
				if n := r.l.Status().Volume; n != c.want {
					t.Errorf("%d volumes, want %d", n, c.want)
				}
				for i, e := range reported[logger.NewVolume](r) {
					if e.Reason != c.reason || e.Volume != i+1 {
						t.Errorf("event %+v", e)
					}
				}
				if n := len(r.records()); n != 10 {
					t.Errorf("%d records", n)
				}
			})
		})
	}
}

// TestStopped checks that a Logger that does not run refuses requests.
func TestStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, _ := sourceOf("a")
		r := record(t, src, "log mandatory on 1 sec a", logger.Options{})
		if err := r.stop(time.Second); err != nil {
			t.Fatal(err)
		}
		_, volume := r.l.NewVolume("pmlc request")
		_, enquire := r.l.Enquire(t.Context(), nil)
		for _, err := range []error{volume, enquire, r.l.Sync(), r.l.Run(t.Context())} {
			if !errors.Is(err, fs.ErrClosed) {
				t.Error(err)
			}
		}
	})
}
