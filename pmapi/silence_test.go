package pmapi_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/pdutest"
	"github.com/pcp-go/pcp/pmapi"
)

// A connection may be dead without notice: a host has lost its power, or a router has dropped the
// connection. A context that reconnects automatically gives the connection up when nothing has
// arrived during three time-outs in a row.
func TestAutoReconnectSilence(t *testing.T) {
	const limit = 2 * time.Second
	for _, tt := range []struct {
		name       string
		reconnects bool
		limit      time.Duration // Dialer.RequestTimeout
		each       time.Duration // deadline of a request, 0 for none
		pause      time.Duration // between requests
		word       time.Duration // when bytes arrive, 0 for never
		tries      int           // failed requests before another connection; 0: no other connection
	}{
		{name: "time-outs", reconnects: true, limit: limit, tries: 3},
		{name: "pauses do not count", reconnects: true, limit: limit, pause: time.Hour, tries: 3},
		{name: "deadlines", reconnects: true, limit: limit, each: time.Second, tries: 6},
		{name: "a word", reconnects: true, limit: limit, word: 3 * time.Second, tries: 5},
		{name: "no limit", reconnects: true, limit: -1, each: time.Second},
		{name: "does not reconnects", limit: limit},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, func(p *pdutest.Peer) {
					if pdutest.AcceptClient(allFeatures)(p) != nil {
						return
					}
					if tt.word > 0 {
						time.AfterFunc(tt.word, func() { _, _ = p.Stream.Write([]byte{0}) }) // of a reply
					}
					_, _ = io.Copy(io.Discard, p.Stream)
				})
				d := pmapi.Dialer{AutoReconnect: tt.reconnects, RequestTimeout: tt.limit}
				c, err := d.Local(t.Context(), h)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				h.start(replying(allFeatures, echo))
				for n := range 20 {
					ctx, cancel, want := t.Context(), context.CancelFunc(func() {}), error(pdu.ErrTimeout)
					if tt.each > 0 {
						ctx, cancel = context.WithTimeout(ctx, tt.each)
						want = context.DeadlineExceeded
					}
					var r pdu.Result
					err := c.Fetch(ctx, []pdu.PMID{7}, &r)
					cancel()
					_, again := errors.AsType[*pmapi.Gap](err)
					if again && n == tt.tries && n > 0 {
						return
					}
					if !errors.Is(err, want) || errors.Is(err, pdu.ErrIPC) {
						t.Fatalf("request %d: %v", n, err)
					}
					time.Sleep(tt.pause)
				}
				if tt.tries > 0 {
					t.Error("no other connection")
				}
			})
		})
	}
}
