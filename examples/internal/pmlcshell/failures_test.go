package pmlcshell_test

import (
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pcp-go/pcp/examples/internal/pcptool/pmlc"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

const greeting = "00000010 00007000 0000004d 00000003"

// failed is an ERROR with a code.
func failed(code pdu.Error) string {
	return fmt.Sprintf("00000010 00007000 00000000 %08x", uint32(code))
}

// values is a reply about metrics: words from the number of metrics on.
func values(words ...int32) string {
	s := fmt.Sprintf("%08x 00007001 00000000 00000000 00000000", 20+4*len(words))
	for _, w := range words {
		s += fmt.Sprintf(" %08x", uint32(w))
	}
	return s
}

// status is a reply of a logger that is connected to a collector.
func status(t *testing.T, source string, change func(*pmlc.Status)) string {
	t.Helper()
	s := &pmlc.Status{Start: time.Unix(1000, 5), Last: time.Unix(2000, 6), Now: time.Unix(3000, 7), Active: true, Size: 100, Host: "vm", Source: source,
		Zone: "UTC", LoggerZone: "EST5EDT"}
	if change != nil {
		change(s)
	}
	b, err := s.Append(make([]byte, pdu.HeaderLen))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%08x %08x 00000000 %x", len(b), int32(s.Kind()), b[pdu.HeaderLen:])
}

// The PMIDs of sample.drift and sample.colour.
const (
	drift  = 29<<22 | 7
	colour = 29<<22 | 5
)

// A failure is a logger that sends a greeting, and a reply to each request; "close" closes the
// connection. It does not read on after the last reply.
type failure struct {
	name, greeting string
	replies        []string
	script         string
}

func failures(t *testing.T, host string) []failure {
	ok := status(t, host, nil)
	const query, on = "query sample.drift\n", "log mandatory on 5 sec sample.drift\n"
	return []failure{
		{"busy", failed(-98), nil, "status\n"},
		{"EACCES", failed(-13), nil, "status\n"},
		{"no permission", failed(pdu.ErrPermission), nil, "status\n"},
		{"no greeting", "", nil, "status\n"},
		{"another greeting", "00000010 00007003 00000000 00000001", nil, "status\n"},
		{"version 2", "00000010 00007000 0000004d 00000002", []string{status(t, host, func(s *pmlc.Status) { s.Version = pmlc.Version2 })}, "status\n"},
		{"version 9", "00000010 00007000 0000004d 00000009", []string{ok}, "status\n"},
		{"not started", greeting, []string{status(t, host, func(s *pmlc.Status) { s.Active = false })}, "status\n"},
		{"times", greeting, []string{ok, ok, ok}, "timezone logger\nstatus\ntimezone local\nstatus\ntimezone \"EST\"\nstatus\n"},
		{"large", greeting, []string{status(t, host, func(s *pmlc.Status) { s.Volume, s.Size = 2e9, 4e9 })}, "status\n"},
		{"status refused", greeting, []string{failed(pdu.ErrPermission), ok}, "status\nstatus\n"},
		{"status, no protocol", greeting, []string{failed(pdu.ErrIPC)}, "status\nstatus\n"},
		{"status, closed", greeting, []string{"close"}, "status\nstatus\n"},
		{"volume refused", greeting, []string{failed(pdu.ErrPermission), failed(7)}, "new volume\nnew volume\n"},
		{"volume, closed", greeting, []string{"close"}, "new volume\nstatus\n"},
		{"sync failed", greeting, []string{failed(-28), failed(0)}, "sync\nsync\n"},
		{"sync, a number", greeting, []string{failed(5)}, "sync\n"},
		{"sync, closed", greeting, []string{"close"}, "sync\nsync\n"},
		{"qa", greeting, []string{failed(0), failed(pdu.ErrPermission)}, "qa 2\nqa 0\n"},
		{"query", greeting, []string{ok, values(1, drift, 1, 0, -1, 0x13)}, query},
		{"query refused", greeting, []string{ok, failed(pdu.ErrPermission), failed(pdu.ErrPermission)}, query + query},
		{"query, no protocol", greeting, []string{ok, failed(pdu.ErrIPC)}, query + query},
		{"query, closed", greeting, []string{ok, "close"}, query + query},
		{"query, closed before", greeting, []string{"close"}, query + query},
		{"query, another reply", greeting, []string{ok, ok}, query + query},
		{"query, malformed", greeting, []string{ok, values(5, drift, 1)}, query + query},
		{"query, an error", greeting, []string{ok, values(1, drift, -12358)}, query},
		{"query, another metric", greeting, []string{ok, values(1, colour, 1, 0, -1, 0x13)}, query},
		{"query, one metric more", greeting, []string{ok, values(2, drift, 1, 0, -1, 0x13, colour, 1, 0, 0, 0x13)}, query},
		{"query, two values", greeting, []string{ok, values(1, drift, 2, 0, 3, 0x13, 4, 0xf)}, query},
		{"query, unknown instances", greeting, []string{ok, values(1, colour, 3, 0, 1, 0x13, 77, 0x4d0f, 0, -16)}, "query sample.colour\n"},
		{"query, no instances", greeting, []string{ok, values(1, colour, 0)}, "query sample.colour\n"},
		{"on", greeting, []string{ok, values(1, drift, 1, 0, -1, 0x13883)}, on},
		{"on, another interval", greeting, []string{ok, values(1, drift, 1, 0, -1, 0x13893)}, on},
		{"on, but advisory", greeting, []string{ok, values(1, drift, 1, 0, -1, 0x13881)}, on},
		{"on, but off", greeting, []string{ok, values(1, drift, 1, 0, -1, 2)}, on},
		{"on, an error", greeting, []string{ok, values(1, drift, -12358)}, on},
		{"on, nothing", greeting, []string{ok, values(1, drift, 0)}, on},
		{"on, refused", greeting, []string{ok, failed(pdu.ErrPermission), failed(pdu.ErrPermission)}, on + "log mandatory off sample.drift\n"},
		{"on, unknown instances", greeting, []string{ok, values(1, colour, 2, 0, 77, 0, 1, 0)}, "log mandatory on 5 sec sample.colour\n"},
		{"on, one instance of two", greeting, []string{ok, values(1, colour, 2, 0, 0, 0x13883, 1, 0)}, "log mandatory on 5 sec sample.colour\n"},
		{"advisory on, but mandatory", greeting, []string{ok, values(1, drift, 1, 0, -1, 0x13883)}, "log advisory on 5 sec sample.drift\n"},
		{"maybe, but mandatory", greeting, []string{ok, values(1, drift, 1, 0, -1, 2)}, "log mandatory maybe sample.drift\n"},
		{"maybe, but advisory on", greeting, []string{ok, values(1, drift, 1, 0, -1, 0x13881)}, "log mandatory maybe sample.drift\n"},
		{"off, but mandatory", greeting, []string{ok, values(1, drift, 1, 0, -1, 2)}, "log advisory off sample.drift\n"},
		{"no collector", greeting, []string{status(t, "localhost:1", nil), status(t, "localhost:1", nil)}, query + query},
		{"unknown collector", greeting, []string{status(t, "no.such.invalid", nil)}, query},
	}
}

// answer makes the logger of a failure, and returns its port.
func (f failure) answer(t *testing.T) string {
	_, port, err := net.SplitHostPort(pcptest.Serve(t, func(conn net.Conn) {
		conn.Write(unhex(f.greeting))
		if len(unhex(f.greeting)) != 16 {
			return
		}
		c := pdu.NewConn(conn)
		c.Read() // the version
		for _, r := range f.replies {
			if _, _, err := c.Read(); err != nil || r == "close" {
				return
			}
			conn.Write(unhex(r))
		}
		io.Copy(io.Discard, conn)
	}))
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		panic(err)
	}
	return b
}

// TestInteropFailures compares the output of C's pmlc and ours about loggers that fail.
func TestInteropFailures(t *testing.T) {
	t.Parallel()
	pcptest.Need(t, "pmcd", "pmlc")
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"sample"}})
	ours, theirs := pcptest.Build(t, "./examples/pmlc"), pcptest.Tool(t, "pmlc")
	for _, f := range failures(t, pmcd.Host()) {
		run := func(client string) string {
			port := f.answer(t)
			out, _, code := pcptest.Run(t, []string{"TZ=UTC", "PMLOGGER_REQUEST_TIMEOUT=20"}, f.script, "sh", "-c", `exec "$0" "$@" 2>&1`, client, "-e", "-p", port)
			return strings.ReplaceAll(out, port, "PORT") + fmt.Sprintf("exit status %d\n", code)
		}
		if diff := cmp.Diff(strings.Split(run(theirs), "\n"), strings.Split(run(ours), "\n")); diff != "" {
			t.Errorf("%s (-C +ours):\n%s", f.name, diff)
		}
	}
}

// TestInteropRemote compares how C's pmlc and ours find the loggers of another host. The host is
// 0.0.0.0, so both ask its collector.
func TestInteropRemote(t *testing.T) {
	t.Parallel()
	pcptest.Need(t, "pmcd", "pmlc", "pmlogger")
	r := newDir(t)
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "sample"}, Env: r.env})
	r.pid = logFor(t, r, pmcd.Host())
	if err := pmlc.WriteMap(pmlc.MapDir(r.dir+"/tmp"), pmlc.Process{PID: r.pid, Port: r.port, Host: "vm", Archive: "/a"}, true); err != nil {
		t.Fatal(err)
	}
	r.env = append(r.env, fmt.Sprint("PMCD_PORT=", pmcd.Port()), "PCP_TMP_DIR=/none")
	const script = "show @0\nconnect primary @0\nstatus\nquery sample.drift\ndisconnect\nsleep 100\nconnect PID @0\nstatus\ndisconnect\nsleep 100\n" +
		"connect 99999 @0\nconnect port PORT @0\nstatus\nnew volume\nsync\n"
	pcptest.Retry(t, func() string {
		want := r.transcript(t, pcptest.Tool(t, "pmlc"), "sleep 100\n"+script, "-e")
		got := r.transcript(t, pcptest.Build(t, "./examples/pmlc"), "sleep 100\n"+script, "-e")
		return cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n"))
	})
}

// logFor starts a C pmlogger that has nothing to record, and returns its PID.
func logFor(t *testing.T, r running, host string) int {
	t.Helper()
	p := pcptest.Start(t, pcptest.Daemon{Path: "pmlogger", Args: []string{"-L", "-h", host, "-c", "/dev/null", "-l", r.dir + "/log/l", r.dir + "/a"},
		Env: r.env, Dir: r.dir, Addr: fmt.Sprint("localhost:", r.port)})
	return p.PID()
}
