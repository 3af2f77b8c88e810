package pmdalinux

import (
	"context"
	"math"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// nfsCluster is the cluster of all metrics of NFS and of its remote procedure calls.
const nfsCluster = 7

// rpcStats are lines of /proc/net/rpc/nfs or nfsd, by the first word of the line. Only lines that
// the method line has added are parsed.
type rpcStats map[string]*rpcLine

// A rpcLine holds the first numbers of a line.
type rpcLine struct {
	vals  []uint64
	known []bool
	n     int // the number of fields of the line, 0 if it is not there
}

// line returns the line of a word. It keeps the numbers up to the index at.
func (s rpcStats) line(word string, at int) *rpcLine {
	line := s[word]
	if line == nil {
		line = new(rpcLine)
		s[word] = line
	}
	for len(line.vals) <= at {
		line.vals, line.known = append(line.vals, 0), append(line.known, false)
	}
	return line
}

func (s rpcStats) parse(text []byte) error {
	for _, line := range s {
		line.n = 0
		clear(line.known)
	}
	for text := range procfile.Lines(text) {
		word, text := procfile.CutField(text)
		if line := s[string(word)]; line != nil {
			line.parse(text)
		}
	}
	return nil
}

func (r *rpcLine) parse(text []byte) {
	r.n = 0
	clear(r.known)
	for field, text := procfile.CutField(text); len(field) > 0; field, text = procfile.CutField(text) {
		if r.n < len(r.vals) {
			r.vals[r.n], r.known[r.n] = procfile.ParseUint(field)
		}
		r.n++
	}
}

// sum adds up the numbers with the indices from from to to. It is not ok if one of them is unknown.
func (r *rpcLine) sum(from, to int) (sum uint64, ok bool) {
	for at := from; at < to; at++ {
		if !r.known[at] {
			return 0, false
		}
		sum += r.vals[at]
	}
	return sum, true
}

// procedures returns the end of the numbers of procedures in a line such as "proc3 22 0 7 …", which
// begins with their count. It is not ok if the line has another number of them, because the missing
// ones are unknown.
func (r *rpcLine) procedures() (end int, ok bool) {
	if r.n == 0 || !r.known[0] || r.vals[0] != uint64(r.n-1) {
		return 0, false
	}
	return min(r.n, len(r.vals)), true
}

// addNFS adds the metrics of NFS clients and servers and of their remote procedure calls. A machine
// that is neither has no such files and no values.
func (l *linux) addNFS() {
	client, server := rpcStats{}, rpcStats{}
	nfs := l.optionalFileGroup("proc/net/rpc/nfs", client.parse)
	nfsd := l.optionalFileGroup("proc/net/rpc/nfsd", server.parse)
	l.addRPC(client, nfs, rpcClient)
	l.addRPC(server, nfsd, rpcServer)
	l.addReadAhead(server, nfsd)
	l.addUncounted()
	v2 := l.procedures(7, 0, "Kinds of NFS requests of version 2", nfs2Procedures)
	v3 := l.procedures(8, 0, "Kinds of NFS requests of version 3", nfs3Procedures)
	v4 := l.procedures(14, 0, "Kinds of NFS requests of version 4, as clients count them", nfs4Procedures)
	ops := l.procedures(15, 1, "Operations in NFS requests of version 4, as servers count them", nfs4Operations)
	for _, m := range []procedureMetrics{
		{"nfs.client.calls", "nfs.client.reqs", "requests of version 2 sent to NFS servers", client, nfs, "proc2", v2, 1, 4},
		{"nfs.server.calls", "nfs.server.reqs", "requests of version 2 got from NFS clients", server, nfsd, "proc2", v2, 50, 12},
		{"nfs3.client.calls", "nfs3.client.reqs", "requests of version 3 sent to NFS servers", client, nfs, "proc3", v3, 60, 61},
		{"nfs3.server.calls", "nfs3.server.reqs", "requests of version 3 got from NFS clients", server, nfsd, "proc3", v3, 62, 63},
		{"nfs4.client.calls", "nfs4.client.reqs", "requests of version 4 sent to NFS servers", client, nfs, "proc4", v4, 64, 65},
		{"nfs4.server.calls", "nfs4.server.reqs", "operations of version 4 in requests of NFS clients", server, nfsd, "proc4ops", ops, 66, 67},
	} {
		l.addProcedures(m)
	}
	l.addPools()
}

// A rpcMetric is a metric of one number of a line.
type rpcMetric struct {
	item       int
	name, line string
	at         int
	text       string
}

// addRPC adds metrics of single numbers. The kernel counts some with 64 bits. A metric has the low
// 32 bits, like a counter that wraps.
func (l *linux) addRPC(s rpcStats, g *pmda.Group, list []rpcMetric) {
	for _, m := range list {
		line := s.line(m.line, m.at)
		entry := pmda.Metric[uint32]{
			Name: m.name, ID: pmda.Item(nfsCluster, m.item), Group: g,
			Text: m.text, Sem: pdu.SemCounter, Units: pdu.UnitCount,
		}
		switch m.name {
		case "rpc.server.io_read", "rpc.server.io_write":
			entry.Units = pdu.SpaceByte
		case "rpc.server.th_cnt":
			entry.Sem = pdu.SemInstant
		}
		entry.Value = func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) {
			v := line.vals[m.at]
			if !line.known[m.at] || entry.Sem == pdu.SemInstant && v > math.MaxUint32 {
				return 0, pmda.NoValue
			}
			return uint32(v), nil
		}
		pmda.Register(l.Agent, entry)
	}
}

// addReadAhead adds the metrics of a line like "ra 32 5 0 0 0 0 0 0 0 0 1 7": the size of the
// cache, the hits in each tenth of it, and the misses. Kernels without this cache have zeros there.
func (l *linux) addReadAhead(s rpcStats, g *pmda.Group) {
	const misses = 11
	ra := s.line("ra", misses)
	for item, m := range []struct {
		name, text string
		from, to   int
	}{
		{"rpc.server.ra_size", "Entries that the server's cache of what to read ahead can have", 0, 1},
		{"rpc.server.ra_hits", "Reads of clients that were found in the server's cache of what to read ahead", 1, misses},
		{"rpc.server.ra_misses", "Reads of clients that were not found in the server's cache of what to read ahead", misses, misses + 1},
	} {
		pmda.Register(l.Agent, pmda.Metric[uint32]{
			Name: m.name, ID: pmda.Item(nfsCluster, 68+item), Group: g,
			Text: m.text, Sem: pdu.SemCounter, Units: pdu.UnitCount,
			Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) {
				if v, ok := ra.sum(m.from, m.to); ok {
					return uint32(v), nil
				}
				return 0, pmda.NoValue
			},
		})
	}
}

// addUncounted adds the metrics that only old kernels counted.
func (l *linux) addUncounted() {
	for _, m := range []struct {
		item       int
		name, text string
	}{
		{38, "rpc.server.fh_cached", "File handles in a cache of the server"},
		{39, "rpc.server.fh_valid", "File handles that the server found valid"},
		{40, "rpc.server.fh_fixup", "File handles that the server had to put right"},
		{43, "rpc.server.fh_concurrent", "File handles that several threads of the server looked up at once"},
	} {
		pmda.Register(l.Agent, pmda.Metric[uint32]{
			Name: m.name, ID: pmda.Item(nfsCluster, m.item),
			Text: m.text + "; kernels do not count them any more", Sem: pdu.SemCounter, Units: pdu.UnitCount,
			Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) { return 0, pmda.NoValue },
		})
	}
}

// procedures makes the instance domain of the procedures of a version of NFS. The IDs follow the
// kernel's numbers, from first on.
func (l *linux) procedures(serial int, first pdu.InstID, text string, names []string) *pmda.InDom {
	d := &pmda.InDom{Serial: pmda.InDomSerial(serial), Name: "NFS procedure", Text: text}
	list := make([]pdu.Instance, len(names))
	for i, name := range names {
		list[i] = pdu.Instance{ID: first + pdu.InstID(i), Name: name}
	}
	d.SetInstances(list...)
	l.Attach(d)
	return d
}

// procedureMetrics are two metrics: all requests, and those of each kind.
type procedureMetrics struct {
	calls, reqs         string
	text                string
	stats               rpcStats
	group               *pmda.Group
	line                string
	kinds               *pmda.InDom
	callsItem, reqsItem int
}

// addProcedures adds the counts of requests by kind, and their sum. The sum covers only kinds with
// a name, since the file has no others.
func (l *linux) addProcedures(m procedureMetrics) {
	kinds := m.kinds.Instances()
	line := m.stats.line(m.line, len(kinds))
	pmda.Register(l.Agent, pmda.Metric[uint32]{
		Name: m.calls, ID: pmda.Item(nfsCluster, m.callsItem), Group: m.group,
		Text: "All " + m.text, Sem: pdu.SemCounter, Units: pdu.UnitCount,
		Help: "The sum of the kinds that " + m.reqs + " has. Kinds that came later are not in it.",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) {
			if end, ok := line.procedures(); ok {
				if v, ok := line.sum(1, end); ok {
					return uint32(v), nil
				}
			}
			return 0, pmda.NoValue
		},
	})
	pmda.Register(l.Agent, pmda.Metric[uint32]{
		Name: m.reqs, ID: pmda.Item(nfsCluster, m.reqsItem), Group: m.group, InDom: m.kinds,
		Text: "By kind, " + m.text, Sem: pdu.SemCounter, Units: pdu.UnitCount,
		Values: func(_ context.Context, _ *pmda.Request, s *pmda.Values[uint32]) error {
			end, _ := line.procedures()
			for at := 1; at < end; at++ {
				if line.known[at] {
					s.Put(kinds[at-1].ID, uint32(line.vals[at]))
				}
			}
			return nil
		},
	})
}
