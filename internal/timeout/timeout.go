// Package timeout finds out whether an error is a time-out.
package timeout

import "slices"

// Is reports whether err, or an error that it wraps, has a method Timeout that
// returns true, as pdu.ErrTimeout, context.DeadlineExceeded and errors of package
// net have.
func Is(err error) bool {
	if t, ok := err.(interface{ Timeout() bool }); ok && t.Timeout() {
		return true
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return Is(e.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), Is)
	}
	return false
}
