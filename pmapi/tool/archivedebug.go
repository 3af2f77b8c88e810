package tool

import (
	"fmt"
	"io"
	"strings"

	"github.com/pcp-go/pcp/internal/pmlog"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// archiveDebug prints what debug options show of a context on an archive that has been opened, and
// makes it print more later. pc is nil on an error.
func (c *Command) archiveDebug(name string, pc *pmapi.Context, err error) {
	if len(c.Debug) == 0 {
		return
	}
	if pmlog.DebugOn(c.Debug)["context"] {
		var b strings.Builder
		if err != nil {
			fmt.Fprintf(&b, "pmNewContext(2, %s) -> %d, curr_handle=-1\n", name, pdu.FromError(err))
		} else {
			printArchiveContext(&b, name, pc)
		}
		io.WriteString(c.stderr(), b.String())
	}
	if err == nil {
		c.fetchDebug(pc, nil)
	}
}

// printArchiveContext prints a new context as the C library does that opens the files of a single
// archive: the volume, the index and the metadata have the first three descriptors.
func printArchiveContext(b *strings.Builder, name string, pc *pmapi.Context) {
	label, err := pc.ArchiveLabel()
	if err != nil {
		return
	}
	const volume, index, metadata = debugFD, debugFD + 2, debugFD + 1
	for _, fd := range []struct {
		opened int
		table  string
	}{{volume, "3(2,0)"}, {index, "3(2,0) 5(2,0)"}, {metadata, "3(2,0) 4(2,0) 5(2,0)"}} {
		fmt.Fprintf(b, "__pmSetVersionIPC: fd=%d version=2\nIPC table fd(PDU version): %s\n", fd.opened, fd.table)
	}
	offset := 132 // of the first record, behind the label and the words with its length
	if label.Version >= 3 {
		offset = 808
	}
	fmt.Fprintf(b, "pmNewContext(2, %s) -> 0\nDump Contexts: current -> contexts[0] handle 0\n", name)
	fmt.Fprintf(b, "contexts[0] handle 0: log %s: mode=FORW profile=NOT_SENT tifd=%d mdfd=%d mfd=%d\n", name, index, metadata, volume)
	fmt.Fprintf(b, "refcnt=1 vol=%d offset=%d (vol=%d) serial=0 origin=%d.%09d delta=0.000000000\n",
		label.Volume, offset, label.Volume, label.Start.Unix(), label.Start.Nanosecond())
	printProfile(b, new(pdu.Profile))
}
