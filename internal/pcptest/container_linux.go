package pcptest

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// StartContainer runs a script of the shell in name spaces of its own for mounts, the network and
// the host name, and others that flags say, until its input ends: the script prints "ready" and
// then executes cat. It returns the process, and skips the test where that cannot be.
func StartContainer(t testing.TB, flags uintptr, env []string, script string, args ...string) (pid int) {
	t.Helper()
	NeedRoot(t, "it makes a container")
	cmd := exec.Command("/bin/sh", append([]string{"-c", script, "sh"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUTS | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | flags}
	var errs strings.Builder
	cmd.Stderr = &errs
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip("this machine lets nobody make namespaces: ", err)
	}
	t.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		stdin.Close()
		cmd.Wait()
		t.Skipf("this machine lets nobody make a container: %v\n%s", err, errs.String())
	}
	return cmd.Process.Pid
}
