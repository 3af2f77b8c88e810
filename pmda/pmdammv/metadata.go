package pmdammv

import (
	"context"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmns"
)

// Desc describes a metric.
func (h handler) Desc(ctx context.Context, r *pmda.Request, id pdu.PMID) (d pdu.Desc, err error) {
	err = h.a.find(ctx, func(s *snapshot) error {
		if c, ok := controlOf(id); ok {
			d = c.desc(id)
			return nil
		}
		m := s.metric(id)
		if m == nil {
			return pdu.ErrPMID
		}
		d = m.desc
		return nil
	})
	return d, err
}

// Instances lists an instance domain, or looks up an instance.
func (h handler) Instances(ctx context.Context, r *pmda.Request, id pdu.InDom, inst pdu.InstID, name string) (list []pdu.Instance, err error) {
	err = h.a.find(ctx, func(s *snapshot) error {
		d := s.indoms[id]
		if d == nil {
			return pdu.ErrInDom
		}
		list = d.instances()
		if inst == pdu.NoInst && name == "" {
			return nil
		}
		for i, in := range list {
			if name == "" && in.ID == inst || inst == pdu.NoInst && named(in.Name, name) {
				list = list[i : i+1 : i+1]
				return nil
			}
		}
		list = nil
		return pdu.ErrInst
	})
	return list, err
}

// named reports whether an instance is called name, as a whole or up to its first space.
func named(instance, name string) bool {
	short, _, _ := strings.Cut(instance, " ")
	return name != "" && (instance == name || short == name)
}

// Text returns a help text from the first file that has the metric or the instance domain.
func (h handler) Text(ctx context.Context, r *pmda.Request, of pdu.TextTarget, kind pdu.TextKind) (text string, err error) {
	if kind&pdu.TextOneLine != 0 {
		kind = pdu.TextOneLine
	} else {
		kind = pdu.TextHelp
	}
	err = h.a.find(ctx, func(s *snapshot) (err error) {
		text, err = s.text(of, kind)
		return err
	})
	return text, err
}

func (s *snapshot) text(of pdu.TextTarget, kind pdu.TextKind) (string, error) {
	if domain, ok := of.InDom(); ok {
		if d := s.indoms[domain]; d != nil {
			return d.parts[0].Text(kind)
		}
		return "", pdu.ErrText
	}
	id, _ := of.PMID()
	if c, ok := controlOf(id); ok && kind == pdu.TextOneLine {
		return c.text, nil
	} else if ok {
		return c.help, nil
	}
	if m := s.metric(id); m != nil {
		return m.in[0].m.Text(kind)
	}
	return "", pdu.ErrText
}

// PMID finds the metric of a name.
func (h handler) PMID(ctx context.Context, r *pmda.Request, name string) (id pdu.PMID, err error) {
	err = h.a.find(ctx, func(s *snapshot) (err error) {
		id, err = s.treeOf(name).Lookup(name)
		return err
	})
	return id, err
}

// Names returns the names of a metric. Files with the same cluster may name it differently.
func (h handler) Names(ctx context.Context, r *pmda.Request, id pdu.PMID) (names []string, err error) {
	err = h.a.find(ctx, func(s *snapshot) error {
		if names = s.namesOf(id); len(names) == 0 {
			return pdu.ErrPMID
		}
		return nil
	})
	return names, err
}

// Children returns the names one level below a name.
func (h handler) Children(ctx context.Context, r *pmda.Request, name string) (list []pmns.Child, err error) {
	err = h.findBelow(ctx, name, func(s *snapshot) (err error) {
		list, err = s.treeOf(name).Children(name)
		return err
	})
	return list, err
}

// Traverse returns the names of all metrics at and below a name.
func (h handler) Traverse(ctx context.Context, r *pmda.Request, name string) (list []string, err error) {
	err = h.findBelow(ctx, name, func(s *snapshot) error {
		all, err := s.treeOf(name).Traverse(name)
		if err != nil {
			return err
		}
		list = nil
		for n := range all {
			list = append(list, n)
		}
		return nil
	})
	return list, err
}

// findBelow is like find, for a name's descendants. Descendants of the root may be in any file.
func (h handler) findBelow(ctx context.Context, name string, look func(s *snapshot) error) error {
	if name != h.a.Agent.Name {
		return h.a.find(ctx, look)
	}
	s, err := h.a.fresh(ctx)
	if err != nil {
		return err
	}
	return look(s)
}
