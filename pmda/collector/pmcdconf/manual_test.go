package pmcdconf

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/internal/access"
)

// manualLoader returns a loader with the hosts of pmcd's manual and some accounts. This host is
// "here", 192.168.1.9.
func manualLoader() *loader {
	hosts := map[string]string{"clank": "129.127.112.2", "boing": "10.0.0.7", "giggle.melbourne.sgi.com": "129.127.50.1",
		"localhost": "127.0.0.1", "here": "192.168.1.9", "six": "fe80::1:2"}
	return &loader{
		lookupHost: func(name string) ([]netip.Addr, error) {
			if a, ok := hosts[name]; ok {
				return []netip.Addr{netip.MustParseAddr(a)}, nil
			}
			return nil, errors.New("no such host")
		},
		hostname: func() (string, error) { return "here", nil },
		accounts: fstest.MapFS{
			"passwd": {Data: []byte("root:x:0:0::/:/bin/sh\npcp:x:999:995::/:/bin/sh\nann:x:1000:1000::/:/bin/sh\nbob:x:1001:1000::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n")},
			"group":  {Data: []byte("root:x:0:\nwheel:x:10:pcp,ann\npcp:x:995:\nstaff:x:1000:\nnogroup:x:65534:\n")},
		},
	}
}

// manualUsers maps accounts to their user IDs and main group IDs.
var manualUsers = map[string][2]int{"root": {0, 0}, "pcp": {999, 995}, "ann": {1000, 1000}, "bob": {1001, 1000},
	"nobody": {65534, 65534}, "root/pcp": {0, 995}, "pcp/nogroup": {999, 65534}, "nobody/wheel": {65534, 10}, "stranger": {-1, -1}}

// A manualCase is an access section with the clients that connect and disconnect. "a 1.2.3.4 all"
// connects a client a from that host, and all operations are allowed. "a unix root fetch"
// connects the user root on a unix socket, and only fetches are allowed. A "denied" client may do
// nothing, and a "full" one exceeds the limit of connections. "-a" disconnects a. fault is the
// error in the section; then the case has no clients.
type manualCase struct {
	name, section string
	fault         string
	clients       []string
}

var manualCases = []manualCase{
	// The examples of the manual.
	{"host by name", "disallow boing : all;", "", []string{"a 10.0.0.7 denied", "b 10.0.0.8 all"}},
	{"localhost", "disallow localhost : store;", "", []string{"a 127.0.0.1 fetch", "b 192.168.1.9 fetch", "c 127.0.0.2 fetch", "d 10.0.0.7 all"}},
	{"qualified name", "disallow giggle.melbourne.sgi.com : all;", "", []string{"a 129.127.50.1 denied", "b 129.127.50.2 all"}},
	{"address", "disallow 129.127.112.2 : all;", "", []string{"a 129.127.112.2 denied", "b 129.127.112.3 all"}},
	{"three parts", "disallow 129.127.114.* : all;", "", []string{"a 129.127.114.9 denied", "b 129.127.115.9 all"}},
	{"one part", "disallow 129.* : all;", "", []string{"a 129.1.2.3 denied", "b 130.1.2.3 all"}},
	{"everybody", "disallow * : all;", "", []string{"a 1.2.3.4 denied", "b fe80::1 denied", "c unix denied", "d 127.0.0.1 denied"}},
	{"wildcard of names", "allow *.melbourne : all;", `Wildcard in host pattern "*.melbourne" is not at the end`, nil},
	{"two wildcards", "allow 129.127.*.* : all;", `Wildcard in host pattern "129.127.*.*" is not at the end`, nil},
	{"wildcard within", "allow 129.*.114.9 : all;", `Wildcard in host pattern "129.*.114.9" is not at the end`, nil},
	// Pmcd accepts it too.
	{"wildcard of a part, as of 127.*", "disallow 129.127* : all;", "", []string{"a 129.127.3.4 denied", "b 129.128.3.4 all"}},
	{"no statement applies", "disallow clank : store;", "", []string{"a 10.0.0.7 all", "b 129.127.112.2 fetch"}},
	{"contradiction", "allow clank : fetch, store; disallow 129.127.112.2 : all except fetch;", "Permission clash for 129.127.112.2 with earlier statement for clank", nil},
	{"more specific ones win", "allow clank : all; disallow 129.127.112.* : all except fetch; disallow * : all;", "",
		[]string{"a 129.127.112.2 all", "b 129.127.112.3 fetch", "c 129.127.113.1 denied"}},
	{"boing, then clank", "allow clank : all, maximum 5 connections; allow * : all except store, maximum 2 connections;", "",
		[]string{"a 10.0.0.7 fetch", "b 129.127.112.2 all", "c 10.0.0.7 full", "d 129.127.112.2 all", "-a", "e 10.0.0.7 full", "-b", "f 10.0.0.7 fetch"}},
	{"three of boing, then clank", "allow clank : all, maximum 5 connections; allow * : all except store, maximum 2 connections;", "",
		[]string{"a 10.0.0.7 fetch", "b 10.0.0.7 fetch", "c 10.0.0.7 full", "d 129.127.112.2 all", "-d", "-a", "e 10.0.0.7 fetch"}},
	{"five of clank", "allow clank : all, maximum 5 connections; allow * : all except store, maximum 2 connections;", "",
		[]string{"a 129.127.112.2 all", "b 129.127.112.2 all", "c 129.127.112.2 all", "d 129.127.112.2 all", "e 129.127.112.2 all", "f 129.127.112.2 full"}},
	{"a list is several statements", "allow clank, boing : maximum 1 connections;", "",
		[]string{"a 129.127.112.2 all", "b 10.0.0.7 all", "c 10.0.0.7 full"}},
	{"a wildcard shares a limit", "allow 129.127.* : maximum 1 connections;", "", []string{"a 129.127.1.1 all", "b 129.127.2.2 full", "-a", "c 129.127.2.2 all"}},
	{"a limit in a disallow statement", "disallow clank : fetch, maximum 2 connections;", "can't specify connection limit in a disallow statement", nil},

	// More cases of hosts.
	{"fetch alone", "allow boing : fetch;", "", []string{"a 10.0.0.7 all"}}, // the rest is allowed
	{"no fetch", "disallow boing : fetch;", "", []string{"a 10.0.0.7 store"}},
	{"all except", "disallow boing : all except fetch;", "", []string{"a 10.0.0.7 fetch"}},
	{"allow all except", "allow boing : all except store;", "", []string{"a 10.0.0.7 fetch"}},
	{"two statements of a host", "disallow boing : fetch; disallow 10.0.0.7 : store;", "", []string{"a 10.0.0.7 denied"}},
	{"operations by different statements", "disallow 10.* : store; disallow 10.0.0.* : fetch;", "", []string{"a 10.0.0.7 denied", "b 10.0.1.7 fetch"}},
	{"in the reverse order", "disallow 10.0.0.* : fetch; disallow 10.* : store;", "", []string{"a 10.0.0.7 denied"}},
	{"given back by one more specific", "disallow 10.* : all; allow 10.0.0.* : store;", "", []string{"a 10.0.0.7 store", "b 10.1.0.7 denied"}},
	{"one family", "disallow .* : all;", "", []string{"a 1.2.3.4 denied", "b fe80::1 all", "c unix all"}},
	{"the other family", `disallow ":*" : store;`, "", []string{"a 1.2.3.4 all", "b fe80::1 fetch"}},
	{"mapped address", `disallow ":*" : all;`, "", []string{"a ::ffff:1.2.3.4 all"}},
	{"part of IPv6", `disallow "fe80:1:*" : store;`, "", []string{"a fe80:1::5 fetch", "b fe80:2::5 all"}},
	{"IPv6 by name", "disallow six : all;", "", []string{"a fe80::1:2 denied", "b fe80::1:3 all"}},
	{"unix", `disallow "unix:" : store;`, "", []string{"a unix fetch", "b 127.0.0.1 all"}},
	{"local", `disallow "local:" : store;`, "", []string{"a unix fetch", "b 127.0.0.1 fetch", "c 10.0.0.7 all"}},
	{"limit of unix", `allow "unix:" : maximum 1 connections;`, "", []string{"a unix all", "b unix full", "c 1.2.3.4 all", "-a", "d unix all"}},
	{"a refused client does not count", "allow .* : maximum 1 connections; disallow boing : all;", "", []string{"a 10.0.0.7 denied", "b 1.2.3.4 all", "c 1.2.3.5 full"}},
	{"the most specific has no limit", "allow .* : maximum 1 connections; allow boing : fetch;", "", []string{"a 10.0.0.7 all", "b 1.2.3.4 full", "c 10.0.0.7 all"}},
	{"the same twice", "allow boing : all; allow 10.0.0.7 : all;", "", []string{"a 10.0.0.7 all"}},
	{"two limits", "allow boing : maximum 1 connections; allow boing : maximum 2 connections;", "Permission clash for boing with earlier statement for boing", nil},
	{"limit and operations apart", "allow boing : maximum 1 connections; disallow boing : store;", "", []string{"a 10.0.0.7 fetch", "b 10.0.0.7 full"}},
	{"words in any case", "DISALLOW Hosts boing : Store;", "", []string{"a 10.0.0.7 fetch"}},
	{"too many dots", "allow 1.2.3.4.* : all;", `Too many dots in host pattern "1.2.3.4.*"`, nil},
	{"colons", `allow "1:2:3:4:5:6:7:8:*" : all;`, "Too many colons", nil},

	// Users.
	{"users", "disallow user * : all; allow user root : all; allow user pcp : fetch; disallow user pcp : store;", "",
		[]string{"a unix root all", "b unix pcp fetch", "c unix nobody denied", "d 1.2.3.4 root all", "e 1.2.3.4 stranger denied"}},
	// As in pmcd, a rule for a user also applies to users whose main group is a group of that user.
	{"a user alone", "allow user nobody : all;", "", []string{"a unix nobody all", "b unix bob denied", "c unix root denied"}},
	{"all users", "allow user * : all;", "", []string{"a unix nobody all", "b 1.2.3.4 stranger denied"}},
	{"all users but one", "allow user * : all; disallow user ann : store;", "", []string{"a unix ann fetch", "b unix root all"}},
	{"the others last", "disallow user ann : store; allow user * : all;", "", []string{"a unix ann fetch", "b unix root all"}},
	{"list of users", "allow users ann, bob : fetch;", "", []string{"a unix ann all", "b unix bob all", "c unix pcp denied"}},
	{"a user's main group", "allow user bob : all;", "", []string{"a unix ann all", "b unix bob all", "c unix pcp denied"}},
	{"a user's groups", "allow user pcp : fetch; disallow user pcp : store;", "", []string{"a unix nobody/wheel fetch", "b unix root/pcp fetch", "c unix root denied"}},
	{"limit of a user", "allow user * : all; allow user ann : maximum 1 connections;", "", []string{"a unix ann all", "b unix ann full", "c unix pcp all", "-a", "d unix ann all"}},
	{"limit of all others", "allow user * : maximum 1 connections; allow user root : all;", "", []string{"a unix nobody all", "b unix pcp full", "c unix root all"}},
	{"the host is asked first", "disallow .* : all; allow user root : all;", "", []string{"a 1.2.3.4 root denied", "b unix root all"}},
	{"users lift nothing of hosts", "disallow .* : store; allow user root : all;", "", []string{"a 1.2.3.4 root fetch"}},
	{"users take away", "disallow user root : store;", "", []string{"a unix root fetch", "b unix pcp denied"}},
	{"host and user add up", "disallow .* : store; disallow user root : fetch;", "", []string{"a 1.2.3.4 root denied", "b unix root store"}},
	{"unknown user", "allow user nosuch : all;", `Failed to lookup user "nosuch"`, nil},
	{"clash of users", "allow user root : all; disallow user root : store;", "Permission clash for user root with earlier statement", nil},

	// Groups.
	{"groups", "disallow group * : all; allow group pcp : all; disallow group nogroup : store; allow group staff : maximum 1 connections;", "",
		[]string{"a unix root denied", "b unix root/pcp all", "c unix pcp all", "d unix pcp/nogroup fetch", "e unix ann all", "f unix bob full", "-e", "g unix bob all"}},
	{"members", "allow group wheel : all;", "", []string{"a unix ann all", "b unix pcp all", "c unix bob denied", "d unix nobody/wheel all"}},
	{"two groups add up", "disallow group wheel : store; disallow group staff : fetch;", "", []string{"a unix ann denied", "b unix bob store", "c unix pcp fetch"}},
	{"groups and users add up", "allow user * : all; disallow user ann : store; allow group * : all; disallow group staff : fetch;", "",
		[]string{"a unix ann denied", "b unix bob denied", "c unix root all"}},
	{"a user's rule does not lift a group's", "allow user ann : all; disallow group staff : all;", "", []string{"a unix ann denied"}},
	{"limits of user and group", "allow user * : all; allow group * : all; allow user ann : maximum 2 connections; allow group wheel : maximum 1 connections;", "",
		[]string{"a unix ann all", "b unix ann full", "c unix pcp full", "-a", "d unix pcp all"}},
	{"unknown group", "allow group nosuch : all;", `Failed to lookup group "nosuch"`, nil},
	{"nobody known", "allow group * : fetch;", "", []string{"a 1.2.3.4 stranger denied"}},
}

func TestManual(t *testing.T) {
	for _, c := range manualCases {
		t.Run(c.name, func(t *testing.T) {
			conf, err := manualLoader().parse("f", strings.NewReader("[access]\n"+c.section))
			if c.fault != "" {
				if err == nil || !strings.Contains(err.Error(), c.fault) {
					t.Errorf("got %v, want %s", err, c.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			c.try(t, newControl(conf.Access))
		})
	}
}

// try connects and disconnects the clients. In the end all clients are disconnected.
func (c *manualCase) try(t *testing.T, a *control) {
	releases := map[string]func(){}
	for _, client := range c.clients {
		word := strings.Fields(client)
		if name, gone := strings.CutPrefix(word[0], "-"); gone {
			releases[name]()
			delete(releases, name)
			continue
		}
		got, release := connectAs(a, word[1], word[2:len(word)-1])
		if want := word[len(word)-1]; got != want {
			t.Errorf("%s: %s", client, got)
		}
		releases[word[0]] = release
	}
	for _, release := range releases {
		release()
	}
	for _, r := range a.all() {
		if n := a.Connections(r); n != 0 {
			t.Errorf("%d connections left of %v", n, r)
		}
	}
}

// connectAs connects a client from a host, optionally as a user. It returns what the client may
// do and a function that disconnects it.
func connectAs(a *control, host string, user []string) (may string, release func()) {
	var peer net.Addr = &net.UnixAddr{Net: "unix"}
	if host != "unix" {
		peer = tcp(host)
	}
	denied, release, err := a.CheckHost(peer)
	if err == nil && len(user) > 0 {
		id := manualUsers[user[0]]
		more, releaseAccount, accountErr := a.CheckAccount(id[0], id[1], false)
		releaseHost := release
		denied, err = denied|more, accountErr
		release = func() { releaseAccount(); releaseHost() }
	}
	switch {
	case errors.Is(err, pdu.ErrConnLimit):
		return "full", release
	case err != nil || denied == access.OpAll:
		return "denied", release
	}
	return [...]string{"all", "store", "fetch"}[slices.Index([]access.Ops{0, access.OpFetch, access.OpStore}, denied)], release
}
