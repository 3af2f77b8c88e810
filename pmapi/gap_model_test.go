package pmapi_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/pdutest"
	"github.com/pcp-go/pcp/pmapi"
)

// A modelCollector has the metadata of a collector.
type modelCollector struct {
	names map[string]pdu.PMID
	descs map[pdu.PMID]pdu.Desc
	insts map[pdu.InDom][]pdu.Instance
	busy  map[pdu.Domain]bool // domains whose agents are busy
}

func newModelCollector() *modelCollector {
	return &modelCollector{map[string]pdu.PMID{}, map[pdu.PMID]pdu.Desc{}, map[pdu.InDom][]pdu.Instance{}, map[pdu.Domain]bool{}}
}

// reply replies as pmcd does.
func (w *modelCollector) reply(features pdu.Features) func(h pdu.Header, p pdu.PDU) []byte {
	desc := func(id pdu.PMID) (pdu.Desc, pdu.Error) {
		d, ok := w.descs[id]
		switch {
		case w.busy[id.Domain()]:
			return pdu.Desc{PMID: pdu.NoPMID}, pdu.ErrAgain
		case !ok:
			return pdu.Desc{PMID: pdu.NoPMID}, pdu.ErrPMID
		}
		return d, 0
	}
	return func(h pdu.Header, p pdu.PDU) []byte {
		switch p := p.(type) {
		case *pdu.NameList:
			var r pdu.PMIDList
			for _, n := range p.Names {
				id, ok := w.names[n]
				if !ok {
					id = pdu.NoPMID
				}
				r.PMIDs = append(r.PMIDs, id)
			}
			if len(r.PMIDs) == 1 && r.PMIDs[0] == pdu.NoPMID {
				return frame(pdu.Status{Code: pdu.ErrName})
			}
			return frame(r)
		case *pdu.PMIDList:
			var r pdu.NameList
			for _, n := range slices.Sorted(maps.Keys(w.names)) {
				if w.names[n] == p.PMIDs[0] {
					r.Names = append(r.Names, n)
				}
			}
			if len(r.Names) == 0 {
				return frame(pdu.Status{Code: pdu.ErrPMID})
			}
			return frame(r)
		case *pdu.DescReq:
			if d, code := desc(p.PMID); code == 0 {
				return frame(pdu.DescReply{Desc: d})
			} else {
				return frame(pdu.Status{Code: code})
			}
		case *pdu.DescsReq:
			var r pdu.DescsReply
			for _, id := range p.PMIDs {
				d, _ := desc(id)
				r.Descs = append(r.Descs, d)
			}
			return frame(r)
		case *pdu.InstanceReq:
			list, ok := w.insts[p.InDom]
			switch {
			case w.busy[p.InDom.Domain()]:
				return frame(pdu.Status{Code: pdu.ErrAgain})
			case !ok:
				return frame(pdu.Status{Code: pdu.ErrInDom})
			}
			return frame(pdu.InstanceReply{InDom: p.InDom, Instances: list})
		}
		return echo(h, p)
	}
}

// returnedMetadata is the metadata that a context has returned.
type returnedMetadata struct {
	names map[string]pdu.PMID
	descs map[pdu.PMID]pdu.Desc
	insts map[pdu.InDom][]pdu.Instance
}

// A gapModel models a context that reconnects automatically.
type gapModel struct {
	features  pdu.Features
	w         *modelCollector
	user, now returnedMetadata // what the user knows, and the state at the latest check
	pending   *pmapi.Gap       // not reported yet
	dead      bool             // the connection, but it is not known
	host      *host
	c         *pmapi.Context
}

// check compares everything on a new connection.
func (s *gapModel) check() {
	g := &pmapi.Gap{Names: map[string]pmapi.GapChange[pdu.PMID]{}, Descs: map[pdu.PMID]pmapi.GapChange[pdu.Desc]{},
		InDoms: map[pdu.InDom]pmapi.GapChange[[]pdu.Instance]{}, Unchecked: map[string]error{}}
	for _, n := range slices.Sorted(maps.Keys(s.user.names)) {
		is, ok := s.w.names[n]
		if !ok {
			is = pdu.NoPMID
		}
		if was := s.user.names[n]; was != is {
			g.Names[n] = pmapi.GapChange[pdu.PMID]{Was: was, Is: is}
		}
		s.now.names[n] = is
	}
	for _, id := range slices.Sorted(maps.Keys(s.user.descs)) {
		was, busy := s.user.descs[id], s.w.busy[id.Domain()]
		is, ok := s.w.descs[id]
		if !ok {
			is = pdu.Desc{PMID: pdu.NoPMID}
		}
		if busy {
			g.Unchecked["descriptor of "+id.String()] = pdu.ErrAgain
			is = was
		}
		if was != is {
			g.Descs[id] = pmapi.GapChange[pdu.Desc]{Was: was, Is: is}
		}
		s.now.descs[id] = is
	}
	for _, d := range slices.Sorted(maps.Keys(s.user.insts)) {
		was, is := s.user.insts[d], byNumber(s.w.insts[d])
		if s.w.busy[d.Domain()] {
			g.Unchecked["instances of "+d.String()] = pdu.ErrAgain
			is = was
		}
		if !slices.Equal(was, is) {
			g.InDoms[d] = pmapi.GapChange[[]pdu.Instance]{Was: was, Is: is}
		}
		s.now.insts[d] = is
	}
	s.pending, s.dead = g, false
}

// noteName, noteDesc and noteInDom note what was returned. If a pending gap has a change of the
// item, user keeps the earlier state, because the gap will report the change.
func (s *gapModel) noteName(n string, id pdu.PMID) {
	if s.pending == nil || !isKey(s.pending.Names, n) {
		s.user.names[n] = id
	}
	s.now.names[n] = id
}

func (s *gapModel) noteDesc(d pdu.Desc) {
	if s.pending == nil || !isKey(s.pending.Descs, d.PMID) {
		s.user.descs[d.PMID] = d
	}
	s.now.descs[d.PMID] = d
}

func (s *gapModel) noteInDom(d pdu.InDom, list []pdu.Instance) {
	if s.pending == nil || !isKey(s.pending.InDoms, d) {
		s.user.insts[d] = list
	}
	s.now.insts[d] = list
}

func isKey[K comparable, V any](m map[K]V, key K) bool {
	_, ok := m[key]
	return ok
}

func byNumber(list []pdu.Instance) []pdu.Instance {
	return slices.SortedFunc(slices.Values(list), func(a, b pdu.Instance) int { return cmp.Compare(a.ID, b.ID) })
}

// sameGap compares gaps without times and cause, which it checks separately.
func sameGap(want, got *pmapi.Gap) string {
	type plain pmapi.Gap // is no error
	g := plain(*got)
	g.Lost, g.Restored, g.Cause = time.Time{}, time.Time{}, nil
	diff := gocmp.Diff(plain(*want), g, cmpopts.EquateEmpty(), gocmp.Transformer("error", func(e error) string { return fmt.Sprint(e) }))
	if got.Cause == nil || got.Lost.IsZero() || got.Restored.Before(got.Lost) {
		diff += fmt.Sprintf("lost at %v, back at %v: %v", got.Lost, got.Restored, got.Cause)
	}
	return diff
}

// An event is a step in a run of a gapModel: one of the modelCollector, or a request.
type event struct {
	Kind, Name, Item, Value int
	Many                    []int
}

const kinds = 13 // of events

func (s *gapModel) restart() {
	s.host.restart(replying(s.features, s.w.reply(s.features)))
	s.dead = true
}

// apply makes an event happen and returns an error if the context behaves wrongly.
func (s *gapModel) apply(ctx context.Context, e event) error {
	name, id := fmt.Sprint("n.", e.Name), pdu.MakePMID(pdu.Domain(40+e.Item%2), 0, e.Item)
	d := pdu.MakeInDom(pdu.Domain(40+e.Item%2), e.Item)
	switch e.Kind {
	case 0:
		s.w.names[name] = id
	case 1:
		delete(s.w.names, name)
	case 2:
		s.w.descs[id] = pdu.Desc{PMID: id, Type: pdu.Type(e.Value % 3), InDom: pdu.NoInDom, Sem: pdu.SemInstant, Units: pdu.Units(e.Value)}
	case 3:
		delete(s.w.descs, id)
	case 4:
		var list []pdu.Instance
		for i, v := range e.Many {
			list = append(list, pdu.Instance{ID: pdu.InstID(10 - i), Name: fmt.Sprint("i", v)})
		}
		s.w.insts[d] = list
	case 5:
		delete(s.w.insts, d)
		s.w.busy[id.Domain()] = !s.w.busy[id.Domain()]
	case 6:
		s.restart()
	default:
		return s.makeRequest(ctx, e, name, id, d)
	}
	return nil
}

// makeRequest looks up names, descriptors or instances, or fetches.
func (s *gapModel) makeRequest(ctx context.Context, e event, name string, id pdu.PMID, d pdu.InDom) error {
	var err error
	note := func() {}
	switch e.Kind {
	case 7:
		names := []string{name}
		for _, n := range e.Many {
			names = append(names, fmt.Sprint("n.", n))
		}
		_, err = s.c.Lookup(ctx, names)
		note = func() {
			for _, n := range names {
				if id, ok := s.w.names[n]; ok {
					s.noteName(n, id)
				}
			}
		}
	case 8:
		_, err = s.c.Names(ctx, id)
		note = func() {
			for n, of := range s.w.names {
				if of == id {
					s.noteName(n, id)
				}
			}
		}
	case 9:
		ids := []pdu.PMID{id, pdu.MakePMID(41, 0, e.Value)}[:1+e.Name%2]
		_, err = s.c.Descs(ctx, ids)
		note = func() {
			for _, id := range ids {
				if d, ok := s.w.descs[id]; ok && !s.w.busy[id.Domain()] {
					s.noteDesc(d)
				}
			}
		}
	case 10:
		list, ok := s.w.insts[d]
		_, err = s.c.Instances(ctx, d)
		note = func() {
			if ok && !s.w.busy[d.Domain()] {
				s.noteInDom(d, byNumber(list))
			}
		}
	case 11:
		s.c.HostName(ctx) // does not take the gap
		if s.host.tried() > 0 {
			s.check()
		}
		s.dead = false // or it is known now
		return nil
	case 12:
		return s.fetch(ctx)
	}
	if s.host.tried() > 0 {
		s.check()
	}
	switch {
	case s.dead && errors.Is(err, pdu.ErrIPC):
		s.dead = false // it is known now
	case s.dead:
		return fmt.Errorf("%v of a dead connection", err)
	case err == nil, errors.Is(err, pdu.ErrName), errors.Is(err, pdu.ErrPMID), errors.Is(err, pdu.ErrInDom), errors.Is(err, pdu.ErrAgain):
		note()
	default:
		return err
	}
	return nil
}

func (s *gapModel) fetch(ctx context.Context) error {
	var r pdu.Result
	err := s.c.Fetch(ctx, []pdu.PMID{9}, &r)
	if s.host.tried() > 0 {
		s.check()
	}
	gap, ok := errors.AsType[*pmapi.Gap](err)
	switch {
	case s.pending != nil && !ok:
		return fmt.Errorf("%v in place of a gap", err)
	case s.pending != nil:
		if diff := sameGap(s.pending, gap); diff != "" {
			return fmt.Errorf("gap (-want +got):\n%s", diff)
		}
		s.user = returnedMetadata{maps.Clone(s.now.names), maps.Clone(s.now.descs), maps.Clone(s.now.insts)}
		s.pending = nil
	case s.dead && errors.Is(err, pdu.ErrIPC):
		s.dead = false // it is known now
	case s.dead || err != nil:
		return fmt.Errorf("dead %v, but %w", s.dead, err)
	}
	return nil
}

// The next Fetch reports all changes during a collector's absence, or several, precisely and once.
func TestGapModel(t *testing.T) {
	upTo := func(n int) *rapid.Generator[int] {
		return rapid.SampledFrom([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}[:n])
	}
	events := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) event {
		return event{
			Kind: upTo(kinds).Draw(t, "kind"), Name: upTo(4).Draw(t, "name"), Item: upTo(4).Draw(t, "item"), Value: upTo(4).Draw(t, "value"),
			Many: rapid.SliceOfN(upTo(4), 0, 3).Draw(t, "many"),
		}
	}), 40, 100)
	rapid.Check(t, func(rt *rapid.T) {
		features := rapid.SampledFrom([]pdu.Features{allFeatures, pdu.FeatureHighRes}).Draw(rt, "features")
		list := events.Draw(rt, "events")
		var failure error
		synctest.Test(t, func(t *testing.T) { failure = runGapModel(t, features, list) })
		if failure != nil {
			rt.Error(failure)
		}
	})
}

func runGapModel(t *testing.T, features pdu.Features, list []event) error {
	nothing := func() returnedMetadata {
		return returnedMetadata{map[string]pdu.PMID{}, map[pdu.PMID]pdu.Desc{}, map[pdu.InDom][]pdu.Instance{}}
	}
	s := &gapModel{features: features, w: newModelCollector(), user: nothing(), now: nothing()}
	s.host = newHost(t, replying(features, s.w.reply(features)))
	d := pmapi.Dialer{AutoReconnect: true}
	var err error
	if s.c, err = d.Local(t.Context(), s.host); err != nil {
		return err
	}
	defer s.c.Close()
	s.host.tried()
	fetch := event{Kind: 12}
	for i, e := range append(list, event{Kind: 6}, fetch, fetch, fetch) {
		if err := s.apply(t.Context(), e); err != nil {
			return fmt.Errorf("event %d, %+v: %w", i, e, err)
		}
	}
	if s.dead || s.pending != nil {
		return errors.New("the end is not as it should be")
	}
	return nil
}

// If the collector goes away during a check, the whole check is repeated, but not sooner than the
// back-off allows.
func TestGapAfterFailures(t *testing.T) {
	for limit := range 3 { // how many replies the new collector sends at first: of names, descriptors, instances
		synctest.Test(t, func(t *testing.T) {
			w := newModelCollector()
			w.names["a"], w.names["b"] = 1, 2
			w.descs[1] = pdu.Desc{PMID: 1}
			w.insts[5] = []pdu.Instance{{ID: 1, Name: "x"}}
			h := newHost(t, replying(allFeatures, w.reply(allFeatures)))
			d := pmapi.Dialer{AutoReconnect: true, Backoff: []time.Duration{5 * time.Second, 10 * time.Second}}
			c, err := d.Local(t.Context(), h)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_, err1 := c.Lookup(t.Context(), []string{"a", "b"})
			_, err2 := c.Desc(t.Context(), 1)
			_, err3 := c.Instances(t.Context(), 5)
			if err := errors.Join(err1, err2, err3); err != nil {
				t.Fatal(err)
			}
			h.kill()
			w.names["b"] = 3
			delete(w.descs, 1)
			w.insts[5] = nil
			h.start(func(p *pdutest.Peer) {
				replies := 0
				replying(allFeatures, func(hd pdu.Header, q pdu.PDU) []byte {
					if replies++; replies > limit {
						return nil
					}
					return w.reply(allFeatures)(hd, q)
				})(p)
			})
			h.tried()
			var r pdu.Result
			start := time.Now()
			for range 30 {
				if err := c.Fetch(t.Context(), []pdu.PMID{1}, &r); !errors.Is(err, pdu.ErrIPC) {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
			}
			var attempts []time.Duration
			for _, at := range h.dials {
				attempts = append(attempts, at.Sub(start))
			}
			if diff := gocmp.Diff([]time.Duration{1 * time.Second, 6 * time.Second, 16 * time.Second, 26 * time.Second}, attempts); diff != "" {
				t.Errorf("after %d replies: attempts (-want +got):\n%s", limit, diff)
			}
			h.start(replying(allFeatures, w.reply(allFeatures)))
			time.Sleep(10 * time.Second)
			gap, ok := errors.AsType[*pmapi.Gap](c.Fetch(t.Context(), []pdu.PMID{1}, &r))
			if !ok {
				t.Fatal("no gap")
			}
			want := &pmapi.Gap{
				Names:  map[string]pmapi.GapChange[pdu.PMID]{"b": {Was: 2, Is: 3}},
				Descs:  map[pdu.PMID]pmapi.GapChange[pdu.Desc]{1: {Was: pdu.Desc{PMID: 1}, Is: pdu.Desc{PMID: pdu.NoPMID}}},
				InDoms: map[pdu.InDom]pmapi.GapChange[[]pdu.Instance]{5: {Was: []pdu.Instance{{ID: 1, Name: "x"}}}},
			}
			if diff := sameGap(want, gap); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if gap.Lost != start || gap.Restored != start.Add(40*time.Second) {
				t.Errorf("from %v to %v, want from %v for 40 s", gap.Lost, gap.Restored, start)
			}
			if err := c.Fetch(t.Context(), []pdu.PMID{1}, &r); err != nil {
				t.Error(err)
			}
		})
	}
}

// A context that reconnects automatically finds a lost collector again when it is polled, but no
// sooner than its back-off allows.
func TestAutoReconnectBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, replying(allFeatures, echo))
		d := pmapi.Dialer{AutoReconnect: true}
		c, err := d.Local(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		h.kill()
		h.tried()
		start := time.Now()
		for time.Since(start) < 200*time.Second {
			if err := callNamed("Fetch").do(t.Context(), c, 7); pdu.FromError(err) != pdu.ErrIPC {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		var attempts []time.Duration
		for _, at := range h.dials {
			attempts = append(attempts, at.Sub(start)/time.Second)
		}
		want := []time.Duration{1, 2, 4, 9, 19, 29, 39, 49, 59, 69, 79, 89, 99, 109, 119, 129, 139, 149, 159, 169, 179, 189, 199}
		if diff := gocmp.Diff(want, attempts); diff != "" {
			t.Errorf("attempts after so many seconds (-want +got):\n%s", diff)
		}
		h.start(replying(allFeatures, echo))
		time.Sleep(40 * time.Second)
		var r pdu.Result
		gap, ok := errors.AsType[*pmapi.Gap](c.Fetch(t.Context(), []pdu.PMID{7}, &r))
		if !ok || gap.Changed() || gap.Lost != start || gap.Restored.Sub(start) != 240*time.Second {
			t.Errorf("gap %v", gap)
		}
		if err := callNamed("Fetch").do(t.Context(), c, 7); err != nil {
			t.Error(err)
		}
	})
}

// If many fetches run, exactly one reports a gap.
func TestGapIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, replying(allFeatures, echo))
		d := pmapi.Dialer{AutoReconnect: true}
		c, err := d.Local(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		gaps := make(chan *pmapi.Gap, 1000)
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for who := range 8 {
			all.Go(func() {
				for ctx.Err() == nil {
					err := callNamed("Fetch").do(ctx, c, uint32(100*(who+1)))
					if gap, ok := errors.AsType[*pmapi.Gap](err); ok {
						gaps <- gap
					} else if err != nil && !errors.Is(err, pdu.ErrIPC) && ctx.Err() == nil {
						t.Error(err)
					}
					time.Sleep(time.Duration(who+1) * time.Millisecond)
				}
			})
		}
		const kills = 10
		for range kills {
			time.Sleep(100 * time.Millisecond)
			h.restart(replying(allFeatures, echo))
		}
		time.Sleep(100 * time.Millisecond)
		stop()
		all.Wait()
		if len(gaps) != kills {
			t.Errorf("%d gaps reported, want %d", len(gaps), kills)
		}
	})
}

// The profile is sent on the new connection, before its first fetch.
func TestAutoReconnectProfile(t *testing.T) {
	want := pdu.Profile{InDoms: []pdu.InDomProfile{{InDom: 5, Exclude: true, Insts: []pdu.InstID{3, 4}}}}
	var sent []pdu.Profile
	f := replying(allFeatures, func(h pdu.Header, p pdu.PDU) []byte {
		switch p := p.(type) {
		case *pdu.SetProfile:
			sent = append(sent, p.Profile)
		case *pdu.Fetch:
			if len(sent) == 0 {
				return nil // as pmcd would say ErrNoProfile
			}
		}
		return echo(h, p)
	})
	h := newHost(t, f)
	d := pmapi.Dialer{AutoReconnect: true}
	c, err := d.Local(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := errors.Join(c.AddProfile(5, 4, 3), callNamed("Fetch").do(t.Context(), c, 7), callNamed("Fetch").do(t.Context(), c, 7)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if diff := gocmp.Diff([]pdu.Profile{want}, sent); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		sent = nil
		h.restart(f)
		for callNamed("Fetch").do(t.Context(), c, 7) != nil { // of the loss, of the gap
			if len(sent) > 0 {
				t.Fatal("sent too soon")
			}
		}
	}
}

// Reconnect of a context that reconnects automatically is a gap too. A failed Reconnect is not.
func TestReconnectIsGap(t *testing.T) {
	w := newModelCollector()
	w.names["a"] = 1
	h := newHost(t, replying(allFeatures, w.reply(allFeatures)))
	d := pmapi.Dialer{AutoReconnect: true, Backoff: []time.Duration{}}
	c, err := d.Local(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Lookup(t.Context(), []string{"a"}); err != nil {
		t.Fatal(err)
	}
	twin, err := c.Dup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer twin.Close()
	good := h.up
	h.serve(nil)
	if err := c.Reconnect(t.Context()); err == nil {
		t.Error("connected to nobody")
	}
	if err := callNamed("Fetch").do(t.Context(), c, 7); err != nil {
		t.Error(err)
	}
	h.serve(good)
	w.names["a"] = 2
	for _, c := range []*pmapi.Context{c, twin} {
		if err := c.Reconnect(t.Context()); err != nil {
			t.Fatal(err)
		}
		gap, ok := errors.AsType[*pmapi.Gap](callNamed("Fetch").do(t.Context(), c, 7))
		if !ok {
			t.Fatal("no gap")
		}
		if diff := sameGap(&pmapi.Gap{Names: map[string]pmapi.GapChange[pdu.PMID]{"a": {Was: 1, Is: 2}}}, gap); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if err := callNamed("Fetch").do(t.Context(), c, 7); err != nil {
			t.Error(err)
		}
	}
}

// A context that reconnects automatically keeps one copy of each item that it has returned.
func TestAutoReconnectMemory(t *testing.T) {
	const n = 10_000
	names, ids := make([]string, n), make([]pdu.PMID, n)
	for i := range names {
		ids[i] = pdu.PMID(i)
		names[i] = echoName(ids[i])
	}
	d := pmapi.Dialer{AutoReconnect: true}
	c := open(t, d, replying(allFeatures, echo))
	request := func() {
		_, err1 := c.Lookup(t.Context(), names)
		_, err2 := c.Descs(t.Context(), ids)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
	}
	before := heap()
	request()
	once := heap() - before
	for range 10 {
		request()
	}
	if again := heap() - before; again > once+once/4 {
		t.Errorf("%d bytes for what was returned once, %d for ten times", once, again)
	}
	if each := once / n; each > 200 {
		t.Errorf("%d bytes for a name and its descriptor", each)
	} else {
		t.Logf("%d bytes for a name and its descriptor", each)
	}
	runtime.KeepAlive(c)
}

// heap returns the size of the live heap.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
