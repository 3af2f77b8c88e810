package archivesource

import (
	"context"
	"encoding/json"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/source"
)

// Descs describes metrics.
func (s *Source) Descs(ctx context.Context, ids []pdu.PMID) ([]pdu.Desc, source.Errors, error) {
	if err := s.check(ctx); err != nil {
		return nil, nil, err
	}
	descs := make([]pdu.Desc, len(ids))
	var errs source.Errors
	for i, id := range ids {
		d, ok := s.meta.Desc(id)
		if !ok {
			d = pdu.Desc{PMID: pdu.NoPMID}
			errs.Set(i, len(ids), pdu.ErrPMIDLog)
		}
		descs[i] = d
	}
	return descs, errs, nil
}

// Instances returns the instances of a domain at the position, or the one that req selects.
func (s *Source) Instances(ctx context.Context, req pdu.InstanceReq) ([]pdu.Instance, error) {
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	d := s.meta.InDom(req.InDom)
	if d == nil || d.Index(s.position) < 0 {
		return nil, pdu.ErrInDomLog
	}
	list := d.At(s.position)
	if req.Inst == pdu.NoInst && req.Name == "" {
		return slices.Clone(list), nil
	}
	i := find(list, req)
	if i < 0 {
		return nil, pdu.ErrInstLog
	}
	return []pdu.Instance{list[i]}, nil
}

// find returns the index of the instance that req selects, by its number, its name, or its name up
// to the first space. It returns -1 if the list lacks the instance.
func find(list []pdu.Instance, req pdu.InstanceReq) int {
	if req.Name == "" {
		return slices.IndexFunc(list, func(i pdu.Instance) bool { return i.ID == req.Inst })
	}
	if n := slices.IndexFunc(list, func(i pdu.Instance) bool { return i.Name == req.Name }); n >= 0 {
		return n
	}
	return slices.IndexFunc(list, func(i pdu.Instance) bool {
		first, _, more := strings.Cut(i.Name, " ")
		return more && first == req.Name
	})
}

// AllInstances returns the instances that a domain ever had, those that it had last first, or the
// one that req selects: of the latest state that has it.
func (s *Source) AllInstances(req pdu.InstanceReq) ([]pdu.Instance, error) {
	d := s.meta.InDom(req.InDom)
	switch {
	case req.InDom == pdu.NoInDom:
		return nil, pdu.ErrInDom
	case d == nil:
		return nil, pdu.ErrInDomLog
	case req.Inst == pdu.NoInst && req.Name == "":
		return latestFirst(d), nil
	}
	for n := d.Len() - 1; n >= 0; n-- {
		list := d.State(n)
		if i := find(list, req); i >= 0 {
			return []pdu.Instance{list[i]}, nil
		}
	}
	return nil, pdu.ErrInstLog
}

// latestFirst is the instances that a domain ever had: those of the last state, then those that
// only states before it have, and so on.
func latestFirst(d *archive.InDom) []pdu.Instance {
	if d.Len() == 1 {
		return slices.Clone(d.All())
	}
	list := make([]pdu.Instance, 0, len(d.All()))
	seen := make(map[pdu.InstID]bool, len(d.All()))
	for n := d.Len() - 1; n >= 0 && len(list) < len(d.All()); n-- {
		for _, i := range d.State(n) {
			if !seen[i.ID] {
				seen[i.ID] = true
				list = append(list, i)
			}
		}
	}
	return list
}

// KnownInstances returns the instances of a domain at the position, and then those that it has
// at other times.
func (s *Source) KnownInstances(ctx context.Context, id pdu.InDom) ([]pdu.Instance, error) {
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	d := s.meta.InDom(id)
	if d == nil {
		return nil, pdu.ErrInDomLog
	}
	now := d.At(s.position)
	list := slices.Clone(now)
	for _, i := range d.All() {
		if _, ok := byID(now, i.ID); !ok {
			list = append(list, i)
		}
	}
	return list, nil
}

// byID finds an instance in a list that ascends by number.
func byID(list []pdu.Instance, id pdu.InstID) (int, bool) {
	return slices.BinarySearchFunc(list, id, func(i pdu.Instance, id pdu.InstID) int {
		switch {
		case i.ID < id:
			return -1
		case i.ID > id:
			return 1
		}
		return 0
	})
}

// Texts returns help texts. If the archives have no text of the kind for any metric or domain, the
// error is pdu.ErrNotHost, as in the C library.
func (s *Source) Texts(ctx context.Context, reqs []pdu.TextReq) ([]string, source.Errors, error) {
	if err := s.check(ctx); err != nil {
		return nil, nil, err
	}
	texts := make([]string, len(reqs))
	var errs source.Errors
	for i, r := range reqs {
		text, ok := s.meta.Text(r.Text&^pdu.TextDirect, r.Ident)
		if texts[i] = text; ok {
			continue
		}
		code := pdu.ErrNotHost
		for t := range s.meta.Texts() {
			if t.Kind == r.Text&^pdu.TextDirect {
				code = pdu.ErrText
				break
			}
		}
		errs.Set(i, len(reqs), code)
	}
	return texts, errs, nil
}

// Labels returns the label sets at the position.
func (s *Source) Labels(ctx context.Context, reqs []pdu.LabelReq, profile *pdu.Profile) ([][]pdu.LabelSet, source.Errors, error) {
	if err := s.check(ctx); err != nil {
		return nil, nil, err
	}
	all := make([][]pdu.LabelSet, len(reqs))
	for i, r := range reqs {
		t := r.Target()
		ident := r.Ident
		if t.Class == pdu.LabelCluster {
			id := pdu.PMID(ident)
			ident = uint32(pdu.MakePMID(id.Domain(), id.Cluster(), 0))
		}
		all[i] = s.labels(t.Class, ident, profile)
	}
	return all, nil, nil
}

// labels are the sets of one identifier. Archives without labels have one for the context, with
// the name of the host.
func (s *Source) labels(class pdu.LabelClass, ident uint32, profile *pdu.Profile) []pdu.LabelSet {
	l := s.meta.Labels(class, ident)
	if l == nil {
		if class == pdu.LabelContext {
			return s.hostLabels()
		}
		return nil
	}
	var sets []pdu.LabelSet
	for _, set := range l.At(s.position) {
		if class != pdu.LabelInstances || profile.Includes(pdu.InDom(ident), set.Inst) {
			sets = append(sets, set)
		}
	}
	return sets
}

func (s *Source) hostLabels() []pdu.LabelSet {
	host, err := json.Marshal(s.shared.Label().Host)
	if err != nil {
		return nil // a string always has a text
	}
	set, err := pdu.ParseLabels(pdu.LabelContext, `{"hostname":`+string(host)+`}`, false)
	if err != nil {
		return nil // nor is there a host name that is too long
	}
	set.Inst = pdu.NoInst
	return []pdu.LabelSet{set}
}

// labelTimes lists the times of label changes.
type labelTimes struct {
	listed bool
	times  []time.Time // in order
	at     int         // how many are not after the latest position
}

// noteLabels begins a new epoch of labels if other labels apply at the new position. A position
// before all records has no labels, so the first change is the one to the first labels.
func (s *Source) noteLabels() {
	l := &s.labelTimes
	if !l.listed {
		for labels := range s.meta.AllLabels() {
			for i := range labels.Len() {
				l.times = append(l.times, labels.Time(i))
			}
		}
		slices.SortFunc(l.times, time.Time.Compare)
		l.listed, l.at = true, -1
	}
	at := sort.Search(len(l.times), func(i int) bool { return l.times[i].After(s.position) })
	if at != l.at && l.at >= 0 {
		s.mu.Lock()
		s.epoch.Labels++
		s.mu.Unlock()
	}
	l.at = at
}

// noteNames begins a new epoch of names if an instance of one of the domains has another name at a
// time than it was last known by.
func (s *Source) noteNames(domains []*archive.InDom) {
	renamed := false
	for _, d := range domains {
		last, seen := s.states[d.ID]
		now := d.Index(s.position)
		if seen && now == last {
			continue
		}
		s.states[d.ID] = now
		renamed = renamed || seen && hasRenamed(d, last, now)
	}
	if renamed {
		s.mu.Lock()
		s.epoch.Names++
		s.mu.Unlock()
	}
}

// hasRenamed reports whether an instance of state now had another name in state last or, where it
// was not, in the list of all.
func hasRenamed(d *archive.InDom, last, now int) bool {
	if now < 0 {
		return false
	}
	var before []pdu.Instance
	if last >= 0 {
		before = d.State(last)
	}
	for _, i := range d.State(now) {
		known := d.All()
		if _, ok := byID(before, i.ID); ok {
			known = before
		}
		if n, ok := byID(known, i.ID); ok && known[n].Name != i.Name {
			return true
		}
	}
	return false
}
