package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// mend mends the archive, of which damaged files stay beside the mended ones, and reports whether
// all that was damaged is. The -r and -R of PCP 7 cut files off at the first damage; here what can
// still be read after it stays, too.
func (k *checker) mend(ctx context.Context) (mended bool, err error) {
	in := bufio.NewReader(os.Stdin)
	refused := false
	var why error
	o := archive.RepairOptions{Choose: func(f archive.RepairedFile) bool {
		yes := why == nil
		if yes && k.ask {
			yes, why = k.confirm(in, f)
		}
		refused = refused || !yes
		return yes
	}}
	report, err := o.Repair(ctx, k.base)
	if report != nil {
		for _, f := range report.Files {
			k.reportMended(f)
		}
	}
	switch at, ok := errors.AsType[*archive.Error](err); {
	case why != nil:
		return false, why
	case err == nil:
		return !refused, nil
	case ok && errors.Is(err, pdu.ErrLogFile) && trimCompression(at.File) != at.File:
		return false, &tool.ExitError{Status: 1, Message: fmt.Sprintf("Error: %s: compressed file, repair not allowed\n", tool.EscapeName(at.File)), Err: err}
	}
	k.printf("Error: %s\n", tool.Escape(err.Error()))
	return false, nil
}

// reportMended prints what was done with a file.
func (k *checker) reportMended(f archive.RepairedFile) {
	name := tool.EscapeName(f.Path)
	switch {
	case f.NewSize == 0:
		k.printf("Info: %s: removed, since nothing was left of it\n", name)
	case f.NewSize < f.Size:
		k.printf("Info: %s: truncated from %d to %d bytes\n", name, f.Size, f.NewSize)
	default:
		k.printf("Info: %s: made anew\n", name)
	}
	if f.Kept != "" {
		k.printf("Info: %s: damaged file kept as %s\n", name, tool.EscapeName(f.Kept))
	}
}

// confirm asks whether a file is to be mended.
func (k *checker) confirm(in *bufio.Reader, f archive.RepairedFile) (bool, error) {
	if !isTerminal(os.Stdin) {
		return false, &tool.ExitError{Status: 1, Message: "Error: not interactive so repair not allowed\n       ... consider -R for non-interactive repair\n"}
	}
	k.errs.Flush()
	for {
		fmt.Printf("%s: Truncate? [yes|no] ", tool.EscapeName(f.Path))
		answer, err := in.ReadString('\n')
		switch strings.TrimSpace(answer) {
		case "yes":
			return true, nil
		case "no":
			return false, nil
		}
		if err != nil {
			return false, nil
		}
		fmt.Println("Please answer the question, yes or no")
	}
}
