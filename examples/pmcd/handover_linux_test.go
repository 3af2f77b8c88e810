package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

var handovers = flag.Int("handovers", 3, "how often TestHandover has another process take the place of the collector")

// A relay is a collector whose place other processes take.
type relay struct {
	t             *testing.T
	dir, log      string
	tcp, socket   string
	manager       *net.UnixConn
	first         *exec.Cmd
	configuration string
	root          string        // pmdaroot's socket, of newRootRelay
	started       []*os.Process // that took the place of the first
}

// newRelay starts the collector as a service with an agent, a pid file and a service manager.
func newRelay(t *testing.T, args ...string) *relay {
	t.Helper()
	return startRelay(t, nil, func(r *relay) {
		r.write("conf", "simple 253 pipe binary "+pcptest.Build(t, "./examples/simple")+" -d 253 -l "+filepath.Join(r.dir, "simple.log")+"\n")
		r.write("names", "root {\n simple\n}\nsimple {\n color 253:0:1\n}\n")
	}, args...)
}

// startRelay starts the collector with the files that configure writes.
func startRelay(t *testing.T, env []string, configure func(*relay), args ...string) *relay {
	t.Helper()
	dir := pcptest.ShortDir(t)
	r := &relay{t: t, dir: dir, log: filepath.Join(dir, "log"), socket: filepath.Join(dir, "s"), configuration: filepath.Join(dir, "conf")}
	r.tcp = "localhost:" + strconv.Itoa(pcptest.FreePort(t))
	configure(r)
	var err error
	if r.manager, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "n"), Net: "unixgram"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.manager.Close() })
	if err := os.Chmod(r.manager.LocalAddr().String(), 0o777); err != nil { // as systemd's, to which every user may write
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(r.tcp)
	r.first = exec.Command(pcptest.Build(t, "./examples/pmcd"), append([]string{"-F", "-c", "conf", "-n", "names", "-l", "log", "-i", "127.0.0.1",
		"-p", port, "-s", r.socket, "-H", "thehost", "-q", "60", "-t", "60"}, args...)...)
	r.first.Dir = dir
	r.first.Env = append(append(pcptest.Env(), "NOTIFY_SOCKET="+r.manager.LocalAddr().String(), "PCP_RUN_DIR="+dir, "PCP_TMP_DIR="+dir, "PMCD_ROOT_AGENT=0"), env...)
	if err := r.first.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, p := range r.started {
			p.Kill() // not one that has ended already
		}
		r.first.Process.Kill()
		r.first.Wait()
	})
	r.notified(fmt.Sprintf("READY=1\nMAINPID=%d", r.first.Process.Pid))
	return r
}

func (r *relay) write(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// pid is the process identifier in the pid file, which is replaced at some time.
func (r *relay) pid() (pid int) {
	wait(r.t, func() string {
		b, err := os.ReadFile(filepath.Join(r.dir, "pmcd.pid"))
		if err == nil {
			pid, err = strconv.Atoi(string(b))
		}
		if err != nil {
			return err.Error()
		}
		return ""
	})
	return pid
}

// notified awaits a message to the service manager.
func (r *relay) notified(want string) {
	r.t.Helper()
	r.manager.SetReadDeadline(time.Now().Add(time.Minute))
	b := make([]byte, 100)
	n, err := r.manager.Read(b)
	if err != nil || string(b[:n]) != want {
		r.t.Fatalf("notified %q, %v; want %q\n%s", b[:n], err, want, r.text())
	}
}

func (r *relay) text() string {
	b, _ := os.ReadFile(r.log)
	return string(b)
}

// handOver has another process take the place of the one that serves, and returns both.
func (r *relay) handOver() (before, after int) {
	r.t.Helper()
	before = r.pid()
	if err := syscall.Kill(before, syscall.SIGUSR2); err != nil {
		r.t.Fatal(err)
	}
	r.manager.SetReadDeadline(time.Now().Add(time.Minute))
	b := make([]byte, 100)
	n, err := r.manager.Read(b)
	if err != nil {
		r.t.Fatalf("no successor: %v\n%s", err, r.text())
	}
	if after = r.pid(); string(b[:n]) != fmt.Sprintf("READY=1\nMAINPID=%d", after) || after == before {
		r.t.Fatalf("notified %q, the pid file has %d, before %d", b[:n], after, before)
	}
	p, err := os.FindProcess(after)
	if err != nil {
		r.t.Fatal(err)
	}
	r.started = append(r.started, p)
	r.notified(fmt.Sprintf("MAINPID=%d", after))
	return before, after
}

// end ends the collector, which leaves nothing.
func (r *relay) end() {
	r.t.Helper()
	pid := r.pid()
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		r.t.Fatal(err)
	}
	r.notified("STOPPING=1")
	r.ended(pid)
	for _, name := range []string{"pmcd.pid", "s"} {
		if _, err := os.Stat(filepath.Join(r.dir, name)); !errors.Is(err, fs.ErrNotExist) {
			r.t.Errorf("%s is left: %v", name, err)
		}
	}
	if s := r.text(); strings.Contains(s, "panic") || strings.Contains(s, "WARNING: DATA RACE") {
		r.t.Errorf("log:\n%s", s)
	}
}

// ended awaits the end of a process; that of the first one is this one's to see.
func (r *relay) ended(pid int) {
	r.t.Helper()
	if pid == r.first.Process.Pid {
		if err := r.first.Wait(); err != nil {
			r.t.Errorf("the first process: %v", err)
		}
		return
	}
	wait(r.t, func() string {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(b), ") Z ") { // whoever inherits it may not wait for it
			return ""
		}
		return fmt.Sprintf("process %d does not end\n%s", pid, r.text())
	})
}

// wait calls check until nothing is wrong.
func wait(t *testing.T, check func() (wrong string)) {
	t.Helper()
	limit := time.Now().Add(time.Minute)
	wrong := check()
	for ; wrong != "" && time.Now().Before(limit); wrong = check() {
		time.Sleep(10 * time.Millisecond)
	}
	if wrong != "" {
		t.Fatal(wrong)
	}
}

// use fetches until ctx ends, but once at least, and counts how often the client had to connect
// again.
func (r *relay) use(ctx context.Context, host string, pause time.Duration) (reconnects int, err error) {
	d := &pmapi.Dialer{Backoff: []time.Duration{time.Nanosecond}}
	c, err := d.Dial(context.Background(), host)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	ids, err := c.Lookup(context.Background(), []string{"simple.color", "pmcd.hostname"})
	if err != nil {
		return 0, err
	}
	var res pdu.Result
	for {
		switch err := c.Fetch(context.Background(), ids, &res); {
		case errors.Is(err, pdu.ErrIPC):
			reconnects++
			if err := c.Reconnect(context.Background()); err != nil {
				return reconnects, fmt.Errorf("after %d: %w", reconnects, err)
			}
			continue // at once: the next fetch has to succeed
		case err != nil:
			return reconnects, err
		default:
			if err := checkColors(&res); err != nil {
				return reconnects, err
			}
		}
		select {
		case <-ctx.Done():
			return reconnects, nil
		case <-time.After(pause):
		}
	}
}

// once is a context that has ended.
func once() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// checkColors checks what the agents of any process say.
func checkColors(res *pdu.Result) error {
	if err := res.At(0).Err(); err != nil {
		return err
	}
	return errors.Join(checkSteps(res.At(0)), checkHost(res.At(1)))
}

// checkSteps checks values of simple.color, which depend on the first of them.
func checkSteps(colors pdu.ValueSet) error {
	if colors.Len() != 3 {
		return fmt.Errorf("fetched %d colours: %v", colors.Len(), colors.Err())
	}
	first, err := strconv.Atoi(colors.Atom(0, pdu.Type32).String())
	for i := range 3 {
		if text := colors.Atom(i, pdu.Type32).String(); err != nil || text != strconv.Itoa((first+i*100)%256) {
			return fmt.Errorf("color %d is %s, the first one %d: %v", i, text, first, err)
		}
	}
	return nil
}

// checkHost checks a value of pmcd.hostname.
func checkHost(host pdu.ValueSet) error {
	if host.Len() != 1 || host.Atom(0, pdu.TypeString).String() != `"thehost"` {
		return fmt.Errorf("pmcd.hostname has %d values: %v", host.Len(), host.Err())
	}
	return nil
}

// TestHandover has processes take the place of the collector while clients fetch: some all the
// time, some that have been idle, and others that connect and go. No value is wrong, no client has
// to connect more than once, and nothing is left over.
func TestHandover(t *testing.T) {
	r := newRelay(t)
	ctx, cancel := context.WithCancel(t.Context())
	var using sync.WaitGroup
	defer using.Wait() // also when the collector has gone wrong: clients report to the test
	defer cancel()
	check := func(what string, most int, err error) {
		if most > *handovers || err != nil {
			t.Errorf("%s: connected again %d times: %v", what, most, err)
		}
	}
	for _, host := range []string{r.tcp, "unix://" + r.socket} {
		for _, pause := range []time.Duration{time.Millisecond, 700 * time.Millisecond} {
			using.Go(func() {
				n, err := r.use(ctx, host, pause)
				check(host, n, err)
			})
		}
		using.Go(func() {
			for ctx.Err() == nil {
				if n, err := r.use(once(), host, 0); n > 0 || err != nil {
					t.Errorf("a short client of %s: %d, %v", host, n, err)
					return
				}
			}
		})
	}
	var gone []int
	open := 0
	for i := range *handovers {
		before, after := r.handOver()
		gone = append(gone, before)
		if i == 0 {
			open = r.descriptors(after)
		}
	}
	cancel()
	using.Wait()
	for _, pid := range gone {
		r.ended(pid)
	}
	wait(t, func() string {
		if n := r.descriptors(r.pid()); n > open {
			return fmt.Sprintf("%d descriptors after %d processes, %d after one", n, *handovers, open)
		}
		return ""
	})
	r.end()
}

func (r *relay) descriptors(pid int) int {
	r.t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		r.t.Fatal(err)
	}
	return len(list)
}

// TestInteropHandover has PCP's tool connect while processes take the place of the collector.
func TestInteropHandover(t *testing.T) {
	pcptest.Need(t, "pminfo")
	r := newRelay(t)
	ctx, cancel := context.WithCancel(t.Context())
	var using sync.WaitGroup
	defer using.Wait() // also when the collector has gone wrong: clients report to the test
	defer cancel()
	for _, host := range []string{r.tcp, "unix://" + r.socket} {
		using.Go(func() {
			for ctx.Err() == nil {
				out, errs, status := pcptest.Run(t, nil, "", "pminfo", "-h", host, "-f", "simple.color", "pmcd.hostname")
				if status != 0 || errs != "" || !strings.Contains(out, `"thehost"`) || strings.Count(out, "inst [") != 3 {
					t.Errorf("pminfo -h %s: %d\n%s%s", host, status, out, errs)
				}
			}
		})
	}
	for range 2 {
		r.handOver()
	}
	cancel()
	using.Wait()
	r.end()
}

// TestInteropHandoverRoot: the socket of PCP's pmdaroot, which removes it at its end, is that of
// the new process's one.
func TestInteropHandoverRoot(t *testing.T) {
	program := filepath.Join(pcptest.Conf("PCP_PMDAS_DIR"), "root", "pmdaroot")
	pcptest.Need(t, program)
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	t.Parallel()
	var socket string
	r := startRelay(t, nil, func(r *relay) {
		socket = filepath.Join(r.dir, "root.socket")
		r.write("conf", fmt.Sprintf("root 1 pipe binary %s -d 1 -l %s -s %s\n", program, filepath.Join(r.dir, "root.log"), socket))
		r.write("names", "root {\n pmcd\n}\npmcd {\n hostname 2:0:21\n}\n")
	})
	for range 2 {
		before, _ := r.handOver()
		r.ended(before)
		c, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		c.SetReadDeadline(time.Now().Add(time.Minute))
		if n, err := c.Read(make([]byte, 100)); n != 24 || err != nil {
			t.Errorf("pmdaroot has sent %d bytes: %v", n, err)
		}
		c.Close()
	}
	r.end()
	if _, err := os.Stat(socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket of pmdaroot is left: %v", err)
	}
}

// TestHandoverFails: a collector whose successor does not start serves on, says why, and can try
// again.
func TestHandoverFails(t *testing.T) {
	t.Parallel()
	r := newRelay(t)
	good, err := os.ReadFile(r.configuration)
	if err != nil {
		t.Fatal(err)
	}
	r.write("conf", "simple 253 nonsense\n")
	pid := r.pid()
	for i := range 2 {
		if err := syscall.Kill(pid, syscall.SIGUSR2); err != nil {
			t.Fatal(err)
		}
		wait(t, func() string {
			s := r.text()
			if strings.Count(s, "no process takes the place of this one, which serves on err=\"it has not started: exit status 1\"") == i+1 && strings.Contains(s, "pmcd: conf:1: expected ") {
				return ""
			}
			return "log:\n" + s
		})
	}
	if n, err := r.use(once(), r.tcp, 0); n != 0 || err != nil {
		t.Errorf("a client after that: %d, %v", n, err)
	}
	if r.pid() != pid {
		t.Error("the pid file is another process's")
	}
	r.write("conf", string(good))
	names, err := os.ReadFile(filepath.Join(r.dir, "names"))
	if err != nil {
		t.Fatal(err)
	}
	r.write("names", "root {\n simple\n") // which is read later, when the new process has the sockets
	if err := syscall.Kill(pid, syscall.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	wait(t, func() string {
		s := r.text()
		if strings.Count(s, "no process takes the place of this one") == 3 {
			return ""
		}
		return "log:\n" + s
	})
	if _, err := os.Stat(r.socket); err != nil {
		t.Error(err)
	}
	r.write("names", string(names))
	before, _ := r.handOver()
	r.ended(before)
	r.end()
}

// newRootRelay starts the collector as a user, with PCP's pmdaroot and another agent.
func newRootRelay(t *testing.T, username string) *relay {
	t.Helper()
	program := filepath.Join(pcptest.Conf("PCP_PMDAS_DIR"), "root", "pmdaroot")
	pcptest.Need(t, program)
	u, err := user.Lookup(username)
	if err != nil || os.Getuid() != 0 {
		t.Skip("needs root and the user ", username)
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		t.Fatal(err)
	}
	vars := pcptest.ShortDir(t)
	return startRelay(t, []string{"PMCD_ROOT_AGENT=1", "PCP_VAR_DIR=" + vars}, func(r *relay) {
		simple := pcptest.Build(t, "./examples/simple") + " -d 253 -U root -l " + filepath.Join(r.dir, "simple.log")
		r.write("conf", fmt.Sprintf("root 1 pipe binary %s -d 1 -l %s\nsimple 253 pipe binary %s\n", program, filepath.Join(vars, "root.log"), simple))
		r.write("names", "root {\n simple\n pmcd\n}\nsimple {\n color 253:0:1\n}\npmcd {\n hostname 2:0:21\n}\n")
		r.root = filepath.Join(vars, "pmcd", "root.socket")
		for dir, owner := range map[string]int{filepath.Dir(r.root): 0, r.dir: uid} { // of pmdaroot's socket, and of the collector's own files
			if err := errors.Join(os.MkdirAll(dir, 0o755), os.Chown(dir, owner, -1)); err != nil {
				t.Fatal(err)
			}
		}
	}, "-U", username)
}

// children are the processes that a process has started, by their names.
func children(t *testing.T, pid int) map[string]int {
	t.Helper()
	all := map[string]int{}
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, _ := os.ReadFile(f) // of a process that may have ended
		before, after, _ := strings.Cut(string(b), ") ")
		_, name, _ := strings.Cut(before, "(")
		var state string
		var parent int
		if fmt.Sscan(after, &state, &parent); parent == pid && state != "Z" {
			all[name], _ = strconv.Atoi(filepath.Base(filepath.Dir(f)))
		}
	}
	return all
}

// TestInteropHandoverUser: a collector that has given up root's privileges has PCP's pmdaroot start
// its replacement with them. The replacement starts agents as root, among them another pmdaroot,
// and then becomes the same user.
func TestInteropHandoverUser(t *testing.T) {
	t.Parallel()
	r := newRootRelay(t, "nobody")
	waitUser(t, r.pid(), "65534")
	var using sync.WaitGroup
	ctx, end := context.WithCancel(t.Context())
	for _, host := range []string{r.tcp, "unix:" + r.socket} {
		using.Go(func() {
			for ctx.Err() == nil {
				if n, err := r.use(once(), host, 0); n > 0 || err != nil {
					t.Errorf("%s: %d, %v", host, n, err)
				}
			}
		})
	}
	defer using.Wait()
	defer end()
	before := children(t, r.pid())
	for range *handovers {
		last, pid := r.handOver()
		r.ended(last)
		waitUser(t, pid, "65534")
		agents := children(t, pid)
		for _, name := range []string{"pmdaroot", "simple"} {
			waitUser(t, agents[name], "0")
			waitGone(t, before[name])
		}
		before = agents
		c, err := net.Dial("unix", r.root)
		if err != nil {
			t.Fatal(err)
		}
		c.SetReadDeadline(time.Now().Add(time.Minute))
		if n, err := c.Read(make([]byte, 100)); n != 24 || err != nil {
			t.Errorf("pmdaroot has sent %d bytes: %v", n, err)
		}
		c.Close()
	}
	end()
	using.Wait()
	r.end()
	if _, err := os.Stat(r.root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket of pmdaroot is left: %v", err)
	}
}

// TestInteropHandoverUserFails: if the process that pmdaroot starts does not serve, the collector
// goes on, and no process is left.
func TestInteropHandoverUserFails(t *testing.T) {
	t.Parallel()
	r := newRootRelay(t, "nobody")
	pid := r.pid()
	waitUser(t, pid, "65534")
	good, err := os.ReadFile(r.configuration)
	if err != nil {
		t.Fatal(err)
	}
	r.write("conf", "simple 253 nonsense\n")
	if err := syscall.Kill(pid, syscall.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	wait(t, func() string {
		if s := r.text(); !strings.Contains(s, "which serves on err=\"it has not started: exit status 1\"") || !strings.Contains(s, "pmcd: conf:1: expected ") {
			return "log:\n" + s
		}
		return ""
	})
	wait(t, func() string {
		if left := children(t, children(t, pid)["pmdaroot"]); len(left) > 0 {
			return fmt.Sprintf("left: %v", left)
		}
		return ""
	})
	if n, err := r.use(once(), r.tcp, 0); n != 0 || err != nil {
		t.Errorf("a client after that: %d, %v", n, err)
	}
	r.write("conf", string(good))
	before, _ := r.handOver()
	r.ended(before)
	r.end()
}

// TestNoHandoverWithoutRoot: a collector that has given up root's privileges, and has no pmdaroot,
// does not let agents have fewer.
func TestNoHandoverWithoutRoot(t *testing.T) {
	if _, err := user.Lookup("nobody"); err != nil || os.Getuid() != 0 {
		t.Skip("needs root and the user nobody")
	}
	t.Parallel()
	r := newRelay(t, "-U", "nobody")
	if err := syscall.Kill(r.pid(), syscall.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	wait(t, func() string {
		if s := r.text(); !strings.Contains(s, "it has given up root's privileges") {
			return "log:\n" + s
		}
		return ""
	})
	if n, err := r.use(once(), r.tcp, 0); n != 0 || err != nil {
		t.Errorf("a client after that: %d, %v", n, err)
	}
}
