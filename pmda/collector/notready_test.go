//go:build unix

package collector

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmns"
)

const pausingNames = "root {\n\tpausing\n}\npausing {\n\tvalue\t30:0:0\n}\n"

// pauses checks what a client sees while the agent is not ready.
func pauses(t *testing.T, dir string, c *pmapi.Context) {
	t.Helper()
	ids, err := c.Lookup(t.Context(), []string{"pausing.value", "pmcd.agent.status"})
	if err != nil {
		t.Fatal(err)
	}
	// fetched returns the value or its error, and pmcd's status of the agent.
	fetched := func() string {
		var r pdu.Result
		if err := c.Fetch(t.Context(), ids, &r); err != nil {
			t.Fatal(err)
		}
		s := ""
		if err := r.At(0).Err(); err != nil {
			s = err.Error()
		} else {
			v, err := pdu.As[int32](r.At(0).Atom(0, pdu.Type32))
			s = fmt.Sprint(v, err)
		}
		status := int32(-1)
		for id, v := range r.At(1).All(pdu.Type32) {
			if id == programDomain {
				status, _ = pdu.As[int32](v)
			}
		}
		return fmt.Sprint(s, ", status ", status)
	}
	again := fmt.Sprint(pdu.ErrAgain, ", status 1")
	wantPause := func() {
		t.Helper()
		// pmcd may learn only from the first reply that the agent is not ready.
		if fetched(); fetched() != again {
			t.Errorf("fetched %s, want %s", fetched(), again)
		}
		if _, err := c.Desc(t.Context(), ids[0]); !errors.Is(err, pdu.ErrAgain) {
			t.Errorf("Desc: %v", err)
		}
		if err := c.Store(t.Context(), "pausing.value", 1); !errors.Is(err, pdu.ErrAgain) {
			t.Errorf("Store: %v", err)
		}
	}
	resume := func(file string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		pcptest.Retry(t, func() string {
			if got := fetched(); got != "7 <nil>, status 0" {
				return got
			}
			return ""
		})
	}
	wantPause()
	resume("begin")
	if err := c.Store(t.Context(), "pausing.value", 1); err != nil {
		t.Fatal(err)
	}
	wantPause()
	resume("resume")
	if _, err := c.Desc(t.Context(), ids[0]); err != nil {
		t.Error(err)
	}
}

// TestNotReady checks that clients of an agent that is not ready get pdu.ErrAgain, for an agent
// in this process and in another one.
func TestNotReady(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		add  func(s *Server, dir string) error
	}{
		{"in this process", func(s *Server, dir string) error { return s.Add(pausing(dir)) }},
		{"program", func(s *Server, dir string) error {
			line := programLine("pausing=" + dir)
			line.NotReady = true
			names, err := pmns.Parse("names", strings.NewReader(pausingNames))
			s.SetNames(names)
			return errors.Join(err, s.StartAgent(line))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			s := withTime(t, &Server{})
			if err := tt.add(s, dir); err != nil {
				t.Fatal(err)
			}
			c, err := pmapi.Local(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			pauses(t, dir, c)
		})
	}
}

// TestInteropNotReady runs the same checks under C pmcd.
func TestInteropNotReady(t *testing.T) {
	dir := pcptest.ShortDir(t)
	p := pcptest.StartPMCD(t, pcptest.Config{
		Shipped: []string{"pmcd"},
		PMNS:    pausingNames,
		Agents:  []string{fmt.Sprintf("pausing %d pipe binary notready /usr/bin/env %s=pausing=%s %s", programDomain, programEnv, dir, os.Args[0])},
	})
	c, err := pmapi.Dial(t.Context(), p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	pauses(t, dir, c)
}
