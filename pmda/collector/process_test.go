//go:build unix

package collector

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
	"github.com/pcp-go/pcp/pmda/collector/internal/pmcdagent"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
	"github.com/pcp-go/pcp/pmda/internal/remote"
)

// programLine is the configuration of a pipe agent with a behavior.
func programLine(behavior string) pmcdconf.Agent {
	return pmcdconf.Agent{Name: "program", Domain: programDomain, Kind: "pipe", Argv: programArgv(behavior)}
}

func programArgv(behavior string) []string {
	return []string{"/usr/bin/env", programEnv + "=" + behavior, os.Args[0]}
}

// A logLines keeps the lines of a log, without their times.
type logLines struct{ pcptest.LogBuffer }

func newLogLines() (*logLines, *slog.Logger) {
	j := new(logLines)
	return j, j.Logger(slog.LevelInfo, "fd", "status")
}

// lines returns the lines about agents.
func (j *logLines) lines() (lines []string) {
	for line := range strings.Lines(j.String()) {
		if strings.Contains(line, "agent=") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// withTime closes a Server at the end of a test. It gives the processes of agents more time to
// start and to reply, because the machine may be busy.
func withTime(t *testing.T, s *Server) *Server {
	s.AgentHelloTimeout = cmp.Or(s.AgentHelloTimeout, time.Minute)
	s.Timeout = cmp.Or(s.Timeout, time.Minute)
	return collectortest.CloseAtEnd(t, s)
}

var programMetric = pdu.MakePMID(programDomain, 0, 1)

const (
	programValue   = "RESULT 30.0.1 -1=1"
	programStarted = `level=INFO msg="agent started" agent=program domain=30`
)

// fetchProgram returns the result of the agent program's metric, after the state changes.
func fetchProgram(g *collectortest.Client) string {
	g.T.Helper()
	text := g.Request(pdu.Fetch{PMIDs: []pdu.PMID{programMetric}})
	if strings.HasPrefix(text, "change: ") {
		text += " / " + g.Receive()
	}
	return text
}

// errorOf returns a set with an error in the format of Describe.
func errorOf(e pdu.Error) string { return "RESULT 30.0.1 " + e.Error() }

// agentStatus returns pmcd.agent.status of the agent program.
func agentStatus(s *Server) int { return int(s.agents.Load().get(programDomain).state()) }

// TestAgentNotStarted checks agents that cannot be started: the error, the log, the status, and
// that no process remains.
func TestAgentNotStarted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		conf pmcdconf.Agent
		want string // what the error says
	}{
		{"no such program", pmcdconf.Agent{Kind: "pipe", Argv: []string{"/nonexistent"}}, "fork/exec /nonexistent: no such file or directory"},
		{"no command", pmcdconf.Agent{Kind: "pipe"}, "no command to start it"},
		{"exits", programLine("fails at start"),
			`remote: version exchange with agent "program": pdu: hello: EOF (its process: exit status 3)`},
		{"says nothing", programLine("mute"),
			`remote: version exchange with agent "program": Timeout waiting for a response from PMCD (its process: exit status 4)`},
		{"says nothing and stays", programLine("mute, ignores signals"),
			`remote: version exchange with agent "program": Timeout waiting for a response from PMCD`},
		{"garbage", programLine("garbage at start"), // the start of a long PDU
			`remote: version exchange with agent "program": the agent sent something longer than its version: Result size exceeded (its process: exit status 1)`},
		{"no socket", pmcdconf.Agent{Kind: "socket", Network: "unix", Address: "/nonexistent/socket"},
			"dial unix /nonexistent/socket: connect: no such file or directory"},
		{"socket of a program that exits", pmcdconf.Agent{Kind: "socket", Network: "unix", Address: "/nonexistent/socket", Argv: programArgv("fails at start")},
			"dial unix /nonexistent/socket: connect: no such file or directory (its process: exit status 3)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.conf.Name, test.conf.Domain = "program", programDomain
			// A process may be slow to end.
			pcptest.Retry(t, func() string { return notStarted(t, test.conf, test.want) })
		})
	}
}

// TestAgentDomainInUse checks that an agent whose domain is in use is not started, and that this
// is logged.
func TestAgentDomainInUse(t *testing.T) {
	j, log := newLogLines()
	s := withTime(t, &Server{Logger: log})
	conf := programLine("good")
	conf.Domain = pmcdagent.Domain
	const why = `domain 2 is that of agent "pmcd"`
	err := s.StartAgent(conf)
	if err == nil || err.Error() != `collector: start agent "program": `+why {
		t.Errorf("error %v\nwant  %s", err, why)
	}
	if op, ok := errors.AsType[*OpError](err); !ok || op.Op != "start" || op.Agent != "program" || op.Timeout() {
		t.Errorf("error %#v", err)
	}
	want := []string{`level=ERROR msg="agent not started" agent=program domain=2 err="` + strings.ReplaceAll(why, `"`, `\"`) + `"`}
	if diff := gocmp.Diff(want, j.lines()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// notStarted tries to start an agent, and returns what is wrong about the failure.
func notStarted(t *testing.T, conf pmcdconf.Agent, want string) (wrong string) {
	t.Helper()
	j, log := newLogLines()
	s := &Server{Logger: log}
	if strings.Contains(want, "Timeout") {
		s.AgentHelloTimeout = 300 * time.Millisecond
	}
	err := withTime(t, s).StartAgent(conf)
	if err == nil {
		t.Fatal("started")
	}
	if err.Error() != `collector: start agent "program": `+want {
		wrong = fmt.Sprintf("error %q,\nwant  %q\n", err, want)
	}
	if op, ok := errors.AsType[*OpError](err); !ok || op.Timeout() != strings.Contains(want, "Timeout") {
		wrong += fmt.Sprintf("error %#v\n", err)
	}
	var line bytes.Buffer
	slog.New(slog.NewTextHandler(&line, nil)).Error("", slog.Any("err", errors.Unwrap(err)))
	_, quoted, _ := strings.Cut(strings.TrimSpace(line.String()), " err=")
	lines := []string{`level=ERROR msg="agent not started" agent=program domain=30 err=` + quoted}
	if diff := gocmp.Diff(lines, j.lines()); diff != "" {
		wrong += fmt.Sprintf("log (-want +got):\n%s", diff)
	}
	if got := agentStatus(s); got != statusNotStart {
		wrong += fmt.Sprintf("status %d\n", got)
	}
	if got := fetchProgram(collectortest.Connect(t, s)); got != errorOf(pdu.ErrNoAgent) {
		wrong += fmt.Sprintf("fetch: %s\n", got)
	}
	return wrong
}

// TestAgentFails checks agents that fail in a request: the replies to it and to later requests, the
// status and the log.
func TestAgentFails(t *testing.T) {
	t.Parallel()
	for _, test := range []programEnd{
		{"exits", errorOf(pdu.ErrIPC), statusExited | 7<<8, `process="exit status 7"`},
		{"exits well", errorOf(pdu.ErrIPC), statusExited, `process="exit status 0" err="it ended without an error, as agents do on SIGTERM"`},
		{"killed", errorOf(pdu.ErrIPC), statusExited | 9<<16, `process="signal: killed"`},
		{"hangs up", errorOf(pdu.ErrIPC), statusProtocol | 9<<16, `process="signal: killed" err="it closed the connection"`},
		{"wrong type", errorOf(pdu.ErrIPC), statusProtocol, `process="exit status 0" err="expected RESULT, got TEXT: IPC protocol failure"`},
		{"wrong count", errorOf(pdu.ErrIPC), statusProtocol, `process="exit status 0" err="agent replied with 2 metrics, not 1"`},
		{"wrong metric", errorOf(pdu.ErrIPC), statusProtocol, `process="exit status 0" err="agent replied with metric 30.0.9 in place of 30.0.1"`},
		{"garbage", errorOf(pdu.ErrIPC), statusProtocol, `process="exit status 0" err="pdu: read TYPE-774778414?: length below that of a header: IPC protocol failure"`},
	} {
		t.Run(test.behavior, func(t *testing.T) {
			t.Parallel()
			pcptest.Retry(t, func() string { return test.wrong(t) }) // a process may be slow to end
		})
	}
}

// A programEnd describes how an agent with a behavior ends.
type programEnd struct {
	behavior string
	first    string // what a fetch gets
	status   int
	line     string // in the log
}

// wrong runs an agent, and returns what is wrong about its end.
func (e programEnd) wrong(t *testing.T) (wrong string) {
	t.Helper()
	j, log := newLogLines()
	s := withTime(t, &Server{Logger: log, NoRestart: true})
	g := collectortest.Connect(t, s)
	if err := s.StartAgent(programLine(e.behavior)); err != nil {
		t.Fatal(err)
	}
	if got := fetchProgram(g); !strings.HasSuffix(got, e.first) {
		wrong = fmt.Sprintf("first fetch: %s, want %s\n", got, e.first)
	}
	collectortest.Eventually(t, "end", func() bool { return s.NumAgents() == 1 })
	if got := agentStatus(s); got != e.status {
		wrong += fmt.Sprintf("status %#x, want %#x\n", got, e.status)
	}
	if got := fetchProgram(g); !strings.HasSuffix(got, errorOf(pdu.ErrNoAgent)) {
		wrong += fmt.Sprintf("later: %s\n", got)
	}
	want := []string{programStarted, `level=ERROR msg="agent died" agent=program domain=30 ` + e.line}
	if diff := gocmp.Diff(want, j.lines()); diff != "" {
		wrong += fmt.Sprintf("log (-want +got):\n%s", diff)
	}
	return wrong
}

// TestAgentLate checks that an agent that does not reply in time is called again after its late
// reply.
func TestAgentLate(t *testing.T) {
	j, log := newLogLines()
	goOn := filepath.Join(t.TempDir(), "go-on")
	s := withTime(t, &Server{Logger: log, Timeout: 100 * time.Millisecond})
	if err := s.StartAgent(programLine("late=" + goOn)); err != nil {
		t.Fatal(err)
	}
	g := collectortest.Connect(t, s)
	if got := fetchProgram(g); got != errorOf(pdu.ErrTimeout) {
		t.Errorf("late: %s", got)
	}
	s.setTimeout(time.Minute) // it is late once only
	if got := fetchProgram(g); got != errorOf(pdu.ErrAgain) {
		t.Errorf("late reply: %s", got)
	}
	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	collectortest.Eventually(t, "recovery", func() bool { return fetchProgram(g) == programValue })
	if got := agentStatus(s); got != 0 {
		t.Errorf("status %d", got)
	}
	want := []string{programStarted, `level=WARN msg="agent did not reply in time; requests fail until the late reply comes" agent=program domain=30 type=RESULT metrics=30.0.1`,
		`level=INFO msg="agent replies again" agent=program domain=30`}
	if diff := gocmp.Diff(want, j.lines()); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// TestAgentRestarts checks that an agent that dies is restarted at once, and after that only when
// the delay is over. Clients get a change for each restart.
func TestAgentRestarts(t *testing.T) {
	t.Parallel()
	j, log := newLogLines()
	s := withTime(t, &Server{Logger: log, restartDelay: 700 * time.Millisecond})
	if err := s.StartAgent(programLine("exits")); err != nil {
		t.Fatal(err)
	}
	a := s.agents.Load().get(programDomain)
	g := collectortest.Connect(t, s)
	var alive, started []time.Time // the last time before each restart, and the first after it
	for range 3 {
		old := a.remote.Load()
		alive = append(alive, time.Now())
		fetchProgram(g)
		collectortest.Eventually(t, "restart", func() bool {
			p := a.remote.Load()
			return p != nil && p != old
		})
		started = append(started, time.Now())
	}
	for i := range started[1:] {
		if d := started[i+1].Sub(alive[i]); d < s.restartDelay { // the delay begins with a start
			t.Errorf("restarted less than %v after the time before", d)
		}
	}
	// The client may have learned of the last end from the fetch that caused it.
	if got := g.Request(pdu.Fetch{PMIDs: []pdu.PMID{programMetric}}); got != "change: add agent,restart agent,drop agent" && got != "change: add agent,restart agent" {
		t.Errorf("told %q", got)
	}
	g.Receive()
	if n := len(j.lines()); n < 7 {
		t.Errorf("%d lines in the log:\n%s", n, strings.Join(j.lines(), "\n"))
	}
}

// TestRestartAgents checks that RestartAgents starts agents that do not run, and that their next
// end is noticed.
func TestRestartAgents(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "agent")
	j, log := newLogLines()
	s := withTime(t, &Server{Logger: log})
	conf := programLine("good")
	conf.Argv = append([]string{program}, conf.Argv...)
	if s.StartAgent(conf) == nil {
		t.Fatal("started")
	}
	if diff := gocmp.Diff([]string{"program"}, s.RestartAgents()); diff != "" {
		t.Error(diff)
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexec \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	g := collectortest.Connect(t, s)
	if got := fetchProgram(g); got != errorOf(pdu.ErrNoAgent) {
		t.Errorf("before: %s", got)
	}
	var both sync.WaitGroup // two calls must not start two processes
	both.Go(func() { s.RestartAgents() })
	both.Go(func() { s.RestartAgents() })
	both.Wait()
	if got, want := fetchProgram(g), "change: add agent,restart agent / "+programValue; got != want {
		t.Errorf("after: %s", got)
	}
	if got := s.RestartAgents(); got != nil {
		t.Errorf("restarted %v again", got)
	}
	old := s.agents.Load().get(programDomain).remote.Load()
	old.cmd.Process.Kill()
	collectortest.Eventually(t, "restart", func() bool {
		p := s.agents.Load().get(programDomain).remote.Load()
		return p != nil && p != old
	})
	lines := j.lines()
	want := []string{programStarted, `level=ERROR msg="agent died" agent=program domain=30 process="signal: killed"`, programStarted}
	if diff := gocmp.Diff(want, lines[max(0, len(lines)-3):]); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// TestStubbornAgent checks that an agent that ignores the end of its input and SIGTERM is killed,
// and that the Server waits for its end.
func TestStubbornAgent(t *testing.T) {
	t.Parallel()
	s := withTime(t, &Server{Grace: 1500 * time.Millisecond})
	pcptest.Retry(t, func() string {
		if err := s.StartAgent(programLine("ignores signals")); err != nil {
			t.Fatal(err)
		}
		p := s.agents.Load().get(programDomain).remote.Load()
		began := time.Now()
		err := s.Remove(programDomain)
		d := time.Since(began)
		if d < 900*time.Millisecond {
			t.Errorf("took %v", d)
		}
		if err != nil || d > 3*time.Second { // a busy machine may take longer
			return fmt.Sprintf("took %v: %v", d, err)
		}
		select {
		case <-p.exited:
		default:
			t.Error("Remove has not waited")
		}
		return ""
	})
	if err := s.Remove(programDomain); err == nil {
		t.Error("removed twice")
	}
	if err := s.Remove(pmcdagent.Domain); err == nil {
		t.Error("removed the collector's own agent")
	}
}

// TestCloseWhileStarting checks that a start in progress does not hold up Close.
func TestCloseWhileStarting(t *testing.T) {
	s := &Server{AgentHelloTimeout: time.Minute}
	started := make(chan error, 1)
	go func() { started <- s.StartAgent(programLine("mute")) }()
	collectortest.Eventually(t, "entry", func() bool { s.init(); return s.agents.Load().get(programDomain) != nil })
	time.Sleep(50 * time.Millisecond)
	began := time.Now()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-started; !errors.Is(err, errClosed) {
		t.Errorf("start: %v", err)
	}
	if d := time.Since(began); d > 30*time.Second {
		t.Errorf("took %v", d)
	}
	if err := s.StartAgent(programLine("good")); !errors.Is(err, errClosed) {
		t.Errorf("start after the end: %v", err)
	}
	if err := s.Add(collectortest.EmptyAgent("late", 9)); !errors.Is(err, errClosed) {
		t.Errorf("add after the end: %v", err)
	}
	if got := s.RestartAgents(); len(got) > 0 && s.agents.Load().get(programDomain).remote.Load() != nil {
		t.Error("restarted after the end")
	}
}

// TestSocketAgents checks agents on sockets of every network, started by the collector or already
// running.
func TestSocketAgents(t *testing.T) {
	path := filepath.Join(pcptest.ShortDir(t), "s")
	port := fmt.Sprint(pcptest.FreePort(t))
	for _, test := range []socketAgent{
		{"unix", "listens=unix:" + path, "unix", path, false},
		{"unix, running", "", "unix", path + "2", true},
		{"inet", "listens=tcp4:localhost:" + port, "inet", port, false},
		{"inet, running", "", "inet", "", true},
		{"unix, in the background", "goes into the background=unix:" + path, "unix", path, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			j, log := newLogLines()
			s := withTime(t, &Server{Logger: log, NoRestart: true})
			hangUp := test.start(t, s)
			g := collectortest.Connect(t, s)
			p := s.agents.Load().get(programDomain).remote.Load()
			background := strings.HasPrefix(test.behavior, "goes")
			if background {
				<-p.exited
				time.Sleep(50 * time.Millisecond)
			}
			if got := fetchProgram(g); got != programValue {
				t.Fatal(got)
			}
			if background {
				return // it ends when the collector closes the connection
			}
			why := ` err="it closed the connection"`
			if p.cmd != nil {
				p.cmd.Process.Kill()
				why = ` process="signal: killed"`
			} else {
				hangUp()
			}
			collectortest.Eventually(t, "end", func() bool {
				if p.cmd == nil && p.Err() == nil {
					fetchProgram(g) // a call notices the agent's end
				}
				return s.NumAgents() == 1
			})
			want := []string{programStarted, `level=ERROR msg="agent died" agent=program domain=30` + why}
			if diff := gocmp.Diff(want, j.lines()); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
			if p.cmd != nil && test.network == "unix" {
				if _, err := os.Stat(path); !os.IsNotExist(err) {
					t.Errorf("socket file: %v", err)
				}
			}
		})
	}
}

// A socketAgent is an agent that listens.
type socketAgent struct {
	name     string
	behavior string // of the program, unless it is running
	network  string
	addr     string
	running  bool // the collector does not start it
}

// start has a Server start an agent or connect to one. hangUp ends an agent that the Server has not
// started.
func (a socketAgent) start(t *testing.T, s *Server) (hangUp func()) {
	t.Helper()
	conf := pmcdconf.Agent{Name: "program", Domain: programDomain, Kind: "socket", Network: a.network, Address: a.addr}
	if a.running {
		conf.Address, hangUp = a.listen(t)
	} else {
		conf.Argv = programArgv(a.behavior)
	}
	if err := s.StartAgent(conf); err != nil {
		t.Fatal(err)
	}
	return hangUp
}

// listen runs an agent in this process, for one connection. It returns its address for pmcd.conf.
func (a socketAgent) listen(t *testing.T) (addr string, hangUp func()) {
	t.Helper()
	network := map[string]string{"unix": "unix", "inet": "tcp4"}[a.network]
	ln, err := net.Listen(network, cmp.Or(a.addr, "localhost:0"))
	if err != nil {
		t.Fatal(err)
	}
	addr = a.addr
	if tcp, ok := ln.Addr().(*net.TCPAddr); ok {
		addr = fmt.Sprint(tcp.Port)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var agent sync.WaitGroup
	agent.Go(func() {
		if conn, err := ln.Accept(); err == nil {
			pmda.Serve(ctx, &collectortest.Agent{Name: "program", Domain: programDomain}, conn)
			conn.Close()
		}
	})
	t.Cleanup(func() { cancel(); ln.Close(); agent.Wait() })
	return addr, cancel
}

// TestProgramOfDSO checks that an agent in a shared object runs as the program beside it, with
// the domain of its line. It continues if the line is the same in a new configuration.
func TestProgramOfDSO(t *testing.T) {
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nprintf '%%s ' \"$@\" >>'%s/args'\nexec env %s=good '%s'\n", dir, programEnv, os.Args[0])
	for _, program := range []string{"pmdaprogram", "pmdaother"} {
		if err := os.WriteFile(filepath.Join(dir, program), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "pmdatext"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "pmdadir"), 0o755); err != nil {
		t.Fatal(err)
	}
	none := func(pdu.Domain) (pmda.Handler, error) { return nil, errors.New("not made here") }
	s := withTime(t, &Server{DSO: map[string]func(pdu.Domain) (pmda.Handler, error){"second_init": none, "first_init": none}})
	line := func(entry, object string) pmcdconf.Agent {
		return pmcdconf.Agent{Name: "program", Domain: programDomain, Kind: "dso", Entry: entry, Path: filepath.Join(dir, object)}
	}
	for i, tt := range []struct {
		pmcdconf.Agent
		program string // a path that is not a program
	}{
		{line("program_init", "pmda_other.so"), ""}, {line("program", "pmda_program.so"), ""}, {line("program_init", "pmda_program"), ""},
		{line("text_init", "pmda_text.so"), "pmdatext"}, {line("dir_init", "pmda_dir.so"), "pmdadir"}, {line("none_init", "pmda_none.so"), "pmdanone"},
	} {
		bad := tt.Agent
		bad.Domain += pdu.Domain(i + 1)
		want := fmt.Sprintf(`collector: start agent "program": no agent in this program has the entry point %q (it knows: first_init, second_init)`, bad.Entry)
		if tt.program != "" {
			want += fmt.Sprintf(", and %s is no program that can run", filepath.Join(dir, tt.program))
		}
		want += fmt.Sprintf(`; a program of the agent needs the line "program %d pipe binary PROGRAM"`, bad.Domain)
		if err := s.StartAgent(bad); err == nil || err.Error() != want {
			t.Errorf("%v: error %v\nwant %s", bad, err, want)
		}
		a := s.agents.Load().get(bad.Domain)
		if a == nil || a.state() != statusNotStart || a.kind != "dso" {
			t.Errorf("%v is not listed as an agent that could not be started", bad)
		}
	}
	if names := s.RestartAgents(); len(names) != 6 {
		t.Errorf("tried to start %q again", names)
	}
	good := line("program_init", "pmda_program.so")
	if err := s.StartAgent(good); err != nil {
		t.Fatal(err)
	}
	process := s.agents.Load().get(programDomain).remote.Load()
	if err := s.Configure(&pmcdconf.Config{Agents: []pmcdconf.Agent{good}}); err != nil {
		t.Fatal(err)
	}
	if s.agents.Load().get(programDomain).remote.Load() != process {
		t.Error("the same configuration has started the agent again")
	}
	if got := fetchProgram(collectortest.Connect(t, s)); got != programValue {
		t.Errorf("fetched %s", got)
	}
	if args, err := os.ReadFile(filepath.Join(dir, "args")); string(args) != "-d 30 -l program.log " {
		t.Errorf("the program was started with %q, %v", args, err)
	}
}

// TestConfigure checks that Configure keeps agents whose lines are the same, ends those whose
// lines were removed or changed, starts new ones and those that have died, and leaves agents in
// this process alone.
func TestConfigure(t *testing.T) {
	line := func(name string, d pdu.Domain, behavior string) pmcdconf.Agent {
		return pmcdconf.Agent{Name: name, Domain: d, Kind: "pipe", Argv: programArgv(behavior)}
	}
	j, log := newLogLines()
	s := withTime(t, &Server{Logger: log, NoRestart: true, DSO: map[string]func(pdu.Domain) (pmda.Handler, error){
		"inner_init": func(d pdu.Domain) (pmda.Handler, error) { return &collectortest.Agent{Name: "inner", Domain: d}, nil },
	}})
	collectortest.Add(t, s, &collectortest.Agent{Name: "added", Domain: 40})
	dso := pmcdconf.Agent{Name: "inner", Domain: 35, Kind: "dso", Entry: "inner_init"}
	pids := func() map[pdu.Domain]int {
		pids := map[pdu.Domain]int{}
		for _, a := range s.agents.Load().list {
			if p := a.remote.Load(); p != nil {
				pids[a.domain()] = p.cmd.Process.Pid
			} else if a.local != nil {
				pids[a.domain()] = 0
			}
		}
		return pids
	}
	if err := s.Configure(&pmcdconf.Config{Agents: []pmcdconf.Agent{line("same", 30, "good"), line("changes", 31, "good"), line("goes", 32, "good"),
		line("dies", 33, "good"), dso}}); err != nil {
		t.Fatal(err)
	}
	before := pids()
	g := collectortest.Connect(t, s)
	s.agents.Load().get(33).remote.Load().cmd.Process.Kill()
	collectortest.Eventually(t, "death", func() bool { return s.agents.Load().get(33).remote.Load() == nil })
	err := s.Configure(&pmcdconf.Config{Agents: []pmcdconf.Agent{line("renamed", 30, "good"), line("changes", 31, "late"), line("dies", 33, "good"),
		line("new", 34, "good"), line("clashes", 40, "good"), {Name: "unknown", Domain: 41, Kind: "dso", Entry: "nobody_init"}}})
	const want = `collector: start agent "clashes": domain 40 is that of agent "added"` + "\n" +
		`collector: start agent "unknown": no agent in this program has the entry point "nobody_init" (it knows: inner_init); a program of the agent needs the line "unknown 41 pipe binary PROGRAM"`
	if err == nil || err.Error() != want {
		t.Errorf("error %v\nwant  %v", err, want)
	}
	after := pids()
	if before[30] != after[30] {
		t.Error("an agent that is the same was started again")
	}
	if got := s.agents.Load().get(30).name(); got != "renamed" {
		t.Errorf("an agent that has another name goes on as %q", got)
	}
	for _, d := range []pdu.Domain{31, 33} {
		if before[d] == after[d] || after[d] == 0 {
			t.Errorf("agent of domain %d: process %d, then %d", d, before[d], after[d])
		}
	}
	var domains []pdu.Domain
	for d := range pdu.Domain(50) {
		if _, ok := after[d]; ok {
			domains = append(domains, d)
		}
	}
	if diff := gocmp.Diff([]pdu.Domain{2, 30, 31, 33, 34, 40}, domains); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	if got, want := fetchProgram(g), "change: add agent,restart agent,drop agent / "+programValue; got != want {
		t.Errorf("told %s", got)
	}
	var unconfigured int
	for _, l := range j.lines() {
		if strings.Contains(l, `msg="agent unconfigured"`) {
			unconfigured++
		}
	}
	if unconfigured != 3 {
		t.Errorf("%d agents unconfigured:\n%s", unconfigured, strings.Join(j.lines(), "\n"))
	}
}

// TestChangesAtOnce makes all kinds of changes of agents concurrently, while clients send requests.
// Nothing may be lost, deadlock or remain.
func TestChangesAtOnce(t *testing.T) {
	t.Parallel()
	s := &Server{restartDelay: 10 * time.Millisecond, Grace: 20 * time.Second}
	s.init() // the test looks at fields
	good := programLine("good")
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	var all sync.WaitGroup
	loop := func(f func()) {
		all.Go(func() {
			for ctx.Err() == nil {
				f()
			}
		})
	}
	loop(func() { s.Configure(&pmcdconf.Config{Agents: []pmcdconf.Agent{good}}) })
	loop(func() { s.Configure(&pmcdconf.Config{}) })
	loop(func() { s.RestartAgents(); time.Sleep(time.Millisecond) })
	loop(func() { s.Remove(programDomain); s.StartAgent(good) })
	loop(func() {
		if a := s.agents.Load().get(programDomain); a != nil {
			if p := a.remote.Load(); p != nil {
				p.cmd.Process.Kill()
			}
		}
		time.Sleep(20 * time.Millisecond)
	})
	for range 4 {
		all.Go(func() {
			for ctx.Err() == nil {
				g := collectortest.Connect(t, s)
				for range 10 {
					fetchProgram(g)
				}
				g.Net.Close()
			}
		})
	}
	all.Wait()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestRemoveWhileStarting checks that Remove also waits for the process of an agent that is being
// started.
func TestRemoveWhileStarting(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	s := collectortest.CloseAtEnd(t, &Server{AgentHelloTimeout: time.Minute})
	s.init()
	started := make(chan error, 1)
	// It sends nothing, and takes a moment to end.
	argv := []string{"/bin/sh", "-c", "echo $$ >" + file + ".new; mv " + file + ".new " + file + "; cat; sleep 0.2"}
	go func() {
		started <- s.StartAgent(pmcdconf.Agent{Name: "program", Domain: programDomain, Kind: "pipe", Argv: argv})
	}()
	collectortest.Eventually(t, "process", func() bool { _, err := os.Stat(file); return err == nil })
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	a := s.agents.Load().get(programDomain)
	if err := s.Remove(programDomain); err != nil {
		t.Error(err)
	}
	if p, err := os.FindProcess(pid); err == nil && p.Signal(syscall.Signal(0)) == nil {
		t.Error("the process outlives the agent")
	}
	if err := <-started; !errors.Is(err, errClosed) {
		t.Errorf("start: %v", err)
	}
	os.Remove(file)
	s.relaunch(a) // like a RestartAgents that listed the agents earlier
	if _, err := os.Stat(file); err == nil {
		t.Error("an agent that has been removed was started again")
	}
}

// TestTimeoutWhileStarting checks that a timeout that is set while an agent starts applies to the
// agent.
func TestTimeoutWhileStarting(t *testing.T) {
	path := filepath.Join(pcptest.ShortDir(t), "socket")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	s := withTime(t, &Server{Timeout: 100 * time.Millisecond})
	s.init()
	started := make(chan error, 1)
	go func() {
		started <- s.StartAgent(pmcdconf.Agent{Name: "program", Domain: programDomain, Kind: "socket", Network: "unix", Address: path})
	}()
	conn, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	time.Sleep(50 * time.Millisecond) // it waits for the hello
	s.setTimeout(time.Minute)
	slow := &collectortest.Agent{Name: "program", Domain: programDomain, Failing: func() error { time.Sleep(300 * time.Millisecond); return nil }}
	go pmda.Serve(t.Context(), slow, conn)
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	if got := fetchProgram(collectortest.Connect(t, s)); got != programValue {
		t.Errorf("fetch: %s", got)
	}
}

// TestReapedByAnother checks agents in a program that reaps all children. The program may collect
// the exit status of an agent's process, and then the status is unknown.
func TestReapedByAnother(t *testing.T) {
	s := collectortest.CloseAtEnd(t, &Server{})
	for _, kind := range []string{"pipe", "socket"} {
		near, far := net.Pipe()
		go func() {
			pmda.Serve(t.Context(), collectortest.EmptyAgent("program", programDomain), far)
			far.Close()
		}()
		r, err := remote.New(t.Context(), pmda.Info{Name: "program", Domain: programDomain}, near, remote.Config{})
		if err != nil {
			t.Fatal(err)
		}
		p := &process{Agent: r, stream: near, cmd: exec.Command("none"), exited: make(chan struct{})}
		close(p.exited) // and no ProcessState
		s.init()
		a := &agent{kind: kind, conf: pmcdconf.Agent{Name: "program", Domain: programDomain}}
		a.setName("program")
		a.ctx, a.cancel = context.WithCancel(t.Context())
		if kind == "socket" { // as if it had moved to the background
			time.AfterFunc(50*time.Millisecond, a.cancel)
		}
		if gone := a.waitForEnd(p); gone != (kind == "pipe") {
			t.Errorf("%v: gone is %v", kind, gone)
		}
		s.cleanUp(a, p)
		if got := a.status.Load(); got != statusExited|statusProtocol && got != statusExited {
			t.Errorf("%v: status %#x", kind, got)
		}
	}
}

// TestPMCDFenceOfDead checks that a fence ends with the process of the agent. An agent that does
// not run cannot be fenced.
func TestPMCDFenceOfDead(t *testing.T) {
	b := NewFixture(t, &Server{NoRestart: true})
	if err := b.StartAgent(programLine("good")); err != nil {
		t.Fatal(err)
	}
	a := b.agents.Load().get(programDomain)
	b.Store("agent.fenced", 1)
	b.Want("agent.fenced", "pmcd 0", "program 1")
	a.remote.Load().cmd.Process.Kill()
	collectortest.Eventually(t, "death", func() bool { return a.remote.Load() == nil })
	collectortest.Eventually(t, "end of the fence", func() bool { return !a.fenced.Load() })
	b.Store("agent.fenced", 1)
	if _, err := a.handlerFor(false); err != pdu.ErrNoAgent {
		t.Errorf("a fenced agent that is dead is called: %v", err)
	}
}

// TestPMCDAgentRenamed checks that an agent that the configuration renames is an instance of the
// new name.
func TestPMCDAgentRenamed(t *testing.T) {
	b := NewFixture(t, &Server{})
	line := programLine("good")
	for _, name := range []string{"before", "after"} {
		line.Name = name
		if err := b.Configure(&pmcdconf.Config{Agents: []pmcdconf.Agent{line}}); err != nil {
			t.Fatal(err)
		}
		b.Want("agent.name", "pmcd pmcd", name+" "+name)
	}
}
