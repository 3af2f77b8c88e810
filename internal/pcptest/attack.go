package pcptest

import (
	"os"
	"runtime"
	"sync"
	"testing"
	"time"
)

// AttackSize returns the size of an attack: the full one with PCP_ATTACK=full in the environment.
func AttackSize(small, full int) int {
	if os.Getenv("PCP_ATTACK") == "full" {
		return full
	}
	return small
}

// attackPause is how long another client pauses between its requests.
const attackPause = time.Millisecond

// Attack runs an attack on this process. It logs how long it took and how much memory the process
// needed at most. Beside the attack, others makes requests as another client does, one after the
// other; Attack logs the longest of them. Others may be nil.
func Attack(t testing.TB, attack, others func()) {
	t.Helper()
	runtime.GC()
	resetPeak()
	idle := residentMemory()
	done := make(chan struct{})
	var stall time.Duration
	requests := 0
	var other sync.WaitGroup
	if others != nil {
		other.Go(func() {
			for {
				select {
				case <-done:
					return
				case <-time.After(attackPause):
				}
				begin := time.Now()
				others()
				requests++
				stall = max(stall, time.Since(begin))
			}
		})
	}
	begin := time.Now()
	attack()
	took := time.Since(begin)
	close(done)
	other.Wait()
	const mib = 1 << 20
	t.Logf("attack: %v; peak memory %d MiB above %d MiB", took.Round(time.Millisecond), max(peakMemory()-idle, 0)/mib, idle/mib)
	if others != nil {
		t.Logf("others: %d requests, the longest took %v", requests, stall.Round(time.Microsecond))
	}
}
