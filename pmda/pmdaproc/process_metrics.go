package pmdaproc

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// The kinds of files of a process, as the index of its content.
const (
	statFile = iota
	statmFile
	statusFile
	cgroupFile
	ioFile
	schedstatFile
	smapsFile
	fdFile
	oomFile
	autogroupFile
	wchanFile
	exeLink
	cwdLink
	fileKinds
)

// A kind is a kind of files of processes with the values of a T. Each reading fills the T again.
type kind[T any] struct {
	index    int
	clusters clusters
	read     func(t *table, p *process, to *T) error
}

// clusters are the clusters of the metrics of a file below proc and below hotproc. hot is 0 for a
// file without metrics below hotproc.
type clusters struct{ all, hot int }

// of reads the file of a process once per reading of the table.
func (k *kind[T]) of(t *table, p *process) (*T, error) {
	c := &p.files[k.index]
	v, ok := c.value.(*T)
	if c.reading == t.n {
		return v, c.err
	}
	if !ok {
		v = new(T)
		c.value = v
	}
	c.reading, c.err = t.n, valueError(k.read(t, p, v))
	return v, c.err
}

// A row is a metric of a file without the prefix of its name and without its clusters.
type row[T any, V pdu.Scalar] struct {
	item  int
	name  string
	sem   pdu.Sem
	units pdu.Units
	text  string
	value func(*T) (V, error)
}

// addRows adds metrics of a file.
func addRows[T any, V pdu.Scalar](p *proc, k *kind[T], rows ...row[T, V]) {
	for _, row := range rows {
		addProcessMetric(p, k.clusters, row.item, pmda.Metric[V]{Name: row.name, Sem: row.sem, Units: row.units, Text: row.text},
			func(t *table, p *process) (none V, err error) {
				v, err := k.of(t, p)
				if err != nil {
					return none, err
				}
				return row.value(v)
			})
	}
}

// addProcessMetric adds a metric of each process and its counterpart below hotproc.
func addProcessMetric[V pdu.Scalar](p *proc, c clusters, item int, m pmda.Metric[V], value func(*table, *process) (V, error)) {
	for _, t := range []*table{p.processes, p.hot} {
		own, cluster := m, c.all
		if t == p.hot {
			cluster = c.hot
		}
		if cluster == 0 {
			continue
		}
		own.Name, own.ID, own.InDom = t.prefix+m.Name, pmda.Item(cluster, item), t.indom
		own.Values = func(_ context.Context, _ *pmda.Request, s *pmda.Values[V]) error { return putValues(t, s, value) }
		pmda.Register(p.Agent, own)
	}
}

// putValues puts the values of the processes that the client may see. It returns the error of the
// last requested process.
func putValues[V pdu.Scalar](t *table, s *pmda.Values[V], value func(*table, *process) (V, error)) error {
	if !t.view.access {
		return pdu.ErrPermission
	}
	var last error
	for _, p := range t.list {
		if !s.Wants(p.id) {
			continue
		}
		v, err := value(t, p)
		if last = err; err == nil {
			s.Put(p.id, v)
		}
	}
	return last
}

// setString sets a string. It allocates only if the string changes.
func setString(s *string, b []byte) {
	if *s != string(b) {
		*s = string(b)
	}
}

// processRoots are the dynamic roots of these metrics in the name space of a C collector.
var processRoots = []string{"psinfo", "memory", "id", "io", "schedstat", "fd", "namespaces", "smaps", "autogroup"}

// addProcesses adds the metrics of each process.
func (p *proc) addProcesses() {
	for _, t := range []*table{p.processes, p.hot} {
		for _, root := range processRoots {
			p.AddDynamic(t.prefix + root)
		}
	}
	for _, add := range []func(){
		p.addStat,
		p.addStatus,
		p.addStatm,
		p.addCgroup,
		p.addIO,
		p.addSchedstat,
		p.addSmaps,
		p.addDescriptors,
		p.addOOM,
		p.addLinks,
		p.addSecurityLabel,
		p.addAutogroup,
	} {
		add()
	}
	p.addCounts()
}

// addCounts adds the numbers of processes.
func (p *proc) addCounts() {
	count := func(t *table, name string, cluster int, text string) {
		pmda.Register(p.Agent, pmda.Metric[uint32]{Name: name, ID: pmda.Item(cluster, 99), Group: t.group, Text: text,
			Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) { return uint32(len(t.list)), nil }})
	}
	count(p.processes, "proc.nprocs", 8, "Processes in the list that the client would get")
	count(p.hot, "hotproc.nprocs", 52, "Processes that meet the condition of hotproc.control.config")
}
