package main

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"

	"github.com/pcp-go/pcp/internal/daemonfile"
	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/pdu"
)

// logPath is the file of the log, empty for standard error.
func (o *options) logPath() string {
	switch {
	case o.log == "-" || o.log == "" && o.config == "":
		return ""
	case o.log == "":
		return "pmcd.log"
	}
	return o.log
}

// openLog opens the log, which also receives standard output and standard error. Without a file,
// out is stderr; with -l - it still has the first and last lines of a log.
func (d *daemon) openLog() (out io.Writer, finish func() error, err error) {
	path := d.logPath()
	if d.predecessor != nil {
		path = "" // its log is standard error
	}
	switch {
	case path == "" && d.config == "":
		return d.stderr, func() error { return nil }, nil
	case path == "":
		return d.stderr, func() error { return daemonfile.FinishLog(d.stderr) }, daemonfile.StartLog(d.stderr, "pmcd")
	}
	f, err := daemonfile.OpenLog(path, "pmcd")
	if err != nil && d.config != "" { // as for pmcd, standard error takes its place
		advice := ""
		if !d.installed {
			advice = ": choose another file with -l"
		}
		fmt.Fprintf(d.stderr, "pmcd: cannot open log %q for writing : %v%s\n", path, pdu.FromError(err), advice)
		return d.stderr, func() error { return daemonfile.FinishLog(d.stderr) }, daemonfile.StartLog(d.stderr, "pmcd")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("cannot write the log: %w: choose another place with -l", err)
	}
	if err := f.Redirect(); err != nil {
		f.Finish()
		return nil, nil, err
	}
	d.logFile = f
	return f, f.Finish, nil
}

// reportFailure says why the collector did not start where its user sees it: in
// the file of -x, else on the standard error that the program had before the log
// replaced it. Without a log file the reason is there already.
func (d *daemon) reportFailure(log io.Writer) {
	w := d.startStderr
	if d.config == "" {
		return
	}
	pmlog.New(log, "pmcd", slog.LevelInfo).Error("pmcd not started due to errors!")
	if d.report != "" {
		f, err := daemonfile.Create(d.report)
		if err != nil {
			return // there is no other place to say so
		}
		defer f.Close()
		w = f
	} else if d.logFile == nil {
		return
	}
	if d.logFile == nil {
		fmt.Fprintf(w, "NOTE: pmcd not started due to errors!  Log file %q has vanished!\n", cmp.Or(d.log, "pmcd.log"))
		return
	}
	text, err := d.logFile.Text()
	if err != nil {
		text = []byte(err.Error() + "\n")
	}
	fmt.Fprintf(w, "NOTE: pmcd not started due to errors!  Log file %q contains ...\n%s", d.logPath(), text)
}

// A noCloser is a writer whose Close does nothing.
type noCloser struct{ io.Writer }

func (noCloser) Close() error { return nil }
