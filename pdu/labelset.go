package pdu

import "fmt"

// A LabelClass says what a label set is attached to. It is a PM_LABEL_* bit of
// the C library.
type LabelClass int32

// The classes, in increasing precedence except that LabelInDom lies below
// LabelCluster. The comment names the identifier that goes with each.
const (
	LabelContext   LabelClass = 0x01 // none: 0xffffffff
	LabelDomain    LabelClass = 0x02 // Domain
	LabelInDom     LabelClass = 0x04 // InDom
	LabelCluster   LabelClass = 0x08 // PMID
	LabelItem      LabelClass = 0x10 // PMID
	LabelInstances LabelClass = 0x20 // InDom, with one set for each instance
)

// LabelFlags are a label's class bits with LabelCompound and LabelOptional.
type LabelFlags uint8

const (
	LabelCompound LabelFlags = 0x40 // the name has dotted components
	LabelOptional LabelFlags = 0x80 // extrinsic: no part of the identity of what it labels
)

// Limits of a label set, those of PCP's decoders.
const (
	MaxLabels     = 254   // labels in a set
	MaxLabelJSON  = 65534 // bytes of JSON text
	MaxLabelName  = 254   // bytes of a name
	MaxLabelDepth = 64    // of nested objects
)

// A Label locates one label in the JSON text of its set. It is pmLabel of the C
// library.
//
//	0  uint16  NameOff, past the opening quote
//	2  uint8   NameLen, without quotes; the last component of a compound name
//	3  uint8   Flags
//	4  uint16  ValueOff
//	6  uint16  ValueLen, with the quotes of a string
type Label struct {
	NameOff  uint16
	NameLen  uint8
	Flags    LabelFlags
	ValueOff uint16
	ValueLen uint16
}

// A LabelSet is the labels of one thing: JSON text and an index of the labels
// in it, sorted by name. The text may alias the buffer that it was decoded
// from. It is pmLabelSet of the C library.
type LabelSet struct {
	Inst   InstID // NoInst but in sets of LabelInstances
	Err    Error  // why there are no labels; 0 if there is no reason
	JSON   []byte // an object
	Labels []Label
}

// validate checks that every label lies inside the text.
func (s *LabelSet) validate() error {
	if len(s.JSON) > MaxLabelJSON {
		return fmt.Errorf("label set of instance %d: %d bytes of JSON, limit %d: %w", s.Inst, len(s.JSON), MaxLabelJSON, ErrIPC)
	}
	if len(s.Labels) > MaxLabels {
		return fmt.Errorf("label set of instance %d: %d labels, limit %d: %w", s.Inst, len(s.Labels), MaxLabels, ErrIPC)
	}
	for i, l := range s.Labels {
		if int(l.NameOff)+int(l.NameLen) > len(s.JSON) || int(l.ValueOff)+int(l.ValueLen) > len(s.JSON) {
			return fmt.Errorf("label set of instance %d: label %d outside its %d bytes of JSON: %w", s.Inst, i, len(s.JSON), ErrIPC)
		}
	}
	return nil
}
