// Package logcheck checks the files of archives, and repairs damaged ones.
package logcheck

import (
	"bufio"
	"context"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
)

// Options say what is checked and printed.
type Options struct {
	Label    bool // print the archive label
	MetaOnly bool // skip the values
	Verbose  int
	NoWraps  bool // no warnings about counters that have decreased
	Repair   bool // repair damaged files
	Ask      bool // before that
}

// Check checks the archives of all arguments, each once, and writes its findings to errs. The time
// window and the name space are those of c.
func Check(ctx context.Context, c *pcptool.Command, o *Options, errs *bufio.Writer, args []string) error {
	checked := map[string]bool{} // several arguments may be files of one archive
	var bad error
	for _, arg := range args {
		base := archiveName(arg)
		if checked[base] {
			continue
		}
		checked[base] = true
		err := check(ctx, c, o, errs, arg)
		if err == nil {
			continue
		}
		errs.Flush()
		c.Report(err)
		bad = failed
	}
	return bad
}

// check checks the archive of an argument.
func check(ctx context.Context, c *pcptool.Command, o *Options, errs *bufio.Writer, arg string) error {
	k := &checker{Options: o, errs: errs}
	defer k.close()
	if err := k.findFiles(arg); err != nil {
		return err
	}
	fatal := k.checkFiles(ctx)
	if o.Repair {
		mended, err := k.mend(ctx)
		if err != nil {
			return err
		}
		fatal = fatal && !mended
	}
	if fatal {
		if k.Verbose > 0 {
			k.printf("Due to earlier errors, cannot continue ... bye\n")
		}
		return failed
	}
	if err := k.open(ctx, c); err != nil {
		return err
	}
	k.checkIndex()
	k.checkMetadata()
	if k.MetaOnly {
		return nil
	}
	return k.checkValues()
}

// failed is the error after faults have been reported.
var failed = &pcptool.ExitError{Status: 1}
