package main

import (
	"fmt"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

func (p *probe) printf(format string, args ...any) { fmt.Fprintf(p.out, format, args...) }

// printError prints the rest of a line: the code and the text of an error, and perhaps the function of the C library whose
// error it is.
func (p *probe) printError(err error, function string) {
	code := pdu.FromError(err)
	p.printf("%d %v", int(code), code)
	if function != "" {
		p.printf(" (%s)", function)
	}
	p.printf("\n")
}

// probeAll probes the metrics that the arguments name, or all there are.
func (p *probe) probeAll(args []string) {
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
			p.printError(err, "")
		}
		return
	}
	for len(names) > 0 {
		n := min(p.batch, len(names))
		p.probeBatch(names[:n], ids[:n])
		names, ids = names[n:], ids[n:]
	}
}

// expand returns the names of the metrics at and below the names given. The error of a name is printed at once.
func (p *probe) expand(args []string) (names []string) {
	if len(args) == 0 {
		names, _ = p.pc.Traverse(p.ctx, "") // an error could not be printed without a name
	}
	for _, arg := range args {
		below, err := p.pc.Traverse(p.ctx, arg)
		if err != nil {
			p.printf("%s ", arg)
			p.printError(err, "")
		}
		names = append(names, below...)
	}
	return names
}

// probeBatch probes a batch of metrics.
func (p *probe) probeBatch(names []string, ids []pdu.PMID) {
	var r pdu.Result
	listed := p.internal || p.external
	if !p.whole || !listed {
		if err := p.pc.Fetch(p.ctx, ids, &r); err != nil {
			p.printf("%s ", names[0])
			p.printError(err, "pmFetch")
			return
		}
	}
	descs, err := make([]pdu.Desc, len(ids)), error(nil)
	if listed || p.values {
		descs, err = p.pc.Descs(p.ctx, ids)
	}
	for i, name := range names {
		switch err := pmapi.ErrorAt(err, i); {
		case err != nil:
			p.printf("%s ", name)
			p.printError(err, "pmLookupDesc")
		case p.whole && listed:
			p.printDomain(name, descs[i].InDom)
		default:
			p.printMetric(name, descs[i], r.At(i))
		}
	}
}

// printDomain prints the instances of a metric's domain.
func (p *probe) printDomain(name string, d pdu.InDom) {
	p.printf("%s ", name)
	if d == pdu.NoInDom {
		p.printf("1")
		p.printSingular()
		p.printf("\n")
		return
	}
	insts, err := p.pc.Instances(p.ctx, d)
	if err != nil {
		p.printError(err, "pmGetInDom")
		return
	}
	p.printf("%d", len(insts))
	names := tool.InstanceNames(insts)
	for _, inst := range insts {
		p.printInstance(inst.ID, names)
	}
	p.printf("\n")
}

// printSingular prints the instance of a metric without an instance domain, once for its number and once for its name.
func (p *probe) printSingular() {
	for _, wanted := range []bool{p.internal, p.external} {
		if wanted {
			p.printf(" PM_IN_NULL")
		}
	}
}

// printInstance prints an instance. Instead of a name that the domain does not have it prints the number.
func (p *probe) printInstance(id pdu.InstID, names map[pdu.InstID]string) {
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

// printMetric prints a metric's values or their instances.
func (p *probe) printMetric(name string, d pdu.Desc, s pdu.ValueSet) {
	p.printf("%s ", name)
	if err := s.Err(); err != nil {
		p.printError(err, "")
		return
	}
	p.printf("%d", s.Len())
	switch {
	case s.Len() == 0:
	case p.values:
		for i := range s.Len() {
			p.out.WriteByte(' ')
			p.out.Write(p.format.AppendValue(nil, s, i, d.Type))
		}
	case !p.internal && !p.external:
	case d.InDom == pdu.NoInDom:
		p.printSingular()
	default:
		insts, err := p.pc.Instances(p.ctx, d.InDom)
		if err != nil {
			p.printError(err, "pmGetInDom")
			return
		}
		names := tool.InstanceNames(insts)
		for i := range s.Len() {
			p.printInstance(s.Inst(i), names)
		}
	}
	p.printf("\n")
}
