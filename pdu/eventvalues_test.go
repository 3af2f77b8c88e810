package pdu

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A metricValue is a metric and its value.
type metricValue struct {
	PMID  PMID
	Value Atom
}

func TestEventRecordValues(t *testing.T) {
	a := eventsOf(t, true, func(b *EventBuilder) {
		b.Begin(morning(1, 2, 3, 4), EventStart|EventID)
		b.Param(5, String("id"))
		b.Param(6, Uint64(7))
		b.Begin(morning(1, 2, 4, 0), 0)
		b.Begin(morning(1, 2, 5, 0), 0)
		b.Param(5, Float64(0.5))
		b.Missed(morning(1, 2, 6, 0), 3)
	})
	array, err := a.Events()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]metricValue{
		{{EventFlagsPMID, Uint32(0xa)}, {5, String("id")}, {6, Uint64(7)}},
		nil,
		{{5, Float64(0.5)}},
		{{EventFlagsPMID, Uint32(0x80000000)}, {EventMissedPMID, Uint32(3)}},
	}
	var got [][]metricValue
	for r := range array.All() {
		var values []metricValue
		for id, v := range r.Values() {
			values = append(values, metricValue{id, v})
		}
		got = append(got, values)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestEventRecordValuesBreak leaves the loop at every place.
func TestEventRecordValuesBreak(t *testing.T) {
	a := eventsOf(t, false, func(b *EventBuilder) {
		b.Begin(morning(1, 2, 3, 0), EventPoint)
		b.Param(5, Int32(1))
		b.Missed(morning(1, 2, 4, 0), 3)
	})
	array, err := a.Events()
	if err != nil {
		t.Fatal(err)
	}
	for r := range array.All() {
		for most := 1; most <= 2; most++ {
			n := 0
			for range r.Values() {
				if n++; n == most {
					break
				}
			}
			if n != most {
				t.Errorf("flags %v: left after %d, want %d", r.Flags, n, most)
			}
		}
	}
}

func TestEventPMIDs(t *testing.T) {
	if EventFlagsPMID.String() != "511.0.1" || EventMissedPMID.String() != "511.0.2" {
		t.Errorf("%v, %v", EventFlagsPMID, EventMissedPMID)
	}
}

func TestEventRecordClone(t *testing.T) {
	var b EventBuilder
	b.Begin(time.Unix(1, 0), EventPoint|EventStart)
	b.Param(7, String("seven"))
	b.Param(8, Uint32(8))
	b.Param(7, String("again"))
	b.Missed(time.Unix(2, 0), 3)
	a, err := b.Atom()
	if err != nil {
		t.Fatal(err)
	}
	all, err := a.Events()
	if err != nil {
		t.Fatal(err)
	}
	var kept []EventRecord
	for r := range all.All() {
		kept = append(kept, r.Clone())
	}
	clear(a.Bytes())
	for _, tt := range []struct {
		record int
		id     PMID
		want   string
	}{
		{0, 7, `STRING "seven"`}, {0, 8, "U32 8"}, {0, 9, ""}, {0, EventFlagsPMID, "U32 3"}, {0, EventMissedPMID, ""},
		{1, 7, ""}, {1, EventFlagsPMID, "U32 2147483648"}, {1, EventMissedPMID, "U32 3"},
	} {
		got := ""
		if v, ok := kept[tt.record].Value(tt.id); ok && v.Type == TypeString {
			got = fmt.Sprintf("%v %q", v.Type, v.Bytes())
		} else if ok {
			n, err := As[uint32](v)
			if err != nil {
				t.Fatal(err)
			}
			got = fmt.Sprintf("%v %d", v.Type, n)
		}
		if got != tt.want {
			t.Errorf("record %d, %v: %q, want %q", tt.record, tt.id, got, tt.want)
		}
	}
}
