package main

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// wideInstances is how many instances a metric of a wide agent has: values of 64 KB.
const wideInstances = 8000

// wideAgents are lines for agents of some domains that reply with wide metrics, and a
// metric of each.
func wideAgents(t testing.TB, n int) (conf string, ids []pdu.PMID) {
	for i := range n {
		d := pdu.Domain(240 + i)
		conf += confLine(t, fmt.Sprintf("wide%d", i), d, "wide", fmt.Sprint(wideInstances))
		ids = append(ids, pdu.MakePMID(d, 0, 0))
	}
	return conf, ids
}

// maxFetch is how many metrics a request of 64 KiB has room for.
const maxFetch = 16_000

// attackMemory has one client fetch what is as wide as possible.
func attackMemory(s *target, ids []pdu.PMID) {
	most := s.mostSets(ids[0])
	g := s.connect()
	for _, shape := range []struct {
		name string
		ids  []pdu.PMID
	}{
		{"one agent, the largest result", times(most, ids[0])},
		{"two agents, half of that each", times(most/2, ids[:2]...)},
		{"eight agents, as much each", times(most, ids...)},
		{"eight agents, the widest request", times(maxFetch/8, ids...)},
		{"one agent, the widest request", times(maxFetch, ids[0])},
	} {
		for range size(1, 5) {
			code, length := g.fetch(shape.ids...)
			s.t.Logf("%s: %v, %s", shape.name, code, mib(length))
			if code != 0 && !refused(code) {
				s.t.Errorf("%s: refused with %v", shape.name, code)
			}
		}
	}
	for _, size := range []int{8, 30, 40, 500} { // MiB
		for _, request := range []pdu.PDU{
			pdu.InstanceReq{InDom: pdu.MakeInDom(ids[0].Domain(), size), Inst: pdu.NoInst},
			pdu.TextReq{Ident: uint32(pdu.MakePMID(ids[0].Domain(), 0, size)), Text: pdu.TextPMID | pdu.TextHelp},
		} {
			if err := g.pdus.Write(0, request); err != nil {
				s.t.Fatal(err)
			}
			_, code, length, err := g.reply()
			s.t.Logf("%v of %d MiB: %v, %s", request.Kind(), size, code, mib(length))
			if err != nil || code != 0 && !refused(code) {
				s.t.Errorf("%v of %d MiB: %v, %v", request.Kind(), size, code, err)
			}
		}
	}
	s.checkMemory(oneClientMemory)
}

// attackQueued has many clients send requests as long as they can be to an agent that is
// busy, beside one that asks the collector itself.
func attackQueued(s *target, id pdu.PMID) {
	quiet := s.quiet(pmcdMetric)
	w := s.watch(pmcdMetric)
	for _, g := range s.crowd(size(300, 1000)) {
		if err := g.pdus.Write(0, pdu.Fetch{PMIDs: times(maxFetch, id)}); err != nil {
			s.t.Fatal(err)
		}
	}
	time.Sleep(time.Duration(size(2, 10)) * time.Second)
	w.end()
	s.checkDelay(quiet, w, true)
	s.checkMemory(manyClientsMemory)
}

// attackEmbedded has one client fetch what is widest of the embedded agents.
func attackEmbedded(s *target) {
	ids := s.widest(8)
	s.settle()
	g := s.connect()
	var all []pdu.PMID
	for _, id := range ids {
		all = append(all, times(maxFetch/8, id)...)
		code, length := g.fetch(times(maxFetch, id)...)
		s.t.Logf("%v alone: %v, %s", id, code, mib(length))
		if code != 0 && !refused(code) {
			s.t.Errorf("refused with %v", code)
		}
	}
	code, length := g.fetch(all...)
	s.t.Logf("together: %v, %s", code, mib(length))
	s.checkMemory(oneClientMemory)
}

// widest returns the n metrics with the largest results.
func (s *target) widest(n int) []pdu.PMID {
	s.t.Helper()
	c, err := pmapi.Dial(s.t.Context(), s.host)
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close()
	names, err := c.Traverse(s.t.Context(), "")
	if err != nil {
		s.t.Fatal(err)
	}
	ids, err := c.Lookup(s.t.Context(), names)
	if err != nil {
		s.t.Fatal(err)
	}
	g := s.connect()
	defer g.conn.Close()
	length := map[pdu.PMID]int{}
	for _, id := range ids {
		_, length[id] = g.fetch(id)
	}
	slices.SortFunc(ids, func(a, b pdu.PMID) int { return length[b] - length[a] })
	return ids[:n]
}

// attackUnread has many clients request results of just below and above 1 MiB, which
// they do not read for a while.
func attackUnread(s *target, id pdu.PMID) {
	for _, sets := range []int{16, 17} {
		clients := s.crowd(size(400, 1000))
		for _, g := range clients {
			if err := g.pdus.Write(0, pdu.Fetch{PMIDs: times(sets, id)}); err != nil {
				s.t.Fatal(err)
			}
		}
		time.Sleep(time.Duration(size(2, 10)) * time.Second)
		// Each gets its result, or a code, or is disconnected.
		var replies, refusals, gone atomic.Int32
		eachOf(clients, func(g *guest) {
			_, code, _, err := g.reply()
			switch {
			case err != nil:
				gone.Add(1)
			case code == 0:
				replies.Add(1)
			case refused(code):
				refusals.Add(1)
			default:
				s.t.Errorf("refused with %v", code)
			}
		})
		s.t.Logf("results of %d KB: %d clients got theirs, %d were refused, %d disconnected", 64*sets, replies.Load(), refusals.Load(), gone.Load())
		s.hangUp()
	}
	s.checkMemory(manyClientsMemory)
}

// crowd connects many clients.
func (s *target) crowd(n int) []*guest {
	s.t.Helper()
	var all []*guest
	for range n {
		all = append(all, s.connect())
	}
	return all
}

// eachOf calls f for each client, on separate goroutines.
func eachOf(clients []*guest, f func(g *guest)) {
	var wg sync.WaitGroup
	for _, g := range clients {
		wg.Go(func() { f(g) })
	}
	wg.Wait()
}

// attackProfiles has clients with as many and as large profiles as are accepted.
func attackProfiles(s *target) {
	const contexts = 64
	for _, shape := range []struct {
		name          string
		indoms, insts int
	}{{"many instances", 1, 16_000}, {"many domains", 1_800, 1}} {
		clients := s.crowd(size(200, 1000))
		var p pdu.SetProfile
		for d := range shape.indoms {
			in := pdu.InDomProfile{InDom: pdu.MakeInDom(60, d)}
			for i := range shape.insts {
				in.Insts = append(in.Insts, pdu.InstID(2*i))
			}
			p.Profile.InDoms = append(p.Profile.InDoms, in)
		}
		var refusals atomic.Int32
		eachOf(clients, func(g *guest) {
			p := p
			for p.Context = range int32(contexts) {
				if g.pdus.Queue(0, p) != nil || g.pdus.Write(0, pdu.Fetch{Context: p.Context, PMIDs: []pdu.PMID{pmcdMetric}}) != nil {
					return // a client may be disconnected
				}
				_, code, _, err := g.reply() // to the fetch: a profile has none
				switch {
				case err != nil:
					return
				case refused(code):
					refusals.Add(1)
				case code != 0:
					s.t.Errorf("%s: refused with %v", shape.name, code)
				}
			}
		})
		s.t.Logf("%s: %d of %d profiles were refused", shape.name, refusals.Load(), contexts*len(clients))
		if code, _ := s.connect().fetch(pmcdMetric); code != 0 {
			s.t.Errorf("%s: another client: %v", shape.name, code)
		}
		s.hangUp()
	}
	s.checkMemory(manyClientsMemory)
}
