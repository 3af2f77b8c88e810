package collector

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// store answers RESULT from a client: it sets values, domain by domain. What
// fails in one domain does not keep the others from being set.
func (c *client) store(_ pdu.Header, body []byte) error {
	var res pdu.Result
	if err := res.Decode(body); err != nil {
		return err
	}
	if err := res.Validate(); err != nil {
		return err
	}
	if res.Len() == 0 {
		return pdu.ErrTooSmall
	}
	var order []pdu.Domain
	parts := map[pdu.Domain]*pdu.ResultWriter{}
	for _, s := range res.All() {
		if s.Len() == 0 {
			return pdu.ErrValue
		}
		d := s.PMID.Domain()
		w := parts[d]
		if w == nil {
			w = new(pdu.ResultWriter)
			parts[d] = w
			order = append(order, d)
		}
		w.Copy(s)
	}
	stores := make([]domainStore, len(order))
	for i, d := range order {
		stores[i] = domainStore{d, &res}
		if len(order) > 1 {
			var err error
			if stores[i].values, err = parts[d].Result(); err != nil {
				return err
			}
		}
	}
	return c.storeAll(stores, 0)
}

// A domainStore is what a store sets in one domain.
type domainStore struct {
	domain pdu.Domain
	values *pdu.Result
}

// storeAll sets values and answers, with an error if there was a worse one before.
func (c *client) storeAll(stores []domainStore, worst pdu.Error) error {
	for i, st := range stores {
		before := worst
		c.rest = func() error { return c.storeAll(stores[i+1:], worse(before, pdu.ErrTimeout)) }
		c.extended = false // each domain is worth a wait
		err := c.storeTo(st.domain, st.values)
		if err == errLost {
			return err
		}
		worst = worse(worst, pdu.FromError(err))
	}
	c.rest = nil
	return c.reply(pdu.Status{Code: worst})
}

func (c *client) storeTo(d pdu.Domain, values *pdu.Result) error {
	a := c.s.agents.Load().get(d)
	if a == nil {
		return pdu.ErrNoAgent
	}
	h := a.current() // fencing does not keep values from being set
	if h == nil {
		return pdu.ErrNoAgent
	}
	r := c.request()
	r.Profile = c.profiles[0]
	_, err := guardOf(c, a, h, "store", func(ctx context.Context, h pmda.Handler) (struct{}, error) {
		return struct{}{}, h.Store(ctx, r, values)
	})
	return err
}

// worse is the code that a client gets for failures in two domains: a broken
// exchange counts most, then a missing agent, then one that is not ready, then
// what came last.
func worse(a, b pdu.Error) pdu.Error {
	rank := func(e pdu.Error) int {
		switch e {
		case 0:
			return 0
		case pdu.ErrAgain:
			return 2
		case pdu.ErrNoAgent:
			return 3
		case pdu.ErrIPC, pdu.ErrTimeout:
			return 4
		}
		return 1
	}
	if rank(b) >= rank(a) {
		return b
	}
	return a
}
