package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

func (p *probe) printf(format string, args ...any) { fmt.Fprintf(p.out, format, args...) }

// printName prints the beginning of a line: the name of the metric that it is about.
func (p *probe) printName(name string) { p.printf("%s ", terminal.EscapeName(name)) }

// printError prints the rest of a line: the code and the text of an error, and perhaps the function
// of the C library whose error it is.
func (p *probe) printError(err error, function string) {
	p.printf("%d %v", int(pdu.FromError(err)), pcptool.Cause(err))
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
	ids, err := p.lookup(names)
	if err != nil {
		for _, name := range names {
			p.printName(name)
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

// maxLookup is how many names are looked up at once.
const maxLookup = 4096

// lookup is pcptool.Lookup, in parts.
func (p *probe) lookup(names []string) ([]pdu.PMID, error) {
	ids := make([]pdu.PMID, 0, len(names))
	for len(names) > 0 {
		n := min(maxLookup, len(names))
		if len(names) == n+1 {
			n++ // an unknown name that is looked up alone would be an error
		}
		some, err := pcptool.Lookup(p.ctx, p.pc, names[:n])
		if err != nil {
			return nil, err
		}
		ids, names = append(ids, some...), names[n:]
	}
	return ids, nil
}

// expand returns the names of the metrics at and below the names given. The error of a name is
// printed at once.
func (p *probe) expand(args []string) (names []string) {
	if len(args) == 0 {
		var err error
		names, err = p.pc.Traverse(p.ctx, "")
		if _, ok := errors.AsType[*pmapi.LimitError](err); ok {
			fmt.Fprintf(os.Stderr, "pmprobe: %v\n", pcptool.Cause(err))
		} // other errors are not printed without a name, as in pmprobe(1)
	}
	for _, arg := range args {
		below, err := p.pc.Traverse(p.ctx, arg)
		if err != nil {
			p.printName(arg)
			p.printError(err, "")
			p.out.Flush()
			p.command.Hint(p.command.NameHint(p.ctx, p.pc, arg, err))
		}
		if names == nil {
			names = below // there may be millions, which are not copied
		} else {
			names = append(names, below...)
		}
	}
	return names
}

// probeBatch probes a batch of metrics.
func (p *probe) probeBatch(names []string, ids []pdu.PMID) {
	var r pdu.Result
	listed := p.internal || p.external
	if !p.whole || !listed {
		if err := p.command.FetchAtOrigin(p.ctx, p.pc, ids, &r); err != nil {
			p.printName(names[0])
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
			p.printName(name)
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
	p.printName(name)
	if d == pdu.NoInDom {
		p.printf("1")
		p.printSingular()
		p.printf("\n")
		return
	}
	insts, err := p.instances(d)
	if err != nil {
		p.printError(err, "pmGetInDom")
		return
	}
	p.printf("%d", len(insts))
	names := pcptool.NewInstanceNames(insts)
	for _, inst := range insts {
		p.printInstance(inst.ID, names)
	}
	p.printf("\n")
}

// instances requests the instances of a domain, in an archive all that it ever had.
func (p *probe) instances(d pdu.InDom) ([]pdu.Instance, error) {
	if pcptool.IsArchive(p.pc) {
		return p.pc.InstancesEver(p.ctx, d)
	}
	return p.pc.Instances(p.ctx, d)
}

// printSingular prints the instance of a metric without an instance domain, once for its number and
// once for its name.
func (p *probe) printSingular() {
	for _, wanted := range []bool{p.internal, p.external} {
		if wanted {
			p.printf(" PM_IN_NULL")
		}
	}
}

// printInstance prints an instance. Instead of a name that the domain does not have it prints the
// number.
func (p *probe) printInstance(id pdu.InstID, names pcptool.InstanceNames) {
	if p.internal {
		p.printf(" ?%d", id)
	}
	if !p.external {
		return
	}
	if name, ok := names.Name(id); ok {
		p.printf(" \"%s\"", terminal.EscapeName(name))
	} else {
		p.printf(" ?%d", id)
	}
}

// printMetric prints a metric's values or their instances.
func (p *probe) printMetric(name string, d pdu.Desc, s pdu.ValueSet) {
	p.printName(name)
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
			p.buf = p.format.AppendValue(p.buf[:0], s, i, d.Type)
			p.out.Write(p.buf)
		}
	case !p.internal && !p.external:
	case d.InDom == pdu.NoInDom:
		p.printSingular()
	default:
		insts, err := p.instances(d.InDom)
		if err != nil {
			p.printError(err, "pmGetInDom")
			return
		}
		names := pcptool.NewInstanceNames(insts)
		for i := range s.Len() {
			p.printInstance(s.Inst(i), names)
		}
	}
	p.printf("\n")
}
