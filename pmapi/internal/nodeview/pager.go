package nodeview

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/internal/exposition"
)

// roots are the names above all metrics of the table. Reading metadata takes a request for each of
// them.
var roots = []string{"disk.dev", "disk.dm", "disk.md", "filesys", "hinv", "kernel", "mem", "network", "nfs", "nfs3", "nfs4", "rpc", "tmpfs", "vfs"}

type pager struct {
	reader   export.Reader
	encoders map[exposition.Style]*encoder
}

// New returns a Pager that shows the metrics of a context. New is an exposition.View.
func New(c *pmapi.Context) exposition.Pager {
	wanted := map[string]bool{}
	for _, c := range collectors {
		for _, f := range c.families {
			for _, s := range f.sources {
				wanted[s.metric] = true
				wanted[s.times] = true
				for _, j := range s.joins {
					wanted[j.metric] = true
				}
			}
		}
	}
	keep := func(name string, _ pdu.Desc) bool { return wanted[name] }
	return &pager{export.Reader{Context: c, Names: roots, Keep: keep}, map[exposition.Style]*encoder{}}
}

// AppendPage reads all metrics in one fetch and appends the page. Errors are those of
// export.Reader.Read.
func (p *pager) AppendPage(ctx context.Context, b []byte, s exposition.Style) ([]byte, error) {
	snap, err := p.reader.Read(ctx)
	if err != nil {
		return nil, err
	}
	key := exposition.Style{Format: s.Format, Escaping: s.Escaping}
	e := p.encoders[key]
	if e == nil {
		e = &encoder{style: key}
		p.encoders[key] = e
	}
	return e.append(b, snap), nil
}
