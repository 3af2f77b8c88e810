package turns_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/turns"
)

// A place that eight clients use in turn. Each lets the others run while it has the place, as one
// does that waits for an agent.
func BenchmarkContended(b *testing.B) {
	b.Run("queue", func(b *testing.B) {
		q := turns.New(1)
		contend(b, func(client uint64) {
			turn := q.Try(client)
			if turn == nil {
				turn = q.Wait(client)
				<-turn.Ready()
			}
			runtime.Gosched()
			q.End(turn, time.Microsecond)
		})
	})
	b.Run("channel", func(b *testing.B) { // without shares, to compare
		places := make(chan struct{}, 1)
		contend(b, func(uint64) {
			places <- struct{}{}
			runtime.Gosched()
			<-places
		})
	})
}

// A few that use a place in turn, after many did.
func BenchmarkAfterRush(b *testing.B) {
	q := turns.New(1)
	rush(q, 100_000)
	b.ReportAllocs()
	for b.Loop() {
		turn, next := q.Try(1), q.Wait(2)
		q.End(turn, time.Microsecond)
		<-next.Ready()
		q.End(next, time.Microsecond)
	}
}

func contend(b *testing.B, use func(client uint64)) {
	b.ReportAllocs()
	var wg sync.WaitGroup
	for client := range uint64(8) {
		wg.Go(func() {
			for range b.N / 8 {
				use(client)
			}
		})
	}
	wg.Wait()
}
