package logcheck

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
)

// mend repairs the archive and reports whether all damage was repaired. It keeps the damaged files
// beside the repaired ones. With -r and -R PCP 7 truncates files at the first damage. This program
// also keeps what can be read after it.
func (k *checker) mend(ctx context.Context) (mended bool, err error) {
	in := bufio.NewReader(os.Stdin)
	refused := false
	var why error
	o := archive.RepairOptions{Choose: func(f archive.RepairedFile) bool {
		yes := why == nil
		if yes && k.Ask {
			yes, why = k.confirmRepair(in, f)
		}
		refused = refused || !yes
		return yes
	}}
	repaired, err := o.Repair(ctx, k.base)
	for _, f := range repaired {
		k.reportMended(f)
	}
	switch at, ok := errors.AsType[*archive.Error](err); {
	case why != nil:
		return false, why
	case err == nil:
		return !refused, nil
	case ok && errors.Is(err, pdu.ErrLogFile) && trimCompression(at.File) != at.File:
		return false, &pcptool.ExitError{Status: 1, Message: fmt.Sprintf("Error: %s: compressed file, repair not allowed\n", terminal.EscapeName(at.File)), Err: err}
	}
	k.printf("Error: %s\n", terminal.Escape(err.Error()))
	return false, nil
}

// reportMended prints what was done with a file.
func (k *checker) reportMended(f archive.RepairedFile) {
	name := terminal.EscapeName(f.Path)
	switch {
	case f.NewSize == 0:
		k.printf("Info: %s: removed, since nothing was left of it\n", name)
	case f.NewSize < f.Size:
		k.printf("Info: %s: truncated from %d to %d bytes\n", name, f.Size, f.NewSize)
	default:
		k.printf("Info: %s: made anew\n", name)
	}
	if f.Kept != "" {
		k.printf("Info: %s: damaged file kept as %s\n", name, terminal.EscapeName(f.Kept))
	}
}

// confirmRepair asks the user whether to repair a file.
func (k *checker) confirmRepair(in *bufio.Reader, f archive.RepairedFile) (bool, error) {
	if !terminal.Is(os.Stdin) {
		return false, &pcptool.ExitError{Status: 1, Message: "Error: not interactive so repair not allowed\n       ... consider -R for non-interactive repair\n"}
	}
	k.errs.Flush()
	for {
		fmt.Printf("%s: Truncate? [yes|no] ", terminal.EscapeName(f.Path))
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
