package collector

import "github.com/pcp-go/pcp/pdu"

// A typedCall is a call with a typed result. The result of a store is struct{}.
type typedCall[T any] struct {
	call
	do    func(*call) (T, error)
	value T
}

func (t *typedCall[T]) invoke() (err error) {
	t.value, err = t.do(&t.call)
	return err
}

// planCall plans a call of the agent of a domain. If the domain has no agent, the call fails with
// unknown. do must not use data of the client or the request, because it may still run after the
// request has abandoned the call.
func planCall[T any](r *request, d pdu.Domain, unknown pdu.Error, method string, do func(*call) (T, error)) *typedCall[T] {
	t := &typedCall[T]{call: call{name: method}, do: do}
	t.method = t
	t.agent = r.agentOf(d)
	if t.agent == nil {
		t.err = unknown
		t.state.Store(callDone)
		return t
	}
	r.add(&t.call)
	return t
}

// result returns the agent's result. The error is a code, so that an agent's broken connection is
// not mistaken for the client's.
func (t *typedCall[T]) result() (T, error) {
	err, done := t.outcome()
	if !done {
		var none T
		return none, err
	}
	if err != nil {
		err = failure(err)
	}
	return t.value, err
}

// An entry is one of several things that a request gets from agents.
type entry[T any] struct {
	of    *typedCall[[]entry[T]] // the call that gets it; nil if it is known already
	index int                    // where in its value
	value T
	err   error
}

// result returns the agent's result for the entry.
func (e entry[T]) result() (T, error) {
	if e.of == nil {
		return e.value, e.err
	}
	all, err := e.of.result()
	if e.index < len(all) {
		return all[e.index].value, all[e.index].err
	}
	return e.value, err
}

// abandoned reports whether the call for the entry was abandoned.
func (e entry[T]) abandoned() bool { return e.of != nil && e.of.state.Load() == callAbandoned }

// planCost is about how many bytes planCalls takes for each thing.
const planCost = 192

// planCalls plans calls that get n things: one call of each agent, for all the things of its
// domain. domain returns the domain of thing i, or false if it has no domain. The requirements on
// do are those of planCall.
func planCalls[T any](r *request, n int, unknown pdu.Error, method string,
	domain func(i int) (pdu.Domain, bool), do func(k *call, i int) (T, error)) []entry[T] {
	entries := make([]entry[T], n)
	indexes := map[pdu.Domain]*[]int{}
	calls := map[pdu.Domain]*typedCall[[]entry[T]]{}
	for i := range entries {
		d, ok := domain(i)
		if !ok {
			continue
		}
		of := indexes[d]
		if of == nil {
			of = new([]int)
			indexes[d] = of
			var t *typedCall[[]entry[T]]
			t = planCall(r, d, unknown, method, func(k *call) ([]entry[T], error) {
				for _, i := range *of {
					if err := k.ctx.Err(); err != nil {
						return t.value, err
					}
					v, err := do(k, i)
					if err != nil {
						err = failure(err)
					}
					t.value = append(t.value, entry[T]{value: v, err: err})
				}
				return t.value, nil
			})
			calls[d] = t
		}
		entries[i].of, entries[i].index = calls[d], len(*of)
		*of = append(*of, i)
	}
	return entries
}
