package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// scriptActions has PCP's script do what it can with a pmcd.
const scriptActions = `
act() { echo "== $*"; "$@" 2>&1; echo "exit status $?"; }
script=/etc/init.d/pmcd
act pmcd_wait -t 1
act pmcd_wait extra
act pmcd_wait -h nosuch.host.invalid
act $script status
act $script stop
act $script nosuch
act $script start
act $script status
act pmcd_wait
first=$(cat run/pmcd.pid)
act $script start
second=$(cat run/pmcd.pid)
[ $first != $second ] && ! kill -0 $first && echo another process
ls log/pmcd
rm -f run/pmcd.pid; printf 99999 >run/pmcd.pid
act $script stop
kill -0 $second && echo still there
rm -f run/pmcd.pid; printf $second >run/pmcd.pid
act $script restart
second=$(cat run/pmcd.pid)
act $script stop
kill -0 $second || echo gone
act $script stop
act $script status
ls run
mv etc/pcp/pmcd.conf etc/pcp/good.conf
act $script start
echo 'simple 600 pipe binary /bin/true' >etc/pcp/pmcd.conf
act $script start
act $script status
mv etc/pcp/good.conf etc/pcp/pmcd.conf
printf 'tls-cert-file = /nosuch/cert\ntls-key-file = /nosuch/key\n' >tls.conf
PCP_TLSCONF_PATH=$PWD/tls.conf PMCD_WAIT_TIMEOUT=2; export PCP_TLSCONF_PATH PMCD_WAIT_TIMEOUT
act $script start
act $script status
`

// TestInteropScript has PCP's script start and stop C pmcd and ours in its place, where no other
// process is seen: it says and returns the same. It takes long, and TestScript does a part of it.
func TestInteropScript(t *testing.T) {
	if !*all {
		t.Skip("needs -all")
	}
	pcptest.Need(t, "/etc/init.d/pmcd", "pmcd", "pmcd_wait", "unshare")
	pcptest.NeedRoot(t, "it makes a name space of processes")
	transcript := func(program string) string {
		in := install(t)
		env := in.forScript(t)
		if program != "" {
			if err := os.Remove(in.pmcd); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(program, in.pmcd); err != nil {
				t.Fatal(err)
			}
		}
		file := filepath.Join(in.dir, "actions")
		if err := os.WriteFile(file, []byte(scriptActions), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), pcptest.Tool(t, "unshare"), "--pid", "--mount", "--fork", "--kill-child", "--mount-proc", "sh", file)
		cmd.Dir = in.dir
		cmd.Env = append(append(pcptest.Env(), env...), "PATH="+filepath.Join(in.dir, "bin")+":"+os.Getenv("PATH"))
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		out, err := cmd.CombinedOutput()
		if err != nil {
			if strings.Contains(string(out), "unshare failed") {
				t.Skipf("%s", out)
			}
			t.Fatalf("%v\n%s", err, out)
		}
		text := strings.ReplaceAll(string(out), in.dir, "DIR")
		text = regexp.MustCompile(`pmcd\(\d+\)`).ReplaceAllString(stamp.ReplaceAllString(text, "TIME"), "pmcd(PID)")
		return regexp.MustCompile(`kill: .*\n|terminate \.+|process \.\.\. \d+`).ReplaceAllString(text, "")
	}
	want, got := transcript(pcptest.Tool(t, "pmcd")), transcript("")
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("(-C +Go):\n%s\n%s", diff, got)
	}
}
