package local

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/internal/source"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmns"
)

// inNames makes a request about names.
func inNames[T any](ctx context.Context, c *client, get func(t *pmns.Tree) (T, error)) (result T, err error) {
	if err := c.begin(ctx, nil); err != nil {
		return result, err
	}
	defer c.unwind()
	tree, err := c.agents.names()
	if err == nil {
		result, err = get(tree)
	}
	return result, c.end(ctx, err)
}

// subtree returns the agent of the dynamic subtree that a name is in, or nil.
func (c *client) subtree(ctx context.Context, t *pmns.Tree, name string) (pmda.Handler, error) {
	id, err := t.Lookup(name)
	if err != nil {
		return nil, nil // the caller's look-up in t fails too
	}
	d, ok := id.IsDynamicRoot()
	if !ok {
		return nil, nil
	}
	return c.agents.handler(ctx, d)
}

func (c *client) Lookup(ctx context.Context, names []string) (ids []pdu.PMID, errs source.Errors, err error) {
	ids, err = inNames(ctx, c, func(t *pmns.Tree) ([]pdu.PMID, error) {
		ids := make([]pdu.PMID, len(names))
		for i, name := range names {
			h, err := c.subtree(ctx, t, name)
			switch {
			case err != nil:
			case h != nil:
				ids[i], err = h.PMID(ctx, &c.request, name)
			default:
				ids[i], err = t.Lookup(name)
			}
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if err != nil {
				ids[i] = pdu.NoPMID
				errs.Set(i, len(names), code(err))
			}
		}
		return ids, nil
	})
	return ids, errs, err
}

func (c *client) Names(ctx context.Context, id pdu.PMID) ([]string, error) {
	return inNames(ctx, c, func(t *pmns.Tree) ([]string, error) {
		if _, root := id.IsDynamicRoot(); root {
			return nil, pdu.ErrPMID
		}
		if names := t.Names(id); len(names) > 0 {
			return names, nil
		}
		h, err := c.agents.handler(ctx, id.Domain())
		if err != nil {
			return nil, err
		}
		names, err := h.Names(ctx, &c.request, id)
		switch {
		case err != nil:
			return nil, code(err)
		case len(names) == 0:
			return nil, pdu.ErrPMID
		}
		return names, nil
	})
}

func (c *client) Children(ctx context.Context, name string) ([]pmns.Child, error) {
	return inNames(ctx, c, func(t *pmns.Tree) ([]pmns.Child, error) {
		h, err := c.subtree(ctx, t, name)
		switch {
		case err != nil:
			return nil, err
		case h == nil:
			return t.Children(name)
		}
		children, err := h.Children(ctx, &c.request, name)
		if err != nil {
			return nil, code(err)
		}
		return children, nil
	})
}

// Traverse returns the names before the first dynamic subtree that fails, with the error.
func (c *client) Traverse(ctx context.Context, name string) ([]string, error) {
	return inNames(ctx, c, func(t *pmns.Tree) ([]string, error) {
		if h, err := c.subtree(ctx, t, name); err != nil {
			return nil, err
		} else if h != nil {
			return c.appendBelow(ctx, h, nil, name, maxDepth)
		}
		all, err := t.Traverse(name)
		if err != nil {
			return nil, err
		}
		var names []string
		for n, id := range all {
			d, ok := id.IsDynamicRoot()
			if !ok {
				names = append(names, n)
				continue
			}
			h, err := c.agents.handler(ctx, d)
			if err == nil {
				names, err = c.appendBelow(ctx, h, names, n, maxDepth)
			}
			if err != nil && err != error(pdu.ErrName) { // an empty subtree is no error
				return names, err
			}
		}
		return names, nil
	})
}

// maxDepth limits the components of names in a dynamic subtree, because an agent's subtree may be
// endless.
const maxDepth = 64

// appendBelow appends the names of the metrics at and below a name in a dynamic subtree, in the
// agent's order. As in the C library, a name without children is a metric.
func (c *client) appendBelow(ctx context.Context, h pmda.Handler, names []string, name string, depth int) ([]string, error) {
	if depth == 0 {
		return names, pdu.ErrTooBig
	}
	children, err := h.Children(ctx, &c.request, name)
	switch {
	case err != nil:
		return names, code(err)
	case len(children) == 0:
		return append(names, name), nil
	}
	for _, child := range children {
		if full := name + "." + child.Name; child.Leaf {
			names = append(names, full)
		} else if names, err = c.appendBelow(ctx, h, names, full, depth-1); err != nil {
			return names, err
		}
	}
	return names, nil
}
