package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// linksArg as its first argument makes the test program plant links to the second argument and the
// third, in the places of the others.
const linksArg = "attack-links"

// TestAttackLinks starts the program as root. Its directories belong to another user, as PCP's do,
// and this user keeps planting links, FIFOs and directories in the places of its files. A file of
// root must stay unchanged, no file may appear where only root may write, and the program must
// start, or report in time why it cannot.
func TestAttackLinks(t *testing.T) {
	needAttack(t)
	if os.Geteuid() != 0 {
		t.Skip("only root has what another user may want: run the test as root")
	}
	in := install(t)
	copyFile(t, program(t), in.pmcd)
	uid, err := strconv.Atoi(in.user.Uid)
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(in.dir, "root")
	secret, absent := filepath.Join(root, "secret"), filepath.Join(root, "absent")
	logs, run := filepath.Join(in.dir, "log/pmcd"), filepath.Join(in.dir, "run")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	attacker := filepath.Join(in.dir, "bin/attacker") // where the other user may run it
	copyFile(t, self, attacker)
	err = errors.Join(os.Mkdir(root, 0o700), os.WriteFile(secret, []byte("secret"), 0o600), os.Chown(logs, uid, -1), os.Chown(run, uid, -1))
	if err != nil {
		t.Fatal(err)
	}
	ready, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(in.dir, "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer ready.Close()

	plant := exec.Command(attacker, linksArg, secret, absent, filepath.Join(run, "pmcd.socket"), filepath.Join(run, "pmcd.pid"),
		filepath.Join(logs, "pmcd.log"), filepath.Join(logs, "pmcd.log.prev"), filepath.Join(logs, "simple.log"), filepath.Join(logs, "simple.log.prev"))
	plant.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}, Pdeathsig: syscall.SIGKILL}
	if err := plant.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		plant.Process.Kill()
		plant.Wait()
	}()

	served, refused, changed := 0, 0, 0
	starts := size(16, 64)
	for range starts {
		if in.start(t, ready, logs) {
			served++
		} else {
			refused++
		}
		if what := changes(secret, absent); what != "" {
			changed++
			if changed == 1 {
				t.Error(what)
			}
			os.Remove(absent)
			os.WriteFile(secret, []byte("secret"), 0o600)
			os.Chmod(secret, 0o600)
		}
	}
	t.Logf("of %d starts, %d served and %d ended with an error; files of root changed in %d", starts, served, refused, changed)
	if changed > 0 {
		t.Errorf("files of root changed in %d of %d starts", changed, starts)
	}
	if served == 0 {
		t.Error("no start served")
	}
}

// changes says what has happened to the files of root, "" if nothing has.
func changes(secret, absent string) string {
	st, err := os.Stat(secret)
	if err != nil {
		return err.Error()
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "secret" || st.Mode() != 0o600 || st.Sys().(*syscall.Stat_t).Uid != 0 {
		return fmt.Sprintf("the file of root has mode %v and holds %q, %v", st.Mode(), b, err)
	}
	if _, err := os.Lstat(absent); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("a file was made where only root may: %v", err)
	}
	return ""
}

// start starts the program in the background, waits until it serves or has ended, and
// ends it. It reports whether it served.
func (in *installation) start(t *testing.T, ready *net.UnixConn, dir string) (served bool) {
	t.Helper()
	const limit = time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, in.pmcd, "-A", "-U", "root", "-c", filepath.Join(in.dir, "etc/pcp/pmcd.conf"))
	cmd.Dir, cmd.Env = dir, append(append(pcptest.Env(), in.env...), "NOTIFY_SOCKET="+ready.LocalAddr().String())
	cmd.WaitDelay = limit
	if err := cmd.Run(); ctx.Err() != nil {
		t.Fatalf("the start takes longer than %v: %v", limit, err)
	}
	b := make([]byte, 1000)
	for end := time.Now().Add(limit); !served; {
		ready.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		n, _ := ready.Read(b)
		served = n > 0
		if !served && len(in.running()) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the program neither serves nor ends in %v", limit)
		}
	}
	for _, pid := range in.running() {
		syscall.Kill(pid, syscall.SIGTERM)
		waitGone(t, pid)
	}
	ready.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	ready.Read(b) // of the end
	return served
}

// running are the processes of the program.
func (in *installation) running() []int {
	var pids []int
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, link := range links {
		if exe, err := os.Readlink(link); err == nil && exe == in.pmcd {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link))); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// plantAll plants links to target and absent, and sometimes something else, in the
// places of files, until the process is killed.
func plantAll(target, absent string, places []string) int {
	for n := 0; ; n++ {
		place := places[n%len(places)]
		to := target
		if n/len(places)%2 == 1 {
			to = absent
		}
		os.Symlink(to, place)
		switch n % 499 {
		case 100, 200, 300: // in exchange for what is there
			os.Symlink(to, place+".link")
			os.Rename(place+".link", place)
		case 400:
			os.Remove(place)
			syscall.Mkfifo(place, 0o666)
		case 450:
			os.Remove(place)
			os.Mkdir(place, 0o777)
		case 490:
			os.Remove(place)
			os.Link(target, place)
		default:
			if n%7 == 0 {
				os.Remove(place)
			}
		}
	}
}
