package collector

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// pmcd -v says the same of every case, and reads the same access rules.
func TestInteropConfig(t *testing.T) {
	pcptest.Need(t, "pmcd")
	complaint := regexp.MustCompile(`(?m)^pmcd config(.*)$`)
	for _, c := range slices.Concat(agentCases, accessCases) {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pmcd.conf")
			if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			_, stderr, status := runVerify(t, file)
			var said []string
			for _, m := range complaint.FindAllStringSubmatch(stderr, -1) {
				said = append(said, m[1])
			}
			conf, err := LoadConfig(file)
			same := (err == nil) == (status == 0)
			diff := cmp.Diff(slices.Sorted(slices.Values(said)), slices.Sorted(slices.Values(complaints(conf, err))))
			switch {
			case c.differs != "" && same && diff == "":
				t.Errorf("no difference any more, though pmcd %s", c.differs)
			case c.differs == "" && (!same || diff != ""):
				t.Errorf("pmcd -v exits %d, we with %v (-pmcd +we):\n%s", status, err, diff)
			}
			if err != nil || status != 0 {
				return
			}
			var tables bytes.Buffer
			conf.Access.WriteTables(&tables)
			if !strings.HasSuffix(stderr, tables.String()) {
				t.Errorf("tables: pmcd has\n%s\nwe have\n%s", stderr, &tables)
			}
		})
	}
}

// runVerify runs pmcd -v so that it writes the access tables, too. One that
// crashes has status -1.
func runVerify(t *testing.T, file string) (stdout, stderr string, status int) {
	t.Helper()
	const script = `"$0" "$@"; s=$?; [ $s -gt 127 ] && s=127; exit $s`
	return pcptest.Run(t, nil, "", "/bin/sh", "-c", script, pcptest.Tool(t, "pmcd"), "-v", "-D", "appl1", "-c", file)
}

// The extra file of rules counts, and its faults have a beginning of their own.
func TestInteropExtraAccess(t *testing.T) {
	pcptest.Need(t, "pmcd")
	for _, extra := range []string{"allow .* : all;\n", "", "#\n", "[access]\nallow .* : all;\n", "disallow 1.2.3.4 : store;\n", "foo"} {
		file := filepath.Join(t.TempDir(), "pmcd.conf")
		for name, text := range map[string]string{file: pipe + "[access]\nallow 1.2.3.4 : all;\n", file + ".access": extra} {
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		_, stderr, status := runVerify(t, file)
		conf, err := LoadConfig(file)
		if (err == nil) != (status == 0) {
			t.Errorf("%q: pmcd -v exits %d, we with %v", extra, status, err)
		}
		for _, c := range complaints(conf, err) {
			if !strings.Contains(stderr, c+"\n") {
				t.Errorf("%q: pmcd does not say %q but\n%s", extra, c, stderr)
			}
		}
	}
}

// behaviours are access sections that a collector is tried with.
var behaviours = []string{
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
	`allow "unix:" : maximum 1 connections;`, // pmcd counts a loopback client for each address of its host's name
	"allow .* : maximum 1 connections; allow 127.0.0.1 : fetch;",
	"allow user root : all;",
	"allow user * : all; disallow user root : store;",
	"allow user nobody : all;",
	"allow group * : all; disallow group root : all;",
	`disallow "unix:" : store; allow user root : all;`,
	"allow group * : fetch; disallow group root : store;",
}

// A C pmcd lets clients in and do what our Access says.
func TestInteropAccess(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmstore")
	if os.Getuid() != 0 {
		t.Skip("the rules for users are about root")
	}
	for i, section := range behaviours {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			conf, err := ParseConfig("f", strings.NewReader(inAccess(section)))
			if err != nil {
				t.Fatal(err)
			}
			pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd"}, Access: section})
			tryAccess(t, conf.Access, pmcd.Host(), "tcp", pmcd.Addr(), -1)
			tryAccess(t, conf.Access, "unix://"+pmcd.Socket(), "unix", pmcd.Socket(), 0)
			if t.Failed() {
				t.Log(section)
			}
		})
	}
}

// tryAccess compares what the clients at an address may do, first one alone and
// then one beside another.
func tryAccess(t *testing.T, a *Access, host, network, addr string, id int) {
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
			var more Ops
			var done func()
			more, done, err = a.CheckAccount(id, id)
			defer done()
			denied |= more
		}
		want := [2]bool{denied&OpFetch == 0, denied == 0}
		var got [2]bool
		for range 20 { // pmcd may not have noticed yet that the one before has gone
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

// hold connects a client that stays. pmcd may refuse it at first: it may not have
// noticed yet that the one before has gone.
func hold(t *testing.T, network, addr string) net.Conn {
	t.Helper()
	for range 1000 {
		c, err := net.Dial(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		challenge := make([]byte, pdu.HeaderLen+8)
		if _, err := io.ReadFull(c, challenge); err == nil && binary.BigEndian.Uint32(challenge[pdu.HeaderLen:]) == 0 {
			return c // it has been counted
		}
		c.Close()
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("pmcd refuses every client on %s", addr)
	return nil
}

// may tries what a new client may do. To store it takes fetching, too.
func may(t *testing.T, host string) (fetch, store bool) {
	t.Helper()
	_, stderr, status := pcptest.Run(t, nil, "", "pminfo", "-h", host, "-f", "pmcd.seqnum")
	fetch = status == 0 && !strings.Contains(stderr, "permission")
	out, _, status := pcptest.Run(t, nil, "", "pmstore", "-h", host, "pmcd.seqnum", "1")
	return fetch, status == 0 && strings.Contains(out, "new value")
}
