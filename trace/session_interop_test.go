package trace_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/tracewire"
	"github.com/pcp-go/pcp/trace"
)

// sessionScripts are calls, and lines with @ that control the agent. Both libraries must return the
// same. Reconnect is 1,2 seconds.
var sessionScripts = []struct{ name, script string }{
	{"transactions", `@listen
begin a; begin a; end a; end a; begin a; abort a; abort a; end a; end b; abort b; begin -; end -; begin b; end b`},
	{"points", `@listen
point a; obs a 1.5; counter a 2; point a; point -`},
	{"state", `state 16; state 0; state 32; @listen
point a; state 0; state 32; begin a; end a; obs a 2; abort a`},
	{"asynchronous too late", `@listen
point a; state 32; state 4; state 0; point a`},
	{"no agent", `state 16; point a; begin a; end a; end a; counter a 1; state 0; point a; begin b`},
	{"nobody listens", `point a; begin a; end a; abort a; point a; @listen
point a; begin a; end a`},
	{"begin first", `begin a; end a; @listen
begin a; @stop
begin b; point a; end a; end b; @listen
begin c; end c; point a`},
	{"agent goes", `@listen
point a; @stop
point a; point a; begin a; begin a; obs a 1; end a; abort a; @listen
point a; begin a; end a`},
	{"agent refuses", `@refuse -12010
point a; @close
wait; point a; point a; @close
wait; begin a; end a; begin a; @close
wait; end a; begin b; @close
wait; end b`},
	{"agent is full", `@refuse -12011
begin a; @close
wait; begin a; end a; point a`},
	{"agent refuses later", `@listen
point a; begin a; @refuse -12010
wait; end a; point a; @close
wait; point a; point a; @close
wait; begin b; @close
wait; end b`},
	{"mute", `@listen
point a; @mute
point a; point a; begin a; end a; @answer
point a`},
	{"silent at connect", `@silent
point a; point a; begin a`},
	{"wrong Ack", `@listen
point a; @code 3
point a; @code 0
point a; begin a; end a`},
	{"negative Ack", `@listen
point a; @code -12010
point a; @code 0
point a`},
	{"asynchronous, nobody listens", `state 32; point a; point a; begin a; end a; @listen
point a; begin a`},
	{"asynchronous, agent goes", `state 32; @listen
point a; begin a; @stop
wait; point a; point a; point a; end a; begin b; @listen
point a; begin c; end a`},
	{"end waits", `@listen
begin a; begin b; begin c; begin d; begin e; @stop
end a; @listen
end b; @conns
wait 1100; end c; @conns
wait 1100; end d; @conns
point a; @conns
end e`},
}

// buildCalls builds the program that makes the C library's calls.
func buildCalls(t testing.TB) string {
	t.Helper()
	return pcptest.BuildC(t, "testdata/calls.c", "-lpcp_trace")
}

func TestErrorTextsLikeC(t *testing.T) {
	call := cCaller(t, buildCalls(t), callLimit)(0)
	for _, r := range [][2]int{{-150, 3}, {-12020, -11990}, {-100_000, -99_999}} {
		for code := r[0]; code <= r[1]; code++ {
			if want, got := call(fmt.Sprint("text ", code)), trace.Error(code).Error(); got != want {
				t.Errorf("%d: %q, want %q", code, got, want)
			}
		}
	}
}

func TestSessionLikeC(t *testing.T) {
	program := buildCalls(t)
	for _, tt := range sessionScripts {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			timeout := 30 * time.Second
			if strings.Contains(tt.script, "@mute") || strings.Contains(tt.script, "@silent") {
				timeout = time.Second
			}
			pcptest.Retry(t, func() string {
				var want, got []string
				var wg sync.WaitGroup
				wg.Go(func() { want = runScript(t, tt.script, cCaller(t, program, timeout)) })
				wg.Go(func() { got = runScript(t, tt.script, goCaller(timeout)) })
				wg.Wait()
				if diff := cmp.Diff(want, got); diff != "" {
					return "(-C +Go):\n" + diff
				}
				return ""
			})
		})
	}
}

// runScript returns the lines of a script with the result of each.
func runScript(t *testing.T, script string, start func(port int) func(line string) string) []string {
	a := &tcpAgent{t: t, port: pcptest.FreePort(t)}
	defer a.stop()
	call := start(a.port)
	var out []string
	for line := range strings.FieldsFuncSeq(script, func(r rune) bool { return r == ';' || r == '\n' }) {
		line = strings.TrimSpace(line)
		switch {
		case line[0] == '@':
			line += a.do(line[1:])
		case strings.HasPrefix(line, "wait"):
			ms, _ := strconv.Atoi(strings.TrimPrefix(line, "wait "))
			time.Sleep(time.Duration(max(ms, 20)) * time.Millisecond)
		default:
			line += ": " + call(line)
		}
		out = append(out, line)
	}
	return out
}

// cCaller returns a function that runs the C program.
func cCaller(t testing.TB, program string, timeout time.Duration) func(port int) func(string) string {
	return func(port int) func(string) string {
		cmd := exec.Command(program)
		cmd.Env = append(pcptest.Env(), "PCP_TRACE_HOST=127.0.0.1", fmt.Sprint("PCP_TRACE_PORT=", port),
			fmt.Sprint("PCP_TRACE_REQTIMEOUT=", timeout.Seconds()), "PCP_TRACE_RECONNECT=1,2")
		in, err := cmd.StdinPipe()
		out, err2 := cmd.StdoutPipe()
		if err := errors.Join(err, err2, cmd.Start()); err != nil {
			t.Error(err)
		}
		t.Cleanup(func() {
			in.Close()
			cmd.Wait()
		})
		lines := bufio.NewReader(out)
		return func(line string) string {
			io.WriteString(in, line+"\n")
			s, _ := lines.ReadString('\n')
			if n, _ := strconv.Atoi(strings.TrimSpace(s)); n > 0 && !strings.HasPrefix(line, "state") && !strings.HasPrefix(line, "points") {
				return "0" // bytes sent
			}
			return strings.TrimSpace(s)
		}
	}
}

// goCaller returns a function that uses a Session.
func goCaller(timeout time.Duration) func(port int) func(string) string {
	return func(port int) func(string) string {
		s := &trace.Session{Compatible: true, Config: trace.Config{Host: "127.0.0.1", Port: port,
			RequestTimeout: timeout, Reconnect: []time.Duration{time.Second, 2 * time.Second},
			Logger: slog.New(slog.DiscardHandler)}}
		return func(line string) string {
			result, err := sessionCall(s, line)
			if e, ok := errors.AsType[trace.Error](err); ok {
				return fmt.Sprint(int(e))
			}
			if err != nil {
				return err.Error()
			}
			return fmt.Sprint(result)
		}
	}
}

// sessionCall makes the call of a line.
func sessionCall(s *trace.Session, line string) (result int, err error) {
	ctx := context.Background()
	f := append(strings.Fields(line), "", "")
	tag := strings.TrimPrefix(f[1], "-")
	value, _ := strconv.ParseFloat(f[2], 64)
	switch f[0] {
	case "begin":
		err = s.Begin(ctx, tag)
	case "end":
		err = s.End(ctx, tag)
	case "abort":
		err = s.Abort(tag)
	case "point":
		err = s.Point(ctx, tag)
	case "obs":
		err = s.Observe(ctx, tag, value)
	case "counter":
		err = s.Counter(ctx, tag, value)
	case "state":
		n, _ := strconv.Atoi(tag)
		old, err := s.SetState(trace.State(n))
		return int(old), err
	}
	return 0, err
}

// A tcpAgent follows the script.
type tcpAgent struct {
	t    *testing.T
	port int
	ln   net.Listener

	mu     sync.Mutex
	conns  []net.Conn
	count  int
	greet  int32
	code   int32 // of Acks, if not 0
	mute   bool
	silent bool
	wg     sync.WaitGroup
}

func (a *tcpAgent) do(line string) string {
	var verb string
	var n int32
	fmt.Sscan(line, &verb, &n)
	if verb == "stop" || verb == "refuse" {
		a.stop()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch verb {
	case "conns":
		return fmt.Sprint(": ", a.count)
	case "mute":
		a.mute = true
	case "answer":
		a.mute = false
	case "code":
		a.code = n
	case "close":
		a.closeAll()
	case "listen", "refuse", "silent":
		a.silent, a.greet = verb == "silent", max(tracewire.Version, n)
		if n < 0 {
			a.greet = n
		}
		a.listen()
	}
	return ""
}

// listen retries, because a process that is about to start may still hold the last listener.
func (a *tcpAgent) listen() {
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", a.port))
		if err == nil {
			a.ln = ln
			a.wg.Go(func() { a.accept(ln) })
			return
		}
		if time.Since(start) > 30*time.Second {
			a.t.Error(err)
			return
		}
	}
}

func (a *tcpAgent) stop() {
	if a.ln != nil {
		a.ln.Close()
	}
	a.mu.Lock()
	a.closeAll()
	a.mu.Unlock()
	a.wg.Wait()
	a.ln = nil
}

func (a *tcpAgent) closeAll() {
	for _, c := range a.conns {
		c.(*net.TCPConn).SetLinger(0) // like the C agent
		c.Close()
	}
	a.conns = nil
}

func (a *tcpAgent) accept(ln net.Listener) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		a.mu.Lock()
		a.count++
		a.conns = append(a.conns, c)
		greet, silent := a.greet, a.silent
		a.mu.Unlock()
		if silent {
			continue
		}
		c.Write(tracewire.Ack{Code: greet}.Append(nil))
		if greet < 0 {
			continue
		}
		a.wg.Go(func() { a.serve(c) })
	}
}

func (a *tcpAgent) serve(c net.Conn) {
	d := tracewire.NewDecoder(c)
	for {
		data, err := d.Data()
		if err != nil {
			return
		}
		a.mu.Lock()
		ack := tracewire.Ack{Code: int32(data.Kind)}
		if a.code != 0 {
			ack.Code = a.code
		}
		if data.Sync && !a.mute {
			c.Write(ack.Append(nil))
		}
		a.mu.Unlock()
	}
}
