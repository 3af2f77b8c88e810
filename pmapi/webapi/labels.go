package webapi

import (
	"bytes"
	"unicode/utf8"

	"github.com/pcp-go/pcp/pdu"
)

// A labeller caches the label sets that one request needs.
type labeller struct {
	q        *query
	context  pdu.LabelSet
	domains  map[pdu.Domain]pdu.LabelSet
	indoms   map[pdu.InDom]pdu.LabelSet
	clusters map[pdu.PMID]pdu.LabelSet
}

// newLabeller fetches the labels of the context. If the source has no labels, the context gets the
// label hostname.
func (q *query) newLabeller() (*labeller, error) {
	l := &labeller{q: q, domains: map[pdu.Domain]pdu.LabelSet{}, indoms: map[pdu.InDom]pdu.LabelSet{}, clusters: map[pdu.PMID]pdu.LabelSet{}}
	var err error
	if l.context, err = q.s.c.ContextLabels(q.ctx); err != nil && isFatal(err) {
		return nil, err
	}
	if len(l.context.Labels) == 0 {
		l.context, err = pdu.MakeLabels(pdu.LabelContext, map[string]string{"hostname": q.hostName()}, false)
	}
	return l, err
}

// isFatal reports whether an error concerns the whole context and not only the requested item. Then
// the request fails.
func isFatal(err error) bool {
	code := pdu.FromError(err)
	return code == pdu.ErrIPC || code == pdu.ErrTimeout || code == pdu.ErrNoContext || code > pdu.ErrGeneric
}

// known returns the set of a key, and fetches it at most once.
func known[K comparable](sets map[K]pdu.LabelSet, key K, fetch func() (pdu.LabelSet, error)) (pdu.LabelSet, error) {
	if set, ok := sets[key]; ok {
		return set, nil
	}
	set, err := fetch()
	if err != nil && isFatal(err) {
		return set, err
	}
	sets[key] = set
	return set, nil
}

func (l *labeller) domain(d pdu.Domain) (pdu.LabelSet, error) {
	return known(l.domains, d, func() (pdu.LabelSet, error) { return l.q.s.c.DomainLabels(l.q.ctx, d) })
}

func (l *labeller) indom(d pdu.InDom) (pdu.LabelSet, error) {
	return known(l.indoms, d, func() (pdu.LabelSet, error) { return l.q.s.c.InDomLabels(l.q.ctx, d) })
}

func (l *labeller) cluster(id pdu.PMID) (pdu.LabelSet, error) {
	key := pdu.MakePMID(id.Domain(), id.Cluster(), 0)
	return known(l.clusters, key, func() (pdu.LabelSet, error) { return l.q.s.c.ClusterLabels(l.q.ctx, id) })
}

// ofMetric returns the labels of a metric, including those of its item.
func (l *labeller) ofMetric(d pdu.Desc, item pdu.LabelSet) ([]byte, error) {
	sets := []pdu.LabelSet{l.context}
	set, err := l.domain(d.PMID.Domain())
	if err != nil {
		return nil, err
	}
	sets = append(sets, set)
	if d.InDom != pdu.NoInDom {
		if set, err = l.indom(d.InDom); err != nil {
			return nil, err
		}
		sets = append(sets, set)
	}
	if set, err = l.cluster(d.PMID); err != nil {
		return nil, err
	}
	return mergeLabels(append(sets, set, item)...), nil
}

// ofInDom returns the label sets of an instance domain, without those of its instances.
func (l *labeller) ofInDom(d pdu.InDom) ([]pdu.LabelSet, error) {
	domain, err := l.domain(d.Domain())
	if err != nil {
		return nil, err
	}
	indom, err := l.indom(d)
	return []pdu.LabelSet{l.context, domain, indom}, err
}

// isIntrinsic reports whether a label is part of an identity. Replies omit other labels.
func isIntrinsic(l pdu.NamedLabel) bool { return l.Flags&pdu.LabelOptional == 0 }

// mergeLabels returns the labels as a JSON object with sorted names. It returns "{}" without
// labels, or if a set has invalid JSON.
func mergeLabels(sets ...pdu.LabelSet) []byte {
	merged, err := pdu.MergeLabels(isIntrinsic, sets...)
	if err != nil || len(merged.JSON) == 0 {
		return noLabels
	}
	if !utf8.Valid(merged.JSON) {
		return bytes.ToValidUTF8(merged.JSON, []byte("\uFFFD"))
	}
	return merged.JSON
}

var noLabels = []byte("{}")
