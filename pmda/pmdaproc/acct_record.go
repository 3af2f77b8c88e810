package pmdaproc

import (
	"bytes"
	"encoding/binary"
	"math"
	"time"
)

// An acctRecord is the kernel's record of an ended process, in version 3 of the format.
type acctRecord struct {
	flag                                            uint8
	tty                                             uint16
	exitCode, uid, gid, pid, ppid, began            uint32
	elapsed                                         float32 // clock ticks
	user, system                                    uint64  // clock ticks
	memory, chars, blocks, minorFaults, majorFaults uint64
	swaps                                           uint64
	command                                         string
}

const (
	acctRecordLength = 64
	acctVersion      = 3 // of the low half of the byte; the high bit is the order of bytes
)

// isAcctRecord reports whether a record has the known version.
func isAcctRecord(b []byte) bool { return len(b) >= acctRecordLength && b[1]&0x0f == acctVersion }

// parseAcctRecord parses a record. It is not ok if the record has another version.
func parseAcctRecord(b []byte) (r acctRecord, ok bool) {
	if !isAcctRecord(b) {
		return r, false
	}
	number := func(at int) uint32 { return binary.NativeEndian.Uint32(b[at:]) }
	compressed := func(at int) uint64 { return expand(binary.NativeEndian.Uint16(b[at:])) }
	command, _, _ := bytes.Cut(b[48:acctRecordLength], []byte{0})
	return acctRecord{
		flag: b[0], tty: binary.NativeEndian.Uint16(b[2:]),
		exitCode: number(4), uid: number(8), gid: number(12), pid: number(16), ppid: number(20), began: number(24),
		elapsed: math.Float32frombits(number(28)),
		user:    compressed(32), system: compressed(34), memory: compressed(36), chars: compressed(38), blocks: compressed(40),
		minorFaults: compressed(42), majorFaults: compressed(44), swaps: compressed(46),
		command: string(cleanArguments(bytes.Clone(command))),
	}, true
}

// expand returns the number that the kernel has encoded in c as 13 bits of value and 3 bits of
// exponent to the base 8.
func expand(c uint16) uint64 { return uint64(c&0x1fff) << (3 * (c >> 13)) }

// ended returns the end of the process. For an invalid time it returns a time long ago.
func (r *acctRecord) ended(hertz uint64) time.Time {
	seconds := float64(r.elapsed) / float64(max(hertz, 1))
	if !(seconds >= 0 && seconds <= math.MaxInt32) { // also not a number
		return time.Time{}
	}
	return time.Unix(int64(r.began), 0).Add(time.Duration(seconds * float64(time.Second)))
}
