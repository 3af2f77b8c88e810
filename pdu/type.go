package pdu

// A Type is the data type of a value.
type Type int32

// The types, PM_TYPE_* of the C library. 32-bit integers travel in place; all
// others in a value block.
const (
	TypeNoSupport       Type = -1 // the metric exists but not on this platform or version
	Type32              Type = 0
	TypeU32             Type = 1
	Type64              Type = 2
	TypeU64             Type = 3
	TypeFloat           Type = 4
	TypeDouble          Type = 5
	TypeString          Type = 6
	TypeAggregate       Type = 7 // opaque bytes
	TypeAggregateStatic Type = 8 // as TypeAggregate on the wire
	TypeEvent           Type = 9 // an EventArray with microseconds
	TypeHighResEvent    Type = 10
	TypeUnknown         Type = 255 // not known, as of a malformed value
)

var typeNames = [...]string{"32", "U32", "64", "U64", "FLOAT", "DOUBLE", "STRING", "AGGREGATE",
	"AGGREGATE_STATIC", "EVENT", "HIGHRES_EVENT"}

// String returns the short name that pmTypeStr(3) prints: "U32", "STRING", …; "???" for an
// unknown type.
func (t Type) String() string {
	switch {
	case t >= 0 && int(t) < len(typeNames):
		return typeNames[t]
	case t == TypeNoSupport:
		return "NO_SUPPORT"
	case t == TypeUnknown:
		return "UNKNOWN"
	}
	return "???"
}

// size is the number of value bytes of a numeric type, 0 for the others.
func (t Type) size() int {
	switch t {
	case Type32, TypeU32, TypeFloat:
		return 4
	case Type64, TypeU64, TypeDouble:
		return 8
	}
	return 0
}

// Sem says how values of a metric relate over time.
type Sem int32

// The semantics, PM_SEM_* of the C library.
const (
	SemCounter  Sem = 1 // cumulative, monotonic except for wrap and reset
	SemInstant  Sem = 3 // may change at any time
	SemDiscrete Sem = 4 // changes seldom; the last value holds
)

// String returns the name that pmSemStr(3) prints, or "???" for an unknown number.
func (s Sem) String() string {
	switch s {
	case SemCounter:
		return "counter"
	case SemInstant:
		return "instant"
	case SemDiscrete:
		return "discrete"
	}
	return "???"
}

// A Desc is the descriptor of a metric: what does not change with its values. It
// is pmDesc of the C library.
type Desc struct {
	PMID  PMID
	Type  Type  // of the values
	InDom InDom // what there are values of; NoInDom for a single value
	Sem   Sem   // how values relate over time
	Units Units // of the values
}
