package pmdatest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// checkStore stores values that metrics can have, and the values in the option Stores. It also
// stores invalid values, which must not disturb the agent.
func (c *checker) checkStore() {
	for _, id := range c.unknownPMIDs() {
		err := c.store(request(0, nil), id, func(w *pdu.ResultWriter) { w.Uint32(pdu.NoInst, 1) })
		if err == nil {
			c.errorf("Store of the unknown metric %v: no error, want pdu.ErrPMID", id)
		}
	}
	for _, m := range c.metrics {
		c.storeOwn(m)
	}
	for _, s := range c.stores {
		c.storeListed(s)
	}
}

// store stores one set. Then it overwrites the memory of the values, which the Handler must not
// keep.
func (c *checker) store(r *pmda.Request, id pdu.PMID, add func(w *pdu.ResultWriter)) error {
	var w pdu.ResultWriter
	w.Begin(id)
	add(&w)
	b, err := w.Append(make([]byte, pdu.HeaderLen), pdu.FormatLowRes)
	if err != nil {
		return err
	}
	body := b[pdu.HeaderLen:]
	values := &pdu.Result{Format: pdu.FormatLowRes}
	if err := values.DecodeInPlace(body); err != nil {
		return err
	}
	before := slices.Clone(body)
	err = c.h.Store(c.ctx, r, values)
	if err == errReported {
		return err
	}
	if !slices.Equal(before, body) {
		c.errorf("%s: Store: it has changed the values that it was given", c.h.nameOf(id))
	}
	for i := range body {
		body[i] = 0xee
	}
	return err
}

// storeOwn stores the values of a fetch, and invalid values.
func (c *checker) storeOwn(m metric) {
	r := request(0, nil)
	accepts := false
	if set := c.setOf(r, m); set != nil && set.Len() > 0 && !isEvent(m.desc.Type) {
		err := c.store(r, m.desc.PMID, copyOf(m, *set))
		c.refusal(m, "the value that a fetch has", err)
		if accepts = err == nil; accepts && c.readOnly && !c.lists(m.name) {
			c.errorf("%s: Store of the value that a fetch has: no error, but Stores does not list the metric: refuse it with pdu.ErrPermission, or list it", m.name)
		}
	}
	inst, unknown := pdu.NoInst, pdu.InstID(0)
	for _, d := range c.indoms {
		if d.id == m.desc.InDom {
			inst = d.unknown()
			unknown = inst
			if len(d.list) > 0 {
				inst = d.list[0].ID
			}
		}
	}
	wrong := func(w *pdu.ResultWriter) { w.Bytes(pdu.TypeAggregate, inst, []byte{1, 2, 3}) }
	if m.desc.Type >= pdu.TypeAggregate {
		wrong = func(w *pdu.ResultWriter) { w.Uint64(inst, 1) }
	}
	c.storeBad(m, accepts, "a value of a wrong type", wrong)
	if m.desc.InDom == pdu.NoInDom {
		c.storeBad(m, accepts, "an instance of a singular metric", func(w *pdu.ResultWriter) { w.Atom(unknown, zero(m.desc.Type)) })
		return
	}
	c.storeBad(m, accepts, "a singular value, but the metric has instances", func(w *pdu.ResultWriter) { w.Atom(pdu.NoInst, zero(m.desc.Type)) })
	what := fmt.Sprintf("instance %d, which is not listed", unknown)
	err := c.storeBad(m, accepts, what, func(w *pdu.ResultWriter) { w.Atom(unknown, zero(m.desc.Type)) })
	if err == nil && accepts {
		c.errorf("%s: Store of %s: no error, want pdu.ErrInst", m.name, what)
	}
}

// copyOf returns a function that adds the values of a set.
func copyOf(m metric, s pdu.ValueSet) func(w *pdu.ResultWriter) {
	return func(w *pdu.ResultWriter) {
		for inst, a := range s.All(m.desc.Type) {
			w.Atom(inst, a)
		}
	}
}

// zero returns the zero value of a type.
func zero(t pdu.Type) pdu.Atom {
	a, err := pdu.ParseAtom("0", t)
	if err != nil {
		return pdu.Aggregate([]byte("0"))
	}
	return a
}

// lists reports whether Stores lists a metric.
func (c *checker) lists(metric string) bool {
	return slices.ContainsFunc(c.stores, func(s Store) bool { return s.Metric == metric })
}

// refusal checks the error code of a refused store.
func (c *checker) refusal(m metric, what string, err error) {
	if err != errReported && pdu.FromError(err) == pdu.ErrGeneric {
		c.errorf("%s: Store of %s: %s: a function of it has panicked or returned an error without a code of PCP; give it one, such as pdu.ErrBadStore", m.name, what, errorText(err))
	}
}

// storeBad stores what a Handler is likely to refuse. The Handler may accept it, but a refused
// store must not change a value. That is checked only if the metric accepts stores at all.
func (c *checker) storeBad(m metric, accepts bool, what string, add func(w *pdu.ResultWriter)) error {
	const attempts = 3 // because a value may change between fetches
	r := request(0, nil)
	for n := 1; ; n++ {
		before, steady := c.steady(r, m)
		err := c.store(r, m.desc.PMID, add)
		c.refusal(m, what, err)
		if err == nil || err == errReported || !accepts || !steady {
			return err
		}
		was, is := c.textOf(m, before), c.setText(r, m)
		if was == is {
			return err
		}
		if n == attempts {
			c.errorf("%s: Store of %s: %s, but the value was %s and is %s: check a value before it is set", m.name, what, errorText(err), was, is)
			return err
		}
		_ = c.store(r, m.desc.PMID, copyOf(m, *before)) // restore the old value
	}
}

// steady returns the set of a metric, and whether two fetches have the same set.
func (c *checker) steady(r *pmda.Request, m metric) (set *pdu.ValueSet, ok bool) {
	first := c.setOf(r, m)
	set = c.setOf(r, m)
	return set, set != nil && !c.changing && c.textOf(m, first) == c.textOf(m, set)
}

// setOf fetches a metric for a client and returns its set, or nil if the fetch failed.
func (c *checker) setOf(r *pmda.Request, m metric) *pdu.ValueSet {
	result, _ := c.fetchFor(r, []pdu.PMID{m.desc.PMID})
	if result == nil {
		return nil
	}
	s := result.At(0)
	return &s
}

// setText returns the current values of a metric as text.
func (c *checker) setText(r *pmda.Request, m metric) string { return c.textOf(m, c.setOf(r, m)) }

// textOf returns the values of a set as text.
func (c *checker) textOf(m metric, s *pdu.ValueSet) string {
	switch {
	case s == nil:
		return "none"
	case s.Err() != nil:
		return errorText(s.Err())
	}
	var b strings.Builder
	for inst, a := range s.All(m.desc.Type) {
		if inst != pdu.NoInst {
			fmt.Fprintf(&b, "%d: ", inst)
		}
		fmt.Fprintf(&b, "%q ", a.String())
	}
	return strings.TrimSpace(b.String())
}

// storeOf makes a store of the option Stores.
func (c *checker) storeOf(s Store, r *pmda.Request) error {
	m, inst, err := c.target(s.Metric, s.Instance)
	if err != nil {
		return err
	}
	a, err := pdu.ParseAtom(s.Value, m.desc.Type)
	if err != nil {
		return fmt.Errorf("the value %q: %w", s.Value, err)
	}
	return c.store(r, m.desc.PMID, func(w *pdu.ResultWriter) { w.Atom(inst, a) })
}

// target finds a metric and an instance of it by their names.
func (c *checker) target(name, instance string) (metric, pdu.InstID, error) {
	at := slices.IndexFunc(c.metrics, func(m metric) bool { return m.name == name })
	if at < 0 {
		return metric{}, 0, fmt.Errorf("%q is no metric: %w", name, pdu.ErrName)
	}
	m := c.metrics[at]
	if instance == "" {
		return m, pdu.NoInst, nil
	}
	for _, d := range c.indoms {
		for _, i := range d.list {
			if d.id == m.desc.InDom && i.Name == instance {
				return m, i.ID, nil
			}
		}
	}
	return m, 0, fmt.Errorf("%q is no instance: %w", instance, pdu.ErrInst)
}

// storeListed makes a store of the option Stores, and checks its effect.
func (c *checker) storeListed(s Store) {
	what := fmt.Sprintf("%s: Store(%q)", s.Metric, s.Value)
	if s.Instance != "" {
		what = fmt.Sprintf("%s[%s]: Store(%q)", s.Metric, s.Instance, s.Value)
	}
	r := request(0, nil)
	if s.Client != nil {
		r.Client = s.Client
		c.h.SetClient(s.Client)
		defer c.h.EndClient(s.Client)
	}
	if s.Shows == "" {
		s.Shows = s.Metric
	}
	seen, inst, err := c.target(s.Shows, s.Instance)
	if err != nil && s.Shows != s.Metric {
		seen, inst, err = c.target(s.Shows, "") // a singular metric that shows the effect
	}
	if err != nil {
		c.errorf("%s: the effect cannot be seen: %v", what, err)
		return
	}
	before, steady := c.steady(r, seen)
	switch err := c.storeOf(s, r); {
	case err == errReported:
		return
	case s.Err != 0:
		c.wantCode(err, s.Err, "%s", what)
		if was, is := c.textOf(seen, before), c.setText(r, seen); steady && was != is {
			c.errorf("%s: %s, but %s was %s and is %s: check a value before it is set", what, errorText(err), s.Shows, was, is)
		}
		return
	case err != nil:
		c.errorf("%s: %s, but Stores says that it succeeds", what, errorText(err))
		return
	}
	c.wantEffect(what, s, r, seen, inst)
}

// wantEffect checks that the value after a store is the expected one.
func (c *checker) wantEffect(what string, s Store, r *pmda.Request, seen metric, inst pdu.InstID) {
	text := s.Want
	if text == "" {
		text = s.Value
	}
	want, err := pdu.ParseAtom(text, seen.desc.Type)
	if err != nil || isEvent(seen.desc.Type) {
		return // no value to compare
	}
	set := c.setOf(r, seen)
	if set == nil {
		return
	}
	for id, a := range set.All(seen.desc.Type) {
		if id == inst && a.Equal(want) {
			return
		}
	}
	c.errorf("%s: no error, but then %s is %s, want %q", what, s.Shows, c.setText(r, seen), text)
}
