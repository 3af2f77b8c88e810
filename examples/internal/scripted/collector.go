// Package scripted has a collector for tests of tools. Its clock, its instances and its values
// follow a script from the first fetch of each client on, so that the output of two tools can be
// compared byte by byte. A Suite compares a tool of ours with the recorded output of the real PCP's
// tool.
package scripted

import (
	"errors"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// A Collector is the script of a collector. Its functions get n, the number of the client's fetch,
// which starts at 0. Fetches of none of the Metrics do not count.
type Collector struct {
	Clock   func(n int) time.Time // of the fetch; nil: a second later with each fetch
	Metrics []Metric
	InDoms  map[pdu.InDom]func(n int) []pdu.Instance // n is the number of the next fetch
	Fail    func(n int) pdu.Error                    // the error of a whole fetch, 0 for none; pdu.ErrIPC closes the connection
}

// A Metric is a metric of a Collector. Its descriptor needs a PMID.
type Metric struct {
	Name   string
	Desc   pdu.Desc
	Values func(n int, w *pdu.ResultWriter) // adds values to the set, which has been begun
	Store  pdu.Error                        // the error of a store, 0 for none
}

// Serve runs the collector on a port of the loopback interface until the test ends. It returns the
// collector's address.
func (c Collector) Serve(t testing.TB) (addr string) {
	t.Helper()
	return pcptest.Serve(t, func(conn net.Conn) { c.serveClient(conn) })
}

// serveClient replies to the requests of one client until it closes the connection or the script
// does.
func (c Collector) serveClient(nc net.Conn) error {
	conn := pdu.NewConn(nc)
	if err := conn.Write(0, pdu.Challenge{Version: pdu.ProtocolVersion, Features: pdu.FeatureHighRes | pdu.FeatureDescs}); err != nil {
		return err
	}
	s := session{Collector: c}
	for {
		h, body, err := conn.Read()
		if err != nil {
			return err
		}
		reply, err := s.reply(h.Kind, body)
		if errors.Is(err, pdu.ErrIPC) {
			return err
		}
		if err != nil {
			reply = pdu.Status{Code: pdu.FromError(err)}
		}
		if reply != nil {
			if err := conn.Write(0, reply); err != nil {
				return err
			}
		}
	}
}

// A session is the state of one client.
type session struct {
	Collector
	fetches int // so far
}

// reply returns the reply to a request, nil if the request has no reply.
func (s *session) reply(kind pdu.Kind, body []byte) (pdu.PDU, error) {
	switch kind {
	case pdu.KindCreds, pdu.KindProfile: // values do not depend on profiles
		return nil, nil
	case pdu.KindPMNSNames:
		return s.lookup(body)
	case pdu.KindPMNSIDs:
		return s.names(body)
	case pdu.KindDescReq:
		var request pdu.DescReq
		if err := request.Decode(body); err != nil {
			return nil, err
		}
		m, err := s.metric(request.PMID)
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

func (s *session) metric(id pdu.PMID) (Metric, error) {
	i := slices.IndexFunc(s.Metrics, func(m Metric) bool { return m.Desc.PMID == id })
	if i < 0 {
		return Metric{}, pdu.ErrPMID
	}
	return s.Metrics[i], nil
}

func (s *session) hasMetric(id pdu.PMID) bool {
	_, err := s.metric(id)
	return err == nil
}

func (s *session) lookup(body []byte) (pdu.PDU, error) {
	var request pdu.NameList
	if err := request.Decode(body); err != nil {
		return nil, err
	}
	var reply pdu.PMIDList
	for _, name := range request.Names {
		id := pdu.NoPMID
		if i := slices.IndexFunc(s.Metrics, func(m Metric) bool { return m.Name == name }); i >= 0 {
			id = s.Metrics[i].Desc.PMID
			reply.Status++
		}
		reply.PMIDs = append(reply.PMIDs, id)
	}
	if reply.Status == 0 {
		return nil, pdu.ErrName
	}
	return reply, nil
}

func (s *session) names(body []byte) (pdu.PDU, error) {
	var request pdu.PMIDList
	if err := request.Decode(body); err != nil || len(request.PMIDs) != 1 {
		return nil, errors.Join(err, pdu.ErrPMID)
	}
	m, err := s.metric(request.PMIDs[0])
	return pdu.NameList{Names: []string{m.Name}}, err
}

func (s *session) descs(body []byte) (pdu.PDU, error) {
	var request pdu.DescsReq
	if err := request.Decode(body); err != nil {
		return nil, err
	}
	var reply pdu.DescsReply
	for _, id := range request.PMIDs {
		m, err := s.metric(id)
		if err != nil {
			m.Desc.PMID = pdu.NoPMID
		}
		reply.Descs = append(reply.Descs, m.Desc)
	}
	return reply, nil
}

func (s *session) instances(body []byte) (pdu.PDU, error) {
	var request pdu.InstanceReq
	if err := request.Decode(body); err != nil {
		return nil, err
	}
	list, ok := s.InDoms[request.InDom]
	if !ok {
		return nil, pdu.ErrInDom
	}
	var found []pdu.Instance
	for _, i := range list(s.fetches) {
		if (request.Name == "" || i.Name == request.Name) && (request.Inst == pdu.NoInst || request.Inst == i.ID) {
			found = append(found, i)
		}
	}
	if len(found) == 0 && (request.Name != "" || request.Inst != pdu.NoInst) {
		return nil, pdu.ErrInst
	}
	return request.Reply(found), nil
}

func (s *session) fetch(kind pdu.Kind, body []byte) (pdu.PDU, error) {
	var request pdu.Fetch
	if err := request.Decode(body); err != nil {
		return nil, err
	}
	n := s.fetches
	if slices.ContainsFunc(request.PMIDs, s.hasMetric) {
		s.fetches++
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
	for _, id := range request.PMIDs {
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

func (s *session) store(body []byte) (pdu.PDU, error) {
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
