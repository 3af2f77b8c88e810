package main

import (
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestBackground follows the program into the background: it tells the service
// manager and the file for that who it is, becomes another user when its agents have
// started, if root may say so, and takes both back at the end.
func TestBackground(t *testing.T) {
	dir := pcptest.ShortDir(t)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	if err := os.Chmod(filepath.Join(dir, "notify"), 0o777); err != nil {
		t.Fatal(err)
	}
	manager.SetReadDeadline(time.Now().Add(time.Minute))
	notified := func() string {
		b := make([]byte, 1000)
		n, err := manager.Read(b)
		if err != nil {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Fatalf("%v\n%s", err, log)
		}
		return string(b[:n])
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	want := me
	if me.Uid == "0" {
		if want, err = user.Lookup("nobody"); err != nil {
			t.Skip(err)
		}
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("conf", "simple 253 pipe binary "+pcptest.Build(t, "./examples/simple")+" -d 253 -l "+filepath.Join(dir, "agent.log")+" -U "+me.Username+"\n")
	write("pmns", "root {\n}\n")
	env := []string{"PCP_RUN_DIR=" + dir, "NOTIFY_SOCKET=" + filepath.Join(dir, "notify")}
	out, errs, status := pcptest.RunIn(t, dir, env, "", pcptest.Build(t, "./examples/pmcd"), "-c", "conf", "-n", "pmns", "-l", "log",
		"-A", "-i", "127.0.0.1", "-p", strconv.Itoa(pcptest.FreePort(t)), "-s", filepath.Join(dir, "s"), "-U", want.Username)
	if status != 0 || out != "" || errs != "" {
		t.Fatalf("exit status %d\n%s%s", status, out, errs)
	}
	ready := notified()
	var pid int
	if _, err := fmt.Sscanf(ready, "READY=1\nMAINPID=%d", &pid); err != nil || strings.HasSuffix(ready, "\n") {
		t.Fatalf("%q: %v", ready, err)
	}
	defer syscall.Kill(pid, syscall.SIGKILL)
	file := filepath.Join(dir, "pmcd.pid")
	text, err := os.ReadFile(file)
	if err != nil || string(text) != strconv.Itoa(pid) {
		t.Errorf("pmcd.pid: %q, %v, want %d", text, err, pid)
	}
	if st, err := os.Stat(file); err != nil || st.Mode() != 0o644 {
		t.Errorf("pmcd.pid: %v, %v", st.Mode(), err)
	}
	// uids waits for all four user ids of the process.
	uids := func(of string) string {
		b, _ := os.ReadFile("/proc/" + of + "/status")
		return strings.Join(strings.Fields(string(regexp.MustCompile(`(?m)^Uid:.*$`).Find(b)))[1:], " ")
	}
	all := strings.Repeat(want.Uid+" ", 3) + want.Uid
	for begin := time.Now(); uids(strconv.Itoa(pid)) != all; time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatalf("user ids %s, want %s", uids(strconv.Itoa(pid)), all)
		}
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if agents := strings.Fields(string(children)); err == nil && len(agents) == 1 {
		if got := uids(agents[0]); got != strings.Repeat(me.Uid+" ", 3)+me.Uid {
			t.Errorf("the agent has user ids %s, not those of %s", got, me.Username)
		}
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := notified(); got != "STOPPING=1" {
		t.Errorf("at the end: %q", got)
	}
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(file); os.IsNotExist(err) {
			return
		}
		if time.Since(begin) > time.Minute {
			t.Fatal("pmcd.pid stays")
		}
	}
}
