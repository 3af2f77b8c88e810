package pdutest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// describeBody formats a PDU as lines for a message, and a malformed one as bytes.
func describeBody(from int32, k pdu.Kind, body []byte) []string {
	p, err := pdu.Decode(k, body)
	if err != nil {
		return []string{fmt.Sprintf("%v from %d", k, from), err.Error(), fmt.Sprintf("%x", body)}
	}
	return describe(from, p)
}

// describe formats a PDU as lines for a message.
func describe(from int32, p pdu.PDU) []string {
	out := []string{fmt.Sprintf("%v from %d", p.Kind(), from)}
	part := func(format string, args ...any) { out = append(out, "  "+fmt.Sprintf(format, args...)) }
	switch p := p.(type) {
	case *pdu.Result:
		part("time %v", p.Time)
		for _, s := range p.All() {
			part("%v: %s", s.PMID, values(s))
		}
	case *pdu.Fetch:
		part("context %d", p.Context)
		each(part, p.PMIDs)
	case *pdu.DescsReq:
		each(part, p.PMIDs)
	case *pdu.PMIDList:
		part("status %d", p.Status)
		each(part, p.PMIDs)
	case *pdu.DescsReply:
		each(part, p.Descs)
	case *pdu.InstanceReply:
		part("%v", p.InDom)
		each(part, p.Instances)
	case *pdu.NameList:
		part("error %d, statuses %v", int32(p.Err), p.Statuses)
		each(part, p.Names)
	case *pdu.LabelReply:
		part("ident %#x, class %#x", p.Ident, int32(p.Class))
		for _, s := range p.Sets {
			part("%d: error %d, %s %v", s.Inst, int32(s.Err), s.JSON, s.Labels)
		}
	case *pdu.Attr:
		part("%v %q", p.Key, p.Value)
	default:
		part("%+v", p)
	}
	return out
}

func each[T any](part func(string, ...any), list []T) {
	for _, v := range list {
		part("%+v", v)
	}
}

// values formats the values of a set. It reads those in place, whose type is unknown, as TypeU32.
func values(s pdu.ValueSet) string {
	if err := s.Err(); err != nil {
		return "error " + err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d values", s.Len())
	for inst, a := range s.All(pdu.TypeU32) {
		fmt.Fprintf(&b, " [%d]=%v", inst, a)
	}
	return b.String()
}

// diff shows the lines that differ between two lists, after their common first line.
func diff(want, got []string) string {
	var b strings.Builder
	n := 0
	for n < min(len(want), len(got)) && want[n] == got[n] {
		n++
	}
	end := 0
	for end < min(len(want), len(got))-n && want[len(want)-1-end] == got[len(got)-1-end] {
		end++
	}
	if n > 0 {
		b.WriteString(lines("  ", want[:1]))
	}
	b.WriteString(lines("- ", want[n:len(want)-end]))
	b.WriteString(lines("+ ", got[n:len(got)-end]))
	if slices.Equal(want, got) {
		b.WriteString("  the same values, but not the same bytes\n")
	}
	return b.String()
}

func lines(prefix string, list []string) string {
	var b strings.Builder
	for _, l := range list {
		b.WriteString(prefix + l + "\n")
	}
	return b.String()
}
