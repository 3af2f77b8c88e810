package archive

import (
	"encoding/binary"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A RecordKind is the kind of a record.
type RecordKind uint8

// The kinds of records. Some have different layouts in version 2 and version 3, which
// [Record.Version] distinguishes.
const (
	KindLabel      RecordKind = iota + 1 // Record.Label: the first record of every file
	KindResult                           // Record.Result: values, in volumes
	KindMark                             // Record.Result: a mark, in volumes; it has only a time
	KindDesc                             // Record.Metric: the descriptor and names of a metric
	KindInDom                            // Record.InDom: all instances of a domain
	KindInDomDelta                       // Record.InDom: instances that were added and deleted
	KindLabels                           // Record.Labels
	KindText                             // Record.Text
	KindIndex                            // Record.Entry: an entry of the index
)

var kindNames = [...]string{"label", "result", "mark", "desc", "indom", "indom delta", "labels", "text", "index entry"}

// String returns a name such as "indom delta".
func (k RecordKind) String() string {
	if k < KindLabel || k > KindIndex {
		return "unknown"
	}
	return kindNames[k-KindLabel]
}

// The type words of metadata records.
const (
	typeDesc       = 1
	typeInDomV2    = 2 // version 2, with a timeval
	typeLabelsV2   = 3 // version 2, with a timeval
	typeText       = 4
	typeInDom      = 5 // version 3, with a timestamp
	typeInDomDelta = 6
	typeLabels     = 7
)

// A Record is one record of a file. It is valid until the next iteration, or until the Cursor
// moves. Its methods fail with pdu.ErrRecType for a record of another kind.
type Record struct {
	File   *File
	Offset int64 // where it starts in the file, after unpacking
	Number int   // in the file; the label is 0
	Kind   RecordKind
	// Version is 2 or 3, the layout of a record of instances or labels, or 0 for other records. A
	// file may have records of both versions.
	Version int
	Time    time.Time // the zero time for KindDesc and KindText
	Raw     []byte    // all bytes, with the length words that all but index entries have

	typ     int32 // the type word of a metadata record, else 0
	version int   // of the archive
}

// classify sets the kind, version and time of a record that is not a label.
func (r *Record) classify() error {
	switch {
	case r.File.volume >= 0:
		r.Kind, r.Time = KindResult, timeAt(r.Raw[4:], r.version)
		if binary.BigEndian.Uint32(r.Raw[4+timeLen(r.version):]) == 0 {
			r.Kind = KindMark
		}
		return nil
	case r.File.volume == VolumeIndex:
		r.Kind, r.Time = KindIndex, timeAt(r.Raw, r.version)
		return nil
	}
	r.typ = int32(binary.BigEndian.Uint32(r.Raw[4:]))
	if r.typ < typeDesc || r.typ > typeLabels {
		return flawed(pdu.ErrRecType, "metadata record of type %d", r.typ)
	}
	layout := metaLayouts[r.typ]
	r.Kind, r.Version = layout.kind, layout.version
	if layout.version != 0 {
		if len(r.Raw) < recordOverhead+4+timeLen(layout.version) {
			return flawed(pdu.ErrLogRec, "metadata record of type %d and %d bytes, too short for its time", r.typ, len(r.Raw))
		}
		r.Time = timeAt(r.Raw[8:], layout.version)
	}
	return nil
}

// metaLayouts has the kind of each type of metadata record and the version of its time stamp, or 0
// if it has no time stamp. Readers use the type and ignore the version of the archive.
var metaLayouts = [typeLabels + 1]struct {
	kind    RecordKind
	version int
}{
	typeDesc:       {KindDesc, 0},
	typeInDomV2:    {KindInDom, 2},
	typeLabelsV2:   {KindLabels, 2},
	typeText:       {KindText, 0},
	typeInDom:      {KindInDom, 3},
	typeInDomDelta: {KindInDomDelta, 3},
	typeLabels:     {KindLabels, 3},
}

// A Metric is a metadata record with the descriptor and the names of a metric.
//
//	 0  int32   length            16  uint32  InDom
//	 4  int32   1                 20  int32   Sem
//	 8  uint32  PMID              24  uint32  Units
//	12  int32   Type              28  int32   number of names
//	32  …       each: int32 length · bytes, not padded
type Metric struct {
	pdu.Desc
	Names []string // in the order of the record; may be empty
}

// An InDomRecord is a record of an instance domain. The time at offset 8 has 8 bytes in version 2
// and 12 bytes in version 3.
//
//	version 2  version 3
//	 8          8         Time
//	16         20  uint32 InDom
//	20         24  int32  n, the number of instances
//	24         28  …      n times int32 instance
//	           …          n times int32 offset of its name in the texts; -1: deleted (delta)
//	           …          texts, each with a NUL
//
// In a delta record, Instances are those that were added since the previous record, and Deleted are
// those that were removed. An added instance that exists already keeps its name, as in the C
// library.
type InDomRecord struct {
	Time      time.Time
	InDom     pdu.InDom
	Delta     bool
	Instances []pdu.Instance // in the order of the record
	Deleted   []pdu.InstID
}

// A LabelRecord is a record of label sets. If Class is pdu.LabelInstances, it has one set for each
// instance, otherwise one set.
//
//	version 2  version 3
//	 8          8         Time
//	16         20  int32  Class
//	20         24  uint32 Ident
//	24         28  int32  number of sets
//	28         32  …      each: int32 Inst · int32 length of JSON · JSON · int32 number of
//	                      labels, or an error · labels of 8 bytes, as in pdu.Label
type LabelRecord struct {
	Time  time.Time
	Class pdu.LabelClass
	Ident uint32 // see pdu.LabelClass
	Sets  []pdu.LabelSet
}

// A TextRecord is a record of a help text.
//
//	0  int32  length   8  int32   Kind
//	4  int32  4       12  uint32  Ident
//	                  16  bytes   Text with a NUL
type TextRecord struct {
	Kind  pdu.TextKind // one of pdu.TextOneLine, TextHelp with one of TextPMID, TextInDom
	Ident uint32       // a PMID or an InDom
	Text  string
}

// An IndexEntry says where the records of a time are: no record before the two offsets is later
// than Time.
//
//	version 2  version 3
//	 0          0          Time, 8 or 12 bytes
//	 8         12   int32  Volume
//	12         16          Meta, int32 in version 2, int64 in version 3
//	16         24          Data, int32 in version 2, int64 in version 3
type IndexEntry struct {
	Time   time.Time
	Volume int
	Meta   int64 // offset in the metadata file, before the metadata of that time
	Data   int64 // offset in the volume, of the first record of that time
}
