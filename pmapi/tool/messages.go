package tool

import (
	"fmt"
	"io"
	"os"
)

// deliver prints the complaints of a program about its command line where pmflush(3) does: to standard error, or where
// PCP_STDERR says. "DISPLAY" there would stand for a dialog, of which there is none, and any other name for a file to
// append to.
func deliver(program string, text []byte) {
	if len(text) == 0 {
		return
	}
	w := io.Writer(os.Stderr)
	switch name := os.Getenv("PCP_STDERR"); name {
	case "":
	case "DISPLAY":
		fmt.Fprintf(os.Stderr, "%s: using stderr - there are no dialogs\n", program)
	default:
		f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
		if err != nil {
			fmt.Fprintf(os.Stderr, "pmflush: cannot append to file '%s' (from $PCP_STDERR): %s\n", name, Reason(err))
			break
		}
		defer f.Close()
		w = f
	}
	w.Write(text)
}
