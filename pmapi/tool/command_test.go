package tool_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

func newCommand(stderr *strings.Builder) *tool.Command {
	c := &tool.Command{Name: "pmx", Synopsis: "[options]", Stderr: stderr}
	c.AddOptions("General options", c.Standard("align", "archive", "finish", "help", "host", "hostzone", "interval", "origin",
		"samples", "start", "timezone", "version")...)
	return c
}

func TestCommandWindow(t *testing.T) {
	for _, tt := range []struct {
		args string
		want string // start after the label, end before that of the archive, origin after the start; the zone
	}{
		{"", "0s 0s 0s Local"},
		{"-z -S 0.25sec -T -0.25sec -O 0.125sec", "250ms 250ms 125ms UTC"},
		{"-Z EST5EDT -T -0.5sec", "0s 500ms 0s EST5EDT"},
		{"-A 1day", "0s 0s 0s Local"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			var stderr strings.Builder
			c := newCommand(&stderr)
			if _, err := c.Parse(append(strings.Fields(tt.args), "-a", "../../archive/testdata/v3")); err != nil {
				t.Fatal(err)
			}
			pc, err := c.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer pc.Close()
			w, err := c.Window(t.Context(), pc)
			if err != nil {
				t.Fatal(err)
			}
			label, err := pc.ArchiveLabel()
			if err != nil {
				t.Fatal(err)
			}
			end, err := pc.ArchiveEnd(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(w.Start.Sub(label.Start), end.Sub(w.End), w.Origin.Sub(w.Start), c.Times.Location); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestCommandReport(t *testing.T) {
	for _, tt := range []struct {
		args, want string
		status     int
	}{
		{"-s 2 x", "", 0},
		{"-s 0", "pmx: -s requires a positive numeric argument\nUsage", 1},
		{"-t 5parsec", `pmx: -t: bad interval "5parsec": unexpected value at "parsec"` + "\nUsage", 1},
		{"-a x -h y", "pmx: only one host or archive allowed\nUsage", 1},
		{"--help", "Usage: pmx [options]\n", 1},
		{"--version", "pmx: github.com/pcp-go/pcp ", 0},
	} {
		var stderr strings.Builder
		c := newCommand(&stderr)
		_, err := c.Parse(strings.Fields(tt.args))
		status := c.Report(err)
		if !strings.HasPrefix(stderr.String(), tt.want) || tt.want == "" && stderr.Len() > 0 || status != tt.status {
			t.Errorf("%s: status %d, %s", tt.args, status, stderr.String())
		}
	}
}

func TestCommandReportOthers(t *testing.T) {
	var stderr strings.Builder
	c := &tool.Command{Name: "pmx", Stderr: &stderr}
	if status := c.Report(errors.New("a\x1bb")); status != 1 {
		t.Errorf("status %d", status)
	}
	c.Report(fmt.Errorf("no metric: %w", tool.ErrUsage))
	want := "pmx: a\\x1bb\npmx: no metric: usage\nUsage: pmx \n"
	if diff := cmp.Diff(want, stderr.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := c.Open(t.Context()); err == nil {
		t.Skip("a collector runs here")
	} else if _, ok := errors.AsType[*pmapi.OpError](err); !ok {
		t.Errorf("Open: %v", err)
	}
}
