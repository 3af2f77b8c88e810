package pcptest

import (
	"testing"
	"time"
)

// Persist fails the test if something is wrong that stays so. It is for comparisons of what moves, and for courses
// that a busy machine can disturb: what came between two looks, or held up one of them, is not there at the next. look
// says what is wrong, or nothing; it is called until it says nothing, five times at most. The last word counts.
func Persist(t testing.TB, look func() (wrong string)) {
	t.Helper()
	wrong := look()
	for n := 1; wrong != "" && n < 5; n++ {
		time.Sleep(time.Duration(n) * 200 * time.Millisecond)
		wrong = look()
	}
	if wrong != "" {
		t.Error(wrong)
	}
}
