package readme

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/trace"
)

// patient gives a program more than a second to send what it has, which a busy machine needs.
func patient(src string) string { return strings.ReplaceAll(src, ", time.Second)", ", time.Minute)") }

// runTraced runs a program that reports trace data, to an agent that notes the tags.
func runTraced(t *testing.T, src string) {
	program := build(t, patient(src))
	ln, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	tags := make(chan string, 10)
	go func() {
		defer close(tags)
		if err := receive(ln, tags); err != nil {
			t.Error(err)
		}
	}()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	out, errs, status := pcptest.Run(t, []string{"PCP_TRACE_PORT=" + port}, "", program)
	if out != "" || errs != "" || status != 0 {
		t.Errorf("exit status %d\n%s%s", status, out, errs)
	}
	ln.Close()
	got := map[string]int{}
	for tag := range tags {
		got[tag]++
	}
	want := map[string]int{}
	for _, m := range regexp.MustCompile(`trace\.(?:Begin|Point)\(ctx, (".*")\)`).FindAllStringSubmatch(src, -1) {
		want[m[1]]++
	}
	if d := cmp.Diff(want, got); d != "" || len(want) == 0 {
		t.Errorf("data by tag (-want +got):\n%s", d)
	}
}

// receive is a trace agent for one connection.
func receive(ln net.Listener, tags chan<- string) error {
	conn, err := ln.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := conn.Write(trace.Ack{Code: trace.Version}.Append(nil)); err != nil {
		return err
	}
	d := trace.NewDecoder(conn)
	for {
		data, err := d.Data()
		if err != nil {
			return nil // the program has ended
		}
		tags <- fmt.Sprintf("%q", data.Tag)
		if !data.Sync {
			continue
		}
		if _, err := conn.Write(trace.Ack{Code: int32(data.Kind)}.Append(nil)); err != nil {
			return err
		}
	}
}

// runTraceAgent runs a collector with the trace agent in it, sends it data, and asks it for them.
func runTraceAgent(t *testing.T, src string) {
	port, apps := pcptest.FreePort(t), pcptest.FreePort(t)
	there := strings.NewReplacer("localhost:44321", fmt.Sprint("localhost:", port),
		"localhost:4323", fmt.Sprint("localhost:", apps)).Replace(src)
	addr := fmt.Sprint("localhost:", port)
	pcptest.Start(t, pcptest.Daemon{Path: build(t, there), Addr: addr, Greets: true})
	app := &trace.Client{Config: trace.Config{Port: apps}}
	defer app.Close(t.Context())
	app.Point("cart.full")
	if err := app.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, err := pmapi.Dial(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	g := c.Group()
	count := pmapi.Add[uint64](g, "trace.point.count", pmapi.Instance("cart.full"), pmapi.Scale("instant"))
	if _, err := g.Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := count.Value(); n != 1 || err != nil {
		t.Errorf("%d points, %v", n, err)
	}
}

// TestTrace runs the commands of the README that show trace data, with the program above them.
func TestTrace(t *testing.T) {
	steps, program := shellBlock(t, "d=\\S+\n.*?/pmdatrace ")
	dir := pcptest.ShortDir(t)
	commands := strings.NewReplacer("d=/tmp/tracing", "d="+dir, "./checkout", build(t, patient(program))).Replace(steps)
	out, err := runShell(t, moduleRoot(t), dir, commands, fmt.Sprint("PCP_TRACE_PORT=", pcptest.FreePort(t)))
	want := "\ntrace.point.count\n    inst [1 or \"cart.full\"] value 1\n" +
		"\ntrace.transact.count\n    inst [1 or \"checkout\"] value 1\n" +
		"\ntrace.transact.total_time\n    inst [1 or \"checkout\"] value "
	if err != nil || !strings.Contains(out, want) {
		log, _ := os.ReadFile(filepath.Join(dir, "trace.log"))
		t.Errorf("%v: the commands do not print %q:\n%s\nwhat they print:\n%s\ntrace.log:\n%s", err, want, commands, out, log)
	}
}
