package remote_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/remote"
)

const timeout = remote.DefaultTimeout

// took checks how much of synthetic time has passed since begin.
func took(t *testing.T, begin time.Time, want time.Duration) {
	t.Helper()
	if got := time.Since(begin); got != want {
		t.Errorf("it took %v, want %v", got, want)
	}
}

// desc begins a request for a descriptor.
func desc(t *testing.T, ctx context.Context, m *remote.Agent, r *pmda.Request) *call[pdu.Desc] {
	return start(t, func() (pdu.Desc, error) { return m.Desc(ctx, r, testID) })
}

// serves checks that the agent is asked and answers.
func serves(t *testing.T, m *remote.Agent, f *far) {
	t.Helper()
	if !m.Ready() {
		t.Error("not ready")
	}
	c := desc(t, t.Context(), m, asker())
	f.heard(desc7)
	f.say(testDesc)
	if diff := cmp.Diff(testDesc.Desc, c.wants(nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An exchange can end before its answer has come, for several reasons. Then
// requests are refused until it has come, and it is nobody's.
func TestLate(t *testing.T) {
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
				var log logBuffer
				tt.cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
				m, f := connect(t, 0, tt.cfg)
				ctx, cancel := cancelable(t)
				for range 2 { // again with the same context while that lives
					begin, r := time.Now(), asker()
					if tt.after != 0 {
						r.Deadline = begin.Add(tt.after)
					}
					if tt.end != 0 {
						time.AfterFunc(tt.end, func() { cancel(cause) })
					}
					late := desc(t, ctx, m, r)
					f.heard(desc7)
					time.Sleep(time.Millisecond)
					waiting := desc(t, t.Context(), m, asker())
					late.wants(tt.want)
					took(t, begin, tt.took)
					waiting.wants(pdu.ErrAgain)
					took(t, begin, tt.took)
					if !m.Ready() {
						t.Error("late is not ready")
					}
					time.Sleep(timeout)
					if _, err := m.Desc(t.Context(), asker(), testID); err != pdu.ErrAgain {
						t.Errorf("meanwhile %v, want %v", err, pdu.ErrAgain)
					}
					f.heard()
					f.say(pdu.DescReply{Desc: pdu.Desc{PMID: 12345}}) // what nobody looks at any more
					synctest.Wait()
					serves(t, m, f)
					if got := log.take(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "owes a reply") || !strings.Contains(got, "replies again") {
						t.Errorf("the log has %q", got)
					}
					if tt.end != 0 {
						if _, err := m.Desc(ctx, asker(), testID); err != cause {
							t.Errorf("a context that has ended: %v", err)
						}
						f.heard()
						ctx, cancel = cancelable(t)
					}
				}
			})
		})
	}
}

func cancelable(t *testing.T) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	return ctx, cancel
}

// What may come for an answer that nobody waits for any more.
func TestOwed(t *testing.T) {
	tests := []struct {
		name string
		come func(f *far)
		dead error // why it was given up; nil if it serves on
		when time.Duration
	}{
		{"answer", func(f *far) { f.say(testDesc) }, nil, 0},
		{"malformed answer", func(f *far) { f.say(raw{pdu.KindDesc, nil}) }, nil, 0},
		{"error", func(f *far) { f.say(pdu.Status{Code: pdu.ErrPMID}) }, nil, 0},
		{"wrong kind", func(f *far) { f.say(pdu.TextReply{}) }, pdu.ErrIPC, 0},
		{"malformed error", func(f *far) { f.say(raw{pdu.KindError, nil}) }, pdu.ErrIPC, 0},
		{"no PDU", func(f *far) { f.stream.Write(make([]byte, 12)) }, pdu.ErrIPC, 0},
		{"ready in place", func(f *far) { f.say(pdu.Status{Code: pdu.ErrPMDAReady}) }, errAny, 0},
		{"end", func(f *far) { f.stream.Close() }, io.EOF, 0},
		{"at the last moment", func(f *far) { time.Sleep(10*timeout - time.Nanosecond); f.say(testDesc) }, nil, 10*timeout - 1},
		{"nothing", func(f *far) { time.Sleep(10 * timeout) }, errAny, 10 * timeout},
		{"half of it", func(f *far) { f.stream.Write(make([]byte, 11)); time.Sleep(10 * timeout) }, errAny, 10 * timeout},
		{"not ready, then ready", func(f *far) {
			f.say(pdu.Status{Code: pdu.ErrPMDANotReady})
			time.Sleep(100 * timeout)
			f.say(pdu.Status{Code: pdu.ErrPMDAReady})
		}, nil, 100 * timeout},
		{"not ready, then not ready", func(f *far) {
			f.say(pdu.Status{Code: pdu.ErrPMDANotReady}, pdu.Status{Code: pdu.ErrPMDANotReady})
		}, errAny, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, f := connect(t, 0, remote.Config{})
				c := desc(t, t.Context(), m, asker())
				f.heard(desc7)
				c.wants(pdu.ErrTimeout)
				begin := time.Now()
				tt.come(f)
				if tt.dead != nil {
					<-m.Done()
					took(t, begin, tt.when)
					if tt.dead == errAny {
						tt.dead = nil
					}
					wantDead(t, m, tt.dead)
					return
				}
				synctest.Wait()
				took(t, begin, tt.when)
				serves(t, m, f)
			})
		})
	}
}

// errAny stands for any error.
var errAny = errors.New("any")

// An answer may be cut anywhere by the time-out; the rest is still its own.
func TestLateInPieces(t *testing.T) {
	for _, size := range []int{4, 400, 5_000, 200_000} {
		answer := encode(t, pdu.TextReply{Text: strings.Repeat("x", size)})
		for _, cut := range []int{1, 4, 11, 12, 13, 16, 100, 511, 512, 513, 4096, 65_535, 65_549, 131_072, len(answer) - 1} {
			if cut >= len(answer) {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				m, f := connect(t, 0, remote.Config{})
				text := func() (string, error) { return m.Text(t.Context(), asker(), pdu.TextOfMetric(1), 0) }
				c := start(t, text)
				f.stream.Write(answer[:cut])
				c.wants(pdu.ErrTimeout)
				for rest := answer[cut:]; len(rest) > 0; {
					n := (len(rest) + 1) / 2
					time.Sleep(timeout / 4)
					f.stream.Write(rest[:n])
					rest = rest[n:]
				}
				synctest.Wait()
				c = start(t, text)
				f.say(pdu.TextReply{Text: "short"})
				if got := c.wants(nil); got != "short" {
					t.Errorf("size %d cut at %d: the next answer is %.20q", size, cut, got)
				}
			})
		}
	}
}

// Requests wait for their turn in the order of their coming, and one that does
// so in vain does not hurt the agent, which never hears of it.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := connect(t, 0, remote.Config{})
		begin := time.Now()
		request := func(id uint32, deadline time.Duration) *pmda.Request {
			return &pmda.Request{Client: pmda.NewClient(id, uint64(id)), Deadline: begin.Add(deadline)}
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		first := desc(t, t.Context(), m, request(1, time.Hour))
		expiring := desc(t, t.Context(), m, request(2, time.Second))
		canceled := desc(t, ctx, m, request(3, time.Hour))
		patient := desc(t, t.Context(), m, request(4, time.Hour))
		last := desc(t, t.Context(), m, request(5, time.Hour))
		f.heard("1: DESC_REQ{PMID:251.1.2}")

		expiring.wants(pdu.ErrTimeout)
		took(t, begin, time.Second)
		cancel(gone)
		canceled.wants(gone)
		first.waits()
		patient.waits()
		time.Sleep(timeout - 2*time.Second)
		f.say(testDesc)
		first.wants(nil)
		f.heard("4: DESC_REQ{PMID:251.1.2}")
		last.wants(pdu.ErrTimeout)
		took(t, begin, timeout) // which limits the wait, too
		time.Sleep(timeout / 2) // the time-out counts from the turn on
		f.say(testDesc)
		patient.wants(nil)
		f.heard()
		serves(t, m, f)
	})
}

// A deadline may pass at the very moment of the turn.
func TestQueueExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := connect(t, 0, remote.Config{})
		for range 50 {
			first := desc(t, t.Context(), m, asker())
			f.heard(desc7)
			r := &pmda.Request{Client: pmda.NewClient(8, 8), Deadline: time.Now().Add(time.Second)}
			second := desc(t, t.Context(), m, r)
			time.AfterFunc(time.Second, func() { f.say(testDesc) })
			first.wants(nil)
			second.wants(pdu.ErrTimeout)
			f.heard()
			if _, err := m.Desc(t.Context(), r, testID); err != pdu.ErrTimeout {
				t.Errorf("a request that has expired before: %v", err)
			}
		}
		serves(t, m, f)
	})
}

// Without a time-out, a request waits.
func TestUnlimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := connect(t, 0, remote.Config{Timeout: -1})
		first := desc(t, t.Context(), m, asker())
		second := desc(t, t.Context(), m, asker())
		time.Sleep(100 * time.Hour)
		f.heard(desc7)
		f.say(testDesc)
		first.wants(nil)
		second.waits()
		f.say(testDesc)
		second.wants(nil)

		// An owed answer may take as long as it likes, too.
		r := asker()
		r.Deadline = time.Now().Add(time.Second)
		desc(t, t.Context(), m, r).wants(pdu.ErrTimeout)
		time.Sleep(100 * time.Hour)
		f.say(testDesc)
		f.heard(desc7, desc7)
		serves(t, m, f)
	})
}

// A request that is not taken as a whole costs the agent its connection, after
// a time-out; not sooner, even if the request is in a hurry.
func TestWrite(t *testing.T) {
	tests := []struct {
		name     string
		cfg      remote.Config
		deadline time.Duration
		took     time.Duration
	}{
		{"time-out", remote.Config{}, 0, timeout},
		{"hurry", remote.Config{}, time.Second, timeout},
		{"no time-out", remote.Config{Timeout: -1}, time.Second, time.Second},
	}
	for _, tt := range tests {
		for _, taken := range []int{0, 1, 15} {
			t.Run(tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m, f := connectDeaf(t, 0, tt.cfg)
					begin, r := time.Now(), asker()
					if tt.deadline != 0 {
						r.Deadline = begin.Add(tt.deadline)
					}
					c := desc(t, t.Context(), m, r)
					waiting := desc(t, t.Context(), m, asker())
					io.ReadFull(f.stream, make([]byte, taken))
					c.wants(pdu.ErrTimeout)
					took(t, begin, tt.took)
					wantDead(t, m, nil)
					if <-waiting.done; waiting.err != pdu.ErrNoAgent && waiting.err != pdu.ErrTimeout {
						t.Errorf("who has waited gets %v", waiting.err)
					}
				})
			})
		}
	}
	t.Run("taken late", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m, f := connectDeaf(t, 0, remote.Config{})
			begin, r := time.Now(), asker()
			r.Deadline = begin.Add(time.Second)
			c := desc(t, t.Context(), m, r)
			time.Sleep(timeout / 2)
			if _, _, err := f.conn.Read(); err != nil {
				t.Fatal(err)
			}
			c.wants(pdu.ErrTimeout)
			took(t, begin, timeout/2)
			f.say(testDesc)
			synctest.Wait()
			c = desc(t, t.Context(), m, asker())
			if _, _, err := f.conn.Read(); err != nil {
				t.Fatal(err)
			}
			f.say(testDesc)
			c.wants(nil)
		})
	})
	t.Run("close", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m, _ := connectDeaf(t, 0, remote.Config{})
			c := desc(t, t.Context(), m, asker())
			m.Close()
			c.wants(pdu.ErrNoAgent)
		})
	})
	t.Run("end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m, f := connectDeaf(t, 0, remote.Config{})
			f.stream.Close()
			desc(t, t.Context(), m, asker()).wants(io.ErrClosedPipe)
			wantDead(t, m, io.ErrClosedPipe)
		})
	})
}

// An answer that was not asked for is not taken for the next one.
func TestUnsolicited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := connect(t, 0, remote.Config{})
		c := desc(t, t.Context(), m, asker())
		f.say(testDesc, testDesc)
		c.wants(nil)
		f.heard(desc7)
		desc(t, t.Context(), m, asker()).wants(pdu.ErrIPC)
		f.heard()
		wantDead(t, m, nil)
	})
}

// TestStray: C agents whose check callback fails answer the end of a client,
// which nobody waits for. It may be taken for the answer to the request that
// follows; that one's is then nobody's.
func TestStray(t *testing.T) {
	again := pdu.Status{Code: pdu.ErrAgain}
	tests := []struct {
		name  string
		ends  int       // clients that leave
		early []pdu.PDU // what the agent says before a request comes
		late  []pdu.PDU // and after it; it is answered ErrAgain
		dead  bool      // the next request ends it
	}{
		{"none", 1, nil, []pdu.PDU{again}, false},
		{"before the request", 1, []pdu.PDU{again}, []pdu.PDU{testDesc}, false},
		{"with the answer", 1, nil, []pdu.PDU{again, testDesc}, false},
		{"both fail", 1, nil, []pdu.PDU{again, again}, false},
		{"two", 2, []pdu.PDU{again, again}, []pdu.PDU{testDesc}, false},
		{"another kind", 1, []pdu.PDU{again}, []pdu.PDU{pdu.TextReply{}}, true},
		{"not ready", 1, []pdu.PDU{again}, []pdu.PDU{pdu.Status{Code: pdu.ErrPMDANotReady}, pdu.Status{Code: pdu.ErrPMDAReady}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, f := connect(t, 0, remote.Config{})
				for id := range tt.ends {
					c := desc(t, t.Context(), m, &pmda.Request{Client: pmda.NewClient(uint32(id), 1)})
					f.say(testDesc)
					c.wants(nil)
				}
				for id := range tt.ends {
					m.EndClient(pmda.NewClient(uint32(id), 1))
				}
				synctest.Wait()
				for len(f.told) > 0 {
					<-f.told
				}
				said := make(chan pdu.PDU, 10)
				defer close(said)
				go func() {
					for p := range said {
						f.conn.Write(0, p) // waits until it is read; fails at the end
					}
				}()
				say := func(pdus []pdu.PDU) {
					for _, p := range pdus {
						said <- p
					}
					synctest.Wait()
				}
				say(tt.early)
				c := desc(t, t.Context(), m, asker())
				f.heard(desc7)
				say(tt.late)
				c.wants(pdu.ErrAgain)
				if tt.dead {
					desc(t, t.Context(), m, asker()).wants(pdu.ErrIPC)
					wantDead(t, m, nil)
					return
				}
				if tt.name == "not ready" {
					desc(t, t.Context(), m, asker()).wants(pdu.ErrAgain)
					synctest.Wait()
				}
				c = desc(t, t.Context(), m, asker())
				time.Sleep(time.Second) // it may wait for a moment
				f.heard(desc7)
				f.say(testDesc)
				c.wants(nil)
				serves(t, m, f)
			})
		})
	}
}

// strayed is a Remote that has taken an error for the answer to a request of some
// kind, which is on its way.
func strayed(t *testing.T, ask func(m *remote.Agent) error) (*remote.Agent, *far) {
	t.Helper()
	m, f := connect(t, 0, remote.Config{})
	serves(t, m, f)
	m.EndClient(asker().Client)
	f.heard("7: Not Connected")
	c := start(t, func() (int, error) { return 0, ask(m) })
	f.say(pdu.Status{Code: pdu.ErrAgain})
	c.wants(pdu.ErrAgain)
	return m, f
}

// TestStrayInPieces: an answer that nobody waits for is taken whole, however
// slowly it comes.
func TestStrayInPieces(t *testing.T) {
	answer := encode(t, pdu.TextReply{Text: "stale"})
	for cut := 1; cut < len(answer); cut++ {
		synctest.Test(t, func(t *testing.T) {
			r := &pmda.Request{Client: pmda.NewClient(8, 2)}
			ask := func(m *remote.Agent) (string, error) { return m.Text(t.Context(), r, pdu.TextOfMetric(1), 0) }
			m, f := strayed(t, func(m *remote.Agent) error { _, err := ask(m); return err })
			go f.stream.Write(answer[:cut])
			synctest.Wait()
			c := start(t, func() (string, error) { return ask(m) })
			time.Sleep(time.Second)
			f.stream.Write(answer[cut:])
			synctest.Wait()
			c.wants(pdu.ErrAgain)
			c = start(t, func() (string, error) { return ask(m) })
			f.say(pdu.TextReply{Text: "fresh"})
			if got := c.wants(nil); got != "fresh" {
				t.Errorf("cut at %d: the next answer is %q", cut, got)
			}
		})
	}
}

// TestStrayChange: what a result that nobody waits for says of labels and
// names is told with the next.
func TestStrayChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &pmda.Request{Client: pmda.NewClient(8, 2)}
		m, f := strayed(t, func(m *remote.Agent) error { _, err := fetchText(t.Context(), m, r, testID); return err })
		stale := result(t, func(w *pdu.ResultWriter) {
			w.Changed = pdu.ChangeNames
			w.Begin(testID)
		})
		go f.conn.Write(0, stale) // waits until it is read
		synctest.Wait()
		c := fetch(t, t.Context(), m, r)
		f.say(fetchReply(t, 0, testID))
		if got, want := c.wants(nil), "names: 251.1.2[-1] 0"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := connect(t, 0, remote.Config{})
		c := desc(t, t.Context(), m, asker())
		waiting := desc(t, t.Context(), m, asker())
		f.stream.Close()
		c.wants(pdu.ErrIPC)
		waiting.wants(pdu.ErrNoAgent)
		wantDead(t, m, io.EOF)
	})
}

// Close ends everything at once, in every state, and leaves no goroutine, or
// synctest would complain.
func TestClose(t *testing.T) {
	states := map[string]struct {
		cfg   remote.Config
		enter func(t *testing.T, m *remote.Agent, f *far)
	}{
		"ready":     {remote.Config{}, func(*testing.T, *remote.Agent, *far) {}},
		"not ready": {remote.Config{NotReady: true}, func(*testing.T, *remote.Agent, *far) {}},
		"owing":     {remote.Config{}, func(t *testing.T, m *remote.Agent, f *far) { desc(t, t.Context(), m, asker()).wants(pdu.ErrTimeout) }},
		"asked":     {remote.Config{}, func(t *testing.T, m *remote.Agent, f *far) { desc(t, t.Context(), m, asker()) }},
		"asked by two": {remote.Config{}, func(t *testing.T, m *remote.Agent, f *far) {
			desc(t, t.Context(), m, asker())
			desc(t, t.Context(), m, asker())
		}},
		"dead": {remote.Config{}, func(t *testing.T, m *remote.Agent, f *far) { f.stream.Close(); m.Desc(t.Context(), asker(), testID) }},
		"with news": {remote.Config{NotReady: true}, func(t *testing.T, m *remote.Agent, f *far) {
			m.Attributes(&pmda.Client{ID: 1, PID: 2})
			m.EndClient(pmda.NewClient(1, 0))
		}},
	}
	for name, tt := range states {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, f := connect(t, pdu.FeatureAuth, tt.cfg)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				c := fetch(t, ctx, m, asker()) // leaves something to watch
				if !tt.cfg.NotReady {
					f.say(fetchReply(t, 1, testID))
					c.wants(nil)
				}
				tt.enter(t, m, f)
				asked := start(t, func() (pdu.Desc, error) { return m.Desc(ctx, asker(), testID) })
				begin := time.Now()
				done := make(chan error)
				for range 3 {
					go func() { done <- m.Close() }()
				}
				for range 3 {
					if err := <-done; err != nil {
						t.Error(err)
					}
				}
				if <-asked.done; asked.err != pdu.ErrNoAgent && asked.err != pdu.ErrAgain {
					t.Errorf("a request then gets %v", asked.err)
				}
				took(t, begin, 0)
				wantDead(t, m, nil)
			})
		})
	}
}

// Close may come in the very moment of a time-out or an answer.
func TestCloseRaces(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			m, f := connect(t, 0, remote.Config{})
			asked := start(t, func() (pdu.Desc, error) { return m.Desc(t.Context(), asker(), testID) })
			f.heard(desc7)
			time.AfterFunc(timeout, func() { m.Close() })
			time.AfterFunc(timeout, func() { f.conn.Write(0, pdu.Status{Code: pdu.ErrPMDANotReady}) })
			<-asked.done
			switch asked.err {
			case pdu.ErrNoAgent, pdu.ErrTimeout, pdu.ErrAgain:
			default:
				t.Errorf("the request gets %v", asked.err)
			}
		})
	}
}

func TestNotReady(t *testing.T) {
	tests := map[string]remote.Config{"from the start": {NotReady: true}, "by its answer": {}}
	for name, cfg := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var m *remote.Agent
				var f *far
				told, asked := 0, make(chan error, 10)
				cfg.OnReady = func() {
					told++
					_, err := m.Desc(t.Context(), asker(), testID)
					asked <- err
				}
				m, f = connect(t, pdu.FeatureAuth, cfg)
				for range 2 {
					if !cfg.NotReady || told > 0 {
						c := desc(t, t.Context(), m, asker())
						waiting := desc(t, t.Context(), m, asker())
						f.say(pdu.Status{Code: pdu.ErrPMDANotReady})
						c.wants(pdu.ErrAgain)
						waiting.wants(pdu.ErrAgain)
						f.heard(desc7)
					}
					if m.Ready() {
						t.Error("ready before it has said so")
					}
					time.Sleep(100 * timeout)
					for _, tt := range methods(t) {
						if _, err := tt.ask(t.Context(), m, asker()); err != pdu.ErrAgain {
							t.Errorf("%s: %v, want %v", tt.name, err, pdu.ErrAgain)
						}
					}
					m.Attributes(&pmda.Client{ID: 3, PID: 17, UID: -1, GID: -1})
					f.heard()
					before := told
					f.say(pdu.Status{Code: pdu.ErrPMDAReady})
					synctest.Wait()
					f.say(testDesc)
					if err := <-asked; told != before+1 || err != nil {
						t.Errorf("Ready was called %d times, and its request got %v", told-before, err)
					}
					synctest.Wait()
					var got []string
					for len(f.told) > 0 {
						got = append(got, <-f.told)
					}
					if diff := cmp.Diff([]string{`3: processid "17\x00"`, desc7}, got); diff != "" && !cmp.Equal([]string{desc7, `3: processid "17\x00"`}, got) {
						t.Errorf("when ready, it was told (-want +got):\n%s", diff)
					}
					serves(t, m, f)
				}
			})
		})
	}
}

// READY alone may come from an agent that is not ready, and only from it.
func TestReadyBreaches(t *testing.T) {
	tests := map[string]struct {
		say  func(f *far)
		want error
	}{
		"not ready":  {func(f *far) { f.say(pdu.Status{Code: pdu.ErrPMDANotReady}) }, nil},
		"success":    {func(f *far) { f.say(pdu.Status{}) }, nil},
		"an answer":  {func(f *far) { f.say(testDesc) }, pdu.ErrIPC},
		"malformed":  {func(f *far) { f.say(raw{pdu.KindError, nil}) }, nil},
		"no PDU":     {func(f *far) { f.stream.Write(make([]byte, 12)) }, pdu.ErrIPC},
		"end":        {func(f *far) { f.stream.Close() }, io.EOF},
		"end in PDU": {func(f *far) { f.stream.Write(make([]byte, 3)); f.stream.Close() }, io.ErrUnexpectedEOF},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, f := connect(t, 0, remote.Config{NotReady: true, OnReady: func() { t.Error("called Ready") }})
				tt.say(f)
				<-m.Done()
				wantDead(t, m, tt.want)
			})
		})
	}
	t.Run("ready twice", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m, f := connect(t, 0, remote.Config{NotReady: true})
			f.say(pdu.Status{Code: pdu.ErrPMDAReady}, pdu.Status{Code: pdu.ErrPMDAReady})
			synctest.Wait()
			desc(t, t.Context(), m, asker()).wants(pdu.ErrIPC)
			wantDead(t, m, nil)
		})
	})
}

// The context of a request counts while it waits for its answer, not later.
func TestContextEndsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := connect(t, 0, remote.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		desc(t, ctx, m, asker()).wants(pdu.ErrTimeout)
		cancel() // while it owes the answer
		synctest.Wait()
		f.say(testDesc)
		f.heard(desc7)
		serves(t, m, f)

		ctx, cancel = context.WithCancel(t.Context())
		c := desc(t, ctx, m, asker())
		f.say(pdu.Status{Code: pdu.ErrPMDANotReady})
		c.wants(pdu.ErrAgain)
		cancel()
		synctest.Wait()
		f.say(pdu.Status{Code: pdu.ErrPMDAReady})
		f.heard(desc7)
		serves(t, m, f)

		ctx, cancel = context.WithCancel(t.Context())
		c = desc(t, ctx, m, asker())
		f.say(testDesc)
		c.wants(nil)
		c = desc(t, t.Context(), m, asker())
		cancel() // somebody else's
		c.waits()
		f.say(testDesc)
		c.wants(nil)
	})
}

// A context that ends while a request is written ends it then.
func TestContextEndsInWrite(t *testing.T) {
	for _, before := range []bool{false, true} { // whether it was seen before
		synctest.Test(t, func(t *testing.T) {
			m, f := connectDeaf(t, 0, remote.Config{})
			ctx, cancel := context.WithCancel(t.Context())
			take := func() {
				if _, _, err := f.conn.Read(); err != nil {
					t.Fatal(err)
				}
			}
			if before {
				c := desc(t, ctx, m, asker())
				take()
				f.say(testDesc)
				c.wants(nil)
			}
			begin := time.Now()
			c := desc(t, ctx, m, asker())
			cancel()
			c.waits()
			take()
			c.wants(context.Canceled)
			took(t, begin, 0)
			f.say(testDesc)
		})
	}
}

// A counting context knows who watches it.
type counting struct {
	context.Context
	end      chan struct{}
	watchers int
}

func (c *counting) Done() <-chan struct{} { return c.end }

func (c *counting) AfterFunc(func()) func() bool {
	c.watchers++
	return func() bool { c.watchers--; return true }
}

// A Remote watches the context of the latest request alone, and none in the end.
func TestWatchesOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := connect(t, 0, remote.Config{})
		a := &counting{Context: t.Context(), end: make(chan struct{})}
		b := &counting{Context: t.Context(), end: make(chan struct{})}
		for i, ctx := range []*counting{a, a, b, b, a, b} {
			c := desc(t, ctx, m, asker())
			f.say(testDesc)
			c.wants(nil)
			if a.watchers+b.watchers != 1 || ctx.watchers != 1 {
				t.Errorf("request %d: %d and %d watchers", i, a.watchers, b.watchers)
			}
		}
		m.Close()
		if a.watchers+b.watchers != 0 {
			t.Errorf("after Close: %d and %d watchers", a.watchers, b.watchers)
		}
	})
}

// Close waits for what is under way.
func TestCloseWaits(t *testing.T) {
	t.Run("for Ready", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m, f := connect(t, 0, remote.Config{NotReady: true, OnReady: func() { time.Sleep(time.Hour) }})
			f.say(pdu.Status{Code: pdu.ErrPMDAReady})
			synctest.Wait()
			begin := time.Now()
			m.Close()
			took(t, begin, time.Hour)
		})
	})
	t.Run("for the stream", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			go func() {
				theirs.Write(encode(t, pdu.Creds{Version: 2}))
				pdu.NewConn(theirs).Read()
				theirs.Close()
			}()
			m, err := remote.New(t.Context(), pmda.Info{}, sluggish{ours}, quiet())
			if err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			c := desc(t, t.Context(), m, asker())
			m.Close()
			took(t, begin, time.Hour)
			<-c.done
		})
	})
}

// A sluggish stream takes its time to close.
type sluggish struct{ net.Conn }

func (s sluggish) Close() error {
	time.Sleep(time.Hour)
	return s.Conn.Close()
}

// A stream that fails in its own way.
type failing struct{ net.Conn }

func (failing) Write([]byte) (int, error) { return 0, errAny }

func TestHelloWriteFails(t *testing.T) {
	ours, theirs := net.Pipe()
	go theirs.Write(encode(t, pdu.Creds{Version: 2}))
	if _, err := remote.New(t.Context(), pmda.Info{}, failing{ours}, quiet()); !errors.Is(err, errAny) {
		t.Errorf("got %v", err)
	}
}

// The time that an agent gets for an answer that nobody waits for is long where
// the time-out is.
func TestOwedForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := connect(t, 0, remote.Config{Timeout: math.MaxInt64})
		ctx, cancel := cancelable(t)
		c := desc(t, ctx, m, asker())
		f.heard(desc7)
		cancel(errAny)
		c.wants(errAny)
		time.Sleep(time.Hour)
		f.say(testDesc)
		synctest.Wait()
		serves(t, m, f)
	})
}

// TestLateChange: what a late result says of labels and names is told with
// the next. The agent says it once.
func TestLateChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logBuffer
		m, f := connect(t, 0, remote.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		late := func(change pdu.Change) {
			c := fetch(t, t.Context(), m, asker())
			c.wants(pdu.ErrTimeout)
			var w pdu.ResultWriter
			w.Changed = change
			w.Begin(testID)
			f.say(w.PDU(pdu.FormatLowRes))
			synctest.Wait()
		}
		late(pdu.ChangeLabels)
		late(pdu.ChangeNames | pdu.ChangeAddAgent)
		if got := log.take(); !strings.Contains(got, "bogus state change") {
			t.Errorf("the log has %q", got)
		}
		for _, want := range []string{"labels,names: 251.1.2[-1] 0", "none: 251.1.2[-1] 0"} {
			c := fetch(t, t.Context(), m, asker())
			f.say(fetchReply(t, 0, testID))
			if got := c.wants(nil); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	})
}
