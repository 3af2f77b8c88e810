package pcptest

import (
	"testing"
	"time"
)

// Retry calls check until it returns "", five times at most, and fails the test with what the last
// call returned. It is for comparisons of values that change between two commands, and for
// sequences of events that a busy machine can disturb: such a difference is not there the next
// time.
func Retry(t testing.TB, check func() (wrong string)) {
	t.Helper()
	wrong := check()
	for n := 1; wrong != "" && n < 5; n++ {
		time.Sleep(time.Duration(n) * 200 * time.Millisecond)
		wrong = check()
	}
	if wrong != "" {
		t.Error(wrong)
	}
}
