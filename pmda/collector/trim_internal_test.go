package collector

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// TestTrim checks that garbage is collected once, some time after much memory was released, and not
// while it is held or after little was released.
func TestTrim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{}
		s.init()
		defer s.Close()
		collections := func() uint32 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.NumForcedGC
		}
		a := account{ledger: s.ledger}
		use := func(n int64) {
			if short := a.reserve(n); short != nil {
				t.Fatal(short)
			}
			a.release(n)
			s.noteRelease()
		}
		before := collections()
		use(trimPeak / 2)
		time.Sleep(time.Minute)
		if n := collections() - before; n != 0 {
			t.Errorf("%d collections after a small peak", n)
		}
		use(trimPeak * 2)
		time.Sleep(trimPause + time.Second)
		synctest.Wait()
		if n := collections() - before; n != 2 {
			t.Errorf("%d collections after a large peak", n)
		}
		for range 100 {
			use(trimPeak * 2)
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(trimEvery)
		synctest.Wait()
		if n := collections() - before; n != 4 {
			t.Errorf("%d collections after many peaks", n)
		}
		use(trimPeak * 2)
		if short := a.reserve(trimPeak * 2); short != nil {
			t.Fatal(short)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := collections() - before; n != 4 {
			t.Errorf("%d collections while memory is held", n)
		}
	})
}
