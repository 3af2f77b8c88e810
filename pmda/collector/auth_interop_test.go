package collector_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
)

// TestInteropLogin checks that PCP's tools log in to the collector. If they cannot, they print
// the same messages as with C pmcd.
func TestInteropLogin(t *testing.T) {
	pcptest.Need(t, "pminfo", "pmstore", "pmval")
	open, openSocket := serveForTools(t, loginServer(&collector.Server{Logger: slog.New(slog.DiscardHandler)}))
	closed, closedSocket := serveForTools(t, loginServer(&collector.Server{CredsRequired: true, Logger: slog.New(slog.DiscardHandler)}))
	users, _ := serveForTools(t, loginServer(&collector.Server{Logger: slog.New(slog.DiscardHandler),
		Access: accountRules(t, "disallow user * : all; allow user root : all; allow user pcp : fetch; disallow user pcp : store;")}))
	const connect = "Cannot connect to PMCD on host"
	fetch := []string{"pminfo", "-f", "pmcd.simabi"}
	store := []string{"pmstore", "pmcd.seqnum", "1"}
	for _, test := range []struct {
		tool []string
		host string
		want string // a part of what the tool prints
		fail bool
	}{
		{fetch, open, "value", false},
		{fetch, open + "?user=root&pass=secret", "value", false},
		{[]string{"pmval", "-s", "1", "pmcd.pid"}, open + "?user=joe&pass=secret", "samples:", false},
		{store, open + "?user=root&pass=secret", "new value", false},
		{fetch, open + "?user=root&pass=bad", connect, true},
		{fetch, open + "?user=root&pass=bad", "Authentication - authentication failure", true},
		{fetch, open + "?user=bob&pass=bad", "Authentication - user not found", true},
		{fetch, open + "?method=digest-md5&user=root&pass=secret", "Authentication - no mechanism available", true},
		// The password would cross in the clear.
		{fetch, open + "?method=plain&user=root&pass=secret", "Authentication - no mechanism available", true},
		{fetch, open + "?user=root&pass=secret&container=web", "value", false},
		{fetch, openSocket + "?method=plain&user=root&pass=secret", "value", false},
		{fetch, openSocket + "?method=login&user=root&pass=secret", "value", false},
		{fetch, openSocket + "?user=root&pass=secret", "value", false},
		{fetch, openSocket + "?method=plain&user=root&pass=bad", "Error: pmcd.simabi: Authentication - authentication failure", true},
		{fetch, closed, "Authentication - invalid parameter supplied", true},
		{fetch, closed + "?user=pcp&pass=secret", "value", false},
		{fetch, closed + "?user=joe&pass=secret", "No permission to perform requested operation", true},
		{fetch, closedSocket, "value", false},
		{fetch, closedSocket + "?user=pcp&pass=unused&container=web", "value", false},
		{fetch, users, "Authentication - invalid parameter supplied", true},
		{fetch, users + "?user=pcp&pass=secret", "value", false},
		{store, users + "?user=pcp&pass=secret", "No permission to perform requested operation", true},
		{store, users + "?user=root&pass=secret", "new value", false},
		{fetch, users + "?user=daemon&pass=secret", "No permission to perform requested operation", true},
	} {
		argv := append([]string{test.tool[0], "-h", test.host}, test.tool[1:]...)
		out, stderr, _ := pcptest.Run(t, []string{"PCP_CONSOLE=none"}, "", argv...)
		if all := out + stderr; !strings.Contains(all, test.want) || test.fail == strings.Contains(all, "value") && !strings.Contains(all, "No permission") {
			t.Errorf("%q:\n%s%s", argv, out, stderr)
		}
	}
}

// TestInteropLoginAgent checks that a C agent gets the identity of each client, with one value
// per attribute.
func TestInteropLoginAgent(t *testing.T) {
	pcptest.Need(t, "pminfo")
	agent := newKnowingAgent()
	s := loginServer(&collector.Server{Logger: slog.New(slog.DiscardHandler)})
	collectortest.Add(t, s, agent)
	_, socket := serveForTools(t, s)
	for _, user := range []string{"pcp", "joe"} {
		agent.take()
		out, stderr, status := pcptest.Run(t, nil, "", "pminfo", "-h", socket+"?user="+user+"&pass=secret", "-f", "pmcd.simabi")
		told := agent.take()
		want := map[string]string{"pcp": `uid 999 gid 995 user "pcp"`, "joe": `uid -1 gid -1 user "joe"`}[user]
		if status != 0 || len(told) != 1 || !strings.HasPrefix(told[0], want) {
			t.Errorf("%s: told %q\n%s%s", user, told, out, stderr)
		}
	}
}
