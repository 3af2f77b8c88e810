package pmcdconf

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/internal/access"
)

// accessSections has the access sections of the test.
var accessSections = []string{
	"allow * : all;",
	"disallow * : store;",
	"disallow * : fetch;",
	"disallow .* : all;",
	`disallow "unix:" : all;`,
	`disallow "unix:" : store; disallow .* : fetch;`,
	`disallow "local:" : store;`,
	"disallow * : all; allow localhost : all;",
	`disallow * : all; allow "local:" : fetch;`,
	"disallow .* : all; allow 127.* : fetch; allow 127.0.0.1 : store;",
	"disallow 127.0.0.1 : store; allow 127.0.0.* : all;",
	`disallow ":*" : all; disallow 10.* : all;`,
	"allow * : all except store;",
	"disallow * : all except fetch;",
	// pmcd counts a loopback client for each address of its host's name.
	`allow "unix:" : maximum 1 connections;`,
	"allow .* : maximum 1 connections; allow 127.0.0.1 : fetch;",
	"allow user root : all;",
	"allow user * : all; disallow user root : store;",
	"allow user nobody : all;",
	"allow group * : all; disallow group root : all;",
	`disallow "unix:" : store; allow user root : all;`,
	"allow group * : fetch; disallow group root : store;",
}

// TestInteropAccess checks that C pmcd admits the same clients, with the same permissions, as our
// Access.
func TestInteropAccess(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmstore")
	if os.Getuid() != 0 {
		t.Skip("the rules for users are about root")
	}
	for i, section := range accessSections {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			conf, err := Parse("f", strings.NewReader("[access]\n"+section))
			if err != nil {
				t.Fatal(err)
			}
			pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd"}, Access: section})
			tryAccess(t, newControl(conf.Access), pmcd.Host(), "tcp", pmcd.Addr(), -1)
			tryAccess(t, newControl(conf.Access), "unix://"+pmcd.Socket(), "unix", pmcd.Socket(), 0)
			if t.Failed() {
				t.Log(section)
			}
		})
	}
}

// tryAccess compares the permissions of clients at an address: first of one client, then of another
// one while the first is connected.
func tryAccess(t *testing.T, a *control, host, network, addr string, id int) {
	t.Helper()
	peer := net.Addr(&net.UnixAddr{Net: "unix"})
	if network == "tcp" {
		if a.NeedsAccount() {
			return // a C client would ask for a password
		}
		peer = tcp("127.0.0.1")
	}
	expect := func(what string) {
		t.Helper()
		denied, release, err := a.CheckHost(peer)
		defer release()
		if err == nil {
			var more access.Ops
			var done func()
			more, done, err = a.CheckAccount(id, id, false)
			defer done()
			denied |= more
		}
		want := [2]bool{denied&access.OpFetch == 0, denied == 0}
		var got [2]bool
		for range 20 { // pmcd may be slow to notice the end of the previous client
			if got[0], got[1] = may(t, host); got == want {
				return
			}
		}
		t.Errorf("%s over %s may fetch and store: %v, want %v (%v, %v)", what, network, got, want, denied, err)
	}
	expect("one")
	_, release, err := a.CheckHost(peer)
	defer release()
	if err != nil {
		return
	}
	defer hold(t, network, addr).Close()
	expect("another")
}

// hold connects a client that stays connected. pmcd may refuse it at first, if it has not yet
// noticed that the previous client has disconnected.
func hold(t *testing.T, network, addr string) net.Conn {
	t.Helper()
	for range 1000 {
		c, err := net.Dial(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		challenge := make([]byte, pdu.HeaderLen+8)
		if _, err := io.ReadFull(c, challenge); err == nil && binary.BigEndian.Uint32(challenge[pdu.HeaderLen:]) == 0 {
			return c // pmcd has counted it
		}
		c.Close()
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("pmcd refuses every client on %s", addr)
	return nil
}

// may returns the permissions of a new client. A store also needs the permission to fetch.
func may(t *testing.T, host string) (fetch, store bool) {
	t.Helper()
	_, stderr, status := pcptest.Run(t, nil, "", "pminfo", "-h", host, "-f", "pmcd.seqnum")
	fetch = status == 0 && !strings.Contains(stderr, "permission")
	out, _, status := pcptest.Run(t, nil, "", "pmstore", "-h", host, "pmcd.seqnum", "1")
	return fetch, status == 0 && strings.Contains(out, "new value")
}
