package otlp_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/internal/sendtest"
	"github.com/pcp-go/pcp/pmapi/export/otlp"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// recorded writes an archive of eight records a minute apart, with a mark after the fourth. Each
// has a counter, and every second one a gauge.
func recorded(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "web1")
	im, err := logimport.New(path, archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}})
	if err != nil {
		t.Fatal(err)
	}
	try := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err = im.AddMetric("c", pdu.Desc{Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter, Units: pdu.UnitCount})
	try(err)
	_, err = im.AddMetric("g", pdu.Desc{Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemInstant})
	try(err)
	for n := range 8 {
		try(im.PutText("c", "", fmt.Sprint(n)))
		if n%2 == 0 {
			try(im.PutText("g", "", fmt.Sprint(n)))
		}
		try(im.Write(start.Add(time.Duration(n) * time.Minute)))
		if n == 3 {
			try(im.PutMark())
		}
	}
	try(im.Close())
	return path
}

// TestBackfill: an archive is sent with its own times. Series that a record lacks continue, and
// counters start again after a mark. If a message is refused, the next run continues there with the
// same start times.
func TestBackfill(t *testing.T) {
	path := recorded(t)
	send := func(r *receiver, o export.BackfillOptions) (export.Stats, error) {
		c, err := pmapi.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		e := &otlp.Exporter{Reader: &export.Reader{Context: c}, Client: &http.Client{Transport: r}, Gzip: true}
		err = e.Backfill(t.Context(), o)
		if r.Errs != nil {
			t.Error(r.Errs)
		}
		return e.Stats(), err
	}
	at := func(n int) int64 { return start.Add(time.Duration(n) * time.Minute).UnixNano() }
	var want []series
	for n := range 8 {
		from := 0
		if n == 4 {
			want = append(want, series{metric: "c", kind: "sum", start: at(0), time: at(3) + 1, value: nil}, series{metric: "g", kind: "gauge", start: 0, time: at(3) + 1, value: nil})
		}
		if n >= 4 {
			from = 4
		}
		want = append(want, series{metric: "c", kind: "sum", start: at(from), time: at(n), value: int64(n)})
		if n%2 == 0 {
			want = append(want, series{metric: "g", kind: "gauge", start: 0, time: at(n), value: int64(n)})
		}
	}
	want = append(want, series{metric: "c", kind: "sum", start: at(4), time: at(7) + 1, value: nil}, series{metric: "g", kind: "gauge", start: 0, time: at(7) + 1, value: nil})
	whole := &receiver{}
	if s, err := send(whole, export.BackfillOptions{}); err != nil || s.Sent != s.Read || s.Sent.Points != uint64(len(want)) {
		t.Errorf("%v, %+v", err, s)
	}
	compare := func(got []series) {
		slices.SortFunc(got, func(a, b series) int { return cmp.Or(cmp.Compare(a.time, b.time), strings.Compare(a.metric, b.metric)) })
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got\n%v, want\n%v", got, want)
		}
	}
	compare(whole.taken)
	for after := range len(whole.Requests) {
		r := &receiver{Receiver: sendtest.Receiver{Answer: func(n int, _ *http.Request) (*http.Response, error) {
			if n == after {
				return sendtest.Reply(400, ""), nil
			}
			return sendtest.Reply(200, ""), nil
		}}}
		o := export.BackfillOptions{State: filepath.Join(t.TempDir(), "state")}
		if _, err := send(r, o); err == nil {
			t.Error("a refusal is no error")
		}
		r.Answer = nil
		if _, err := send(r, o); err != nil {
			t.Error(err)
		}
		compare(r.taken)
	}
	if err := (&otlp.Exporter{Reader: &export.Reader{Context: newContext(t)}}).Backfill(t.Context(), export.BackfillOptions{}); !errors.Is(err, pdu.ErrNotArchive) {
		t.Error("a live source:", err)
	}
}

func newContext(t *testing.T) *pmapi.Context {
	src := &pmapitest.Source{}
	c := src.Context()
	t.Cleanup(func() { c.Close(); src.Close() })
	return c
}
