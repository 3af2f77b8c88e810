package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// A logRun is a collector whose log is compared: C pmcd, or ours in its place.
type logRun struct {
	*testing.T
	*pcptest.Process
	dir, host, socket string
	names             string // the name space
}

// log is the log so far.
func (r *logRun) log() string {
	b, _ := os.ReadFile(filepath.Join(r.dir, "pmcd.log"))
	return string(b)
}

func (r *logRun) write(name, text string) {
	r.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o644); err != nil {
		r.Fatal(err)
	}
}

// client runs a client, which may fail, over TCP.
func (r *logRun) client(argv ...string) string {
	r.Helper()
	out, errs, _ := pcptest.Run(r.T, nil, "", append([]string{argv[0], "-h", r.host}, argv[1:]...)...)
	return out + errs
}

// local runs a client over the unix socket.
func (r *logRun) local(argv ...string) string {
	r.Helper()
	out, errs, _ := pcptest.Run(r.T, nil, "", append([]string{argv[0], "-h", "unix://" + r.socket}, argv[1:]...)...)
	return out + errs
}

// await waits until the log has a text n times.
func (r *logRun) await(text string, n int) {
	r.Helper()
	wait(r.T, func() string {
		if got := strings.Count(r.log(), text); got >= n {
			return ""
		}
		return fmt.Sprintf("the log does not have %q %d times:\n%s", text, n, r.log())
	})
}

// agentPID is the process identifier of an agent, as the last table of agents has it.
func (r *logRun) agentPID(name string) int {
	r.Helper()
	all := regexp.MustCompile(`(?m)^`+name+` +\d+ +(\d+) `).FindAllStringSubmatch(r.log(), -1)
	if len(all) == 0 {
		r.Fatalf("no agent %s in the log:\n%s", name, r.log())
	}
	pid, err := strconv.Atoi(all[len(all)-1][1])
	if err != nil {
		r.Fatal(err)
	}
	return pid
}

func (r *logRun) signal(pid int, s syscall.Signal) {
	r.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		r.Fatal(err)
	}
}

// A loggedCourse is what happens to a collector, and what of its log is not compared.
type loggedCourse struct {
	name string
	conf string // pmcd.conf, with SAMPLE for the line of an agent and DIR for the directory
	args string
	env  string
	do   func(*logRun)
	ours string // what of either log is left out, since ours differs there: whole lines
	few  bool   // also without -all
}

var loggedCourses = []loggedCourse{
	{name: "start", few: true, conf: "SAMPLE\nPMCD"},
	{name: "bad lines", few: true, conf: "PMCD\nx xx\ny 600 pipe binary /bin/true\nu 2 pipe binary /bin/true\nv 8 pipe text a\nw 9 socket inet nosuchservice cmd\nSAMPLE"},
	{name: "agents that do not start", conf: "PMCD\nSAMPLE\nnosuch 7 pipe binary /nosuch/program arg\nends 8 pipe binary /bin/false\nsilent 9 pipe binary /bin/sleep 2\ntalks 10 pipe binary /bin/echo hello hello hello hello\nunix 12 socket unix /nosuch/socket\ninet 13 socket inet 1\nwith 14 socket unix /nosuch/socket /bin/true \"a b\" c\ndso 15 dso nosuch_init /nosuch/pmda.so", args: "-q 1",
		ours: `.*(pduread: timeout|__pmGetPDU: ).*|Cannot find dso DSO at .*\n|.*no agent in this program has the entry point.*`}, // a library that nobody can load
	{name: "access", conf: "PMCD\nSAMPLE\n[access]\nallow hosts * : fetch, maximum 3 connections;\ndisallow hosts 127.0.0.1 : store;\nallow host \"unix:\" : all;\ndisallow \"::1\" : all;\nallow user root : all;\ndisallow user daemon: store;\nallow group root : all;"},
	// C pmcd reconfigures everything, ours starts the one agent.
	{name: "agent is killed", few: true, conf: "PMCD\nSAMPLE", ours: `\[TIME\] pmcd\(PID\) Info: \n\npmcd RESTARTED(?s:.*?) unchanged|    "sample" agent(\n\n\nactive agent(?s:.*?)is unchanged)?`, do: func(r *logRun) {
		r.signal(r.agentPID("sample"), syscall.SIGKILL)
		r.client("pminfo", "-f", "sample.bin")
		r.await("Auto-restarting", 1)
		r.client("pminfo", "-f", "sample.bin")
	}},
	{name: "agent is killed and not restarted", conf: "PMCD\nSAMPLE", env: "PMCD_RESTART_AGENTS=0", do: func(r *logRun) {
		r.signal(r.agentPID("sample"), syscall.SIGTERM)
		r.client("pminfo", "-f", "sample.bin")
		r.await("CleanupAgent", 1)
		r.client("pminfo", "-f", "sample.bin")
	}},
	// Ours waits for the late reply, and does not need another process.
	{name: "agent times out", conf: "PMCD\nSAMPLE", ours: `.*pduread: timeout.*|.*agent did not reply in time.*|Cleanup "sample" agent \(dom 29\): protocol failure for fd=N(, signal\(9\))?`, args: "-t 1", env: "PMCD_RESTART_AGENTS=0", do: func(r *logRun) {
		pid := r.agentPID("sample")
		r.signal(pid, syscall.SIGSTOP)
		r.client("pminfo", "-f", "sample.bin")
		r.signal(pid, syscall.SIGKILL)
		r.client("pminfo", "-f", "sample.bin")
	}},
	{name: "changed agents", few: true, conf: "PMCD\nSAMPLE", do: func(r *logRun) {
		text, _ := os.ReadFile(filepath.Join(r.dir, "conf"))
		r.write("conf", strings.Replace(string(text), "sample 29", "other 30", 1)+"[access]\nallow 127.0.0.1 : fetch;\n")
		r.signal(r.PID(), syscall.SIGHUP)
		r.await("is unchanged", 1)
		r.write("conf", strings.Replace(string(text), "sample 29", "renamed 29", 1))
		r.signal(r.PID(), syscall.SIGHUP)
		r.await("is unchanged", 2)
	}},
	{name: "no configuration", conf: "PMCD\nSAMPLE", do: func(r *logRun) {
		os.Remove(filepath.Join(r.dir, "conf"))
		r.signal(r.PID(), syscall.SIGHUP)
		r.await("is unchanged", 1)
	}},
	// Ours ends at the first fault, and keeps the names that it has.
	{name: "names", conf: "PMCD\nSAMPLE", ours: `\[names:2\] .*|Error Parsing.*|    a 1:2| +\^|    Cannot open .*|PMNS left unchanged`, do: func(r *logRun) {
		r.write("names", r.names+"\n")
		r.signal(r.PID(), syscall.SIGHUP)
		r.await("Reloading PMNS", 1)
		r.client("pminfo", "-f", "sample.bin")
		r.write("names", "root {\n\ta 1:2\n}\n")
		r.signal(r.PID(), syscall.SIGHUP)
		r.await("eloading PMNS", 2)
		r.client("pminfo", "-f", "sample.bin")
		os.Remove(filepath.Join(r.dir, "names"))
		r.signal(r.PID(), syscall.SIGHUP)
		r.await("pmcd RESTARTED", 3)
		r.client("pminfo", "-f", "sample.bin")
	}},
	{name: "stores", conf: "PMCD\nSAMPLE", do: func(r *logRun) {
		for _, m := range []string{"pmcd.control.dumpconn", "pmcd.control.sighup", "pmcd.seqnum", "pmcd.control.register", "pmcd.control.tracebufs", "pmcd.control.timeout"} {
			r.local("pmstore", m, "1")
		}
		r.await("is unchanged", 1)
	}},
	{name: "denied host", few: true, conf: "PMCD\nSAMPLE\n[access]\ndisallow 127.0.0.1 : all;\nallow \"unix:\" : all;", do: func(r *logRun) {
		r.client("pminfo", "-f", "sample.bin")
		r.client("pminfo", "-f", "sample.bin")
		r.local("pminfo", "-f", "sample.bin")
		r.signal(r.PID(), syscall.SIGHUP)
		r.await("is unchanged", 1)
		r.client("pminfo", "-f", "sample.bin")
	}},
	{name: "denied unix socket", conf: "PMCD\nSAMPLE\n[access]\ndisallow \"unix:\" : all;", do: func(r *logRun) {
		r.local("pminfo", "-f", "sample.bin")
		r.client("pminfo", "-f", "sample.bin")
	}},
	{name: "limited host", conf: "PMCD\nSAMPLE\n[access]\nallow 127.0.0.1 : all, maximum 1 connections;", do: func(r *logRun) {
		// Both let in fewer than the maximum. The connection may have been reset before it is known
		// to be there.
		if c, err := net.Dial("tcp", r.host); err == nil {
			defer c.Close()
			io.ReadFull(c, make([]byte, 20))
		} else if !errors.Is(err, syscall.ECONNRESET) {
			r.Fatal(err)
		}
		r.client("pminfo", "-f", "sample.bin")
		r.client("pminfo", "-f", "sample.bin")
	}},
	// Ours says which client it was.
	{name: "nonsense", conf: "PMCD\nSAMPLE", ours: `.*__pmGetPDU: .*|.*client closed .*`, do: func(r *logRun) {
		for _, text := range []string{"\x00\x00\x00\x04", "\x00\x00\x00\x0c\x00\x00\x70\x03\x00\x00\x00\x00", "\x7f\xff\xff\xff\x00\x00\x70\x03\x00\x00\x00\x00",
			"\x00\x00\x00\x14\x00\x00\x70\x0c\x00\x00\x00\x01\x00\x00\x00\x01\x01\x02\x00\x00" + "\x00\x00\x00\x0d\x00\x00\x70\x03\x00\x00\x00\x00\x00"} {
			c, err := net.Dial("tcp", r.host)
			if err != nil {
				r.Fatal(err)
			}
			io.WriteString(c, text)
			c.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, c)
			c.Close()
		}
	}},
	{name: "SIGINT", conf: "PMCD\nSAMPLE", do: func(r *logRun) {
		r.signal(r.PID(), syscall.SIGINT)
		r.await("Log finished", 1)
	}},
	{name: "no such user", conf: "PMCD\nSAMPLE", args: "-U nosuch"},
	{name: "environment", conf: "PMCD\nSAMPLE", env: "PMCD_LOCAL=1 PMCD_MAXPENDING=7 PMCD_CREDS_TIMEOUT=x"},
}

// run runs a program through a course and returns its log, masked.
func (l loggedCourse) run(t *testing.T, program string, env []string) string {
	t.Helper()
	set := pcptest.Agents(t, "pmcd", "sample")
	sample := regexp.MustCompile(`(?m)^sample .*\n`).FindString(set.Conf)
	dir := pcptest.ShortDir(t)
	r := &logRun{T: t, dir: dir, socket: filepath.Join(dir, "socket"), names: set.PMNS}
	expand := strings.NewReplacer("SAMPLE\n", sample, "PMCD", "pmcd 2 dso pmcd_init "+pcptest.Conf("PCP_PMDAS_DIR")+"/pmcd/pmda_pmcd.so", "DIR", dir)
	r.write("conf", expand.Replace(l.conf+"\n"))
	r.write("names", set.PMNS)
	port := pcptest.FreePort(t)
	r.host = fmt.Sprintf("127.0.0.1:%d", port)
	env = append(append([]string{}, env...), append(set.Env, "PCP_RUN_DIR="+dir, "PCP_LOG_DIR="+dir, "PCP_TMP_DIR="+dir, "PMCD_ROOT_AGENT=0")...)
	env = append(env, strings.Fields(l.env)...)
	args := append([]string{"-f", "-A", "-i", "127.0.0.1", "-p", strconv.Itoa(port), "-s", r.socket, "-c", "conf", "-n", "names", "-l", "pmcd.log", "-x", "report"}, giveTime...)
	r.Process = pcptest.Start(t, pcptest.Daemon{Path: program, Dir: dir, Env: env, Addr: r.socket, Greets: true, Args: append(args, strings.Fields(l.args)...)})
	r.await("pmcd request port(s):", 1)
	if l.do != nil {
		l.do(r)
	}
	r.Process.Stop()
	return maskLog(r.log(), dir, strconv.Itoa(port))
}

// maskLog has words for what differs between the logs of two runs of the same.
func maskLog(text, dir, port string) string {
	text = stamp.ReplaceAllString(text, "TIME")
	text = strings.ReplaceAll(text, dir, "DIR")
	text = strings.ReplaceAll(text, port, " PORT")
	for _, m := range []struct{ pattern, with string }{
		{`pmcd\(\d+\)`, "pmcd(PID)"},
		{`PID = \d+`, "PID = N"},
		{`(?m)^(\S+ +\d+) [ \d]{5} [ \d]{3} [ \d]{3} `, "$1 PID IN OUT "},
		{`-l \S+`, "-l LOG"},
		{` \[0x[0-9a-f]+\]\n`, "\n"},
		{`ok  [ \d]{3}\d`, "ok   FD"},
		{`fd=\d+`, "fd=N"},
		{`client\[\d+\]: \(fd \d+\)`, "client[N]: (fd N)"},
		{`\[TIME\] pmcd\(PID\) Info: \n->`, "\n->"},
		{`(?m)^ +\d+  \S+ +[02]\n`, ""},         // clients that may have gone
		{`(SIG[A-Z]*) from .*`, "$1 from WHOM"}, // a Go program is not told
	} {
		text = regexp.MustCompile(m.pattern).ReplaceAllString(text, m.with)
	}
	return text
}

// TestInteropLogAlike has the same happen to C pmcd and to ours in its place, and compares the
// logs.
func TestInteropLogAlike(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmstore")
	program, env := asInstalled(t)
	for _, l := range loggedCourses {
		if !l.few && !*all {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			want := l.run(t, pcptest.Tool(t, "pmcd"), nil)
			got := l.run(t, program, env)
			if l.ours != "" {
				re := regexp.MustCompile(`(?m)^(` + l.ours + `)\n`)
				want, got = re.ReplaceAllString(want, ""), re.ReplaceAllString(got, "")
			}
			if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("(-C +Go):\n%s", diff)
			}
		})
	}
}
