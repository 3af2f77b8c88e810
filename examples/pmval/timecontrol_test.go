package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/examples/internal/timeserver"
	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestInteropTimeControl has the same server step PCP's pmval and ours, and compares what they
// print and what they send.
func TestInteropTimeControl(t *testing.T) {
	const archives = "/var/lib/pcp/testsuite/archives/"
	pcptest.Need(t, "pmval", archives)
	ours := pcptest.Build(t, "./examples/pmval")
	for _, tt := range []struct{ name, args, commands string }{
		{"rates", "sample.seconds", "step 0,step 1,step 2,step 3,back 2,back 1,step 3,step 4,stop,step 5,step 6,zone,step 7,step 8,step 9,step 10,play,step 4,step 5"},
		{"end", "sample.seconds", "step 7,step 8,step 9,step 10,step 4,step 5"},
		{"first interval", "sample.bin -i bin-100", "step 1 2,step 3 2,step 5 2"},
		{"back first", "sample.colour", "back 2,step 1,step 2"},
		{"drag", "sample.colour -r", "drag,step 1,step 2 3,set,step 1 3,step 1"},
		{"window", "sample.bin -i bin-100 -S 1s -T 3s -s 2 -t 2", "step 0,step 2,step 4,step 6"},
		{"zone", "sample.drift -X", "step 1,zone,step 2"},
		{"recorded", "-U " + archives + "ok-foo sample.bin", "step 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := func(program string) (r result, log []string) {
				server := timeserver.New(t)
				done := make(chan error, 1)
				go func() {
					var err error
					log, err = server.Serve(tt.commands)
					done <- err
				}()
				args := append(strings.Fields(tt.args), "-p", server.Port, "-a", archives+"ok-foo")
				if strings.Contains(tt.args, "-U") {
					args = args[:len(args)-2]
				}
				r = runProgram(t, program, args...)
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				return r, log
			}
			want, wantLog := run("pmval")
			got, gotLog := run(ours)
			if diff := cmp.Diff(want, got); diff != "" || want.Stdout == "" {
				t.Errorf("(-PCP +ours):\n%s", diff)
			}
			if diff := cmp.Diff(wantLog, gotLog); diff != "" || len(gotLog) < 3 && tt.name != "recorded" {
				t.Errorf("messages (-PCP +ours):\n%s", diff)
			}
		})
	}
}

// TestInteropNoTimeControl compares what both print without a server that could be used.
func TestInteropNoTimeControl(t *testing.T) {
	const archive = "/var/lib/pcp/testsuite/archives/ok-foo"
	pcptest.Need(t, "pmval", archive+".0")
	ours := pcptest.Build(t, "./examples/pmval")
	pmval := pcptest.Tool(t, "pmval")
	server := timeserver.New(t)
	server.Close()
	env := []string{"PATH=" + filepath.Join(t.TempDir(), "none")}
	for _, args := range []string{"-g", "-g -z", "-p " + server.Port, "-p 99999", "-p 0 -s 2", "-p x -s 2", "-g -p 1", "-g -d", "-p 1 -d"} {
		run := func(program string) (r pcptest.Output) {
			r.Stdout, r.Stderr, r.Status = pcptest.Run(t, env, "", append([]string{program, "-a", archive, "sample.bin"}, strings.Fields(args)...)...)
			return r
		}
		if diff := cmp.Diff(run(pmval), run(ours)); diff != "" {
			t.Errorf("pmval %s (-PCP +ours):\n%s", args, diff)
		}
	}
}
