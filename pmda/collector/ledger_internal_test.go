package collector

import (
	"math/rand/v2"
	"sync"
	"testing"
)

// TestLedgerBalance checks that concurrent reservations for one client are all released, even if
// some fail.
func TestLedgerBalance(t *testing.T) {
	const allowance = 1000
	for _, tt := range []struct {
		name          string
		limit, client int
	}{
		{"limit of one client", 1 << 30, 5 * allowance},
		{"limit of all", 8 * allowance, 1 << 30},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLedger("memory", tt.limit, tt.client, allowance)
			accounts := []*account{{ledger: l}, {ledger: l}, {ledger: l}}
			var users sync.WaitGroup
			for i := range 12 {
				users.Go(func() {
					a := accounts[i%len(accounts)]
					for range 50_000 {
						n := 1 + rand.Int64N(3*allowance)
						if a.reserve(n) == nil {
							a.release(n)
						}
					}
				})
			}
			users.Wait()
			for i, a := range accounts {
				if n := a.held.Load(); n != 0 {
					t.Errorf("account %d holds %d bytes in the end", i, n)
				}
			}
			if n := l.held.Load(); n != 0 {
				t.Errorf("all clients hold %d bytes in the end", n)
			}
		})
	}
}
