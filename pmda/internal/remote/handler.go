package remote

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmns"
)

// keepResult is how many bytes of a reply are kept for the next.
const keepResult = 64 << 10

// A fetch of more than wholeFetch metrics is made in parts, each in an exchange of its
// own, so that the requests of other clients come in between. The first part has
// firstPart metrics, and further ones so many that each takes a few milliseconds.
const (
	wholeFetch = 1024
	firstPart  = 64
	shortPart  = 5 * time.Millisecond  // the next one is longer
	longPart   = 20 * time.Millisecond // the next one is shorter
)

// Fetch requests values, and before that sends the client's profile if the agent has
// another. It allocates nothing in steady state.
func (a *Agent) Fetch(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	if len(ids) <= wholeFetch {
		return a.fetchPart(ctx, r, ids, w)
	}
	n := firstPart
	for len(ids) > 0 {
		n = min(n, len(ids))
		begin := time.Now()
		if err := a.fetchPart(ctx, r, ids[:n], w); err != nil {
			return err
		}
		ids = ids[n:]
		now := time.Now()
		took := now.Sub(begin)
		switch {
		case len(ids) > 0 && !r.Deadline.IsZero() && now.Add(took).After(r.Deadline):
			return pdu.ErrTimeout // the next part would be late, and hold up others
		case took < shortPart:
			n = min(2*n, wholeFetch)
		case took > longPart:
			n = max(n/2, 1)
		}
	}
	return nil
}

// fetchPart is Fetch in one exchange.
func (a *Agent) fetchPart(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	if err := a.acquireTurn(ctx, r); err != nil {
		return err
	}
	defer a.endTurn()
	a.fetch.Context, a.fetch.PMIDs = r.ContextID, ids
	defer func() { a.fetch.PMIDs = nil }() // they are the caller's
	err := a.runInTurn(exchange{ctx, r, &a.fetch, pdu.KindResult}, func(body []byte) error {
		return a.copyResult(body, ids, w)
	})
	if err == nil {
		err = w.Err()
	}
	return err
}

// copyResult writes the sets of a result, which must be those of ids. A long result
// is not copied before. If w has no memory for them, it has an Err.
func (a *Agent) copyResult(body []byte, ids []pdu.PMID, w *pdu.ResultWriter) error {
	r, decode := &a.result, a.result.Decode
	if len(body) > keepResult {
		r = new(pdu.Result)
		decode = r.DecodeInPlace
	}
	if err := decode(body); err != nil {
		return err
	}
	if r.Len() != len(ids) {
		return fmt.Errorf("agent replied with %d metrics, not %d", r.Len(), len(ids))
	}
	for i, id := range ids {
		if got := r.At(i).PMID; got != id {
			return fmt.Errorf("agent replied with metric %v in place of %v", got, id)
		}
	}
	w.Changed |= a.change(r) | a.lateChange
	a.lateChange = 0
	if w.GrowFor(r) != nil {
		return nil
	}
	done := 0
	for i := range ids {
		w.Copy(r.At(i))
		if w.Size()-done > yieldBytes {
			done = w.Size()
			runtime.Gosched()
		}
	}
	return nil
}

// yieldBytes is how much of a long result is copied before other goroutines may run.
const yieldBytes = 256 << 10

// agentChanges are the changes that an agent can report.
const agentChanges = pdu.ChangeLabels | pdu.ChangeNames

// change returns the state change that an agent sends in the place of a result's time. Some
// agents send a time there, which is ignored and logged once.
func (a *Agent) change(r *pdu.Result) pdu.Change {
	if r.Time.IsZero() {
		return 0
	}
	sec := r.Time.Unix()
	if sec&^int64(agentChanges) != 0 && !a.oddChange {
		a.oddChange = true
		a.cfg.Logger.Warn("agent sent a bogus state change", a.attrs(slog.Int64("change", sec))...)
	}
	return pdu.Change(sec) & agentChanges
}

// Desc requests a descriptor.
func (a *Agent) Desc(ctx context.Context, r *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
	var p pdu.DescReply
	err := a.runExchange(exchange{ctx, r, pdu.DescReq{PMID: id}, pdu.KindDesc}, func(body []byte) error {
		if err := p.Decode(body); err != nil {
			return err
		}
		if p.Desc.PMID != id {
			return fmt.Errorf("agent described metric %v in place of %v", p.Desc.PMID, id)
		}
		return nil
	})
	return p.Desc, err
}

// Instances requests the instances of a domain. For one instance, agents send only the number or
// name that the request lacks. Instances fills in the other from the request.
func (a *Agent) Instances(ctx context.Context, r *pmda.Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error) {
	var p pdu.InstanceReply
	err := a.runExchange(exchange{ctx, r, pdu.InstanceReq{InDom: d, Inst: inst, Name: name}, pdu.KindInstance}, p.Decode)
	switch {
	case err != nil:
		return nil, err
	case inst == pdu.NoInst && name == "":
		return p.Instances, nil
	case len(p.Instances) == 0:
		return nil, pdu.ErrInst
	}
	one := &p.Instances[0]
	if one.ID == pdu.NoInst {
		one.ID = inst
	}
	if one.Name == "" {
		one.Name = name
	}
	return p.Instances[:1], nil
}

// Text requests a help text.
func (a *Agent) Text(ctx context.Context, r *pmda.Request, of pdu.TextTarget, kind pdu.TextKind) (string, error) {
	var p pdu.TextReply
	err := a.runExchange(exchange{ctx, r, of.Request(kind), pdu.KindText}, p.Decode)
	return p.Text, err
}

// Store requests that values be set.
func (a *Agent) Store(ctx context.Context, r *pmda.Request, values *pdu.Result) error {
	return a.runExchange(exchange{ctx, r, stored{values}, pdu.KindError}, func([]byte) error { return nil })
}

// A stored is a Result in the only format that agents know, without a time.
type stored struct{ *pdu.Result }

func (stored) Kind() pdu.Kind { return pdu.KindResult }

func (s stored) Append(b []byte) ([]byte, error) {
	v := *s.Result
	v.Format, v.Time = pdu.FormatLowRes, time.Time{}
	return v.Append(b)
}

// PMID requests the metric of a name.
func (a *Agent) PMID(ctx context.Context, r *pmda.Request, name string) (pdu.PMID, error) {
	var p pdu.PMIDList
	err := a.runExchange(exchange{ctx, r, pdu.NameList{Names: []string{name}}, pdu.KindPMNSIDs}, func(body []byte) error {
		if err := p.Decode(body); err != nil {
			return err
		}
		if p.Status >= 0 && len(p.PMIDs) != 1 {
			return fmt.Errorf("agent replied with %d metrics for one name", len(p.PMIDs))
		}
		return nil
	})
	switch {
	case err != nil:
		return pdu.NoPMID, err
	case p.Status < 0:
		return pdu.NoPMID, pdu.Error(p.Status)
	case p.PMIDs[0] == pdu.NoPMID:
		return pdu.NoPMID, pdu.ErrName
	}
	return p.PMIDs[0], nil
}

// Names requests the names of a metric.
func (a *Agent) Names(ctx context.Context, r *pmda.Request, id pdu.PMID) ([]string, error) {
	p, err := a.names(ctx, r, pdu.PMIDList{PMIDs: []pdu.PMID{id}})
	if err == nil && len(p.Names) == 0 {
		err = pdu.ErrPMID
	}
	return p.Names, err
}

// Children requests the names one level below a name. If the agent sends no status, a child is a
// leaf.
func (a *Agent) Children(ctx context.Context, r *pmda.Request, name string) ([]pmns.Child, error) {
	p, err := a.names(ctx, r, pdu.ChildReq{Name: name, Status: true})
	if err != nil {
		return nil, err
	}
	children := make([]pmns.Child, len(p.Names))
	for i, name := range p.Names {
		children[i] = pmns.Child{Name: name, Leaf: p.Statuses == nil || p.Statuses[i] == pdu.Leaf}
	}
	return children, nil
}

// Traverse requests the names of all metrics at or below a name.
func (a *Agent) Traverse(ctx context.Context, r *pmda.Request, name string) ([]string, error) {
	p, err := a.names(ctx, r, pdu.TraverseReq{Name: name})
	return p.Names, err
}

func (a *Agent) names(ctx context.Context, r *pmda.Request, request pdu.PDU) (pdu.NameList, error) {
	var p pdu.NameList
	err := a.runExchange(exchange{ctx, r, request, pdu.KindPMNSNames}, p.Decode)
	if err == nil && p.Err < 0 {
		return pdu.NameList{}, p.Err
	}
	return p, err
}

// Labels requests labels, and before that sends the client's profile if the agent has
// another.
func (a *Agent) Labels(ctx context.Context, r *pmda.Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	var p pdu.LabelReply
	req := of.Request()
	err := a.runExchange(exchange{ctx, r, req, pdu.KindLabel}, func(body []byte) error {
		// The texts alias the body, which another request overwrites.
		if err := p.Decode(bytes.Clone(body)); err != nil {
			return err
		}
		if p.Ident != req.Ident || p.Class != req.Class {
			return fmt.Errorf("agent replied with labels of %#x, class %#x, in place of %#x, class %#x", p.Ident, int(p.Class), req.Ident, int(req.Class))
		}
		return nil
	})
	return p.Sets, err
}
