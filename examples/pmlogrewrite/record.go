package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// dumpRecord formats a data record as the debug output of PCP's library does, with its address in
// memory. New identifiers have no names. Values with new types are printed in all ways that their
// bytes allow.
func dumpRecord(s *archive.Set, r *pdu.Result) string {
	if r == nil {
		return ""
	}
	b := fmt.Appendf(nil, "__pmResult dump from %p timestamp: %d.%09d %s numpmid: %d\n",
		r, r.Time.Unix(), r.Time.Nanosecond(), r.Time.Local().Format("15:04:05.000000000"), r.Len())
	meta := s.Metadata()
	for _, set := range r.All() {
		names := strings.Join(meta.Names().Names(set.PMID), ", ")
		if names == "" {
			names = "<noname>"
		}
		b = fmt.Appendf(b, "  %v (%s): ", set.PMID, names)
		switch {
		case set.Err() != nil:
			b = fmt.Appendf(b, "%v\n", set.Err())
		case set.Len() == 0:
			b = append(b, "No values returned!\n"...)
		default:
			b = appendSet(b, s, set)
		}
	}
	return string(b)
}

// appendSet appends the values of a metric.
func appendSet(b []byte, s *archive.Set, set pdu.ValueSet) []byte {
	b = fmt.Appendf(b, "numval: %d valfmt: %d vlist[]:\n", set.Len(), set.Form())
	d, known := s.Metadata().Desc(set.PMID)
	if !known {
		d = pdu.Desc{Type: pdu.TypeUnknown, InDom: pdu.NoInDom}
	}
	domain := s.Metadata().InDom(d.InDom)
	var format pdu.ValueFormat
	for i := range set.Len() {
		b = append(b, "  "...)
		if inst := set.Inst(i); inst != pdu.NoInst {
			b = fmt.Appendf(b, "  inst [%d or %s]", inst, instanceName(domain, s.Label().Start, inst))
		}
		b = append(b, " value "...)
		if !known && set.Form() != 0 {
			b = format.Append(b, set.Atom(i, d.Type)) // a block has a type of its own
		} else {
			b = format.AppendValue(b, set, i, d.Type)
		}
		b = append(b, '\n')
	}
	return b
}

// instanceName returns the name of an instance in quotes. As in PCP's tool it is the name at the
// start of the archive.
func instanceName(domain *archive.InDom, start time.Time, inst pdu.InstID) string {
	if domain != nil {
		if state := domain.Index(start); state >= 0 {
			list := domain.State(state)
			if i := slices.IndexFunc(list, func(i pdu.Instance) bool { return i.ID == inst }); i >= 0 {
				return "\"" + list[i].Name + "\""
			}
		}
	}
	return "???"
}
