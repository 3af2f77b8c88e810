//go:build unix

package mmv

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestSlowOnRead: while a function takes long, no other tick begins; they go on after it.
func TestSlowOnRead(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := &Registry{Name: "app"}
		var calls atomic.Int64
		r.OnRead(func() {
			if calls.Add(1) == 2 {
				time.Sleep(10 * time.Second) // a goroutine that waits for a lock would make it last forever
			}
		})
		if err := r.Publish(dir); err != nil { // call 1
			t.Fatal(err)
		}
		for _, want := range []int64{2, 5, 5} { // call 2 is over after 11 s
			time.Sleep(7*time.Second + time.Millisecond)
			if got := calls.Load(); got != want {
				t.Errorf("%d calls, want %d", got, want)
			}
			if want == 5 {
				r.Close()
			}
		}
	})
}

// TestCloseWaits: Close waits for running functions of OnRead.
func TestCloseWaits(t *testing.T) {
	r := &Registry{Name: "app"}
	if err := r.Publish(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	started, release := make(chan bool, 10), make(chan bool) // the registry's own tick may come, too
	var over atomic.Bool
	r.OnRead(func() {
		started <- true
		<-release
		over.Store(true)
	})
	go r.tick()
	<-started
	time.AfterFunc(50*time.Millisecond, func() { close(release) })
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if !over.Load() {
		t.Error("Close returned while a function was running")
	}
}
