package main

import (
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// An installation is a PCP of the test's own, whose pmcd is this program.
type installation struct {
	dir  string
	pmcd string // the program, in PCP_BINADM_DIR
	user *user.User
	env  []string
}

// install makes an installation whose pmcd.conf has one agent.
func install(t *testing.T) *installation {
	t.Helper()
	dir := pcptest.ShortDir(t)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	in := &installation{dir: dir, pmcd: filepath.Join(dir, "bin", "pmcd"), user: me}
	if me.Uid == "0" {
		if in.user, err = user.Lookup("nobody"); err != nil {
			t.Skip(err)
		}
	}
	for _, sub := range []string{"bin", "run", "log/pmcd", "tmp", "var/pmns", "pmdas", "etc/pcp"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	uid, err := strconv.Atoi(in.user.Uid)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(filepath.Join(dir, "run"), uid, -1); err != nil {
		t.Fatal(err)
	}
	copyFile(t, pcptest.Build(t, "./examples/pmcd"), in.pmcd)
	in.write(t, "etc/pcp/pmcd.conf", "simple 253 pipe binary "+pcptest.Build(t, "./examples/simple")+
		" -d 253 -l "+filepath.Join(dir, "log/pmcd/simple.log")+" -U "+me.Username+"\n")
	in.write(t, "etc/pcp/pmcd.options", "# comment\n-A\n-T 3\n")
	in.write(t, "var/pmns/root", "root {\n}\n")
	in.env = []string{
		"PCP_BINADM_DIR=" + filepath.Join(dir, "bin"), "PCP_RUN_DIR=" + filepath.Join(dir, "run"), "PCP_LOG_DIR=" + filepath.Join(dir, "log"),
		"PCP_TMP_DIR=" + filepath.Join(dir, "tmp"), "PCP_TMPFILE_DIR=" + filepath.Join(dir, "tmp"), "PCP_VAR_DIR=" + filepath.Join(dir, "var"),
		"PCP_PMDAS_DIR=" + filepath.Join(dir, "pmdas"), "PCP_SYSCONF_DIR=" + filepath.Join(dir, "etc/pcp"),
		"PCP_PMCDCONF_PATH=" + filepath.Join(dir, "etc/pcp/pmcd.conf"), "PCP_PMCDOPTIONS_PATH=" + filepath.Join(dir, "etc/pcp/pmcd.options"),
		"PCP_USER=" + in.user.Username, "PMCD_LOCAL=1", "PMCD_PORT=" + strconv.Itoa(pcptest.FreePort(t)),
	}
	return in
}

func (in *installation) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(in.dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// log is the collector's log.
func (in *installation) log() string {
	b, _ := os.ReadFile(filepath.Join(in.dir, "log/pmcd/pmcd.log"))
	return string(b)
}

// pid waits for the file with the process identifier of a collector that has started. The process
// ends with the test.
func (in *installation) pid(t *testing.T) int {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		b, err := os.ReadFile(filepath.Join(in.dir, "run/pmcd.pid"))
		if pid, perr := strconv.Atoi(string(b)); err == nil && perr == nil {
			t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
			return pid
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("no process identifier: %v\n%s", err, in.log())
		}
	}
}

// waitGone waits for the end of a process.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("process %d does not end", pid)
		}
	}
}

// waitUser waits until all user ids of a process are those of one user.
func waitUser(t *testing.T, pid int, uid string) {
	t.Helper()
	want := "Uid:" + strings.Repeat("\t"+uid, 4) + "\n"
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if strings.Contains(string(b), want) {
			return
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("process %d does not become user %s (%v):\n%s", pid, uid, err, b)
		}
	}
}

// TestInstalled starts the program as PCP's scripts do, without -c. In PCP_BINADM_DIR, or if called
// through a link there, it runs PCP's configuration file in the background as PCP's user, and uses
// the name of that call.
func TestInstalled(t *testing.T) {
	for _, tt := range []struct {
		name string
		link bool
	}{{"program", false}, {"link", true}} {
		t.Run(tt.name, func(t *testing.T) {
			in := install(t)
			if tt.link {
				real := filepath.Join(in.dir, "gopmcd")
				if err := os.Rename(in.pmcd, real); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(real, in.pmcd); err != nil {
					t.Fatal(err)
				}
			}
			out, errs, status := pcptest.RunIn(t, filepath.Join(in.dir, "log/pmcd"), in.env, "", in.pmcd, "-A", "-T", "3")
			if out != "" || errs != "" || status != 0 {
				t.Fatalf("exit status %d\n%s%s", status, out, errs)
			}
			// It listens by now; it may still start agents.
			c, err := net.Dial("unix", filepath.Join(in.dir, "run/pmcd.socket"))
			if err != nil {
				t.Error(err)
			} else {
				c.Close()
			}
			pid := in.pid(t)
			args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if diff := cmp.Diff(in.pmcd+"\x00-A\x00-T\x003\x00", string(args)); diff != "" {
				t.Errorf("command line (-want +got, %v):\n%s", err, diff)
			}
			comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
			if string(comm) != "pmcd\n" {
				t.Errorf("called %q, %v", comm, err)
			}
			waitUser(t, pid, in.user.Uid)
			if log := in.log(); !strings.Contains(log, "\nsimple       253 ") {
				t.Errorf("not the agents of the configuration file:\n%s", log)
			}
			if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			waitGone(t, pid)
			if left, err := os.ReadDir(filepath.Join(in.dir, "run")); err != nil || len(left) > 0 {
				t.Errorf("left in PCP_RUN_DIR: %v, %v", left, err)
			}
		})
	}
}

// TestInstalledFails reports a start that fails as pmcd does: in its log, since there is no
// terminal.
func TestInstalledFails(t *testing.T) {
	in := install(t)
	in.write(t, "var/pmns/root", "nonsense")
	out, errs, status := pcptest.RunIn(t, filepath.Join(in.dir, "log/pmcd"), in.env, "", in.pmcd, "-A")
	if out != "" || errs != "" || status != 1 {
		t.Errorf("exit status %d, printed %q, %q", status, out, errs)
	}
	if log := in.log(); !strings.Contains(log, "\nError: pmLoadASCIINameSpace(DEFAULT, 1): ") || !strings.Contains(log, "pmcd not started due to errors!") {
		t.Errorf("log:\n%s", log)
	}
	bad := filepath.Join(in.dir, "etc/pcp/pmcd.conf")
	in.write(t, "etc/pcp/pmcd.conf", "# nothing\n")
	in.write(t, "var/pmns/root", "root {\n}\n")
	_, errs, status = pcptest.RunIn(t, filepath.Join(in.dir, "log/pmcd"), in.env, "", in.pmcd, "-A")
	if want := fmt.Sprintf("\nError: No PMDAs found in the configuration file %q\n", bad); status != 1 || errs != "" || !strings.Contains(in.log(), want) {
		t.Errorf("without agents: exit status %d, %q, log:\n%s", status, errs, in.log())
	}
}

// TestNotInstalled has the same program elsewhere, which hosts its own agents in the foreground.
func TestNotInstalled(t *testing.T) {
	in := install(t)
	port := strconv.Itoa(pcptest.FreePort(t))
	p := pcptest.Start(t, pcptest.Daemon{Path: in.pmcd, Args: []string{"-A", "-p", port}, Dir: in.dir, Addr: "localhost:" + port, Greets: true,
		Env: append(in.env, "PCP_BINADM_DIR="+filepath.Join(in.dir, "etc"))})
	if log := p.Log(); !strings.Contains(log, "try: pminfo") {
		t.Errorf("log:\n%s", log)
	}
	waitUser(t, p.PID(), strconv.Itoa(os.Getuid()))
}

// forScript completes an installation for PCP's script, and returns the environment of that.
func (in *installation) forScript(t *testing.T) (env []string) {
	t.Helper()
	tools, err := filepath.Glob(filepath.Join(pcptest.Conf("PCP_BINADM_DIR"), "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		if name := filepath.Base(tool); name != "pmcd" {
			if err := os.Symlink(tool, filepath.Join(in.dir, "bin", name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	group, err := user.LookupGroupId(in.user.Gid)
	if err != nil {
		t.Fatal(err)
	}
	// PCP_DIR is a PCP beside the system's, which others than root may start too.
	for _, name := range []string{"pcp.conf", "pcp.env"} {
		b, err := os.ReadFile(filepath.Join("/etc", name))
		if err != nil {
			t.Fatal(err)
		}
		in.write(t, filepath.Join("etc", name), string(b))
	}
	// The script asks ps which pmcd runs. It does not see those of other tests.
	ps := filepath.Join(in.dir, "bin", "own-ps")
	only := "#!/bin/sh\n" + pcptest.Tool(t, "ps") + " \"$@\" | awk -v own=" + in.dir + "/ 'NR == 1 || !/pmcd/ || index($0, own)'\n"
	if err := os.WriteFile(ps, []byte(only), 0o755); err != nil {
		t.Fatal(err)
	}
	return append(in.env, "PCP_PS_PROG="+ps, "PCP_DIR="+in.dir, "PCP_GROUP="+group.Name, "PCP_SYSCONFIG_DIR="+filepath.Join(in.dir, "etc"))
}

// TestScript has PCP's script start and stop the program. The program tells a service manager once
// that it serves, and its process identifier.
func TestScript(t *testing.T) {
	const script = "/etc/init.d/pmcd"
	pcptest.Need(t, script, "pmcd_wait", "pminfo")
	in := install(t)
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(in.dir, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	if err := os.Chmod(manager.LocalAddr().String(), 0o777); err != nil { // as systemd's, to which every user may write
		t.Fatal(err)
	}
	env := append(in.forScript(t), "NOTIFY_SOCKET="+manager.LocalAddr().String())
	run := func(command string) {
		t.Helper()
		out, errs, status := pcptest.RunIn(t, in.dir, env, "", script, command)
		if status != 0 || strings.Contains(out+errs, "arning") || strings.Contains(out+errs, "rror") {
			t.Errorf("%s %s: exit status %d\n%s%s\n%s", script, command, status, out, errs, in.log())
		}
	}
	run("start")
	pid := in.pid(t)
	manager.SetReadDeadline(time.Now().Add(time.Minute))
	message := make([]byte, 100)
	n, err := manager.Read(message)
	if want := fmt.Sprintf("READY=1\nMAINPID=%d", pid); string(message[:n]) != want {
		t.Errorf("notified %q, %v; want %q", message[:n], err, want)
	}
	run("status")
	out, errs, _ := pcptest.Run(t, env, "", "pminfo", "-h", "unix://"+filepath.Join(in.dir, "run/pmcd.socket"), "-f", "pmcd.agent.status")
	if !strings.Contains(out, `"simple"] value 0`) || errs != "" {
		t.Errorf("agents:\n%s%s", out, errs)
	}
	run("stop")
	waitGone(t, pid)
	manager.SetReadDeadline(time.Now().Add(time.Millisecond))
	for {
		n, err := manager.Read(message)
		if err != nil {
			break
		}
		if string(message[:n]) != "STOPPING=1" { // which C pmcd never says
			t.Errorf("notified %q too", message[:n])
		}
	}
}
