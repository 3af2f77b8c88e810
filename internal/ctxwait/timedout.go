package ctxwait

import "slices"

// TimedOut reports whether err, or any error that it wraps, has a method Timeout that returns true.
// Examples are pdu.ErrTimeout, context.DeadlineExceeded and time-outs of package net.
func TimedOut(err error) bool {
	if t, ok := err.(interface{ Timeout() bool }); ok && t.Timeout() {
		return true
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return TimedOut(e.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), TimedOut)
	}
	return false
}
