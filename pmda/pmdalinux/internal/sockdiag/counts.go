package sockdiag

import "encoding/binary"

// Counts are the numbers of sockets of the Internet's protocols.
type Counts struct {
	All   uint32
	State [States]uint32 // by the kernel's numbers of the states of TCP
}

// States is more than the greatest number of a state.
const States = 16

// Add counts one more socket.
func (c *Counts) Add(state int) {
	c.All++
	c.State[state]++
}

// allStates are the states that the lists in /proc/net have, established (1) to closing
// (11), a bit for each.
const allStates = 1<<12 - 1<<1

// appendInetRequest appends what a request for the sockets of a family and protocol says,
// struct inet_diag_req_v2.
func appendInetRequest(b []byte, family, protocol uint8) []byte {
	b = append(b, family, protocol, 0, 0) // no attributes
	b = binary.NativeEndian.AppendUint32(b, allStates)
	return append(b, make([]byte, 12*4)...) // any addresses
}

// inetSocketLength is the length of struct inet_diag_msg, before its attributes.
const inetSocketLength = 72

// add counts the socket that a message describes. It is false if the message is damaged.
func (c *Counts) add(body []byte, family uint8) bool {
	if len(body) < inetSocketLength || body[0] != family || body[1] >= States {
		return false
	}
	c.Add(int(body[1]))
	return true
}

// UnixCounts are the numbers of sockets of the Unix domain.
type UnixCounts struct {
	Datagram, Stream uint32
	// Of those of streams, the connected ones, and the others. A connection that its
	// server has not accepted has an end that is neither.
	Connected, Unconnected uint32
}

// The numbers of linux/unix_diag.h.
const (
	unixFamily       = 1 // AF_UNIX of Linux
	unixSocketLength = 16
	showQueues       = 1 << 4
	queues           = 4 // the attribute: two numbers, of what is to be read and written
)

// appendUnixRequest appends what a request for all sockets of the Unix domain says, struct
// unix_diag_req.
func appendUnixRequest(b []byte) []byte {
	e := binary.NativeEndian
	b = append(b, unixFamily, 0, 0, 0)
	b = e.AppendUint32(b, 1<<32-1) // in any state
	b = e.AppendUint32(b, 0)       // with any inode
	b = e.AppendUint32(b, showQueues)
	return append(b, make([]byte, 2*4)...) // any socket
}

// add counts the socket that a message, struct unix_diag_msg, describes. It is false if the
// message is damaged. A connection that its server has not accepted is only listed as
// one in the queue of the socket that listens.
func (c *UnixCounts) add(body []byte) bool {
	if len(body) < unixSocketLength || body[0] != unixFamily {
		return false
	}
	const stream, datagram = 1, 2
	const established, listening = 1, 10
	kind, state := body[1], body[2]
	switch {
	case kind == datagram:
		c.Datagram++
	case kind != stream:
	case state == established:
		c.Stream++
		c.Connected++
	default:
		c.Stream++
		c.Unconnected++
		if state == listening {
			waiting, ok := attribute(body[unixSocketLength:], queues)
			c.Stream += waiting
			return ok
		}
	}
	return true
}

// attribute finds an attribute and returns the number that it begins with.
func attribute(list []byte, kind uint16) (v uint32, ok bool) {
	e := binary.NativeEndian
	const header = 4 // length, type (both 16 bits)
	for len(list) >= header {
		n := int(e.Uint16(list))
		if n < header || n > len(list) {
			return 0, false
		}
		if e.Uint16(list[2:]) == kind {
			if n < header+4 {
				return 0, false
			}
			return e.Uint32(list[header:]), true
		}
		list = list[min((n+3)&^3, len(list)):]
	}
	return 0, false
}
