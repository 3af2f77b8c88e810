package main

import (
	"crypto/sha1"
	"fmt"
	"os"
	"slices"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// A labelCache holds what has been asked for, by the identifiers of what has the labels.
type labelCache struct {
	context  []pdu.LabelSet
	domains  map[pdu.Domain][]pdu.LabelSet
	inDoms   map[pdu.InDom][]pdu.LabelSet
	clusters map[pdu.PMID][]pdu.LabelSet
	insts    map[pdu.InDom][]pdu.LabelSet
}

// cached is the entry of a map, asked for when it is missed. What fails has no labels.
func cached[K comparable](m *map[K][]pdu.LabelSet, key K, ask func() ([]pdu.LabelSet, error)) []pdu.LabelSet {
	sets, ok := (*m)[key]
	if !ok {
		sets, _ = ask()
		if *m == nil {
			*m = map[K][]pdu.LabelSet{}
		}
		(*m)[key] = sets
	}
	return sets
}

// one makes a list of the answer about one set.
func one(s pdu.LabelSet, err error) ([]pdu.LabelSet, error) {
	if err != nil || len(s.Labels) == 0 {
		return nil, err
	}
	return []pdu.LabelSet{s}, nil
}

// contextLabels are those of the collector, which has at least a host name.
func (p *printer) contextLabels() []pdu.LabelSet {
	l := &p.cache
	if l.context == nil {
		l.context, _ = one(p.pc.ContextLabels(p.ctx))
	}
	if l.context == nil {
		set, err := pdu.MakeLabels(pdu.LabelContext, map[string]string{"hostname": p.pc.HostName(p.ctx)}, false)
		if err == nil {
			l.context = []pdu.LabelSet{set}
		}
	}
	return l.context
}

// inDomLabels are those of an instance domain and of what it belongs to, or of the domain alone without one.
func (p *printer) inDomLabels(domain pdu.Domain, d pdu.InDom) []pdu.LabelSet {
	l := &p.cache
	sets := append([]pdu.LabelSet(nil), p.contextLabels()...)
	sets = append(sets, cached(&l.domains, domain, func() ([]pdu.LabelSet, error) { return one(p.pc.DomainLabels(p.ctx, domain)) })...)
	if d != pdu.NoInDom {
		sets = append(sets, cached(&l.inDoms, d, func() ([]pdu.LabelSet, error) { return one(p.pc.InDomLabels(p.ctx, d)) })...)
	}
	return sets
}

// metricLabels are those of a metric and of what it belongs to. Its own are known.
func (p *printer) metricLabels(d pdu.Desc, item pdu.LabelSet) []pdu.LabelSet {
	sets := p.inDomLabels(d.PMID.Domain(), d.InDom)
	cluster := pdu.MakePMID(d.PMID.Domain(), d.PMID.Cluster(), 0)
	sets = append(sets, cached(&p.cache.clusters, cluster, func() ([]pdu.LabelSet, error) { return one(p.pc.ClusterLabels(p.ctx, d.PMID)) })...)
	return append(sets, item)
}

// instLabels are those of the instances of a domain: all that it has if there are no labels.
func (p *printer) instLabels(b *batch, d pdu.InDom) []pdu.LabelSet {
	if d == pdu.NoInDom {
		return nil
	}
	sets := cached(&p.cache.insts, d, func() ([]pdu.LabelSet, error) { return p.pc.InstanceLabels(p.ctx, d) })
	if len(sets) > 0 {
		return sets
	}
	for _, inst := range p.instances(b, d).list {
		sets = append(sets, pdu.LabelSet{Inst: inst.ID})
	}
	return sets
}

// merge makes one of sets of labels, in increasing precedence.
func merge(sets []pdu.LabelSet) pdu.LabelSet {
	m, err := pdu.MergeLabels(nil, sets...)
	if err != nil {
		fmt.Fprintf(os.Stderr, "pminfo: labels merge failed: %s\n", tool.Reason(err))
	}
	return m
}

// intrinsic are the labels in a set that are part of the identity of what it labels.
func intrinsic(s pdu.LabelSet) pdu.LabelSet {
	m, _ := pdu.MergeLabels(func(l pdu.NamedLabel) bool { return l.Flags&pdu.LabelOptional == 0 }, s) // of a merged set it cannot fail
	return m
}

// series is the identifier of a time series, as those have it that keep series: the SHA-1 of a JSON object. Names stand
// there as they are, without escapes.
func series(kind, rest string) string {
	return fmt.Sprintf("%x", sha1.Sum([]byte(`{"series":"`+kind+`",`+rest+`}`)))
}

// printSeries prints the series identifiers of a metric and of its source.
func (p *printer) printSeries(name string, d pdu.Desc, labels pdu.LabelSet) {
	p.printf("    Source: %s\n", series("source", fmt.Sprintf(`"labels":%v`, intrinsic(merge(p.contextLabels())))))
	p.printf("    Series: %s\n", series("metric", fmt.Sprintf(`"name":"%s","labels":%v,"semantics":"%v","type":"%v","units":"%v"`,
		name, intrinsic(labels), d.Sem, d.Type, d.Units)))
}

// printInstances prints the series identifiers and the labels of the instances of a metric.
func (p *printer) printInstances(b *batch, d pdu.Desc, labels pdu.LabelSet) {
	insts := p.instLabels(b, d.InDom)
	name := func(inst pdu.InstID) string {
		if name, ok := p.instances(b, d.InDom).names[inst]; ok {
			return name
		}
		return "DISAPPEARED"
	}
	if p.series {
		// What is the metric's own does not count here, and what is optional does.
		above := p.inDomLabels(d.PMID.Domain(), d.InDom)
		for _, s := range insts {
			n := name(s.Inst)
			p.printf("    inst [%d or \"%s\"] series %s\n", s.Inst, n,
				series("instance", fmt.Sprintf(`"name":"%s","labels":%v`, n, merge(append(slices.Clip(above), s)))))
		}
	}
	if p.labels {
		for _, s := range insts {
			p.printf("    inst [%d or \"%s\"] labels %v\n", s.Inst, name(s.Inst), merge([]pdu.LabelSet{labels, s}))
		}
	}
}
