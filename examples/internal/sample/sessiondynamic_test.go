package sample_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// doDynamic does commands about names and labels, or returns false:
//
//	pmid NAME
//	names ITEM | names D.C.I
//	children NAME
//	traverse NAME
//	labels domain | cluster C | item ITEM | indom SERIAL | instances SERIAL
//	client ID                       whose requests follow
//	end ID                          a client has gone
//	repeat N COMMAND
func (s *session) doDynamic(command string, args []string) bool {
	ctx, r := s.t.Context(), &s.request
	arg := strings.Join(args, " ")
	switch command {
	case "pmid":
		id, err := s.h.PMID(ctx, r, arg)
		s.reply(id.String(), err)
	case "names":
		id, err := pdu.ParsePMID(arg)
		if err != nil {
			id = s.id(arg)
		}
		names, err := s.h.Names(ctx, r, id)
		s.reply(strings.Join(names, " "), err)
	case "children":
		list, err := s.h.Children(ctx, r, arg)
		s.reply(fmt.Sprint(list), err)
	case "traverse":
		names, err := s.h.Traverse(ctx, r, arg)
		s.reply(strings.Join(names, " "), err)
	case "labels":
		s.labels(args)
	case "client":
		s.request.Client = pmda.NewClient(uint32(s.number(args[0])), uint64(1+s.number(args[0])))
	case "end":
		s.h.EndClient(pmda.NewClient(uint32(s.number(args[0])), uint64(1+s.number(args[0]))))
	case "repeat":
		for range s.number(args[0]) {
			s.do(strings.Join(args[1:], " "))
		}
	default:
		return false
	}
	return true
}

func (s *session) labels(args []string) {
	d := s.h.Info().Domain
	var of pdu.LabelTarget
	switch args[0] {
	case "domain":
		of = pdu.LabelsOfDomain(d)
	case "cluster":
		of = pdu.LabelsOfCluster(pdu.MakePMID(d, s.number(args[1]), 5))
	case "item":
		of = pdu.LabelsOfItem(s.id(args[1]))
	case "indom":
		of = pdu.LabelsOfInDom(s.indom(args[1]))
	case "instances":
		of = pdu.LabelsOfInstances(s.indom(args[1]))
	}
	sets, err := s.h.Labels(s.t.Context(), &s.request, of)
	var b strings.Builder
	for _, set := range sets {
		fmt.Fprintf(&b, "[%d] %s", set.Inst, set.JSON)
		for _, l := range set.Labels {
			fmt.Fprintf(&b, " %+v", l)
		}
		b.WriteString("; ")
	}
	s.reply(b.String(), err)
}

// format is a value as text: of events, the times are those since the first.
func (s *session) format(a pdu.Atom) string {
	if a.Type != pdu.TypeEvent && a.Type != pdu.TypeHighResEvent {
		return a.String()
	}
	list, err := a.Events()
	if err != nil {
		s.t.Error(err)
	}
	var b strings.Builder
	var first time.Time
	for r := range list.All() {
		if first.IsZero() {
			first = r.Time
			age := time.Since(first).Round(10 * time.Second) // the pattern's first record is 10 seconds old
			fmt.Fprintf(&b, "(age %v)", age)
		}
		fmt.Fprintf(&b, " {+%v %v missed %d", r.Time.Sub(first), r.Flags, r.Missed)
		for id, v := range r.Params() {
			fmt.Fprintf(&b, " %v=%v %v", id, int32(v.Type), v)
		}
		b.WriteString("}")
	}
	return b.String()
}
