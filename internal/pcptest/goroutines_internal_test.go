package pcptest

import (
	"strings"
	"testing"
	"time"
)

// A goroutine that goes on is found, and one that ends is waited for.
func TestLeftGoroutines(t *testing.T) {
	const own = "pcptest.waitsForTest"
	going, ended := make(chan bool), make(chan bool)
	go waitsForTest(going, ended)
	<-going
	if left := leftGoroutines(own, 0); strings.Count(left, "goroutine ") < 1 {
		t.Errorf("found %q", left)
	}
	time.AfterFunc(time.Millisecond, func() { close(ended) })
	if left := leftGoroutines(own, LeftLimit); left != "" {
		t.Errorf("left: %s", left)
	}
}

//go:noinline
func waitsForTest(going, end chan bool) {
	going <- true
	<-end
}
