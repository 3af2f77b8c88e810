package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestInteropAccounts: rules about users and groups say of processes with other identities, at the
// unix socket, what C pmcd says.
func TestInteropAccounts(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmstore", "setpriv")
	if os.Geteuid() != 0 {
		t.Skip("needs root, for processes of other users")
	}
	const fetched, refused = "value 60", "No permission to perform requested operation"
	type client struct {
		user, group  string
		fetch, store string // what the tools say
	}
	for access, clients := range map[string][]client{
		"disallow user * : all;\nallow user root : all;\nallow user daemon : fetch;\ndisallow user daemon : store;\n": {
			{"root", "root", fetched, "new value"}, {"daemon", "daemon", fetched, refused}, {"nobody", "nogroup", refused, refused},
		},
		"disallow group * : all;\nallow group daemon : all;\ndisallow group nogroup : store;\n": {
			{"root", "root", refused, refused}, {"root", "daemon", fetched, "new value"}, {"daemon", "nogroup", fetched, refused}, {"nobody", "daemon", fetched, "new value"},
		},
	} {
		var hosts []string
		for _, program := range []string{"", pcptest.Build(t, "./examples/pmcd")} {
			p := pcptest.StartPMCD(t, pcptest.Config{Program: program, Shipped: []string{"pmcd"}, Access: access})
			if err := os.Chmod(filepath.Dir(p.Socket()), 0o755); err != nil { // others may connect
				t.Fatal(err)
			}
			hosts = append(hosts, "unix://"+p.Socket())
		}
		for _, c := range clients {
			for tool, want := range map[string]string{"pminfo -f pmcd.control.timeout": c.fetch, "pmstore pmcd.control.timeout 60": c.store} {
				name, args, _ := strings.Cut(tool, " ")
				var said []string
				for _, host := range hosts {
					argv := append([]string{"setpriv", "--reuid", c.user, "--regid", c.group, "--clear-groups", pcptest.Tool(t, name), "-h", host}, strings.Fields(args)...)
					out, errs, status := pcptest.Run(t, []string{"PCP_DERIVED_CONFIG="}, "", argv...)
					said = append(said, fmt.Sprint(strings.ReplaceAll(out+errs, host, "HOST"), status))
				}
				if diff := cmp.Diff(said[0], said[1]); diff != "" || !strings.Contains(said[1], want) {
					t.Errorf("%q: %s:%s: %s, want %q (-C +ours):\n%s\n%s", access, c.user, c.group, tool, want, diff, said[1])
				}
			}
		}
	}
}
