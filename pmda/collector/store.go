package collector

import "github.com/pcp-go/pcp/pdu"

// planStore plans RESULT from a client, which stores values. A failure in one domain does not
// prevent stores in other domains.
func (r *request) planStore(body []byte) error {
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
	r.agentRequest.Profile = r.client.profiles[0].Profile // RESULT has no context number
	stores := make([]*typedCall[struct{}], len(order))
	for i, d := range order {
		values := &res
		if len(order) > 1 {
			var err error
			if values, err = parts[d].Result(); err != nil {
				return err
			}
		}
		stores[i] = planCall(r, d, pdu.ErrNoAgent, "store", func(k *call) (struct{}, error) {
			return struct{}{}, k.handler.Store(k.ctx, &k.agentRequest, values)
		})
		stores[i].store = true
		for _, set := range values.All() {
			stores[i].metrics = append(stores[i].metrics, set.PMID)
		}
	}
	r.finish = func(r *request) error {
		var worst pdu.Error
		for _, store := range stores {
			_, err := store.result()
			worst = worse(worst, pdu.FromError(err))
		}
		return r.reply(pdu.Status{Code: worst})
	}
	return nil
}

// worse returns the code that a client gets for failures in two domains. A broken connection
// takes precedence, then a missing agent, then one that is not ready, then the latest failure.
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
