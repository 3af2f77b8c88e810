package pmcdconf

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/internal/access"
)

// accessLoader returns a loader that knows the hosts and accounts of the tests.
func accessLoader() *loader {
	return &loader{
		lookupHost: func(name string) ([]netip.Addr, error) {
			if name == "here" || name == "localhost" {
				return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
			}
			return nil, errors.New("no such host")
		},
		hostname: func() (string, error) { return "here", nil },
		accounts: fstest.MapFS{
			"passwd": {Data: []byte("root:x:0:0::/root:/bin/sh\npcp:x:999:995::/:/bin/false\nann:x:1000:1000::/:/bin/sh\n")},
			"group":  {Data: []byte("root:x:0:\nwheel:x:10:pcp,ann\npcp:x:995:\nann:x:1000:ann\n")},
		},
	}
}

// A control is an access.Control with its rules.
type control struct {
	*access.Control
	rules *Access
}

func newControl(rules *Access) *control { return &control{access.New(rules), rules} }

// all returns all rules.
func (c *control) all() (rules []*access.Rule) {
	if c.rules == nil {
		return nil
	}
	for _, h := range c.rules.Hosts {
		rules = append(rules, &h.Rule)
	}
	for _, l := range []access.AccountRules{c.rules.Users, c.rules.Groups} {
		for _, r := range l.List {
			rules = append(rules, &r.Rule)
		}
		if l.Others != nil {
			rules = append(rules, &l.Others.Rule)
		}
	}
	return rules
}

func parseControl(t *testing.T, statements string) *control {
	t.Helper()
	conf, err := accessLoader().parse("f", strings.NewReader("[access]\n"+statements))
	if err != nil {
		t.Fatal(err)
	}
	return newControl(conf.Access)
}

func tcp(addr string) net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(addr), 4))
}

// release returns the release function of a peer that must be admitted.
func release(t *testing.T, a *control, peer net.Addr) func() {
	t.Helper()
	_, release, err := a.CheckHost(peer)
	if err != nil {
		t.Fatalf("%v: %v", peer, err)
	}
	return release
}

// strangeAddr is the address of a listener from outside package net.
type strangeAddr struct{ network, addr string }

func (a strangeAddr) Network() string { return a.network }
func (a strangeAddr) String() string  { return a.addr }

func TestCheckHost(t *testing.T) {
	unix := &net.UnixAddr{Net: "unix", Name: "1.2.3.4:5"}
	tests := []struct {
		name, statements string
		peer             net.Addr
		denied           access.Ops
		err              error
	}{
		{"not mentioned", "disallow 1.2.3.4 : all;", tcp("1.2.3.5"), 0, nil},
		{"mentioned", "disallow 1.2.3.4 : all;", tcp("1.2.3.4"), access.OpAll, pdu.ErrPermission},
		{"mapped", "disallow 1.2.3.4 : store;", tcp("::ffff:1.2.3.4"), access.OpStore, nil},
		{"zone", `disallow "fe80::1" : store;`, tcp("fe80::1%eth0"), access.OpStore, nil},
		{"specific wins", "disallow .* : all; allow 1.2.* : fetch; allow 1.2.3.4 : store;", tcp("1.2.3.4"), 0, nil},
		{"specific wins, any order", "allow 1.2.3.4 : store; allow 1.2.* : fetch; disallow .* : all;", tcp("1.2.3.5"), access.OpStore, nil},
		{"other family", `disallow ":*" : all; disallow "unix:" : all;`, tcp("1.2.3.4"), 0, nil},
		{"family 6", `disallow ":*" : store;`, tcp("2001::1"), access.OpStore, nil},
		{"unix", `disallow "unix:" : store; disallow .* : all;`, unix, access.OpStore, nil},
		{"unix looks like IP", "disallow 1.2.3.4 : all;", unix, 0, nil},
		{"memory", `disallow "local:" : store;`, strangeAddr{"memory", "1.2.3.4:5"}, access.OpStore, nil},
		{"no address", `disallow * : store;`, nil, access.OpStore, nil},
		{"strange TCP", "disallow 1.2.3.4 : store;", strangeAddr{"tcp4", "1.2.3.4:5"}, access.OpStore, nil},
		{"loopback is this host", "disallow here : store;", tcp("127.9.9.9"), access.OpStore, nil},
		{"loopback 6 is this host", "disallow 127.0.0.1 : store;", tcp("::1"), access.OpStore, nil},
		{"hidden groups", `disallow "fe80::223:*" : store;`, tcp("fe80:1:2:3:4:5:223:6"), access.OpStore, nil},
		{"groups", `disallow "fe80::223:*" : store;`, tcp("fe80::224:6"), 0, nil},
	}
	for _, tt := range tests {
		denied, release, err := parseControl(t, tt.statements).CheckHost(tt.peer)
		if denied != tt.denied || !errors.Is(err, tt.err) {
			t.Errorf("%s: got %v, %v, want %v, %v", tt.name, denied, err, tt.denied, tt.err)
		}
		release()
	}
	if denied, release, err := (*access.Control)(nil).CheckHost(unix); denied != 0 || err != nil || release == nil {
		t.Errorf("without rules: got %v, %v", denied, err)
	}
}

func TestHostLimits(t *testing.T) {
	a := parseControl(t, "allow 1.2.3.4 : maximum 1 connections; allow 1.2.* : maximum 2 connections; allow 1.2.3.5 : fetch;")
	full := func(peer string) {
		t.Helper()
		denied, release, err := a.CheckHost(tcp(peer))
		if e, ok := errors.AsType[*access.FullError](err); !ok || e.Conns != e.Max || !errors.Is(err, pdu.ErrConnLimit) || denied != access.OpAll {
			t.Errorf("%s: got %v, %v, want a limit", peer, denied, err)
		} else {
			release()
		}
	}
	one := release(t, a, tcp("1.2.3.4"))
	full("1.2.3.4")
	two := release(t, a, tcp("1.2.9.9"))
	full("1.2.9.8")
	// The most specific rule has no limit, although that of a wider one is reached.
	three := release(t, a, tcp("1.2.3.5"))
	one()
	one()
	full("1.2.9.9")
	three()
	release(t, a, tcp("1.2.9.9"))()
	two()
	for _, r := range a.rules.Hosts {
		if n := a.Connections(&r.Rule); n != 0 {
			t.Errorf("%s: %d connections left", r.Name, n)
		}
	}
}

func TestAccessConcurrently(t *testing.T) {
	a := parseControl(t, "allow .* : maximum 3 connections; allow user * : maximum 3 connections;")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				_, hostDone, _ := a.CheckHost(tcp("1.2.3.4"))
				_, userDone, _ := a.CheckAccount(0, 0, false)
				a.WriteTables(new(bytes.Buffer))
				hostDone()
				userDone()
			}
		})
	}
	wg.Wait()
	hosts, users := a.Connections(&a.rules.Hosts[0].Rule), a.Connections(&a.rules.Users.Others.Rule)
	if hosts != 0 || users != 0 {
		t.Errorf("connections left: %d of the host, %d of the user", hosts, users)
	}
}

func TestCheckAccount(t *testing.T) {
	tests := []struct {
		name, statements string
		uid, gid         int
		denied           access.Ops
		err              error
	}{
		{"hosts only", "disallow .* : all;", -1, -1, 0, nil},
		{"unknown", "allow user * : all;", -1, 0, access.OpAll, pdu.ErrPermission},
		{"group unknown", "allow group * : all;", 0, -1, access.OpAll, pdu.ErrPermission},
		{"user", "allow user root : all; disallow user pcp : store;", 999, 995, access.OpStore, nil},
		{"others denied", "allow user root : all;", 999, 995, access.OpAll, pdu.ErrPermission},
		{"others given", "allow user root : all; disallow user * : store;", 999, 995, access.OpStore, nil},
		{"user's group", "allow user pcp : all;", 7, 10, 0, nil},
		{"group", "disallow group wheel : store;", 7, 10, access.OpStore, nil},
		{"group's user", "disallow group wheel : store;", 1000, 7, access.OpStore, nil},
		{"both add up", "disallow user pcp : store; disallow group pcp : fetch;", 999, 995, access.OpAll, pdu.ErrPermission},
		{"allow lifts nothing", "disallow group wheel : store; allow group ann : store;", 1000, 1000, access.OpStore, nil},
	}
	for _, tt := range tests {
		a := parseControl(t, tt.statements)
		denied, release, err := a.CheckAccount(tt.uid, tt.gid, false)
		if denied != tt.denied || !errors.Is(err, tt.err) {
			t.Errorf("%s: got %v, %v, want %v, %v", tt.name, denied, err, tt.denied, tt.err)
		}
		release()
		if want := tt.name != "hosts only"; a.NeedsAccount() != want {
			t.Errorf("%s: NeedsAccount is not %v", tt.name, want)
		}
	}
	var none *access.Control
	if _, _, err := none.CheckAccount(-1, -1, false); err != nil {
		t.Errorf("without rules: %v", err)
	}
	a := parseControl(t, "allow group wheel : maximum 1 connections;")
	_, release, err := a.CheckAccount(999, 995, false)
	if err != nil {
		t.Fatal(err)
	}
	if denied, _, err := a.CheckAccount(1000, 1000, false); denied != access.OpAll || err != pdu.ErrConnLimit {
		t.Errorf("second of a group: got %v, %v, want a limit", denied, err)
	}
	release()
	if _, _, err := a.CheckAccount(1000, 1000, false); err != nil {
		t.Errorf("when the first has gone: %v", err)
	}
}

// FuzzAccess checks peers and accounts against arbitrary rules. A client is refused exactly if
// all operations are denied.
func FuzzAccess(f *testing.F) {
	for _, section := range accessSections {
		f.Add(section)
	}
	f.Fuzz(func(t *testing.T, section string) {
		conf, err := accessLoader().parse("f", strings.NewReader("[access]\n"+section))
		if err != nil {
			return
		}
		a := newControl(conf.Access)
		check := func(who string, denied access.Ops, release func(), err error) {
			t.Helper()
			if (denied == access.OpAll) != (err != nil) {
				t.Fatalf("%s: got %v, %v", who, denied, err)
			}
			release()
		}
		for _, peer := range []net.Addr{nil, tcp("127.0.0.1"), tcp("1.2.3.4"), tcp("fe80::1")} {
			denied, release, err := a.CheckHost(peer)
			check("a peer", denied, release, err)
		}
		denied, release, err := a.CheckAccount(999, 995, false)
		check("an account", denied, release, err)
		var tables strings.Builder
		if err := a.WriteTables(&tables); err != nil || tables.Len() == 0 {
			t.Fatal(err)
		}
		for _, r := range a.all() {
			if n := a.Connections(r); n != 0 {
				t.Fatalf("%d connections left of %v", n, r)
			}
		}
	})
}
