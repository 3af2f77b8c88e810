package pmapi_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// eventRows returns the events of the latest fetch as texts: "+1s 5", or "+1s" and the error.
func eventRows[T pdu.Scalar](e *pmapi.Events[T]) []string {
	var got []string
	for i := range e.Len() {
		at, v, err := e.At(i)
		text := fmt.Sprint(v)
		if err != nil {
			text = pdu.FromError(err).Error()
		}
		got = append(got, fmt.Sprintf("%+v %s", at.Sub(time.Unix(1e9, 0)), text))
	}
	return got
}

func TestEvents(t *testing.T) {
	s := newGroupFixture(t, false)
	size := s.add("event.size", pdu.Desc{Type: pdu.TypeU64, Sem: pdu.SemCounter, Units: pdu.SpaceByte}, nil)
	user := s.add("event.user", pdu.Desc{Type: pdu.TypeString, Sem: pdu.SemInstant}, nil)
	queue := s.add("queue", pdu.Desc{Type: pdu.TypeHighResEvent, Sem: pdu.SemInstant}, s.disks)
	single := s.add("single", pdu.Desc{Type: pdu.TypeEvent, Sem: pdu.SemInstant}, nil)

	array := func(b *pdu.EventBuilder, build func()) pdu.Atom {
		t.Helper()
		build()
		a, err := b.Atom()
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	at := func(d time.Duration) time.Time { return time.Unix(1e9, 0).Add(d) }
	high := pdu.EventBuilder{HighRes: true}
	two := array(&high, func() {
		high.Begin(at(time.Second), pdu.EventPoint)
		high.Param(size.Desc().PMID, pdu.Uint64(2048))
		high.Param(user.Desc().PMID, pdu.String("ann"))
		high.Param(size.Desc().PMID, pdu.Uint64(512))
		high.Missed(at(time.Second+1), 7)
		high.Begin(at(2*time.Second+1), 0)
		high.Param(user.Desc().PMID, pdu.String("30"))
		high.Param(size.Desc().PMID, pdu.Uint64(1<<40))
	})
	low := new(pdu.EventBuilder)
	none := array(low, func() {})

	g := s.c.Group()
	sizes := pmapi.AddEvents[uint32](g, "queue", "event.size", pmapi.Instance("sdb"), pmapi.Scale("instant"))
	kbytes := pmapi.AddEvents[float64](g, "queue", "event.size", pmapi.Instance("sdb"), pmapi.Scale("Kbyte"))
	users := pmapi.AddEvents[string](g, "queue", "event.user", pmapi.Instance("sdb"))
	numbers := pmapi.AddEvents[int32](g, "queue", "event.user", pmapi.Instance("sdb"))
	missed := pmapi.AddEvents[uint64](g, "queue", "event.missed", pmapi.Instance("sdb"))
	flags := pmapi.AddEvents[uint32](g, "queue", "event.flags", pmapi.Instance("sdb"))
	others := pmapi.AddEvents[uint64](g, "single", "event.size", pmapi.Scale("byte"))
	bad := []interface{ Err() error }{
		pmapi.AddEvents[uint64](g, "queue", "event.size"),
		pmapi.AddEvents[uint64](g, "single", "event.size", pmapi.Instance("sdb")),
		pmapi.AddEvents[uint64](g, "queue", "event.nothing", pmapi.Instance("sdb")),
		pmapi.AddEvents[uint64](g, "single", "event.size", pmapi.Scale("byte/sec")),
		pmapi.AddEvents[uint64](g, "single", "event.size", pmapi.Scale("rate")),
		pmapi.AddEvents[uint64](g, "single", "event.size"),
		pmapi.AddEvents[uint64](g, "single", "event.size", pmapi.Scale("sec")),
		pmapi.AddEvents[uint64](g, "single", "single"),
		pmapi.AddEvents[uint64](g, "size", "event.size"),
		pmapi.AddEvents[[]byte](g, "single", "event.size"),
	}
	s.fetchWithout(g, pdu.ErrInDom)
	var codes []pdu.Error
	for _, b := range bad {
		codes = append(codes, pdu.FromError(b.Err()))
	}
	if diff := cmp.Diff([]pdu.Error{pdu.ErrInDom, pdu.ErrInDom, pdu.ErrName, pdu.ErrConv, pdu.ErrConv, pdu.ErrConv, pdu.ErrConv,
		pdu.ErrType, pdu.ErrType, pdu.ErrType}, codes); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	setValues(queue, inst(0, none), inst(1, two))
	single.Set(none)
	s.fetch(g)
	for _, tt := range []struct {
		name string
		got  []string
		want []string
	}{
		{"sizes", eventRows(sizes), []string{"1s 2048", "1s 512", "2.000000001s " + pdu.ErrTrunc.Error()}},
		{"kbytes", eventRows(kbytes), []string{"1s 2", "1s 0.5", "2.000000001s 1.073741824e+09"}},
		{"users", eventRows(users), []string{"1s ann", "2.000000001s 30"}},
		{"numbers", eventRows(numbers), []string{"1s " + pdu.ErrType.Error(), "2.000000001s 30"}},
		{"missed", eventRows(missed), []string{"1.000000001s 7"}},
		{"flags", eventRows(flags), []string{"1s 1", "1.000000001s 2147483648"}},
		{"others", eventRows(others), nil},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	var sum float64
	for when, v := range kbytes.All() {
		sum += v
		if when.Before(at(time.Second)) {
			t.Error(when)
		}
	}
	for range numbers.All() {
		sum++
	}
	if sum != 2.5+1<<30+1 {
		t.Error(sum)
	}
	if err := others.Err(); err != nil {
		t.Error(err)
	}
	const want = `pmapi: fetch "event.user" on pmapitest: from type STRING to int32: Unknown or illegal metric type`
	if _, _, err := numbers.At(0); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}

	// No instance, no metric, no array.
	setValues(queue, inst(0, none))
	single.Set(pdu.Uint64(5))
	s.fetch(g)
	for _, tt := range []struct {
		got  error
		want pdu.Error
	}{{sizes.Err(), 0}, {others.Err(), pdu.ErrType}} {
		if pdu.FromError(tt.got) != tt.want {
			t.Errorf("error %v, want %v", tt.got, tt.want)
		}
	}
	queue.Fail(pdu.ErrAppVersion)
	single.Set(none)
	s.fetch(g)
	if pdu.FromError(users.Err()) != pdu.ErrAppVersion || users.Len() != 0 || others.Err() != nil {
		t.Error(users.Err(), others.Err())
	}
}
