// Package override replaces single methods of an agent in tests.
package override

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmns"
)

// Methods is a wrapper whose functions, where they are not nil, replace the methods
// of their names. Next is the wrapped Handler.
type Methods struct {
	Next pmda.Handler

	Fetch     func(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error
	Desc      func(ctx context.Context, r *pmda.Request, id pdu.PMID) (pdu.Desc, error)
	Instances func(ctx context.Context, r *pmda.Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error)
	Text      func(ctx context.Context, r *pmda.Request, of pdu.TextTarget, kind pdu.TextKind) (string, error)
	Store     func(ctx context.Context, r *pmda.Request, values *pdu.Result) error
	PMID      func(ctx context.Context, r *pmda.Request, name string) (pdu.PMID, error)
	Names     func(ctx context.Context, r *pmda.Request, id pdu.PMID) ([]string, error)
	Children  func(ctx context.Context, r *pmda.Request, name string) ([]pmns.Child, error)
	Traverse  func(ctx context.Context, r *pmda.Request, name string) ([]string, error)
	Labels    func(ctx context.Context, r *pmda.Request, of pdu.LabelTarget) ([]pdu.LabelSet, error)
}

// In wraps an agent with a Methods that replaces nothing yet.
func In(a *pmda.Agent) *Methods {
	m := new(Methods)
	a.Use(func(next pmda.Handler) pmda.Handler {
		m.Next = next
		return handler{next, m}
	})
	return m
}

type handler struct {
	pmda.Handler
	m *Methods
}

func (h handler) Fetch(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	if f := h.m.Fetch; f != nil {
		return f(ctx, r, ids, w)
	}
	return h.Handler.Fetch(ctx, r, ids, w)
}

func (h handler) Desc(ctx context.Context, r *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
	if f := h.m.Desc; f != nil {
		return f(ctx, r, id)
	}
	return h.Handler.Desc(ctx, r, id)
}

func (h handler) Instances(ctx context.Context, r *pmda.Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error) {
	if f := h.m.Instances; f != nil {
		return f(ctx, r, d, inst, name)
	}
	return h.Handler.Instances(ctx, r, d, inst, name)
}

func (h handler) Text(ctx context.Context, r *pmda.Request, of pdu.TextTarget, kind pdu.TextKind) (string, error) {
	if f := h.m.Text; f != nil {
		return f(ctx, r, of, kind)
	}
	return h.Handler.Text(ctx, r, of, kind)
}

func (h handler) Store(ctx context.Context, r *pmda.Request, values *pdu.Result) error {
	if f := h.m.Store; f != nil {
		return f(ctx, r, values)
	}
	return h.Handler.Store(ctx, r, values)
}

func (h handler) PMID(ctx context.Context, r *pmda.Request, name string) (pdu.PMID, error) {
	if f := h.m.PMID; f != nil {
		return f(ctx, r, name)
	}
	return h.Handler.PMID(ctx, r, name)
}

func (h handler) Names(ctx context.Context, r *pmda.Request, id pdu.PMID) ([]string, error) {
	if f := h.m.Names; f != nil {
		return f(ctx, r, id)
	}
	return h.Handler.Names(ctx, r, id)
}

func (h handler) Children(ctx context.Context, r *pmda.Request, name string) ([]pmns.Child, error) {
	if f := h.m.Children; f != nil {
		return f(ctx, r, name)
	}
	return h.Handler.Children(ctx, r, name)
}

func (h handler) Traverse(ctx context.Context, r *pmda.Request, name string) ([]string, error) {
	if f := h.m.Traverse; f != nil {
		return f(ctx, r, name)
	}
	return h.Handler.Traverse(ctx, r, name)
}

func (h handler) Labels(ctx context.Context, r *pmda.Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	if f := h.m.Labels; f != nil {
		return f(ctx, r, of)
	}
	return h.Handler.Labels(ctx, r, of)
}
