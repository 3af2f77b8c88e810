package pdu

// A Change is a set of bits that say what has changed in a collector since a
// client's last fetch. It arrives ahead of a fetch's result, as the code of a
// [Status], and is PMCD_* of the C library.
type Change uint32

// The changes. Agents send ChangeLabels and ChangeNames to their collector; the
// collector adds the others.
const (
	ChangeAddAgent     Change = 1  // an agent has started
	ChangeRestartAgent Change = 2  // an agent has started again
	ChangeDropAgent    Change = 4  // an agent has gone
	ChangeLabels       Change = 8  // labels of the collector or of an agent
	ChangeNames        Change = 16 // names of an agent's metrics
	ChangeHostname     Change = 32 // the collector's host name
)

// AffectsNames reports whether names may stand for other metrics than before: names have changed,
// or an agent has started or gone. A program that keeps PMIDs or descriptors then looks them up
// again. Values that come with the change may already be those of the other metrics.
func (c Change) AffectsNames() bool {
	return c&(ChangeAddAgent|ChangeRestartAgent|ChangeDropAgent|ChangeNames) != 0
}

var changeNames = [...]string{"add agent", "restart agent", "drop agent", "labels", "names", "hostname"}

// String is the names of the bits, such as "add agent,names"; "none" for 0.
func (c Change) String() string {
	if c == 0 {
		return "none"
	}
	return bitNames(uint32(c), changeNames[:])
}
