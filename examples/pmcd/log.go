package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/pcp-go/pcp/internal/pmlog"
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

// openLog opens the log, which also takes what is written to standard error. Without
// a file, out is stderr.
func (o *options) openLog(stderr io.Writer) (out io.Writer, finish func() error, err error) {
	path := o.logPath()
	if path == "" {
		return stderr, func() error { return nil }, nil
	}
	f, err := pmlog.Open(path, "pmcd")
	if err != nil {
		return nil, nil, fmt.Errorf("cannot write the log: %w: choose another place with -l", err)
	}
	if err := f.RedirectStderr(); err != nil {
		f.Finish()
		return nil, nil, err
	}
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
		f, err := os.Create(d.report)
		if err != nil {
			return // there is no other place to say so
		}
		defer f.Close()
		w = f
	} else if d.logPath() == "" {
		return
	}
	text, err := os.ReadFile(d.logPath())
	if err != nil {
		fmt.Fprintf(w, "NOTE: pmcd not started due to errors!  Log file %q has vanished!\n", d.log)
		return
	}
	fmt.Fprintf(w, "NOTE: pmcd not started due to errors!  Log file %q contains ...\n%s", d.logPath(), text)
}

// A noCloser is a writer whose Close does nothing.
type noCloser struct{ io.Writer }

func (noCloser) Close() error { return nil }
