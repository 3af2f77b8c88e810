package webapi

import (
	"slices"
	"strconv"
	"sync"

	"github.com/pcp-go/pcp/pdu"
)

// A livePlan holds the metrics of a stream or of past values, with their metadata and instances.
// One goroutine fetches. Others may append the metadata concurrently.
type livePlan struct {
	current []currentMetric // by the index of the name in the last fetch
	stale   bool            // a name may now be that of another metric
	fetches uint64

	mu      sync.Mutex // the goroutine that fetches holds it to write what follows, others to read
	host    string
	metrics map[string]*liveMetric
	indoms  map[pdu.InDom]map[pdu.InstID]liveInst
	version uint64 // of the last change
}

// A liveMetric is the metric of a name.
type liveMetric struct {
	metricInfo
	version  uint64 // the version that changed it last
	lookedUp uint64 // the number of the fetch that looked it up
}

// A currentMetric is a fetched metric, with its index in the result.
type currentMetric struct {
	*liveMetric
	at int
}

// A liveInst is an instance.
type liveInst struct {
	name    string
	version uint64 // the version that changed it last
}

// fetch fetches values. It looks names up again when they may have changed, and unknown names now
// and then.
func (p *livePlan) fetch(q *query, names []string) error {
	p.fetches++
	if p.stale {
		p.forget(func(string) bool { return false })
		p.stale = false
	}
	if err := p.fetchOnce(q, names); err != nil {
		return err
	}
	if q.s.result.Changed.AffectsNames() {
		p.forget(func(string) bool { return false })
		if err := p.fetchOnce(q, names); err != nil {
			return err
		}
	}
	return p.nameInstances(q)
}

func (p *livePlan) fetchOnce(q *query, names []string) error {
	if err := p.lookUp(q, names); err != nil {
		return err
	}
	p.current = p.current[:0]
	var ids []pdu.PMID
	for _, name := range names {
		m := p.metrics[name]
		if p.current = append(p.current, currentMetric{m, len(ids)}); m.err == nil {
			ids = append(ids, m.id)
		}
	}
	return q.fetchPlan(&plan{ids: ids})
}

// lookUp looks up names that are new, or that have been unknown for lookUpEvery fetches, with their
// one-line texts.
func (p *livePlan) lookUp(q *query, names []string) error {
	var infos []metricInfo
	for _, name := range names {
		if m := p.metrics[name]; m == nil || m.err != nil && p.fetches-m.lookedUp >= lookUpEvery {
			infos = append(infos, metricInfo{name: name})
		}
	}
	if len(infos) == 0 {
		return nil
	}
	if err := q.lookUp(infos); err != nil {
		return err
	}
	var ids []pdu.PMID
	for _, m := range infos {
		if m.err == nil {
			ids = append(ids, m.id)
		}
	}
	if len(ids) > 0 {
		short, err := texts(q.ctx, q.s.c, ids, pdu.TextOneLine)
		if err != nil {
			return err
		}
		next := 0
		for i := range infos {
			if infos[i].err == nil {
				infos[i].text = short[next]
				next++
			}
		}
	}
	host := q.hostName()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version++
	p.host = host
	if p.metrics == nil {
		p.metrics, p.indoms = map[string]*liveMetric{}, map[pdu.InDom]map[pdu.InstID]liveInst{}
	}
	for _, m := range infos {
		p.metrics[m.name] = &liveMetric{m, p.version, p.fetches}
	}
	return nil
}

// forget drops the metadata of metrics, except those that keep selects, and instance domains that
// are no longer used.
func (p *livePlan) forget(keep func(name string) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	used := map[pdu.InDom]bool{}
	for name, m := range p.metrics {
		if keep(name) {
			used[m.desc.InDom] = true
		} else {
			delete(p.metrics, name)
		}
	}
	for d := range p.indoms {
		if !used[d] {
			delete(p.indoms, d)
		}
	}
}

// nameInstances fetches the names of instances if the values have unknown ones.
func (p *livePlan) nameInstances(q *query) error {
	for _, m := range p.current {
		if m.err != nil {
			continue
		}
		set := q.s.result.At(m.at)
		if m.desc.InDom == pdu.NoInDom || p.knows(m.desc.InDom, set) {
			continue
		}
		insts, err := q.instances(m.desc.InDom)
		if err != nil {
			return err
		}
		p.setInstances(m.desc.InDom, insts, set)
	}
	return nil
}

// knows reports whether all instances of values have names.
func (p *livePlan) knows(d pdu.InDom, set pdu.ValueSet) bool {
	for j := range set.Len() {
		if _, ok := p.indoms[d][set.Inst(j)]; !ok {
			return false
		}
	}
	return true
}

// setInstances replaces the instances of a domain. An instance of set that is not in insts gets its
// number as its name.
func (p *livePlan) setInstances(d pdu.InDom, insts []pdu.Instance, set pdu.ValueSet) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.version++
	old, now := p.indoms[d], make(map[pdu.InstID]liveInst, len(insts))
	put := func(id pdu.InstID, name string) {
		if had, ok := old[id]; ok && had.name == name {
			now[id] = had
		} else {
			now[id] = liveInst{name, p.version}
		}
	}
	for _, inst := range insts {
		put(inst.ID, inst.Name)
	}
	for j := range set.Len() {
		if id := set.Inst(j); now[id].version == 0 {
			put(id, strconv.FormatUint(uint64(uint32(id)), 10))
		}
	}
	p.indoms[d] = now
}

// appendMetaEvent appends the event meta with the changes since a version, if there are any. It
// returns the current version.
func (p *livePlan) appendMetaEvent(b []byte, watches []watch, since uint64) ([]byte, uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.version == since {
		return b, since
	}
	start := len(b)
	b, any := p.appendMeta(append(b, "event: meta\ndata: "...), watches, since)
	if !any {
		return b[:start], p.version
	}
	return append(b, "\n\n"...), p.version
}

// appendMeta appends a JSON object with the changes of the watched metrics since a version. The
// caller holds the lock.
func (p *livePlan) appendMeta(b []byte, watches []watch, since uint64) (_ []byte, any bool) {
	var indoms []pdu.InDom
	b = append(appendString(append(b, `{"host":`...), p.host), `,"metrics":{`...)
	comma := false
	for _, w := range watches {
		m := p.metrics[w.name]
		if m == nil {
			continue
		}
		if d := m.desc.InDom; m.err == nil && d != pdu.NoInDom && !slices.Contains(indoms, d) {
			indoms = append(indoms, d)
		}
		if m.version <= since {
			continue
		}
		if comma {
			b = append(b, ',')
		}
		b, comma = m.append(b), true
	}
	any = comma
	b = append(b, `},"instances":{`...)
	comma = false
	for _, d := range indoms {
		if comma {
			b = append(b, ',')
		}
		b, comma = append(appendString(b, d.String()), ":{"...), true
		inner := false
		for id, inst := range p.indoms[d] {
			if inst.version <= since {
				continue
			}
			if inner {
				b = append(b, ',')
			}
			b = strconv.AppendUint(append(b, '"'), uint64(uint32(id)), 10)
			b = appendString(append(b, `":`...), inst.name)
			inner, any = true, true
		}
		b = append(b, '}')
	}
	return append(b, "}}"...), any
}

// append appends a JSON member that describes the metric.
func (m *liveMetric) append(b []byte) []byte {
	b = append(appendString(b, m.name), ":{"...)
	if m.err != nil {
		return append(appendString(append(b, `"error":`...), message(m.err)), '}')
	}
	b = appendString(append(b, `"type":`...), typeWord(m.desc.Type))
	b = appendString(append(b, `,"sem":`...), m.desc.Sem.String())
	u := m.desc.Units
	b = appendString(append(b, `,"units":`...), u.String())
	b = append(b, `,"dim":[`...)
	for j, n := range []int{u.DimSpace(), u.DimTime(), u.DimCount(), u.ScaleSpace(), u.ScaleTime(), u.ScaleCount()} {
		if j > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	b = append(b, ']')
	if m.desc.InDom != pdu.NoInDom {
		b = appendString(append(b, `,"indom":`...), m.desc.InDom.String())
	}
	return append(appendString(append(b, `,"text":`...), m.text), '}')
}

// appendValues appends a JSON member with the values of metric i of the last fetch. It appends null
// if the metric has no values or too many.
func (p *livePlan) appendValues(q *query, b []byte, i int) []byte {
	m := p.current[i]
	b = append(appendString(b, m.name), ':')
	if m.err != nil || q.s.result.At(m.at).Len() == 0 {
		return append(b, "null"...)
	}
	set := q.s.result.At(m.at)
	start := len(b)
	b = append(b, '[')
	for j := range set.Len() {
		if j > 0 {
			b = append(b, ',')
		}
		b = append(q.appendInst(b, set.Inst(j)), ',')
		if m.desc.Type == pdu.TypeAggregate || m.desc.Type == pdu.TypeAggregateStatic {
			b = append(b, "null"...)
		} else {
			b = appendAtom(b, set.Atom(j, m.desc.Type))
		}
		if len(b)-start > maxLiveValues {
			return append(b[:start], "null"...)
		}
	}
	return append(b, ']')
}
