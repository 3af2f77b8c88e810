package export

import (
	"strconv"

	"github.com/pcp-go/pcp/pdu"
)

// A Metric is a metric with its metadata. It does not change; see Snapshot.Generation.
type Metric struct {
	Name string
	Desc pdu.Desc

	Line string // the one-line help text, or ""
	Help string // the long help text, or Line if the metric lacks one

	// Labels are those of the domain, the instance domain, the cluster and the metric. Later ones
	// have precedence.
	Labels pdu.LabelSet

	InDom *InDom // nil for a metric of a single value
}

// An InDom is an instance domain with its instances.
type InDom struct {
	ID pdu.InDom

	instances map[pdu.InstID]*Instance
	readFor   uint64 // the number of the fetch that they were read for
}

// An Instance is an instance of a domain. It does not change: if another instance gets its number,
// that is another *Instance.
type Instance struct {
	ID     pdu.InstID
	Name   string
	Labels pdu.LabelSet // without those of the metric; pdu.MergeLabels joins them
}

// Instance returns the instance with a number. If the source does not know its name, its name is
// its number and it has no labels. The Instance of a nil InDom is nil.
func (d *InDom) Instance(id pdu.InstID) *Instance {
	if d == nil {
		return nil
	}
	if inst := d.instances[id]; inst != nil {
		return inst
	}
	return &Instance{ID: id, Name: strconv.FormatInt(int64(int32(id)), 10), Labels: pdu.LabelSet{Inst: id}}
}

// Name returns the name of an instance, as Instance has it; "" for a nil InDom.
func (d *InDom) Name(id pdu.InstID) string {
	if d == nil {
		return ""
	}
	return d.Instance(id).Name
}

// A Label is a label that an exporter adds to what it sends.
type Label struct{ Name, Value string }
