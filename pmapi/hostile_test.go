package pmapi_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/pdutest"
	"github.com/pcp-go/pcp/pmapi"
)

// header returns the beginning of a PDU.
func header(length int, kind pdu.Kind) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(length))
	b = binary.BigEndian.AppendUint32(b, uint32(kind))
	return append(b, 0, 0, 0, 0)
}

// raw returns a PDU whose body is words.
func raw(kind pdu.Kind, words ...uint32) []byte {
	b := header(pdu.HeaderLen+4*len(words), kind)
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

func values(ids ...pdu.PMID) []byte {
	var w pdu.ResultWriter
	for _, id := range ids {
		w.Begin(id)
		w.Uint32(pdu.NoInst, 1)
	}
	return frame(w.PDU(pdu.FormatHighRes))
}

func callNamed(name string) apiCall {
	for _, q := range apiCalls {
		if q.name == name {
			return q
		}
	}
	panic("no apiCall " + name)
}

// Replies that violate the protocol are errors. If the order of replies is lost, so is the
// connection.
func TestHostileReplies(t *testing.T) {
	const n = 77
	var none []byte
	tests := []struct {
		name  string
		call  string
		reply []byte // nil: hang up
		want  error
		lost  bool
	}{
		{"nothing", "Desc", none, pdu.ErrIPC, true},
		{"half a header", "Desc", header(32, pdu.KindDesc)[:7], pdu.ErrIPC, true},
		{"half a PDU", "Desc", header(32, pdu.KindDesc), pdu.ErrIPC, true},
		{"length below a header", "Desc", header(11, pdu.KindDesc), pdu.ErrIPC, true},
		{"negative length", "Desc", header(-1, pdu.KindDesc), pdu.ErrIPC, true},
		{"negative kind", "Desc", header(16, -1), pdu.ErrIPC, true},
		{"length above the ceiling", "Desc", header(1<<20+1, pdu.KindDesc), pdu.ErrIPC, true},
		{"unknown kind", "Desc", raw(0x7fff, 0), pdu.ErrIPC, true},
		{"kind of another reply", "Desc", frame(pdu.TextReply{Text: "x"}), pdu.ErrIPC, true},
		{"a request", "Desc", frame(pdu.DescReq{PMID: n}), pdu.ErrIPC, true},
		{"success for a reply", "Desc", frame(pdu.Status{}), pdu.ErrIPC, true},
		{"a reply for success", "Store", frame(pdu.DescReply{}), pdu.ErrIPC, true},
		{"values in another format", "Fetch", raw(pdu.KindResult, 0, 0, 0), pdu.ErrIPC, true},
		{"values of fewer metrics", "Fetch", values(n), pdu.ErrIPC, true},
		{"values of more metrics", "Fetch", values(n, 1, 2), pdu.ErrIPC, true},

		{"status too short", "Desc", raw(pdu.KindError), pdu.ErrIPC, true},
		{"status too long", "Desc", raw(pdu.KindError, 0, 0), pdu.ErrIPC, true},
		{"a code", "Desc", frame(pdu.Status{Code: -9999}), pdu.Error(-9999), false},
		{"the lowest code", "Desc", frame(pdu.Status{Code: -1 << 31}), pdu.Error(-1 << 31), false},
		{"truncated", "Desc", raw(pdu.KindDesc, n, 0), pdu.ErrIPC, false},
		{"too long", "Desc", raw(pdu.KindDesc, n, 0, 0, 0, 0, 0), pdu.ErrIPC, false},
		{"another metric", "Desc", frame(pdu.DescReply{Desc: echoDesc(n + 1)}), pdu.ErrIPC, false},
		{"no metric", "Desc", frame(pdu.DescReply{Desc: echoDesc(pdu.NoPMID)}), pdu.ErrPMID, false},
		{"fewer descriptors", "Descs", frame(pdu.DescsReply{Descs: []pdu.Desc{echoDesc(n)}}), pdu.ErrIPC, false},
		{"other descriptors", "Descs", frame(pdu.DescsReply{Descs: make([]pdu.Desc, 300)}), pdu.ErrIPC, false},
		{"a code for descriptors", "Descs", frame(pdu.Status{Code: pdu.ErrAgain}), pdu.ErrAgain, false},
		{"values of another metric", "Fetch", values(n, 2), pdu.ErrIPC, false},
		{"values beyond the end", "Fetch", raw(pdu.KindHighResResult, 1, 0, 0, 0, 0, n, 1<<30, 0), pdu.ErrIPC, false},
		{"sets beyond the end", "Fetch", raw(pdu.KindHighResResult, 1<<30, 0, 0, 0, 0), pdu.ErrIPC, false},
		{"negative number of sets", "Fetch", raw(pdu.KindHighResResult, 1<<31, 0, 0, 0, 0), pdu.ErrIPC, false},
		{"fewer PMIDs", "Lookup", raw(pdu.KindPMNSIDs, 0, 0), pdu.ErrIPC, false},
		{"more PMIDs", "Lookup", raw(pdu.KindPMNSIDs, 2, 2, 1, 2), pdu.ErrIPC, false},
		{"PMIDs beyond the end", "Lookup", raw(pdu.KindPMNSIDs, 0, 1<<30), pdu.ErrIPC, false},
		{"a code for a name", "Lookup", frame(pdu.Status{Code: pdu.ErrNonLeaf}), pdu.ErrNonLeaf, false},
		{"no names", "Names", raw(pdu.KindPMNSNames, 0, 0, 0), pdu.ErrPMID, false},
		{"a code in a list", "Names", frame(pdu.NameList{Err: pdu.ErrNoAgent}), pdu.ErrNoAgent, false},
		{"names beyond the end", "Names", raw(pdu.KindPMNSNames, 1<<30, 0, 1<<28), pdu.ErrIPC, false},
		{"a name beyond the end", "Traverse", raw(pdu.KindPMNSNames, 1<<30, 0, 1, 1<<30), pdu.ErrIPC, false},
		{"names longer than their length", "Traverse", raw(pdu.KindPMNSNames, 1, 0, 1, 4, 0), pdu.ErrIPC, false},
		{"a name of negative length", "Traverse", raw(pdu.KindPMNSNames, 1<<30, 0, 1, 1<<31), pdu.ErrIPC, false},
		{"statuses of some", "Children", raw(pdu.KindPMNSNames, 9, 1, 2, 0, 0, 0, 0), pdu.ErrIPC, false},
		{"no statuses", "Children", frame(pdu.NameList{Names: []string{"x"}}), pdu.ErrIPC, false},
		{"instances beyond the end", "Instances", raw(pdu.KindInstance, n, 1<<28), pdu.ErrIPC, false},
		{"no instance", "InstID", frame(pdu.InstanceReply{InDom: 7}), pdu.ErrIPC, false},
		{"two instances", "InstName", frame(pdu.InstanceReply{InDom: 7, Instances: make([]pdu.Instance, 2)}), pdu.ErrIPC, false},
		{"text beyond the end", "InDomText", raw(pdu.KindText, n, 1<<20), pdu.ErrIPC, false},
		{"text of negative length", "InDomText", raw(pdu.KindText, n, 1<<31), pdu.ErrIPC, false},
		{"labels of another class", "InDomLabels", frame(pdu.LabelReply{Ident: n, Class: pdu.LabelItem}), pdu.ErrIPC, false},
		{"labels of another domain", "InDomLabels", frame(pdu.LabelReply{Ident: n + 1, Class: pdu.LabelInDom}), pdu.ErrIPC, false},
		{"two label sets", "InDomLabels", frame(pdu.LabelReply{Ident: n, Class: pdu.LabelInDom, Sets: make([]pdu.LabelSet, 2)}), pdu.ErrIPC, false},
		{"label sets beyond the end", "InDomLabels", raw(pdu.KindLabel, n, 4, 0, 1<<27), pdu.ErrIPC, false},
		{"labels beyond the end", "InDomLabels", raw(pdu.KindLabel, n, 4, 0, 1, 0, 200, 44, 0), pdu.ErrIPC, false},
		{"too many labels", "InDomLabels", raw(pdu.KindLabel, n, 4, 0, 1, 0, 1<<30, 44, 0), pdu.ErrIPC, false},
		{"JSON beyond the end", "InDomLabels", raw(pdu.KindLabel, n, 4, 0, 1, 0, 0, 44, 4), pdu.ErrIPC, false},
		{"JSON before the sets", "InDomLabels", raw(pdu.KindLabel, n, 4, 0, 1, 0, 0, 12, 4), pdu.ErrIPC, false},
		{"JSON at a negative offset", "InDomLabels", raw(pdu.KindLabel, n, 4, 0, 1, 0, 0, 1<<31, 4, 0), pdu.ErrIPC, false},
		{"JSON of negative length", "InDomLabels", raw(pdu.KindLabel, n, 4, 0, 1, 0, 0, 44, 1<<31, 0), pdu.ErrIPC, false},
		{"a label beyond its JSON", "InDomLabels", raw(pdu.KindLabel, n, 4, 0, 1, 0, 1, 52, 4, 0xfff0<<16, 4, 0x7b7d2020), pdu.ErrIPC, false},
		{"a code for labels", "InDomLabels", raw(pdu.KindLabel, n, 4, 0, 1, 0, 0xffffcfb9, 0, 0), pdu.ErrInDom, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			first := true
			c := open(t, pmapi.Dialer{MaxReply: 1 << 20}, replying(allFeatures, func(h pdu.Header, p pdu.PDU) []byte {
				if _, profile := p.(*pdu.SetProfile); !first || profile {
					return echo(h, p)
				}
				first = false
				if tt.lost && len(tt.reply) > 0 && len(tt.reply) < 12+4 {
					return append(tt.reply, bytes.Repeat([]byte{1}, 3)...) // and some of the rest
				}
				return tt.reply
			}))
			if len(tt.reply) > 0 && (tt.name == "half a PDU" || tt.name == "half a header") {
				c = open(t, pmapi.Dialer{}, func(p *pdutest.Peer) {
					if pdutest.AcceptClient(allFeatures)(p) == nil {
						_, _, _ = p.Receive()
						_, _ = p.Stream.Write(tt.reply)
					}
				})
			}
			err := callNamed(tt.call).do(t.Context(), c, n)
			if !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			if mixed, ok := errors.AsType[*wrongReply](err); ok {
				t.Error(mixed)
			}
			err = callNamed("Desc").do(t.Context(), c, n)
			if tt.lost && !errors.Is(err, pdu.ErrIPC) || !tt.lost && err != nil {
				t.Errorf("afterwards: %v, lost %v", err, tt.lost)
			}
		})
	}
}

// Dial fails for a peer that does not greet as a collector does.
func TestHostileHello(t *testing.T) {
	challenge := frame(pdu.Challenge{Version: pdu.ProtocolVersion})
	tests := []struct {
		name  string
		bytes []byte
		want  error
	}{
		{"nothing", nil, pdu.ErrIPC},
		{"half", challenge[:9], io.ErrUnexpectedEOF},
		{"HTTP", []byte("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"), pdu.ErrIPC},
		{"another kind", frame(pdu.TextReply{}), pdu.ErrIPC},
		{"a mere status", frame(pdu.Status{}), pdu.ErrIPC},
		{"a change", frame(pdu.Status{Code: 1}), pdu.ErrIPC},
		{"another version", frame(pdu.Challenge{Version: 1}), pdu.ErrIPC},
		{"too long", raw(pdu.KindError, 0, 0x02010000, 0), pdu.ErrIPC},
		{"a huge length", header(1<<30, pdu.KindError), pdu.ErrIPC},
		{"a negative length", header(-20, pdu.KindError), pdu.ErrIPC},
		{"refused", frame(pdu.Challenge{Code: pdu.ErrPermission}), pdu.ErrPermission},
		{"full", frame(pdu.Challenge{Code: pdu.ErrConnLimit}), pdu.ErrConnLimit},
		{"a code of nobody", raw(pdu.KindError, 0x80000000, 0), pdu.Error(-1 << 31)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := pmapi.Dialer{MaxReply: 1 << 20}
			c, err := d.Local(t.Context(), serve(t, func(p *pdutest.Peer) { _, _ = p.Stream.Write(tt.bytes) }))
			if c != nil || !errors.Is(err, tt.want) {
				t.Errorf("%v, %v; want %v", c, err, tt.want)
			}
		})
	}
}

// A wait for a silent collector ends in time, at any point of a reply.
func TestSilence(t *testing.T) {
	challenge := frame(pdu.Challenge{Version: pdu.ProtocolVersion})
	const limit = 3 * time.Second
	ends := []struct {
		name string
		dial pmapi.Dialer
		ctx  func(context.Context) (context.Context, context.CancelFunc)
		want error
	}{
		{"by the dialer", pmapi.Dialer{ConnectTimeout: limit, RequestTimeout: limit},
			func(ctx context.Context) (context.Context, context.CancelFunc) { return ctx, func() {} }, pdu.ErrTimeout},
		{"by a deadline", pmapi.Dialer{ConnectTimeout: -1, RequestTimeout: -1},
			func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, limit)
			}, context.DeadlineExceeded},
		{"by an earlier deadline", pmapi.Dialer{},
			func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeoutCause(ctx, limit, errTired)
			}, errTired},
		{"by the caller", pmapi.Dialer{ConnectTimeout: -1, RequestTimeout: -1},
			func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancelCause(ctx)
				time.AfterFunc(limit, func() { cancel(errTired) })
				return ctx, func() { cancel(nil) }
			}, errTired},
	}
	for _, e := range ends {
		for n := range len(challenge) + 1 {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := e.ctx(t.Context())
				defer cancel()
				start := time.Now()
				c, err := e.dial.Local(ctx, serve(t, func(p *pdutest.Peer) {
					_, _ = p.Stream.Write(challenge[:n])
					_, _, _ = p.Conn.Read() // until the client is gone
				}))
				switch took := time.Since(start); {
				case n == len(challenge):
					if err != nil {
						t.Fatal(err)
					}
					c.Close()
				case c != nil || !errors.Is(err, e.want) || took != limit:
					t.Errorf("hello of %d bytes, to be ended %s: %v after %v", n, e.name, err, took)
				}
			})
		}
		reply := frame(pdu.DescReply{Desc: echoDesc(7)})
		for n := range len(reply) {
			synctest.Test(t, func(t *testing.T) {
				replies := 0
				c := open(t, e.dial, replying(allFeatures, func(h pdu.Header, p pdu.PDU) []byte {
					if replies++; replies == 1 {
						return append([]byte{}, reply[:n]...)
					}
					return echo(h, p)
				}))
				ctx, cancel := e.ctx(t.Context())
				defer cancel()
				for range 3 { // the first waits for its reply, the others for that of the first
					start := time.Now()
					if _, err := c.Desc(ctx, 7); !errors.Is(err, e.want) {
						t.Errorf("reply of %d bytes, to be ended %s: %v", n, e.name, err)
					}
					if took := time.Since(start); took != limit && took != 0 {
						t.Errorf("reply of %d bytes, ended %s after %v", n, e.name, took)
					}
				}
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

var errTired = errors.New("tired of waiting")

// A request whose reply is late, from any byte on, fails alone: the next request succeeds.
func TestLateReply(t *testing.T) {
	reply := frame(pdu.Status{Code: 3}, pdu.DescReply{Desc: echoDesc(7)})
	for n := range len(reply) {
		synctest.Test(t, func(t *testing.T) {
			c := open(t, pmapi.Dialer{RequestTimeout: 2 * time.Second}, func(p *pdutest.Peer) {
				if pdutest.AcceptClient(allFeatures)(p) != nil {
					return
				}
				_, _, _ = p.Receive()
				_, _ = p.Stream.Write(reply[:n])
				time.Sleep(3 * time.Second)
				_, _ = p.Stream.Write(reply[n:])
				for {
					h, q, err := p.Receive()
					if err != nil {
						return
					}
					_, _ = p.Stream.Write(echo(h, q))
				}
			})
			if _, err := c.Desc(t.Context(), 7); !errors.Is(err, pdu.ErrTimeout) {
				t.Errorf("%d bytes in time: %v", n, err)
			}
			if d, err := c.Desc(t.Context(), 8); err != nil || d != echoDesc(8) {
				t.Errorf("after %d bytes in time: %v, %v", n, d, err)
			}
			var r pdu.Result
			if err := c.Fetch(t.Context(), []pdu.PMID{7}, &r); err != nil || r.Changed != 3 {
				t.Errorf("changed %v, %v", r.Changed, err)
			}
		})
	}
}

// An endless series of reported changes ends with the time-out, and the context remains usable.
func TestEndlessChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, pmapi.Dialer{RequestTimeout: 5 * time.Second}, func(p *pdutest.Peer) {
			if pdutest.AcceptClient(allFeatures)(p) != nil {
				return
			}
			for i := 0; ; i++ {
				if p.Conn.Write(0, pdu.Status{Code: pdu.Error(1 << (i % 31))}) != nil {
					return
				}
				time.Sleep(time.Millisecond)
			}
		})
		var r pdu.Result
		for range 3 {
			start := time.Now()
			if err := c.Fetch(t.Context(), []pdu.PMID{7}, &r); !errors.Is(err, pdu.ErrTimeout) || time.Since(start) != 5*time.Second {
				t.Errorf("%v after %v", err, time.Since(start))
			}
		}
	})
}

// The memory that a client allocates is in proportion to the bytes that the collector sends, and
// these are limited by MaxReply.
func TestHostileMemory(t *testing.T) {
	const ceiling = 1 << 20
	body := func(kind pdu.Kind, begin []uint32, word uint32, at int) []byte {
		b := make([]byte, ceiling)
		copy(b, header(ceiling, kind))
		for i, w := range begin {
			binary.BigEndian.PutUint32(b[12+4*i:], w)
		}
		for i := 12 + 4*len(begin); at > 0 && i+4 <= len(b); i += 4 * at {
			binary.BigEndian.PutUint32(b[i:], word)
		}
		return b
	}
	const left = ceiling - pdu.HeaderLen
	tests := []struct {
		name  string
		call  string
		reply []byte
		most  uint64 // bytes for each byte of the ceiling
	}{
		{"a length without the bytes", "Desc", header(ceiling, pdu.KindDesc), 1},
		{"a length beyond the ceiling", "Desc", header(1<<30, pdu.KindDesc), 1},
		{"a descriptor with a tail", "Desc", body(pdu.KindDesc, nil, 0, 0), 4},
		{"empty names", "Traverse", body(pdu.KindPMNSNames, []uint32{1 << 30, 0, left/4 - 3}, 0, 0), 12},
		{"empty children", "Children", body(pdu.KindPMNSNames, []uint32{1 << 30, left/8 - 2, left/8 - 2}, 0, 0), 12},
		{"one long name", "Traverse", body(pdu.KindPMNSNames, []uint32{1 << 30, 0, 1, left - 16}, 0, 0), 5},
		{"nameless instances", "Instances", body(pdu.KindInstance, []uint32{77, left/8 - 1}, 0, 0), 12},
		{"PMIDs", "Lookup", body(pdu.KindPMNSIDs, []uint32{0, left/4 - 2}, 0, 0), 6},
		{"descriptors", "Descs", body(pdu.KindDescs, []uint32{0, left/20 - 1}, 0, 0), 6},
		{"empty sets", "Fetch", body(pdu.KindHighResResult, []uint32{(left - 20) / 8, 0, 0, 0, 0}, 0, 0), 8},
		{"text", "InDomText", body(pdu.KindText, []uint32{77, left - 8}, 0, 0), 4},
		{"empty label sets", "InstanceLabels", body(pdu.KindLabel, []uint32{77, 32, 0, left/16 - 1}, 0, 0), 16},
		{"codes", "Desc", bytes.Repeat(frame(pdu.Status{Code: 1}), ceiling/16), 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := open(t, pmapi.Dialer{MaxReply: ceiling}, func(p *pdutest.Peer) {
				if pdutest.AcceptClient(allFeatures)(p) != nil {
					return
				}
				_, _, _ = p.Receive()
				_, _ = p.Stream.Write(tt.reply)
			})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := callNamed(tt.call).do(t.Context(), c, 77)
			runtime.ReadMemStats(&after)
			if err == nil {
				t.Error("no error")
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > tt.most*ceiling {
				t.Errorf("allocated %.1f times the ceiling, want at most %d", float64(got)/ceiling, tt.most)
			} else {
				t.Logf("%.1f times the ceiling", float64(got)/ceiling)
			}
		})
	}
}

// A reply without a request is not taken for the reply to a later request, if the two can be
// distinguished.
func TestUnsolicitedReply(t *testing.T) {
	c := open(t, pmapi.Dialer{}, replying(allFeatures, func(h pdu.Header, p pdu.PDU) []byte {
		return append(echo(h, p), frame(pdu.DescReply{Desc: echoDesc(1)})...)
	}))
	if err := callNamed("Desc").do(t.Context(), c, 7); err != nil {
		t.Fatal(err)
	}
	err := callNamed("Text").do(t.Context(), c, 7)
	if diff := cmp.Diff(pdu.ErrIPC, pdu.FromError(err)); diff != "" {
		t.Error(diff)
	}
}
