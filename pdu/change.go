package pdu

// Change says what has changed in a collector since the client's last fetch. It
// arrives ahead of a fetch's result and is PMCD_* of the C library.
type Change uint32

const (
	AddAgent       Change = 1  // an agent has started
	RestartAgent   Change = 2  // an agent has started again
	DropAgent      Change = 4  // an agent has gone
	LabelChange    Change = 8  // labels of the collector or of an agent
	NamesChange    Change = 16 // names of an agent's metrics
	HostnameChange Change = 32 // the collector's host name
)

var changeNames = [...]string{"add agent", "restart agent", "drop agent", "labels", "names", "hostname"}

// String is the names of the bits, such as "add agent,names"; "none" for 0.
func (c Change) String() string {
	if c == 0 {
		return "none"
	}
	return bitNames(uint32(c), changeNames[:])
}
