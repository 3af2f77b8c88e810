package remote_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/pdutest"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/remote"
)

// TestLateReply: an exchange can end before its reply has come, for several reasons. Then
// requests fail until that reply has come, and no other request gets it.
func TestLateReply(t *testing.T) {
	cause := errors.New("enough")
	tests := []struct {
		name  string
		cfg   remote.Config
		after time.Duration // the deadline of the request, 0 for none
		end   time.Duration // of its context
		want  error
		took  time.Duration
	}{
		{"time-out", remote.Config{}, 0, 0, pdu.ErrTimeout, timeout},
		{"own time-out", remote.Config{Timeout: time.Hour}, 0, 0, pdu.ErrTimeout, time.Hour},
		{"deadline before the time-out", remote.Config{}, time.Second, 0, pdu.ErrTimeout, time.Second},
		{"deadline after the time-out", remote.Config{}, time.Minute, 0, pdu.ErrTimeout, timeout},
		{"deadline without a time-out", remote.Config{Timeout: -1}, time.Hour, 0, pdu.ErrTimeout, time.Hour},
		{"context", remote.Config{}, 0, time.Second, cause, time.Second},
		{"context without a time-out", remote.Config{Timeout: -1}, 0, time.Hour, cause, time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log pcptest.LogBuffer
				tt.cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
				agent, far := connect(t, 0, tt.cfg)
				ctx, cancel := cancelable(t)
				for range 2 { // again with the same context while that lives
					begin, r := time.Now(), request7()
					if tt.after != 0 {
						r.Deadline = begin.Add(tt.after)
					}
					if tt.end != 0 {
						time.AfterFunc(tt.end, func() { cancel(cause) })
					}
					early := startDesc(t, ctx, agent, r)
					far.expect(desc7)
					time.Sleep(time.Millisecond)
					waiting := startDesc(t, t.Context(), agent, request7())
					early.ends(tt.want)
					checkTook(t, begin, tt.took)
					waiting.ends(pdu.ErrAgain)
					checkTook(t, begin, tt.took)
					if !agent.Ready() {
						t.Error("not ready while its reply is late")
					}
					time.Sleep(timeout)
					if _, err := agent.Desc(t.Context(), request7(), testID); err != pdu.ErrAgain {
						t.Errorf("meanwhile %v, want %v", err, pdu.ErrAgain)
					}
					far.expect()
					far.send(pdu.DescReply{Desc: pdu.Desc{PMID: 12345}}) // with any content
					synctest.Wait()
					checkServes(t, agent, far)
					if got := log.Take(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "did not reply in time") || !strings.Contains(got, "replies again") {
						t.Errorf("the log has %q", got)
					}
					if tt.end != 0 {
						if _, err := agent.Desc(ctx, request7(), testID); err != cause {
							t.Errorf("a context that has ended: %v", err)
						}
						far.expect()
						ctx, cancel = cancelable(t)
					}
				}
			})
		})
	}
}

// TestWhatComesForLateReply tests what an agent may send in place of a late reply, and when.
func TestWhatComesForLateReply(t *testing.T) {
	tests := []struct {
		name string
		come func(far *peer)
		end  error // of the connection; nil if service resumes
		when time.Duration
	}{
		{"reply", func(far *peer) { far.send(testDesc) }, nil, 0},
		{"malformed reply", func(far *peer) { far.send(pdutest.Raw(pdu.KindDesc, nil)) }, nil, 0},
		{"error", func(far *peer) { far.send(pdu.Status{Code: pdu.ErrPMID}) }, nil, 0},
		{"wrong kind", func(far *peer) { far.send(pdu.TextReply{}) }, pdu.ErrIPC, 0},
		{"malformed error", func(far *peer) { far.send(pdutest.Raw(pdu.KindError, nil)) }, pdu.ErrIPC, 0},
		{"no PDU", func(far *peer) { far.Stream.Write(make([]byte, 12)) }, pdu.ErrIPC, 0},
		{"ready in place", func(far *peer) { far.send(pdu.Status{Code: pdu.ErrPMDAReady}) }, errSome, 0},
		{"end", func(far *peer) { far.Stream.Close() }, io.EOF, 0},
		{"at the last moment", func(far *peer) { time.Sleep(10*timeout - time.Nanosecond); far.send(testDesc) }, nil, 10*timeout - 1},
		{"nothing", func(far *peer) { time.Sleep(10 * timeout) }, errSome, 10 * timeout},
		{"half of it", func(far *peer) { far.Stream.Write(make([]byte, 11)); time.Sleep(10 * timeout) }, errSome, 10 * timeout},
		{"not ready, then ready", func(far *peer) {
			far.send(pdu.Status{Code: pdu.ErrPMDANotReady})
			time.Sleep(100 * timeout)
			far.send(pdu.Status{Code: pdu.ErrPMDAReady})
		}, nil, 100 * timeout},
		{"not ready, then not ready", func(far *peer) {
			far.send(pdu.Status{Code: pdu.ErrPMDANotReady}, pdu.Status{Code: pdu.ErrPMDANotReady})
		}, errSome, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				agent, far := connect(t, 0, remote.Config{})
				c := startDesc(t, t.Context(), agent, request7())
				far.expect(desc7)
				c.ends(pdu.ErrTimeout)
				begin := time.Now()
				tt.come(far)
				if tt.end != nil {
					<-agent.Done()
					checkTook(t, begin, tt.when)
					if tt.end == errSome {
						tt.end = nil
					}
					checkEnded(t, agent, tt.end)
					return
				}
				synctest.Wait()
				checkTook(t, begin, tt.when)
				checkServes(t, agent, far)
			})
		})
	}
}

// TestLateReplyInPieces: the timeout of a request may pass in the middle of its reply. The rest
// still belongs to it.
func TestLateReplyInPieces(t *testing.T) {
	for _, size := range []int{4, 400, 5_000, 200_000} {
		reply := encode(t, pdu.TextReply{Text: strings.Repeat("x", size)})
		for _, cut := range []int{1, 4, 11, 12, 13, 16, 100, 511, 512, 513, 4096, 65_535, 65_549, 131_072, len(reply) - 1} {
			if cut >= len(reply) {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				agent, far := connect(t, 0, remote.Config{})
				text := func() (string, error) { return agent.Text(t.Context(), request7(), pdu.TextOfMetric(1), 0) }
				c := start(t, text)
				far.Stream.Write(reply[:cut])
				c.ends(pdu.ErrTimeout)
				for rest := reply[cut:]; len(rest) > 0; {
					n := (len(rest) + 1) / 2
					time.Sleep(timeout / 4)
					far.Stream.Write(rest[:n])
					rest = rest[n:]
				}
				synctest.Wait()
				c = start(t, text)
				far.send(pdu.TextReply{Text: "short"})
				if got := c.ends(nil); got != "short" {
					t.Errorf("size %d cut at %d: the next reply is %.20q", size, cut, got)
				}
			})
		}
	}
}

// TestLateReplyWithLongTimeout: ten times the longest timeout does not overflow.
func TestLateReplyWithLongTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent, far := connect(t, 0, remote.Config{Timeout: math.MaxInt64})
		ctx, cancel := cancelable(t)
		c := startDesc(t, ctx, agent, request7())
		far.expect(desc7)
		cancel(errSome)
		c.ends(errSome)
		time.Sleep(time.Hour)
		far.send(testDesc)
		synctest.Wait()
		checkServes(t, agent, far)
	})
}

// TestLateReplyWithShortTimeout: an agent with a short timeout gets half a minute for a late
// reply.
func TestLateReplyWithShortTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent, far := connect(t, 0, remote.Config{Timeout: time.Second})
		startDesc(t, t.Context(), agent, request7()).ends(pdu.ErrTimeout)
		far.expect(desc7)
		begin := time.Now()
		<-agent.Done()
		checkTook(t, begin, 30*time.Second)
	})
}

// TestLateResultKeepsStateChange: the next fetch returns the changes of labels and names that a
// late result reports, because the agent does not report them again.
func TestLateResultKeepsStateChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log pcptest.LogBuffer
		agent, far := connect(t, 0, remote.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		late := func(change pdu.Change) {
			c := startFetch(t, t.Context(), agent, request7())
			c.ends(pdu.ErrTimeout)
			var w pdu.ResultWriter
			w.Changed = change
			w.Begin(testID)
			far.send(w.PDU(pdu.FormatLowRes))
			synctest.Wait()
		}
		late(pdu.ChangeLabels)
		late(pdu.ChangeNames | pdu.ChangeAddAgent)
		if got := log.Take(); !strings.Contains(got, "bogus state change") {
			t.Errorf("the log has %q", got)
		}
		for _, want := range []string{"labels,names: 251.1.2[-1] 0", "none: 251.1.2[-1] 0"} {
			c := startFetch(t, t.Context(), agent, request7())
			far.send(fetchReply(t, 0, testID))
			if got := c.ends(nil); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	})
}

// TestUnsolicitedReplyEndsConnection: a reply without a request is not taken for the reply to the
// next request.
func TestUnsolicitedReplyEndsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent, far := connect(t, 0, remote.Config{})
		c := startDesc(t, t.Context(), agent, request7())
		far.send(testDesc, testDesc)
		c.ends(nil)
		far.expect(desc7)
		startDesc(t, t.Context(), agent, request7()).ends(pdu.ErrIPC)
		far.expect()
		checkEnded(t, agent, nil)
	})
}

// TestUnsolicitedError: C agents whose check callback fails reply with an error to the end of a
// client. It may be taken for the reply to the request that follows; the reply to that request is
// then discarded.
func TestUnsolicitedError(t *testing.T) {
	again := pdu.Status{Code: pdu.ErrAgain}
	tests := []struct {
		name  string
		gone  int       // clients that have gone
		early []pdu.PDU // what the agent sends before a request
		late  []pdu.PDU // and after it; which fails with ErrAgain
		ends  bool      // the next request ends the connection
	}{
		{"none", 1, nil, []pdu.PDU{again}, false},
		{"before the request", 1, []pdu.PDU{again}, []pdu.PDU{testDesc}, false},
		{"with the reply", 1, nil, []pdu.PDU{again, testDesc}, false},
		{"both fail", 1, nil, []pdu.PDU{again, again}, false},
		{"two", 2, []pdu.PDU{again, again}, []pdu.PDU{testDesc}, false},
		{"another kind", 1, []pdu.PDU{again}, []pdu.PDU{pdu.TextReply{}}, true},
		{"not ready", 1, []pdu.PDU{again}, []pdu.PDU{pdu.Status{Code: pdu.ErrPMDANotReady}, pdu.Status{Code: pdu.ErrPMDAReady}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				agent, far := connect(t, 0, remote.Config{})
				for id := range tt.gone {
					c := startDesc(t, t.Context(), agent, &pmda.Request{Client: pmda.NewClient(uint32(id), 1)})
					far.send(testDesc)
					c.ends(nil)
				}
				for id := range tt.gone {
					agent.EndClient(pmda.NewClient(uint32(id), 1))
				}
				far.discard()
				unread := make(chan pdu.PDU, 10)
				defer close(unread)
				go func() {
					for p := range unread {
						far.Conn.Write(0, p) // waits until it is read; fails at the end
					}
				}()
				send := func(pdus []pdu.PDU) {
					for _, p := range pdus {
						unread <- p
					}
					synctest.Wait()
				}
				send(tt.early)
				c := startDesc(t, t.Context(), agent, request7())
				far.expect(desc7)
				send(tt.late)
				c.ends(pdu.ErrAgain)
				if tt.ends {
					startDesc(t, t.Context(), agent, request7()).ends(pdu.ErrIPC)
					checkEnded(t, agent, nil)
					return
				}
				if tt.name == "not ready" {
					startDesc(t, t.Context(), agent, request7()).ends(pdu.ErrAgain)
					synctest.Wait()
				}
				c = startDesc(t, t.Context(), agent, request7())
				time.Sleep(time.Second) // it may wait for a moment
				far.expect(desc7)
				far.send(testDesc)
				c.ends(nil)
				checkServes(t, agent, far)
			})
		})
	}
}

// afterUnsolicitedError returns an Agent that has taken an unsolicited error for the
// reply to a request, whose own reply is yet to come.
func afterUnsolicitedError(t *testing.T, request func(agent *remote.Agent) error) (*remote.Agent, *peer) {
	t.Helper()
	agent, far := connect(t, 0, remote.Config{})
	checkServes(t, agent, far)
	agent.EndClient(request7().Client)
	far.expect(ended(7))
	c := start(t, func() (int, error) { return 0, request(agent) })
	far.send(pdu.Status{Code: pdu.ErrAgain})
	c.ends(pdu.ErrAgain)
	return agent, far
}

// TestDeadlineAfterUnsolicitedError: after an error that may have been unsolicited, a request
// waits for another reply, but not beyond its own deadline. All such requests together wait as
// long as one.
func TestDeadlineAfterUnsolicitedError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desc := func(agent *remote.Agent) error { _, err := agent.Desc(t.Context(), request7(), testID); return err }
		agent, far := afterUnsolicitedError(t, desc)
		far.expect(desc7)
		begin := time.Now()
		r := request7()
		r.Deadline = begin.Add(60 * time.Millisecond)
		startDesc(t, t.Context(), agent, r).ends(pdu.ErrTimeout)
		checkTook(t, begin, 60*time.Millisecond)
		ctx, cancel := cancelable(t)
		time.AfterFunc(30*time.Millisecond, func() { cancel(errSome) })
		startDesc(t, ctx, agent, request7()).ends(errSome)
		checkTook(t, begin, 90*time.Millisecond)
		far.expect()
		c := startDesc(t, t.Context(), agent, request7())
		time.Sleep(10 * time.Millisecond)
		far.expect(desc7)
		far.send(testDesc)
		c.ends(nil)
	})
}

// TestDeadlineWithUnsolicitedError: a request whose deadline comes with the end of the wait for
// another reply is not sent: its reply would be late, and other requests would fail until it has
// come.
func TestDeadlineWithUnsolicitedError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		desc := func(agent *remote.Agent) error { _, err := agent.Desc(t.Context(), request7(), testID); return err }
		agent, far := afterUnsolicitedError(t, desc)
		far.expect(desc7)
		begin := time.Now()
		r := request7()
		r.Deadline = begin.Add(100 * time.Millisecond)
		c := startDesc(t, t.Context(), agent, r)
		time.Sleep(50 * time.Millisecond)
		waits := startDesc(t, t.Context(), agent, request7())
		c.ends(pdu.ErrTimeout)
		checkTook(t, begin, 100*time.Millisecond)
		far.expect(desc7)
		far.send(testDesc)
		waits.ends(nil)
		checkTook(t, begin, 100*time.Millisecond)
	})
}

// TestReplyAfterUnsolicitedErrorInPieces: a discarded reply is discarded whole, even if it
// arrives slowly.
func TestReplyAfterUnsolicitedErrorInPieces(t *testing.T) {
	reply := encode(t, pdu.TextReply{Text: "stale"})
	for cut := 1; cut < len(reply); cut++ {
		synctest.Test(t, func(t *testing.T) {
			r := &pmda.Request{Client: pmda.NewClient(8, 2)}
			text := func(agent *remote.Agent) (string, error) { return agent.Text(t.Context(), r, pdu.TextOfMetric(1), 0) }
			agent, far := afterUnsolicitedError(t, func(agent *remote.Agent) error { _, err := text(agent); return err })
			go far.Stream.Write(reply[:cut])
			synctest.Wait()
			c := start(t, func() (string, error) { return text(agent) })
			time.Sleep(time.Second)
			far.Stream.Write(reply[cut:])
			synctest.Wait()
			c.ends(pdu.ErrAgain)
			c = start(t, func() (string, error) { return text(agent) })
			far.send(pdu.TextReply{Text: "fresh"})
			if got := c.ends(nil); got != "fresh" {
				t.Errorf("cut at %d: the next reply is %q", cut, got)
			}
		})
	}
}

// TestReplyAfterUnsolicitedErrorKeepsStateChange: the next fetch returns the changes of names
// that a discarded result reports.
func TestReplyAfterUnsolicitedErrorKeepsStateChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &pmda.Request{Client: pmda.NewClient(8, 2)}
		agent, far := afterUnsolicitedError(t, func(agent *remote.Agent) error { _, err := fetchText(t.Context(), agent, r, testID); return err })
		stale := result(t, func(w *pdu.ResultWriter) {
			w.Changed = pdu.ChangeNames
			w.Begin(testID)
		})
		go far.Conn.Write(0, stale) // waits until it is read
		synctest.Wait()
		c := startFetch(t, t.Context(), agent, r)
		far.send(fetchReply(t, 0, testID))
		if got, want := c.ends(nil), "names: 251.1.2[-1] 0"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// TestLateReplyNames: the log names the request that an agent has not answered.
func TestLateReplyNames(t *testing.T) {
	domain := pdu.MakeInDom(testID.Domain(), 3)
	for _, tt := range []struct {
		name    string
		request func(ctx context.Context, a *remote.Agent, r *pmda.Request) error
		want    string
	}{
		{"fetch", func(ctx context.Context, a *remote.Agent, r *pmda.Request) error {
			return a.Fetch(ctx, r, []pdu.PMID{testID, testID + 1}, new(pdu.ResultWriter))
		}, `type=RESULT metrics="name of ` + testID.String() + `, name of ` + (testID + 1).String() + `"`},
		{"descriptor", func(ctx context.Context, a *remote.Agent, r *pmda.Request) error {
			_, err := a.Desc(ctx, r, testID)
			return err
		}, `type=DESC metrics="name of ` + testID.String() + `"`},
		{"instances", func(ctx context.Context, a *remote.Agent, r *pmda.Request) error {
			_, err := a.Instances(ctx, r, domain, pdu.NoInst, "")
			return err
		}, `type=INSTANCE indom=` + domain.String()},
		{"text", func(ctx context.Context, a *remote.Agent, r *pmda.Request) error {
			_, err := a.Text(ctx, r, pdu.TextOfInDom(domain), pdu.TextHelp)
			return err
		}, `type=TEXT indom=` + domain.String()},
		{"labels", func(ctx context.Context, a *remote.Agent, r *pmda.Request) error {
			_, err := a.Labels(ctx, r, pdu.LabelsOfItem(testID))
			return err
		}, `type=LABEL metrics="name of ` + testID.String() + `"`},
		{"store", func(ctx context.Context, a *remote.Agent, r *pmda.Request) error {
			var w pdu.ResultWriter
			w.Begin(testID)
			w.Int32(pdu.NoInst, 1)
			values, err := w.Result()
			if err != nil {
				return err
			}
			return a.Store(ctx, r, values)
		}, `type=ERROR metrics="name of ` + testID.String() + `"`},
		{"name", func(ctx context.Context, a *remote.Agent, r *pmda.Request) error {
			_, err := a.PMID(ctx, r, "cache.hits")
			return err
		}, `metrics=cache.hits`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log pcptest.LogBuffer
				agent, _ := connect(t, 0, remote.Config{Logger: slog.New(slog.NewTextHandler(&log, nil)),
					NameOf: func(id pdu.PMID) string { return "name of " + id.String() }})
				if err := tt.request(t.Context(), agent, request7()); err != pdu.ErrTimeout {
					t.Errorf("error %v, want %v", err, pdu.ErrTimeout)
				}
				if got := log.Take(); !strings.Contains(got, "agent did not reply in time") || !strings.HasSuffix(got, tt.want+"\n") {
					t.Errorf("log %q, want %s", got, tt.want)
				}
			})
		})
	}
}
