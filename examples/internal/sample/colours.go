package sample

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// colours are saw-tooth values of instances that stay and of instances that come and go.
type colours struct {
	x        int32        // what all the teeth are made of: it goes round from 0 to 99, once it has done so
	ids      []pdu.InstID // the instances of mirage, in the order in which they have come
	last     pdu.InstID   // the one that has come last
	interval int32        // between changes of them, in milliseconds
	change   time.Time    // when they will change; zero before the first fetch of them
	due      bool         // they change with the next fetch, as a client has set the interval
}

const (
	itemMirage         = 37
	itemMirageLongLong = 38
	maxMirage          = 49 // the greatest instance
)

func (s *sample) registerColours() {
	c := &s.colours
	c.ids, c.interval = []pdu.InstID{0}, 10000
	add(s, 5, pmda.Metric[int32]{Name: "colour", InDom: s.indoms.colour,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (int32, error) {
			return int32(i.ID+1)*100 + c.next(), nil
		}})
	s.stores[5] = c.storeX
	add(s, 92, pmda.Metric[int32]{Name: "darkness", InDom: s.indoms.colour, Value: failing[int32](pmda.NoValue)})
	tooth := func(i pdu.Instance) int32 { return int32(i.ID+1)*100 - c.next() }
	add(s, itemMirage, pmda.Metric[int32]{Name: "mirage", InDom: s.indoms.mirage, Units: pdu.SpaceKByte | pdu.PerSec,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (int32, error) { return tooth(i), nil }})
	s.stores[itemMirage] = c.storeX
	add(s, itemMirageLongLong, pmda.Metric[int64]{Name: "mirage_longlong", InDom: s.indoms.mirage, Units: pdu.SpaceByte | pdu.PerMSec,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (int64, error) {
			return int64(tooth(i)) * 1000000, nil
		}})
	s.stores[itemMirageLongLong] = func(values pdu.ValueSet) error { // the first of some, too
		if !inBlock(values) {
			return pdu.ErrBadStore
		}
		return storeOne(values, func(v int64) { c.x = int32(v) })
	}
	add(s, 155, pmda.Metric[int32]{Name: "controller.mirage", Sem: pdu.SemDiscrete, Units: pdu.TimeMSec, Value: variable(&c.interval)})
	storeWord(s, 155, func(v int32) error {
		c.interval, c.due = v, true
		return nil
	})
}

// storeX sets x to the first value of any instance.
func (c *colours) storeX(values pdu.ValueSet) error {
	if inBlock(values) {
		return pdu.ErrBadStore
	}
	v, err := pdu.As[int32](values.Atom(0, pdu.Type32))
	if err == nil {
		c.x = v
	}
	return err
}

// next returns the next x.
func (c *colours) next() int32 {
	c.x = (c.x + 1) % 100
	return c.x
}

// startMirage makes the instances of mirage come and go from now on.
func (s *sample) startMirage() {
	if c := &s.colours; c.change.IsZero() {
		c.change = time.Now().Add(time.Duration(c.interval) * time.Millisecond)
	}
}

// refreshMirage removes and adds instances of mirage when that is due. Instance 0 stays.
func (s *sample) refreshMirage() {
	c := &s.colours
	now := time.Now()
	if c.change.IsZero() || !c.due && now.Before(c.change) {
		return
	}
	c.change = now.Add(time.Duration(c.interval) * time.Millisecond)
	c.due = false
	kept := c.ids[:1]
	for _, id := range c.ids[1:] {
		if s.random.next(100) >= 12 {
			kept = append(kept, id)
		}
	}
	c.ids = kept
	for range 2 {
		if s.random.next(100) >= 50 {
			continue
		}
		c.last = c.last%maxMirage + 1
		if !slices.Contains(c.ids, c.last) {
			c.ids = append(c.ids, c.last)
		}
	}
	list := make([]pdu.Instance, len(c.ids))
	for i, id := range c.ids {
		list[i] = pdu.Instance{ID: id, Name: fmt.Sprintf("m-%02d", id)}
	}
	s.indoms.mirage.SetInstances(list...)
}
