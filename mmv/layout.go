package mmv

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/pcp-go/pcp/pdu"
)

// An MMV file begins with a header and a table of contents. The table says where the sections lie:
// the records of instance domains, instances, metrics and values, strings and labels. All offsets
// count from the beginning of the file. Numbers are in the byte order of the host; the file never
// leaves it. mmv(5) and mmv_dev.h of the C library describe the same.
var native = binary.NativeEndian

// magic are the first four bytes of a file.
const magic = "MMV\x00"

// A Version is the version of the file format. Names have up to 63 bytes in version 1 and up to 255
// in versions 2 and 3. Version 3 adds labels.
type Version int32

const (
	version1 Version = 1
	version2 Version = 2
	version3 Version = 3
)

// valid reports whether v is a version of the format.
func (v Version) valid() bool { return v >= version1 && v <= version3 }

// fileFlags are the flags in the header of a file. Bits without a name are ignored by agents.
type fileFlags uint32

// The flags.
const (
	flagNoPrefix fileFlags = 0x1 // the file's name is no part of the metrics' names
	flagProcess  fileFlags = 0x2 // the file counts only while its process lives
	flagSentinel fileFlags = 0x4 // a value of all ones, a NaN or an empty string means "no value"
)

// String returns the text of mmvdump: "none", or names such as "noprefix, process, unknown=8".
func (f fileFlags) String() string {
	var b []byte
	for _, n := range [...]struct {
		bit  fileFlags
		name string
	}{{flagNoPrefix, "noprefix"}, {flagProcess, "process"}, {flagSentinel, "sentinel"}} {
		if f&n.bit != 0 {
			b = append(append(b, n.name...), ", "...)
			f &^= n.bit
		}
	}
	if f != 0 {
		return string(strconv.AppendUint(append(b, "unknown="...), uint64(f), 16))
	}
	if len(b) == 0 {
		return "none"
	}
	return string(b[:len(b)-2])
}

// A valueType is the type of a metric's values in a file. All but typeElapsed have the number of
// the same type in pdu. It is mmv_metric_type_t of the C library.
type valueType int32

// The types of values.
const (
	typeNoSupport = valueType(pdu.TypeNoSupport) // the metric exists but has no values
	type32        = valueType(pdu.Type32)
	typeU32       = valueType(pdu.TypeU32)
	type64        = valueType(pdu.Type64)
	typeU64       = valueType(pdu.TypeU64)
	typeFloat     = valueType(pdu.TypeFloat)
	typeDouble    = valueType(pdu.TypeDouble)
	typeString    = valueType(pdu.TypeString)
	typeElapsed   = valueType(9) // microseconds, with an interval that may be in progress
)

// String is the name of the type as pdu.Type prints it, and "ELAPSED".
func (t valueType) String() string {
	if t == typeElapsed {
		return "ELAPSED"
	}
	return pdu.Type(t).String()
}

// isKnown reports whether t is a type of this package. The aggregate types 7 and 8 are not: C's
// writer accepts them, and C's pmdammv ends when it reads them.
func (t valueType) isKnown() bool { return t >= typeNoSupport && t <= typeString || t == typeElapsed }

// A sectionKind is the type of a section, as the table of contents has it.
type sectionKind uint32

const (
	sectionInDoms    sectionKind = 1
	sectionInstances sectionKind = 2
	sectionMetrics   sectionKind = 3
	sectionValues    sectionKind = 4
	sectionStrings   sectionKind = 5
	sectionLabels    sectionKind = 6
)

func (k sectionKind) String() string {
	switch k {
	case sectionInDoms:
		return "indoms"
	case sectionInstances:
		return "instances"
	case sectionMetrics:
		return "metrics"
	case sectionValues:
		return "values"
	case sectionStrings:
		return "strings"
	case sectionLabels:
		return "labels"
	}
	return fmt.Sprintf("type %d", uint32(k))
}

// The header.
const (
	headerMagic       = 0  // 4 bytes
	headerVersion     = 4  // int32
	headerGeneration1 = 8  // uint64, not 0
	headerGeneration2 = 16 // uint64, equals the first when the file is complete
	headerSections    = 24 // int32, entries in the table of contents, at least 2
	headerFlags       = 28 // uint32
	headerProcess     = 32 // int32, process id of the writer
	headerCluster     = 36 // int32, 0: the agent chooses
	headerLen         = 40
)

// An entry of the table of contents, which follows the header.
const (
	entryKind   = 0 // uint32
	entryCount  = 4 // int32, records in the section
	entryOffset = 8 // uint64, of the first record
	entryLen    = 16
)

// A record of an instance domain.
const (
	indomSerial    = 0  // uint32
	indomCount     = 4  // uint32, number of instances
	indomInstances = 8  // uint64, offset of the first instance; the others follow it
	indomShort     = 16 // uint64, offset of the one-line text, 0: none
	indomLong      = 24 // uint64, offset of the help text, 0: none
	indomLen       = 32
)

// A record of an instance. It ends with the name: in place in version 1 (shortNameLen bytes), else
// the offset of a string.
const (
	instanceInDom = 0  // uint64, offset of the domain's record
	instanceID    = 12 // int32, after four bytes of padding
	instanceName  = 16
)

// A record of a metric. It begins with the name, in the two forms of an instance's name; the other
// fields are counted from the name's end.
const (
	metricName  = 0
	metricItem  = 0  // uint32
	metricType  = 4  // int32
	metricSem   = 8  // int32
	metricUnits = 12 // uint32
	metricInDom = 16 // int32, serial of the domain; 0 or -1: no domain
	metricShort = 24 // uint64, after four bytes of padding: offset of the one-line text, 0: none
	metricLong  = 32 // uint64, offset of the help text, 0: none
	metricRest  = 40 // length without the name
)

// A record of a value.
const (
	valueWord     = 0  // 8 bytes; a 32-bit value is in the first four
	valueExtra    = 8  // int64: offset of a string's slot; start of an interval in progress, negated
	valueMetric   = 16 // uint64, offset of the metric's record
	valueInstance = 24 // uint64, offset of the instance's record, 0: none
	valueLen      = 32
)

// A record of a label.
const (
	labelFlags    = 0  // uint32, pdu.LabelFlags
	labelIdentity = 4  // uint32: serial, cluster or item, as the flags say
	labelInstance = 8  // int32, instance id for a label of an instance, else -1
	labelJSON     = 12 // text to the first NUL
	labelLen      = 256
)

// The slot of a string: text to the first NUL.
const stringLen = 256

const (
	shortNameLen  = 64 // bytes of a name in place, version 1
	nameOffsetLen = 8  // bytes of the offset of a name, versions 2 and 3
)

// nameLen is how many bytes the name takes in the record of a metric or of an instance.
func (v Version) nameLen() int {
	if v == version1 {
		return shortNameLen
	}
	return nameOffsetLen
}

// metricLen is the length of a metric's record: 104 or 48.
func (v Version) metricLen() int { return v.nameLen() + metricRest }

// instanceLen is the length of an instance's record: 80 or 24.
func (v Version) instanceLen() int { return instanceName + v.nameLen() }

// The limits of the format and of the agents that read it.
const (
	maxShortName = shortNameLen - 1          // bytes of a name of a metric or an instance in version 1
	maxNameLen   = stringLen - 1             // bytes of a name in versions 2 and 3
	maxText      = stringLen - 1             // bytes of a one-line text or a help text
	maxString    = stringLen - 2             // bytes of a string value
	maxLabelJSON = labelLen - 13             // bytes of a label as JSON, {"name":value}
	maxMetrics   = 1023                      // metrics in a file
	maxInDoms    = pdu.MaxInDomSerial        // instance domains in a file
	maxLabels    = 255                       // labels in a file
	maxCluster   = pdu.MaxCluster            // greatest cluster
	maxItem      = pdu.MaxItem               // greatest item of a metric
	maxSerial    = pdu.MaxInDomSerial        // greatest serial of a domain that agents take
	noSerial     = int32(-1)                 // of a metric without a domain; 0 means the same
	clusterShift = 11                        // an exported domain has the serial cluster<<11 | serial
	safeSerial   = 1<<clusterShift - 1       // greatest serial that leaves the cluster's bits alone
	safeCluster  = maxSerial >> clusterShift // greatest cluster that leaves room for serials
)
