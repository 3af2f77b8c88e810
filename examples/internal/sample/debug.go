package sample

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/pcp-go/pcp/internal/pmlog"
)

// A Debug is a set of PCP's debug options, by their bits. The option -D of the program sets them,
// and so do clients that store into the metric control. The agent uses appl1, which logs when
// clients come and go. It is safe for concurrent use. Its zero value has no options on.
type Debug struct {
	// Writer is where what is no line of the log goes; nil means os.Stderr.
	Writer io.Writer

	bits atomic.Uint32
}

const debugAppl1 = 1 << 12

// Set turns the options of a text on: names separated by commas, or the sum of bits.
func (d *Debug) Set(spec string) error {
	names, ok := pmlog.ParseDebug(spec)
	if !ok {
		return fmt.Errorf("unrecognized debug options specification (%s)", spec)
	}
	for _, name := range names {
		if n, err := strconv.ParseInt(name, 10, 64); err == nil {
			d.bits.Or(uint32(n))
		} else if name == "all" {
			d.bits.Store(^uint32(0))
		} else if at := slices.Index(pmlog.DebugNames, name); at < 32 {
			d.bits.Or(1 << at)
		}
	}
	return nil
}

// on reports whether one of some options is on.
func (d *Debug) on(bits uint32) bool { return d.bits.Load()&bits != 0 }

// printf writes what PCP's agents write past the log.
func (d *Debug) printf(format string, args ...any) {
	w := d.Writer
	if w == nil {
		w = os.Stderr
	}
	fmt.Fprintf(w, format+"\n", args...)
}
