package main

import (
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestPlanted starts the program over and over in directories where another user may write. This
// user plants links to a file that only its owner may use, in the place of the log, the socket and
// the process identifier. The file must stay unchanged.
func TestPlanted(t *testing.T) {
	const starts = 12
	in := install(t)
	secret := filepath.Join(in.dir, "secret")
	in.write(t, "secret", "secret")
	if err := os.Chmod(secret, 0o600); err != nil {
		t.Fatal(err)
	}
	logs, run := filepath.Join(in.dir, "log/pmcd"), filepath.Join(in.dir, "run")
	for _, dir := range []string{logs, run} {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(in.dir, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	env := append(in.env, "NOTIFY_SOCKET="+filepath.Join(in.dir, "notify"))

	var wg sync.WaitGroup
	done := make(chan struct{})
	defer func() {
		close(done)
		wg.Wait()
	}()
	for _, name := range []string{filepath.Join(logs, "pmcd.log"), filepath.Join(run, "pmcd.pid"), filepath.Join(run, "pmcd.socket")} {
		wg.Go(func() { plantLinks(done, secret, name) })
	}
	for range starts {
		_, errs, status := pcptest.RunIn(t, logs, env, "", in.pmcd, "-A", "-U", me.Username, "-c", filepath.Join(in.dir, "etc/pcp/pmcd.conf"))
		if status != 0 {
			t.Fatalf("exit status %d\n%s", status, errs)
		}
		manager.SetReadDeadline(time.Now().Add(time.Minute))
		b := make([]byte, 1000)
		n, err := manager.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(string(b[:n]), "MAINPID=")
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%q: %v", b[:n], err)
		}
		syscall.Kill(pid, syscall.SIGTERM)
		waitGone(t, pid)
		manager.Read(b) // of the end
		st, err := os.Stat(secret)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(secret); err != nil || string(text) != "secret" || st.Mode() != 0o600 {
			t.Fatalf("the file of another user has mode %v and holds %q, %v", st.Mode(), text, err)
		}
	}
}

// plantLinks puts links to a file in the place of another over and over: whenever there is room,
// and from time to time in exchange for what is there.
func plantLinks(done <-chan struct{}, target, name string) {
	link := name + ".link"
	for n := 0; ; n++ {
		select {
		case <-done:
			return
		default:
		}
		os.Symlink(target, name)
		if n%50 == 0 {
			os.Symlink(target, link)
			os.Rename(link, name)
		}
		if n%500 == 0 {
			os.Remove(name)
		}
	}
}
