package collector

import (
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// pduHelp says what the kinds of PDU are for.
var pduHelp = map[pdu.Kind]string{
	pdu.KindError:         "An ERROR says how a request ended, or that the state of a peer has changed.",
	pdu.KindResult:        "A RESULT has values: those of a fetch, or those to be stored.",
	pdu.KindProfile:       "A PROFILE says which instances are wanted in later fetches.",
	pdu.KindFetch:         "A FETCH asks for the values of metrics.",
	pdu.KindDescReq:       "A DESC_REQ asks for the descriptor of a metric.",
	pdu.KindDesc:          "A DESC has the descriptor of a metric.",
	pdu.KindInstanceReq:   "An INSTANCE_REQ asks for instances of an instance domain.",
	pdu.KindInstance:      "An INSTANCE has instances of an instance domain.",
	pdu.KindTextReq:       "A TEXT_REQ asks for the help text of a metric or of an instance domain.",
	pdu.KindText:          "A TEXT has a help text.",
	pdu.KindControlReq:    "A CONTROL_REQ is a kind of the past, of which none are sent.",
	pdu.KindCreds:         "A CREDS says, when a connection begins, what its sender can and wants.",
	pdu.KindPMNSIDs:       "A PMNS_IDS has the identifiers of metrics, as question or answer.",
	pdu.KindPMNSNames:     "A PMNS_NAMES has the names of metrics, as question or answer.",
	pdu.KindPMNSChild:     "A PMNS_CHILD asks for the names directly below a name.",
	pdu.KindPMNSTraverse:  "A PMNS_TRAVERSE asks for the names of all metrics below a name.",
	pdu.KindAttr:          "An AUTH has an attribute of a client, such as its user, or is part of an\nauthentication.",
	pdu.KindLabelReq:      "A LABEL_REQ asks for labels.",
	pdu.KindLabel:         "A LABEL has labels.",
	pdu.KindHighResFetch:  "A HIGHRES_FETCH asks for the values of metrics with a time in nanoseconds.",
	pdu.KindHighResResult: "A HIGHRES_RESULT has values with a time in nanoseconds.",
	pdu.KindDescIDs:       "A DESC_IDS asks for the descriptors of several metrics.",
	pdu.KindDescs:         "A DESCS has the descriptors of several metrics.",
}

// pduTotal is the item of the totals. The kinds that were there before the
// totals have their place in the sequence of kinds as item, later ones the place
// after.
const pduTotal = 16

// addPDUs enters pmcd.pdu_in and pmcd.pdu_out.
func (p *pmcd) addPDUs() {
	p.addDirection("pmcd.pdu_in.", 1, "received", func(in, _ uint64) uint32 { return uint32(in) })
	p.addDirection("pmcd.pdu_out.", 2, "sent", func(_, out uint64) uint32 { return uint32(out) })
}

func (p *pmcd) addDirection(prefix string, cluster int, done string, pick func(in, out uint64) uint32) {
	counters := &p.s.counters
	counter := func(name string, item int, text, help string, value func() uint32) {
		register(p, pmda.Metric[uint32]{
			Name: prefix + name, ID: pmda.Item(cluster, item), Sem: pdu.SemCounter, Units: pdu.UnitCount,
			Text: text, Help: help, Value: always(value),
		})
	}
	for k := pdu.KindError; k <= pdu.KindDescs; k++ {
		item := int(k - pdu.KindError)
		if item == pduTotal {
			counter("total", pduTotal, "PDUs "+done,
				"All PDUs that the collector has "+done+", from or to clients and agents.",
				func() uint32 { return pick(counters.Total()) })
		}
		if pduHelp[k] == "" {
			continue // retired
		}
		if item >= pduTotal {
			item++
		}
		kind, name := k, strings.ToLower(k.String())
		if k == pdu.KindAttr {
			name = "auth"
		}
		counter(name, item, strings.ToUpper(name)+" PDUs "+done,
			pduHelp[k]+"\nThe number of those that the collector has "+done+", from or to clients and\nagents.",
			func() uint32 { return pick(counters.Count(kind)) })
	}
}
