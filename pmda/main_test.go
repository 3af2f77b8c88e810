package pmda_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/pdutest"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/override"
)

// clockAgent is an agent for programs: one metric, one instance domain, texts.
func clockAgent() *pmda.Agent {
	a := &pmda.Agent{Name: "clock", Domain: 251}
	hands := a.AddInDom("hand", "hour", "minute")
	hands.Text, hands.Help = "hands of the clock", "What turns."
	pmda.Register(a, pmda.Metric[uint64]{
		Name: "clock.angle", Text: "where the hands are", Help: "In degrees.", InDom: hands,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { return 90, nil },
	})
	return a
}

const clockUsage = `Usage: clock [options]

Options:
  -d NUM, --domain=NUM  use domain (numeric) for metrics domain of PMDA
  -l FILE, --log=FILE   write log to FILE rather than using default log name
  -U USER, --username=USER
                        run the PMDA using the named user account
  -?, --help            show this usage message and exit
`

const socketUsage = `
Exactly one of the following options may appear:
  -i PORT, --inet=PORT  pmcd IPv4 connection service name or numeric port
  -p, --pipe            use a pipe for communication with pmcd
  -u FILE, --unix=FILE  use a unix domain socket for communication with pmcd
  -6 PORT, --ipv6=PORT  pmcd IPv6 connection service name or numeric port
`

const stayUsage = `
Option for agents on sockets, which no C agent has:
  --stay                serve the next collector when one has gone
`

const installUsage = `
Installation options, for use without a collector:
  --install=DIR         copy this program and Install to DIR, named as the agent
  --print=FILE          print pmns, root, help, domain.h, Install or Remove
`

// TestRunRefuses checks wrong command lines. The messages are those of C agents; TestOptionsOfC
// compares them.
func TestRunRefuses(t *testing.T) {
	all := clockUsage + socketUsage + stayUsage + installUsage
	more := strings.Replace(clockUsage, "  -l FILE", "  -h FILE, --helpfile=FILE\n                        read help texts from FILE\n  -l FILE", 1)
	more = strings.Replace(more, "  -U USER", "  -n NAME, --name=NAME  call it so\n  -U USER", 1) + installUsage
	instead := strings.Replace(clockUsage, "-U USER, --username=USER\n                        run the PMDA using the named user account",
		"-U UNITS              use other units", 1) + installUsage
	tests := []struct {
		name   string
		daemon pmda.Daemon
		args   string
		want   string
	}{
		{"help", pmda.Daemon{}, "-?", all},
		{"long help", pmda.Daemon{}, "--help", all},
		{"pipe only", pmda.Daemon{PipeOnly: true}, "-?", clockUsage + installUsage},
		{"pipe only, socket", pmda.Daemon{PipeOnly: true}, "-i 3", "clock: invalid option -- 'i'\n" + clockUsage + installUsage},
		{"more options", pmda.Daemon{PipeOnly: true, HelpOption: true, Options: []pmda.Option{{Short: 'n', Long: "name", Arg: "NAME", Help: "call it so"}}}, "-?", more},
		{"debug option of its own", pmda.Daemon{PipeOnly: true, Options: []pmda.Option{{Short: 'D', Long: "debug", Arg: "SPEC"}}}, "--d",
			"clock: option '--d' is ambiguous; possibilities: '--debug' '--domain'\n" + clockUsage + installUsage},
		{"option instead", pmda.Daemon{PipeOnly: true, Options: []pmda.Option{{Short: 'U', Arg: "UNITS", Help: "use other units"}}}, "-?", instead},
		{"no help file", pmda.Daemon{}, "-h x", "clock: invalid option -- 'h'\n" + all},
		{"bad domain", pmda.Daemon{}, "-d 12x", "clock: -d requires numeric domain number\n" + all},
		{"domain out of range", pmda.Daemon{}, "-d 511", "clock: -d domain 511 out of range (0..510)\n" + all},
		{"bad debug", pmda.Daemon{}, "-D pdu,nosuch", "clock: unrecognized debug options specification (pdu,nosuch)\n" + all},
		{"clashes", pmda.Daemon{}, "-p -u x -i 3 -6 4", "clock: -u option clashes with -p option\nclock: -i option clashes with -p option\n" +
			"clock: -6 option clashes with -p option\n" + all},
		{"option refuses", pmda.Daemon{Options: []pmda.Option{{Long: "x", Set: func(string) error { return errors.New("not that") }}}}, "--x", "clock: not that\n" + all},
		{"operands refused", pmda.Daemon{Operands: func(args []string) error { return fmt.Errorf("no place for %q", args) }}, "a -D pdu b",
			`clock: no place for ["a" "b"]` + "\n" + all},
		{"print nothing", pmda.Daemon{}, "--print=", "clock: --print requires the name of a file\n" + all},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := tt.daemon
			d.Agent = clockAgent()
			var out, errs strings.Builder
			status := d.Run(t.Context(), append([]string{"/x/clock"}, strings.Fields(tt.args)...), strings.NewReader(""), &out, &errs)
			if status != 1 || out.Len() > 0 {
				t.Errorf("status %d, output %q", status, &out)
			}
			if diff := cmp.Diff(tt.want, errs.String()); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

// line returns a log line without the parts that differ between runs.
func line(level, text string) string { return "[DATE] clock(PID) " + level + ": " + text + "\n" }

var linePrefix = regexp.MustCompile(`(?m)^\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d\] clock\(\d+\)`)

func plainLog(s string) string { return linePrefix.ReplaceAllString(s, "[DATE] clock(PID)") }

// TestRunFails checks failures after a correct command line.
func TestRunFails(t *testing.T) {
	dir := pcptest.ShortDir(t)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	bad := clockAgent()
	pmda.Register(bad, pmda.Metric[int32]{Name: "clock.angle"})
	tests := []struct {
		name   string
		agent  *pmda.Agent
		args   string
		status int
		want   string // regular expression
	}{
		{"registration", bad, "", 1, `Critical: pmda: agent clock: .*`},
		{"nobody there", clockAgent(), "", 0, `Critical: pmda: version exchange with the collector: .*EOF`},
		{"unknown user", clockAgent(), "-U no-such-user", 1, `Critical: .*no-such-user.*`},
		{"unknown service", clockAgent(), "-i no-such-service", 1, `Critical: -i no-such-service: .*`},
		{"port out of range", clockAgent(), "-6 65536", 1, `Critical: -6 65536: port 65536 out of range \(0..65535\)`},
		{"socket in the way", clockAgent(), "-u " + file, 1, `Critical: -u .*/file: the file exists and is not a socket`},
		{"socket nowhere", clockAgent(), "-u " + file + "/x", 1, `Critical: -u: .*`},
		{"no such file to print", clockAgent(), "--print nosuch", 1,
			`Critical: --print nosuch: there is no such file, only domain.h, pmns, root, help, Install, Remove`},
		{"directory of another name", clockAgent(), "--install " + dir, 1, `Critical: --install .*: PCP's scripts want the directory to be called clock`},
		{"no room to install", clockAgent(), "--install " + file + "/clock", 1, `Critical: mkdir .*`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out, errs strings.Builder
			d := pmda.Daemon{Agent: tt.agent}
			status := d.Run(t.Context(), append([]string{"clock"}, strings.Fields(tt.args)...), strings.NewReader(""), &out, &errs)
			if status != tt.status {
				t.Errorf("status %d, want %d", status, tt.status)
			}
			re := regexp.MustCompile(`^\[DATE\] clock\(PID\) ` + tt.want + `\n$`)
			if got := plainLog(errs.String()); !re.MatchString(got) {
				t.Errorf("messages %q, want %s", got, re)
			}
		})
	}
}

// running is a Daemon's run.
type running struct {
	t      *testing.T
	cancel context.CancelFunc
	status chan int
	stderr pcptest.LogBuffer
}

// run runs a Daemon with arguments.
func run(t *testing.T, d *pmda.Daemon, stdin io.Reader, stdout io.Writer, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, cancel: cancel, status: make(chan int, 1)}
	go func() { r.status <- d.Run(ctx, append([]string{"clock"}, args...), stdin, stdout, &r.stderr) }()
	t.Cleanup(cancel)
	return r
}

func (r *running) end(want int) {
	r.t.Helper()
	select {
	case got := <-r.status:
		if got != want {
			r.t.Errorf("status %d, want %d; log:\n%s", got, want, r.stderr.Take())
		}
	case <-time.After(time.Minute):
		r.t.Fatal("Run does not end")
	}
}

// hello returns the peer of an agent at the other end of rw.
func hello(t *testing.T, rw io.ReadWriter) *peer {
	t.Helper()
	return newPeer(t, &pdutest.Peer{Conn: pdu.NewConn(rw)})
}

func (p *peer) domain() pdu.Domain {
	p.t.Helper()
	for d := range pdu.MaxDomain {
		if r, ok := p.request(0, pdu.DescReq{PMID: pdu.MakePMID(d, 0, 0)}).(*pdu.DescReply); ok {
			return r.Desc.InDom.Domain()
		}
	}
	return -1
}

type pipes struct {
	io.Reader
	io.Writer
}

func TestRunPipe(t *testing.T) {
	in, toAgent := io.Pipe()
	fromAgent, out := io.Pipe()
	r := run(t, &pmda.Daemon{Agent: clockAgent()}, in, out, "-p", "-d", "17", "operands", "do not matter")
	p := hello(t, pipes{fromAgent, toAgent})
	if d := p.domain(); d != 17 {
		t.Errorf("the domain is %d", d)
	}
	toAgent.Close()
	r.end(0)
	if s := r.stderr.Take(); s != "" {
		t.Errorf("log %q", s)
	}
}

// An extended is a Handler that serves in place of the Agent.
type extended struct{ *pmda.Agent }

func (extended) Text(context.Context, *pmda.Request, pdu.TextTarget, pdu.TextKind) (string, error) {
	return "extended", nil
}

func TestRunHandler(t *testing.T) {
	in, toAgent := io.Pipe()
	fromAgent, out := io.Pipe()
	a := clockAgent()
	r := run(t, &pmda.Daemon{Agent: a, Handler: extended{a}}, in, out)
	p := hello(t, pipes{fromAgent, toAgent})
	if diff := cmp.Diff(encoded(t, pdu.TextReply{Text: "extended"}), encoded(t, p.request(0, pdu.TextReq{Text: pdu.TextPMID}))); diff != "" {
		t.Error(diff)
	}
	toAgent.Close()
	r.end(0)
}

// TestRunStart checks that the work of Daemon.Start begins before the agent serves, and has ended
// when Run returns.
func TestRunStart(t *testing.T) {
	in, toAgent := io.Pipe()
	fromAgent, out := io.Pipe()
	var events []string
	d := &pmda.Daemon{Agent: clockAgent(), Start: func(ctx context.Context) (func(), error) {
		events = append(events, "started")
		return func() {
			<-ctx.Done()
			events = append(events, "ended")
		}, nil
	}}
	r := run(t, d, in, out)
	hello(t, pipes{fromAgent, toAgent})
	toAgent.Close()
	r.end(0)
	if diff := cmp.Diff([]string{"started", "ended"}, events); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d.Start = func(context.Context) (func(), error) { return nil, errors.New("no room") }
	r = run(t, d, strings.NewReader(""), io.Discard)
	r.end(1)
	if got := r.stderr.Take(); !strings.Contains(got, "Critical: no room") {
		t.Errorf("log %q", got)
	}
}

func TestRunSockets(t *testing.T) {
	path := filepath.Join(pcptest.ShortDir(t), "s")
	for range 2 { // the second time it is there already
		r := run(t, &pmda.Daemon{Agent: clockAgent()}, nil, nil, "-u", path)
		c := dial(t, "unix", path)
		st, err := os.Stat(path)
		if err != nil || st.Mode().Perm() != 0o660 && os.PathSeparator == '/' {
			t.Errorf("%v, mode %v, want 0660", err, st.Mode())
		}
		p := hello(t, c)
		if d := p.domain(); d != 251 {
			t.Errorf("the domain is %d", d)
		}
		if c2, err := net.Dial("unix", path); err == nil {
			t.Error("a second collector can connect")
			c2.Close()
		}
		c.Close()
		r.end(0)
	}
	for option, network := range map[string]string{"-i": "tcp4", "-6": "tcp6"} {
		t.Run(network, func(t *testing.T) {
			if ln, err := net.Listen(network, "localhost:0"); err != nil {
				t.Skip(err)
			} else {
				ln.Close()
			}
			r := run(t, &pmda.Daemon{Agent: clockAgent()}, nil, nil, option, "0")
			address := r.listens()
			c := dial(t, network, address)
			hello(t, c).domain()
			c.Close()
			r.end(0)
		})
	}
}

// TestStay checks that an agent with --stay on a socket serves one collector after the other until
// its context ends.
func TestStay(t *testing.T) {
	path := filepath.Join(pcptest.ShortDir(t), "s")
	r := run(t, &pmda.Daemon{Agent: clockAgent()}, nil, nil, "--stay", "-u", path)
	for range 3 {
		c := dial(t, "unix", path)
		if d := hello(t, c).domain(); d != 251 {
			t.Errorf("the domain is %d", d)
		}
		c.Close()
	}
	dial(t, "unix", path).Close() // without a version exchange
	c := dial(t, "unix", path)
	hello(t, c).domain()
	r.cancel()
	r.end(0)
}

// TestRunSocketInUse starts an agent whose socket another agent uses. The new agent fails, and the
// other is not disturbed.
func TestRunSocketInUse(t *testing.T) {
	path := filepath.Join(pcptest.ShortDir(t), "s")
	first := run(t, &pmda.Daemon{Agent: clockAgent()}, nil, nil, "-u", path)
	await(t, "a socket", func() bool { _, err := os.Stat(path); return err == nil })
	var errs strings.Builder
	second := pmda.Daemon{Agent: clockAgent()}
	if status := second.Run(t.Context(), []string{"clock", "-u", path}, nil, nil, &errs); status != 1 ||
		!strings.Contains(errs.String(), "Critical: -u "+path+": another program listens on the socket: end it, or give this one another name") {
		t.Errorf("status %d, %s", status, &errs)
	}
	c := dial(t, "unix", path)
	if d := hello(t, c).domain(); d != 251 {
		t.Errorf("the domain is %d", d)
	}
	c.Close()
	first.end(0)
}

// listens waits for the address in the log.
func (r *running) listens() string {
	r.t.Helper()
	var address string
	await(r.t, "where it listens", func() (ok bool) {
		_, address, ok = strings.Cut(r.stderr.Take(), "Info: listens on ")
		return ok
	})
	return strings.TrimSpace(address)
}

// await waits for an effect of another goroutine.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// dial connects to an address. It retries until something listens there.
func dial(t *testing.T, network, address string) net.Conn {
	t.Helper()
	var c net.Conn
	await(t, "somebody at "+address, func() (ok bool) {
		var err error
		c, err = net.Dial(network, address)
		return err == nil
	})
	t.Cleanup(func() { c.Close() })
	return c
}

// TestRunCancel checks that Run ends with its context wherever it waits.
func TestRunCancel(t *testing.T) {
	path := filepath.Join(pcptest.ShortDir(t), "s")
	t.Run("accept", func(t *testing.T) {
		r := run(t, &pmda.Daemon{Agent: clockAgent()}, nil, nil, "-i", "0")
		r.listens()
		r.cancel()
		r.end(0)
	})
	t.Run("hello", func(t *testing.T) {
		r := run(t, &pmda.Daemon{Agent: clockAgent()}, nil, nil, "-u", path)
		dial(t, "unix", path)
		r.cancel()
		r.end(0)
	})
	t.Run("serve", func(t *testing.T) {
		r := run(t, &pmda.Daemon{Agent: clockAgent()}, nil, nil, "-u", path)
		hello(t, dial(t, "unix", path))
		r.cancel()
		r.end(0)
	})
}

func TestRunLog(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "clock.log")
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"-Dpdu", "-U", me.Username}, {"-l", path}} {
		d := pmda.Daemon{Agent: clockAgent(), Log: path}
		r := run(t, &d, bytes.NewReader(nil), io.Discard, args...)
		r.end(0)
		if s := r.stderr.Take(); s != "" {
			t.Errorf("standard error got %q", s)
		}
	}
	date := `\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}`
	eof := regexp.QuoteMeta(line("Critical", "pmda: version exchange with the collector: pdu: hello: EOF"))
	for name, text := range map[string]string{
		path:           eof,
		path + ".prev": `\[DATE\] clock\(PID\) Debug: Xmit: CREDS PDU, pipe, len=20, from=\d+, body=0000000101020000\n` + eof,
	} {
		b, err := os.ReadFile(name)
		re := regexp.MustCompile(`^Log for clock on \S+ started ` + date + `\n\n` + text + `\nLog finished ` + date + `\n$`)
		if got := plainLog(string(b)); err != nil || !re.MatchString(got) {
			t.Errorf("%s: %v, %q", name, err, got)
		}
	}
	// If the log file cannot be written, the log is standard error.
	d := pmda.Daemon{Agent: clockAgent()}
	r := run(t, &d, bytes.NewReader(nil), io.Discard, "-l", filepath.Join(dir, "no/such"))
	r.end(0)
	want := fmt.Sprintf("clock: cannot open log %q for writing : No such file or directory\n", filepath.Join(dir, "no/such"))
	if got := r.stderr.Take(); !strings.HasPrefix(got, want+"Log for clock on ") || !strings.Contains(got, "EOF") {
		t.Errorf("standard error got %q, want %q first", got, want)
	}
}

// TestRunLogToStderr: standard error as a log starts and ends like a file.
func TestRunLogToStderr(t *testing.T) {
	d := pmda.Daemon{Agent: clockAgent(), Log: "clock.log"}
	r := run(t, &d, bytes.NewReader(nil), io.Discard, "-l", "-")
	r.end(0)
	re := regexp.MustCompile(`^Log for clock on \S+ started .*\n\n` +
		regexp.QuoteMeta(line("Critical", "pmda: version exchange with the collector: pdu: hello: EOF")) + `\nLog finished .*\n$`)
	if got := plainLog(r.stderr.Take()); !re.MatchString(got) {
		t.Errorf("standard error got %q, want %s", got, re)
	}
}

// TestHelpWidth: the lines of the usage message fit a terminal of 80 columns.
func TestHelpWidth(t *testing.T) {
	var errs strings.Builder
	d := pmda.Daemon{Agent: clockAgent(), HelpOption: true}
	d.Run(t.Context(), []string{"clock", "-?"}, nil, nil, &errs)
	if !strings.Contains(errs.String(), "--install") {
		t.Errorf("no usage message: %q", &errs)
	}
	for line := range strings.SplitSeq(errs.String(), "\n") {
		if len(line) > 80 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}

func TestRunHelpFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "help")
	source := `# a comment
text before the first entry
@ clock.angle  one  line 
full text

# a comment inside
second line


@ 251.7.8	numeric
@ CLOCK.0
only full
@ 251.9 other domain
`
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	in, toAgent := io.Pipe()
	fromAgent, out := io.Pipe()
	r := run(t, &pmda.Daemon{Agent: clockAgent(), HelpOption: true}, in, out, "-h", path)
	p := hello(t, pipes{fromAgent, toAgent})
	id, hands := uint32(pdu.MakePMID(251, 0, 0)), uint32(pdu.MakeInDom(251, 0))
	tests := []struct {
		ident uint32
		kind  pdu.TextKind
		want  string
	}{
		{id, pdu.TextPMID | pdu.TextOneLine, "one  line "},
		{id, pdu.TextPMID | pdu.TextHelp, "full text\n\nsecond line"},
		{uint32(pdu.MakePMID(251, 7, 8)), pdu.TextPMID | pdu.TextOneLine, "numeric"},
		{uint32(pdu.MakePMID(251, 7, 8)), pdu.TextPMID | pdu.TextHelp, ""},
		{hands, pdu.TextInDom | pdu.TextOneLine, ""},
		{hands, pdu.TextInDom | pdu.TextHelp, "only full"},
		{uint32(pdu.MakeInDom(251, 9)), pdu.TextInDom | pdu.TextOneLine, "other domain"},
		{id, pdu.TextInDom | pdu.TextHelp, "only full"}, // the same number
		{uint32(pdu.MakePMID(251, 7, 9)), pdu.TextPMID | pdu.TextOneLine, "!"},
	}
	for _, tt := range tests {
		want := encoded(t, pdu.TextReply{Ident: tt.ident, Text: tt.want})
		if tt.want == "!" {
			want = pdu.ErrText.Error()
		}
		if diff := cmp.Diff(want, encoded(t, p.request(0, pdu.TextReq{Ident: tt.ident, Text: tt.kind}))); diff != "" {
			t.Errorf("text %v of %x (-want +got):\n%s", tt.kind, tt.ident, diff)
		}
	}
	toAgent.Close()
	r.end(0)
	for text, want := range map[string]string{
		"":                   `Warning: PMDA clock: Unable to open help text file(s) from "PATH": No such file or directory`,
		"@ clock.nosuch x\n": `Warning: help texts left out agent=clock file=PATH err="[help:1] clock.nosuch: Unknown metric name, entry abandoned"`,
	} {
		os.Remove(path)
		if text != "" {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		r := run(t, &pmda.Daemon{Agent: clockAgent(), HelpOption: true}, bytes.NewReader(nil), io.Discard, "-h", path)
		r.end(0)
		if got := strings.ReplaceAll(r.stderr.Take(), path, "PATH"); !strings.Contains(strings.ReplaceAll(got, "PATH:1", "help:1"), want) {
			t.Errorf("log %q, want %q", got, want)
		}
	}
}

// TestOptionsOfC compares the messages about command lines with those of PCP's agent simple.
func TestOptionsOfC(t *testing.T) {
	dir, program := pcptest.BuildAgent(t, "simple")
	for _, args := range []string{"-?", "--help", "-d", "-d abc", "-d 12x", "-x", "--foo", "--foo=3", "--do", "--in", "--u", "--pi=3", "--help=3",
		"-p -i 3333", "-i 3333 -u x", "-p -u x -i 3 -6 4", "-D nosuch", "-Dpdu,nosuch,foo", "-h help", "-d abc -i 3 -p --foo", "extra -d abc",
		"-? -x", "-pd", "-l", "-U", "-i", "-u", "-6", "-D", "--domain", "--unix", "--ipv6", "--username", "-d ", "-d 0x10", "-d -", "--domain=1x", "-D pdu -D nosuch",
		"-D 0x1", "--debug=pdu,,fetch", "--debug nosuch", "-6 4 -6 5 -i 6 -d x", "--inet=1 --unix=x --pipe", "-V", "--help-text", "--helptext=3", "-hx",
		"-xyz", "--log", "--d", "--i=3 -p", "-p -p -d q", "-u a -u b -p", "-dabc", "-i"} {
		argv := strings.Fields(args)
		out, want, status := pcptest.RunIn(t, t.TempDir(), []string{"PCP_PMDAS_DIR=" + filepath.Dir(dir)}, "", append([]string{program}, argv...)...)
		var errs strings.Builder
		d := pmda.Daemon{Agent: &pmda.Agent{Name: "simple", Domain: 253}}
		got := d.Run(t.Context(), append([]string{"pmdasimple"}, argv...), strings.NewReader(""), io.Discard, &errs)
		if out != "" || status != got {
			t.Errorf("%s: status %d, want %d (%q)", args, got, status, out)
		}
		if diff := cmp.Diff(want, strings.TrimSuffix(errs.String(), stayUsage+installUsage)); diff != "" {
			t.Errorf("%s (-C +Go):\n%s", args, diff)
		}
	}
}

// asProcess in the environment makes this test binary an agent.
const asProcess = "PMDA_TEST_AGENT"

// processArgs in the environment are further arguments of that agent.
const processArgs = "PMDA_TEST_AGENT_ARGS"

// TestAgentProcess is no test but the agent that TestMainProcess starts.
func TestAgentProcess(t *testing.T) {
	if os.Getenv(asProcess) == "" {
		t.Skip("the process that TestMainProcess starts")
	}
	a := clockAgent()
	o := override.In(a)
	o.Desc = func(context.Context, *pmda.Request, pdu.PMID) (pdu.Desc, error) {
		fmt.Println("printed by mistake")
		fmt.Fprintln(os.Stderr, "an error")
		n, err := os.Stdin.Read(make([]byte, 10))
		fmt.Println("input", n, err)
		child := exec.Command("echo", "a child")
		child.Stdout, child.Stderr, child.Stdin = os.Stdout, os.Stderr, os.Stdin
		return pdu.Desc{}, errors.Join(child.Run(), pdu.ErrPMID)
	}

	o.Text = func(context.Context, *pmda.Request, pdu.TextTarget, pdu.TextKind) (string, error) {
		fmt.Println("it hangs")
		time.Sleep(time.Hour)
		return "", nil
	}
	os.Args = append([]string{os.Args[0], "-l", os.Getenv(asProcess)}, strings.Fields(os.Getenv(processArgs))...)
	pmda.Main(a)
}

// startAgent starts this test binary as an agent that logs to a file.
func startAgent(t *testing.T, log string) (*exec.Cmd, *peer, io.Closer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestAgentProcess$")
	cmd.Env = append(os.Environ(), asProcess+"="+log)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	return cmd, hello(t, pipes{out, in}), in
}

// TestMainProcess checks the effects of Main on its process.
func TestMainProcess(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals, and standard input cannot be interrupted")
	}
	log := filepath.Join(t.TempDir(), "clock.log")
	t.Run("end of input", func(t *testing.T) {
		cmd, p, in := startAgent(t, log)
		if got := encoded(t, p.request(0, pdu.DescReq{})); got != pdu.ErrPMID.Error() {
			t.Errorf("reply %q", got)
		}
		if got := encoded(t, p.request(0, pdu.DescReq{})); got != pdu.ErrPMID.Error() {
			t.Errorf("second reply %q", got)
		}
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		b, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(string(b), "\n\n")
		text, _, _ = strings.Cut(text, "\nLog finished")
		if os.Geteuid() == 0 && !pcptest.Has(t, "user pcp") {
			line, rest, _ := strings.Cut(text, "\n")
			if !strings.HasSuffix(line, " Warning: stays root: there is no user pcp") {
				t.Errorf("no warning: %q", line)
			}
			text = rest
		}
		want := strings.Repeat("printed by mistake\nan error\ninput 0 EOF\na child\n", 2)
		if diff := cmp.Diff(want, text); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
	t.Run("signals", func(t *testing.T) {
		for _, sig := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
			if signal.Ignored(sig) {
				continue // also by the agent, as of a shell's job in the background
			}
			cmd, p, _ := startAgent(t, log)
			if err := cmd.Process.Signal(syscall.SIGHUP); err != nil { // does not matter
				t.Fatal(err)
			}
			p.request(0, pdu.DescReq{})
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if status := cmd.Wait(); status == nil || status.Error() != "signal: "+sig.String() { // as of a C agent
				t.Errorf("%v: status %v", sig, status)
			}
			if b, err := os.ReadFile(log); err != nil || !bytes.Contains(b, []byte("\nLog finished")) {
				t.Errorf("%v: %v, log %q", sig, err, b)
			}
		}
	})
	// A function that hangs and ignores its context does not block the program permanently.
	t.Run("second signal", func(t *testing.T) {
		cmd, p, _ := startAgent(t, log)
		p.send(0, pdu.TextReq{Text: pdu.TextPMID})
		await(t, "the function", func() bool {
			b, err := os.ReadFile(log)
			return err == nil && bytes.Contains(b, []byte("it hangs"))
		})
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for range 600 {
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
			select {
			case err := <-ended:
				if err == nil {
					t.Error("it ended well: the function did not hang")
				}
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
		t.Error("it does not end")
	})
}

// TestMainSocket checks that the output of an agent on a socket goes to its log, too.
func TestMainSocket(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no standard streams that can be exchanged")
	}
	dir := pcptest.ShortDir(t)
	log, socket := filepath.Join(dir, "log"), filepath.Join(dir, "s")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestAgentProcess$")
	cmd.Env = append(os.Environ(), asProcess+"="+log, processArgs+"=-U "+currentUser(t)+" -u "+socket)
	var printed bytes.Buffer
	cmd.Stdout = &printed
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	c := dial(t, "unix", socket)
	hello(t, c).request(0, pdu.DescReq{})
	c.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(log); err != nil || !bytes.Contains(b, []byte("printed by mistake\nan error\n")) {
		t.Errorf("log: %v\n%s", err, b)
	}
	if printed.Len() > 0 {
		t.Errorf("printed %q", &printed)
	}
}

func currentUser(t *testing.T) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username
}

// TestStartError starts an agent whose port is in use. The reason appears on standard error as well
// as in the log.
func TestStartError(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "a.log")
	d := &pmda.Daemon{Agent: &pmda.Agent{Name: "a", Domain: 400}}
	var stderr bytes.Buffer
	status := d.Run(t.Context(), []string{"pmdaa", "-i", port, "-l", log}, strings.NewReader(""), io.Discard, &stderr)
	want := fmt.Sprintf("pmdaa: -i %s: listen tcp4 127.0.0.1:%s: bind: ", port, port)
	if status != 1 || !strings.HasPrefix(stderr.String(), want) {
		t.Errorf("status %d, standard error %q, want %q", status, stderr.String(), want)
	}
	if text, err := os.ReadFile(log); err != nil || !strings.Contains(string(text), strings.TrimPrefix(want, "pmdaa: ")) {
		t.Errorf("log %q, %v", text, err)
	}
}

// TestRegisterErrorsOnce starts an agent with mistakes in its metrics. The first one is reported
// once, and not in a log too.
func TestRegisterErrorsOnce(t *testing.T) {
	a := &pmda.Agent{Name: "a", Domain: 400}
	for _, name := range []string{"a.1bad", "a.good", "a.good"} {
		pmda.Register(a, pmda.Metric[uint64]{Name: name, Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { return 1, nil }})
	}
	log := filepath.Join(t.TempDir(), "a.log")
	var stderr bytes.Buffer
	status := (&pmda.Daemon{Agent: a}).Run(t.Context(), []string{"pmdaa", "-l", log}, strings.NewReader(""), io.Discard, &stderr)
	text, _ := os.ReadFile(log) // there may be none
	all := stderr.String() + string(text)
	if n := strings.Count(all, `"a.1bad"`); status != 1 || n != 1 || strings.Count(all, "\n") != 1 {
		t.Errorf("status %d, the metric is named %d times in\n%s", status, n, all)
	}
}
