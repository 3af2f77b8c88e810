package pminfo

import (
	"crypto/sha1"
	"fmt"
	"iter"
	"os"
	"slices"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
)

// A labelCache holds the requested labels by their subject. In an archive, metrics are printed as
// of different times. Each map then has at most one entry, so that its labels serve only adjacent
// metrics.
type labelCache struct {
	context  []pdu.LabelSet
	domains  map[pdu.Domain][]pdu.LabelSet
	inDoms   map[pdu.InDom][]pdu.LabelSet
	clusters map[pdu.PMID][]pdu.LabelSet
	insts    map[pdu.InDom][]pdu.LabelSet
}

// cachedSets returns an entry of a map and requests it if it is missing. It returns no labels if
// the request fails.
func cachedSets[K comparable](p *printer, m *map[K][]pdu.LabelSet, key K, request func() ([]pdu.LabelSet, error)) []pdu.LabelSet {
	sets, ok := (*m)[key]
	if !ok {
		sets, _ = request()
		if *m == nil || p.archive {
			*m = map[K][]pdu.LabelSet{}
		}
		(*m)[key] = sets
	}
	return sets
}

// asList converts a reply with one set to a list, which is empty for a set without labels.
func asList(s pdu.LabelSet, err error) ([]pdu.LabelSet, error) {
	if err != nil || len(s.Labels) == 0 {
		return nil, err
	}
	return []pdu.LabelSet{s}, nil
}

// contextLabels returns the labels of the collector, at least its host name.
func (p *printer) contextLabels() []pdu.LabelSet {
	l := &p.labelCache
	if l.context == nil {
		l.context, _ = asList(p.pc.ContextLabels(p.ctx))
	}
	if l.context == nil {
		set, err := pdu.MakeLabels(pdu.LabelContext, map[string]string{"hostname": p.pc.HostName(p.ctx)}, false)
		if err == nil {
			l.context = []pdu.LabelSet{set}
		}
	}
	return l.context
}

// inDomLabels returns the labels of the context, of a domain, and of an instance domain unless that
// is pdu.NoInDom.
func (p *printer) inDomLabels(domain pdu.Domain, d pdu.InDom) []pdu.LabelSet {
	l := &p.labelCache
	sets := append([]pdu.LabelSet(nil), p.contextLabels()...)
	sets = append(sets, cachedSets(p, &l.domains, domain, func() ([]pdu.LabelSet, error) { return asList(p.pc.DomainLabels(p.ctx, domain)) })...)
	if d != pdu.NoInDom {
		sets = append(sets, cachedSets(p, &l.inDoms, d, func() ([]pdu.LabelSet, error) { return asList(p.pc.InDomLabels(p.ctx, d)) })...)
	}
	return sets
}

// metricLabels returns the labels of a metric's context, domain, instance domain and cluster, and
// the metric's own, which are item. In archives pminfo(1) finds cluster labels only for item 0,
// because they are recorded with its number.
func (p *printer) metricLabels(d pdu.Desc, item pdu.LabelSet) []pdu.LabelSet {
	sets := p.inDomLabels(d.PMID.Domain(), d.InDom)
	cluster := pdu.MakePMID(d.PMID.Domain(), d.PMID.Cluster(), 0)
	sets = append(sets, cachedSets(p, &p.labelCache.clusters, cluster, func() ([]pdu.LabelSet, error) {
		if p.archive && d.PMID.Item() != 0 {
			return nil, nil
		}
		return asList(p.pc.ClusterLabels(p.ctx, d.PMID))
	})...)
	return append(sets, item)
}

// instLabels yields the labels of the instances of a domain. Without any, it yields a set without
// labels for each instance.
func (p *printer) instLabels(d pdu.InDom) iter.Seq[pdu.LabelSet] {
	return func(yield func(pdu.LabelSet) bool) {
		sets := cachedSets(p, &p.labelCache.insts, d, func() ([]pdu.LabelSet, error) { return p.pc.InstanceLabels(p.ctx, d) })
		for _, s := range sets {
			if !yield(s) {
				return
			}
		}
		if len(sets) > 0 {
			return
		}
		for _, inst := range p.instances(d).list {
			if !yield(pdu.LabelSet{Inst: inst.ID}) {
				return
			}
		}
	}
}

// mergeLabels merges sets of labels. Later sets take precedence.
func mergeLabels(sets []pdu.LabelSet) pdu.LabelSet {
	m, err := pdu.MergeLabels(nil, sets...)
	if err != nil {
		fmt.Fprintf(os.Stderr, "pminfo: labels merge failed: %v\n", pcptool.Cause(err))
	}
	return m
}

// requiredLabels returns the labels of a set that are not optional. They identify what the set
// labels.
func requiredLabels(s pdu.LabelSet) pdu.LabelSet {
	m, _ := pdu.MergeLabels(func(l pdu.NamedLabel) bool { return l.Flags&pdu.LabelOptional == 0 }, s) // a merged set merges without an error
	return m
}

// seriesID returns the identifier of a time series that PCP's time series stores use: the SHA-1 of
// a JSON object with unescaped names.
func seriesID(kind, rest string) string {
	return fmt.Sprintf("%x", sha1.Sum([]byte(`{"series":"`+kind+`",`+rest+`}`)))
}

// printSeries prints the series identifiers of a metric and of its source.
func (p *printer) printSeries(name string, d pdu.Desc, labels pdu.LabelSet) {
	p.printf("    Source: %s\n", seriesID("source", fmt.Sprintf(`"labels":%v`, requiredLabels(mergeLabels(p.contextLabels())))))
	p.printf("    Series: %s\n", seriesID("metric", fmt.Sprintf(`"name":"%s","labels":%v,"semantics":"%v","type":"%v","units":"%v"`,
		name, requiredLabels(labels), d.Sem, d.Type, d.Units)))
}

// printInstances prints the series identifiers and the labels of the instances of a metric.
func (p *printer) printInstances(d pdu.Desc, labels pdu.LabelSet) {
	if d.InDom == pdu.NoInDom {
		return
	}
	insts := p.instLabels(d.InDom)
	// The domain is that of the instances. A derived metric has another domain.
	above := p.inDomLabels(d.InDom.Domain(), d.InDom)
	name := func(inst pdu.InstID, unknown string) string {
		if name, ok := p.instances(d.InDom).names.Name(inst); ok {
			return name
		}
		return unknown
	}
	if p.series {
		// Optional labels count here, labels of the cluster and of the metric do not.
		for s := range insts {
			p.printf("    inst [%d or \"%s\"] series %s\n", s.Inst, terminal.EscapeName(name(s.Inst, "DISAPPEARED")),
				seriesID("instance", fmt.Sprintf(`"name":"%s","labels":%v`, name(s.Inst, "???"), mergeLabels(append(slices.Clip(above), s)))))
		}
	}
	if p.labels {
		labels = mergeLabels(append(slices.Clip(above), labels))
		for s := range insts {
			all := labels
			if len(s.Labels) > 0 {
				all = mergeLabels([]pdu.LabelSet{labels, s})
			}
			p.printf("    inst [%d or \"%s\"] labels %v\n", s.Inst, terminal.EscapeName(name(s.Inst, "DISAPPEARED")), all)
		}
	}
}
