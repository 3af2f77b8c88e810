package pmapi_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// A tape is what a collector sends, independent of the requests. Each connection begins with a
// hello and goes on where the previous one ended.
type tape struct {
	data  []byte
	chunk int // how many bytes are read at most at a time
	dials int
}

func (tp *tape) DialContext(context.Context, string, string) (net.Conn, error) {
	if tp.dials++; tp.dials > 6 || len(tp.data) == 0 {
		return nil, io.ErrNoProgress
	}
	return &tapeConn{tape: tp, hello: frame(pdu.Challenge{Version: pdu.ProtocolVersion, Features: allFeatures})}, nil
}

type tapeConn struct {
	net.Conn
	*tape
	hello []byte
}

func (c *tapeConn) Read(b []byte) (int, error) {
	if len(c.hello) > 0 {
		n := copy(b, c.hello)
		c.hello = c.hello[n:]
		return n, nil
	}
	n := copy(b[:min(len(b), c.chunk)], c.data)
	if c.data = c.data[n:]; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (c *tapeConn) Write(b []byte) (int, error)      { return len(b), nil }
func (c *tapeConn) SetDeadline(time.Time) error      { return nil }
func (c *tapeConn) Close() error                     { return nil }
func (c *tapeConn) SetReadDeadline(time.Time) error  { return nil }
func (c *tapeConn) SetWriteDeadline(time.Time) error { return nil }

// next returns the next PDU, if there is one.
func (tp *tape) next() (pdu.Kind, pdu.PDU) {
	b := tp.data
	if len(b) < pdu.HeaderLen {
		return 0, nil
	}
	n := int(int32(binary.BigEndian.Uint32(b)))
	k := pdu.Kind(binary.BigEndian.Uint32(b[4:]))
	if n < pdu.HeaderLen || n > len(b) {
		return k, nil
	}
	p, err := pdu.Decode(k, bytes.Clone(b[pdu.HeaderLen:n]))
	if err != nil {
		return k, nil
	}
	return k, p
}

// use makes the request that the next reply belongs to, as far as it is known, and reads the whole
// reply.
func (tp *tape) use(ctx context.Context, c *pmapi.Context, turn int) {
	id, d := pdu.PMID(1), pdu.InDom(1)
	switch k, p := tp.next(); k {
	case pdu.KindDesc:
		if p, ok := p.(*pdu.DescReply); ok {
			id = p.Desc.PMID
		}
		_, _ = c.Desc(ctx, id)
	case pdu.KindDescs:
		ids := []pdu.PMID{id}
		if p, ok := p.(*pdu.DescsReply); ok {
			for _, d := range p.Descs {
				ids = append(ids, d.PMID)
			}
		}
		_, _ = c.Descs(ctx, ids[min(1, len(ids)-1):])
	case pdu.KindInstance:
		p, ok := p.(*pdu.InstanceReply)
		if ok {
			d = p.InDom
		}
		if ok && turn%2 == 0 && len(p.Instances) == 1 {
			_, _ = c.InstName(ctx, d, 1)
			return
		}
		_, _ = c.Instances(ctx, d)
	case pdu.KindText:
		_, _ = c.Text(ctx, id, pdu.TextHelp)
	case pdu.KindLabel:
		tp.useLabels(ctx, c, p)
	case pdu.KindPMNSIDs:
		names := []string{"a"}
		if p, ok := p.(*pdu.PMIDList); ok {
			names = make([]string, len(p.PMIDs))
		}
		_, _ = c.Lookup(ctx, names)
	case pdu.KindPMNSNames:
		switch p, ok := p.(*pdu.NameList); {
		case ok && p.Statuses != nil:
			_, _ = c.Children(ctx, "")
		case turn%2 == 0:
			_, _ = c.Traverse(ctx, "")
		default:
			_, _ = c.Names(ctx, id)
		}
	case pdu.KindHighResResult, pdu.KindResult:
		tp.fetch(ctx, c, p)
	default:
		if q := apiCalls[turn%len(apiCalls)]; q.name != "Lookup of many" { // which takes long
			_ = q.do(ctx, c, 1)
		}
	}
}

func (tp *tape) useLabels(ctx context.Context, c *pmapi.Context, p pdu.PDU) {
	l, ok := p.(*pdu.LabelReply)
	if !ok {
		l = &pdu.LabelReply{Class: pdu.LabelInstances}
	}
	var sets []pdu.LabelSet
	var one pdu.LabelSet
	switch l.Class {
	case pdu.LabelContext:
		one, _ = c.ContextLabels(ctx)
	case pdu.LabelDomain:
		one, _ = c.DomainLabels(ctx, pdu.Domain(l.Ident))
	case pdu.LabelInDom:
		one, _ = c.InDomLabels(ctx, pdu.InDom(l.Ident))
	case pdu.LabelCluster:
		one, _ = c.ClusterLabels(ctx, pdu.PMID(l.Ident))
	case pdu.LabelItem:
		one, _ = c.ItemLabels(ctx, pdu.PMID(l.Ident))
	default:
		sets, _ = c.InstanceLabels(ctx, pdu.InDom(l.Ident))
	}
	for _, s := range append(sets, one) {
		for l := range s.All() {
			_, _ = s.Lookup(l.Name)
		}
		_ = s.String()
	}
	_, _ = pdu.MergeLabels(nil, append(sets, one)...)
}

func (tp *tape) fetch(ctx context.Context, c *pmapi.Context, p pdu.PDU) {
	var r pdu.Result
	ids := []pdu.PMID{}
	if p, ok := p.(*pdu.Result); ok {
		for _, s := range p.All() {
			ids = append(ids, s.PMID)
		}
	}
	if c.Fetch(ctx, append(ids, 1)[:max(1, len(ids))], &r) != nil && r.Len() > 0 {
		panic("an error and values")
	}
	for _, s := range r.All() {
		for _, a := range s.All(pdu.TypeU64) {
			_ = a.String()
		}
	}
}

// FuzzServer tests a client that makes all requests against a collector that sends any bytes after
// its hello. The client always finishes, and its memory is in proportion to the bytes.
func FuzzServer(f *testing.F) {
	files, err := filepath.Glob("../pdu/testdata/captures/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatal("no captures", err)
	}
	for _, file := range files {
		pdus, err := pcptest.ReadCapture(file)
		if err != nil {
			f.Fatal(err)
		}
		captured, section := []byte{}, ""
		for _, p := range pdus {
			if p.Section != section && len(captured) > 0 {
				f.Add(uint8(0), captured[:min(len(captured), 4096)])
				captured = nil
			}
			if section = p.Section; p.Dir == pcptest.ToClient {
				captured = append(captured, p.Bytes...)
			}
		}
		f.Add(uint8(0x85), captured[:min(len(captured), 4096)])
	}
	f.Fuzz(func(t *testing.T, how uint8, data []byte) {
		tp := &tape{data: data, chunk: 1 + int(how&0x7f)*5}
		d := pmapi.Dialer{Backoff: []time.Duration{}, MaxReply: 1 << 16, AutoReconnect: how&0x80 != 0, RequestTimeout: -1, ConnectTimeout: -1}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if c, err := d.Local(t.Context(), tp); err == nil {
			for turn := 0; turn < 24 && (len(tp.data) > 0 || turn < 2); turn++ {
				tp.use(t.Context(), c, turn)
				if turn%8 == 7 {
					_ = c.Reconnect(t.Context())
				}
			}
			c.Close()
		}
		runtime.ReadMemStats(&after)
		// Requests about many names allocate more.
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(len(data))*100+12<<20; got > most {
			t.Errorf("%d bytes allocated for %d, want at most %d", got, len(data), most)
		}
	})
}
