package logger_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// A recording is a Logger of a made-up source in a bubble of testing/synctest, where time passes at
// once.
type recording struct {
	t      *testing.T
	src    *pmapitest.Source
	base   string
	events []logger.Event
	l      *logger.Logger
	done   chan error
	cancel context.CancelFunc
}

// record starts a Logger in the bubble of the test.
func record(t *testing.T, src *pmapitest.Source, config string, o logger.Options) *recording {
	t.Helper()
	r := &recording{t: t, src: src, base: filepath.Join(t.TempDir(), "a"), done: make(chan error, 1)}
	o.Config, o.Base, o.Host = config, r.base, "here"
	o.Report = func(e logger.Event) { r.events = append(r.events, e) }
	ctx, cancel := context.WithCancel(t.Context())
	r.cancel = cancel
	c := src.Context()
	t.Cleanup(func() { c.Close() })
	l, err := o.New(ctx, c)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	r.l = l
	go func() { r.done <- l.Run(ctx) }()
	return r
}

// stop ends the Logger after some time, and returns the error of Run.
func (r *recording) stop(after time.Duration) error {
	r.t.Helper()
	r.wait(after)
	r.cancel()
	return <-r.done
}

// wait lets time pass.
func (r *recording) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// records are the data records, with the seconds since the first one, and their metrics by name.
// The logger's own ones are left out.
func (r *recording) records() []string {
	r.t.Helper()
	var lines []string
	var start time.Time
	r.each(func(rec *archive.Record, set *archive.Set) {
		if rec.Kind == archive.KindLabel && start.IsZero() {
			start = rec.Time
		}
		switch rec.Kind {
		case archive.KindMark:
			lines = append(lines, fmt.Sprintf("%v mark", rec.Time.Sub(start)))
		case archive.KindResult:
			var res pdu.Result
			if err := rec.Result(&res); err != nil {
				r.t.Fatal(err)
			}
			if res.At(0).PMID.Domain() == 2 {
				return
			}
			line := fmt.Sprint(rec.Time.Sub(start).Round(time.Millisecond))
			for _, s := range res.All() {
				line += " " + r.values(set, s)
			}
			lines = append(lines, line)
		}
	})
	return lines
}

// values are the values of a metric.
func (r *recording) values(set *archive.Set, s pdu.ValueSet) string {
	names := set.Metadata().Names().Names(s.PMID)
	desc, ok := set.Metadata().Desc(s.PMID)
	if !ok || len(names) == 0 {
		r.t.Fatalf("metric %v is not described", s.PMID)
	}
	if s.Err() != nil {
		return names[0] + "!"
	}
	var values []string
	for i, a := range s.All(desc.Type) {
		v := fmt.Sprint(a)
		if i != pdu.NoInst {
			v = fmt.Sprint(i, ":", v)
		}
		values = append(values, v)
	}
	return names[0] + "=" + strings.Join(values, ",")
}

// each calls a function with each record of the archive, file by file.
func (r *recording) each(f func(rec *archive.Record, set *archive.Set)) {
	r.t.Helper()
	set, err := archive.Open(context.Background(), r.base)
	if err != nil {
		r.t.Fatal(err)
	}
	defer set.Close()
	for rec, err := range set.Records() {
		if err != nil {
			r.t.Fatal(err)
		}
		f(rec, set)
	}
}

// metadata returns the metadata records in short, without those of the logger itself.
func (r *recording) metadata() []string {
	r.t.Helper()
	var lines []string
	r.each(func(rec *archive.Record, _ *archive.Set) {
		switch rec.Kind {
		case archive.KindDesc:
			m, err := rec.Metric()
			if err != nil {
				r.t.Fatal(err)
			}
			if m.PMID.Domain() != 2 {
				lines = append(lines, "desc "+strings.Join(m.Names, " "))
			}
		case archive.KindInDom, archive.KindInDomDelta:
			d, err := rec.InDom()
			if err != nil {
				r.t.Fatal(err)
			}
			if d.InDom.Domain() != 2 {
				lines = append(lines, fmt.Sprint(rec.Kind, " +", len(d.Instances), " -", len(d.Deleted)))
			}
		case archive.KindLabels:
			l, err := rec.Labels()
			if err != nil {
				r.t.Fatal(err)
			}
			line := fmt.Sprint("labels ", l.Class)
			for _, s := range l.Sets {
				line += " " + string(s.JSON)
			}
			lines = append(lines, line)
		case archive.KindText:
			x, err := rec.Text()
			if err != nil {
				r.t.Fatal(err)
			}
			lines = append(lines, fmt.Sprintf("text %d %s", x.Kind, x.Text))
		}
	})
	return lines
}

// reported are the events of a type.
func reported[E logger.Event](r *recording) (events []E) {
	for _, e := range r.events {
		if e, ok := e.(E); ok {
			events = append(events, e)
		}
	}
	return events
}

// kinds are the types of events, without Recorded.
func (r *recording) kinds() []string {
	var kinds []string
	for _, e := range r.events {
		switch e := e.(type) {
		case logger.Recorded:
		case logger.MetricSkipped:
			kinds = append(kinds, "MetricSkipped:"+e.Step)
		default:
			kinds = append(kinds, strings.TrimPrefix(fmt.Sprintf("%T", e), "logger."))
		}
	}
	return kinds
}

// want compares lines.
func want(t *testing.T, what string, got []string, wanted ...string) {
	t.Helper()
	if !slices.Equal(got, wanted) {
		t.Errorf("%s:\n%s\nwant:\n%s", what, strings.Join(got, "\n"), strings.Join(wanted, "\n"))
	}
}

func sprint(v any) string { return fmt.Sprint(v) }

// states1 is the states of a metric in words.
func states1(m logger.MetricState) string {
	if m.Err != nil {
		return m.Err.Error()
	}
	var parts []string
	for _, v := range m.Values {
		s := logger.Setting{Interval: v.Interval}
		if v.Mandatory {
			s.Control = logger.Mandatory
		}
		if v.On {
			s.State = logger.On
		}
		text := fmt.Sprintf("%d: %v", v.Inst, s)
		if v.Inst == pdu.NoInst {
			text = fmt.Sprintf("-1: %v", s)
		}
		if v.Available {
			text += ", available"
		}
		if v.InLog {
			text += ", logged"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}
