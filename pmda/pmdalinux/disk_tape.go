package pmdalinux

import (
	"bytes"
	"io/fs"

	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// tapeDir has a directory for each device of each tape drive.
const tapeDir = "sys/class/scsi_tape"

// isTape reports whether a name is the first name of a tape drive. st0l, st0m and st0a are the same
// drive with other densities, and nst0 does not rewind.
func isTape(name string) bool {
	return len(name) > 2 && name[:2] == "st" && scan.IsDigit(name[len(name)-1])
}

// addTapes adds the metrics of tape drives, which Linux has since version 4.2.
func (l *linux) addTapes() {
	l.addEntryCount("hinv.ntape", 71, "Tape drives that there are", tapeDir, func(e fs.DirEntry) bool { return isTape(e.Name()) })
	l.newDeviceDirectory(&pmda.InDom{Serial: pmda.InDomSerial(34), Name: "tape drive", Text: "SCSI tape drives"}, tapeDir, "stats", isTape).
		addMetrics(71, parseTapeCount, []deviceFileMetric{
			{"tape.dev.in_flight", "in_flight", 0, pdu.SemInstant, pdu.UnitCount, "Requests that each tape drive is working on"},
			{"tape.dev.io_ns", "io_ns", 1, pdu.SemCounter, pdu.TimeNSec, "Time that each tape drive took for requests of any kind"},
			{"tape.dev.other_cnt", "other_cnt", 2, pdu.SemCounter, pdu.UnitCount, "Requests to each tape drive other than to read and to write, such as to rewind"},
			{"tape.dev.read_byte_cnt", "read_byte_cnt", 3, pdu.SemCounter, pdu.SpaceByte, "Data read from each tape drive"},
			{"tape.dev.read_cnt", "read_cnt", 4, pdu.SemCounter, pdu.UnitCount, "Requests to read from each tape drive"},
			{"tape.dev.read_ns", "read_ns", 5, pdu.SemCounter, pdu.TimeNSec, "Time that each tape drive took for reads"},
			{"tape.dev.resid_cnt", "resid_cnt", 6, pdu.SemCounter, pdu.UnitCount, "Reads and writes of each tape drive that did not transfer all that they should"},
			{"tape.dev.write_byte_cnt", "write_byte_cnt", 7, pdu.SemCounter, pdu.SpaceByte, "Data written to each tape drive"},
			{"tape.dev.write_cnt", "write_cnt", 8, pdu.SemCounter, pdu.UnitCount, "Requests to write to each tape drive"},
			{"tape.dev.write_ns", "write_ns", 9, pdu.SemCounter, pdu.TimeNSec, "Time that each tape drive took for writes"},
		})
}

// parseTapeCount parses a count that the kernel writes without a newline. A copy of the file may be
// padded with NULs to the size that stat(2) reports.
func parseTapeCount(text []byte, v *uint64) (ok bool) {
	*v, ok = procfile.ParseUint(bytes.TrimSuffix(bytes.TrimRight(text, "\x00"), []byte("\n")))
	return ok
}
