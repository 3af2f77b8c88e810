package main

import (
	"fmt"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// printf prints to the output.
func (p *probe) printf(format string, args ...any) { fmt.Fprintf(p.out, format, args...) }

// fail prints an error about what was begun to be printed: its code, its text, and perhaps the function of the C library
// that has it.
func (p *probe) fail(err error, function string) {
	code := pdu.FromError(err)
	p.printf("%d %v", int(code), code)
	if function != "" {
		p.printf(" (%s)", function)
	}
	p.printf("\n")
}

// all probes the metrics that the arguments name, or all there are.
func (p *probe) all(args []string) {
	names := args
	if !p.leaves || len(args) == 0 {
		names = p.expand(args)
	}
	if len(names) == 0 {
		return
	}
	ids, err := tool.Lookup(p.ctx, p.pc, names)
	if err != nil {
		for _, name := range names {
			p.printf("%s ", name)
			p.fail(err, "")
		}
		return
	}
	for len(names) > 0 {
		n := min(p.batch, len(names))
		p.some(names[:n], ids[:n])
		names, ids = names[n:], ids[n:]
	}
}

// expand are the names of the metrics at and below the names given. What is wrong with one of those is told at once.
func (p *probe) expand(args []string) (names []string) {
	if len(args) == 0 {
		names, _ = p.pc.Traverse(p.ctx, "") // there is no name to tell why not
	}
	for _, arg := range args {
		below, err := p.pc.Traverse(p.ctx, arg)
		if err != nil {
			p.printf("%s ", arg)
			p.fail(err, "")
		}
		names = append(names, below...)
	}
	return names
}

// some probes a batch of metrics.
func (p *probe) some(names []string, ids []pdu.PMID) {
	var r pdu.Result
	listed := p.internal || p.external
	if !p.whole || !listed {
		if err := p.pc.Fetch(p.ctx, ids, &r); err != nil {
			p.printf("%s ", names[0])
			p.fail(err, "pmFetch")
			return
		}
	}
	descs, errs := make([]pdu.Desc, len(ids)), make([]error, len(ids))
	if listed || p.values {
		descs, errs = tool.Descs(p.ctx, p.pc, ids)
	}
	for i, name := range names {
		switch {
		case errs[i] != nil:
			p.printf("%s ", name)
			p.fail(errs[i], "pmLookupDesc")
		case p.whole && listed:
			p.domain(name, descs[i].InDom)
		default:
			p.metric(name, descs[i], r.At(i))
		}
	}
}

// domain lists a metric's instances.
func (p *probe) domain(name string, d pdu.InDom) {
	p.printf("%s ", name)
	if d == pdu.NoInDom {
		p.printf("1")
		p.singular()
		p.printf("\n")
		return
	}
	insts, err := p.pc.Instances(p.ctx, d)
	if err != nil {
		p.fail(err, "pmGetInDom")
		return
	}
	p.printf("%d", len(insts))
	names := tool.InstNames(insts)
	for _, inst := range insts {
		p.instance(inst.ID, names)
	}
	p.printf("\n")
}

// singular lists the instance of a metric that has but one value.
func (p *probe) singular() {
	for _, wanted := range []bool{p.internal, p.external} {
		if wanted {
			p.printf(" PM_IN_NULL")
		}
	}
}

// instance lists one of the instances of a domain. It has its number for a name if the domain does not know it.
func (p *probe) instance(id pdu.InstID, names map[pdu.InstID]string) {
	if p.internal {
		p.printf(" ?%d", id)
	}
	if !p.external {
		return
	}
	if name, ok := names[id]; ok {
		p.printf(" \"%s\"", name)
	} else {
		p.printf(" ?%d", id)
	}
}

// metric tells of a metric's values.
func (p *probe) metric(name string, d pdu.Desc, s pdu.ValueSet) {
	p.printf("%s ", name)
	if err := s.Err(); err != nil {
		p.fail(err, "")
		return
	}
	p.printf("%d", s.Len())
	switch {
	case s.Len() == 0:
	case p.values:
		for i := range s.Len() {
			p.out.WriteByte(' ')
			p.out.Write(tool.AppendValue(nil, p.format, s, i, d.Type))
		}
	case !p.internal && !p.external:
	case d.InDom == pdu.NoInDom:
		p.singular()
	default:
		insts, err := p.pc.Instances(p.ctx, d.InDom)
		if err != nil {
			p.fail(err, "pmGetInDom")
			return
		}
		names := tool.InstNames(insts)
		for i := range s.Len() {
			p.instance(s.Inst(i), names)
		}
	}
	p.printf("\n")
}
