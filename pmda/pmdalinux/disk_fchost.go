package pmdalinux

import (
	"bytes"
	"io/fs"
	"math"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// fcHostDir has a directory for each Fibre Channel adapter.
const fcHostDir = "sys/class/fc_host"

// addFCHosts adds the metrics of Fibre Channel adapters. The C agent swaps the values of frames
// sent and bytes received.
func (l *linux) addFCHosts() {
	l.addEntryCount("hinv.nfchost", 91, "Fibre Channel adapters that there are", fcHostDir, func(e fs.DirEntry) bool { return !e.Type().IsRegular() })
	hosts := l.newDeviceDirectory(&pmda.InDom{Serial: pmda.InDomSerial(39), Name: "Fibre Channel adapter", Text: "Fibre Channel adapters, by host number"},
		fcHostDir, "statistics", func(string) bool { return true })
	hosts.addMetrics(91, parseFCCount, []deviceFileMetric{
		{"fchost.in.frames", "rx_frames", 0, pdu.SemCounter, pdu.UnitCount, "Frames that each Fibre Channel adapter has received"},
		{"fchost.out.frames", "tx_frames", 1, pdu.SemCounter, pdu.UnitCount, "Frames that each Fibre Channel adapter has sent"},
		{"fchost.lip_count", "lip_count", 4, pdu.SemCounter, pdu.UnitCount, "Times that the loop of each Fibre Channel adapter was set up anew"},
		{"fchost.nos_count", "nos_count", 5, pdu.SemCounter, pdu.UnitCount, "Times that each Fibre Channel adapter was told that its link does not work"},
		{"fchost.error_frames", "error_frames", 6, pdu.SemCounter, pdu.UnitCount, "Frames received by each Fibre Channel adapter that were damaged"},
		{"fchost.dumped_frames", "dumped_frames", 7, pdu.SemCounter, pdu.UnitCount, "Frames that each Fibre Channel adapter had to throw away for want of room"},
	})
	hosts.addMetrics(91, parseFCWords, []deviceFileMetric{
		{"fchost.in.bytes", "rx_words", 2, pdu.SemCounter, pdu.SpaceByte, "Data that each Fibre Channel adapter has received"},
		{"fchost.out.bytes", "tx_words", 3, pdu.SemCounter, pdu.SpaceByte, "Data that each Fibre Channel adapter has sent"},
	})
}

// parseFCCount parses a count such as 0x39ce. The maximum means that the driver does not count.
func parseFCCount(text []byte, v *uint64) bool {
	line, one := procfile.OnlyLine(bytes.TrimRight(text, "\x00"))
	digits, is := bytes.CutPrefix(line, []byte("0x"))
	n, ok := procfile.ParseHex(digits)
	*v = n
	return one && is && ok && n != math.MaxUint64
}

// parseFCWords parses a count of words of four bytes.
func parseFCWords(text []byte, v *uint64) bool {
	ok := parseFCCount(text, v) && *v <= math.MaxUint64/4
	*v *= 4
	return ok
}
