package main

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// A commandLine is a start of pmcd in a new directory that has conf, names and more. The test
// inserts -f and places for all that pmcd would write before args. pmcd starts with most command
// lines; TestInteropFatalStart has the others.
type commandLine struct {
	args string
	env  string // NAME=VALUE, blanks are part of the value
	// ours says why our program does otherwise than C pmcd; empty if it does the same. It then
	// starts, or ends with status 1.
	ours   string
	starts bool
	lines  string // those, of either program, that are not compared: ours says more
}

// Why our program does otherwise.
const (
	later    = "an option of later versions than the C pmcd of the tests"
	unknown  = "C pmcd ends with status 0 if it does not know an option, as if it had started in the background"
	anyPort  = "C pmcd listens on a port that nobody has named"
	empty    = "an empty argument is none"
	overflow = "C pmcd takes another number than the one that is given"
)

var commandLines = []commandLine{
	{args: ""},
	{args: "-A -A"},
	{args: "-c conf"},
	{args: "--config=conf"},
	{args: "-c nosuch -c conf"},
	{args: "-C 3", ours: later, starts: true},
	{args: "-C 0", ours: later},
	{args: "-C -1", ours: later},
	{args: "-C x", ours: later},
	{args: "-C 3x", ours: later},
	{args: "-D all", ours: "C pmcd prints what its library does", starts: true},
	{args: "-D pdu,fetch"},
	{args: "-D 3"},
	{args: "-D -1", ours: "C pmcd prints what its library does", starts: true},
	{args: "-D nosuch"},
	{args: "-D pdu,nosuch"},
	{args: "-F", ours: later, starts: true},
	{args: "--managed", ours: later, starts: true},
	{args: "--foreground"},
	{args: "-H some.host"},
	{args: "-H QUOTE"},
	{args: "--hostname=some.host"},
	{args: "-i localhost", ours: "C pmcd takes no names of hosts", starts: true},
	{args: "-i INADDR_LOOPBACK"},
	{args: "-i 127.0.0.1 -i 127.0.0.1", ours: "C pmcd finds the port in use, by itself", starts: true},
	{args: "-i 127.0.0.1,127.0.0.2"},
	{args: "-i 127.0.0.2 -i nosuch.host.invalid"},
	{args: "-i QUOTE"},
	{args: "-l other"},
	{args: "-l -"},
	{args: "-l QUOTE", ours: empty, starts: true},
	{args: "-l /nosuch/dir/log"},
	{args: "-L 1"},
	{args: "-L 100000"},
	{args: "-L 0x1000"},
	{args: "-L -1"},
	{args: "-L 99999999999", ours: overflow},
	{args: "-L 10x", ours: overflow},
	{args: "--maxbytes 4096", ours: later, starts: true},
	{args: "-M 5", ours: later, starts: true},
	{args: "-M 0", ours: later},
	{args: "-M x", ours: later},
	{args: "-n names"},
	{args: "-n QUOTE", ours: "C pmcd does not find the file that has no name"},
	{args: "-n nosuch -n names"},
	{args: "-N names"},
	{args: "-N duplicates"},
	{args: "-n duplicates"},
	{args: "--namespace names"},
	{args: "--uniqnames names"},
	{args: "-p 65536", ours: anyPort},
	{args: "-p QUOTE", ours: anyPort},
	{args: "-p FREE,,FREE", ours: anyPort},
	{args: "-p ,FREE", ours: anyPort},
	{args: "-p FREE,", ours: anyPort},
	{args: "-p 0x1"},
	{args: "-p 99999999999", ours: anyPort},
	{args: "-p +FREE"},
	{args: "-p FREE,x"},
	{args: "-p -1"},
	{args: "-P", ours: unknown},
	{args: "-q 1"},
	{args: "-q 1.5"},
	{args: "-q -1"},
	{args: "-q 0x2"},
	{args: "-q QUOTE"},
	{args: "-q 99999999999", ours: overflow},
	{args: "-Q"},
	{args: "-S"},
	{args: "-s other.socket"},
	{args: "-s QUOTE"},
	{args: "-s /nosuch/dir/socket"},
	{args: "--socket=other.socket"},
	{args: "-t 0"},
	{args: "-t 1"},
	{args: "-t QUOTE", ours: empty},
	{args: "-t 99999999999", ours: overflow},
	{args: "-t 5s"},
	{args: "-T 0"},
	{args: "-T 3"},
	{args: "-T 255"},
	{args: "-T 0x3"},
	{args: "-T QUOTE", ours: empty},
	{args: "-U nosuch"},
	{args: "-U QUOTE"},
	{args: "--username=nosuch"},
	{args: "-v"},
	{args: "-v -c badlast"},
	{args: "-v -c badfirst", ours: "C pmcd's exit status is that of the last line"},
	{args: "--verify -c empty"},
	{args: "-x other"},
	{args: "-x QUOTE"},
	{args: "-x /nosuch/dir/x"},
	{args: "-V", ours: unknown},
	{args: "-fA"},
	{args: "-ft3"},
	{args: "--conf conf"},
	{args: "--ma", ours: unknown},
	{args: "operand", lines: `pmcd: unexpected argument .*`},
	{args: "-- -t x", lines: `pmcd: unexpected argument .*`},
	{args: "-", lines: `pmcd: unexpected argument .*`},
	{env: "PMCD_PORT=FREE"},
	{env: "PMCD_PORT=", ours: empty, starts: true},
	{env: "PMCD_PORT=FREE,,FREE", ours: anyPort},
	{env: "PMCD_PORT=65536", ours: anyPort},
	{env: "PMCD_PORT= FREE"},
	{env: "PMCD_PORT=FREE,x", lines: `pmcd: PMCD_PORT requires .*|Usage: .*`},
	{env: "PMCD_PORT=-1", lines: `pmcd: PMCD_PORT requires .*|Usage: .*`},
	{env: "PMCD_SOCKET=other.socket"},
	{env: "PMCD_SOCKET=", ours: empty, starts: true},
	{env: "PMCD_LOCAL="},
	{env: "PMCD_LOCAL=0"},
	{env: "PMCD_LOCAL=x"},
	{env: "PMCD_LOCAL=2"},
	{env: "PMCD_LOCAL=-1"},
	{env: "PMCD_MAXPENDING=0"},
	{env: "PMCD_MAXPENDING=-1"},
	{env: "PMCD_MAXPENDING="},
	{env: "PMCD_MAXPENDING=99999999999", ours: overflow, starts: true},
	{env: "PMCD_ROOT_AGENT="},
	{env: "PMCD_ROOT_AGENT=x"},
	{env: "PMCD_RESTART_AGENTS=x"},
	{env: "PMCD_CREDS_TIMEOUT=0", lines: `Warning: ignored bad value .*`},
	{env: "PMCD_CREDS_TIMEOUT="},
	{env: "PMCD_CREDS_TIMEOUT=1.5", lines: `Warning: ignored bad value .*`},
	{env: "PMCD_CREDS_TIMEOUT=-3", lines: `Warning: ignored bad value .*`},
	{env: "PMCD_CREDS_TIMEOUT=7"},
	{env: "PMNS_DEFAULT=nosuch"},
	{env: "PCP_TIMEOUT=x"},
	{env: "PMDA_LOCAL_PROC=x"},
	{env: "PCP_SECURE_SOCKETS=x"},
	{env: "PCP_ALLOW_SERVER_SELF_CERT=x"},
}

func (c commandLine) name() string { return strings.TrimSpace(c.env + " " + c.args) }

// arguments are all those of a program.
func (c commandLine) arguments(t *testing.T, port string) []string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-f", "-A", "-U", u.Username, "-c", "conf", "-l", "pmcd.log", "-x", "report"}
	if !strings.Contains(c.args, "-i ") {
		args = append(args, "-i", "127.0.0.1")
	}
	if !strings.Contains(c.args, "-p ") && !strings.HasPrefix(c.env, "PMCD_PORT") {
		args = append(args, "-p", port)
	}
	if !strings.HasPrefix(c.env, "PMCD_SOCKET") {
		args = append(args, "-s", "socket")
	}
	if !strings.Contains(c.env, "PMNS_DEFAULT") {
		args = append(args, "-n", "names")
	}
	for _, arg := range strings.Fields(c.args) {
		args = append(args, strings.NewReplacer("FREE", port, "QUOTE", "").Replace(arg))
	}
	return args
}

// run starts a program and ends it again. It returns whether it started, its exit status else, and
// what it printed, logged and reported.
func (c commandLine) run(t *testing.T, program string, env []string) (started bool, status int, texts []string) {
	t.Helper()
	dir, port := pcptest.ShortDir(t), strconv.Itoa(pcptest.FreePort(t))
	agent := "pmcd 2 dso pmcd_init " + pcptest.Conf("PCP_PMDAS_DIR") + "/pmcd/pmda_pmcd.so\n"
	for name, text := range map[string]string{
		"conf": agent, "empty": "", "names": pcptest.Names(t, "pmcd"), "duplicates": "root {\n a 1:2:3\n b 1:2:3\n}\n",
		"badfirst": "x 600 pipe binary /bin/true\n" + agent, "badlast": agent + "x 600 pipe binary /bin/true\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	args := c.arguments(t, port)
	env = append(append(pcptest.Env(), env...), "PCP_RUN_DIR="+dir, "PCP_LOG_DIR="+dir, "PCP_TMP_DIR="+dir, "PMCD_ROOT_AGENT=0")
	if c.env != "" {
		env = append(env, strings.ReplaceAll(c.env, "FREE", port))
	}
	read := func(name string) string {
		b, _ := os.ReadFile(filepath.Join(dir, name)) // there may be none
		return string(b)
	}
	printed, err := os.Create(filepath.Join(dir, "printed"))
	if err != nil {
		t.Fatal(err)
	}
	defer printed.Close()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, printed, printed
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	ready := func() bool { // the table of the ports is the last that is logged
		return strings.Contains(read("pmcd.log")+read("other")+read("printed"), "pmcd request port(s):")
	}
	for running := true; running && !started; {
		select {
		case <-done:
			running = false
		case <-time.After(10 * time.Millisecond):
			started = ready()
		}
	}
	if started {
		endByTerm(t, cmd.Process, done)
	}
	for _, name := range []string{"printed", "pmcd.log", "other", "report"} {
		text := maskLog(read(name), dir, port)
		if c.lines != "" {
			text = regexp.MustCompile(`(?m)^(`+c.lines+`)\n`).ReplaceAllString(text, "")
		}
		text = usageBody.ReplaceAllString(text, "")
		text = regexp.MustCompile(`\n\n+`).ReplaceAllString(text, "\n")
		texts = append(texts, strings.Split(strings.TrimLeft(text, "\n"), "\n")...)
	}
	var left []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	slices.Sort(left)
	return started, cmd.ProcessState.ExitCode(), append(texts, strings.Join(left, " "))
}

// endByTerm ends a pmcd. C pmcd does not notice a signal that comes just before it begins to wait
// for requests, so that it may take several.
func endByTerm(t *testing.T, p *os.Process, done <-chan struct{}) {
	t.Helper()
	for range 5 {
		p.Signal(syscall.SIGTERM)
		select {
		case <-done:
			return
		case <-time.After(5 * time.Second):
		}
	}
	t.Errorf("process %d does not end on SIGTERM", p.Pid)
	p.Kill()
	<-done
}

// TestInteropOptions starts C pmcd and ours in its place with every option and variable of the
// environment, with arguments that are good and bad: both start or both end with the same status,
// and they print, log and report the same.
func TestInteropOptions(t *testing.T) {
	pcptest.Need(t, "pmcd")
	program, env := asInstalled(t)
	for i, c := range commandLines {
		if i%5 != 0 && !*all {
			continue
		}
		t.Run(c.name(), func(t *testing.T) {
			t.Parallel()
			wantStarted, wantStatus, want := c.run(t, pcptest.Tool(t, "pmcd"), nil)
			started, status, got := c.run(t, program, env)
			same := started == wantStarted && status == wantStatus && slices.Equal(want, got)
			if c.ours != "" {
				wantStatus = 1
				if c.starts {
					wantStatus = 0
				}
				if started != c.starts || status != wantStatus || same {
					t.Errorf("started %v with exit status %d, as C pmcd %v, want %v with %d:\n%s", started, status, same, c.starts, wantStatus, strings.Join(got, "\n"))
				}
				return
			}
			if started != wantStarted || status != wantStatus {
				t.Errorf("started %v with exit status %d, C pmcd %v with %d", started, status, wantStarted, wantStatus)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-C +Go):\n%s", diff)
			}
		})
	}
}
