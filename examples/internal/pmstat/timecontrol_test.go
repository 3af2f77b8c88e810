package pmstat

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/examples/internal/scripted"
	"github.com/pcp-go/pcp/examples/internal/timeserver"
	"github.com/pcp-go/pcp/internal/pcptest"
)

const controlledArchive = "testdata/archive/host" // of ten seconds, with a gap

// runControlled runs a program, on the archive if not with -h, with a server that does commands. It
// returns what the program has sent too.
func runControlled(t *testing.T, program, args, commands string) (r pcptest.Output, log []string) {
	t.Helper()
	server := timeserver.New(t)
	done := make(chan error, 1)
	go func() {
		var err error
		log, err = server.Serve(commands)
		done <- err
	}()
	if !strings.Contains(args, "-h ") {
		args = "-a " + controlledArchive + " " + args
	}
	words := append([]string{program, "-p", server.Port, "-t", "1"}, strings.Fields(args)...)
	r.Stdout, r.Stderr, r.Status = pcptest.Run(t, nil, "", words...)
	server.Close() // for a program that has not connected
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return r, log
}

// TestTimeControl compares what is printed with what has been compared with PCP's pmstat.
func TestTimeControl(t *testing.T) {
	const header = ` loadavg                      memory      swap        io    system         cpu
   1 min   swpd   free   buff  cache   pi   po   bi   bo   in   cs  us  sy  id
`
	const commands = "step 1,step 2,back 0,step 1,step 2,zone,step 3,step 4,stop,step 9,step 10,step 11,step 12,step 13"
	const want = `@ Mon Nov 23 05:12:05 2026
    7.81      0 18815m  40892  3394m    0    0    0    0 9038  54K  66  34   0
    7.81      0 18604m  40892  3566m    0    0    0    0 6716 156K  71  29   0

[Time Control] Rewind/Reverse ...

[Time Control] Repositioned in archive ...
@ Mon Nov 23 05:12:07 2026
    7.81      0 18815m  40892  3394m    ?    ?    ?    ?    ?    ?   ?   ?   ?
new timezone: CET-1 (here)
@ Mon Nov 23 06:12:06 2026
    7.81      0 18604m  40892  3566m    0    0    0    0 6716 156K  71  29   0

[Time Control] Resume ...
@ Mon Nov 23 06:12:07 2026
    7.58      0 18719m  39780  3226m    0    0   95 6222 6175  89K  70  30   0
    7.70      0 18717m  39780  3229m    0    0   16 2507 4495  75K  78  22   0
    7.70      0 18715m  39780  3211m    0    0    3    0 5328 144K  67  33   0

[Time Control] End of Archive ...
`
	got, log := runControlled(t, pcptest.Build(t, "./examples/pmstat"), "", commands)
	if diff := cmp.Diff(want, strings.ReplaceAll(got.Stdout, header, "")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := "\npmstat: Time Control dialog exited, goodbye.\n"; got.Stderr != want || got.Status != 1 {
		t.Errorf("exit status %d, %q; want 1, %q", got.Status, got.Stderr, want)
	}
	if acks := 12; len(log) != 2+acks {
		t.Errorf("%d messages sent:\n%s", len(log), strings.Join(log, "\n"))
	}
}

// rowsBack matches rows without the use of processors, which samples before the last one have.
// PCP's pmstat prints 0 for counters that have the same value then, as if a nanosecond had passed.
// Ours has no rate when time goes back.
var rowsBack = regexp.MustCompile(`(?m)^((?: +\S+){5})(?: +[0-9?KM]+){6}((?: +\?){3,5})$`)

// TestInteropTimeControl has the same server step PCP's pmstat and ours, and compares what they
// print and what they send.
func TestInteropTimeControl(t *testing.T) {
	pcptest.Need(t, "pmstat")
	ours := pcptest.Build(t, "./examples/pmstat")
	for _, tt := range []struct{ name, args, commands string }{
		{"forward", "", "step 0,step 1,step 2,step 3"},
		{"later", "", "step 2,step 3,step 4"},
		{"first interval", "", "step 1 2,step 3 2,step 5 2"},
		{"back and on", "", "step 1,step 2,step 3,back 2,back 1,step 2,step 3,stop,step 4,step 5,play,step 1,step 2"},
		{"back first", "", "back 2,step 1,step 2,step 3"},
		{"stop first", "", "stop,step 0,step 1,step 2"},
		{"drag", "", "step 0,drag,drag,play,step 3,step 4,step 5"},
		{"interval", "", "step 1,step 2 2,step 3,play,step 4 2,step 6 2,step 8 2"},
		{"end", "", "step 7,step 8,step 9,step 10,step 11,step 12,step 13,step 4,step 5"},
		{"headers", "", "step 0,step 1,step 2,stop,step 3" + strings.Repeat(",step 3,play,step 4,step 5,play,step 2", 6)},
		{"samples", "-s 3", "step 0,stop,step 1,step 2,step 3,step 4"},
		{"samples beyond the end", "-s 3", "step 20,step 21,step 22,step 23,step 24"},
		{"window", "-S 1 -T 6 -O 1 -A 2 -z", "step 0,step 1,step 2,step 3"},
		{"zone of -Z", "-Z GMT", "step 0,step 1,step 2"},
		{"pause", "-P -t 1hour", "step 0,step 1,step 2"},
		{"archives", "-l -a ./" + controlledArchive, "step 0,step 1,step 2,stop,step 4,step 5"},
		{"no server", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want, wantLog := runControlled(t, "pmstat", tt.args, tt.commands)
			got, gotLog := runControlled(t, ours, tt.args, tt.commands)
			want.Stdout = rowsBack.ReplaceAllString(want.Stdout, "$1 ? ? ? ? ? ?$2")
			got.Stdout = rowsBack.ReplaceAllString(got.Stdout, "$1 ? ? ? ? ? ?$2")
			if diff := cmp.Diff(want, got); diff != "" || want.Stdout == "" {
				t.Errorf("(-PCP +ours):\n%s", diff)
			}
			if diff := cmp.Diff(wantLog, gotLog); diff != "" || len(gotLog) < 2 {
				t.Errorf("messages (-PCP +ours):\n%s", diff)
			}
		})
	}
}

// TestInteropTimeControlZone compares what both print in zones. What they send may differ: after a
// message with a zone PCP's pmstat uses memory that it has freed, and may acknowledge the next step
// with the position of the one before.
func TestInteropTimeControlZone(t *testing.T) {
	pcptest.Need(t, "pmstat")
	const commands = "step 0,step 1,zone,step 2,step 3,step 4"
	want, _ := runControlled(t, "pmstat", "", commands)
	got, log := runControlled(t, pcptest.Build(t, "./examples/pmstat"), "", commands)
	if diff := cmp.Diff(want, got); diff != "" || !strings.Contains(want.Stdout, "new timezone: CET-1 (here)\n@ ") {
		t.Errorf("(-PCP +ours):\n%s", diff)
	}
	if steps := 5; len(log) != 2+steps {
		t.Errorf("%d messages sent:\n%s", len(log), strings.Join(log, "\n"))
	}
}

// TestInteropTimeControlLive compares what both print of collectors.
func TestInteropTimeControlLive(t *testing.T) {
	pcptest.Need(t, "pmstat")
	ours := pcptest.Build(t, "./examples/pmstat")
	for _, tt := range []struct {
		name     string
		change   change
		commands string
	}{
		{"steps", func(*scripted.Collector) {}, "step 0,step 1,step 2,stop,step 3,step 4,play,step 5 2,step 6 2,drag,step 7 2,step 8 2"},
		{"back", func(*scripted.Collector) {}, "step 0,back 1,back 0,step 2,step 3"},
		{"connections lost", loseConnections, "step 0,step 1,step 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := func(program string) pcptest.Output {
				collector := newCollector()
				tt.change(&collector)
				r, _ := runControlled(t, program, "-h "+collector.Serve(t), tt.commands)
				return r
			}
			want, got := run("pmstat"), run(ours)
			want.Stdout = rowsBack.ReplaceAllString(want.Stdout, "$1 ? ? ? ? ? ?$2")
			got.Stdout = rowsBack.ReplaceAllString(got.Stdout, "$1 ? ? ? ? ? ?$2")
			if diff := cmp.Diff(want, got); diff != "" || want.Stdout == "" {
				t.Errorf("(-PCP +ours):\n%s", diff)
			}
		})
	}
}

// TestInteropNoTimeControl compares what both print without a server that could be used.
func TestInteropNoTimeControl(t *testing.T) {
	pcptest.Need(t, "pmstat")
	ours := pcptest.Build(t, "./examples/pmstat")
	pmstat := pcptest.Tool(t, "pmstat")
	server := timeserver.New(t)
	server.Close()
	env := []string{"PATH=" + filepath.Join(t.TempDir(), "none")}
	for _, args := range []string{"-g", "-g -z", "-g -P", "-p " + server.Port, "-p 99999", "-p 0 -s 2", "-p x -s 2", "-g -p 1", "-p 1 -P", "-g x", "-g -h localhost", "-g -a nosuch"} {
		run := func(program string) (r pcptest.Output) {
			words := append([]string{program, "-t", "1", "-a", controlledArchive}, strings.Fields(args)...)
			r.Stdout, r.Stderr, r.Status = pcptest.Run(t, env, "", words...)
			return r
		}
		if diff := cmp.Diff(run(pmstat), run(ours)); diff != "" {
			t.Errorf("pmstat %s (-PCP +ours):\n%s", args, diff)
		}
	}
}
