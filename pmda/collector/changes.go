package collector

import (
	"errors"
	"log/slog"
	"math/bits"
	"sync/atomic"

	"github.com/pcp-go/pcp/pdu"
)

const numChanges = 6

// changes counts state changes by kind. A client keeps the counts of its latest fetch and
// compares them at the next one, so a change costs nothing per client.
type changes struct {
	any   atomic.Uint64 // grows with every change
	kinds [numChanges]atomic.Uint64
}

// seenChanges holds the counts of the changes that a client has already received.
type seenChanges struct {
	any   uint64
	kinds [numChanges]uint64
}

// note counts state changes.
func (c *changes) note(what pdu.Change) {
	for b := uint32(what) & (1<<numChanges - 1); b != 0; b &= b - 1 {
		c.kinds[bits.TrailingZeros32(b)].Add(1)
	}
	c.any.Add(1)
}

// noteLabelChanges checks the label files, and records a change since the last check for all
// clients. It logs errors of the files when they change.
func (s *Server) noteLabelChanges() {
	set, skipped, _ := s.Labels.merged() // without labels if the directory cannot be read
	var faults string
	if err := errors.Join(skipped...); err != nil {
		faults = err.Error()
	}
	if old := s.labelFaults.Swap(&faults); faults != "" && (old == nil || *old != faults) {
		for _, err := range skipped {
			s.log.Warn("labels skipped", slog.Any("err", err))
		}
	}
	now := string(set.JSON)
	if old := s.labels.Swap(&now); old != nil && *old != now {
		s.changes.note(pdu.ChangeLabels)
	}
}

// since returns the changes since the last update of s, and updates s.
func (c *changes) since(s *seenChanges) pdu.Change {
	n := c.any.Load()
	if n == s.any {
		return 0
	}
	s.any = n
	var what pdu.Change
	for i := range c.kinds {
		if k := c.kinds[i].Load(); k != s.kinds[i] {
			s.kinds[i] = k
			what |= 1 << i
		}
	}
	return what
}
