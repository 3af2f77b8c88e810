package pcptest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strings"
	"sync"
	"testing"
	"time"
)

// runTimeout bounds a command of Run, so that one that hangs is reported before the time of go test
// is over. It leaves a busy machine time for several that walk every metric of the linux agent.
const runTimeout = 4 * time.Minute

// Output is the result of a command.
type Output struct {
	Stdout, Stderr string
	Status         int // exit status
}

// Run runs a command to its end and returns what it wrote and its exit status. It calls Need
// for a program without a slash in its name, or below /usr, /etc or /var/lib/pcp. env is added
// to Env. The test fails when the command cannot be started, is killed, or takes longer than
// some minutes. Run is for the goroutine of the test.
func Run(t testing.TB, env []string, stdin string, argv ...string) (stdout, stderr string, status int) {
	t.Helper()
	return RunIn(t, "", env, stdin, argv...)
}

// RunIn is Run in the directory dir.
func RunIn(t testing.TB, dir string, env []string, stdin string, argv ...string) (stdout, stderr string, status int) {
	t.Helper()
	o, err := run(t, executable(t, argv[0]), dir, env, stdin, argv)
	if err != nil {
		t.Fatal(err)
	}
	return o.Stdout, o.Stderr, o.Status
}

// RunAll is Run for several commands at the same time, without standard input. The outputs are in
// their order.
func RunAll(t testing.TB, env []string, argvs ...[]string) []Output {
	t.Helper()
	outputs, errs := make([]Output, len(argvs)), make([]error, len(argvs))
	paths := make([]string, len(argvs))
	for i, argv := range argvs {
		paths[i] = executable(t, argv[0])
	}
	var wg sync.WaitGroup
	for i, argv := range argvs {
		wg.Go(func() { outputs[i], errs[i] = run(t, paths[i], "", env, "", argv) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return outputs
}

// executable returns the path of a program. One that is not the test's own is needed.
func executable(t testing.TB, program string) string {
	t.Helper()
	if !strings.ContainsRune(program, '/') || strings.HasPrefix(program, "/usr/") || strings.HasPrefix(program, "/etc/") ||
		strings.HasPrefix(program, "/var/lib/pcp/") {
		return Tool(t, program)
	}
	return program
}

// run does not end the test, so that any goroutine may call it.
func run(t testing.TB, path, dir string, env []string, stdin string, argv []string) (o Output, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), runTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(Env(), env...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = 30 * time.Second // a grandchild may hold the pipes
	err = cmd.Run()
	o = Output{Stdout: WithoutTypos(out.String()), Stderr: WithoutTypos(errs.String())}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() >= 0 {
		o.Status = exit.ExitCode()
		return o, nil
	}
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		err = fmt.Errorf("%s: %w\nstdout: %s\nstderr: %s", strings.Join(argv, " "), err, tail(o.Stdout), tail(o.Stderr))
	}
	return o, err
}

// Env returns the environment that the kit gives to commands: this process's without PCP's own
// variables, and with what makes output comparable: no derived metrics, the C locale, UTC. PCP's
// user is this one, unless that is root. Tools wait for a collector that a busy machine makes slow.
func Env() []string {
	var env []string
	for _, kv := range os.Environ() {
		k, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(k, "PCP_") || strings.HasPrefix(k, "PMCD_") || strings.HasPrefix(k, "PMDA_") ||
			strings.HasPrefix(k, "LC_") || k == "LANG" || k == "TZ" {
			continue
		}
		env = append(env, kv)
	}
	env = append(env, "PCP_DERIVED_CONFIG=", "LC_ALL=C", "TZ=UTC", "PMCD_CONNECT_TIMEOUT=60", "PMCD_REQUEST_TIMEOUT=60",
		"PCP_INTERP_PRIOR=1") // our programs interpolate as PCP 6.0.3 does; see pmapi.ArchiveOptions.PriorValues
	return append(env, account()...)
}

// account makes PCP's programs run as the user of the test. By default they become pcp, which needs
// root's privileges.
func account() []string {
	u, other := otherThanRoot()
	if !other {
		return nil
	}
	env := []string{"PCP_USER=" + u.Username}
	if g, err := user.LookupGroupId(u.Gid); err == nil {
		env = append(env, "PCP_GROUP="+g.Name)
	}
	return env
}

// otherThanRoot returns the user of the test, and whether that user is not root.
func otherThanRoot() (*user.User, bool) {
	u, err := user.Current()
	return u, err == nil && u.Uid != "0"
}

// tail returns the end of a log, for an error message.
func tail(s string) string {
	const most = 4000
	if len(s) > most {
		return "..." + s[len(s)-most:]
	}
	return s
}
