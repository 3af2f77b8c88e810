package pcptool_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/pty"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// Hints are for people: a program that reads the messages gets those of PCP alone.
func TestHints(t *testing.T) {
	src := &pmapitest.Source{}
	defer src.Close()
	pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "kernel.all.load"}).Set(1)
	pc := src.Context()
	defer pc.Close()
	port := pcptest.FreePort(t)
	host := fmt.Sprintf("localhost:%d", port)
	refused := "pmtest: Cannot connect to PMCD on host \"" + host + "\": Connection refused\n"
	mistakes := func(c *pcptool.Command) {
		_, err := c.OpenSource(t.Context(), pmapi.SourceHost, host)
		c.Report(err)
		c.Report(pcptool.WithHint(c.Errorf("%w", pdu.ErrName), c.NameHint(t.Context(), pc, "kernel.all.laod", pdu.ErrName)))
		c.Hint(c.NameHint(t.Context(), pc, "kernel.all.laod", pdu.ErrTimeout))
	}
	var text bytes.Buffer
	mistakes(&pcptool.Command{Name: "pmtest", Stderr: &text})
	if want := refused + "pmtest: Unknown metric name\n"; text.String() != want {
		t.Errorf("for a program: %q, want %q", text.String(), want)
	}
	user, program := pty.Open(t)
	shown := pty.Watch(t, user)
	mistakes(&pcptool.Command{Name: "pmtest", Stderr: program})
	fmt.Fprint(program, "end")
	got := strings.ReplaceAll(shown.Await("end"), "\r\n", "\n")
	lines := strings.SplitAfter(strings.TrimPrefix(got, refused), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "hint: no program listens on ") || !strings.Contains(lines[0], fmt.Sprint(port)) ||
		strings.Join(lines[1:], "") != "pmtest: Unknown metric name\nhint: similar names: kernel.all.load\n" {
		t.Errorf("on a terminal: %q", got)
	}
}

// Archives that contradict each other are named, with the metric.
func TestContradictionHint(t *testing.T) {
	dir, start := t.TempDir(), time.Unix(1_700_000_000, 0)
	writeArchive(t, filepath.Join(dir, "a"), start, pdu.TypeU32)
	writeArchive(t, filepath.Join(dir, "b"), start.Add(time.Minute), pdu.Type32)
	user, program := pty.Open(t)
	shown := pty.Watch(t, user)
	c := &pcptool.Command{Name: "pmtest", Stderr: program}
	_, err := c.OpenSource(t.Context(), pmapi.SourceArchive, dir)
	c.Report(err)
	fmt.Fprint(program, "end")
	want := "hint: " + filepath.Join(dir, "b") + ": metric m.x (251.0.1): type was U32, is 32"
	if got := shown.Await("end"); !strings.Contains(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// An archive without values in the time window tells when it has some.
func TestWindowHint(t *testing.T) {
	for window, outside := range map[string]bool{"-S@2035-01-01": true, "-T@1980-01-01": true, "-S+1sec": false} {
		user, program := pty.Open(t)
		shown := pty.Watch(t, user)
		c := &pcptool.Command{Name: "pmtest", Stderr: program}
		c.AddOptions("General options", c.Standard("archive", "start", "finish")...)
		if _, err := c.Parse([]string{"-a", "../../../archive/testdata/v2", window}); err != nil {
			t.Fatal(err)
		}
		pc, err := c.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer pc.Close()
		if err := c.SetTimes(t.Context(), pc); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(program, "end")
		want := ""
		if outside {
			label, err := pc.ArchiveLabel()
			if err != nil {
				t.Fatal(err)
			}
			want = "hint: the archive has values from " + label.Start.In(c.Location).Format("2006-01-02 15:04:05") + " to "
		}
		if got := shown.Await("end"); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", window, got, want)
		}
	}
}
