package collector

import (
	"context"
	"log/slog"
	"slices"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmns"
)

// A nameSpace is the merged names with what they were merged of.
type nameSpace struct {
	trees []*pmns.Tree
	tree  *pmns.Tree
}

// nameTree is the name space: names from files first, then the agents' in the
// order of their coming. It is merged anew when one of them has changed.
func (s *Server) nameTree() *pmns.Tree {
	if have := s.names.Load(); have != nil && slices.Equal(have.trees, s.nameTrees()) {
		return have.tree
	}
	s.merging.Lock() // for one to merge what all need
	defer s.merging.Unlock()
	trees := s.nameTrees()
	if have := s.names.Load(); have != nil && slices.Equal(have.trees, trees) {
		return have.tree
	}
	tree, conflicts := pmns.Merge(trees...)
	for _, c := range conflicts {
		s.Logger.Warn("names conflict", slog.String("conflict", c.String()))
	}
	s.names.Store(&nameSpace{trees: trees, tree: tree})
	return tree
}

// nameTrees are what the name space consists of now.
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

// resolve finds the metric of a name, asking the agent if it is dynamic.
func (c *client) resolve(t *pmns.Tree, r *pmda.Request, name string) (pdu.PMID, error) {
	id, err := t.Lookup(name)
	if err != nil {
		return pdu.NoPMID, err
	}
	d, dynamic := id.IsDynamicRoot()
	if !dynamic {
		return id, nil
	}
	a, err := c.s.find(d, pdu.ErrNoAgent)
	if err != nil {
		return pdu.NoPMID, err
	}
	return guard(c, a, "pmid", func(ctx context.Context, h pmda.Handler) (pdu.PMID, error) { return h.PMID(ctx, r, name) })
}

// lookup answers PMNS_NAMES: the metrics of names.
func (c *client) lookup(_ pdu.Header, body []byte) error {
	var p pdu.NameList
	if err := p.Decode(body); err != nil {
		return err
	}
	if len(p.Names) == 0 {
		return pdu.ErrTooSmall
	}
	tree := c.s.nameTree()
	out := pdu.PMIDList{PMIDs: make([]pdu.PMID, len(p.Names))}
	for i, name := range p.Names {
		id, err := c.resolve(tree, c.request(), name)
		if err != nil {
			id = pdu.NoPMID
			switch code := pdu.FromError(err); {
			case len(p.Names) == 1 || err == errLost:
				return err
			case code != pdu.ErrName && code != pdu.ErrNonLeaf && code != pdu.ErrNoAgent:
				return err
			}
		} else {
			out.Status++
		}
		out.PMIDs[i] = id
	}
	return c.reply(out)
}

// reverse answers PMNS_IDS: the names of a metric.
func (c *client) reverse(_ pdu.Header, body []byte) error {
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
	names := c.s.nameTree().Names(id)
	if len(names) == 0 {
		a, err := c.s.find(id.Domain(), pdu.ErrNoAgent)
		if err != nil {
			return err
		}
		r := c.request()
		names, err = guard(c, a, "names", func(ctx context.Context, h pmda.Handler) ([]string, error) { return h.Names(ctx, r, id) })
		if err == nil && len(names) == 0 {
			err = pdu.ErrPMID
		}
		if err != nil {
			return err
		}
	}
	return c.reply(pdu.NameList{Names: names})
}

// children answers PMNS_CHILD.
func (c *client) children(_ pdu.Header, body []byte) error {
	var p pdu.ChildReq
	if err := p.Decode(body); err != nil {
		return err
	}
	kids, err := c.childrenOf(p.Name)
	if err != nil {
		return err
	}
	out := pdu.NameList{Names: make([]string, len(kids))}
	if p.Status {
		out.Statuses = make([]int32, len(kids))
	}
	for i, k := range kids {
		out.Names[i] = k.Name
		if p.Status && !k.Leaf {
			out.Statuses[i] = pdu.NonLeaf
		}
	}
	return c.reply(out)
}

func (c *client) childrenOf(name string) ([]pmns.Child, error) {
	tree := c.s.nameTree()
	if id, err := tree.Lookup(name); err == nil {
		if d, ok := id.IsDynamicRoot(); ok {
			return c.dynamicChildren(d, name)
		}
	}
	return tree.Children(name)
}

// dynamicChildren asks an agent for what is one level below a name.
func (c *client) dynamicChildren(d pdu.Domain, name string) ([]pmns.Child, error) {
	a, err := c.s.find(d, pdu.ErrNoAgent)
	if err != nil {
		return nil, err
	}
	r := c.request()
	return guard(c, a, "children", func(ctx context.Context, h pmda.Handler) ([]pmns.Child, error) {
		return h.Children(ctx, r, name)
	})
}

// dynamicNames asks an agent for the names at and below one.
func (c *client) dynamicNames(d pdu.Domain, name string) ([]string, error) {
	a, err := c.s.find(d, pdu.ErrNoAgent)
	if err != nil {
		return nil, err
	}
	r := c.request()
	return guard(c, a, "traverse", func(ctx context.Context, h pmda.Handler) ([]string, error) {
		return h.Traverse(ctx, r, name)
	})
}

// traverse answers PMNS_TRAVERSE. A dynamic subtree stands in the place of its
// root; one whose agent is not there leaves the root's name, and one that is not
// ready fails the whole.
func (c *client) traverse(_ pdu.Header, body []byte) error {
	var p pdu.TraverseReq
	if err := p.Decode(body); err != nil {
		return err
	}
	names, err := c.leaves(p.Name)
	if err != nil {
		return err
	}
	return c.reply(pdu.NameList{Names: names})
}

func (c *client) leaves(name string) ([]string, error) {
	tree := c.s.nameTree()
	all, err := tree.Traverse(name)
	if err != nil {
		if id, err := tree.Lookup(name); err == nil {
			if d, ok := id.IsDynamicRoot(); ok {
				return c.below(d, name)
			}
		}
		return nil, err
	}
	var names []string
	for name, id := range all {
		d, ok := id.IsDynamicRoot()
		if !ok {
			names = append(names, name)
			continue
		}
		more, err := c.dynamicNames(d, name)
		switch {
		case err == errLost || pdu.FromError(err) == pdu.ErrAgain:
			return nil, err
		case err != nil || len(more) == 0:
			names = append(names, name)
		default:
			names = append(names, more...)
		}
	}
	if len(names) == 0 {
		return nil, pdu.ErrName
	}
	return names, nil
}

// below gives the names at and below one within a dynamic subtree.
func (c *client) below(d pdu.Domain, name string) ([]string, error) {
	more, err := c.dynamicNames(d, name)
	switch {
	case err == nil && len(more) > 0:
		return more, nil
	case err == errLost || err == pdu.ErrAgain || err == pdu.ErrTimeout:
		return nil, err
	}
	return nil, pdu.ErrName // whatever the agent says, as C pmcd
}
