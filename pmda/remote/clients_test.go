package remote_test

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/remote"
)

// person is a client with a process id, its Seq.
func person(id uint32, seq uint64) *pmda.Client {
	c := pmda.NewClient(id, seq)
	c.PID = int(seq)
	return c
}

func personTold(id uint32, seq uint64) string {
	return fmt.Sprintf(`%d: processid "%d\x00"`, id, seq)
}

func descOf(t *testing.T, m *remote.Agent, c *pmda.Client) *call[pdu.Desc] {
	return desc(t, t.Context(), m, &pmda.Request{Client: c})
}

// All attributes, and only to agents that want to know.
func TestAttributes(t *testing.T) {
	full := &pmda.Client{ID: 3, Seq: 1, PID: 10, UID: 0, GID: 12, User: "fred", Container: "box"}
	fullTold := []string{`3: processid "10\x00"`, `3: groupid "12\x00"`, `3: userid "0\x00"`, `3: username "fred\x00"`, `3: container "box\x00"`}
	for wants, told := range map[pdu.Features]bool{
		0: false, pdu.FeatureAuth: true, pdu.FeatureContainer: true, pdu.FeatureAuth | pdu.FeatureContainer: true, pdu.FeatureSecure: false,
	} {
		synctest.Test(t, func(t *testing.T) {
			m, f := connect(t, wants, remote.Config{})
			m.Attributes(full)
			if !told {
				f.heard()
				m.EndClient(full)
				f.heard() // of someone it has not heard of
				return
			}
			f.heard(fullTold...)
			m.Attributes(pmda.NewClient(4, 2)) // of whom nothing is known
			f.heard()
			m.EndClient(pmda.NewClient(4, 2))
			f.heard()
			// The container changes, then there is none.
			c := *full
			c.Container = "can"
			m.Attributes(&c)
			f.heard(append(fullTold[:4:4], `3: container "can\x00"`)...)
			c.Container = ""
			m.Attributes(&c)
			f.heard(append(fullTold[:4:4], `3: container "\x00"`)...)
			// Others in the slot never had one.
			c.Container = "box"
			m.Attributes(&c)
			f.heard(fullTold...)
			m.Attributes(person(3, 4))
			f.heard("3: Not Connected", personTold(3, 4))
			m.EndClient(person(3, 4))
			f.heard("3: Not Connected")
			m.Attributes(person(3, 5))
			f.heard(personTold(3, 5))
			m.Attributes(&pmda.Client{ID: 6, Seq: 6, PID: 6, UID: -1, GID: -1, User: string(make([]byte, 1<<20))})
			f.heard(personTold(6, 6)) // without a name that fits no PDU
		})
	}
}

// What happens to clients, and what the agent is told of it, when it is idle and
// after it was busy with somebody else's request, or not ready, meanwhile.
func TestClients(t *testing.T) {
	type event func(m *remote.Agent)
	attrs := func(c *pmda.Client) event { return func(m *remote.Agent) { m.Attributes(c) } }
	end := func(c *pmda.Client) event { return func(m *remote.Agent) { m.EndClient(c) } }
	a, b, c := person(3, 1), person(3, 2), person(3, 3)
	tests := []struct {
		name       string
		events     []event
		idle, busy []string
	}{
		{"nobody", nil, nil, nil},
		{"unknown leaves", []event{end(a)}, nil, nil},
		{"comes", []event{attrs(a)}, []string{personTold(3, 1)}, []string{personTold(3, 1)}},
		{"changes", []event{attrs(a), attrs(a)}, []string{personTold(3, 1), personTold(3, 1)}, []string{personTold(3, 1)}},
		{"leaves", []event{attrs(a), end(a)}, []string{personTold(3, 1), "3: Not Connected"}, []string{"3: Not Connected"}},
		{"leaves twice", []event{attrs(a), end(a), end(a)}, []string{personTold(3, 1), "3: Not Connected"}, []string{"3: Not Connected"}},
		{"leaves before it comes", []event{end(a), attrs(a)}, nil, nil},
		{"attributes after the end", []event{attrs(a), end(a), attrs(a)}, []string{personTold(3, 1), "3: Not Connected"}, []string{"3: Not Connected"}},
		{"next", []event{attrs(a), end(a), attrs(b)}, []string{personTold(3, 1), "3: Not Connected", personTold(3, 2)}, []string{"3: Not Connected", personTold(3, 2)}},
		{"next leaves", []event{attrs(a), end(a), attrs(b), end(b)},
			[]string{personTold(3, 1), "3: Not Connected", personTold(3, 2), "3: Not Connected"}, []string{"3: Not Connected"}},
		{"next after a missed end", []event{attrs(a), attrs(b)}, []string{personTold(3, 1), "3: Not Connected", personTold(3, 2)}, []string{"3: Not Connected", personTold(3, 2)}},
		{"end after the next has come", []event{attrs(a), attrs(b), end(a), attrs(a)},
			[]string{personTold(3, 1), "3: Not Connected", personTold(3, 2)}, []string{"3: Not Connected", personTold(3, 2)}},
		{"two after", []event{attrs(a), attrs(b), attrs(c), end(c)},
			[]string{personTold(3, 1), "3: Not Connected", personTold(3, 2), "3: Not Connected", personTold(3, 3), "3: Not Connected"}, []string{"3: Not Connected"}},
		{"end of the next alone", []event{attrs(a), end(b)}, []string{personTold(3, 1), "3: Not Connected"}, []string{"3: Not Connected"}},
		{"two slots", []event{attrs(person(9, 7)), attrs(a), attrs(person(1, 8))},
			[]string{personTold(9, 7), personTold(3, 1), personTold(1, 8)}, []string{personTold(1, 8), personTold(3, 1), personTold(9, 7)}},
	}
	for _, tt := range tests {
		t.Run(tt.name+"/idle", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, f := connect(t, pdu.FeatureAuth, remote.Config{})
				for _, e := range tt.events {
					e(m)
					synctest.Wait()
				}
				f.heard(tt.idle...)
			})
		})
		t.Run(tt.name+"/busy", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, f := connect(t, pdu.FeatureAuth, remote.Config{})
				other := desc(t, t.Context(), m, asker())
				f.heard(desc7)
				for _, e := range tt.events {
					e(m)
				}
				f.heard()
				f.say(testDesc)
				other.wants(nil)
				f.heard(tt.busy...)
			})
		})
		t.Run(tt.name+"/late", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, f := connect(t, pdu.FeatureAuth, remote.Config{})
				desc(t, t.Context(), m, asker()).wants(pdu.ErrTimeout)
				f.heard(desc7)
				for _, e := range tt.events {
					e(m)
				}
				f.heard()
				f.say(testDesc)
				f.heard(tt.busy...)
			})
		})
		t.Run(tt.name+"/not ready", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, f := connect(t, pdu.FeatureAuth, remote.Config{NotReady: true})
				for _, e := range tt.events {
					e(m)
				}
				f.heard()
				f.say(pdu.Status{Code: pdu.ErrPMDAReady})
				f.heard(tt.busy...)
			})
		})
	}
}

// What is to be told of a slot comes before the next request from it.
func TestClientsThenRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := connect(t, pdu.FeatureAuth, remote.Config{})
		a, b := pmda.NewClient(3, 1), person(3, 2)
		first := descOf(t, m, a)
		m.EndClient(a) // while its request is under way
		m.Attributes(b)
		second := descOf(t, m, b)
		f.heard("3: DESC_REQ{PMID:251.1.2}")
		f.say(testDesc)
		first.wants(nil)
		f.heard("3: Not Connected", personTold(3, 2), "3: DESC_REQ{PMID:251.1.2}")
		f.say(testDesc)
		second.wants(nil)

		// Nobody has said that b has gone.
		third := descOf(t, m, pmda.NewClient(3, 3))
		f.heard("3: Not Connected", "3: DESC_REQ{PMID:251.1.2}")
		f.say(testDesc)
		third.wants(nil)
		m.EndClient(pmda.NewClient(3, 3))
		f.heard("3: Not Connected")
	})
}

// The end of a client waits for nobody, even if the agent takes nothing.
func TestClientsDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := connectDeaf(t, pdu.FeatureAuth, remote.Config{})
		begin := time.Now()
		for i := range uint64(1000) {
			m.Attributes(person(uint32(i), i))
			m.EndClient(person(uint32(i), i))
			synctest.Wait()
		}
		took(t, begin, 0)
		if n := runtime.NumGoroutine(); n > 500 {
			t.Errorf("%d goroutines", n)
		}
		c := desc(t, t.Context(), m, asker())
		<-m.Done() // since it takes nothing
		took(t, begin, timeout)
		if <-c.done; c.err != pdu.ErrNoAgent && c.err != pdu.ErrTimeout {
			t.Errorf("a request gets %v", c.err)
		}
		f.stream.Close()
	})
}
