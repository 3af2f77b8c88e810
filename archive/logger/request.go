package logger

import (
	"context"
	"fmt"
	"slices"

	"github.com/pcp-go/pcp/internal/logconf"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// names has the collector's replies about the names of a configuration, which are requested
// together.
type names struct {
	ids    map[string]pdu.PMID
	errs   map[string]error
	leaves map[string][]string // of names that are not metrics
	descs  map[pdu.PMID]pdu.Desc
	noDesc map[pdu.PMID]error
}

// resolve looks up all names of requests, the metrics below them, and their descriptors. It only
// returns errors of the connection.
func (l *Logger) resolve(ctx context.Context, requests []logconf.Request) (*names, error) {
	n := &names{ids: map[string]pdu.PMID{}, errs: map[string]error{}, leaves: map[string][]string{},
		descs: map[pdu.PMID]pdu.Desc{}, noDesc: map[pdu.PMID]error{}}
	var all []string
	for i := range requests {
		for _, m := range requests[i].Metrics {
			all = append(all, m.Name)
		}
	}
	if err := l.lookup(ctx, n, all); err != nil {
		return nil, err
	}
	var below []string
	for name, err := range n.errs {
		if e := pdu.FromError(err); e != pdu.ErrNonLeaf && e != pdu.ErrName { // an unknown name may have derived metrics below it
			continue
		}
		leaves, err := l.src.Traverse(ctx, name)
		switch {
		case l.isLost(ctx, err):
			return nil, err
		case err != nil:
			continue
		}
		n.leaves[name] = leaves
		below = append(below, leaves...)
	}
	if err := l.lookup(ctx, n, below); err != nil {
		return nil, err
	}
	return n, l.describe(ctx, n)
}

// lookup looks up names.
func (l *Logger) lookup(ctx context.Context, n *names, list []string) error {
	slices.Sort(list)
	list = slices.Compact(list)
	if len(list) == 0 {
		return nil
	}
	ids, err := l.src.Lookup(ctx, list)
	if ids == nil {
		return err
	}
	for i, name := range list {
		if e := pmapi.ErrorAt(err, i); e != nil {
			n.errs[name] = e
		} else {
			n.ids[name] = ids[i]
		}
	}
	return nil
}

// describe gets the descriptors of all metrics that were found.
func (l *Logger) describe(ctx context.Context, n *names) error {
	var ids []pdu.PMID
	for _, id := range n.ids {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) == 0 {
		return nil
	}
	descs, err := l.src.Descs(ctx, ids)
	if descs == nil {
		return err
	}
	for i, id := range ids {
		if e := pmapi.ErrorAt(err, i); e != nil {
			n.noDesc[id] = e
		} else {
			n.descs[id] = descs[i]
		}
	}
	return nil
}

// configure adds the requests of the configuration, and reports the metrics that cannot be
// recorded.
func (l *Logger) configure(ctx context.Context, requests []logconf.Request) error {
	n, err := l.resolve(ctx, requests)
	if err != nil {
		return err
	}
	for i := range requests {
		r := &requests[i]
		s := Setting{Control: Control(r.Control), State: State(r.State), Interval: r.Interval}
		for j := range r.Metrics {
			m := &r.Metrics[j]
			if _, ok := n.ids[m.Name]; ok {
				if err := l.want(ctx, n, s, m, m.Name); err != nil {
					return err
				}
				continue
			}
			leaves := n.leaves[m.Name]
			if len(leaves) == 0 {
				l.report(MetricSkipped{m.File, m.Line, m.Name, "", "lookup", n.errs[m.Name]})
			}
			l.subtrees = append(l.subtrees, subtree{s, m, slices.Clone(leaves)})
			for _, leaf := range leaves {
				if err := l.want(ctx, n, s, m, leaf); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// A subtree is a request for a name that is not a metric, at least not yet.
type subtree struct {
	setting Setting
	request *logconf.Metric
	leaves  []string // metrics below the name that are known
}

// want adds a request for one metric.
func (l *Logger) want(ctx context.Context, n *names, s Setting, r *logconf.Metric, name string) error {
	id, ok := n.ids[name]
	if !ok {
		l.report(MetricSkipped{r.File, r.Line, name, "", "lookup", n.errs[name]})
		return nil
	}
	desc, ok := n.descs[id]
	if !ok {
		l.report(MetricSkipped{r.File, r.Line, name, "", "desc", n.noDesc[id]})
		return nil
	}
	insts, some, err := l.instances(ctx, r, name, desc)
	if err != nil || !some {
		return err
	}
	l.requests++
	l.metric(name, desc).configure(s, insts, l.requests, func(inst pdu.InstID, before Setting) {
		c := Conflict{File: r.File, Line: r.Line, Metric: name, Requested: s, Before: before}
		if inst != pdu.NoInst {
			c.Instance = l.instanceName(ctx, desc.InDom, inst)
		}
		l.report(c)
	})
	return nil
}

// metric returns the metric with a descriptor. It makes a new one if necessary.
func (l *Logger) metric(name string, desc pdu.Desc) *metric {
	m := l.metrics[desc.PMID]
	if m == nil {
		m = &metric{name: name, requested: []string{name}, desc: desc, logged: map[pdu.InstID]bool{},
			event: desc.Type == pdu.TypeEvent || desc.Type == pdu.TypeHighResEvent}
		l.metrics[desc.PMID] = m
		l.order = append(l.order, m)
	} else if !slices.Contains(m.requested, name) {
		m.requested = append(m.requested, name)
	}
	return m
}

// instances returns the instances that a request names. some is false if the request names
// instances but none of them exists.
func (l *Logger) instances(ctx context.Context, r *logconf.Metric, name string, desc pdu.Desc) (insts []pdu.InstID, some bool, err error) {
	if len(r.Instances) == 0 {
		return nil, true, nil
	}
	if desc.InDom == pdu.NoInDom {
		for _, i := range r.Instances {
			l.report(MetricSkipped{r.File, r.Line, name, i.String(), "instance", pdu.ErrInst})
		}
		return nil, false, nil
	}
	list, err := l.src.Instances(ctx, desc.InDom)
	if l.isLost(ctx, err) {
		return nil, false, err
	}
	for _, i := range r.Instances {
		id, ok := findInstance(list, i)
		if !ok {
			l.report(MetricSkipped{r.File, r.Line, name, i.String(), "instance", pdu.ErrInst})
			continue
		}
		if !slices.Contains(insts, id) {
			insts = append(insts, id)
		}
	}
	return insts, len(insts) > 0, nil
}

// findInstance finds an instance by its number or its name, or the name up to its first space.
func findInstance(list []pdu.Instance, i logconf.Instance) (pdu.InstID, bool) {
	for _, have := range list {
		if i.Name == "" && have.ID == pdu.InstID(i.ID) || i.Name != "" && have.Name == i.Name {
			return have.ID, true
		}
	}
	for _, have := range list {
		if i.Name != "" && firstWord(have.Name) == i.Name {
			return have.ID, true
		}
	}
	return 0, false
}

func firstWord(s string) string {
	for i := range len(s) {
		if s[i] == ' ' {
			return s[:i]
		}
	}
	return s
}

// instanceName returns the name of an instance, or its number if the name cannot be found.
func (l *Logger) instanceName(ctx context.Context, d pdu.InDom, inst pdu.InstID) string {
	name, err := l.src.InstName(ctx, d, inst)
	if err != nil {
		return fmt.Sprint(inst)
	}
	return name
}

// expand looks up again the metrics below the names of the configuration, and requests new ones.
func (l *Logger) expand(ctx context.Context) error {
	if len(l.subtrees) == 0 {
		return nil
	}
	var requests []logconf.Request
	for _, t := range l.subtrees {
		requests = append(requests, logconf.Request{Metrics: []logconf.Metric{*t.request}})
	}
	n, err := l.resolve(ctx, requests)
	if err != nil {
		return err
	}
	for i := range l.subtrees {
		t := &l.subtrees[i]
		leaves := n.leaves[t.request.Name]
		if _, ok := n.ids[t.request.Name]; ok {
			leaves = []string{t.request.Name}
		}
		for _, leaf := range leaves {
			if slices.Contains(t.leaves, leaf) {
				continue
			}
			t.leaves = append(t.leaves, leaf)
			if err := l.want(ctx, n, t.setting, t.request, leaf); err != nil {
				return err
			}
		}
	}
	l.plan()
	return nil
}
