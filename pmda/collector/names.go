package collector

import (
	"iter"
	"log/slog"
	"slices"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// A nameSpace holds the merged names of all agents. trees are the trees that were merged.
type nameSpace struct {
	trees []*pmns.Tree
	tree  *pmns.Tree
}

// nameTree returns the name space: names from files first, then those of the agents in the order
// of their registration. It merges the trees again when one of them has changed.
func (s *Server) nameTree() *pmns.Tree {
	if have := s.names.Load(); have != nil && slices.Equal(have.trees, s.nameTrees()) {
		return have.tree
	}
	s.merging.Lock() // so that only one goroutine merges
	defer s.merging.Unlock()
	trees := s.nameTrees()
	if have := s.names.Load(); have != nil && slices.Equal(have.trees, trees) {
		return have.tree
	}
	tree, conflicts := pmns.Merge(trees...)
	for _, c := range conflicts {
		s.log.Warn("names conflict", slog.String("conflict", c))
	}
	s.names.Store(&nameSpace{trees: trees, tree: tree})
	return tree
}

// nameTrees returns the trees to merge.
func (s *Server) nameTrees() []*pmns.Tree {
	trees := make([]*pmns.Tree, 0, 16)
	if t := s.files.Load(); t != nil {
		trees = append(trees, t)
	}
	for _, a := range s.agents.Load().list {
		h := a.current()
		if h == nil {
			continue
		}
		var t *pmns.Tree
		s.protect(a, h, "name space", func() { t = h.Namespace() })
		if t != nil {
			trees = append(trees, t)
		}
	}
	return trees
}

// planLookup plans PMNS_NAMES, which returns the metrics of names. It calls agents for dynamic
// names.
func (r *request) planLookup(body []byte) error {
	var p pdu.NameList
	if err := p.Decode(body); err != nil {
		return err
	}
	if len(p.Names) == 0 {
		return pdu.ErrTooSmall
	}
	if err := r.reserve("names", planCost*len(p.Names)); err != nil {
		return err
	}
	tree := r.client.s.nameTree()
	static := make([]entry[pdu.PMID], len(p.Names))
	metrics := planCalls(r, len(p.Names), pdu.ErrNoAgent, "pmid", func(i int) (pdu.Domain, bool) {
		id, err := tree.Lookup(p.Names[i])
		static[i] = entry[pdu.PMID]{value: id, err: err}
		if err != nil {
			return 0, false
		}
		return id.IsDynamicRoot()
	}, func(k *call, i int) (pdu.PMID, error) {
		return k.handler.PMID(k.ctx, &k.agentRequest, p.Names[i])
	})
	r.finish = func(r *request) error {
		out := pdu.PMIDList{PMIDs: make([]pdu.PMID, len(metrics))}
		for i, m := range metrics {
			if m.of == nil {
				m = static[i]
			}
			id, err := m.result()
			if err != nil {
				id = pdu.NoPMID
				switch code := pdu.FromError(err); {
				case len(metrics) == 1:
					return err
				case code != pdu.ErrName && code != pdu.ErrNonLeaf && code != pdu.ErrNoAgent:
					return err
				}
			} else {
				out.Status++
			}
			out.PMIDs[i] = id
		}
		return r.reply(out)
	}
	return nil
}

// planNames plans PMNS_IDS, which returns the names of a metric.
func (r *request) planNames(body []byte) error {
	var p pdu.PMIDList
	if err := p.Decode(body); err != nil {
		return err
	}
	if len(p.PMIDs) != 1 {
		return pdu.ErrIPC
	}
	id := p.PMIDs[0]
	if _, root := id.IsDynamicRoot(); root {
		return pdu.ErrNoAgent // the root is no metric
	}
	if names := r.client.s.nameTree().Names(id); len(names) > 0 {
		r.finish = func(r *request) error { return r.reply(pdu.NameList{Names: names}) }
		return nil
	}
	planned := planCall(r, id.Domain(), pdu.ErrNoAgent, "names", func(k *call) ([]string, error) {
		return k.handler.Names(k.ctx, &k.agentRequest, id)
	})
	r.finish = func(r *request) error {
		names, err := planned.result()
		if err == nil && len(names) == 0 {
			err = pdu.ErrPMID
		}
		if err != nil {
			return err
		}
		return r.reply(pdu.NameList{Names: names})
	}
	return nil
}

// planChildren plans PMNS_CHILD.
func (r *request) planChildren(body []byte) error {
	var p pdu.ChildReq
	if err := p.Decode(body); err != nil {
		return err
	}
	tree := r.client.s.nameTree()
	if d, ok := dynamicRoot(tree, p.Name); ok {
		planned := planCall(r, d, pdu.ErrNoAgent, "children", func(k *call) ([]pmns.Child, error) {
			return k.handler.Children(k.ctx, &k.agentRequest, p.Name)
		})
		r.finish = func(r *request) error {
			children, err := planned.result()
			if err != nil {
				return err
			}
			return r.replyChildren(p, children)
		}
		return nil
	}
	children, err := tree.Children(p.Name)
	if err != nil {
		return err
	}
	r.finish = func(r *request) error { return r.replyChildren(p, children) }
	return nil
}

func (r *request) replyChildren(p pdu.ChildReq, children []pmns.Child) error {
	out := pdu.NameList{Names: make([]string, len(children))}
	if p.Status {
		out.Statuses = make([]int32, len(children))
	}
	for i, c := range children {
		out.Names[i] = c.Name
		if p.Status && !c.Leaf {
			out.Statuses[i] = pdu.NonLeaf
		}
	}
	return r.reply(out)
}

// dynamicRoot returns the domain of the agent that serves a name at or below the root of a
// dynamic subtree. It returns false for other names.
func dynamicRoot(t *pmns.Tree, name string) (pdu.Domain, bool) {
	id, err := t.Lookup(name)
	if err != nil {
		return 0, false
	}
	return id.IsDynamicRoot()
}

// traverseSubtree calls an agent for the names at and below a name in a dynamic subtree.
func traverseSubtree(k *call, name string) ([]string, error) {
	return k.handler.Traverse(k.ctx, &k.agentRequest, name)
}

// planTraverse plans PMNS_TRAVERSE.
func (r *request) planTraverse(body []byte) error {
	var p pdu.TraverseReq
	if err := p.Decode(body); err != nil {
		return err
	}
	tree := r.client.s.nameTree()
	all, err := tree.Traverse(p.Name)
	if err == nil {
		return r.planTraverseRoots(all)
	}
	d, ok := dynamicRoot(tree, p.Name)
	if !ok {
		return err
	}
	planned := planCall(r, d, pdu.ErrNoAgent, "traverse", func(k *call) ([]string, error) { return traverseSubtree(k, p.Name) })
	r.finish = func(r *request) error {
		more, err := planned.result()
		switch {
		case err == nil && len(more) > 0:
			return r.reply(pdu.NameList{Names: more})
		case err == pdu.ErrAgain || err == pdu.ErrTimeout:
			return err
		}
		return pdu.ErrName // for any other error, as in C pmcd
	}
	return nil
}

// planTraverseRoots replaces the root of each dynamic subtree by the names below it. If the agent
// of a subtree is missing or fails, the root's name stays. If the agent is not ready, the whole
// request fails. It also fails if an agent is overdue and there are no names other than roots.
func (r *request) planTraverseRoots(all iter.Seq2[string, pdu.PMID]) error {
	var names []string
	var domains []pdu.Domain // of roots; -1 for metrics
	for name, id := range all {
		d, ok := id.IsDynamicRoot()
		if !ok {
			d = -1
		}
		names, domains = append(names, name), append(domains, d)
	}
	if err := r.reserve("names", planCost*len(names)); err != nil {
		return err
	}
	subtrees := planCalls(r, len(names), pdu.ErrNoAgent, "traverse",
		func(i int) (pdu.Domain, bool) { return domains[i], domains[i] >= 0 },
		func(k *call, i int) ([]string, error) { return traverseSubtree(k, names[i]) })
	r.finish = func(r *request) error {
		var out []string
		overdue, metrics := false, false
		for i, sub := range subtrees {
			more, err := sub.result()
			switch {
			case pdu.FromError(err) == pdu.ErrAgain:
				return err
			case sub.of != nil && err == nil && len(more) > 0:
				out, metrics = append(out, more...), true
			default:
				out = append(out, names[i])
				overdue = overdue || sub.abandoned()
				metrics = metrics || sub.of == nil
			}
		}
		switch {
		case overdue && !metrics:
			return pdu.ErrTimeout
		case len(out) == 0:
			return pdu.ErrName
		}
		return r.reply(pdu.NameList{Names: out})
	}
	return nil
}
