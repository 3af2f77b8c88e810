package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmapi/timecontrol"
)

// A timeServer is a time control server that sends what a test says.
type timeServer struct {
	net.Listener
	port string
}

func newTimeServer(t *testing.T) timeServer {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return timeServer{ln, port}
}

// serve serves one client, for which it does the commands: "step N [DELTA]" and "back N" are N seconds after the start,
// "stop", "play", "drag", "set" and "zone" the other messages. It returns what the client has sent.
func (s timeServer) serve(commands string) (log []string, err error) {
	nc, err := s.Accept()
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	receive := func() (m timecontrol.Message, err error) {
		b := make([]byte, 88)
		if _, err := io.ReadFull(nc, b); err != nil {
			return m, err
		}
		rest := make([]byte, binary.NativeEndian.Uint32(b[4:])-88)
		if _, err := io.ReadFull(nc, rest); err != nil {
			return m, err
		}
		err = m.Decode(append(b, rest...))
		m.State, m.Mode = 0, 0 // of a SET they are anything
		log = append(log, fmt.Sprint(m))
		return m, err
	}
	set, err := receive()
	if err != nil {
		return log, err
	}
	m := set
	m.Command = timecontrol.CommandAck
	position := set.Position
	for _, c := range append([]string{"ack "}, strings.Split(commands, ",")...) {
		var seconds, delta int
		n, _ := fmt.Sscanf(c, c[:4]+" %d %d", &seconds, &delta)
		switch c[:3] {
		case "ste", "bac":
			m = timecontrol.Message{Command: timecontrol.CommandStep, State: timecontrol.Forward, Source: set.Source, Delta: set.Delta,
				Position: set.Start.Add(time.Duration(seconds) * time.Second)}
			if c[0] == 'b' {
				m.State = timecontrol.Backward
			}
			if n == 2 {
				m.Delta = time.Duration(delta) * time.Second
			}
		case "sto":
			m = timecontrol.Message{Command: timecontrol.CommandMode, State: timecontrol.Stopped}
		case "pla":
			m = timecontrol.Message{Command: timecontrol.CommandMode, State: timecontrol.Forward}
		case "dra":
			m = timecontrol.Message{Command: timecontrol.CommandDrag}
		case "set":
			m = timecontrol.Message{Command: timecontrol.CommandSet}
		case "zon":
			m = timecontrol.Message{Command: timecontrol.CommandZone, Zone: "CET-1", Label: "here"}
		}
		if m.Position.IsZero() {
			m.Source, m.Delta, m.Position = set.Source, set.Delta, position
		}
		position = m.Position
		b, err := m.Append(nil)
		if err != nil {
			return log, err
		}
		if _, err := nc.Write(b); err != nil {
			return log, nil // the client has ended
		}
		if m.Command == timecontrol.CommandStep || m.Command == timecontrol.CommandAck {
			if _, err := receive(); errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
				return log, nil // PCP's pmval ends its connections so
			} else if err != nil {
				return log, err
			}
		}
	}
	return log, nil
}

// TestInteropTimeControl has the same server step PCP's pmval and ours, and compares what they print and what they send.
func TestInteropTimeControl(t *testing.T) {
	const archives = "/var/lib/pcp/testsuite/archives/"
	pcptest.Need(t, "pmval", archives)
	ours := pcptest.Build(t, "./examples/pmval")
	for _, tt := range []struct{ name, args, commands string }{
		{"rates", "sample.seconds", "step 0,step 1,step 2,step 3,back 2,back 1,step 3,step 4,stop,step 5,step 6,zone,step 7,step 8,step 9,step 10,play,step 4,step 5"},
		{"end", "sample.seconds", "step 7,step 8,step 9,step 10,step 4,step 5"},
		{"first interval", "sample.bin -i bin-100", "step 1 2,step 3 2,step 5 2"},
		{"back first", "sample.colour", "back 2,step 1,step 2"},
		{"drag", "sample.colour -r", "drag,step 1,step 2 3,set ,step 1 3,step 1"},
		{"window", "sample.bin -i bin-100 -S 1s -T 3s -s 2 -t 2", "step 0,step 2,step 4,step 6"},
		{"zone", "sample.drift -X", "step 1,zone,step 2"},
		{"recorded", "-U " + archives + "ok-foo sample.bin", "step 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := func(program string) (r result, log []string) {
				server := newTimeServer(t)
				done := make(chan error, 1)
				go func() {
					var err error
					log, err = server.serve(tt.commands)
					done <- err
				}()
				args := append(strings.Fields(tt.args), "-p", server.port, "-a", archives+"ok-foo")
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
	server := newTimeServer(t)
	server.Close()
	env := []string{"PATH=" + filepath.Join(t.TempDir(), "none")}
	for _, args := range []string{"-g", "-g -z", "-p " + server.port, "-p 99999", "-p 0 -s 2", "-p x -s 2", "-g -p 1", "-g -d", "-p 1 -d"} {
		run := func(program string) (r pcptest.Output) {
			r.Stdout, r.Stderr, r.Status = pcptest.Run(t, env, "", append([]string{program, "-a", archive, "sample.bin"}, strings.Fields(args)...)...)
			return r
		}
		if diff := cmp.Diff(run(pmval), run(ours)); diff != "" {
			t.Errorf("pmval %s (-PCP +ours):\n%s", args, diff)
		}
	}
}
