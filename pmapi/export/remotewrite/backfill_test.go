package remotewrite_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/internal/sendtest"
	"github.com/pcp-go/pcp/pmapi/export/remotewrite"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A recording is an archive that is being written: c counts records; of d, which is in each second
// record, "b" is there for the first ten records and again from the 30th on; there is a mark after
// the 20th.
type recording struct {
	path string
	im   *logimport.Importer
	n    int
}

func record(t *testing.T) *recording {
	t.Helper()
	r := &recording{path: filepath.Join(t.TempDir(), "web1")}
	im, err := logimport.New(r.path, archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { im.Close() })
	r.im = im
	domain := pdu.MakeInDom(logimport.Domain, 0)
	must(im.AddMetric("c", pdu.Desc{Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter, Units: pdu.UnitCount}))
	must(im.AddMetric("d", pdu.Desc{Type: pdu.TypeDouble, InDom: domain, Sem: pdu.SemInstant}))
	must(0, im.AddInstance(domain, "a", 0))
	must(0, im.AddInstance(domain, "b", 1))
	return r
}

func (r *recording) write(records int) {
	for range records {
		r.n++
		must(0, r.im.PutText("c", "", fmt.Sprint(r.n)))
		if r.n%2 == 0 {
			must(0, r.im.PutText("d", "a", fmt.Sprint(r.n)))
		}
		if r.n%2 == 0 && (r.n <= 10 || r.n >= 30) {
			must(0, r.im.PutText("d", "b", fmt.Sprint(-r.n)))
		}
		must(0, r.im.Write(start.Add(time.Duration(r.n)*time.Minute)))
		if r.n == 20 {
			must(0, r.im.PutMark())
		}
	}
}

// send runs a Backfill with small messages.
func (r *recording) send(ctx context.Context, t *testing.T, to *receiver, o export.BackfillOptions, change ...func(*remotewrite.Exporter)) (export.Stats, error) {
	t.Helper()
	c, err := pmapi.Open(ctx, r.path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	e := &remotewrite.Exporter{Reader: &export.Reader{Context: c}, Client: &http.Client{Transport: to}}
	e.LimitSamples(10)
	for _, f := range change {
		f(e)
	}
	err = e.Backfill(ctx, o)
	for _, err := range to.Errs {
		t.Error(err)
	}
	if s := e.Stats(); s.Read.Points != s.Sent.Points+s.Dropped.Points+s.Failed.Points+s.Queued.Points {
		t.Errorf("%+v", s)
	}
	return e.Stats(), err
}

func series(name, rest string) string {
	return `{__name__="` + name + `",instance="web1",` + rest + `job="pcp"}`
}

// TestBackfill: all records are sent with their times. Series end at the mark, when their
// instance ends, and with the archive.
func TestBackfill(t *testing.T) {
	r := record(t)
	r.write(40)
	to := &receiver{}
	var upto []time.Time
	s, err := r.send(t.Context(), t, to, export.BackfillOptions{Progress: func(at time.Time, _ export.Stats) { upto = append(upto, at) }})
	if err != nil {
		t.Fatal(err)
	}
	numbers := func(from, to, step, factor int) (text string) {
		for n := from; n <= to; n += step {
			text += fmt.Sprint(n*factor, " ")
		}
		return text
	}
	for labels, want := range map[string]string{
		series("c_total", ""):        numbers(1, 20, 1, 1) + "|" + numbers(21, 40, 1, 1) + "|",
		series("d", `instname="a",`): numbers(2, 20, 2, 1) + "|" + numbers(22, 40, 2, 1) + "|",
		series("d", `instname="b",`): numbers(2, 10, 2, -1) + "|" + numbers(30, 40, 2, -1) + "|",
		`{__name__="target_info",hostname="web1",instance="web1",job="pcp"}`: strings.Repeat("1 ", 20) + "|" + strings.Repeat("1 ", 20) + "|",
	} {
		if got := to.text(labels); got != want {
			t.Errorf("%s:\n%s, want\n%s", labels, got, want)
		}
	}
	if len(to.series) != 4 || s.Sent != s.Read || to.again != 0 {
		t.Errorf("%d series, %d samples twice, %+v", len(to.series), to.again, s)
	}
	c := to.series[series("c_total", "")]
	if at := func(n int) time.Time { return time.UnixMilli(c[n].at).UTC() }; at(0) != start.Add(time.Minute) || at(20) != start.Add(20*time.Minute+time.Millisecond) || at(21) != start.Add(21*time.Minute) {
		t.Error("times:", at(0), at(20), at(21))
	}
	if len(upto) < 5 || !upto[len(upto)-1].Equal(start.Add(40*time.Minute)) {
		t.Error("progress:", upto)
	}
}

// TestBackfillWindow: the window includes its bounds, and series do not end with it.
func TestBackfillWindow(t *testing.T) {
	r := record(t)
	r.write(40)
	to := &receiver{}
	if _, err := r.send(t.Context(), t, to, export.BackfillOptions{From: start.Add(5 * time.Minute), To: start.Add(9 * time.Minute)}); err != nil {
		t.Fatal(err)
	}
	if got := to.text(series("c_total", "")); got != "5 6 7 8 9 " {
		t.Error(got)
	}
	if got := to.text(series("d", `instname="a",`)); got != "6 8 " {
		t.Error(got)
	}
}

// TestBackfillResume: the next run goes on where a program ended, at any place. No sample is
// missing, and only those in flight are sent twice, with the same values.
func TestBackfillResume(t *testing.T) {
	r := record(t)
	r.write(40)
	whole := &receiver{}
	if _, err := r.send(t.Context(), t, whole, export.BackfillOptions{}); err != nil {
		t.Fatal(err)
	}
	for after := range len(whole.Requests) {
		for _, how := range []string{"killed", "interrupted", "refused", "killed after it was taken"} {
			synctest.Test(t, func(t *testing.T) {
				to := &receiver{}
				o := export.BackfillOptions{State: filepath.Join(t.TempDir(), "state")}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				to.Answer = func(n int, req *http.Request) (*http.Response, error) {
					if n < after {
						return sendtest.Reply(204, ""), nil
					}
					switch how {
					case "refused":
						return sendtest.Reply(400, "out of bounds"), nil
					case "interrupted":
						cancel()
						return nil, ctx.Err()
					case "killed":
						cancel()
						return nil, errors.New("connection refused")
					}
					// The receiver has it, the sender does not know.
					cancel()
					if n == after {
						return sendtest.Reply(204, ""), to.take(must(io.ReadAll(must(req.GetBody()))))
					}
					return nil, errors.New("connection refused")
				}
				if _, err := r.send(ctx, t, to, o); err == nil {
					t.Fatal("no error")
				}
				to.Answer = nil
				if _, err := r.send(t.Context(), t, to, o); err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(to.series, whole.series) {
					t.Errorf("%s after %d: %q", how, after, to.text(series("c_total", "")))
				}
				if most := map[bool]int{true: 10}[how == "killed after it was taken"]; to.again > most {
					t.Errorf("%s after %d: %d samples twice", how, after, to.again)
				}
				before := len(to.Requests)
				if s, err := r.send(t.Context(), t, to, o); err != nil || s.Read.Points != 0 || len(to.Requests) != before {
					t.Errorf("once more: %v, %+v", err, s)
				}
			})
		}
	}
}

// TestBackfillGrown: the export of an archive that has grown continues.
func TestBackfillGrown(t *testing.T) {
	r := record(t)
	to := &receiver{}
	o := export.BackfillOptions{State: filepath.Join(t.TempDir(), "state")}
	for _, records := range []int{7, 1, 14, 18} {
		r.write(records)
		if _, err := r.send(t.Context(), t, to, o); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.ReplaceAll(to.text(series("c_total", "")), "|", ""); len(strings.Fields(got)) != 40 || to.again > 0 {
		t.Error(got, to.again)
	}
	whole := &receiver{}
	if _, err := r.send(t.Context(), t, whole, export.BackfillOptions{}); err != nil {
		t.Fatal(err)
	}
	for labels, values := range whole.series {
		for _, v := range values {
			if !v.end {
				found := false
				for _, w := range to.series[labels] {
					found = found || w == v
				}
				if !found {
					t.Error(labels, v, "is missing")
				}
			}
		}
	}
	if !reflect.DeepEqual(maps.Collect(maps.All(whole.metadata)), to.metadata) {
		t.Error("metadata:", to.metadata)
	}
}

// TestBackfillState: a state belongs to one archive, start, receiver and selection.
func TestBackfillState(t *testing.T) {
	r := record(t)
	r.write(3)
	to := &receiver{}
	o := export.BackfillOptions{State: filepath.Join(t.TempDir(), "state")}
	if _, err := r.send(t.Context(), t, to, o); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*remotewrite.Exporter){
		"receiver": func(e *remotewrite.Exporter) { e.Endpoint = "http://other/" },
		"names":    func(e *remotewrite.Exporter) { e.Reader.Names = []string{"c"} },
		"labels":   func(e *remotewrite.Exporter) { e.Labels = []export.Label{{Name: "job", Value: "x"}} },
	} {
		if _, err := r.send(t.Context(), t, to, o, change); err == nil || !strings.Contains(err.Error(), "is of another") {
			t.Error(name, err)
		}
	}
	from := o
	from.From = start.Add(2 * time.Minute)
	if _, err := r.send(t.Context(), t, to, from); err == nil {
		t.Error("another start is taken")
	}
	other := o
	other.State = filepath.Join(t.TempDir(), "none", "state")
	if _, err := r.send(t.Context(), t, &receiver{}, other); err == nil || !strings.Contains(err.Error(), "state") {
		t.Error("state that cannot be written:", err)
	}
}

// TestBackfillKeepGoing: with KeepGoing, refused messages are left out.
func TestBackfillKeepGoing(t *testing.T) {
	r := record(t)
	r.write(40)
	to := &receiver{Receiver: sendtest.Receiver{Answer: func(n int, _ *http.Request) (*http.Response, error) {
		if n == 2 {
			return sendtest.Reply(400, "out of bounds"), nil
		}
		return sendtest.Reply(204, ""), nil
	}}}
	s, err := r.send(t.Context(), t, to, export.BackfillOptions{KeepGoing: true})
	if err != nil || s.Failed.Messages != 1 || s.Sent.Messages+1 != s.Read.Messages {
		t.Errorf("%v, %+v", err, s)
	}
}

// TestBackfillLabels: labels that come soon after the first record, as pmlogger writes them,
// apply to all later samples. No sample is lost when the labels of the host change.
func TestBackfillLabels(t *testing.T) {
	r := record(t)
	label := func(class pdu.LabelClass, ident uint32, name, value string) {
		must(0, r.im.PutLabel(class, ident, pdu.NoInst, name, value))
	}
	for n, at := range []time.Duration{0, 5 * time.Millisecond, 50 * time.Millisecond, time.Minute, 2 * time.Minute} {
		switch n {
		case 1:
			label(pdu.LabelDomain, uint32(logimport.Domain), "agent", "import")
		case 2:
			label(pdu.LabelContext, 0, "hostname", "web1.example.com")
		}
		must(0, r.im.PutText("c", "", fmt.Sprint(n)))
		must(0, r.im.Write(start.Add(at)))
	}
	to := &receiver{}
	if _, err := r.send(t.Context(), t, to, export.BackfillOptions{}); err != nil {
		t.Fatal(err)
	}
	for labels, want := range map[string]string{
		series("c_total", ""): "0 |",
		`{__name__="c_total",agent="import",instance="web1",job="pcp"}`:             "1 |",
		`{__name__="c_total",agent="import",instance="web1.example.com",job="pcp"}`: "2 3 4 |",
	} {
		if got := to.text(labels); got != want {
			t.Errorf("%s: %q, want %q; there are %q", labels, got, want, slices.Sorted(maps.Keys(to.series)))
		}
	}
}

// TestBackfillDerived: records have no derived metrics. Only derived metrics in Names cause an
// error.
func TestBackfillDerived(t *testing.T) {
	r := record(t)
	r.write(1)
	derived := &pmapi.Derived{}
	for _, name := range []string{"c2.twice", "d2", "other.twice"} {
		must(0, derived.Define(name, "c + c"))
	}
	must(r.im.AddMetric("other.once", pdu.Desc{Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemInstant}))
	must(0, r.im.PutText("other.once", "", "1"))
	must(0, r.im.Write(start.Add(time.Hour)))
	for names, want := range map[string]string{
		"":                  "",
		"c other":           "",
		"c d2":              "d2",
		"c2 c":              "c2.twice",
		"other.twice other": "other.twice",
	} {
		c, err := pmapi.ArchiveOptions{Derived: derived}.Open(t.Context(), r.path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		s, err := (&export.Reader{Context: c, Names: strings.Fields(names)}).ReadRecord(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, err := range s.Errs {
			name, _, _ := strings.Cut(err.Error(), ":")
			got = append(got, name)
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%q: errors of %q, want %q", names, text, want)
		}
	}
}

// BenchmarkBackfill sends an archive of a hundred counters of ten instances each from its file to
// a receiver that discards it.
func BenchmarkBackfill(b *testing.B) {
	path := filepath.Join(b.TempDir(), "web1")
	im := must(logimport.New(path, archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}}))
	domain := pdu.MakeInDom(logimport.Domain, 0)
	for i := range 10 {
		must(0, im.AddInstance(domain, fmt.Sprint("i", i), pdu.InstID(i)))
	}
	const metrics, records = 100, 200
	for m := range metrics {
		must(im.AddMetric(fmt.Sprint("m", m), pdu.Desc{Type: pdu.TypeU64, InDom: domain, Sem: pdu.SemCounter, Units: pdu.UnitCount}))
	}
	for n := range records {
		for m := range metrics {
			for i := range 10 {
				must(0, im.PutText(fmt.Sprint("m", m), fmt.Sprint("i", i), fmt.Sprint(n*m*i)))
			}
		}
		must(0, im.Write(start.Add(time.Duration(n)*time.Minute)))
	}
	must(0, im.Close())
	samples := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		c := must(pmapi.Open(b.Context(), path))
		e := &remotewrite.Exporter{Reader: &export.Reader{Context: c}, Client: &http.Client{Transport: blind{}}}
		must(0, e.Backfill(b.Context(), export.BackfillOptions{}))
		samples += e.Stats().Sent.Points
		c.Close()
	}
	b.ReportMetric(float64(samples)/b.Elapsed().Seconds(), "samples/s")
}

// A blind receiver takes all.
type blind struct{}

func (blind) RoundTrip(req *http.Request) (*http.Response, error) {
	_, err := io.Copy(io.Discard, req.Body)
	return sendtest.Reply(204, ""), err
}
