package archive

import (
	"iter"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// Metadata is all that an archive, or a set of archives, says about its metrics. It does not
// change and is safe for concurrent use.
type Metadata struct{}

// Names is the name space. A name that stands for two PMIDs keeps the first one.
func (m *Metadata) Names() *pmns.Tree { return nil }

// Desc is the descriptor of a metric, the same at all times.
func (m *Metadata) Desc(id pdu.PMID) (pdu.Desc, bool) { return pdu.Desc{}, false }

// Metrics yields the descriptor and names of every metric, in the order in which the
// archives describe them.
func (m *Metadata) Metrics() iter.Seq[Metric] { return nil }

// InDom is what is known of an instance domain, nil if nothing is.
func (m *Metadata) InDom(d pdu.InDom) *InDom { return nil }

// InDoms yields all instance domains, in the order in which the archives first have them.
func (m *Metadata) InDoms() iter.Seq[*InDom] { return nil }

// Labels are the label sets of an identifier over time, nil if there never were any.
func (m *Metadata) Labels(class pdu.LabelClass, ident uint32) *Labels { return nil }

// AllLabels yields the labels of all identifiers, in the order in which the archives first
// have them.
func (m *Metadata) AllLabels() iter.Seq[*Labels] { return nil }

// Text is a help text: of the kinds one of pdu.TextOneLine and pdu.TextHelp with one of
// pdu.TextPMID and pdu.TextInDom.
func (m *Metadata) Text(kind pdu.TextKind, ident uint32) (string, bool) { return "", false }

// Texts yields all help texts, in the order in which the archives first have them.
func (m *Metadata) Texts() iter.Seq[TextRecord] { return nil }

// An InDom is an instance domain over time: a list of states, each from the time of one
// record to that of the next one. It does not change and is safe for concurrent use.
type InDom struct {
	ID pdu.InDom
}

// Len is the number of states.
func (d *InDom) Len() int { return 0 }

// Time is when state i begins. Times ascend; of states that begin at the same time only the
// last one ever holds.
func (d *InDom) Time(i int) time.Time { return time.Time{} }

// Delta reports whether the record of state i has the changes only.
func (d *InDom) Delta(i int) bool { return false }

// State is the instances of state i, ascending by ID. The slice must not be changed.
func (d *InDom) State(i int) []pdu.Instance { return nil }

// Index is the state that holds at a time, -1 before the first one.
func (d *InDom) Index(t time.Time) int { return -1 }

// At is the instances at a time, ascending by ID, nil before the first state. The slice
// must not be changed. The counterpart of pmGetInDom(3).
func (d *InDom) At(t time.Time) []pdu.Instance { return nil }

// All is the instances that there ever were, ascending by ID, each by its latest name. The
// slice must not be changed. The counterpart of pmGetInDomArchive(3).
func (d *InDom) All() []pdu.Instance { return nil }

// Labels are the label sets of one class and identifier over time. They do not change and are
// safe for concurrent use.
type Labels struct {
	Class pdu.LabelClass
	Ident uint32
}

// Len is the number of records, of which adjacent ones differ.
func (l *Labels) Len() int { return 0 }

// Record is record i, in the order of time.
func (l *Labels) Record(i int) LabelRecord { return LabelRecord{} }

// At is the sets that hold at a time, nil before the first record. They must not be changed.
func (l *Labels) At(t time.Time) []pdu.LabelSet { return nil }
