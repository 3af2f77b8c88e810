package pcptool

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// pmval is a command with the options of pmval that the tests use, in the order of its usage
// message.
func pmval() *Command {
	var digits, width int
	c := &Command{Name: "pmval", Synopsis: "[options] metricname", ZoneNote: true, OperandSource: true, HighRes: true}
	c.AddOptions("General options", c.Standard("align", "archive", "debug", "guimode", "host", "namespace", "origin", "guiport",
		"start", "samples", "finish", "interval", "timezone", "hostzone", "version", "help", "spec-local", "local-PMDA",
		"container", "derived")...)
	c.AddOptions("Reporting options",
		tool.Option{Short: 'd', Long: "delay", Help: "delay, pause between updates for archive replay"},
		tool.Option{Short: 'f', Long: "precision", Arg: "N", Help: "fixed output format with N digits precision", Set: tool.Number(&digits, 0, "-f requires +ve numeric argument")},
		tool.Option{Short: 'i', Long: "instances", Arg: "INST", Help: "comma-separated metrics instance list"},
		tool.Option{Short: 'r', Long: "raw", Help: "output raw counter values (no rate conversion)"},
		tool.Option{Short: 'U', Long: "nointerp", Arg: "FILE", Help: "non-interpolated fetching; ignores interval"},
		tool.Option{Short: 'v', Long: "verbose", Help: "increase diagnostic output"},
		tool.Option{Short: 'w', Long: "width", Arg: "N", Help: "set the width of each column of output", Set: tool.Number(&width, 1, "-w requires +ve numeric argument")},
		tool.Option{Short: 'x', Long: "filter", Arg: "VALUE", Help: "store to the metric before fetching (filter)"},
		tool.Option{Short: 'X', Long: "timestamp", Help: "include date and microseconds in reported timestamps"})
	return c
}

// pminfo is a command like pmval, without the fields of a Command that only pmval sets.
func pminfo() *Command {
	c := &Command{Name: "pminfo", Synopsis: "[options] [metricname | pmid | indom]..."}
	c.AddOptions("General options", c.Standard("archive", "debug", "host", "container", "local-PMDA", "spec-local", "namespace",
		"uniqnames", "origin", "timezone", "hostzone", "version", "help")...)
	c.AddOptions("Protocol options",
		tool.Option{Short: 'b', Long: "batch", Arg: "N", Help: "fetch N metrics at a time for -f and -v [128]"},
		tool.Option{Short: 'd', Long: "desc", Help: "get and print metric description"},
		tool.Option{Short: 'f', Long: "fetch", Help: "fetch and print values for all instances"},
		tool.Option{Short: 'F', Long: "fetchall", Help: "fetch and print values for non-enumerable indoms"},
		tool.Option{Short: 'I', Long: "fullindom", Help: "print InDom in verbose format"},
		tool.Option{Short: 'l', Long: "labels", Help: "print InDom, metric and instance labels"},
		tool.Option{Short: 'm', Long: "pmid", Help: "print PMID"},
		tool.Option{Short: 'M', Long: "fullpmid", Help: "print PMID in verbose format"},
		tool.Option{Short: 's', Long: "series", Help: "print source, metric, instance series identifiers"},
		tool.Option{Short: 't', Long: "oneline", Help: "get and display (terse) oneline text"},
		tool.Option{Short: 'T', Long: "helptext", Help: "get and display (verbose) help text"})
	derived := c.Standard("derived")[0]
	derived.Short, derived.Help = 'c', "load derived metric definitions from FILE(s)"
	c.AddOptions("Metrics options", derived,
		tool.Option{Short: 'x', Long: "events", Help: "unpack and report on any fetched event records"},
		tool.Option{Short: 'v', Long: "verify", Help: "verify mode, be quiet and only report errors"})
	return c
}

// parse parses a command line in an environment of NAME=VALUE. It returns what the tool prints and
// its exit status, -1 if it goes on.
func parse(c *Command, env, args []string) (message string, status int) {
	var stderr strings.Builder
	c.Stderr = &stderr
	operands, err := c.parse(args, env)
	if err == nil && c.OperandSource && len(operands) == 1 {
		_, err = c.MetricSpec(operands[0])
	}
	if err == nil {
		return stderr.String(), -1
	}
	exit, ok := errors.AsType[*ExitError](err)
	if !ok {
		return err.Error(), -2
	}
	return stderr.String() + exit.Message, exit.Status
}

// errorLines are command lines that make a tool stop: words NAME=VALUE, the tool and its arguments.
// "$" stands for a host.
const errorLines = `
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
pmval -A 3 x
pmval -S 3 -T 5 x
pmval -z -S 3 x
pmval -L -O 3 x
pmval -L -A 3 -S 3 x
PCP_ALIGN_TIME=3 pmval x
PCP_START_TIME=3 pmval -T 3 x
pmval -n /nosuch -h $ x
pmval -n /nosuch -y -n /nosuch2 x
pmval -n= x
pmval --namespace= x
pmval --n=1 x
pmval --in
pmval --g
PCP_SAMPLES=foo pmval -h $ x
PCP_SAMPLES=foo PCP_INTERVAL=bar pmval -s bar x
PCP_INTERVAL=bar PCP_SAMPLES=foo pmval -h $ x
PCP_UNIQNAMES=/nosuch PCP_NAMESPACE=/nosuch2 pmval -h $ x
PCP_NAMESPACE=/nosuch2 PCP_UNIQNAMES=/nosuch pmval -h $ x
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
PCP_FOLIO=/nosuch pmval x
PCP_ARCHIVE_LIST=x pmval -h $ x
PCP_ARCHIVE=x PCP_HOST_LIST=a pmval x
PCP_HOST_LIST=a pmval -h b x
pminfo -?
pminfo -z x
pminfo -z -? -y
pminfo -z -Z UTC -n /nosuch
pminfo -Z UTC -z -n /nosuch
pminfo -Z UTC -z
pminfo -y -V
PCP_DEBUG=, pminfo x
pminfo -D , x
pminfo -V -V
pminfo -N /nosuch -n /nosuch2
pminfo -O 3 -h $ x
pminfo --ho=x
PCP_HOSTZONE=x pminfo x
PCP_INTERVAL=foo pminfo x
PCP_HOST= pminfo -h x x
PCP_GUIMODE= PCP_GUIPORT=3 pminfo x
`

func TestInteropErrors(t *testing.T) {
	pcptest.Need(t, "pmval", "pminfo")
	for line := range strings.Lines(strings.TrimSpace(errorLines)) {
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
		got, status := parse(c, env, words[1:])
		if diff := cmp.Diff(fmt.Sprintf("%s\nstatus %d", want, wantStatus), fmt.Sprintf("%s\nstatus %d", got, status)); diff != "" {
			t.Errorf("%s (-C +ours):\n%s", line, diff)
		}
	}
}

func TestUnsupported(t *testing.T) {
	tests := []struct {
		tool func() *Command
		env  []string
		args string
		want string // what is not supported; empty if the tool goes on
	}{
		{tool: pmval, args: "-a x m"},
		{tool: pmval, args: "-O 3 -S 3 m"},
		{tool: pmval, args: "-a x -S 3 -A 2 m"},
		{tool: pmval, args: "-O 3 -z m"},
		{tool: pmval, args: "-L m", want: "local contexts"},
		{tool: pmval, args: "-h a -K clear m", want: "local contexts"},
		{tool: pmval, args: "--container=x m"},
		{tool: pmval, args: "-g -L m", want: "time controls"},
		{tool: pmval, args: "m", env: []string{"PCP_ARCHIVE=x"}},
		{tool: pmval, args: "m", env: []string{"PCP_ARCHIVE_LIST=x"}},
		{tool: pmval, args: "m", env: []string{"PCP_LOCALMODE="}, want: "local contexts"},
		{tool: pmval, args: "-z m"},
		{tool: pminfo, env: []string{"PCP_GUIMODE="}},
	}
	for _, tt := range tests {
		c := tt.tool()
		got, status := parse(c, tt.env, strings.Fields(tt.args))
		want, wantStatus := "", -1
		if tt.want != "" {
			want, wantStatus = c.Name+": "+tt.want+" are not supported by this version\n", 1
		}
		if got != want || status != wantStatus {
			t.Errorf("%s %s %s: got %q and status %d, want %q and %d", tt.env, c.Name, tt.args, got, status, want, wantStatus)
		}
	}
	for _, args := range []string{"-L", "-g"} {
		if _, err := pmval().Parse(strings.Fields(args)); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v is not errors.ErrUnsupported", args, err)
		}
	}
}

func TestStandardPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a name that is not a standard option's does not panic")
		}
	}()
	new(Command).Standard("nosuch")
}
