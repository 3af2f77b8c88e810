package trace

import (
	"fmt"
	"log/slog"
	"syscall"
)

// State is the set of flags of pmtracestate(3). Zero means synchronous and silent.
type State int

// The flags, PMTRACE_STATE_* of <pcp/trace.h>. The first four make a Session log what it does to
// its Logger.
const (
	StateAPI     State = 1  // calls
	StateComms   State = 2  // connections
	StatePDU     State = 4  // PDUs sent and received
	StatePDUBuf  State = 8  // their bytes
	StateNoAgent State = 16 // no communication; calls succeed and do nothing
	StateAsync   State = 32 // do not wait for Acks
)

// SetState replaces the flags and returns the former ones. StateAsync must be set before the first
// connection; after it, SetState fails with EINVAL and changes nothing. An asynchronous Session
// stays asynchronous. The counterpart of pmtracestate(3).
func (s *Session) SetState(flags State) (State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if flags&StateAsync != 0 && s.fixed && !s.async {
		return s.state, fmt.Errorf("trace: asynchronous after a connection was made: %w", Error(-22))
	}
	if flags&StateAsync != 0 {
		s.async = true
	}
	old := s.state
	s.state = flags
	return old, nil
}

// note logs a message if the flag is set.
func (s *Session) note(flag State, msg string, attrs ...any) {
	if s.state&flag != 0 {
		s.logger().Info("trace: "+msg, attrs...)
	}
}

// notePDU logs a PDU.
func (s *Session) notePDU(msg string, code int32, b []byte) {
	s.note(StatePDU, msg, slog.Int("code", int(code)))
	if b != nil && s.state&StatePDUBuf != 0 {
		s.note(StatePDUBuf, msg, slog.String("bytes", fmt.Sprintf("%x", b)))
	}
}

// connectionErrnos are the errors of a connection that was lost or cannot be made.
var connectionErrnos = []error{
	syscall.ECONNRESET, syscall.EPIPE, syscall.ETIMEDOUT, syscall.ENETDOWN, syscall.ENETUNREACH,
	syscall.EHOSTDOWN, syscall.EHOSTUNREACH, syscall.ECONNREFUSED,
}
