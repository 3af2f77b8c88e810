package pcptool_test

import (
	"bytes"
	"context"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/examples/internal/pcptool/timecontrol"
)

// TestTimeControl has a server step a tool through an archive.
func TestTimeControl(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- (&timecontrol.Server{Source: timecontrol.SourceArchive, Clients: 1}).Serve(ctx, ln)
	}()
	defer func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	c := &pcptool.Command{Name: "pmx", TimeControlled: true}
	c.AddOptions("Options", c.Standard("archive", "guiport", "guimode", "start", "interval")...)
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	if _, err := c.Parse([]string{"-a", "../../../archive/testdata/v3", "-p", port, "-S", "0.25sec"}); err != nil {
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
	if !c.UsesTimeControl() {
		t.Fatal("UsesTimeControl is false with -p")
	}
	control, err := c.TimeControl(t.Context(), pc, time.Second/2)
	if err != nil {
		t.Fatal(err)
	}
	defer control.Conn.Close()
	for n := range 2 {
		if err := control.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, position, step := pc.Mode()
		if want := c.Begin.Truncate(time.Microsecond); !position.Equal(want) || step != time.Second/2 {
			t.Errorf("step %d at %v, interval %v, want %v", n, position, step, want)
		}
		if err := control.Done(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTimeControlErrors(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := ln.Addr().(*net.TCPAddr).Port
	ln.Close()
	t.Setenv("PATH", t.TempDir())
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-g"}, "execvp: No such file or directory\npmx: pmTimeConnect: No such file or directory\n"},
		{[]string{"-p", strconv.Itoa(free)}, "pmx: pmTimeConnect: Interrupted system call\n"},
		{[]string{"-p", "99999"}, "pmx: pmTimeConnect: Interrupted system call\n"},
		{[]string{"-p", "12x"}, ""}, // is ignored
		{[]string{"-p", "0"}, ""},
		{[]string{"-p", "-3"}, ""},
		{[]string{"-g", "-p", "3"}, "pmx: at most one of -g and -p allowed\nUsage: pmx \n\nOptions:\n  -a FILE, --archive=FILE\n" +
			"                        metrics source is a PCP log archive\n  -p N, --guiport=N     port for connection to existing time control\n" +
			"  -g, --guimode         start in GUI mode with new time control\n"},
	} {
		var out bytes.Buffer
		c := &pcptool.Command{Name: "pmx", TimeControlled: true, Stderr: &out}
		c.AddOptions("Options", c.Standard("archive", "guiport", "guimode")...)
		if _, err := c.Parse(append(tt.args, "-a", "../../../archive/testdata/v3")); err != nil {
			c.Report(err)
		} else if c.UsesTimeControl() {
			pc, err := c.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, err = c.TimeControl(t.Context(), pc, time.Second)
			c.Report(err)
			pc.Close()
		}
		if got := out.String(); got != tt.want {
			t.Errorf("%q:\n%s\nwant\n%s", tt.args, got, tt.want)
		}
	}
}
