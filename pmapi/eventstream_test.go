package pmapi_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// eventText is an event, or an error of the stream.
func eventText(e pmapi.Event, err error, start time.Time) string {
	if _, isGap := errors.AsType[*pmapi.Gap](err); isGap {
		return "gap"
	} else if err != nil {
		return pdu.FromError(err).Error()
	}
	text := fmt.Sprintf("%v", e.Time.Sub(start))
	if e.Instance.ID != pdu.NoInst {
		text += fmt.Sprintf(" [%d %s]", e.Instance.ID, e.Instance.Name)
	}
	if e.Flags != 0 {
		text += " " + e.Flags.String()
	}
	if e.Missed != 0 {
		text += fmt.Sprintf(" %d", e.Missed)
	}
	for name, a := range e.Params() {
		v, err := pdu.As[string](a)
		if err != nil {
			n, _ := pdu.As[int64](a)
			v = fmt.Sprint(n)
		}
		text += fmt.Sprintf(" %s=%s", name, v)
	}
	return text
}

// TestEventStream expects each record once, the missed records, an outage, and the errors of a
// metric that fails for a while.
func TestEventStream(t *testing.T) {
	start := time.Unix(1e9, 0)
	src := &pmapitest.Source{Start: start, End: start.Add(9 * time.Second), AutoReconnect: true}
	user := pmapitest.Add(src, pmapitest.Metric[string]{Name: "login.user"})
	count := pmapitest.Add(src, pmapitest.Metric[uint32]{Name: "login.count"})
	logins := pmapitest.AddEvents(src, pmapitest.Metric[pdu.Atom]{Name: "login.records"})
	src.BreakAt(start.Add(3500*time.Millisecond), start.Add(4500*time.Millisecond))
	src.OnRequest = func(_ context.Context, r pmapitest.Request) error {
		if r.Method != "Fetch" {
			return nil
		}
		switch src.Now().Sub(start) / time.Second {
		case 0:
			logins.Record(pdu.EventStart|pdu.EventID, user.Param("ann"), count.Param(1))
			logins.Record(0, pmapitest.Param{PMID: pdu.MakePMID(9, 8, 7), Value: pdu.Int32(-5)}, user.Param("eve"), user.Param("bob"))
		case 2:
			logins.Missed(3)
			logins.RecordAt(start.Add(1500*time.Millisecond), pdu.EventEnd, user.Param("ann"))
		case 7:
			logins.Metric.Fail(pdu.ErrPermission)
		case 8:
			logins.Metric.Fail(nil)
			logins.Record(pdu.EventPoint)
		}
		return nil
	}
	var got []string
	for e, err := range src.Context().Events(t.Context(), "login.records", time.Second) {
		got = append(got, eventText(e, err, start))
	}
	want := []string{
		"0s start,id login.user=ann login.count=1",
		"0s 9.8.7=-5 login.user=eve login.user=bob",
		"2s missed 3",
		"1.5s end login.user=ann",
		pdu.ErrIPC.Error(), // of second 4
		"gap",
		pdu.ErrPermission.Error(),
		"8s point",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestEventStreamInstances expects the records of several instances. Those of one are malformed.
func TestEventStreamInstances(t *testing.T) {
	start := time.Unix(1e9, 0)
	src := &pmapitest.Source{Start: start, End: start.Add(time.Second)}
	ports := src.InDom("eth0", "eth1", "eth2")
	queue := pmapitest.Add(src, pmapitest.Metric[pdu.Atom]{Name: "queue", Type: pdu.TypeEvent, InDom: ports})
	record := func(n int) pdu.Atom {
		var b pdu.EventBuilder
		for i := range n {
			b.Begin(start.Add(time.Duration(i)*time.Millisecond), pdu.EventPoint)
		}
		a, err := b.Atom()
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	bad := record(1)
	bad.Bytes()[3] = 2
	queue.Set(record(2), bad, record(1))
	stream := func(opts ...pmapi.ItemOption) (got []string) {
		for e, err := range src.Context().Events(t.Context(), "queue", time.Second, opts...) {
			if got = append(got, eventText(e, err, start)); src.Now().After(start) {
				break
			}
			if err != nil && strings.Contains(err.Error(), "eth1") {
				got[len(got)-1] += " eth1"
			}
			if len(got) == 4 || len(opts) > 0 {
				break
			}
		}
		return got
	}
	want := []string{"0s [0 eth0] point", "1ms [0 eth0] point", pdu.ErrIPC.Error() + " eth1", "0s [2 eth2] point"}
	if diff := cmp.Diff(want, stream()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"0s [2 eth2] point"}, stream(pmapi.Instance("eth2"))); diff != "" {
		t.Errorf("one instance (-want +got)\n%s", diff)
	}
	for _, tt := range []struct {
		opt  pmapi.ItemOption
		want pdu.Error
	}{
		{pmapi.Instance("eth9"), pdu.ErrInst}, {pmapi.Scale("rate"), pdu.ErrArg}, {pmapi.Where(), pdu.ErrArg},
	} {
		if got := stream(tt.opt); len(got) != 1 || got[0] != tt.want.Error() {
			t.Errorf("%v: %q", tt.want, got)
		}
	}
}

func TestEventStreamErrors(t *testing.T) {
	s := newGroupFixture(t, false)
	for _, tt := range []struct {
		metric string
		want   pdu.Error
	}{
		{"no.such", pdu.ErrName}, {"size", pdu.ErrType}, {"disk", pdu.ErrNonLeaf},
	} {
		n := 0
		for e, err := range s.c.Events(t.Context(), tt.metric, time.Second) {
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.metric) || e.NumParams() != 0 {
				t.Errorf("%s: %v", tt.metric, err)
			}
			if n++; n == 2 {
				break
			}
		}
	}
}

// TestEventValue looks values up in a record that is kept.
func TestEventValue(t *testing.T) {
	start := time.Unix(1e9, 0)
	src := &pmapitest.Source{Start: start, End: start.Add(3 * time.Second)}
	user := pmapitest.Add(src, pmapitest.Metric[string]{Name: "login.user"})
	count := pmapitest.Add(src, pmapitest.Metric[uint32]{Name: "login.count"})
	logins := pmapitest.AddEvents(src, pmapitest.Metric[pdu.Atom]{Name: "login.records"})
	c := src.Context()
	logins.Record(pdu.EventPoint, user.Param("ann"), count.Param(1<<31), pmapitest.Param{PMID: 5, Value: pdu.Int64(-1)})
	var kept pmapi.Event
	for e, err := range c.Events(t.Context(), "login.records", time.Second) {
		if err != nil {
			t.Fatal(err)
		}
		kept = e.Clone()
		break
	}
	if v, err := pmapi.EventValue[string](kept, "login.user"); v != "ann" || err != nil {
		t.Error(v, err)
	}
	if v, err := pmapi.EventValue[uint64](kept, "login.count"); v != 1<<31 || err != nil {
		t.Error(v, err)
	}
	if v, err := pmapi.EventValue[int64](kept, "0.0.5"); v != -1 || err != nil {
		t.Error(v, err)
	}
	if v, err := pmapi.EventValue[uint32](kept, "event.flags"); v != 1 || err != nil {
		t.Error(v, err)
	}
	for _, err := range []error{
		func() error { _, err := pmapi.EventValue[int32](kept, "login.count"); return err }(),
		func() error { _, err := pmapi.EventValue[int32](kept, "login.none"); return err }(),
		func() error { _, err := pmapi.EventValue[uint32](kept, "event.missed"); return err }(),
		func() error { _, err := pmapi.EventValue[uint32](pmapi.Event{}, "event.flags"); return err }(),
	} {
		if !errors.Is(err, pdu.ErrValue) && !errors.Is(err, pdu.ErrTrunc) {
			t.Error(err)
		}
	}
}
