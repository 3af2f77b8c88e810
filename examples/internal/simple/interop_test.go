package simple_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestTranscript compares the replies to all requests of dbpmda with those of PCP's agent.
func TestTranscript(t *testing.T) {
	pcptest.Need(t, "dbpmda", "gcc", "make")
	want := pcptest.RunScript(t, "simple", "")
	got := pcptest.RunScript(t, "simple", pcptest.Build(t, "./examples/simple"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("transcript (-C +Go):\n%s", diff)
	}
}

// transports are the ways to connect to an agent. line is the rest of its line in pmcd.conf, with
// PROGRAM for the program, FREE for a free port and PATH for the path of a socket. args are the
// arguments of the program. open is the command of dbpmda that opens it.
var transports = []struct{ name, line, args, open string }{
	{"pipe", "pipe binary PROGRAM", "", ""},
	{"unix", "socket unix PATH PROGRAM -u PATH", "-u PATH", "open socket unix PATH"},
	{"inet", "socket inet FREE PROGRAM -i FREE", "-i FREE", "open socket inet FREE"},
	{"ipv6", "socket ipv6 FREE PROGRAM -6 FREE", "-6 FREE", "open socket ipv6 FREE"},
}

// fill puts a port and a path into texts about a transport. It skips the test of IPv6 where
// localhost has no address of it, which is what collectors connect to.
func fill(t *testing.T, transport string) *strings.Replacer {
	t.Helper()
	if addrs, err := net.DefaultResolver.LookupIP(t.Context(), "ip6", "localhost"); transport == "ipv6" && (err != nil || len(addrs) == 0) {
		t.Skip("localhost has no IPv6 address: ", err)
	}
	return strings.NewReplacer("FREE", fmt.Sprint(pcptest.FreePort(t)), "PATH", filepath.Join(pcptest.ShortDir(t), "s"))
}

// A collector starts a pmcd with a configuration and names, and returns its address.
type collector func(t *testing.T, line, names string, env []string) (host string)

func ofPCP(t *testing.T, line, names string, env []string) string {
	return pcptest.StartPMCD(t, pcptest.Config{Agents: []string{line}, PMNS: names, Env: env}).Host()
}

func ofOurs(t *testing.T, line, names string, env []string) string {
	dir, host := pcptest.ShortDir(t), fmt.Sprintf("localhost:%d", pcptest.FreePort(t))
	for file, text := range map[string]string{"conf": line + "\n", "pmns": names} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pcptest.Start(t, pcptest.Daemon{
		Path: pcptest.Build(t, "./examples/pmcd"), Addr: host, Greets: true, Dir: dir, Env: env,
		Args: []string{"-f", "-A", "-q", "60", "-t", "60", "-i", "127.0.0.1", "-p", host[strings.Index(host, ":")+1:], "-s", filepath.Join(dir, "s"),
			"-c", "conf", "-n", "pmns", "-l", "log"},
	})
	return host
}

// TestInteropPMCD compares what clients of a C pmcd and of ours see of the agent, on every kind of
// connection and inside ours, with what they see of PCP's own.
func TestInteropPMCD(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmval", "pmstore", "pmprobe", "gcc", "make")
	want := session(t, ofPCP, "", "pipe binary PROGRAM")
	if !strings.Contains(want, `inst [2 or "blue"] value 202`) || !strings.Contains(want, "Bad input to pmstore") {
		t.Fatalf("what the tools say of PCP's agent is not as ever:\n%s", want)
	}
	program := pcptest.Build(t, "./examples/simple")
	for name, start := range map[string]collector{"C": ofPCP, "Go": ofOurs} {
		for _, tr := range transports {
			t.Run(name+"/"+tr.name, func(t *testing.T) {
				t.Parallel()
				r := fill(t, tr.name)
				if diff := cmp.Diff(want, session(t, start, program, r.Replace(tr.line))); diff != "" {
					t.Errorf("session (-C +Go):\n%s", diff)
				}
			})
		}
	}
	t.Run("Go/in process", func(t *testing.T) {
		t.Parallel()
		got := session(t, ofOurs, program, "dso simple_init PROGRAM")
		if diff := cmp.Diff(withoutTexts(want), withoutTexts(got)); diff != "" { // the program has its own
			t.Errorf("session (-C +Go):\n%s", diff)
		}
	})
}

// withoutTexts leaves out the help texts of pminfo -dmtT.
func withoutTexts(session string) string {
	var lines []string
	help := false
	for l := range strings.Lines(session) {
		id := strings.Index(l, " PMID: ")
		help = (help || l == "Help:\n") && id < 0 && !strings.HasPrefix(l, "$ ")
		if id >= 0 {
			l, _, _ = strings.Cut(l, " [")
		}
		if !help {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "")
}

// TestInteropTransports compares the replies to dbpmda on every kind of connection with those over
// a pipe.
func TestInteropTransports(t *testing.T) {
	pcptest.Need(t, "dbpmda", "gcc", "make")
	program := pcptest.Build(t, "./examples/simple")
	opening := "open pipe ./pmdasimple -d 253 -l log\n"
	script := pcptest.Script(t, "simple")
	first, rest, ok := strings.Cut(script, "\n")
	for ; ok && !strings.HasPrefix(first, "open pipe"); first, rest, ok = strings.Cut(rest, "\n") {
	}
	rest = strings.ReplaceAll(rest, ", ", " ") // after "open socket inet" dbpmda takes no commas
	transcript := func(t *testing.T, dbpmda, dir string, env []string, opening string) string {
		s := pcptest.DBPMDA(t, pcptest.Session{Program: dbpmda, Dir: dir, Env: env, Script: opening + rest, Mask: pcptest.Masks})
		if strings.Contains(s, "opensocket: ") {
			return "" // the agent does not listen yet
		}
		_, s, _ = strings.Cut(s, "dbpmda> status") // after it has opened the agent
		return connected.ReplaceAllString(s, "")
	}
	dir, env := pcptest.AgentDir(t, "simple", program)
	for name, dbpmda := range map[string]string{"C": "", "Go": pcptest.Build(t, "./examples/dbpmda")} {
		want := transcript(t, dbpmda, dir, env, opening)
		for _, tr := range transports[1:] {
			t.Run(name+"/"+tr.name, func(t *testing.T) {
				r := fill(t, tr.name)
				dir, env := pcptest.AgentDir(t, "simple", program)
				pcptest.Start(t, pcptest.Daemon{Path: filepath.Join(dir, "pmdasimple"), Dir: dir, Env: env,
					Args: append([]string{"-d", "253", "-l", "log"}, strings.Fields(r.Replace(tr.args))...)})
				got := ""
				pcptest.Retry(t, func() (wrong string) {
					if got = transcript(t, dbpmda, dir, env, r.Replace(tr.open)+"\n"); got == "" {
						return "dbpmda cannot connect"
					}
					return ""
				})
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("transcript (-pipe +%s):\n%s", tr.name, diff)
				}
			})
		}
	}
}

// connected is what differs between connections: the lines of dbpmda's command status that tell of
// it, and where it points in commands after "open socket inet".
var connected = regexp.MustCompile(`(?m)^(PMDA|Connection): .*\n|^ *\^`)

// session is what some commands print about the agent under a collector. line is the rest of its
// line in pmcd.conf. An empty program means the C agent.
func session(t *testing.T, start collector, program, line string) string {
	t.Helper()
	dir, env := pcptest.AgentDir(t, "simple", program)
	log := filepath.Join(t.TempDir(), "log")
	line = strings.Replace(line, "PROGRAM", filepath.Join(dir, "pmdasimple"), 1) + " -d 253 -l " + log
	if strings.HasPrefix(line, "dso") {
		line = strings.TrimSuffix(line, " -d 253 -l "+log)
	}
	host := start(t, "simple 253 "+line, pcptest.Names(t, "simple"), env)
	var b strings.Builder
	for _, command := range []string{
		"pminfo -dmtT simple",
		"pminfo -l simple",
		"pminfo -f simple.numfetch simple.color",
		"pminfo -f simple.numfetch simple.color",
		"pmprobe -I simple",
		"pmstore simple.numfetch 77",
		"pmstore simple.numfetch -5",
		"pmstore -i red simple.color 300",
		"pmstore simple.color 9",
		"pmstore simple.time.user 1",
		"pmstore simple.now 1",
		"pminfo -f simple.numfetch simple.color",
		"pmval -s 3 -t 0.01 -i red,blue simple.color",
		"pmval -s 2 -t 0.01 simple.numfetch",
		"pminfo -dt 253.0.9",
	} {
		argv := strings.Fields(command)
		argv = append([]string{argv[0], "-h", host}, argv[1:]...)
		out, errs, status := pcptest.Run(t, nil, "", argv...)
		fmt.Fprintf(&b, "$ %s\n%s%s= %d\n", command, out, errs, status)
	}
	return strings.ReplaceAll(b.String(), host, "HOST")
}
