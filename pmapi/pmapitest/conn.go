package pmapitest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/internal/archivesource"
	"github.com/pcp-go/pcp/pmapi/internal/source"
	"github.com/pcp-go/pcp/pmns"
)

// A conn is the connection of one context to a Source. The lock of the Source guards it.
type conn struct {
	s       *Source
	closing chan struct{} // closed by Close
	closed  bool
	lost    error // why the connection is broken, or nil
	lostAt  time.Time
	noticed bool       // a request has failed since
	never   bool       // it has not been connected yet
	changed pdu.Change // what the next fetch reports
	epoch   source.Epoch
	known   known
	gap     *pmapi.Gap            // not reported yet
	seen    map[*eventQueue]int   // number of records sent, or recorded before the connection
	replay  *archivesource.Source // of a source of Replay, or nil
}

// begin begins a request and locks the source. On success the caller must unlock it.
func (c *conn) begin(ctx context.Context, r Request) error {
	err := c.wait(ctx, r)
	c.s.mu.Lock()
	c.s.applyOutages()
	switch {
	case c.closed:
		err = pdu.ErrNoContext
	case ctx.Err() != nil:
	case c.s.hasEnded() && (r.Method == "Lookup" || r.Method == "Fetch"):
		err = source.ErrEnd // a Group without known names makes no fetch
	default:
		if err == nil {
			err = c.connect()
		}
		if err != nil && c.s.hasEnded() {
			err = source.ErrEnd
		}
	}
	if err != nil {
		c.s.mu.Unlock()
	}
	return err
}

// wait waits for the delay and for OnRequest. Close ends both.
func (c *conn) wait(ctx context.Context, r Request) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.s.mu.Lock()
	delay := c.s.delay
	c.s.mu.Unlock()
	if delay == 0 && c.s.OnRequest == nil {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-c.closing:
			cancel(pdu.ErrNoContext)
		case <-done:
		}
	}()
	if err := c.s.sleep(ctx, delay); err != nil {
		return err
	}
	if c.s.OnRequest == nil {
		return nil
	}
	return c.s.OnRequest(ctx, r)
}

// A lostError is the error of requests on a broken connection.
type lostError struct{ cause error }

func (e lostError) Error() string { return pdu.ErrIPC.Error() + ": " + e.cause.Error() }

func (e lostError) Unwrap() []error { return []error{pdu.ErrIPC, e.cause} }

// lose breaks the connection, at a time that is not in the future.
func (c *conn) lose(cause error, at time.Time) {
	if c.lost == nil {
		c.lost, c.lostAt, c.changed = cause, at, 0
		c.epoch.Connection++
	}
}

// connect reconnects if AutoReconnect allows it. The first request after a loss still fails.
func (c *conn) connect() error {
	switch {
	case c.lost == nil:
		return nil
	case !c.s.AutoReconnect || !c.noticed || c.s.broken != nil:
		c.noticed = true
		return lostError{c.lost}
	}
	c.restore()
	return nil
}

// restore connects again. With AutoReconnect, it finds the gap.
func (c *conn) restore() {
	if c.s.AutoReconnect && !c.never {
		c.gap = c.findGap()
	}
	c.lost, c.noticed, c.never = nil, false, false
	c.skipEvents()
}

func (c *conn) Close() error {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if !c.closed {
		c.closed = true
		close(c.closing)
		c.s.conns = slices.DeleteFunc(c.s.conns, func(other *conn) bool { return other == c })
		if c.replay != nil {
			return c.replay.Close()
		}
	}
	return nil
}

func (c *conn) Epoch() source.Epoch {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	e := c.epoch
	if c.replay != nil {
		r := c.replay.Epoch()
		e.Connection += r.Connection
		e.Names += r.Names
		e.Labels += r.Labels
	}
	return e
}

func (c *conn) Now() time.Time { return c.s.Now() }

func (c *conn) Sleep(ctx context.Context, d time.Duration) error { return c.s.sleep(ctx, d) }

func (c *conn) Reconnect(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.applyOutages()
	switch {
	case c.closed:
		return pdu.ErrNoContext
	case c.s.broken != nil:
		return lostError{c.s.broken}
	}
	c.lose(errors.New("Reconnect was called"), c.s.now())
	c.restore()
	return nil
}

func (c *conn) Dup(context.Context) (source.Source, error) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.applyOutages()
	switch {
	case c.closed:
		return nil, pdu.ErrNoContext
	case c.s.broken != nil && !c.s.AutoReconnect:
		return nil, lostError{c.s.broken}
	}
	d := c.s.connect()
	d.known, d.never = c.known.clone(), c.never
	return d, nil
}

func (c *conn) HostName(ctx context.Context) (string, error) {
	if err := c.begin(ctx, Request{Method: "HostName"}); err != nil {
		return "", err
	}
	defer c.s.mu.Unlock()
	return c.s.host(), nil
}

func (c *conn) Lookup(ctx context.Context, names []string) ([]pdu.PMID, source.Errors, error) {
	if err := c.begin(ctx, Request{Method: "Lookup", Names: names}); err != nil {
		return nil, nil, err
	}
	defer c.s.mu.Unlock()
	if c.replay != nil {
		return c.played().a.Lookup(ctx, names)
	}
	ids := make([]pdu.PMID, len(names))
	var errs source.Errors
	for i, name := range names {
		m := c.s.byName(name)
		if m == nil {
			ids[i] = pdu.NoPMID
			code := pdu.ErrName
			if list, err := c.s.tree().Children(name); err == nil && len(list) > 0 {
				code = pdu.ErrNonLeaf
			}
			errs.Set(i, len(names), code)
			continue
		}
		ids[i] = m.desc.PMID
		c.known.ids[name] = ids[i]
	}
	return ids, errs, nil
}

// tree builds the name space.
func (s *Source) tree() *pmns.Tree {
	var b pmns.Builder
	for _, m := range s.metrics {
		if err := b.Add(m.name, m.desc.PMID); err != nil {
			panic("pmapitest: " + err.Error())
		}
	}
	return b.Tree()
}

func (c *conn) Names(ctx context.Context, id pdu.PMID) ([]string, error) {
	if err := c.begin(ctx, Request{Method: "Names", PMIDs: []pdu.PMID{id}}); err != nil {
		return nil, err
	}
	defer c.s.mu.Unlock()
	if c.replay != nil {
		return c.played().a.Names(ctx, id)
	}
	m := c.s.byPMID(id)
	if m == nil {
		return nil, pdu.ErrPMID
	}
	c.known.ids[m.name] = id
	return []string{m.name}, nil
}

func (c *conn) Children(ctx context.Context, name string) ([]pmns.Child, error) {
	if err := c.begin(ctx, Request{Method: "Children", Names: []string{name}}); err != nil {
		return nil, err
	}
	defer c.s.mu.Unlock()
	if c.replay != nil {
		return c.played().a.Children(ctx, name)
	}
	return c.s.tree().Children(name)
}

func (c *conn) Traverse(ctx context.Context, name string) ([]string, error) {
	if err := c.begin(ctx, Request{Method: "Traverse", Names: []string{name}}); err != nil {
		return nil, err
	}
	defer c.s.mu.Unlock()
	if c.replay != nil {
		return c.played().a.Traverse(ctx, name)
	}
	all, err := c.s.tree().Traverse(name)
	if err != nil {
		return nil, err
	}
	var names []string
	for n := range all {
		names = append(names, n)
	}
	return names, nil
}

func (c *conn) Descs(ctx context.Context, ids []pdu.PMID) ([]pdu.Desc, source.Errors, error) {
	if err := c.begin(ctx, Request{Method: "Descs", PMIDs: ids}); err != nil {
		return nil, nil, err
	}
	defer c.s.mu.Unlock()
	if c.replay != nil {
		return c.played().descs(ctx, ids)
	}
	descs := make([]pdu.Desc, len(ids))
	var errs source.Errors
	for i, id := range ids {
		d, err := c.s.desc(id)
		if err != nil {
			errs.Set(i, len(ids), pdu.FromError(err))
		} else {
			c.known.descs[id] = d
		}
		descs[i] = d
	}
	return descs, errs, nil
}

func (s *Source) desc(id pdu.PMID) (pdu.Desc, error) {
	none := pdu.Desc{PMID: pdu.NoPMID}
	m := s.byPMID(id)
	switch {
	case m == nil:
		return none, pdu.ErrPMID
	case m.descErr != nil:
		return none, m.descErr
	}
	return m.desc, nil
}

func (c *conn) Instances(ctx context.Context, req pdu.InstanceReq) ([]pdu.Instance, error) {
	if err := c.begin(ctx, Request{Method: "Instances"}); err != nil {
		return nil, err
	}
	defer c.s.mu.Unlock()
	if c.replay != nil {
		return c.played().instances(ctx, req)
	}
	d := c.s.indom(req.InDom)
	switch {
	case d == nil:
		return nil, pdu.ErrInDom
	case d.err != nil:
		return nil, pdu.FromError(d.err)
	case req.Inst == pdu.NoInst && req.Name == "":
		c.known.insts[d.id] = sorted(d.list)
		return slices.Clone(d.list), nil
	}
	for _, i := range d.list {
		if req.Name == "" && i.ID == req.Inst || req.Name != "" && isNamed(i, req.Name) {
			return []pdu.Instance{i}, nil
		}
	}
	return nil, pdu.ErrInst
}

func (c *conn) Texts(ctx context.Context, reqs []pdu.TextReq) ([]string, source.Errors, error) {
	if err := c.begin(ctx, Request{Method: "Texts"}); err != nil {
		return nil, nil, err
	}
	defer c.s.mu.Unlock()
	if c.replay != nil {
		return c.played().texts(ctx, reqs)
	}
	texts := make([]string, len(reqs))
	var errs source.Errors
	for i, r := range reqs {
		m := c.s.byPMID(pdu.PMID(r.Ident))
		switch {
		case r.Text&pdu.TextPMID == 0:
			errs.Set(i, len(reqs), pdu.ErrText)
			continue
		case m == nil:
			errs.Set(i, len(reqs), pdu.ErrPMID)
			continue
		case r.Text&pdu.TextHelp != 0:
			texts[i] = m.help
		default:
			texts[i] = m.text
		}
		if texts[i] == "" {
			errs.Set(i, len(reqs), pdu.ErrText)
		}
	}
	return texts, errs, nil
}

func (c *conn) Labels(ctx context.Context, reqs []pdu.LabelReq, profile *pdu.Profile) ([][]pdu.LabelSet, source.Errors, error) {
	if err := c.begin(ctx, Request{Method: "Labels"}); err != nil {
		return nil, nil, err
	}
	defer c.s.mu.Unlock()
	if c.replay != nil {
		return c.played().a.Labels(ctx, reqs, profile)
	}
	all := make([][]pdu.LabelSet, len(reqs))
	var errs source.Errors
	for i, r := range reqs {
		sets, err := c.s.labelSets(r, profile)
		if err != nil {
			errs.Set(i, len(reqs), pdu.FromError(err))
		}
		all[i] = sets
	}
	return all, errs, nil
}

// labelSets returns the label sets of a request, without empty ones.
func (s *Source) labelSets(r pdu.LabelReq, profile *pdu.Profile) (sets []pdu.LabelSet, err error) {
	add := func(inst pdu.InstID, text string) {
		if text == "" || err != nil {
			return
		}
		var set pdu.LabelSet
		if set, err = pdu.ParseLabels(r.Class, text, false); err == nil {
			set.Inst = inst
			sets = append(sets, set)
		}
	}
	switch r.Class {
	case pdu.LabelContext:
		add(pdu.NoInst, s.Labels)
	case pdu.LabelDomain, pdu.LabelCluster:
		add(pdu.NoInst, s.labels[labelKey(r.Class, r.Ident)])
	case pdu.LabelItem:
		m := s.byPMID(pdu.PMID(r.Ident))
		if m == nil {
			return nil, pdu.ErrPMID
		}
		add(pdu.NoInst, m.labels)
	case pdu.LabelInDom, pdu.LabelInstances:
		d := s.indom(pdu.InDom(r.Ident))
		if d == nil {
			return nil, pdu.ErrInDom
		}
		if r.Class == pdu.LabelInDom {
			add(pdu.NoInst, d.labels)
			break
		}
		for _, i := range d.list {
			if d.inst != nil && profile.Includes(d.id, i.ID) {
				add(i.ID, d.inst(i))
			}
		}
	}
	return sets, err
}

func (c *conn) Fetch(ctx context.Context, ids []pdu.PMID, profile *pdu.Profile, r *pdu.Result) error {
	w := pdu.ResultWriter{}
	sets, changed, err := c.beginFetch(ctx, ids, &w.Time)
	if err != nil {
		return err
	}
	if c.replay != nil {
		c.replay.PlayAt(w.Time)
		if err = c.replay.Fetch(ctx, ids, profile, r); err == nil {
			r.Changed = changed
		}
		return err
	}
	for i, s := range sets {
		s.write(&w, ids[i], profile)
	}
	whole, err := w.Result()
	if err != nil {
		return err
	}
	whole.Format, whole.Changed = pdu.FormatHighRes, changed
	*r = *whole
	return nil
}

// A set is a copy of a metric, so that a fetch can make its values without the lock.
type set struct {
	metric
	insts []pdu.Instance
	now   time.Time
}

// beginFetch does the part of a fetch that needs the lock.
func (c *conn) beginFetch(ctx context.Context, ids []pdu.PMID, now *time.Time) ([]set, pdu.Change, error) {
	if err := c.begin(ctx, Request{Method: "Fetch", PMIDs: ids}); err != nil {
		return nil, 0, err
	}
	s := c.s
	defer s.mu.Unlock()
	*now = s.now()
	if gap := c.gap; gap != nil {
		c.gap, c.epoch.Gap = nil, gap
		return nil, 0, gap
	}
	changed := c.changed
	c.changed = 0
	if changed&pdu.ChangeNames != 0 || changed&(pdu.ChangeAddAgent|pdu.ChangeRestartAgent|pdu.ChangeDropAgent) != 0 {
		c.epoch.Names++
	}
	if changed&pdu.ChangeLabels != 0 {
		c.epoch.Labels++
	}
	if s.failed != nil {
		return nil, 0, s.failed
	}
	sets := make([]set, len(ids))
	for i, id := range ids {
		m := s.byPMID(id)
		if m == nil {
			sets[i].err = pdu.ErrPMID
			continue
		}
		sets[i] = set{metric: *m, now: *now, insts: []pdu.Instance{{ID: pdu.NoInst}}}
		sets[i].values = slices.Clone(m.values)
		if m.events != nil && m.err == nil {
			a, err := c.takeEvents(m)
			sets[i].values, sets[i].err = []value{{pdu.NoInst, a}}, err
		}
		if d := s.indom(m.desc.InDom); d != nil {
			sets[i].insts = slices.Clone(d.list)
		}
	}
	return sets, changed, nil
}

// write writes the values that a profile includes.
func (s *set) write(w *pdu.ResultWriter, id pdu.PMID, profile *pdu.Profile) {
	includes := func(i pdu.InstID) bool {
		return s.desc.InDom == pdu.NoInDom || profile.Includes(s.desc.InDom, i)
	}
	w.Begin(id)
	if s.value != nil && s.err == nil {
		s.values = nil
		for _, i := range s.insts {
			if !includes(i.ID) {
				continue
			}
			switch a, err := s.value(s.now, i); {
			case err == nil:
				s.values = append(s.values, value{i.ID, a})
			case !errors.Is(err, pdu.ErrValue):
				s.err = err
			}
		}
	}
	if s.err != nil {
		w.Fail(pdu.FromError(s.err))
		return
	}
	for _, v := range s.values {
		if includes(v.inst) {
			w.Atom(v.inst, v.atom)
		}
	}
}

// Store sets the values of metrics that have no Value function.
func (c *conn) Store(ctx context.Context, r *pdu.Result) error {
	var ids []pdu.PMID
	for _, s := range r.All() {
		ids = append(ids, s.PMID)
	}
	if err := c.begin(ctx, Request{Method: "Store", PMIDs: ids}); err != nil {
		return err
	}
	defer c.s.mu.Unlock()
	if c.replay != nil {
		return pdu.ErrPermission
	}
	for _, s := range r.All() {
		m := c.s.byPMID(s.PMID)
		switch {
		case m == nil:
			return pdu.ErrPMID
		case m.value != nil:
			return pdu.ErrPermission
		}
		for i := range s.Len() {
			if !c.s.hasInstance(m.desc.InDom, s.Inst(i)) {
				return pdu.ErrInst
			}
		}
	}
	for _, s := range r.Clone().All() { // r belongs to the caller
		m := c.s.byPMID(s.PMID)
		for inst, a := range s.All(m.desc.Type) {
			m.set(inst, a)
		}
	}
	return nil
}

// hasInstance reports whether a domain has an instance. Only pdu.NoInst exists without a domain.
func (s *Source) hasInstance(id pdu.InDom, inst pdu.InstID) bool {
	d := s.indom(id)
	if d == nil {
		return inst == pdu.NoInst
	}
	return slices.ContainsFunc(d.list, func(i pdu.Instance) bool { return i.ID == inst })
}

// sorted returns the instances by number.
func sorted(list []pdu.Instance) []pdu.Instance {
	return slices.SortedFunc(slices.Values(list), func(a, b pdu.Instance) int { return cmp.Compare(a.ID, b.ID) })
}

// isNamed reports whether a name is that of an instance, in full or up to a space.
func isNamed(i pdu.Instance, name string) bool {
	first, _, _ := strings.Cut(i.Name, " ")
	return name == i.Name || name == first
}
