package nodeview

import (
	"context"
	"slices"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/openmetrics"
)

// New returns a Pager that shows the metrics of a context. New is an openmetrics.View.
func New(c *pmapi.Context) openmetrics.Pager { return newPager(c, collectors) }

// With returns a View that also shows optional collectors: ksmd, processes, tcpstat. Other names
// are ignored.
func With(names ...string) openmetrics.View {
	all := slices.Clone(collectors)
	for _, c := range optional {
		if slices.Contains(names, c.name) {
			all = append(all, c)
		}
	}
	return func(c *pmapi.Context) openmetrics.Pager { return newPager(c, all) }
}

// roots are the names above all metrics of the table. It takes a request for each to read them.
var roots = []string{"disk.dev", "disk.dm", "disk.md", "filesys", "hinv", "kernel", "mem", "network", "nfs", "nfs3", "nfs4", "rpc", "tmpfs", "vfs"}

type pager struct {
	collectors []collector
	reader     export.Reader
	encoders   map[openmetrics.Style]*encoder
}

func newPager(c *pmapi.Context, all []collector) *pager {
	wanted := map[string]bool{}
	for _, c := range all {
		for _, f := range c.families {
			for _, s := range f.sources {
				wanted[s.metric] = true
				wanted[s.times], wanted[s.plus] = true, true
				for _, j := range s.joins {
					wanted[j.metric] = true
				}
			}
		}
	}
	keep := func(name string, _ pdu.Desc) bool { return wanted[name] }
	return &pager{all, export.Reader{Context: c, Names: roots, Keep: keep}, map[openmetrics.Style]*encoder{}}
}

// AppendPage reads all metrics in one fetch and writes them. Its errors are those of
// export.Reader.Read.
func (p *pager) AppendPage(ctx context.Context, b []byte, s openmetrics.Style) ([]byte, error) {
	snap, err := p.reader.Read(ctx)
	if err != nil {
		return nil, err
	}
	key := openmetrics.Style{Format: s.Format, Escaping: s.Escaping}
	e := p.encoders[key]
	if e == nil {
		e = &encoder{collectors: p.collectors, style: key}
		p.encoders[key] = e
	}
	return e.append(b, snap), nil
}
