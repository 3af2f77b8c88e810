package remote_test

import (
	"runtime"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/pdutest"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/remote"
)

// person is a client with a process id, its Seq.
func person(slot uint32, seq uint64) *pmda.Client {
	c := pmda.NewClient(slot, seq)
	c.PID = int(seq)
	return c
}

// processID expects the attribute of a person.
func processID(slot int32, seq uint64) pdutest.Step {
	return attribute(slot, pdu.AttrProcessID, strconv.FormatUint(seq, 10))
}

// TestAttributes: all attributes are sent, and only to agents that have requested them.
func TestAttributes(t *testing.T) {
	full := &pmda.Client{ID: 3, Seq: 1, PID: 10, UID: 0, GID: 12, User: "fred", Container: "box"}
	most := []pdutest.Step{processID(3, 10), attribute(3, pdu.AttrGroupID, "12"), attribute(3, pdu.AttrUserID, "0"), attribute(3, pdu.AttrUsername, "fred")}
	withContainer := func(name string) []pdutest.Step {
		return append(slices.Clip(most), attribute(3, pdu.AttrContainer, name))
	}
	for features, sent := range map[pdu.Features]bool{
		0: false, pdu.FeatureAuth: true, pdu.FeatureContainer: true, pdu.FeatureAuth | pdu.FeatureContainer: true, pdu.FeatureSecure: false,
	} {
		synctest.Test(t, func(t *testing.T) {
			agent, far := connect(t, features, remote.Config{})
			if got := agent.Features(); got != features {
				t.Errorf("features %#x, want %#x", int(got), int(features))
			}
			agent.SetClient(full)
			if !sent {
				far.expect()
				agent.EndClient(full)
				far.expect() // it does not know the client
				return
			}
			far.expect(withContainer("box")...)
			agent.SetClient(pmda.NewClient(4, 2)) // an unknown client
			far.expect()
			agent.EndClient(pmda.NewClient(4, 2))
			far.expect()
			// The container changes, then the client leaves it.
			c := *full
			c.Container = "can"
			agent.SetClient(&c)
			far.expect(withContainer("can")...)
			c.Container = ""
			agent.SetClient(&c)
			far.expect(withContainer("")...)
			// The user is not known any more: what the agent knows is of another client.
			c = pmda.Client{ID: 3, Seq: 1, PID: 10, UID: -1, GID: -1, User: "joe"}
			agent.SetClient(&c)
			far.expect(ended(3), processID(3, 10), attribute(3, pdu.AttrUsername, "joe"), attribute(3, pdu.AttrContainer, ""))
			c.PID, c.User = -1, ""
			agent.SetClient(&c)
			far.expect(ended(3), attribute(3, pdu.AttrContainer, ""))
			c = *full
			agent.SetClient(&c)
			far.expect(withContainer("box")...)
			// Others in the slot never had one.
			agent.SetClient(&c)
			far.expect(withContainer("box")...)
			agent.SetClient(person(3, 4))
			far.expect(ended(3), processID(3, 4))
			agent.EndClient(person(3, 4))
			far.expect(ended(3))
			agent.SetClient(person(3, 5))
			far.expect(processID(3, 5))
			agent.SetClient(&pmda.Client{ID: 6, Seq: 6, PID: 6, UID: -1, GID: -1, User: string(make([]byte, 1<<20))})
			far.expect(processID(6, 6)) // without a name that fits no PDU
		})
	}
}

// TestClientNotices checks the notices that an agent gets when clients change: when it is idle,
// and after it was busy with another client's request, was late with a reply or was not ready
// meanwhile.
func TestClientNotices(t *testing.T) {
	type event func(agent *remote.Agent)
	attrs := func(c *pmda.Client) event { return func(agent *remote.Agent) { agent.SetClient(c) } }
	end := func(c *pmda.Client) event { return func(agent *remote.Agent) { agent.EndClient(c) } }
	a, b, c := person(3, 1), person(3, 2), person(3, 3)
	tests := []struct {
		name       string
		events     []event
		idle, busy []pdutest.Step
	}{
		{"nobody", nil, nil, nil},
		{"unknown leaves", []event{end(a)}, nil, nil},
		{"comes", []event{attrs(a)}, []pdutest.Step{processID(3, 1)}, []pdutest.Step{processID(3, 1)}},
		{"changes", []event{attrs(a), attrs(a)}, []pdutest.Step{processID(3, 1), processID(3, 1)}, []pdutest.Step{processID(3, 1)}},
		{"leaves", []event{attrs(a), end(a)}, []pdutest.Step{processID(3, 1), ended(3)}, []pdutest.Step{ended(3)}},
		{"leaves twice", []event{attrs(a), end(a), end(a)}, []pdutest.Step{processID(3, 1), ended(3)}, []pdutest.Step{ended(3)}},
		{"leaves before it comes", []event{end(a), attrs(a)}, nil, nil},
		{"attributes after the end", []event{attrs(a), end(a), attrs(a)}, []pdutest.Step{processID(3, 1), ended(3)}, []pdutest.Step{ended(3)}},
		{"next", []event{attrs(a), end(a), attrs(b)}, []pdutest.Step{processID(3, 1), ended(3), processID(3, 2)}, []pdutest.Step{ended(3), processID(3, 2)}},
		{"next leaves", []event{attrs(a), end(a), attrs(b), end(b)},
			[]pdutest.Step{processID(3, 1), ended(3), processID(3, 2), ended(3)}, []pdutest.Step{ended(3)}},
		{"next after a missed end", []event{attrs(a), attrs(b)}, []pdutest.Step{processID(3, 1), ended(3), processID(3, 2)}, []pdutest.Step{ended(3), processID(3, 2)}},
		{"end after the next has come", []event{attrs(a), attrs(b), end(a), attrs(a)},
			[]pdutest.Step{processID(3, 1), ended(3), processID(3, 2)}, []pdutest.Step{ended(3), processID(3, 2)}},
		{"two after", []event{attrs(a), attrs(b), attrs(c), end(c)},
			[]pdutest.Step{processID(3, 1), ended(3), processID(3, 2), ended(3), processID(3, 3), ended(3)}, []pdutest.Step{ended(3)}},
		{"end of the next alone", []event{attrs(a), end(b)}, []pdutest.Step{processID(3, 1), ended(3)}, []pdutest.Step{ended(3)}},
		{"two slots", []event{attrs(person(9, 7)), attrs(a), attrs(person(1, 8))},
			[]pdutest.Step{processID(9, 7), processID(3, 1), processID(1, 8)}, []pdutest.Step{processID(1, 8), processID(3, 1), processID(9, 7)}},
	}
	for _, tt := range tests {
		t.Run(tt.name+"/idle", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				agent, far := connect(t, pdu.FeatureAuth, remote.Config{})
				for _, e := range tt.events {
					e(agent)
					synctest.Wait()
				}
				far.expect(tt.idle...)
			})
		})
		t.Run(tt.name+"/busy", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				agent, far := connect(t, pdu.FeatureAuth, remote.Config{})
				other := startDesc(t, t.Context(), agent, request7())
				far.expect(desc7)
				for _, e := range tt.events {
					e(agent)
				}
				far.expect()
				far.send(testDesc)
				other.ends(nil)
				far.expect(tt.busy...)
			})
		})
		t.Run(tt.name+"/late", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				agent, far := connect(t, pdu.FeatureAuth, remote.Config{})
				startDesc(t, t.Context(), agent, request7()).ends(pdu.ErrTimeout)
				far.expect(desc7)
				for _, e := range tt.events {
					e(agent)
				}
				far.expect()
				far.send(testDesc)
				far.expect(tt.busy...)
			})
		})
		t.Run(tt.name+"/not ready", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				agent, far := connect(t, pdu.FeatureAuth, remote.Config{NotReady: true})
				for _, e := range tt.events {
					e(agent)
				}
				far.expect()
				far.send(pdu.Status{Code: pdu.ErrPMDAReady})
				far.expect(tt.busy...)
			})
		})
	}
}

// TestNoticesComeBeforeRequest: the notices about a slot are sent before its next request.
func TestNoticesComeBeforeRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent, far := connect(t, pdu.FeatureAuth, remote.Config{})
		a, b := pmda.NewClient(3, 1), person(3, 2)
		first := startDesc(t, t.Context(), agent, &pmda.Request{Client: a})
		agent.EndClient(a) // while its request is under way
		agent.SetClient(b)
		second := startDesc(t, t.Context(), agent, &pmda.Request{Client: b})
		far.expect(descFrom(3))
		far.send(testDesc)
		first.ends(nil)
		far.expect(ended(3), processID(3, 2), descFrom(3))
		far.send(testDesc)
		second.ends(nil)

		// The agent was not notified of the end of b.
		third := startDesc(t, t.Context(), agent, &pmda.Request{Client: pmda.NewClient(3, 3)})
		far.expect(ended(3), descFrom(3))
		far.send(testDesc)
		third.ends(nil)
		agent.EndClient(pmda.NewClient(3, 3))
		far.expect(ended(3))
	})
}

// TestNoticesDoNotWait: SetClient and EndClient do not block, even if the agent reads nothing.
func TestNoticesDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent, far := connectUnbuffered(t, pdu.FeatureAuth, remote.Config{})
		begin := time.Now()
		for i := range uint64(1000) {
			agent.SetClient(person(uint32(i), i))
			agent.EndClient(person(uint32(i), i))
			synctest.Wait()
		}
		checkTook(t, begin, 0)
		if n := runtime.NumGoroutine(); n > 500 {
			t.Errorf("%d goroutines", n)
		}
		c := startDesc(t, t.Context(), agent, request7())
		<-agent.Done() // since it takes nothing
		checkTook(t, begin, timeout)
		if <-c.done; c.err != pdu.ErrNoAgent && c.err != pdu.ErrTimeout {
			t.Errorf("a request gets %v", c.err)
		}
		far.Stream.Close()
	})
}
