package pmdatest

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// numClients clients make all requests concurrently, clientRounds times each.
const (
	numClients   = 4
	clientRounds = 3
)

// checkConcurrency makes all requests from several clients concurrently. Each client chooses its
// own metrics and instances, and must get the same values as a single client.
func (c *checker) checkConcurrency() {
	const attempts = 3 // values and instances may change by themselves
	wrong := map[string]string{}
	for n := range attempts {
		found := c.compareConcurrent(uint64(n))
		if n == 0 {
			wrong = found
		}
		maps.DeleteFunc(wrong, func(metric, _ string) bool { return found[metric] == "" })
		if len(wrong) == 0 {
			return
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wrong)) {
		c.errorf("%s: Fetch among concurrent requests of %d clients: %s: requests must not share what is of one client", name, numClients, wrong[name])
	}
}

// A comparison holds what a single client gets, and what concurrent clients get.
type comparison struct {
	before *pdu.Result
	mu     sync.Mutex
	sets   map[int][]selectedSet // by index in metrics
}

// A selectedSet is a reply to a request with a profile.
type selectedSet struct {
	set pdu.ValueSet
	p   *pdu.Profile
}

// compareConcurrent makes concurrent requests, and returns the mistakes by metric.
func (c *checker) compareConcurrent(seed uint64) map[string]string {
	all := comparison{before: c.fetch(nil, c.ids()), sets: map[int][]selectedSet{}}
	var wg sync.WaitGroup
	for n := range numClients {
		wg.Go(func() {
			c.guard(func() {
				random := rand.New(rand.NewPCG(seed, uint64(n)))
				for range clientRounds {
					c.fetchShuffled(uint32(n), random, &all)
					c.requestAll(uint32(n))
				}
			})
		})
	}
	wg.Wait()
	after := c.fetch(nil, c.ids())
	wrong := map[string]string{}
	if all.before == nil || after == nil || c.changing {
		return wrong
	}
	for i, m := range c.metrics {
		for _, s := range all.sets[i] {
			if text := compareSet(m, all.before.At(i), s.set, after.At(i), s.p); text != "" {
				wrong[m.name] = text
			}
		}
	}
	return wrong
}

// fetchShuffled fetches all metrics in random order with some instances.
func (c *checker) fetchShuffled(slot uint32, random *rand.Rand, to *comparison) {
	order := random.Perm(len(c.metrics))
	ids := make([]pdu.PMID, len(order))
	for at, i := range order {
		ids[at] = c.metrics[i].desc.PMID
	}
	p := c.randomProfile(random)
	result, _ := c.fetchFor(&pmda.Request{Client: pmda.NewClient(slot, uint64(slot)+1), Profile: p, ContextID: int32(slot)}, ids)
	if result == nil {
		return
	}
	for at, i := range order {
		c.checkSet(c.metrics[i], result.At(at), p)
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	for at, i := range order {
		to.sets[i] = append(to.sets[i], selectedSet{result.At(at), p})
	}
}

// randomProfile selects some instances of each domain, and sometimes all.
func (c *checker) randomProfile(random *rand.Rand) *pdu.Profile {
	if random.IntN(4) == 0 {
		return nil
	}
	p := &pdu.Profile{Exclude: random.IntN(4) == 0}
	for _, d := range c.indoms {
		e := pdu.InDomProfile{InDom: d.id, Exclude: random.IntN(2) == 0}
		for _, i := range d.list {
			if random.IntN(2) == 0 && len(e.Insts) < 100 {
				e.Insts = append(e.Insts, i.ID)
			}
		}
		slices.Sort(e.Insts)
		p.InDoms = append(p.InDoms, e)
	}
	slices.SortFunc(p.InDoms, func(a, b pdu.InDomProfile) int { return cmp.Compare(a.InDom, b.InDom) })
	return p
}

// compareSet compares a set with those that a single client got before and after it. It returns the
// mistake, or "".
func compareSet(m metric, before, got, after pdu.ValueSet, p *pdu.Profile) string {
	if before.Err() != nil || after.Err() != nil || isEvent(m.desc.Type) {
		return ""
	}
	was, now, is := valuesOf(m, before), valuesOf(m, after), valuesOf(m, got)
	for id, a := range was {
		b, still := now[id]
		if !still || m.desc.InDom != pdu.NoInDom && !p.Includes(m.desc.InDom, id) {
			continue
		}
		v, has := is[id]
		switch {
		case got.Err() != nil:
			return errorText(got.Err()) + ", but it has values alone"
		case !has:
			return "instance " + pdu.Int32(int32(id)).String() + " has no value, which the profile includes"
		case m.desc.Sem == pdu.SemDiscrete && a.Equal(b) && !a.Equal(v):
			return "the value is " + v.String() + ", alone " + a.String()
		case m.desc.Sem == pdu.SemCounter && !between(a, v, b):
			return "the counter is " + v.String() + ", between " + a.String() + " and " + b.String()
		}
	}
	return ""
}

func valuesOf(m metric, s pdu.ValueSet) map[pdu.InstID]pdu.Atom {
	values := map[pdu.InstID]pdu.Atom{}
	for id, a := range s.All(m.desc.Type) {
		values[id] = a
	}
	return values
}

// between reports whether v is a possible value of a counter between a and b. If the counter has
// wrapped or was reset, any value is possible.
func between(a, v, b pdu.Atom) bool {
	if x, err := pdu.As[float64](a); err == nil {
		y, _ := pdu.As[float64](v)
		z, _ := pdu.As[float64](b)
		return x > z || x <= y && y <= z
	}
	return true
}

// requestAll makes each request once, for the race detector, and compares replies that do not
// change.
func (c *checker) requestAll(slot uint32) {
	r := request(slot, nil)
	check := func(err error, what string) {
		if err != nil && err != errReported {
			c.errorf("%s among concurrent requests: %s", what, errorText(err))
		}
	}
	for _, m := range c.metrics {
		d, err := c.h.Desc(c.ctx, r, m.desc.PMID)
		check(err, m.name+": Desc")
		if err == nil && d != m.desc {
			c.errorf("%s: Desc among concurrent requests: %+v, alone %+v", m.name, d, m.desc)
		}
		_, err = c.h.Labels(c.ctx, r, pdu.LabelsOfItem(m.desc.PMID))
		check(err, m.name+": Labels")
		_, _ = c.h.Text(c.ctx, r, pdu.TextOfMetric(m.desc.PMID), pdu.TextOneLine) // may be missing
	}
	for _, d := range c.indoms {
		list, err := c.h.Instances(c.ctx, r, d.id, pdu.NoInst, "")
		if !c.mayFailInDom(d.id) {
			check(err, "Instances("+d.id.String()+")")
		}
		if len(list) > 0 {
			i := list[len(list)/2]
			got, err := c.h.Instances(c.ctx, r, d.id, i.ID, "")
			if err == nil && (len(got) != 1 || got[0].Name != i.Name) {
				c.errorf("Instances(%v, %d) among concurrent requests: %v, want %q", d.id, i.ID, got, i.Name)
			}
		}
		if _, err = c.h.Labels(c.ctx, r, pdu.LabelsOfInstances(d.id)); !c.mayFailInDom(d.id) {
			check(err, "Labels("+d.id.String()+", instances)")
		}
	}
	for name, id := range c.tree.All() {
		if _, dynamic := id.IsDynamicRoot(); dynamic {
			_, err := c.h.Traverse(c.ctx, r, name)
			check(err, "Traverse("+name+")")
		}
	}
	c.h.Namespace()
	c.h.SetClient(r.Client)
	c.h.EndClient(r.Client)
}
