package pmdumplog

import (
	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/examples/internal/logtext"
	"github.com/pcp-go/pcp/pdu"
)

// printInDoms prints the instance domains with all their states.
func (d *dumper) printInDoms() error {
	d.printf("\nInstance Domains in the Log ...\n")
	var domains []*archive.InDom
	var ids []pdu.InDom
	for in := range d.meta.InDoms() {
		domains, ids = append(domains, in), append(ids, in.ID)
	}
	for _, n := range logtext.HashOrder(ids) {
		in := domains[n]
		d.printf("InDom: %v\n", in.ID)
		for i := range in.Len() {
			state := in.State(i)
			d.printTime(in.Time(i))
			d.printf(" %d instances\n", len(state))
			for _, inst := range state {
				d.printInstance("", inst)
			}
		}
	}
	return nil
}

func (d *dumper) printInstance(verb string, inst pdu.Instance) {
	d.printf("   %s%d or \"%s\"\n", verb, inst.ID, inst.Name)
}

// printInDomRecords prints the records of instance domains as the file has them.
func (d *dumper) printInDomRecords() error {
	d.printf("\nInstance Domains on-disk ...\n")
	return d.eachArchive(d.printInDomsOf)
}

// printInDomsOf prints the records of instance domains of an archive.
func (d *dumper) printInDomsOf() error {
	f, err := d.arch.File(archive.VolumeMeta)
	if err != nil {
		return err
	}
	for r, err := range f.Records() {
		if err != nil {
			return err
		}
		if r.Kind == archive.KindInDom || r.Kind == archive.KindInDomDelta {
			in, err := r.InDom()
			if err != nil {
				return err
			}
			d.printInDomRecord(&in)
		}
	}
	return nil
}

func (d *dumper) printInDomRecord(in *archive.InDomRecord) {
	d.printTime(in.Time)
	if !in.Delta {
		d.printf(" InDom: %v %d instances\n", in.InDom, len(in.Instances))
		for _, inst := range in.Instances {
			d.printInstance("", inst)
		}
		return
	}
	d.printf(" InDom: %v delta %d instances\n", in.InDom, len(in.Instances)+len(in.Deleted))
	deleted := in.Deleted
	for _, inst := range in.Instances {
		for len(deleted) > 0 && deleted[0] < inst.ID {
			d.printf("   del %d\n", deleted[0])
			deleted = deleted[1:]
		}
		d.printInstance("add ", inst)
	}
	for _, inst := range deleted {
		d.printf("   del %d\n", inst)
	}
}
