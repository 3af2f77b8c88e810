package archive

import (
	"bytes"
	"slices"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// Labels has the label sets of one class and identifier over time. It does not change and is safe
// for concurrent use.
type Labels struct {
	Class  pdu.LabelClass
	Ident  uint32 // see pdu.LabelClass
	states history[labelState]
}

// Len returns the number of records. Adjacent records differ.
func (l *Labels) Len() int { return len(l.states.dated) }

// Time returns the time of record i. The record holds until the time of the next one.
func (l *Labels) Time(i int) time.Time { return l.states.dated[i].from }

// Record returns record i in the order of time. The texts must not be changed.
func (l *Labels) Record(i int) LabelRecord {
	d := &l.states.dated[i]
	return LabelRecord{Time: d.from, Class: l.Class, Ident: l.Ident, Sets: d.state.decode()}
}

// At returns the label sets that hold at t, or nil before the first record. Their texts must not be
// changed.
func (l *Labels) At(t time.Time) []pdu.LabelSet {
	i := l.states.index(t)
	if i < 0 {
		return nil
	}
	return l.states.dated[i].state.decode()
}

// finish sorts the records by time and drops those that change nothing.
func (l *Labels) finish() {
	l.states.sort()
	l.states.dated = slices.CompactFunc(l.states.dated, func(a, b dated[labelState]) bool {
		return bytes.Equal(a.state.sets, b.state.sets)
	})
}

// mergeLabels merges two histories of label sets. a may be nil.
func mergeLabels(a, b *Labels) *Labels {
	if a == nil {
		return b
	}
	l := &Labels{Class: a.Class, Ident: a.Ident}
	l.states = a.states.merge(b.states)
	l.finish()
	return l
}
