// Package stage is a collector for tests of tools: its clock, its instances and
// its values are a script, the same for every client from its first fetch on, so
// that what two tools print of it can be compared byte for byte. A Suite does so.
package stage

import (
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A Play is the script. Functions of n are asked about the nth fetch of a client,
// from 0 on, of those that fetch a metric of the play.
type Play struct {
	Clock   func(n int) time.Time // nil: a second from each fetch to the next
	Metrics []Metric
	InDoms  map[pdu.InDom]func(n int) []pdu.Instance // n counts the fetches so far
	Fail    func(n int) pdu.Error                    // of a whole fetch; pdu.ErrIPC hangs up
}

// A Metric is one of a Play. Its descriptor needs a PMID.
type Metric struct {
	Name   string
	Desc   pdu.Desc
	Values func(n int, w *pdu.ResultWriter) // the set has been begun
	Store  pdu.Error                        // what a store answers
}

// Start runs the play on a port of the loopback interface until the test has
// ended, and returns its address.
func Start(t testing.TB, p Play) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(time.Minute))
				p.play(c)
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		conns.Wait()
	})
	return ln.Addr().String()
}

// play answers one client until it hangs up, or says what is not in the play.
func (p *Play) play(conn net.Conn) error {
	c := pdu.NewConn(conn)
	if err := c.Write(0, pdu.Challenge{Version: pdu.ProtocolVersion, Features: pdu.FeatureHighRes | pdu.FeatureDescs}); err != nil {
		return err
	}
	s := scene{Play: p}
	for {
		h, body, err := c.Read()
		if err != nil {
			return err
		}
		answer, err := s.answer(h.Kind, body)
		if errors.Is(err, pdu.ErrIPC) {
			return err
		}
		if err != nil {
			answer = pdu.Status{Code: pdu.FromError(err)}
		}
		if answer != nil {
			if err := c.Write(0, answer); err != nil {
				return err
			}
		}
	}
}

// A scene is what one client sees.
type scene struct {
	*Play
	n       int // fetches so far
	profile pdu.Profile
}

// answer is nil where there is none.
func (s *scene) answer(kind pdu.Kind, body []byte) (pdu.PDU, error) {
	switch kind {
	case pdu.KindCreds:
		return nil, nil
	case pdu.KindProfile:
		var q pdu.SetProfile
		err := q.Decode(body)
		s.profile = q.Profile
		return nil, err
	case pdu.KindPMNSNames:
		return s.lookup(body)
	case pdu.KindPMNSIDs:
		return s.names(body)
	case pdu.KindDescReq:
		var q pdu.DescReq
		if err := q.Decode(body); err != nil {
			return nil, err
		}
		m, err := s.metric(q.PMID)
		return pdu.DescReply{Desc: m.Desc}, err
	case pdu.KindDescIDs:
		return s.descs(body)
	case pdu.KindInstanceReq:
		return s.instances(body)
	case pdu.KindFetch, pdu.KindHighResFetch:
		return s.fetch(kind, body)
	case pdu.KindResult:
		return s.store(body)
	}
	return nil, pdu.ErrNYI
}

func (s *scene) metric(id pdu.PMID) (Metric, error) {
	i := slices.IndexFunc(s.Metrics, func(m Metric) bool { return m.Desc.PMID == id })
	if i < 0 {
		return Metric{}, pdu.ErrPMID
	}
	return s.Metrics[i], nil
}

func (s *scene) plays(id pdu.PMID) bool {
	_, err := s.metric(id)
	return err == nil
}

func (s *scene) lookup(body []byte) (pdu.PDU, error) {
	var q pdu.NameList
	if err := q.Decode(body); err != nil {
		return nil, err
	}
	var a pdu.PMIDList
	for _, name := range q.Names {
		id := pdu.NoPMID
		if i := slices.IndexFunc(s.Metrics, func(m Metric) bool { return m.Name == name }); i >= 0 {
			id = s.Metrics[i].Desc.PMID
			a.Status++
		}
		a.PMIDs = append(a.PMIDs, id)
	}
	if a.Status == 0 {
		return nil, pdu.ErrName
	}
	return a, nil
}

func (s *scene) names(body []byte) (pdu.PDU, error) {
	var q pdu.PMIDList
	if err := q.Decode(body); err != nil || len(q.PMIDs) != 1 {
		return nil, errors.Join(err, pdu.ErrPMID)
	}
	m, err := s.metric(q.PMIDs[0])
	return pdu.NameList{Names: []string{m.Name}}, err
}

func (s *scene) descs(body []byte) (pdu.PDU, error) {
	var q pdu.DescsReq
	if err := q.Decode(body); err != nil {
		return nil, err
	}
	var a pdu.DescsReply
	for _, id := range q.PMIDs {
		m, err := s.metric(id)
		if err != nil {
			m.Desc.PMID = pdu.NoPMID
		}
		a.Descs = append(a.Descs, m.Desc)
	}
	return a, nil
}

func (s *scene) instances(body []byte) (pdu.PDU, error) {
	var q pdu.InstanceReq
	if err := q.Decode(body); err != nil {
		return nil, err
	}
	list, ok := s.InDoms[q.InDom]
	if !ok {
		return nil, pdu.ErrInDom
	}
	var found []pdu.Instance
	for _, i := range list(s.n) {
		if (q.Name == "" || i.Name == q.Name) && (q.Inst == pdu.NoInst || q.Inst == i.ID) {
			found = append(found, i)
		}
	}
	if len(found) == 0 && (q.Name != "" || q.Inst != pdu.NoInst) {
		return nil, pdu.ErrInst
	}
	return q.Reply(found), nil
}

func (s *scene) fetch(kind pdu.Kind, body []byte) (pdu.PDU, error) {
	var q pdu.Fetch
	if err := q.Decode(body); err != nil {
		return nil, err
	}
	n := s.n
	if slices.ContainsFunc(q.PMIDs, s.plays) {
		s.n++
		if s.Fail != nil {
			if err := s.Fail(n); err != 0 {
				return nil, err
			}
		}
	}
	w := pdu.ResultWriter{Time: time.Unix(1_700_000_000+int64(n), 0)}
	if s.Clock != nil {
		w.Time = s.Clock(n)
	}
	for _, id := range q.PMIDs {
		w.Begin(id)
		m, err := s.metric(id)
		if err != nil {
			w.Fail(pdu.ErrPMID)
			continue
		}
		m.Values(n, &w)
	}
	format := pdu.FormatHighRes
	if kind == pdu.KindFetch {
		format = pdu.FormatLowRes
	}
	return w.PDU(format), nil
}

func (s *scene) store(body []byte) (pdu.PDU, error) {
	var r pdu.Result
	if err := r.Decode(body); err != nil {
		return nil, err
	}
	for _, set := range r.All() {
		m, err := s.metric(set.PMID)
		if err != nil {
			return nil, err
		}
		if m.Store != 0 {
			return nil, m.Store
		}
	}
	return pdu.Status{}, nil
}
