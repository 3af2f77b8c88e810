package pmdalinux

import (
	"bytes"
	"context"
	"errors"
	"io/fs"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// poolColumns are the columns of /proc/fs/nfsd/pool_stats that are metrics.
var poolColumns = [...]struct {
	title, name, text string
}{
	{"packets-arrived", "nfs.server.threads.requests", "Requests that arrived for the threads of the NFS server"},
	{"sockets-enqueued", "nfs.server.threads.enqueued", "Times that a request to the NFS server had to wait, as no thread was idle"},
	{"threads-woken", "nfs.server.threads.processed", "Times that an idle thread of the NFS server was woken for a request"},
	{"threads-timedout", "nfs.server.threads.timedout", "Times that a thread of the NFS server ended, as it had been idle too long"},
}

// pools are the pools of threads of the NFS server.
type pools struct {
	threads, stats *procfile.File

	total      uint32
	totalKnown bool
	pools      uint32
	poolsKnown bool
	sums       [len(poolColumns)]uint64
	known      [len(poolColumns)]bool
}

// addPools adds the metrics of /proc/fs/nfsd.
func (l *linux) addPools() {
	p := &pools{threads: l.file("proc/fs/nfsd/pool_threads"), stats: l.file("proc/fs/nfsd/pool_stats")}
	g := l.Group(func(context.Context, *pmda.Request) error { return p.read() })
	for i, m := range []struct {
		name, text string
		v          *uint32
		known      *bool
	}{
		{"nfs.server.threads.total", "Threads that the NFS server has", &p.total, &p.totalKnown},
		{"nfs.server.threads.pools", "Pools that the NFS server has its threads in", &p.pools, &p.poolsKnown},
	} {
		pmda.Register(l.Agent, pmda.Metric[uint32]{
			Name: m.name, ID: pmda.Item(nfsCluster, 71+i), Group: g, Units: pdu.UnitCount, Text: m.text,
			Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) {
				if !*m.known {
					return 0, pmda.NoValue
				}
				return *m.v, nil
			},
		})
	}
	for i, c := range poolColumns {
		pmda.Register(l.Agent, pmda.Metric[uint64]{
			Name: c.name, ID: pmda.Item(nfsCluster, 73+i), Group: g,
			Sem: pdu.SemCounter, Units: pdu.UnitCount, Text: c.text,
			Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
				if !p.known[i] {
					return 0, pmda.NoValue
				}
				return p.sums[i], nil
			},
		})
	}
}

// reset clears the numbers for a new reading.
func (p *pools) reset() {
	p.totalKnown, p.poolsKnown, p.known = false, false, [len(poolColumns)]bool{}
}

// read reads both files. A stopped server has no threads. Then pool_stats cannot be opened, and the
// other metrics are 0.
func (p *pools) read() error {
	p.reset()
	text, err := p.threads.Read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if p.total, p.totalKnown = parseThreads(text); !p.totalKnown {
		return nil
	}
	if p.total == 0 {
		p.zero()
		return nil
	}
	text, err = p.stats.Read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	p.parse(text)
	return nil
}

// zero sets all metrics except the number of threads to 0.
func (p *pools) zero() {
	p.pools, p.poolsKnown, p.sums = 0, true, [len(poolColumns)]uint64{}
	for i := range p.known {
		p.known[i] = true
	}
}

// parseThreads parses a line with the number of threads of each pool.
func parseThreads(text []byte) (total uint32, ok bool) {
	line, ok := procfile.OnlyLine(text)
	field, line := procfile.CutField(line)
	for ok = ok && len(field) > 0; ok && len(field) > 0; field, line = procfile.CutField(line) {
		n, is := procfile.ParseUint32(field)
		total += n
		ok = is && total >= n
	}
	return total, ok
}

// parse parses lines such as
//
//	# pool packets-arrived sockets-enqueued threads-woken threads-timedout
//	0 49 4 45 0
//
// Some kernels have other columns in between. All numbers are unknown if a line has another number
// of columns than the first line.
func (p *pools) parse(text []byte) {
	titles, text, _ := procfile.CutLine(text)
	titles, isTitles := bytes.CutPrefix(titles, []byte("# pool "))
	if !isTitles || !procfile.HasCompleteLines(text) {
		return
	}
	p.zero()
	for line := range procfile.Lines(text) {
		p.pools++
		if !p.addPool(titles, line) {
			p.poolsKnown, p.known = false, [len(poolColumns)]bool{}
			return
		}
	}
	for i, c := range poolColumns {
		p.known[i] = p.known[i] && hasField(titles, c.title)
	}
}

// addPool adds the numbers of a pool.
func (p *pools) addPool(titles, line []byte) bool {
	if _, rest, ok := procfile.CutUint(line); ok {
		line = rest
	} else {
		return false
	}
	for {
		var title, field []byte
		title, titles = procfile.CutField(titles)
		field, line = procfile.CutField(line)
		if len(title) == 0 || len(field) == 0 {
			return len(title) == len(field)
		}
		for i, c := range poolColumns {
			if c.title == string(title) {
				v, ok := procfile.ParseUint(field)
				p.sums[i] += v
				p.known[i] = p.known[i] && ok
			}
		}
	}
}

// hasField reports whether a line has a field.
func hasField(line []byte, name string) bool {
	for field, line := procfile.CutField(line); len(field) > 0; field, line = procfile.CutField(line) {
		if string(field) == name {
			return true
		}
	}
	return false
}
