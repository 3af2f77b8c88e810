package pmapi_test

import (
	"bytes"
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// A scripted is a collector that says what a test has put into it, times and
// failures included. Both ours and the C library's clients understand it. Exported
// fields are for the test, under Lock.
type scripted struct {
	sync.Mutex
	Metrics   []*scriptedMetric
	Instances map[pdu.InDom][]pdu.Instance
	Time      time.Time
	Changed   pdu.Change // to be told before the next result, once
	Fail      pdu.Error  // in place of results
	InstFail  pdu.Error  // in place of instances

	kinds    []string // of requests, since they were asked for
	profiles map[net.Conn]*pdu.Profile
	serving  sync.WaitGroup
}

// A scriptedMetric is a metric with its values.
type scriptedMetric struct {
	Name string
	pdu.Desc
	DescErr pdu.Error // in place of the descriptor
	Err     pdu.Error // in place of values
	Values  []scriptedValue
}

type scriptedValue struct {
	Inst pdu.InstID
	pdu.Atom
}

func newScripted(t testing.TB) *scripted {
	s := &scripted{
		Instances: map[pdu.InDom][]pdu.Instance{}, Time: time.Unix(1e9, 0), profiles: map[net.Conn]*pdu.Profile{},
	}
	t.Cleanup(func() {
		s.cut()
		s.serving.Wait()
	})
	return s
}

// cut ends all connections.
func (s *scripted) cut() {
	s.Lock()
	defer s.Unlock()
	for c := range s.profiles {
		c.Close()
	}
	clear(s.profiles)
}

// add enters a metric without values. Its PMID is its place.
func (s *scripted) add(name string, d pdu.Desc) *scriptedMetric {
	s.Lock()
	defer s.Unlock()
	d.PMID = pdu.MakePMID(400, 0, len(s.Metrics))
	m := &scriptedMetric{Name: name, Desc: d}
	s.Metrics = append(s.Metrics, m)
	return m
}

// put replaces the values of a metric: its instances are numbered from 0, but for
// a singular one.
func (s *scripted) put(m *scriptedMetric, values ...pdu.Atom) {
	s.Lock()
	defer s.Unlock()
	m.Err, m.Values = 0, nil
	for i, v := range values {
		id := pdu.InstID(i)
		if m.InDom == pdu.NoInDom {
			id = pdu.NoInst
		}
		m.Values = append(m.Values, scriptedValue{id, v})
	}
}

// values replaces those of a metric with instances of any numbers.
func (s *scripted) values(m *scriptedMetric, values ...scriptedValue) {
	s.Lock()
	defer s.Unlock()
	m.Err, m.Values = 0, values
}

// later lets time pass.
func (s *scripted) later(d time.Duration) {
	s.Lock()
	defer s.Unlock()
	s.Time = s.Time.Add(d)
}

// asked are the kinds of requests since it was called before, in their order.
func (s *scripted) asked() string {
	s.Lock()
	defer s.Unlock()
	kinds := strings.Join(s.kinds, " ")
	s.kinds = nil
	return kinds
}

// DialContext is a connection in memory.
func (s *scripted) DialContext(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	s.serve(far)
	return near, nil
}

// listen is the address where it can be found over TCP.
func (s *scripted) listen(t testing.TB) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	s.serving.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			s.serve(c)
		}
	})
	return ln.Addr().String()
}

func (s *scripted) serve(c net.Conn) {
	s.Lock()
	s.profiles[c] = new(pdu.Profile)
	s.Unlock()
	s.serving.Go(func() {
		defer c.Close()
		p := pdu.NewConn(c)
		if p.Write(0, pdu.Challenge{Version: pdu.ProtocolVersion, Features: pdu.FeatureHighRes | pdu.FeatureDescs}) != nil {
			return
		}
		for {
			h, body, err := p.Read()
			if err != nil {
				return
			}
			q, err := pdu.Decode(h.Kind, bytes.Clone(body))
			if err != nil {
				return
			}
			for _, a := range s.answers(c, q) {
				if p.Queue(0, a) != nil {
					return
				}
			}
			if p.Flush() != nil {
				return
			}
		}
	})
}

func (s *scripted) answers(c net.Conn, q pdu.PDU) []pdu.PDU {
	s.Lock()
	defer s.Unlock()
	if s.profiles[c] == nil {
		return nil // it has been cut
	}
	if q.Kind() != pdu.KindCreds {
		s.kinds = append(s.kinds, q.Kind().String())
	}
	switch q := q.(type) {
	case *pdu.SetProfile:
		s.profiles[c] = &q.Profile
	case *pdu.NameList:
		var a pdu.PMIDList
		for _, name := range q.Names {
			id := pdu.NoPMID
			if m := s.metric(func(m *scriptedMetric) bool { return m.Name == name }); m != nil {
				id = m.PMID
				a.Status++
			}
			a.PMIDs = append(a.PMIDs, id)
		}
		if a.Status == 0 {
			return []pdu.PDU{pdu.Status{Code: pdu.ErrName}}
		}
		return []pdu.PDU{a}
	case *pdu.DescReq:
		d, code := s.desc(q.PMID)
		if code != 0 {
			return []pdu.PDU{pdu.Status{Code: code}}
		}
		return []pdu.PDU{pdu.DescReply{Desc: d}}
	case *pdu.DescsReq:
		var a pdu.DescsReply
		for _, id := range q.PMIDs {
			d, _ := s.desc(id)
			a.Descs = append(a.Descs, d)
		}
		return []pdu.PDU{a}
	case *pdu.InstanceReq:
		return []pdu.PDU{s.instances(q)}
	case *pdu.Fetch:
		return s.result(c, q)
	}
	return nil
}

func (s *scripted) metric(is func(*scriptedMetric) bool) *scriptedMetric {
	if i := slices.IndexFunc(s.Metrics, is); i >= 0 {
		return s.Metrics[i]
	}
	return nil
}

func (s *scripted) desc(id pdu.PMID) (pdu.Desc, pdu.Error) {
	none := pdu.Desc{PMID: pdu.NoPMID}
	m := s.metric(func(m *scriptedMetric) bool { return m.PMID == id })
	switch {
	case m == nil:
		return none, pdu.ErrPMID
	case m.DescErr != 0:
		return none, m.DescErr
	}
	return m.Desc, 0
}

func (s *scripted) instances(q *pdu.InstanceReq) pdu.PDU {
	all, known := s.Instances[q.InDom]
	if s.InstFail != 0 {
		return pdu.Status{Code: s.InstFail}
	}
	if !known {
		return pdu.Status{Code: pdu.ErrInDom}
	}
	found := slices.Clone(all)
	if q.Inst != pdu.NoInst || q.Name != "" {
		found = slices.DeleteFunc(found, func(i pdu.Instance) bool { return i.ID != q.Inst && i.Name != q.Name })
		if len(found) == 0 {
			return pdu.Status{Code: pdu.ErrInst}
		}
	}
	return q.Reply(found)
}

func (s *scripted) result(c net.Conn, q *pdu.Fetch) []pdu.PDU {
	var a []pdu.PDU
	if s.Changed != 0 {
		a = append(a, pdu.Status{Code: pdu.Error(s.Changed)})
		s.Changed = 0
	}
	if s.Fail != 0 {
		return append(a, pdu.Status{Code: s.Fail})
	}
	w := pdu.ResultWriter{Time: s.Time}
	for _, id := range q.PMIDs {
		w.Begin(id)
		m := s.metric(func(m *scriptedMetric) bool { return m.PMID == id })
		switch {
		case m == nil:
			w.Fail(pdu.ErrPMID)
		case m.Err != 0:
			w.Fail(m.Err)
		default:
			for _, v := range m.Values {
				if m.InDom == pdu.NoInDom || s.profiles[c].Includes(m.InDom, v.Inst) {
					w.Atom(v.Inst, v.Atom)
				}
			}
		}
	}
	f := pdu.FormatLowRes
	if q.HighRes {
		f = pdu.FormatHighRes
	}
	return append(a, w.PDU(f))
}

// context is a context on it.
func (s *scripted) context(t testing.TB, d pmapi.Dialer) *pmapi.Context {
	t.Helper()
	c, err := d.Local(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
