package turns_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/turns"
)

// isReady reports, once, that a turn has got its place.
func isReady(t *turns.Turn) bool {
	select {
	case <-t.Ready():
		return true
	default:
		return false
	}
}

// A client that comes now and then has its turn next, however many others wait that
// have used the place for long.
func TestFair(t *testing.T) {
	q := turns.New(1)
	current := q.Try(99)
	if current == nil || q.Try(99) != nil || q.Len() != 1 {
		t.Fatal("one place is taken once")
	}
	const heavy, light = 16, 100
	waiting := map[uint64]*turns.Turn{}
	for c := range uint64(heavy) {
		waiting[c] = q.Wait(c)
	}
	served := map[uint64]int{}
	client := uint64(99) // whose turn it is
	begun := 0           // turns since the light client began to wait
	longest := 0
	for round := range 1000 {
		used := 50 * time.Millisecond
		if client == light {
			used = time.Millisecond
		}
		q.End(current, used)
		if client < heavy {
			waiting[client] = q.Wait(client) // at once again
		}
		if round > 100 && round%5 == 0 && waiting[light] == nil {
			waiting[light], begun = q.Wait(light), 0
		}
		var ready []uint64
		for c, w := range waiting {
			if isReady(w) {
				ready = append(ready, c)
			}
		}
		if len(ready) != 1 {
			t.Fatalf("round %d: %d have the place", round, len(ready))
		}
		client = ready[0]
		current = waiting[client]
		served[client]++
		begun++
		if client == light {
			longest = max(longest, begun)
		}
		delete(waiting, client)
	}
	if longest > 2 {
		t.Errorf("the light client had to wait for %d others", longest-1)
	}
	var counts []int
	for c := range uint64(heavy) {
		counts = append(counts, served[c])
	}
	if slices.Min(counts) < slices.Max(counts)-3 {
		t.Errorf("the others had unequal shares: %v", counts)
	}
}

// TestAlike: clients with small requests are served in the order of arrival, even if some take a
// little longer.
func TestAlike(t *testing.T) {
	q := turns.New(1)
	current := q.Try(0)
	const clients = 4
	var waiting []*turns.Turn
	for c := range uint64(clients) {
		waiting = append(waiting, q.Wait(c))
	}
	for round := range 5 * clients {
		client := round % clients
		q.End(current, time.Duration(50-10*client)*time.Microsecond)
		if !isReady(waiting[client]) {
			t.Fatalf("round %d: client %d is not next", round, client)
		}
		current = waiting[client]
		waiting[client] = q.Wait(uint64(client))
	}
}

// Places are given in order among equals, also when a turn is given up.
func TestGivenUp(t *testing.T) {
	q := turns.New(2)
	first, second := q.Try(9), q.Try(9)
	a, b, c, d := q.Wait(1), q.Wait(2), q.Wait(3), q.Wait(4)
	q.End(b, 0)
	q.End(first, 0)
	q.End(a, 0) // it had its place
	got := []bool{isReady(c), isReady(d)}
	if diff := cmp.Diff([]bool{true, false}, got); diff != "" {
		t.Errorf("ready (-want +got):\n%s", diff)
	}
	q.End(second, 0)
	if !isReady(d) || isReady(d) {
		t.Error("the last turn has no place, or two")
	}
	q.End(c, 0)
	q.End(d, 0)
	if q.Len() != 0 || !isReady(q.Wait(5)) {
		t.Errorf("%d places are taken", q.Len())
	}
}

// Turns cost no allocation, whether they wait or not.
func TestAllocs(t *testing.T) {
	q := turns.New(1)
	if n := testing.AllocsPerRun(100, func() {
		turn := q.Try(1)
		next := q.Wait(2)
		q.End(turn, time.Second)
		<-next.Ready()
		q.End(next, time.Second)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A client that has used the place before has its turn even if there are always new
// clients, which have not.
func TestNewClients(t *testing.T) {
	q := turns.New(1)
	const known = 1
	turn := q.Try(known)
	next := uint64(1)
	var fresh []*turns.Turn
	for range 4 {
		next++
		fresh = append(fresh, q.Wait(next))
	}
	q.End(turn, 10*time.Millisecond)
	for round := range 3 {
		turn = q.Wait(known)
		for used := 0; !isReady(turn); used++ {
			if used == 50 {
				t.Fatalf("round %d: %d new clients had their turns meanwhile", round, used)
			}
			at := slices.IndexFunc(fresh, isReady)
			if at < 0 {
				t.Fatal("nobody has the place")
			}
			current := fresh[at]
			next++
			fresh = append(slices.Delete(fresh, at, at+1), q.Wait(next))
			q.End(current, 50*time.Millisecond) // it does not come again
		}
		q.End(turn, 10*time.Millisecond)
	}
}

// Clients that have gone are forgotten while others wait.
func TestForget(t *testing.T) {
	q := turns.New(1)
	turn := q.Try(0)
	for c := range uint64(100_000) {
		next := q.Wait(c + 1)
		q.End(turn, time.Millisecond)
		<-next.Ready()
		turn = next
	}
	if n := q.Uses(); n > 20_000 {
		t.Errorf("%d uses are kept", n)
	}
}

// TestRushIsForgotten: the memory of a rush is released when no client waits any more. Emptying a
// map would cost its former size each time.
func TestRushIsForgotten(t *testing.T) {
	q := turns.New(1)
	rush(q, 10_000)
	if n := q.Uses(); n != 0 || q.KeepsMap() {
		t.Errorf("%d uses are kept, the map: %v", n, q.KeepsMap())
	}
	turn, next := q.Try(1), q.Wait(2)
	q.End(turn, time.Second)
	q.End(next, time.Second)
	if !q.KeepsMap() {
		t.Error("the map of a few uses is made each time")
	}
}

// rush has clients use the one place of a queue while others wait for it, each once.
func rush(q *turns.Queue, clients uint64) {
	turn := q.Try(0)
	for c := range clients {
		next := q.Wait(c + 1)
		q.End(turn, time.Millisecond)
		<-next.Ready()
		turn = next
	}
	q.End(turn, time.Millisecond)
}
