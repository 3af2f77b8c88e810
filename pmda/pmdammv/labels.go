package pmdammv

import (
	"context"

	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// Labels returns the labels from the files that have the target. The labels of the domain come
// from the agent.
func (h handler) Labels(ctx context.Context, r *pmda.Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	s, err := h.a.recent(ctx)
	if err != nil {
		return nil, err
	}
	switch of.Class {
	case pdu.LabelCluster, pdu.LabelItem, pdu.LabelInDom:
		sets := s.labels(of)[pdu.NoInst]
		if len(sets) == 0 {
			return nil, nil
		}
		set, err := merge(sets)
		if err != nil {
			return nil, err
		}
		return []pdu.LabelSet{set}, nil
	case pdu.LabelInstances:
		return s.instanceLabels(r, of)
	}
	return h.Handler.Labels(ctx, r, of)
}

// instanceLabels returns a set for every instance that the profile includes. The set of an instance
// without labels is empty.
func (s *snapshot) instanceLabels(r *pmda.Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	d := s.indoms[of.InDom()]
	if d == nil {
		return nil, nil
	}
	rule := r.Profile.For(of.InDom())
	byInst := s.labels(of)
	var sets []pdu.LabelSet
	for _, i := range d.instances() {
		if !rule.Includes(i.ID) {
			continue
		}
		var set pdu.LabelSet
		if labels := byInst[i.ID]; len(labels) > 0 {
			var err error
			if set, err = merge(labels); err != nil {
				return nil, err
			}
		}
		set.Inst = i.ID
		sets = append(sets, set)
	}
	return sets, nil
}

// labels returns the labels of a target by instance. The key is pdu.NoInst unless the target is
// instances. Texts that are not JSON objects are omitted.
func (s *snapshot) labels(of pdu.LabelTarget) map[pdu.InstID][]pdu.LabelSet {
	var sets map[pdu.InstID][]pdu.LabelSet
	for i := range s.files {
		f := &s.files[i]
		for k := range f.file.Labels {
			l := &f.file.Labels[k]
			if pdu.LabelClass(l.Flags)&of.Class == 0 || !s.belongs(f, l, of) {
				continue
			}
			set, err := pdu.ParseLabels(of.Class, l.JSON, pdu.LabelFlags(l.Flags)&pdu.LabelOptional != 0)
			if err != nil {
				continue
			}
			if sets == nil {
				sets = map[pdu.InstID][]pdu.LabelSet{}
			}
			inst := pdu.NoInst
			if of.Class == pdu.LabelInstances {
				inst = l.Instance
			}
			sets[inst] = append(sets[inst], set)
		}
	}
	return sets
}

// merge merges label sets. The text of a single set is unchanged.
func merge(sets []pdu.LabelSet) (pdu.LabelSet, error) {
	if len(sets) == 1 {
		return sets[0], nil
	}
	return pdu.MergeLabels(nil, sets...)
}

// belongs reports whether a label of a file belongs to a target of the same class. A label names
// the cluster that its file requests, which may differ from the cluster that the agent has
// assigned.
func (s *snapshot) belongs(f *file, l *mmv.FileLabel, of pdu.LabelTarget) bool {
	switch of.Class {
	case pdu.LabelCluster:
		return f.cluster == of.PMID().Cluster() && l.Identity == uint32(f.file.Cluster)
	case pdu.LabelItem:
		return f.cluster == of.PMID().Cluster() && l.Identity == uint32(of.PMID().Item())
	}
	return s.indomID(f.cluster, l.Identity) == of.InDom()
}
