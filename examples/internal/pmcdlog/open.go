package pmcdlog

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/pcp-go/pcp/internal/daemonfile"
	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/pdu"
)

// A Log says where a collector logs, and where it reports why it did not start.
type Log struct {
	Path      string // "-" is standard error; empty means pmcd.log, or standard error if Embedded
	Report    string // the file of ReportFailure; empty means standard error
	Embedded  bool   // the collector has no configuration file
	Installed bool   // the collector replaces PCP's pmcd, and errors have its words
	Inherited bool   // standard error is the log of the process whose place this one takes

	file *daemonfile.Log // nil for standard error
}

// path returns the file of the log, empty for standard error.
func (l *Log) path() string {
	switch {
	case l.Path == "-" || l.Path == "" && l.Embedded:
		return ""
	case l.Path == "":
		return "pmcd.log"
	}
	return l.Path
}

// Open opens the log, which also receives standard output and standard error. Without a file, out
// is stderr. Unless Embedded, it still has the first and last lines of a log. finish writes the
// last lines.
func (l *Log) Open(stderr io.Writer) (out io.Writer, finish func() error, err error) {
	path := l.path()
	if l.Inherited {
		path = ""
	}
	toStderr := func() (io.Writer, func() error, error) {
		return stderr, func() error { return daemonfile.FinishLog(stderr) }, daemonfile.StartLog(stderr, "pmcd")
	}
	switch {
	case path == "" && l.Embedded:
		return stderr, func() error { return nil }, nil
	case path == "":
		return toStderr()
	}
	f, err := daemonfile.OpenLog(path, "pmcd")
	if err != nil && !l.Embedded { // as for pmcd, standard error takes its place
		advice := ""
		if !l.Installed {
			advice = ": choose another file with -l"
		}
		fmt.Fprintf(stderr, "pmcd: cannot open log %q for writing : %v%s\n", path, pdu.FromError(err), advice)
		return toStderr()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("cannot write the log: %w: choose another place with -l", err)
	}
	if err := f.Redirect(); err != nil {
		f.Finish()
		return nil, nil, err
	}
	l.file = f
	return f, f.Finish, nil
}

// ReportFailure says why the collector did not start where its user sees it: in the file Report, or
// else on stderr, the standard error that the program had before the log replaced it. Without a log
// file the reason is there already.
func (l *Log) ReportFailure(out, stderr io.Writer) {
	if l.Embedded {
		return
	}
	pmlog.New(out, "pmcd", slog.LevelInfo).Error("pmcd not started due to errors!")
	if l.Report != "" {
		f, err := daemonfile.Create(l.Report)
		if err != nil {
			return // there is no other place to say so
		}
		defer f.Close()
		stderr = f
	} else if l.file == nil {
		return
	}
	if l.file == nil {
		fmt.Fprintf(stderr, "NOTE: pmcd not started due to errors!  Log file %q has vanished!\n", cmp.Or(l.Path, "pmcd.log"))
		return
	}
	text, err := l.file.Text()
	if err != nil {
		text = []byte(err.Error() + "\n")
	}
	fmt.Fprintf(stderr, "NOTE: pmcd not started due to errors!  Log file %q contains ...\n%s", l.path(), text)
}

// A PlainError is printed without the name of the program.
type PlainError string

func (e PlainError) Error() string { return string(e) }

// Fail prints an error and returns the exit status, 0 without one. It does not print an empty
// PlainError.
func Fail(w io.Writer, err error) int {
	if err == nil {
		return 0
	}
	if text, ok := errors.AsType[PlainError](err); ok {
		if text != "" {
			fmt.Fprintln(w, text)
		}
		return 1
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintf(w, "pmcd: %s\n", line)
	}
	return 1
}
