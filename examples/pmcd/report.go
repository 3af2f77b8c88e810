package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/pcp-go/pcp/internal/pmlog"
)

// reportFailure says why the collector did not start where somebody sees it: in
// the file of -x, else on the standard error that the program had before its log
// took that. Without a log it is there already.
func (o *options) reportFailure(log io.Writer) {
	before := o.before
	if o.config == "" {
		return
	}
	pmlog.New(log, "pmcd", slog.LevelInfo).Error("pmcd not started due to errors!")
	if o.report != "" {
		f, err := os.Create(o.report)
		if err != nil {
			return // there is nobody to tell
		}
		defer f.Close()
		before = f
	} else if o.logPath() == "" {
		return
	}
	text, err := os.ReadFile(o.logPath())
	if err != nil {
		fmt.Fprintf(before, "NOTE: pmcd not started due to errors!  Log file %q has vanished!\n", o.log)
		return
	}
	fmt.Fprintf(before, "NOTE: pmcd not started due to errors!  Log file %q contains ...\n%s", o.logPath(), text)
}

// kept is not closed.
type kept struct{ io.Writer }

func (kept) Close() error { return nil }
