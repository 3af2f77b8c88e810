package pmdammv

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pdu"
)

// A snapshot holds everything that the agent serves, except the values. It does not change, but
// parts of it are computed when they are first needed.
type snapshot struct {
	name     string // of the agent
	domain   pdu.Domain
	entries  []*entry // all, in order
	files    []file   // the served ones, in order
	inFlux   bool     // some file is being written
	clusters [pdu.MaxCluster + 1]*cluster
	indoms   map[pdu.InDom]*indom

	namesOnce sync.Once
	names     names // see makeNames
	collide   bool  // names of different files may be the same
}

// A file is an entry that is served, with its cluster.
type file struct {
	*entry
	cluster int
}

// A cluster holds the files with the same cluster number.
type cluster struct {
	files   []file
	metrics []atomic.Pointer[metric] // by item; nil until first used
}

// newSnapshot returns a snapshot of entries. Files that would exceed maxMetrics are not served.
func newSnapshot(name string, domain pdu.Domain, entries []*entry, maxMetrics int, log *slog.Logger) *snapshot {
	s := &snapshot{name: name, domain: domain, entries: entries, indoms: map[pdu.InDom]*indom{}}
	for _, e := range entries {
		s.inFlux = s.inFlux || e.inFlux()
		if e.file == nil {
			continue
		}
		if maxMetrics -= len(e.file.Metrics); maxMetrics < 0 {
			log.Warn("MMV file is not served: too many metrics in all files", slog.String("file", e.name))
			maxMetrics += len(e.file.Metrics)
			continue
		}
		if err := s.add(e); err != nil {
			log.Warn("MMV file is not served", slog.String("file", e.name), slog.Any("err", err))
		}
	}
	return s
}

// add adds an entry to the served files.
func (s *snapshot) add(e *entry) error {
	number := e.file.Cluster
	if number == 0 {
		for number = 1; number <= pdu.MaxCluster && s.clusters[number] != nil; number++ {
		}
		if number > pdu.MaxCluster {
			return fmt.Errorf("all %d clusters are in use", pdu.MaxCluster)
		}
	}
	f := file{e, number}
	if n := len(s.files); n > 0 && s.files[n-1].name == e.name || mayCollide(e) {
		s.collide = true
	}
	s.files = append(s.files, f)
	c := s.clusters[number]
	if c == nil {
		c = &cluster{}
		s.clusters[number] = c
	}
	c.files = append(c.files, f)
	if n := len(e.items); n > len(c.metrics) {
		c.metrics = make([]atomic.Pointer[metric], n)
	}
	for i := range e.file.InDoms {
		d := &e.file.InDoms[i]
		id := s.indomID(number, d.Serial)
		if s.indoms[id] == nil {
			s.indoms[id] = &indom{}
		}
		s.indoms[id].parts = append(s.indoms[id].parts, d)
	}
	return nil
}

// indomID returns the number of an instance domain. The bits of a serial of more than 11 bits
// overlap those of the cluster, as in the C agent.
func (s *snapshot) indomID(cluster int, serial uint32) pdu.InDom {
	return pdu.MakeInDom(s.domain, int((uint32(cluster)<<indomShift|serial)&pdu.MaxInDomSerial))
}

const indomShift = 11

// A metric is a metric in its exported form. It combines all files of its cluster that have its
// item.
type metric struct {
	desc  pdu.Desc
	in    []filed // in order
	indom *indom  // nil if the metric is singular or no file has its domain
	steps []step  // by instance; nil if the only file has them in the domain's order
}

// A filed is a metric in one file.
type filed struct {
	e *entry
	m *mmv.FileMetric
}

// singular reports whether the file has one value without an instance.
func (p *filed) singular() bool { return p.m.InDom == 0 && len(p.m.Instances) > 0 }

// A step locates the value of an instance by file and index. A negative index means that the
// instance has no value.
type step struct{ file, index int32 }

// singular finds the value of a metric without instances whose cluster has only one file. Most
// metrics are of this kind.
func (s *snapshot) singular(id pdu.PMID) (e *entry, at mmv.Place, ok bool) {
	c := s.clusters[id.Cluster()]
	if c == nil || len(c.files) != 1 || s.collide {
		return nil, at, false
	}
	e = c.files[0].entry
	if n := id.Item(); n < len(e.items) && e.items[n].singular {
		return e, e.items[n].at, true
	}
	return nil, at, false
}

// metric returns the metric with a PMID, or nil if it does not exist.
func (s *snapshot) metric(id pdu.PMID) *metric {
	c := s.clusters[id.Cluster()]
	if c == nil || id.Item() >= len(c.metrics) {
		return nil
	}
	m := c.metrics[id.Item()].Load()
	if m == nil {
		m = s.newMetric(c, id)
		c.metrics[id.Item()].Store(m) // other goroutines store equal metrics
	}
	if len(m.in) == 0 {
		return nil
	}
	return m
}

// newMetric returns a metric. It has no files if no file exports it.
func (s *snapshot) newMetric(c *cluster, id pdu.PMID) *metric {
	m := new(metric)
	exported := false
	for _, f := range c.files {
		fm := f.metric(id.Item())
		if fm == nil {
			continue
		}
		m.in = append(m.in, filed{f.entry, fm})
		if s.hidden(fm) { // its values count nevertheless
			continue
		}
		exported = true
		m.desc = pdu.Desc{PMID: id, Type: fm.Type, InDom: pdu.NoInDom, Sem: fm.Sem, Units: fm.Units}
		if fm.InDom != 0 {
			m.desc.InDom = s.indomID(f.cluster, fm.InDom)
		}
	}
	if !exported {
		return new(metric)
	}
	for i := range m.in {
		m.in[i].m = as(m.in[i].m, m.desc.Type)
	}
	if m.desc.InDom != pdu.NoInDom {
		if m.indom = s.indoms[m.desc.InDom]; m.indom != nil {
			m.plan()
		}
	}
	return m
}

// as returns a metric of a file with the type of a descriptor, which may be that of another file.
// As in the C agent, the bytes of a number are read as a number of the other type. If that is not
// possible, the metric has an invalid type.
func as(m *mmv.FileMetric, t pdu.Type) *mmv.FileMetric {
	if m.Type == t || m.Type == pdu.TypeNoSupport {
		return m
	}
	other := *m
	other.Type = noType
	if isNumber(m.Type) && !m.Elapsed && isNumber(t) {
		other.Type = t
	}
	return &other
}

const noType pdu.Type = -2

func isNumber(t pdu.Type) bool { return t >= pdu.Type32 && t <= pdu.TypeDouble }

// plan fills steps. In a file where the metric has no domain, its one value is that of all
// instances.
func (m *metric) plan() {
	list := m.indom.instances()
	if len(m.in) == 1 && slices.EqualFunc(list, m.in[0].m.Instances, func(i pdu.Instance, id pdu.InstID) bool { return i.ID == id }) {
		return
	}
	at := make(map[pdu.InstID]step, len(list))
	for k := len(m.in) - 1; k >= 0; k-- { // the first file counts
		if m.in[k].singular() {
			for _, inst := range list {
				at[inst.ID] = step{int32(k), 0}
			}
		} else {
			for i, id := range m.in[k].m.Instances {
				at[id] = step{int32(k), int32(i)}
			}
		}
	}
	m.steps = make([]step, len(list))
	for i, inst := range list {
		var ok bool
		if m.steps[i], ok = at[inst.ID]; !ok {
			m.steps[i].index = -1
		}
	}
}

// An indom is an instance domain. It has the instances of all domains in files with its number.
type indom struct {
	parts []*mmv.FileInDom // in order
	once  sync.Once
	list  []pdu.Instance
}

// instances returns the instances in the order of the files. The first name of an instance counts.
// The slice must not be changed.
func (d *indom) instances() []pdu.Instance {
	d.once.Do(func() {
		if first := d.parts[0].Instances; len(d.parts) == 1 && ascending(first) {
			d.list = first
			return
		}
		seen := map[pdu.InstID]bool{}
		for _, p := range d.parts {
			for _, i := range p.Instances {
				if !seen[i.ID] {
					seen[i.ID] = true
					d.list = append(d.list, i)
				}
			}
		}
	})
	return d.list
}

// ascending reports whether the IDs of instances are strictly ascending.
func ascending(list []pdu.Instance) bool {
	for i := 1; i < len(list); i++ {
		if list[i-1].ID >= list[i].ID {
			return false
		}
	}
	return true
}
