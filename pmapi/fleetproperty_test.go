package pmapi_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// A randomFleet does random things to hosts, and knows which of them have to be up.
type randomFleet struct {
	t       *testing.T
	rnd     *rand.Rand
	f       *pmapi.Fleet[loadHost]
	hosts   []*pmapitest.Host
	load    map[string]float64
	healthy map[string]int  // for how many ticks; less than 0 if not
	up      map[string]bool // in the tick before, and nothing was done to it since
}

// TestFleetRandom disturbs some hosts at random. The others stay up, and a disturbed host comes
// back after its last disturbance.
func TestFleetRandom(t *testing.T) {
	seeds := uint64(6)
	if *fleetFull {
		seeds = 100
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			r := &randomFleet{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), f: newLoadFleet(), load: map[string]float64{}, healthy: map[string]int{}, up: map[string]bool{}}
			r.f.MaxRequests, r.f.MaxConnecting = 5, 3
			r.f.Dialer = &pmapi.Dialer{Backoff: []time.Duration{300 * time.Millisecond, 1300 * time.Millisecond}}
			fleet := pmapitest.NewFleet(30, loadSource)
			if err := fleet.AddTo(r.f); err != nil {
				t.Fatal(err)
			}
			r.hosts = fleet.Hosts()
			for i, h := range r.hosts {
				r.load[h.Name()] = float64(i)
			}
			for range 4 {
				r.loop(50 + r.rnd.IntN(50))
			}
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		})
	}
}

// loop does random things between n ticks, and nothing between those after them.
func (r *randomFleet) loop(n int) {
	clear(r.up) // the connections are new ones
	for name, n := range r.healthy {
		r.healthy[name] = min(n, 0)
	}
	var last time.Time
	ticks := 0
	for tick := range r.f.Every(r.t.Context(), time.Second) {
		if ticks > 0 && (tick.Time.Sub(last) != time.Second || tick.Missed != 0) {
			r.t.Errorf("tick %d is %v after the one before, %d missed", ticks, tick.Time.Sub(last), tick.Missed)
		}
		last = tick.Time
		r.check(ticks, tick)
		if ticks++; ticks == n+60 {
			break
		}
		time.Sleep(time.Duration(r.rnd.IntN(400)) * time.Millisecond)
		switch {
		case ticks < n:
			for range r.rnd.IntN(4) {
				r.do(r.hosts[r.rnd.IntN(len(r.hosts))])
			}
		case ticks == n:
			for _, h := range r.hosts {
				r.heal(h)
			}
		}
	}
}

// check checks the rows of a tick.
func (r *randomFleet) check(n int, tick *pmapi.FleetTick[loadHost]) {
	var names []string
	for i := range tick.Rows {
		row := &tick.Rows[i]
		names = append(names, row.Host)
		isUp := row.Status.State == pmapi.HostUp
		if isUp {
			if v, err := row.Items.load.Value(); v != r.load[row.Host] || err != nil {
				r.t.Errorf("tick %d: %s has %v, %v, want %v", n, row.Host, v, err, r.load[row.Host])
			}
		}
		r.healthy[row.Host]++
		if n := r.healthy[row.Host]; !isUp && n > 0 && (r.up[row.Host] || n > 50) {
			r.t.Errorf("tick %d: %s is %s after %d ticks without a fault", n, row.Host, rowText(row), r.healthy[row.Host])
		}
		r.up[row.Host] = isUp
	}
	if !slices.Equal(names, r.f.Hosts()) {
		r.t.Errorf("tick %d: rows of %q, want %q", n, names, r.f.Hosts())
	}
}

// do does something to a host.
func (r *randomFleet) do(h *pmapitest.Host) {
	r.healthy[h.Name()], r.up[h.Name()] = math.MinInt, false
	switch r.rnd.IntN(9) {
	case 0:
		h.Stop(nil)
	case 1:
		h.Hang()
	case 2:
		h.SetDelay(time.Duration(r.rnd.IntN(3000)) * time.Millisecond)
	case 3:
		h.Source().FailFetch(pdu.ErrPermission)
	case 4:
		r.heal(h)
		r.load[h.Name()]++
		h.Restart(func(src *pmapitest.Source) {
			pmapitest.Add(src, pmapitest.Metric[float64]{Name: "load"}).Set(r.load[h.Name()])
		})
	case 5:
		r.f.Remove(h.Name())
	default:
		r.heal(h)
	}
}

// heal ends all faults of a host.
func (r *randomFleet) heal(h *pmapitest.Host) {
	r.healthy[h.Name()], r.up[h.Name()] = 0, false
	h.Start()
	h.Resume()
	h.SetDelay(0)
	h.Source().FailFetch(nil)
	if err := r.f.AddSource(h.Name(), h.Open); err != nil && !errors.Is(err, pdu.ErrArg) {
		r.t.Error(err)
	}
}
