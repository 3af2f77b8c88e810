package pmcdagent

import (
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// pduMetrics has the counters of PDUs received and sent, by item. A kind that is older than the
// totals has its position among the kinds as item, a later kind the position after it.
var pduMetrics = []struct {
	in, out string
	item    int
	kind    pdu.Kind // 0 for the totals
	help    string
}{
	{"pmcd.pdu_in.error", "pmcd.pdu_out.error", 0, pdu.KindError,
		"An ERROR says how a request ended, or that the state of a peer has changed."},
	{"pmcd.pdu_in.result", "pmcd.pdu_out.result", 1, pdu.KindResult,
		"A RESULT has values: those of a fetch, or those to be stored."},
	{"pmcd.pdu_in.profile", "pmcd.pdu_out.profile", 2, pdu.KindProfile,
		"A PROFILE says which instances are wanted in later fetches."},
	{"pmcd.pdu_in.fetch", "pmcd.pdu_out.fetch", 3, pdu.KindFetch,
		"A FETCH asks for the values of metrics."},
	{"pmcd.pdu_in.desc_req", "pmcd.pdu_out.desc_req", 4, pdu.KindDescReq,
		"A DESC_REQ asks for the descriptor of a metric."},
	{"pmcd.pdu_in.desc", "pmcd.pdu_out.desc", 5, pdu.KindDesc,
		"A DESC has the descriptor of a metric."},
	{"pmcd.pdu_in.instance_req", "pmcd.pdu_out.instance_req", 6, pdu.KindInstanceReq,
		"An INSTANCE_REQ asks for instances of an instance domain."},
	{"pmcd.pdu_in.instance", "pmcd.pdu_out.instance", 7, pdu.KindInstance,
		"An INSTANCE has instances of an instance domain."},
	{"pmcd.pdu_in.text_req", "pmcd.pdu_out.text_req", 8, pdu.KindTextReq,
		"A TEXT_REQ asks for the help text of a metric or of an instance domain."},
	{"pmcd.pdu_in.text", "pmcd.pdu_out.text", 9, pdu.KindText,
		"A TEXT has a help text."},
	{"pmcd.pdu_in.control_req", "pmcd.pdu_out.control_req", 10, pdu.KindControlReq,
		"A CONTROL_REQ is a kind of the past, of which none are sent."},
	{"pmcd.pdu_in.creds", "pmcd.pdu_out.creds", 12, pdu.KindCreds,
		"A CREDS says, when a connection begins, what its sender can and wants."},
	{"pmcd.pdu_in.pmns_ids", "pmcd.pdu_out.pmns_ids", 13, pdu.KindPMNSIDs,
		"A PMNS_IDS has the identifiers of metrics, as question or answer."},
	{"pmcd.pdu_in.pmns_names", "pmcd.pdu_out.pmns_names", 14, pdu.KindPMNSNames,
		"A PMNS_NAMES has the names of metrics, as question or answer."},
	{"pmcd.pdu_in.pmns_child", "pmcd.pdu_out.pmns_child", 15, pdu.KindPMNSChild,
		"A PMNS_CHILD asks for the names directly below a name."},
	{"pmcd.pdu_in.total", "pmcd.pdu_out.total", 16, 0, ""},
	{"pmcd.pdu_in.pmns_traverse", "pmcd.pdu_out.pmns_traverse", 17, pdu.KindPMNSTraverse,
		"A PMNS_TRAVERSE asks for the names of all metrics below a name."},
	{"pmcd.pdu_in.auth", "pmcd.pdu_out.auth", 18, pdu.KindAttr,
		"An AUTH has an attribute of a client, such as its user, or is part of an\nauthentication."},
	{"pmcd.pdu_in.label_req", "pmcd.pdu_out.label_req", 19, pdu.KindLabelReq,
		"A LABEL_REQ asks for labels."},
	{"pmcd.pdu_in.label", "pmcd.pdu_out.label", 20, pdu.KindLabel,
		"A LABEL has labels."},
	{"pmcd.pdu_in.highres_fetch", "pmcd.pdu_out.highres_fetch", 21, pdu.KindHighResFetch,
		"A HIGHRES_FETCH asks for the values of metrics with a time in nanoseconds."},
	{"pmcd.pdu_in.highres_result", "pmcd.pdu_out.highres_result", 22, pdu.KindHighResResult,
		"A HIGHRES_RESULT has values with a time in nanoseconds."},
	{"pmcd.pdu_in.desc_ids", "pmcd.pdu_out.desc_ids", 23, pdu.KindDescIDs,
		"A DESC_IDS asks for the descriptors of several metrics."},
	{"pmcd.pdu_in.descs", "pmcd.pdu_out.descs", 24, pdu.KindDescs,
		"A DESCS has the descriptors of several metrics."},
}

// addPDUs registers pmcd.pdu_in and pmcd.pdu_out.
func (p *pmcd) addPDUs() {
	for _, m := range pduMetrics {
		p.addPDUCounter(m.in, pmda.Item(1, m.item), m.kind, "received", m.help, func(in, _ uint64) uint64 { return in })
	}
	for _, m := range pduMetrics {
		p.addPDUCounter(m.out, pmda.Item(2, m.item), m.kind, "sent", m.help, func(_, out uint64) uint64 { return out })
	}
}

// addPDUCounter registers the counter of a kind, or of all kinds. pick selects the direction.
func (p *pmcd) addPDUCounter(name string, id pmda.ItemID, kind pdu.Kind, done, help string, pick func(in, out uint64) uint64) {
	m := pmda.Metric[uint32]{Name: name, ID: id, Sem: pdu.SemCounter, Units: pdu.UnitCount}
	if kind == 0 {
		m.Text = "PDUs " + done
		m.Help = "All PDUs that the collector has " + done + ", from or to clients and agents."
		m.Value = always(func() uint32 { return uint32(pick(p.Counters.Total())) })
	} else {
		m.Text = strings.ToUpper(name[strings.LastIndexByte(name, '.')+1:]) + " PDUs " + done
		m.Help = help + "\nThe number of those that the collector has " + done + ", from or to clients and\nagents."
		m.Value = always(func() uint32 { return uint32(pick(p.Counters.Count(kind))) })
	}
	register(p, m)
}
