package pmapi_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// drawPause lets time pass.
func drawPause(r *rapid.T, s *loggedSource) {
	s.src.Advance(time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(r, "pause")))
}

// Rates multiplied by their intervals add up to the increase of the counter: for any type, in any
// units, and across failed fetches.
func TestRatesAddUp(t *testing.T) {
	sizes := map[string]float64{"byte": 1, "Kbyte": 1 << 10, "Gbyte": 1 << 30}
	times := map[string]float64{"millisec": 1e-3, "sec": 1, "min": 60, "hour": 3600}
	types := map[string]func(uint32) pdu.Atom{
		"U32":    pdu.Uint32,
		"32":     func(v uint32) pdu.Atom { return pdu.Int32(int32(v) - 1<<30) },
		"U64":    func(v uint32) pdu.Atom { return pdu.Uint64(1<<63 + uint64(v)) },
		"64":     func(v uint32) pdu.Atom { return pdu.Int64(int64(v) - 1<<62) },
		"DOUBLE": func(v uint32) pdu.Atom { return pdu.Float64(float64(v)) },
		"STRING": func(v uint32) pdu.Atom { return pdu.String(fmt.Sprint(v)) },
	}
	rapid.Check(t, func(r *rapid.T) {
		s := newLoggedSource(false)
		atom := types[rapid.SampledFrom([]string{"U32", "32", "U64", "64", "DOUBLE", "STRING"}).Draw(r, "type")]
		size := rapid.SampledFrom([]string{"byte", "Kbyte", "Gbyte"}).Draw(r, "size")
		per := rapid.SampledFrom([]string{"millisec", "sec", "min", "hour"}).Draw(r, "per")
		m := s.add("m", pdu.Desc{Type: atom(0).Type, Sem: pdu.SemCounter, Units: pdu.SpaceByte}, nil)
		g := s.src.Context().Group()
		plain, scaled := pmapi.Add[float64](g, "m"), pmapi.Add[float64](g, "m", pmapi.Scale(size+" / "+per))

		var count, first, last uint32
		var sum, scaledSum float64
		var before time.Time
		for range rapid.IntRange(2, 12).Draw(r, "fetches") {
			count += rapid.Uint32Range(0, 1<<24).Draw(r, "gain")
			m.Set(atom(count))
			drawPause(r, s)
			fails := rapid.IntRange(0, 3).Draw(r, "fails") == 0
			if s.src.FailFetch(nil); fails {
				s.src.FailFetch(pdu.ErrPermission)
			}
			now, err := g.Fetch(t.Context())
			if fails != (err != nil) {
				r.Fatal(err)
			}
			if fails {
				continue
			}
			if before.IsZero() {
				first, last, before = count, count, now
				continue
			}
			x, err := plain.Value()
			if err != nil {
				r.Fatal(err)
			}
			y, err := scaled.Value()
			if err != nil {
				r.Fatal(err)
			}
			passed := float64(now.Sub(before)) / 1e9
			sum, scaledSum = sum+x*passed, scaledSum+y*passed
			last, before = count, now
		}
		want := float64(last - first)
		if math.Abs(sum-want) > 1e-9*want {
			r.Errorf("rates add up to %v, want %v", sum, want)
		}
		if want *= times[per] / sizes[size]; math.Abs(scaledSum-want) > 1e-9*want {
			r.Errorf("in %s per %s they add up to %v, want %v", size, per, scaledSum, want)
		}
	})
}

// A set, and an item for each of its instances, agree with a model that has maps. Meanwhile any
// instances come and go, and the collector sends them in any order.
func TestSetsAgainstModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := newLoggedSource(false)
		names := map[pdu.InstID]string{}
		in := s.src.InDom()
		var list []pdu.Instance
		for id := range pdu.InstID(6) {
			names[id] = fmt.Sprintf("name%d more", id)
			list = append(list, pdu.Instance{ID: id, Name: names[id]})
		}
		in.SetInstances(list...)
		m := s.add("m", pdu.Desc{Type: pdu.TypeU32, Sem: pdu.SemCounter}, in)
		g := s.src.Context().Group()
		items := map[pdu.InstID]*pmapi.Item[float64]{}
		for id := range names {
			items[id] = pmapi.Add[float64](g, "m", pmapi.Instance(fmt.Sprintf("name%d", id)))
		}
		set, raw := pmapi.AddSet[float64](g, "m"), pmapi.AddSet[uint32](g, "m", pmapi.Scale("instant"))

		last := map[pdu.InstID]uint32{}
		var before time.Time
		for range rapid.IntRange(1, 8).Draw(r, "fetches") {
			ids := rapid.SliceOfNDistinct(rapid.Map(rapid.IntRange(0, 5), func(i int) pdu.InstID { return pdu.InstID(i) }), 0, 6, rapid.ID).Draw(r, "instances")
			counts := map[pdu.InstID]uint32{}
			var values []instValue
			for _, id := range ids {
				counts[id] = rapid.Uint32Range(0, 10).Draw(r, "count")
				values = append(values, inst(id, pdu.Uint32(counts[id])))
			}
			setValues(m, values...)
			drawPause(r, s)
			now, err := g.Fetch(t.Context())
			if err != nil {
				r.Fatal(err)
			}
			seconds := float64(now.Sub(before)) / 1e9
			model := func(id pdu.InstID) string {
				count, here := counts[id]
				was, there := last[id]
				switch {
				case !here:
					return pdu.ErrValue.Error()
				case !there:
					return pdu.ErrAgain.Error()
				case count < was:
					return pdu.ErrValue.Error()
				}
				return fmt.Sprint(float64(count-was) / seconds)
			}
			for id, i := range items {
				v, err := i.Value()
				if got := textOf(v, err); got != model(id) {
					r.Errorf("item %d: %s, want %s", id, got, model(id))
				}
			}
			slices.Sort(ids)
			var want, got, wantRaw, gotRaw []string
			for _, id := range ids {
				want = append(want, names[id]+" "+model(id))
				wantRaw = append(wantRaw, fmt.Sprint(names[id], counts[id]))
			}
			for i := range set.Len() {
				inst, v, err := set.At(i)
				got = append(got, inst.Name+" "+textOf(v, err))
			}
			for inst, v := range raw.All() {
				gotRaw = append(gotRaw, fmt.Sprint(inst.Name, v))
			}
			if diff := cmp.Diff(want, got) + cmp.Diff(wantRaw, gotRaw); diff != "" {
				r.Errorf("set (-want +got):\n%s", diff)
			}
			last, before = counts, now
		}
	})
}

// Items follow their instances, which come, go and come back with other numbers. Each value is that
// of the right instance, and from the second fetch after a change all items have their values.
func TestItemsFollowInstances(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := newLoggedSource(false)
		in := s.src.InDom()
		m := s.add("m", pdu.Desc{Type: pdu.TypeU32}, in)
		g := s.src.Context().Group()
		names := []string{"name0", "name1", "name2", "name3", "name4"}
		items := map[string]*pmapi.Item[uint32]{}
		for _, name := range names {
			items[name] = pmapi.Add[uint32](g, "m", pmapi.Instance(name))
		}
		if rapid.Bool().Draw(r, "with a set") {
			pmapi.AddSet[uint32](g, "m")
		}
		here := map[string]pdu.InstID{}
		next := pdu.InstID(0)
		for range rapid.IntRange(1, 10).Draw(r, "changes") {
			for _, name := range names {
				switch rapid.IntRange(0, 3).Draw(r, name) {
				case 0:
					delete(here, name)
				case 1:
					here[name] = next
					next++
				}
			}
			var list []pdu.Instance
			for name, id := range here {
				list = append(list, pdu.Instance{ID: id, Name: name + " more"})
			}
			in.SetInstances(list...)
			m.Clear()
			for _, i := range list {
				m.SetInstance(i.ID, pdu.Uint32(100+uint32(i.ID)))
			}
			for round := range 2 {
				if _, err := g.Fetch(t.Context()); err != nil {
					r.Fatal(err)
				}
				for name, item := range items {
					id, is := here[name]
					want := pdu.ErrInst.Error()
					if is {
						want = fmt.Sprint(100 + uint32(id))
					}
					v, err := item.Value()
					if got := textOf(v, err); got != want && (round > 0 || got != pdu.ErrValue.Error()) {
						r.Errorf("round %d: %s: %s, want %s", round, name, got, want)
					}
				}
			}
		}
	})
}

// textOf returns a value as text, or the text of its error's code.
func textOf(v any, err error) string {
	if err != nil {
		return pdu.FromError(err).Error()
	}
	return fmt.Sprint(v)
}
