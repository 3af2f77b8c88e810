// Package hostile_test runs the tools against a collector that violates the protocol.
package hostile_test

import (
	"net"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// The metric that the collector has, if a case does not say otherwise.
const metricName = "hostile.metric"

var (
	metricID = pdu.MakePMID(60, 0, 1)
	inDom    = pdu.MakeInDom(60, 1)
)

// A collector has one metric, with the instances 0 and 1. replies has replies in place of those
// that it would send; a function gets the body of the request and returns bytes, headers included.
type collector struct {
	desc    pdu.Desc // the zero Desc stands for a metric of TypeU32 with instances
	name    string   // of the metric; empty means metricName
	inst    string   // of instance 0; empty means "zero"
	text    string
	labels  string // the JSON text of all label sets
	value   string // if the metric is of TypeString
	replies map[pdu.Kind]func(body []byte) []byte
}

// serve runs the collector until the test has ended, and returns its address.
func (c collector) serve(t testing.TB) (addr string) {
	t.Helper()
	if c.desc == (pdu.Desc{}) {
		c.desc = pdu.Desc{PMID: metricID, Type: pdu.TypeU32, InDom: inDom, Sem: pdu.SemInstant}
	}
	if c.name == "" {
		c.name = metricName
	}
	if c.inst == "" {
		c.inst = "zero"
	}
	return pcptest.Serve(t, c.serveClient)
}

// serveClient replies to the requests of one client until it closes the connection.
func (c collector) serveClient(nc net.Conn) {
	conn := pdu.NewConn(nc)
	if conn.Write(0, pdu.Challenge{Version: pdu.ProtocolVersion, Features: pdu.FeatureHighRes | pdu.FeatureDescs | pdu.FeatureLabels}) != nil {
		return
	}
	for {
		h, body, err := conn.Read()
		if err != nil {
			return
		}
		if reply := c.replies[h.Kind]; reply != nil {
			if _, err := nc.Write(reply(body)); err != nil {
				return
			}
			continue
		}
		if reply := c.reply(h.Kind, body); reply != nil && conn.Write(0, reply) != nil {
			return
		}
	}
}

// reply returns the reply to a request, nil if the request has no reply.
func (c collector) reply(kind pdu.Kind, body []byte) pdu.PDU {
	switch kind {
	case pdu.KindCreds, pdu.KindProfile:
		return nil
	case pdu.KindPMNSNames:
		var request pdu.NameList
		if request.Decode(body) != nil {
			return pdu.Status{Code: pdu.ErrIPC}
		}
		if len(request.Names) == 1 && request.Names[0] != c.name {
			return pdu.Status{Code: pdu.ErrName}
		}
		return pdu.PMIDList{Status: int32(len(request.Names)), PMIDs: repeated(c.desc.PMID, len(request.Names))}
	case pdu.KindPMNSTraverse, pdu.KindPMNSIDs:
		return pdu.NameList{Names: []string{c.name}}
	case pdu.KindDescReq:
		return pdu.DescReply{Desc: c.desc}
	case pdu.KindDescIDs:
		var request pdu.DescsReq
		if request.Decode(body) != nil {
			return pdu.Status{Code: pdu.ErrIPC}
		}
		return pdu.DescsReply{Descs: repeated(c.desc, len(request.PMIDs))}
	case pdu.KindInstanceReq:
		return pdu.InstanceReply{InDom: inDom, Instances: []pdu.Instance{{ID: 0, Name: c.inst}, {ID: 1, Name: "one"}}}
	case pdu.KindTextReq:
		return pdu.TextReply{Text: c.text}
	case pdu.KindLabelReq:
		return c.labelReply(body)
	case pdu.KindFetch, pdu.KindHighResFetch:
		return c.fetch(kind, body)
	case pdu.KindResult: // a store
		return pdu.Status{}
	}
	return pdu.Status{Code: pdu.ErrNYI}
}

func repeated[T any](v T, n int) []T {
	list := make([]T, n)
	for i := range list {
		list[i] = v
	}
	return list
}

func (c collector) labelReply(body []byte) pdu.PDU {
	var request pdu.LabelReq
	if request.Decode(body) != nil {
		return pdu.Status{Code: pdu.ErrIPC}
	}
	reply := pdu.LabelReply{Ident: request.Ident, Class: request.Class}
	if c.labels != "" {
		set := pdu.LabelSet{Inst: pdu.NoInst, JSON: []byte(c.labels),
			Labels: []pdu.Label{{NameOff: 2, NameLen: 1, Flags: pdu.LabelFlags(request.Class), ValueOff: 5, ValueLen: uint16(len(c.labels) - 6)}}}
		if request.Class == pdu.LabelInstances {
			set.Inst = 0
		}
		reply.Sets = []pdu.LabelSet{set}
	}
	return reply
}

func (c collector) fetch(kind pdu.Kind, body []byte) pdu.PDU {
	var request pdu.Fetch
	if request.Decode(body) != nil {
		return pdu.Status{Code: pdu.ErrIPC}
	}
	w := pdu.ResultWriter{Time: time.Unix(1_700_000_000, 0)}
	for _, id := range request.PMIDs {
		w.Begin(id)
		insts := []pdu.InstID{0, 1}
		if c.desc.InDom == pdu.NoInDom {
			insts = []pdu.InstID{pdu.NoInst}
		}
		for _, i := range insts {
			if c.desc.Type == pdu.TypeString {
				w.String(i, c.value)
			} else {
				w.Uint32(i, 17)
			}
		}
	}
	if kind == pdu.KindFetch {
		return w.PDU(pdu.FormatLowRes)
	}
	return w.PDU(pdu.FormatHighRes)
}
