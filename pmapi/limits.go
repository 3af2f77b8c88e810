package pmapi

import (
	"encoding/binary"
	"fmt"

	"github.com/pcp-go/pcp/pdu"
)

// A LimitError is the error of a reply that exceeds a limit. A reply longer than Dialer.MaxReply
// also ends the connection. A reply may have at most 4,194,304 names or instances, or 1,048,576
// label sets. A LimitError unwraps to pdu.ErrTooBig.
type LimitError struct {
	what     string // "bytes", "names", "instances" or "label sets"
	n, limit int
}

// Limits of the contents of one reply.
const (
	maxNames     = 4 << 20
	maxInstances = 4 << 20
	maxLabelSets = 1 << 20
)

// Error returns the size of the reply, the limit, and what to do.
func (e *LimitError) Error() string {
	s := fmt.Sprintf("a reply of %d %s exceeds the limit of %d", e.n, e.what, e.limit)
	switch e.what {
	case "bytes":
		s += ": raise Dialer.MaxReply, or PMCD_MAX_REPLY in the environment"
	case "names":
		s += ": request a part of the name space"
	}
	return s
}

// Unwrap returns pdu.ErrTooBig.
func (e *LimitError) Unwrap() error { return pdu.ErrTooBig }

// checkCount returns an error if the number at an offset of a body exceeds a limit.
func checkCount(body []byte, offset int, what string, limit int) error {
	if len(body) < offset+4 {
		return nil // the decoder reports it
	}
	if n := int(int32(binary.BigEndian.Uint32(body[offset:]))); n > limit && n <= len(body)/4 {
		return &LimitError{what, n, limit}
	}
	return nil
}
