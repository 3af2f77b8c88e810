package pmapi_test

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/pdutest"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// sourceReplies makes a collector's replies to the requests of one connection from a context on a
// source. Our clients and the C library's understand it.
func sourceReplies(src *pmapitest.Source) func(h pdu.Header, p pdu.PDU) []byte {
	c, ctx := src.Context(), context.Background()
	orCode := func(p pdu.PDU, err error) []byte {
		if err != nil {
			return frame(pdu.Status{Code: pdu.FromError(err)})
		}
		return frame(p)
	}
	return func(_ pdu.Header, p pdu.PDU) []byte {
		switch p := p.(type) {
		case *pdu.SetProfile:
			c.SetProfile(&p.Profile)
			return []byte{}
		case *pdu.NameList:
			ids, err := c.Lookup(ctx, p.Names)
			if len(ids) > 1 {
				err = nil
			}
			return orCode(pdu.PMIDList{PMIDs: ids}, err)
		case *pdu.DescReq:
			d, err := c.Desc(ctx, p.PMID)
			return orCode(pdu.DescReply{Desc: d}, err)
		case *pdu.DescsReq:
			descs, _ := c.Descs(ctx, p.PMIDs)
			return frame(pdu.DescsReply{Descs: descs})
		case *pdu.InstanceReq:
			return instanceReply(ctx, c, p)
		case *pdu.Fetch:
			var r pdu.Result
			if err := c.Fetch(ctx, p.PMIDs, &r); err != nil {
				return orCode(nil, err)
			}
			if r.Format = pdu.FormatLowRes; p.HighRes {
				r.Format = pdu.FormatHighRes
			}
			var changes []byte
			if r.Changed != 0 {
				changes = frame(pdu.Status{Code: pdu.Error(r.Changed)})
			}
			return append(changes, frame(&r)...)
		}
		return nil
	}
}

func instanceReply(ctx context.Context, c *pmapi.Context, p *pdu.InstanceReq) []byte {
	var list []pdu.Instance
	var err error
	switch {
	case p.Name != "":
		var id pdu.InstID
		id, err = c.InstID(ctx, p.InDom, p.Name)
		list = []pdu.Instance{{ID: id}}
	case p.Inst != pdu.NoInst:
		var name string
		name, err = c.InstName(ctx, p.InDom, p.Inst)
		list = []pdu.Instance{{Name: name}}
	default:
		list, err = c.Instances(ctx, p.InDom)
	}
	if err != nil {
		return frame(pdu.Status{Code: pdu.FromError(err)})
	}
	return frame(p.Reply(list))
}

// listen serves a source over TCP, and returns the address.
func listen(t testing.TB, src *pmapitest.Source) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	serving.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			serving.Go(func() {
				defer conn.Close()
				replying(pdu.FeatureHighRes|pdu.FeatureDescs, sourceReplies(src))(&pdutest.Peer{Conn: pdu.NewConn(conn), Stream: conn})
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		serving.Wait()
	})
	return ln.Addr().String()
}
