package logextract

import (
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// A pick is a metric to keep.
type pick struct {
	instances []pdu.InstID // nil for all
}

// Select looks up the metrics to keep. It omits unknown metrics and instances, with a *SelectError
// as a warning. If no metric is known, all are kept, as in pmlogextract(1).
func (j *Job) Select(metrics []Metric) {
	for _, m := range metrics {
		j.selectOne(m)
	}
}

func (j *Job) selectOne(m Metric) {
	var failed error
	known := false
	for _, in := range j.inputs {
		leaves, err := in.set.Metadata().Names().Traverse(m.Name)
		if err != nil {
			failed = err
			continue
		}
		for name, id := range leaves {
			known = true
			j.pick(m, name, id)
		}
	}
	if !known {
		j.warn(&SelectError{Metric: m, Err: failed})
	}
}

// pick adds a metric to the metrics to keep.
func (j *Job) pick(m Metric, name string, id pdu.PMID) {
	if j.picks == nil {
		j.picks = map[pdu.PMID]*pick{}
	}
	if _, twice := j.picks[id]; twice {
		return
	}
	j.picks[id] = nil
	p := &pick{}
	for _, i := range m.Instances {
		inst, ok := j.findInstance(id, i)
		if ok {
			p.instances = append(p.instances, inst)
			continue
		}
		text := i.Name
		if text == "" {
			text = strconv.Itoa(int(i.ID))
		}
		j.warn(&SelectError{m, name, text, pdu.ErrInst})
	}
	if len(m.Instances) > 0 && p.instances == nil {
		j.warn(&SelectError{m, name, "", pdu.ErrInst})
		return
	}
	j.picks[id] = p
}

// findInstance looks for an instance of a metric in all inputs.
func (j *Job) findInstance(id pdu.PMID, i Instance) (pdu.InstID, bool) {
	for _, in := range j.inputs {
		md := in.set.Metadata()
		desc, ok := md.Desc(id)
		if !ok || desc.InDom == pdu.NoInDom {
			continue
		}
		if d := md.InDom(desc.InDom); d != nil {
			if inst, ok := findInstance(d, i); ok {
				return inst, true
			}
		}
	}
	return 0, false
}

// findInstance looks for an instance in all records of d, the latest first; see
// pmLookupInDomArchive(3).
func findInstance(d *archive.InDom, i Instance) (pdu.InstID, bool) {
	if i.Name == "" {
		for _, known := range d.All() {
			if known.ID == i.ID {
				return i.ID, true
			}
		}
		return 0, false
	}
	for n := d.Len() - 1; n >= 0; n-- {
		for _, known := range d.State(n) {
			word, _, _ := strings.Cut(known.Name, " ")
			if known.Name == i.Name || word == i.Name {
				return known.ID, true
			}
		}
	}
	return 0, false
}
