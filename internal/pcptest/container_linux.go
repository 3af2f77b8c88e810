package pcptest

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// StartContainer runs a shell script in separate name spaces for mounts, the network and the host
// name, and for those in flags. The script prints "ready" and then executes cat, which ends with
// its input. StartContainer returns the ID of the process. It skips the test where name spaces
// cannot be made.
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
