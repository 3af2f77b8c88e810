package mmv

import (
	"errors"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A Snapshot is all values of a file at one time. It owns its memory.
type Snapshot struct {
	Time    time.Time
	Metrics []MetricValues // in the order of File.Metrics
}

// MetricValues are the values of a metric.
type MetricValues struct {
	Metric *FileMetric
	Values []InstanceValue // in the order of the metric's Instances; may be empty
}

// An InstanceValue is the value of an instance, or of a metric without a domain.
type InstanceValue struct {
	Instance pdu.Instance // of a metric without a domain: pdu.NoInst and no name
	Value    pdu.Atom     // pdu.As makes it a Go value
	Err      error        // why there is no value: pdu.ErrAppVersion, pdu.ErrType, or one that wraps pdu.ErrGeneric
}

// Snapshot reads all values as an agent exports them; intervals in progress count up to now. Values
// of instances that the metric's domain does not have are left out, and so are those that the file
// says not to be there (ErrNoValue). Errors are those of Reader.Value that concern the whole file:
// ErrChanged, or that of the source's ReadAt.
func (f *File) Snapshot(now time.Time) (*Snapshot, error) {
	r := new(Reader)
	r.Reset(f, now)
	names := f.instanceNames()
	s := &Snapshot{Time: now, Metrics: make([]MetricValues, len(f.Metrics))}
	for i := range f.Metrics {
		m := &f.Metrics[i]
		s.Metrics[i].Metric = m
		for k, id := range m.Instances {
			inst := pdu.Instance{ID: id}
			if m.InDom != 0 {
				var ok bool
				if inst.Name, ok = names[m.InDom][id]; !ok {
					continue
				}
			}
			v, err := r.Value(m, k)
			if r.err != nil {
				return nil, r.err
			}
			if v.Type == pdu.TypeString {
				v = pdu.String(string(v.Bytes()))
			}
			if !errors.Is(err, ErrNoValue) {
				s.Metrics[i].Values = append(s.Metrics[i].Values, InstanceValue{inst, v, err})
			}
		}
	}
	return s, nil
}

// instanceNames are the names of all instances, by serial of the domain and id. The first name of
// an instance counts.
func (f *File) instanceNames() map[uint32]map[pdu.InstID]string {
	domains := make(map[uint32]map[pdu.InstID]string, len(f.InDoms))
	for i := range f.InDoms {
		d := &f.InDoms[i]
		names := domains[d.Serial]
		if names == nil {
			names = make(map[pdu.InstID]string, len(d.Instances))
			domains[d.Serial] = names
		}
		for _, inst := range d.Instances {
			if _, ok := names[inst.ID]; !ok {
				names[inst.ID] = inst.Name
			}
		}
	}
	return domains
}

// Lookup returns the value of an instance, or of a metric without a domain if instance is empty. ok
// is false if there is no value or an error. The metric's name is the registered one, such as
// "requests" for mmv.shop.requests.
func (s *Snapshot) Lookup(metric, instance string) (v pdu.Atom, ok bool) {
	for _, m := range s.Metrics {
		if m.Metric.Name != metric {
			continue
		}
		for _, v := range m.Values {
			if v.Instance.Name == instance {
				return v.Value, v.Err == nil
			}
		}
	}
	return pdu.Atom{}, false
}
