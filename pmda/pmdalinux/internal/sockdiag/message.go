package sockdiag

import (
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"
)

// The numbers of linux/netlink.h and linux/sock_diag.h.
const (
	headerLength = 16 // length, type (16 bits), flags (16 bits), sequence number, port

	messageNone  = 1
	messageError = 2
	messageDone  = 3
	byFamily     = 20 // SOCK_DIAG_BY_FAMILY

	request  = 1     // NLM_F_REQUEST
	dumpFlag = 0x300 // NLM_F_DUMP
)

// appendRequest appends a request to list sockets.
func appendRequest(b []byte, sequence uint32, body []byte) []byte {
	e := binary.NativeEndian
	b = e.AppendUint32(b, uint32(headerLength+len(body)))
	b = e.AppendUint16(b, byFamily)
	b = e.AppendUint16(b, request|dumpFlag)
	b = e.AppendUint32(b, sequence)
	b = e.AppendUint32(b, 0) // the kernel fills in the port
	return append(b, body...)
}

// errDamaged is the error of a reply that cannot be understood.
var errDamaged = errors.New("sockdiag: the kernel's reply is damaged")

// errEnd is what decode returns after the last socket.
var errEnd = errors.New("sockdiag: end of the list")

// decode calls add with the message of each socket of one part of a reply; add is false if
// that is damaged. It returns how many there are. The parts come until the error errEnd.
func decode(part []byte, sequence uint32, add func(body []byte) bool) (n int, err error) {
	e := binary.NativeEndian
	for len(part) > 0 {
		if len(part) < headerLength {
			return n, errDamaged
		}
		length := uint64(e.Uint32(part))
		if length < headerLength || length > uint64(len(part)) || e.Uint32(part[8:]) != sequence {
			return n, errDamaged
		}
		kind, body := e.Uint16(part[4:]), part[headerLength:length]
		part = part[min((length+3)&^3, uint64(len(part))):]
		switch kind {
		case messageNone:
		case messageDone, messageError:
			return n, replyStatus(kind, body)
		case byFamily:
			if !add(body) {
				return n, errDamaged
			}
			n++
		default:
			return n, errDamaged
		}
	}
	return n, nil
}

// replyStatus returns the error of the last message of a reply, errEnd for success. A kernel that
// does not know the protocol reports that in either kind of message.
func replyStatus(kind uint16, body []byte) error {
	if len(body) < 4 {
		return errDamaged
	}
	status := int32(binary.NativeEndian.Uint32(body))
	switch {
	case status < 0:
		return fmt.Errorf("sockdiag: %w", syscall.Errno(-int64(status)))
	case kind == messageError:
		return errDamaged // an acknowledgement, which was not asked for
	}
	return errEnd
}
