package tool

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/internal/pcptest"
)

// pmval is a command with the options of pmval of which the test lines make use, at their places in its table.
func pmval() *Command {
	var digits, width int
	c := &Command{Name: "pmval", Synopsis: "[options] metricname", ZoneNote: true, LateHost: true, HighRes: true}
	c.Options = slices.Concat(
		Heading("General options"),
		c.Standard("align", "archive", "debug", "guimode", "host", "namespace", "origin", "guiport", "start", "samples", "finish",
			"interval", "timezone", "hostzone", "version", "help", "spec-local", "local-PMDA", "container", "derived"),
		Heading("Reporting options"),
		[]getopt.Option{
			{Short: 'd', Long: "delay", Help: "delay, pause between updates for archive replay"},
			{Short: 'f', Long: "precision", Arg: "N", Help: "fixed output format with N digits precision", Set: Number(&digits, 0, "-f requires +ve numeric argument")},
			{Short: 'i', Long: "instances", Arg: "INST", Help: "comma-separated metrics instance list"},
			{Short: 'r', Long: "raw", Help: "output raw counter values (no rate conversion)"},
			{Short: 'U', Long: "nointerp", Arg: "FILE", Help: "non-interpolated fetching; ignores interval"},
			{Short: 'v', Long: "verbose", Help: "increase diagnostic output"},
			{Short: 'w', Long: "width", Arg: "N", Help: "set the width of each column of output", Set: Number(&width, 1, "-w requires +ve numeric argument")},
			{Short: 'x', Long: "filter", Arg: "VALUE", Help: "store to the metric before fetching (filter)"},
			{Short: 'X', Long: "timestamp", Help: "include date and microseconds in reported timestamps"},
		})
	return c
}

// pminfo is one without the differences from the usual that pmval has.
func pminfo() *Command {
	c := &Command{Name: "pminfo", Synopsis: "[options] [metricname | pmid | indom]..."}
	c.Options = slices.Concat(
		Heading("General options"),
		c.Standard("archive", "debug", "host", "container", "local-PMDA", "spec-local", "namespace", "uniqnames", "origin",
			"timezone", "hostzone", "version", "help"),
		Heading("Protocol options"),
		[]getopt.Option{
			{Short: 'b', Long: "batch", Arg: "N", Help: "fetch N metrics at a time for -f and -v [128]"},
			{Short: 'd', Long: "desc", Help: "get and print metric description"},
			{Short: 'f', Long: "fetch", Help: "fetch and print values for all instances"},
			{Short: 'F', Long: "fetchall", Help: "fetch and print values for non-enumerable indoms"},
			{Short: 'I', Long: "fullindom", Help: "print InDom in verbose format"},
			{Short: 'l', Long: "labels", Help: "print InDom, metric and instance labels"},
			{Short: 'm', Long: "pmid", Help: "print PMID"},
			{Short: 'M', Long: "fullpmid", Help: "print PMID in verbose format"},
			{Short: 's', Long: "series", Help: "print source, metric, instance series identifiers"},
			{Short: 't', Long: "oneline", Help: "get and display (terse) oneline text"},
			{Short: 'T', Long: "helptext", Help: "get and display (verbose) help text"},
		},
		Heading("Metrics options"),
		[]getopt.Option{
			{Short: 'c', Long: "derived", Arg: "FILE", Help: "load derived metric definitions from FILE(s)", Set: c.Derived},
			{Short: 'x', Long: "events", Help: "unpack and report on any fetched event records"},
			{Short: 'v', Long: "verify", Help: "verify mode, be quiet and only report errors"},
		})
	return c
}

// complaintLines are command lines that go no further than the options: words NAME=VALUE, the tool, its arguments.
const complaintLines = `
pmval -?
pmval --help x
pmval -y
pmval -h
pmval --host
pmval --hostz=3 x
pmval -V
pmval --version -y
pmval -V -s foo
pmval -h a -a b x
pmval -a b -h a x
pmval -h a -h b --host=c x
pmval -h $ -a a -h $ x
pmval -Z UTC -z x
pmval -z -Z UTC x
pmval -D foo x
pmval -D pdu,foo,fetch x
pmval --debug=Foo x
pmval -s foo x
pmval -s 3x x
pmval -s -1 x
pmval -s 2147483648 x
pmval -s 99999999999999999999 x
pmval -t foo x
pmval -t -1 x
pmval --interval= x
pmval --interval=1.5foo x
pmval -w 0 x
pmval -w foo -f -1 -w 0x10 x
pmval -g -p 3 x
pmval -p 3 -g x
pmval -S 3 -h $ x
pmval -A 3 -O 3 -h $ x
pmval -n /nosuch -h $ x
pmval -n /nosuch -y -n /nosuch2 x
pmval -n= x
pmval --namespace= x
pmval --n=1 x
pmval --in
pmval --g
PCP_SAMPLES=foo pmval -h $ x
PCP_SAMPLES=foo PCP_INTERVAL=bar pmval -s bar x
PCP_HOST=a pmval -h b x
PCP_HOST_LIST=a,b pmval x
PCP_HOST_LIST=a,b pmval -h a x
PCP_TIMEZONE=UTC pmval -z x
PCP_HOSTZONE= pmval -Z UTC x
PCP_ALIGN_TIME=3 pmval -h $ x
PCP_ORIGIN=3 pmval -h $ x
PCP_ORIGIN_TIME=3 pmval -h $ x
PCP_START_TIME=3 pmval -h $ x
PCP_NAMESPACE=/nosuch pmval x
PCP_UNIQNAMES=/nosuch pmval x
PCP_DEBUG=foo pmval x
PCP_GUIMODE= PCP_GUIPORT=3 pmval x
PCP_ARCHIVE=x pmval -h $ x
pminfo -?
pminfo -z x
pminfo -z -? -y
pminfo -z -Z UTC -n /nosuch
pminfo -Z UTC -z -n /nosuch
pminfo -Z UTC -z
pminfo -y -V
pminfo -V -V
pminfo -N /nosuch -n /nosuch2
pminfo -O 3 -h $ x
pminfo --ho=x
PCP_HOSTZONE=x pminfo x
PCP_INTERVAL=foo pminfo x
PCP_HOST= pminfo -h x x
PCP_GUIMODE= PCP_GUIPORT=3 pminfo x
`

func TestInteropComplaints(t *testing.T) {
	pcptest.Need(t, "pmval", "pminfo")
	for line := range strings.Lines(strings.TrimSpace(complaintLines)) {
		line = strings.TrimSpace(line)
		var env []string
		words := strings.Fields(strings.ReplaceAll(line, "$", "localhost:1"))
		for strings.Contains(words[0], "=") {
			env, words = append(env, words[0]), words[1:]
		}
		out, want, wantStatus := pcptest.Run(t, env, "", words...)
		if out != "" {
			t.Errorf("%s: C writes %q to standard output", line, out)
		}
		c := pmval()
		if words[0] == "pminfo" {
			c = pminfo()
		}
		getenv := func(name string) (string, bool) {
			i := slices.IndexFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
			if i < 0 {
				return "", false
			}
			return env[i][len(name)+1:], true
		}
		_, status := c.parse(words[1:], getenv)
		got := string(c.said)
		if diff := cmp.Diff(fmt.Sprintf("%s\nstatus %d", want, wantStatus), fmt.Sprintf("%s\nstatus %d", got, status)); diff != "" {
			t.Errorf("%s (-C +ours):\n%s", line, diff)
		}
	}
}
