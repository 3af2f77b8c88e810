package main

import (
	"context"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/tracewire"
	"github.com/pcp-go/pcp/pdu"
)

// newProgram is a program that is not the whole process.
func newProgram(args ...string) (p *program, run func(ctx context.Context, stdin io.Reader) (status int, messages string)) {
	p = setUp()
	return p, func(ctx context.Context, stdin io.Reader) (int, string) {
		var errs strings.Builder
		status := p.daemon.Run(ctx, append([]string{"pmdatrace", "-l", "-"}, args...), stdin, io.Discard, &errs)
		return status, errs.String()
	}
}

func TestBadOptions(t *testing.T) {
	for args, want := range map[string]string{
		"-A all":                         `access rule "all": want allow:HOST:MAX or disallow:HOST`,
		"-N 0":                           `-N requires a positive number, not "0"`,
		"-N x":                           `-N requires a positive number`,
		"-N 1001":                        "1001 buckets: out of range",
		"-T -1":                          "-1",
		"-T 0.5":                         "period 500ms out of range",
		"-U 1,2,3":                       `-U requires six numbers separated by commas, not "1,2,3"`,
		"-V 1,2,3,4,5,x":                 `-V: "x" is no dimension or scale`,
		"-U 8,0,0,0,0,0":                 "a number of \"8,0,0,0,0,0\" is out of range",
		"-D nosuch":                      "unrecognized debug options specification (nosuch)",
		"-d 511":                         "out of range",
		"-I no-such-service":             "port for applications: ",
		"-I 0 --address no.host.invalid": "port for applications: ",
	} {
		_, run := newProgram(strings.Fields(args)...)
		if status, messages := run(t.Context(), strings.NewReader("")); status != 1 || !strings.Contains(messages, want) {
			t.Errorf("%s: status %d, messages %s, want %s", args, status, messages, want)
		}
	}
}

func TestOptions(t *testing.T) {
	p, run := newProgram("-d", "400", "-T", "1 min", "-N", "12", "-U", "1,-1,0,1,3,0", "-V", "0,0,1,0,0,-3", "-D", "appl0,pdu", "-D", "4096",
		"-A", "disallow:10.*", "-M", "nobody", "-I", "0", "--address", "127.0.0.1")
	if status, messages := run(t.Context(), strings.NewReader("")); status != 0 {
		t.Fatalf("status %d\n%s", status, messages)
	}
	o := p.options
	if o.Domain != 400 || o.Period != time.Minute || o.Buckets != 12 || p.daemon.User != "nobody" || len(o.Access.Hosts) != 1 {
		t.Errorf("%+v, user %s", o, p.daemon.User)
	}
	if got := o.ObserveUnits; got != pdu.SpaceKByte|pdu.PerSec {
		t.Errorf("-U: %v", got)
	}
	if got := o.CounterUnits.String(); got != "count x 10^-3" {
		t.Errorf("-V: %v", got)
	}
}

// The program listens where the environment says, until its collector has gone.
func TestListens(t *testing.T) {
	free, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(pcptest.FreePort(t))))
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	t.Setenv("PCP_TRACE_PORT", port)
	_, run := newProgram("--address", "127.0.0.1")
	if status, messages := run(t.Context(), strings.NewReader("")); status != 1 || !strings.Contains(messages, "port for applications: ") {
		t.Errorf("the port is in use: status %d, %s", status, messages)
	}
	free.Close()
	_, run = newProgram("--address", "127.0.0.1")
	stdin, collector := io.Pipe()
	status := make(chan int)
	go func() {
		s, _ := run(context.Background(), stdin)
		status <- s
	}()
	conn := dial(t, free.Addr().String())
	defer conn.Close()
	if ack, err := tracewire.NewDecoder(conn).Ack(); err != nil || ack.Code != tracewire.Version {
		t.Errorf("%+v, %v", ack, err)
	}
	collector.Close()
	if s := <-status; s != 0 {
		t.Errorf("status %d", s)
	}
	if conn, err := net.Dial("tcp", free.Addr().String()); err == nil {
		conn.Close()
		t.Error("it listens still")
	}
}

// TestBadPeriod checks that the error of -T shows where the interval is wrong, as PCP's agent does.
func TestBadPeriod(t *testing.T) {
	_, run := newProgram("-T", "5 bad")
	status, messages := run(t.Context(), strings.NewReader(""))
	if want := "-T requires a time interval: 5 bad\n  ^ -- unexpected value\n"; status != 1 || !strings.Contains(messages, want) {
		t.Errorf("status %d, %q, want %q", status, messages, want)
	}
}

// dial connects to addr. It waits up to 30 seconds for a listener.
func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			return conn
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
