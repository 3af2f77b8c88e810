package webapi

import "github.com/pcp-go/pcp/pdu"

// profile adds instances to the profile of the context, or removes them.
func (q *query) profile() error {
	expr, ok := q.params.get("expr")
	if !ok {
		return badRequest("required parameter is missing: expr")
	}
	if err := q.open(); err != nil {
		return err
	}
	change := q.s.c.AddProfile
	switch expr {
	case "add":
	case "del":
		change = q.s.c.DelProfile
	default:
		return badRequest(expr + " - invalid 'expr' parameter value")
	}
	if err := q.checkMatch(); err != nil {
		return err
	}
	d, err := q.profileInDom()
	if err != nil {
		return err
	}
	ids, none, err := q.profileInstances(d)
	if err != nil {
		return err
	}
	if none {
		return q.succeed()
	}
	if err := change(d, ids...); err != nil {
		return badRequest(expr + " - " + text(err))
	}
	return q.succeed()
}

// profileInDom returns the instance domain of the request, or pdu.NoInDom for all.
func (q *query) profileInDom() (pdu.InDom, error) {
	if name, ok := q.params.get("name"); ok {
		return q.indomOf(name)
	}
	number, ok := q.params.get("indom")
	if !ok {
		return pdu.NoInDom, nil
	}
	d, err := parseInDom(number)
	if err != nil {
		return d, badRequest("invalid profile parameters")
	}
	return d, nil
}

// profileInstances returns the instances that the request selects; nil means all. None is true if
// its parameters match no instance.
func (q *query) profileInstances(d pdu.InDom) (ids []pdu.InstID, none bool, err error) {
	if !q.selects() || d == pdu.NoInDom {
		return nil, false, nil
	}
	insts, err := q.selected(d)
	for _, i := range insts {
		ids = append(ids, i.ID)
	}
	return ids, len(ids) == 0, err
}
