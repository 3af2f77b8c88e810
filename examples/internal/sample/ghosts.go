package sample

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// Items of the metrics of ghosts.
const (
	itemGhostsVisible = 1008
	itemGhostsOrigin  = 1009
	itemGhostsKarma   = 1010
	itemGhostsState   = 1011
)

// ghosts are metrics below a dynamic root, which a client makes visible with their instances.
type ghosts struct {
	indom   *pmda.InDom
	visible int32 // instances; below 0 the metrics are hidden too
	step    int   // fetches of the metrics since the last store; 1 in the first
}

// allGhosts are the instances, from ID 1 on.
var allGhosts = [...]struct {
	name, origin string
	state        func(n int) bool // in fetch n, from 0
}{
	{"Obambo", "Africa", func(n int) bool { return n%2 == 0 }},
	{"Banjhakri", "Nepal", func(n int) bool { return n%2 != 0 }},
	{"Mogwai", "China", func(n int) bool { return n%4 < 2 }},
	{"Pocong", "Indonesia", func(n int) bool { return n%4 >= 2 }},
	{"Hitodama", "Japan", func(n int) bool { return n%6 < 3 }},
	{"Krahang", "Thailand", func(n int) bool { return n%6 >= 3 }},
	{"Zmeu", "Roumania", func(n int) bool { return n%8 < 4 }},
	{"Duppy", "Jamaica", func(int) bool { return false }},
}

func (s *sample) registerGhosts() {
	g := &s.dynamic.ghosts
	g.visible = -1
	g.indom = s.attach(11, "ghost", nil)
	add(s, itemGhostsVisible, pmda.Metric[int32]{Name: "ghosts.visible", Units: pdu.UnitCount, Value: variable(&g.visible)})
	storeWord(s, itemGhostsVisible, g.show)
	add(s, itemGhostsOrigin, pmda.Metric[string]{Name: "ghosts.origin", Sem: pdu.SemDiscrete, InDom: g.indom,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (string, error) {
			return allGhosts[i.ID-1].origin, nil
		}})
	add(s, itemGhostsKarma, pmda.Metric[uint32]{Name: "ghosts.karma", InDom: g.indom,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint32, error) {
			return uint32(len(i.Name)), nil
		}})
	add(s, itemGhostsState, pmda.Metric[uint32]{Name: "ghosts.state", InDom: g.indom,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint32, error) {
			if allGhosts[i.ID-1].state(g.step - 1) {
				return 1, nil
			}
			return 0, nil
		}})
}

// show makes the first n ghosts visible, or all if there are fewer.
func (g *ghosts) show(n int32) error {
	g.visible, g.step = min(n, int32(len(allGhosts))), 0
	list := make([]pdu.Instance, max(g.visible, 0))
	for i := range list {
		list[i] = pdu.Instance{ID: pdu.InstID(i + 1), Name: allGhosts[i].name}
	}
	_, err := g.indom.SetInstances(list...)
	return err
}

// lookUpGhost finds one ghost, whether it is visible or not, as PCP's agent does.
func (s *sample) lookUpGhost(d pdu.InDom, inst pdu.InstID, name string) (i pdu.Instance, ok bool) {
	if d != s.dynamic.ghosts.indom.ID() {
		return i, false
	}
	for at, g := range allGhosts {
		i = pdu.Instance{ID: pdu.InstID(at + 1), Name: g.name}
		if inst == i.ID && name == "" || inst == pdu.NoInst && shortName(name) == g.name {
			return i, true
		}
	}
	return i, false
}
