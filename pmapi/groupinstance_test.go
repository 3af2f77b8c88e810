package pmapi_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda"
)

// An instance that is missing at the first fetch has values, and later rates, once a fetch finds
// it. The same holds if it goes and comes back with another number.
func TestItemInstanceComes(t *testing.T) {
	for name, others := range map[string]func(g *pmapi.Group){
		"alone":                nil,
		"with another item":    func(g *pmapi.Group) { pmapi.Add[float64](g, "disk.temp", pmapi.Instance("sda")) },
		"with a set":           func(g *pmapi.Group) { pmapi.AddSet[uint32](g, "disk.reads", pmapi.Scale("instant")) },
		"with another domain":  func(g *pmapi.Group) { pmapi.Add[string](g, "state") },
		"with another missing": func(g *pmapi.Group) { pmapi.Add[float64](g, "disk.temp", pmapi.Instance("never")) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newGroupFixture(t, false)
			g := s.c.Group()
			if others != nil {
				others(g)
			}
			rate := pmapi.Add[float64](g, "disk.reads", pmapi.Instance("sdx"))
			reads := pmapi.Add[uint32](g, "disk.reads", pmapi.Instance("sdx"), pmapi.Scale("instant"))
			second := func() {
				t.Helper()
				s.src.Advance(time.Second)
				s.fetch(g)
			}
			for range 3 {
				second()
				is(t, rate, 0, pdu.ErrInst)
				is(t, reads, 0, pdu.ErrInst)
			}
			for _, id := range []pdu.InstID{7, 9, 7} {
				s.instances("0 sda", fmt.Sprintf("%d sdx big", id))
				for i, read := range []uint32{5, 8, 12} {
					setValues(s.reads, inst(0, pdu.Uint32(1)), inst(id, pdu.Uint32(read)))
					second()
					is(t, reads, read, 0)
					if i == 0 {
						is(t, rate, 0, pdu.ErrAgain)
					} else {
						is(t, rate, float64(i+2), 0)
					}
				}
				s.instances("0 sda")
				setValues(s.reads, inst(0, pdu.Uint32(2)))
				for i := range 3 {
					second()
					code := pdu.ErrInst
					if i == 0 && name != "with another missing" { // the other one has caused a new list already
						code = pdu.ErrValue
					}
					is(t, rate, 0, code)
					is(t, reads, 0, code)
				}
			}
		})
	}
}

// An instance that goes, and comes back with another number before the next fetch, has no value at
// one fetch.
func TestItemInstanceReplaced(t *testing.T) {
	s := newGroupFixture(t, false)
	g := s.c.Group()
	temp := pmapi.Add[float64](g, "disk.temp", pmapi.Instance("sda"))
	s.fetch(g)
	is(t, temp, 0.5, 0)
	s.instances("3 sda")
	setValues(s.temp, inst(3, pdu.Float64(3)))
	s.fetch(g)
	is(t, temp, 0, pdu.ErrValue)
	s.fetch(g)
	is(t, temp, 3, 0)
	s.requestsMade()
	s.fetch(g)
	s.wantRequests("Fetch")
}

// The list of instances is requested, once for a domain, only while a value is missing.
func TestItemInstanceRequests(t *testing.T) {
	s := newGroupFixture(t, false)
	g := s.c.Group()
	pmapi.Add[float64](g, "disk.temp", pmapi.Instance("sda"))
	pmapi.Add[float64](g, "disk.temp", pmapi.Instance("sdx"))
	pmapi.Add[uint32](g, "disk.reads", pmapi.Instance("sdx"), pmapi.Scale("instant"))
	s.fetch(g)
	s.wantRequests("Lookup Descs Instances Instances Fetch") // the second is for what the agent may know as sdx
	s.fetch(g)
	s.wantRequests("Instances Fetch")
	s.instances("0 sda", "1 sdx")
	s.fetch(g)
	s.wantRequests("Instances Fetch")
	s.fetch(g)
	s.wantRequests("Fetch")

	// A list that is not available at present is requested again.
	s.instances("0 sda", "5 sdx")
	setValues(s.temp, inst(0, pdu.Float64(0)), inst(5, pdu.Float64(5)))
	setValues(s.reads, inst(0, pdu.Uint32(0)), inst(5, pdu.Uint32(5)))
	s.fetch(g)
	s.disks.Fail(pdu.ErrPMDANotReady)
	s.requestsMade()
	for range 2 {
		s.fetch(g)
		s.wantRequests("Instances Fetch")
	}
	s.disks.Fail(nil)
	s.fetch(g)
	s.wantRequests("Instances Fetch")
	s.fetch(g)
	s.wantRequests("Fetch")
	if err := g.Err(); err != nil {
		t.Error(err)
	}
}

// A numberedAgent is an agent that also knows instances by their numbers, except for wrong.
type numberedAgent struct {
	pmda.Handler
	wrong string
	asked int
}

func (h *numberedAgent) Instances(ctx context.Context, r *pmda.Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error) {
	if name != "" {
		h.asked++
	}
	if id, err := strconv.Atoi(name); err == nil && name != h.wrong {
		return []pdu.Instance{{ID: pdu.InstID(id)}}, nil
	}
	return h.Handler.Instances(ctx, r, d, inst, name)
}

// Instances may be selected by names that are not in the list, but that the agent accepts. The
// agent gets one request for a name, and another when the list has changed.
func TestItemInstanceByOtherName(t *testing.T) {
	a := &pmda.Agent{Name: "tasks", Domain: 401}
	tasks := a.AddInDom("task")
	pmda.Register(a, pmda.Metric[int32]{Name: "task.number", InDom: tasks, Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (int32, error) {
		return int32(i.ID), nil
	}})
	list := func(ids ...pdu.InstID) {
		var all []pdu.Instance
		for _, id := range ids {
			all = append(all, pdu.Instance{ID: id, Name: fmt.Sprintf("%06d task", id)})
		}
		if _, err := tasks.SetInstances(all...); err != nil {
			t.Fatal(err)
		}
	}
	h := &numberedAgent{Handler: a, wrong: "8"}
	c := local(t, h)
	g := c.Group()
	pmapi.AddSet[int32](g, "task.number")
	seven := pmapi.Add[int32](g, "task.number", pmapi.Instance("7"))
	eight := pmapi.Add[int32](g, "task.number", pmapi.Instance("8"))
	for _, step := range []struct {
		list  []pdu.InstID
		wrong string
		want  [2]pdu.Error
		asked int
	}{
		{[]pdu.InstID{7, 9}, "8", [2]pdu.Error{0, pdu.ErrInst}, 2},
		{[]pdu.InstID{7, 9}, "8", [2]pdu.Error{0, pdu.ErrInst}, 0},
		{[]pdu.InstID{7, 8, 9}, "", [2]pdu.Error{0, 0}, 1},
		{[]pdu.InstID{7, 8, 9, 10}, "", [2]pdu.Error{0, 0}, 0}, // the new one makes the set get the list
		{[]pdu.InstID{8}, "7", [2]pdu.Error{pdu.ErrValue, 0}, 0},
		{[]pdu.InstID{8}, "7", [2]pdu.Error{pdu.ErrInst, 0}, 1},
	} {
		list(step.list...)
		h.wrong, h.asked = step.wrong, 0
		if _, err := g.Fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
		for i, item := range []*pmapi.Item[int32]{seven, eight} {
			v, err := item.Value()
			if code := pdu.FromError(err); code != step.want[i] || code == 0 && v != int32(7+i) {
				t.Errorf("%v: item %d: %d, %v, want %v", step.list, i, v, err, step.want[i])
			}
		}
		if h.asked != step.asked {
			t.Errorf("%v: asked for %d names, want %d", step.list, h.asked, step.asked)
		}
	}
}

// While an instance is missing, the error of an agent that refuses a profile without
// instances does not matter; another one does.
func TestItemInstanceRefused(t *testing.T) {
	s := newGroupFixture(t, false)
	g := s.c.Group()
	temp := pmapi.Add[float64](g, "disk.temp", pmapi.Instance("sdx"))
	for _, tt := range []struct{ is, want pdu.Error }{{pdu.ErrProfile, pdu.ErrInst}, {pdu.ErrNoAgent, pdu.ErrNoAgent}} {
		s.temp.Fail(tt.is)
		for range 2 {
			s.fetch(g)
			is(t, temp, 0, tt.want)
		}
	}
	s.instances("4 sdx")
	setValues(s.temp, inst(4, pdu.Float64(4)))
	s.fetch(g)
	is(t, temp, 4, 0)
}

// A discrete metric keeps its value while the instance exists, and no longer.
func TestItemInstanceDiscrete(t *testing.T) {
	s := newGroupFixture(t, false)
	marks := s.add("disk.marks", pdu.Desc{Type: pdu.TypeU32, Sem: pdu.SemDiscrete}, s.disks)
	marks.Set(pdu.Uint32(1))
	g := s.c.Group()
	sda := pmapi.Add[uint32](g, "disk.marks", pmapi.Instance("sda"))
	s.fetch(g)
	marks.Set()
	for range 3 {
		s.fetch(g)
		is(t, sda, 1, 0)
	}
	s.instances("1 sdb")
	s.fetch(g)
	is(t, sda, 0, pdu.ErrInst)
	s.instances("2 sda")
	setValues(marks, inst(2, pdu.Uint32(2)))
	s.fetch(g)
	is(t, sda, 2, 0)
}

// Events of an instance that comes later are found too.
func TestEventsInstanceComes(t *testing.T) {
	s := newGroupFixture(t, false)
	size := s.add("event.size", pdu.Desc{Type: pdu.TypeU32}, nil)
	queue := s.add("queue", pdu.Desc{Type: pdu.TypeHighResEvent}, s.disks)
	g := s.c.Group()
	sizes := pmapi.AddEvents[uint32](g, "queue", "event.size", pmapi.Instance("sdx"))
	for range 2 {
		s.fetch(g)
		if code := pdu.FromError(sizes.Err()); code != pdu.ErrInst {
			t.Error(code)
		}
	}
	s.instances("4 sdx")
	setValues(queue, inst(4, events(t, true, size.Desc().PMID)))
	s.fetch(g)
	if err := sizes.Err(); err != nil || sizes.Len() != 3 {
		t.Error(err, sizes.Len())
	}
}
