package remote_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/pdutest"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/remote"
)

// TestHello: New waits for the agent's version, but not longer than its timeout or the context.
func TestHello(t *testing.T) {
	creds := encode(t, pdu.Creds{Version: 2, Features: pdu.FeatureAuth | pdu.FeatureContainer})
	tests := []struct {
		name, bytes string
		close       bool
		want        error
		after       time.Duration
	}{
		{"nothing", "", false, pdu.ErrTimeout, remote.DefaultHelloTimeout},
		{"end", "", true, io.EOF, 0},
		{"half", string(creds[:10]), false, pdu.ErrTimeout, remote.DefaultHelloTimeout},
		{"half and end", string(creds[:10]), true, io.ErrUnexpectedEOF, 0},
		{"something else", string(encode(t, pdu.Status{})), false, pdu.ErrIPC, 0},
		{"no PDU", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", false, pdu.ErrIPC, 0},
		{"text", "Segmentation fault\n", false, pdu.ErrTooBig, 0}, // the start of a long PDU
		{"version 1", string(encode(t, pdu.Creds{Version: 1})), false, pdu.ErrIPC, 0},
		{"reply is not read", string(creds), false, pdu.ErrTimeout, remote.DefaultHelloTimeout},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				go func() {
					io.WriteString(theirs, tt.bytes)
					if tt.close {
						theirs.Close()
					}
				}()
				begin := time.Now()
				agent, err := remote.New(t.Context(), pmda.Info{Name: "far"}, ours, quiet())
				op, ok := errors.AsType[*remote.OpError](err)
				if agent != nil || !ok || !errors.Is(err, tt.want) || !strings.Contains(op.Error(), `agent "far"`) {
					t.Errorf("got %v, want %v", err, tt.want)
				} else if op.Timeout() != (tt.want == pdu.ErrTimeout) {
					t.Errorf("Timeout of %v is %v", err, op.Timeout())
				}
				checkTook(t, begin, tt.after)
				if _, err := ours.Read(make([]byte, 1)); err != io.ErrClosedPipe {
					t.Errorf("the stream was not closed: %v", err)
				}
			})
		})
	}
	t.Run("context", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ours, _ := net.Pipe()
			ctx, cancel := cancelable(t)
			begin := time.Now()
			time.AfterFunc(time.Second, func() { cancel(errSome) })
			if _, err := remote.New(ctx, pmda.Info{}, ours, quiet()); !errors.Is(err, errSome) {
				t.Errorf("got %v, want the context's cause", err)
			}
			checkTook(t, begin, time.Second)
			if _, err := ours.Read(make([]byte, 1)); err != io.ErrClosedPipe {
				t.Errorf("the stream was not closed: %v", err)
			}
		})
	})
	t.Run("granted features", func(t *testing.T) {
		ours, theirs := net.Pipe()
		go remote.New(t.Context(), pmda.Info{}, ours, quiet())
		granted, err := pdu.AgentHello(pdu.NewConn(theirs), 1, pdu.FeatureAuth|pdu.FeatureContainer)
		if granted != pdu.FeatureAuth || err != nil {
			t.Errorf("granted %#x, %v", granted, err)
		}
	})
}

func TestInfoAndCounters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n pdu.Counters
		agent, far := connect(t, 0, remote.Config{Counters: &n})
		if diff := cmp.Diff(pmda.Info{Name: "far", Domain: 251}, agent.Info()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		c := startFetch(t, t.Context(), agent, request7())
		far.send(fetchReply(t, 1, testID))
		c.ends(nil)
		if in, out := n.Total(); in != 2 || out != 3 {
			t.Errorf("%d PDUs in and %d out, want 2 and 3", in, out)
		}
	})
}

// A failing stream cannot be written to.
type failing struct{ net.Conn }

func (failing) Write([]byte) (int, error) { return 0, errSome }

func TestHelloWriteFails(t *testing.T) {
	ours, theirs := net.Pipe()
	go theirs.Write(encode(t, pdu.Creds{Version: 2}))
	if _, err := remote.New(t.Context(), pmda.Info{}, failing{ours}, quiet()); !errors.Is(err, errSome) {
		t.Errorf("got %v", err)
	}
}

// TestAgentEnds: the end of the connection fails the request under way, and all others.
func TestAgentEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent, far := connect(t, 0, remote.Config{})
		c := startDesc(t, t.Context(), agent, request7())
		waiting := startDesc(t, t.Context(), agent, request7())
		far.Stream.Close()
		c.ends(pdu.ErrIPC)
		waiting.ends(pdu.ErrNoAgent)
		checkEnded(t, agent, io.EOF)
	})
}

// TestCloseInEveryState: Close ends everything at once, in every state. It leaves no goroutine,
// or synctest would fail.
func TestCloseInEveryState(t *testing.T) {
	states := map[string]struct {
		cfg   remote.Config
		enter func(t *testing.T, agent *remote.Agent, far *peer)
	}{
		"ready":     {remote.Config{}, func(*testing.T, *remote.Agent, *peer) {}},
		"not ready": {remote.Config{NotReady: true}, func(*testing.T, *remote.Agent, *peer) {}},
		"late reply": {remote.Config{}, func(t *testing.T, agent *remote.Agent, far *peer) {
			startDesc(t, t.Context(), agent, request7()).ends(pdu.ErrTimeout)
		}},
		"during a request": {remote.Config{}, func(t *testing.T, agent *remote.Agent, far *peer) { startDesc(t, t.Context(), agent, request7()) }},
		"during a request, another waiting": {remote.Config{}, func(t *testing.T, agent *remote.Agent, far *peer) {
			startDesc(t, t.Context(), agent, request7())
			startDesc(t, t.Context(), agent, request7())
		}},
		"ended": {remote.Config{}, func(t *testing.T, agent *remote.Agent, far *peer) {
			far.Stream.Close()
			agent.Desc(t.Context(), request7(), testID)
		}},
		"with notices": {remote.Config{NotReady: true}, func(t *testing.T, agent *remote.Agent, far *peer) {
			agent.SetClient(&pmda.Client{ID: 1, PID: 2})
			agent.EndClient(pmda.NewClient(1, 0))
		}},
	}
	for name, tt := range states {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				agent, far := connect(t, pdu.FeatureAuth, tt.cfg)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				c := startFetch(t, ctx, agent, request7()) // its context is still watched
				if !tt.cfg.NotReady {
					far.send(fetchReply(t, 1, testID))
					c.ends(nil)
				}
				tt.enter(t, agent, far)
				d := startDesc(t, ctx, agent, request7())
				begin := time.Now()
				done := make(chan error)
				for range 3 {
					go func() { done <- agent.Close() }()
				}
				for range 3 {
					if err := <-done; err != nil {
						t.Error(err)
					}
				}
				if <-d.done; d.err != pdu.ErrNoAgent && d.err != pdu.ErrAgain {
					t.Errorf("a request during Close gets %v", d.err)
				}
				checkTook(t, begin, 0)
				checkEnded(t, agent, nil)
			})
		})
	}
}

// TestCloseAtTimeout calls Close at the very moment of a timeout and a reply.
func TestCloseAtTimeout(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			agent, far := connect(t, 0, remote.Config{})
			c := startDesc(t, t.Context(), agent, request7())
			far.expect(desc7)
			time.AfterFunc(timeout, func() { agent.Close() })
			time.AfterFunc(timeout, func() { far.Conn.Write(0, pdu.Status{Code: pdu.ErrPMDANotReady}) })
			<-c.done
			switch c.err {
			case pdu.ErrNoAgent, pdu.ErrTimeout, pdu.ErrAgain:
			default:
				t.Errorf("the request gets %v", c.err)
			}
		})
	}
}

// TestCloseWaits: Close waits for OnReady, and until another Close has closed the stream.
func TestCloseWaits(t *testing.T) {
	t.Run("for OnReady", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			agent, far := connect(t, 0, remote.Config{NotReady: true, OnReady: func() { time.Sleep(time.Hour) }})
			far.send(pdu.Status{Code: pdu.ErrPMDAReady})
			synctest.Wait()
			begin := time.Now()
			agent.Close()
			checkTook(t, begin, time.Hour)
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
			agent, err := remote.New(t.Context(), pmda.Info{}, sluggish{ours}, quiet())
			if err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			c := startDesc(t, t.Context(), agent, request7())
			agent.Close()
			checkTook(t, begin, time.Hour)
			<-c.done
		})
	})
}

// A sluggish stream takes an hour to close.
type sluggish struct{ net.Conn }

func (s sluggish) Close() error {
	time.Sleep(time.Hour)
	return s.Conn.Close()
}

// TestNotReady: requests to an agent that is not ready fail until it reports that it is ready.
// Then OnReady is called.
func TestNotReady(t *testing.T) {
	tests := map[string]remote.Config{"from the start": {NotReady: true}, "by its reply": {}}
	for name, cfg := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var agent *remote.Agent
				var far *peer
				calls, requested := 0, make(chan error, 10)
				cfg.OnReady = func() {
					calls++
					_, err := agent.Desc(t.Context(), request7(), testID)
					requested <- err
				}
				agent, far = connect(t, pdu.FeatureAuth, cfg)
				for range 2 {
					if !cfg.NotReady || calls > 0 {
						c := startDesc(t, t.Context(), agent, request7())
						waiting := startDesc(t, t.Context(), agent, request7())
						far.send(pdu.Status{Code: pdu.ErrPMDANotReady})
						c.ends(pdu.ErrAgain)
						waiting.ends(pdu.ErrAgain)
						far.expect(desc7)
					}
					if agent.Ready() {
						t.Error("ready before it has said so")
					}
					time.Sleep(100 * timeout)
					for _, tt := range methods(t) {
						if _, err := tt.call(t.Context(), agent, request7()); err != pdu.ErrAgain {
							t.Errorf("%s: %v, want %v", tt.name, err, pdu.ErrAgain)
						}
					}
					agent.SetClient(&pmda.Client{ID: 3, PID: 17, UID: -1, GID: -1})
					far.expect()
					before := calls
					far.send(pdu.Status{Code: pdu.ErrPMDAReady})
					synctest.Wait()
					far.send(testDesc)
					if err := <-requested; calls != before+1 || err != nil {
						t.Errorf("OnReady was called %d times, and its request got %v", calls-before, err)
					}
					far.expect(processID(3, 17), desc7)
					checkServes(t, agent, far)
				}
			})
		})
	}
}

// TestNotReadyAgentMustSendReady: an agent that is not ready may send only PM_ERR_PMDAREADY, and
// may send it only then.
func TestNotReadyAgentMustSendReady(t *testing.T) {
	tests := map[string]struct {
		send func(far *peer)
		want error
	}{
		"not ready":  {func(far *peer) { far.send(pdu.Status{Code: pdu.ErrPMDANotReady}) }, nil},
		"success":    {func(far *peer) { far.send(pdu.Status{}) }, nil},
		"a reply":    {func(far *peer) { far.send(testDesc) }, pdu.ErrIPC},
		"malformed":  {func(far *peer) { far.send(pdutest.Raw(pdu.KindError, nil)) }, nil},
		"no PDU":     {func(far *peer) { far.Stream.Write(make([]byte, 12)) }, pdu.ErrIPC},
		"end":        {func(far *peer) { far.Stream.Close() }, io.EOF},
		"end in PDU": {func(far *peer) { far.Stream.Write(make([]byte, 3)); far.Stream.Close() }, io.ErrUnexpectedEOF},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				agent, far := connect(t, 0, remote.Config{NotReady: true, OnReady: func() { t.Error("called Ready") }})
				tt.send(far)
				<-agent.Done()
				checkEnded(t, agent, tt.want)
			})
		})
	}
	t.Run("ready twice", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			agent, far := connect(t, 0, remote.Config{NotReady: true})
			far.send(pdu.Status{Code: pdu.ErrPMDAReady}, pdu.Status{Code: pdu.ErrPMDAReady})
			synctest.Wait()
			startDesc(t, t.Context(), agent, request7()).ends(pdu.ErrIPC)
			checkEnded(t, agent, nil)
		})
	})
}
