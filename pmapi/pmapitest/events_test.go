package pmapitest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// login is a source with login records.
type login struct {
	src     *pmapitest.Source
	user    *pmapitest.Metric[string]
	count   *pmapitest.Metric[uint32]
	records *pmapitest.Events
}

func newLogin(typ pdu.Type) *login {
	l := &login{src: &pmapitest.Source{Start: time.Unix(1e9, 0), AutoReconnect: true}}
	l.user = pmapitest.Add(l.src, pmapitest.Metric[string]{Name: "login.user"})
	l.count = pmapitest.Add(l.src, pmapitest.Metric[uint32]{Name: "login.count"})
	l.records = pmapitest.AddEvents(l.src, pmapitest.Metric[pdu.Atom]{Name: "login.records", Type: typ})
	return l
}

// fetch formats the records of the next fetch.
func (l *login) fetch(t *testing.T, c *pmapi.Context) string {
	t.Helper()
	var r pdu.Result
	if err := c.Fetch(t.Context(), []pdu.PMID{l.records.Metric.Desc().PMID}, &r); err != nil {
		return pdu.FromError(err).Error()
	}
	if err := r.At(0).Err(); err != nil {
		return pdu.FromError(err).Error()
	}
	records, err := r.At(0).Atom(0, l.records.Metric.Desc().Type).Events()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for e := range records.All() {
		text := fmt.Sprintf("%s+%d", e.Flags, e.Missed)
		if user, ok := e.Value(l.user.Desc().PMID); ok {
			text += " " + string(user.Bytes())
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

// TestEvents: each of two clients gets every record once.
func TestEvents(t *testing.T) {
	for _, typ := range []pdu.Type{0, pdu.TypeEvent} {
		l := newLogin(typ)
		l.records.Record(pdu.EventPoint, l.user.Param("before"))
		a, b := l.src.Context(), l.src.Context()
		l.records.Record(pdu.EventStart|pdu.EventID, l.user.Param("ann"), l.count.Param(1))
		if got, want := l.fetch(t, a), "start,id+0 ann"; got != want {
			t.Errorf("a: %q, want %q", got, want)
		}
		l.records.Missed(3)
		l.records.Record(pdu.EventPoint, pmapitest.Param{PMID: 77, Value: pdu.Uint32(1)})
		if got, want := l.fetch(t, a), "missed+3; point+0"; got != want {
			t.Errorf("a: %q, want %q", got, want)
		}
		if got := l.fetch(t, a); got != "" {
			t.Errorf("a again: %q", got)
		}
		if got, want := l.fetch(t, b), "start,id+0 ann; missed+3; point+0"; got != want {
			t.Errorf("b: %q, want %q", got, want)
		}
		l.records.Record(pdu.EventPoint)
		l.records.Metric.Fail(pdu.ErrAgain)
		if got := l.fetch(t, a); got != pdu.ErrAgain.Error() {
			t.Errorf("failing: %q", got)
		}
		l.records.Metric.Fail(nil)
		if got := l.fetch(t, a); got != "point+0" {
			t.Errorf("not failing any more: %q", got)
		}
	}
}

// TestEventsLost: a client misses records during an outage, and if there are more than are kept.
func TestEventsLost(t *testing.T) {
	l := newLogin(0)
	c := l.src.Context()
	l.fetch(t, c)
	l.src.Break(nil)
	l.records.Record(pdu.EventPoint, l.user.Param("lost"))
	l.src.Restore()
	for l.fetch(t, c) != "" { // an error, then the Gap
	}
	for range 1003 {
		l.records.Record(pdu.EventPoint)
	}
	if got := l.fetch(t, c); !strings.HasPrefix(got, "missed+3; point+0; ") || strings.Count(got, ";") != 1000 {
		t.Errorf("%.50q… of %d", got, strings.Count(got, ";"))
	}
}

func TestEventsMistakes(t *testing.T) {
	src := new(pmapitest.Source)
	records := pmapitest.AddEvents(src, pmapitest.Metric[pdu.Atom]{Name: "e"})
	for name, f := range map[string]func(){
		"type":           func() { pmapitest.AddEvents(src, pmapitest.Metric[pdu.Atom]{Name: "f", Type: pdu.TypeU32}) },
		"instances":      func() { pmapitest.AddEvents(src, pmapitest.Metric[pdu.Atom]{Name: "f", InDom: src.InDom("a")}) },
		"flags":          func() { records.Record(pdu.EventMissed | pdu.EventPoint) },
		"negative":       func() { records.Missed(-1) },
		"nested":         func() { records.Record(0, pmapitest.Param{PMID: 1, Value: pdu.Atom{Type: pdu.TypeEvent}}) },
		"class of label": func() { src.SetLabels(pdu.LabelItem, 1, "{}") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// TestLabelsOfSources: labels of all levels change.
func TestLabelsOfSources(t *testing.T) {
	src := &pmapitest.Source{Start: time.Unix(1e9, 0), Labels: `{"level":"context","a":1}`}
	m := pmapitest.Add(src, pmapitest.Metric[int32]{Name: "m"})
	m.Set(1)
	c := src.Context()
	id := m.Desc().PMID
	labels := func() string {
		t.Helper()
		l, err := c.MetricLabels(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return l.Metric.String()
	}
	if got := labels(); got != `{"a":1,"level":"context"}` {
		t.Error(got)
	}
	var r pdu.Result
	if err := c.Fetch(t.Context(), []pdu.PMID{id}, &r); err != nil {
		t.Fatal(err)
	}
	src.SetLabels(pdu.LabelDomain, uint32(id.Domain()), `{"level":"domain","b":2}`)
	if got := labels(); got != `{"a":1,"b":2,"level":"domain"}` {
		t.Error(got)
	}
	src.SetLabels(pdu.LabelCluster, uint32(id), `{"level":"cluster"}`)
	m.SetLabels(`{"level":"item"}`)
	if got := labels(); got != `{"a":1,"b":2,"level":"item"}` {
		t.Error(got)
	}
	m.SetLabels("")
	if got := labels(); got != `{"a":1,"b":2,"level":"cluster"}` {
		t.Error(got)
	}
	if err := c.Fetch(t.Context(), []pdu.PMID{id}, &r); err != nil || r.Changed&pdu.ChangeLabels == 0 {
		t.Error(err, r.Changed)
	}
}

// TestDerivedOfSources: all contexts of a source have its derived metrics.
func TestDerivedOfSources(t *testing.T) {
	d := new(pmapi.Derived)
	if err := d.Define("used", "100 * size / 8"); err != nil {
		t.Fatal(err)
	}
	src := &pmapitest.Source{Start: time.Unix(1e9, 0), Derived: d}
	size := pmapitest.Add(src, pmapitest.Metric[float64]{Name: "size"})
	size.Set(2)
	g := src.Context().Group()
	used := pmapi.Add[float64](g, "used")
	if _, err := g.Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v, err := used.Value(); v != 25 || err != nil {
		t.Error(v, err)
	}
	size.Fail(pdu.ErrAgain)
	if _, err := g.Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := used.Value(); !errors.Is(err, pdu.ErrAgain) && !errors.Is(err, pdu.ErrValue) {
		t.Error(err)
	}
}
