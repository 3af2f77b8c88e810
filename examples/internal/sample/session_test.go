package sample_test

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A session makes requests of an agent, and writes down the replies.
//
//	fetch ITEM...                   the values, under the profile
//	profile SERIAL INST...          only these instances of a domain; all others after "but"
//	profile none | all              no instance of any domain, or all of all
//	desc ITEM
//	instances SERIAL [inst ID] [name NAME]
//	text ITEM | text SERIAL indom
//	store ITEM TYPE [INST=VALUE...] ... [, ITEM ...]
//	labels CLASS NUMBER
//
// An item is one of cluster 0; "C.I" has another cluster.
type session struct {
	t       testing.TB
	h       pmda.Handler
	request pmda.Request
	out     strings.Builder
}

// play runs a script.
func play(t testing.TB, h pmda.Handler, script string) string {
	t.Helper()
	s := &session{t: t, h: h, request: pmda.Request{Client: pmda.NewClient(0, 1)}}
	lines := bufio.NewScanner(strings.NewReader(script))
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" && line[0] != '#' {
			fmt.Fprintf(&s.out, "> %s\n", line)
			s.do(line)
		}
	}
	return s.out.String()
}

func (s *session) do(line string) {
	s.t.Helper()
	command, args := strings.Fields(line)[0], strings.Fields(line)[1:]
	switch command {
	case "fetch":
		s.fetch(args)
	case "profile":
		s.profile(args)
	case "desc":
		d, err := s.h.Desc(s.t.Context(), &s.request, s.id(args[0]))
		s.reply(fmt.Sprintf("%v type %v indom %v sem %v units %v", d.PMID, int32(d.Type), d.InDom, int32(d.Sem), d.Units), err)
	case "instances":
		s.instances(args)
	case "text":
		s.text(args)
	case "store":
		s.store(strings.TrimPrefix(line, "store "))
	default:
		if !s.doDynamic(command, args) {
			s.t.Fatalf("unknown command %q", line)
		}
	}
}

func (s *session) reply(what string, err error) {
	if err != nil {
		what = fmt.Sprintf("error %d", int32(pdu.FromError(err)))
	}
	fmt.Fprintf(&s.out, "  %s\n", what)
}

func (s *session) number(text string) int {
	s.t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *session) id(text string) pdu.PMID {
	s.t.Helper()
	cluster, item, ok := strings.Cut(text, ".")
	if !ok {
		cluster, item = "0", text
	}
	return pdu.MakePMID(s.h.Info().Domain, s.number(cluster), s.number(item))
}

func (s *session) indom(text string) pdu.InDom {
	s.t.Helper()
	return pdu.MakeInDom(s.h.Info().Domain, s.number(text))
}

func (s *session) profile(args []string) {
	p := new(pdu.Profile)
	if s.request.Profile != nil {
		p = s.request.Profile.Clone()
	}
	switch args[0] {
	case "all":
		p = nil
	case "none":
		p = &pdu.Profile{Exclude: true}
	default:
		d := s.indom(args[0])
		change := p.Add
		if len(args) > 1 && args[1] == "but" {
			args = args[1:]
			p.Add(d)
			change = p.Delete
		} else {
			p.Delete(d)
		}
		for _, a := range args[1:] {
			if err := change(d, pdu.InstID(s.number(a))); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	s.request.Profile = p
}

func (s *session) fetch(args []string) {
	s.t.Helper()
	var ids []pdu.PMID
	for _, a := range args {
		ids = append(ids, s.id(a))
	}
	var w pdu.ResultWriter
	if err := s.h.Fetch(s.t.Context(), &s.request, ids, &w); err != nil {
		s.reply("", err)
		return
	}
	res, err := w.Result()
	if err != nil {
		s.t.Fatal(err)
	}
	for i, set := range res.All() {
		fmt.Fprintf(&s.out, "  %d.%d:", set.PMID.Cluster(), set.PMID.Item())
		if err := set.Err(); err != nil {
			fmt.Fprintf(&s.out, " error %d", int32(pdu.FromError(err)))
		}
		for inst, a := range set.All(s.typeOf(ids[i])) {
			if inst != pdu.NoInst {
				fmt.Fprintf(&s.out, " [%d]", inst)
			}
			fmt.Fprintf(&s.out, " %v %v", int32(a.Type), s.format(a))
		}
		fmt.Fprintln(&s.out)
	}
	if w.Changed != 0 {
		fmt.Fprintf(&s.out, "  changed %v\n", w.Changed)
	}
}

// typeOf is the type that a metric's values are decoded as where they do not say it.
func (s *session) typeOf(id pdu.PMID) pdu.Type {
	if unsigned[id.Item()] {
		return pdu.TypeU32
	}
	return pdu.Type32
}

// unsigned are the items whose values are in place and unsigned.
var unsigned = map[int]bool{1: true, 2: true, 41: true, 42: true, 58: true, 64: true, 72: true, 73: true, 91: true, 93: true, 94: true, 95: true, 96: true,
	97: true, 105: true, 106: true, 115: true, 116: true, 117: true, 118: true, 119: true, 161: true, 165: true, 168: true}

func (s *session) instances(args []string) {
	d, inst, name := s.indom(args[0]), pdu.NoInst, ""
	for args = args[1:]; len(args) > 0; args = args[2:] {
		switch args[0] {
		case "inst":
			inst = pdu.InstID(s.number(args[1]))
		case "name":
			name = strings.Join(args[1:], " ")
			args = args[:2]
		}
	}
	list, err := s.h.Instances(s.t.Context(), &s.request, d, inst, name)
	var b strings.Builder
	for _, i := range list {
		// What was asked for need not be in the reply.
		if inst != pdu.NoInst {
			i.ID = inst
		}
		if name != "" {
			i.Name = name
		}
		fmt.Fprintf(&b, "%d %q ", i.ID, i.Name)
	}
	s.reply(b.String(), err)
}

func (s *session) text(args []string) {
	of := pdu.TextOfMetric(s.id(args[0]))
	if len(args) > 1 {
		of = pdu.TextOfInDom(s.indom(args[0]))
	}
	for _, kind := range []pdu.TextKind{pdu.TextOneLine, pdu.TextHelp} {
		text, err := s.h.Text(s.t.Context(), &s.request, of, kind)
		s.reply(fmt.Sprintf("%q", text), err)
	}
}

// store has the sets of one request separated by commas.
func (s *session) store(sets string) {
	s.t.Helper()
	var w pdu.ResultWriter
	for set := range strings.SplitSeq(sets, ", ") {
		f := strings.Fields(set)
		w.Begin(s.id(f[0]))
		for _, v := range f[2:] {
			inst, value, ok := strings.Cut(v, "=")
			id := pdu.NoInst
			if !ok {
				value = inst
			} else {
				id = pdu.InstID(s.number(inst))
			}
			a, err := pdu.ParseAtom(value, types[f[1]])
			if types[f[1]] == pdu.TypeAggregate {
				a, err = pdu.Aggregate([]byte(value)), nil
			}
			if err != nil {
				s.t.Fatal(err)
			}
			w.Atom(id, a)
		}
	}
	res, err := w.Result()
	if err != nil {
		s.t.Fatal(err)
	}
	s.reply("stored", s.h.Store(s.t.Context(), &s.request, res))
}

var types = map[string]pdu.Type{"32": pdu.Type32, "u32": pdu.TypeU32, "64": pdu.Type64, "u64": pdu.TypeU64, "float": pdu.TypeFloat,
	"double": pdu.TypeDouble, "string": pdu.TypeString, "aggregate": pdu.TypeAggregate}
