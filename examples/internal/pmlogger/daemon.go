package pmlogger

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/internal/account"
	"github.com/pcp-go/pcp/internal/daemonfile"
	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
)

// reexecEnv is set in the environment of a logger that has restarted itself, which continues its
// log.
const reexecEnv = "PMLOGGER_REEXEC"

// again reports whether the program has restarted itself.
func (p *program) again() bool { return os.Getenv(reexecEnv) != "" }

// becomeDaemon switches to the user of services and records the process ID.
func (p *program) becomeDaemon() error {
	if err := account.Become(cmp.Or(p.opts.user, p.conf.Get("PCP_USER"))); err != nil {
		p.log.Log(context.Background(), pmlog.LevelCritical, err.Error())
		return err
	}
	p.notePID()
	return nil
}

// notePID writes the file that leads scripts to the primary logger.
func (p *program) notePID() {
	if !p.opts.primary {
		return
	}
	f, err := daemonfile.Create(filepath.Join(p.conf.Get("PCP_RUN_DIR"), "pmlogger.pid"))
	if err != nil {
		return // the scripts that need it will say so
	}
	fmt.Fprintf(f, "%d", os.Getpid())
	_ = f.Chmod(0o444)
	p.pidFile = f
}

// removePID removes the file of notePID.
func (p *program) removePID() {
	if p.pidFile != nil {
		_ = p.pidFile.Remove()
		p.pidFile.Close()
	}
}

// openLog redirects standard output and standard error to the log, and writes its first lines. The
// log of the previous run is renamed to NAME.prev.
func (p *program) openLog() {
	name := cmp.Or(p.opts.log, "pmlogger.log")
	if name == "-" {
		p.startLog("")
		return
	}
	f, err := daemonfile.Rotate(name)
	if err != nil {
		fmt.Fprintf(p.w, "%s: cannot open log \"%s\" for writing : %v\n", programName, name, pdu.FromError(err))
		p.terminal().Hint(fmt.Sprintf("the log cannot be written in %s: choose another file with -l", filepath.Dir(name)))
		p.startLog(name)
		return
	}
	l := &daemonfile.Log{File: f}
	if terminal.Is(os.Stderr) {
		p.start = &start{stderr: daemonfile.KeepStderr(), log: l}
	} else {
		defer f.Close()
	}
	if err := l.Redirect(); err != nil {
		fmt.Fprintf(p.w, "%s: %v\n", programName, err)
	}
	p.startLog("")
}

// A start is the start of a program on a terminal, until it records.
type start struct {
	stderr io.WriteCloser // the terminal
	log    *daemonfile.Log
}

// fail prints the log, which tells why nothing is recorded.
func (s *start) fail() {
	text, err := s.log.Text()
	if err != nil {
		text = []byte(err.Error() + "\n")
	}
	fmt.Fprintf(s.stderr, "%s: nothing is recorded; log file %q contains ...\n%s", programName, filepath.Clean(s.log.Name()), text)
}

// started ends the start. Later messages are only in the log.
func (p *program) started() {
	if p.start != nil {
		_ = p.start.stderr.Close()
		_ = p.start.log.Close()
		p.start = nil
	}
}

// startLog writes the first lines of the log, and failed if the log could not be opened.
func (p *program) startLog(failed string) {
	_ = daemonfile.StartLog(p.w, programName)
	if failed != "" {
		fmt.Fprintf(p.w, "%s: Warning: log file (%s) creation failed\n", programName, failed)
	}
}

// notify sends a state to the service manager, with -N.
func (p *program) notify(state string) {
	if p.opts.notify {
		if err := daemonfile.Notify(state); err != nil {
			fmt.Fprintf(p.w, "%s: Warning: %v\n", programName, err)
		}
	}
}

// execute restarts the program in this process.
func (p *program) execute() error {
	args := reexecArgs(p.args, p.opts.base)
	fmt.Fprint(p.w, "\n=== pmlogger: reexec cmdlne:")
	for _, a := range args {
		fmt.Fprintf(p.w, " %s", a)
	}
	fmt.Fprintln(p.w)
	if err := execSelf(args, append(os.Environ(), reexecEnv+"=1")); err != nil {
		fmt.Fprintf(p.w, "Error: execvp returned unexpectedly: %v\n", err)
		return errFailed
	}
	return nil
}

// reexecArgs returns the arguments of a logger that restarts itself. They have another note of -m,
// before the last argument as with C's program, unless that is the value of an option and the note
// would be lost.
func reexecArgs(args []string, operand string) []string {
	again := args[:1:1]
	for i := 1; i < len(args); i++ {
		switch {
		case args[i] == "-m":
			i++ // and the note
		case !strings.HasPrefix(args[i], "-m"):
			again = append(again, args[i])
		}
	}
	at := len(again) - 1
	if last := again[at]; at == 0 || last != operand && !strings.HasPrefix(last, "-") {
		at = 1
	}
	return slices.Insert(again, at, "-m"+reexecNote)
}
