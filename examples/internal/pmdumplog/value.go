package pmdumplog

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/examples/internal/lognum"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/pdu"
)

// A metric is the information to print about a metric, except for its values.
type metric struct {
	text   string // "    29.0.5 (sample.colour):"
	names  string
	desc   pdu.Desc
	known  bool        // whether there is a descriptor
	inDom  *inDomNames // nil if it has no instances
	events bool
}

// metric returns the metric with an identifier.
func (d *dumper) metric(id pdu.PMID) *metric {
	if m := d.metrics[id]; m != nil {
		return m
	}
	m := &metric{names: d.allNames(id, "<nonames>")}
	m.text = "    " + id.String() + " (" + m.names + "):"
	if m.desc, m.known = d.meta.Desc(id); !m.known {
		m.desc = pdu.Desc{PMID: id, Type: pdu.Type32, InDom: pdu.NoInDom} // blocks have a type of their own
	}
	if m.desc.InDom != pdu.NoInDom {
		m.inDom = d.instances(m.desc.InDom)
	}
	m.events = m.desc.Type == pdu.TypeEvent || m.desc.Type == pdu.TypeHighResEvent
	d.metrics[id] = m
	return m
}

var format = pdu.ValueFormat{Width: 1}

// appendSet appends the values of a metric at a time.
func (d *dumper) appendSet(b []byte, s pdu.ValueSet, t time.Time) []byte {
	m := d.metric(s.PMID)
	if m.inDom != nil {
		m.inDom.move(t)
	}
	switch {
	case s.Err() != nil:
		b = append(append(b, m.text...), ' ')
		return append(append(b, pcptool.Cause(s.Err()).Error()...), '\n')
	case s.Len() == 0:
		return append(append(b, m.text...), " No values returned!\n"...)
	case m.events:
		return d.appendEventSet(b, m, s)
	case s.Len() == 1:
		b = append(append(b, m.text...), ' ')
		return d.appendValue(b, m, s, 0)
	}
	b = append(append(b, m.text...), '\n')
	for i := range s.Len() {
		b = append(b, "        "...)
		b = d.appendValue(b, m, s, i)
	}
	return b
}

// appendValue appends the value at an index of a set, after its instance.
func (d *dumper) appendValue(b []byte, m *metric, s pdu.ValueSet, i int) []byte {
	if m.inDom != nil {
		b = m.inDom.append(append(b, "inst ["...), s.Inst(i))
		b = append(b, "] "...)
	}
	b = append(b, "value "...)
	if a, ok := lognum.Untyped(s, i, m.desc.Type); ok {
		return append(format.Append(b, a), '\n')
	}
	return append(format.AppendValue(b, s, i, m.desc.Type), '\n')
}

// An inDomNames has the texts of the instances of one state of an instance domain, such as 5403 or
// "5403".
type inDomNames struct {
	domain *archive.InDom // nil if the archive has none
	state  int            // -1 before the first one
	from   time.Time      // when the state begins
	until  time.Time      // and ends; zero if it is the last one
	insts  []pdu.Instance
	texts  []string // of insts, empty until they are needed
	next   int      // index of the instance that is probably looked for next
}

// instances returns the names of an instance domain.
func (d *dumper) instances(id pdu.InDom) *inDomNames {
	n := d.inDoms[id]
	if n == nil {
		n = &inDomNames{domain: d.meta.InDom(id), state: -1}
		if n.domain != nil && n.domain.Len() > 0 {
			n.until = n.domain.Time(0)
		}
		d.inDoms[id] = n
	}
	return n
}

// move changes to the state that is valid at a time.
func (n *inDomNames) move(t time.Time) {
	if n.domain == nil || (n.state < 0 || !t.Before(n.from)) && (n.until.IsZero() || t.Before(n.until)) {
		return
	}
	n.state = n.domain.Index(t)
	n.insts, n.texts, n.until = nil, n.texts[:0], time.Time{}
	if n.state >= 0 {
		n.from, n.insts = n.domain.Time(n.state), n.domain.State(n.state)
	}
	if n.state+1 < n.domain.Len() {
		n.until = n.domain.Time(n.state + 1)
	}
	n.texts = slices.Grow(n.texts, len(n.insts))[:len(n.insts)]
	clear(n.texts)
}

// append appends the text of an instance.
func (n *inDomNames) append(b []byte, id pdu.InstID) []byte {
	at := n.next
	if at >= len(n.insts) || n.insts[at].ID != id {
		var found bool
		at, found = slices.BinarySearchFunc(n.insts, id, func(inst pdu.Instance, id pdu.InstID) int { return cmp.Compare(inst.ID, id) })
		if !found {
			return append(strconv.AppendInt(b, int64(id), 10), " or ???"...)
		}
	}
	n.next = at + 1
	if n.texts[at] == "" {
		n.texts[at] = strconv.Itoa(int(id)) + " or \"" + n.insts[at].Name + "\""
	}
	return append(b, n.texts[at]...)
}
