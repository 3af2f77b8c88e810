package collector

import "github.com/pcp-go/pcp/pdu"

// A query is a call that gets something other than values.
type query[T any] struct {
	call
	get   func(*call) (T, error)
	value T
}

func (q *query[T]) invoke() (err error) {
	q.value, err = q.get(&q.call)
	return err
}

// planCall plans a call of the agent of a domain. unknown is the error if there is no
// such agent. Nothing that get uses may be the client's or the request's, since it
// may go on when they do without it.
func planCall[T any](r *request, d pdu.Domain, unknown pdu.Error, method string, get func(*call) (T, error)) *query[T] {
	q := &query[T]{call: call{name: method}, get: get}
	q.method = q
	q.agent = r.client.s.agents.Load().get(d)
	if q.agent == nil {
		q.err = unknown
		q.state.Store(callDone)
		return q
	}
	r.add(&q.call)
	return q
}

// result is what the agent has returned. The error is a code, so that an agent's
// broken connection is not taken for the client's.
func (q *query[T]) result() (T, error) {
	err, done := q.outcome()
	if !done {
		var none T
		return none, err
	}
	if err != nil {
		err = failure(err)
	}
	return q.value, err
}

// An entry is one of several things that a request gets of agents.
type entry[T any] struct {
	of    *query[[]entry[T]] // the call that gets it; nil if it is known already
	index int                // where in its value
	value T
	err   error
}

// result is what an agent has returned for it.
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

// abandoned reports whether the call that gets it was abandoned.
func (e entry[T]) abandoned() bool { return e.of != nil && e.of.state.Load() == callAbandoned }

// planCalls plans calls that get n things, one call of each agent that gets all that
// are of its domain. domain says of which one a thing is, or that it has none. The
// same holds for get as in planCall.
func planCalls[T any](r *request, n int, unknown pdu.Error, method string,
	domain func(i int) (pdu.Domain, bool), get func(k *call, i int) (T, error)) []entry[T] {
	entries := make([]entry[T], n)
	indexes := map[pdu.Domain]*[]int{}
	queries := map[pdu.Domain]*query[[]entry[T]]{}
	for i := range entries {
		d, ok := domain(i)
		if !ok {
			continue
		}
		of := indexes[d]
		if of == nil {
			of = new([]int)
			indexes[d] = of
			var q *query[[]entry[T]]
			q = planCall(r, d, unknown, method, func(k *call) ([]entry[T], error) {
				for _, i := range *of {
					if err := k.ctx.Err(); err != nil {
						return q.value, err
					}
					v, err := get(k, i)
					if err != nil {
						err = failure(err)
					}
					q.value = append(q.value, entry[T]{value: v, err: err})
				}
				return q.value, nil
			})
			queries[d] = q
		}
		entries[i].of, entries[i].index = queries[d], len(*of)
		*of = append(*of, i)
	}
	return entries
}
