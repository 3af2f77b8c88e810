package pmapi_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// disks is the instance domain of tests.
var disks = pdu.MakeInDom(400, 1)

// A stage is a scripted collector with some metrics, and a context on it.
type stage struct {
	*scripted
	*testing.T
	c *pmapi.Context

	reads, temp, size, state *scriptedMetric // a counter, numbers, a singular counter, a discrete metric
}

func newStage(t *testing.T, d pmapi.Dialer) *stage {
	s := &stage{scripted: newScripted(t), T: t}
	s.instances("0 sda", "1 sdb solid", "2 sdc")
	s.reads = s.add("disk.reads", pdu.Desc{Type: pdu.TypeU32, Sem: pdu.SemCounter, Units: pdu.UnitCount, InDom: disks})
	s.temp = s.add("disk.temp", pdu.Desc{Type: pdu.TypeDouble, Sem: pdu.SemInstant, InDom: disks})
	s.size = s.add("size", pdu.Desc{Type: pdu.TypeU64, Sem: pdu.SemCounter, Units: pdu.SpaceByte, InDom: pdu.NoInDom})
	s.state = s.add("state", pdu.Desc{Type: pdu.TypeString, Sem: pdu.SemDiscrete, InDom: pdu.NoInDom})
	s.put(s.reads, pdu.Uint32(10), pdu.Uint32(20), pdu.Uint32(30))
	s.put(s.temp, pdu.Float64(0.5), pdu.Float64(1.5), pdu.Float64(2.5))
	s.put(s.size, pdu.Uint64(1<<20))
	s.put(s.state, pdu.String("idle"))
	s.c = s.context(t, d)
	return s
}

// instances replaces those of disks: a number and a name each.
func (s *stage) instances(list ...string) {
	s.Lock()
	defer s.Unlock()
	s.Instances[disks] = nil
	for _, l := range list {
		var i pdu.Instance
		number, name, _ := strings.Cut(l, " ")
		if _, err := fmt.Sscan(number, &i.ID); err != nil {
			s.T.Fatal(err)
		}
		i.Name = name
		s.Instances[disks] = append(s.Instances[disks], i)
	}
}

// change makes changes under the lock.
func (s *stage) change(f func()) {
	s.Lock()
	defer s.Unlock()
	f()
}

// fetch fetches and wants it to succeed.
func (s *stage) fetch(g *pmapi.Group) {
	s.T.Helper()
	now, err := g.Fetch(s.T.Context())
	if err != nil {
		s.T.Fatal(err)
	}
	if !now.Equal(s.Time) {
		s.T.Errorf("time %v, want %v", now, s.Time)
	}
}

// fails fetches and wants it to fail, with all of the errors.
func (s *stage) fails(g *pmapi.Group, want ...error) error {
	s.T.Helper()
	began := time.Now()
	now, err := g.Fetch(s.T.Context())
	if err == nil {
		s.T.Fatal("no error")
	}
	for _, w := range want {
		if !errors.Is(err, w) {
			s.T.Errorf("error %v, want %v", err, w)
		}
	}
	if now.Before(began) || now.After(time.Now()) {
		s.T.Errorf("time %v of a fetch that failed", now)
	}
	return err
}

// asks wants these requests to have been made since it was called before.
func (s *stage) asks(want string) {
	s.T.Helper()
	if diff := cmp.Diff(want, s.asked()); diff != "" {
		s.T.Errorf("requests (-want +got):\n%s", diff)
	}
}

// is wants an item to have a value, or to be without one for a reason.
func is[T comparable](t *testing.T, i interface{ Value() (T, error) }, want T, code pdu.Error) {
	t.Helper()
	if got, err := i.Value(); got != want || pdu.FromError(err) != code {
		t.Errorf("value %v (%v), want %v (%v)", got, err, want, code)
	}
}

// holds wants a set to have these instances: "sda=1", or "sda: why".
func has[T pdu.Scalar](t *testing.T, s *pmapi.Set[T], want ...string) {
	t.Helper()
	var got, good []string
	for i := range s.Len() {
		inst, v, err := s.At(i)
		if err != nil {
			got = append(got, fmt.Sprintf("%s: %v", inst.Name, pdu.FromError(err)))
			continue
		}
		got = append(got, fmt.Sprintf("%s=%v", inst.Name, v))
		good = append(good, got[len(got)-1])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("set (-want +got):\n%s", diff)
	}
	var all []string
	for inst, v := range s.All() {
		all = append(all, fmt.Sprintf("%s=%v", inst.Name, v))
	}
	if diff := cmp.Diff(good, all); diff != "" {
		t.Errorf("All (-want +got):\n%s", diff)
	}
	if err := s.Err(); err != nil {
		t.Error(err)
	}
}

func inst(id pdu.InstID, a pdu.Atom) scriptedValue { return scriptedValue{id, a} }

// Names are looked up once, together; then each fetch is one request.
func TestGroupExchanges(t *testing.T) {
	s := newStage(t, pmapi.Dialer{})
	g := s.c.Group()
	size := pmapi.Add[uint64](g, "size", pmapi.Scale("Kbyte"))
	a, b := pmapi.Add[float64](g, "disk.temp", pmapi.Instance("sda")), pmapi.Add[float64](g, "disk.temp", pmapi.Instance("sdb"))
	is(t, size, 0, pdu.ErrValue)
	s.asks("")
	s.fetch(g)
	s.asks("PMNS_NAMES DESC_IDS INSTANCE_REQ PROFILE HIGHRES_FETCH")
	is(t, size, 1024, 0)
	is(t, a, 0.5, 0)
	is(t, b, 1.5, 0)
	s.fetch(g)
	s.fetch(g)
	s.asks("HIGHRES_FETCH HIGHRES_FETCH")

	// What is added later is looked up alone. A set wants all instances.
	reads := pmapi.AddSet[uint32](g, "disk.reads", pmapi.Scale("instant"))
	again := pmapi.AddSet[string](g, "size", pmapi.Scale("instant"))
	s.fetch(g)
	s.asks("PMNS_NAMES DESC_IDS PROFILE HIGHRES_FETCH")
	has(t, reads, "sda=10", "sdb solid=20", "sdc=30")
	has(t, again, "=1048576")
	s.fetch(g)
	s.asks("HIGHRES_FETCH")
	is(t, b, 1.5, 0)

	if _, err := s.c.Group().Fetch(t.Context()); !errors.Is(err, pdu.ErrTooSmall) {
		t.Error(err)
	}
}

// The profile of a group is its own.
func TestGroupProfile(t *testing.T) {
	s := newStage(t, pmapi.Dialer{})
	g := s.c.Group()
	sda := pmapi.Add[float64](g, "disk.temp", pmapi.Instance("sda"))
	if err := s.c.DelProfile(disks); err != nil {
		t.Fatal(err)
	}
	if err := s.c.AddProfile(disks, 2); err != nil {
		t.Fatal(err)
	}
	var r pdu.Result
	for range 2 {
		s.fetch(g)
		is(t, sda, 0.5, 0)
		if err := s.c.Fetch(t.Context(), []pdu.PMID{s.temp.PMID}, &r); err != nil {
			t.Fatal(err)
		}
		if v := r.At(0); v.Len() != 1 || v.Inst(0) != 2 {
			t.Errorf("%d values of the context's profile", v.Len())
		}
	}
	// The collector gave the group no more than it wanted.
	s.asked()
	set := pmapi.AddSet[float64](g, "disk.temp")
	s.fetch(g)
	has(t, set, "sda=0.5", "sdb solid=1.5", "sdc=2.5")
}

func TestGroupUnresolved(t *testing.T) {
	s := newStage(t, pmapi.Dialer{})
	g := s.c.Group()
	good := pmapi.Add[string](g, "state")
	bad := []interface{ Value() (float64, error) }{
		pmapi.Add[float64](g, "nothing"),
		pmapi.Add[float64](g, "disk.temp"),
		pmapi.Add[float64](g, "size", pmapi.Instance("sda")),
		pmapi.Add[float64](g, "disk.temp", pmapi.Instance("sdz")),
		pmapi.Add[float64](g, "size", pmapi.Scale("count")),
		pmapi.Add[float64](g, "size", pmapi.Scale("furlong")),
	}
	bytes := pmapi.Add[[]byte](g, "size")
	set := pmapi.AddSet[float64](g, "disk.temp", pmapi.Instance("sda"))
	events := pmapi.AddEvents[float64](g, "size", "disk.temp")
	codes := []pdu.Error{pdu.ErrName, pdu.ErrInDom, pdu.ErrInDom, pdu.ErrInst, pdu.ErrConv, pdu.ErrConv}
	err := s.fails(g, pdu.ErrName, pdu.ErrInDom, pdu.ErrInst, pdu.ErrConv, pdu.ErrType, pdu.ErrArg)
	if n := len(strings.Split(err.Error(), "\n")); n != 9 {
		t.Errorf("%d errors:\n%v", n, err)
	}
	is(t, good, "", pdu.ErrValue)
	for range 2 {
		s.fetch(g)
		is(t, good, "idle", 0)
		for i, b := range bad {
			is(t, b, 0, codes[i])
		}
		if _, err := bytes.Value(); !errors.Is(err, pdu.ErrType) {
			t.Error(err)
		}
		if !errors.Is(set.Err(), pdu.ErrArg) || set.Len() != 0 {
			t.Error(set.Err(), set.Len())
		}
		if !errors.Is(events.Err(), pdu.ErrType) || events.Len() != 0 {
			t.Error(events.Err(), events.Len())
		}
	}
	const want = `pmapi: fetch "disk.temp[sdz]" on local: Unknown or illegal instance identifier`
	if _, err := bad[3].Value(); err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}

	// A name that was unknown is looked up again when the collector tells of changes.
	s.asked()
	s.change(func() { s.temp.Name, s.Changed = "nothing", pdu.ChangeNames; s.temp.InDom = pdu.NoInDom })
	s.put(s.temp, pdu.Float64(4))
	s.fails(g, pdu.ErrName) // disk.temp is not known any more
	s.fetch(g)
	is(t, bad[0], 4, 0)
	is(t, bad[1], 0, pdu.ErrName)
}

// A group without any good metric looks for them each time.
func TestGroupWithoutAnyMetric(t *testing.T) {
	s := newStage(t, pmapi.Dialer{})
	g := s.c.Group()
	i := pmapi.Add[uint64](g, "later", pmapi.Scale("instant"))
	for range 3 {
		s.fails(g, pdu.ErrName)
		is(t, i, 0, pdu.ErrName)
	}
	s.change(func() { s.size.Name = "later" })
	s.fetch(g)
	is(t, i, 1<<20, 0)
}

// What an agent does not say at present is asked again, once for all its metrics.
func TestGroupNotReady(t *testing.T) {
	for _, code := range []pdu.Error{pdu.ErrAgain, pdu.ErrTimeout, pdu.ErrPMDANotReady, pdu.ErrPMDAFenced} {
		t.Run(code.Error(), func(t *testing.T) {
			s := newStage(t, pmapi.Dialer{})
			g := s.c.Group()
			state, size := pmapi.Add[string](g, "state"), pmapi.Add[uint64](g, "size", pmapi.Scale("instant"))
			temp, reads := pmapi.AddSet[float64](g, "disk.temp"), pmapi.Add[uint32](g, "disk.reads", pmapi.Instance("sdb"), pmapi.Scale("instant"))
			s.change(func() { s.size.DescErr, s.temp.DescErr, s.reads.DescErr = code, code, code })
			s.fails(g, code)
			s.asks("PMNS_NAMES DESC_IDS DESC_REQ")
			for range 2 {
				s.fetch(g)
				is(t, state, "idle", 0)
				is(t, size, 0, code)
			}
			s.change(func() { s.size.DescErr, s.temp.DescErr, s.reads.DescErr, s.InstFail = 0, 0, 0, code })
			for range 2 { // names are still missing
				s.fetch(g)
				is(t, size, 1<<20, 0)
				is(t, reads, 0, code)
				has(t, temp, "=0.5", "=1.5", "=2.5")
			}
			s.change(func() { s.InstFail = 0 })
			s.fetch(g)
			is(t, reads, 20, 0)
			has(t, temp, "sda=0.5", "sdb solid=1.5", "sdc=2.5")
			s.asked()
			s.fetch(g)
			s.asks("HIGHRES_FETCH")
		})
	}
}

// A change that the collector tells of is looked at before values are believed.
func TestGroupChanges(t *testing.T) {
	s := newStage(t, pmapi.Dialer{})
	g, other := s.c.Group(), s.c.Group()
	size, others := pmapi.Add[float64](g, "size"), pmapi.Add[float64](other, "size")
	state := pmapi.Add[string](g, "state")
	set := pmapi.AddSet[float64](g, "disk.temp")
	second := func() {
		t.Helper()
		s.later(time.Second)
		s.fetch(g)
		s.fetch(other)
	}
	second()
	s.put(s.size, pdu.Uint64(3<<20))
	second()
	is(t, size, 2<<20, 0)

	// Nothing has changed for the group, which asks once more and goes on with rates.
	s.change(func() { s.Changed = pdu.ChangeAddAgent })
	s.instances("0 nvme0", "1 nvme1", "2 nvme2")
	s.asked()
	second()
	s.asks("HIGHRES_FETCH PMNS_NAMES DESC_IDS INSTANCE_REQ HIGHRES_FETCH PMNS_NAMES DESC_REQ")
	is(t, size, 0, 0)
	is(t, others, 0, 0)
	has(t, set, "nvme0=0.5", "nvme1=1.5", "nvme2=2.5")
	s.asked()
	second()
	s.asks("HIGHRES_FETCH HIGHRES_FETCH")

	// The names stand for other metrics now.
	s.change(func() {
		s.size.PMID, s.state.PMID = s.state.PMID, s.size.PMID
		s.Changed = pdu.ChangeRestartAgent | pdu.ChangeLabels
	})
	second()
	is(t, size, 0, pdu.ErrAgain) // the first of a rate
	is(t, state, "idle", 0)
	second()
	is(t, size, 0, 0)
	s.change(func() { s.size.PMID, s.Changed = pdu.MakePMID(400, 0, 77), pdu.ChangeNames })
	s.later(time.Second)
	s.fetch(g)
	is(t, size, 0, pdu.ErrAgain) // it was not fetched
	s.fetch(g)
	is(t, size, 0, pdu.ErrAgain)
	s.put(s.size, pdu.Uint64(5<<20))
	s.later(time.Second)
	s.fetch(g)
	is(t, size, 2<<20, 0)

	// Other changes are none of names.
	s.asked()
	s.change(func() { s.Changed = pdu.ChangeLabels | pdu.ChangeHostname })
	s.fetch(g)
	s.asks("HIGHRES_FETCH")

	// An agent goes, and comes back.
	s.change(func() { s.size.DescErr, s.size.Err, s.Changed = pdu.ErrNoAgent, pdu.ErrNoAgent, pdu.ChangeDropAgent })
	s.fails(g, pdu.ErrNoAgent)
	s.fetch(g)
	is(t, size, 0, pdu.ErrNoAgent)
	is(t, state, "idle", 0)
	s.change(func() { s.size.DescErr, s.size.Err, s.Changed = 0, 0, pdu.ChangeAddAgent })
	s.fetch(g)
	s.later(time.Second)
	s.fetch(g)
	is(t, size, 0, pdu.ErrAgain)
	s.later(time.Second)
	s.fetch(g)
	is(t, size, 0, 0)
}

// A fetch that fails leaves no values, and the rates after it are those since the
// one before.
func TestGroupFetchFails(t *testing.T) {
	s := newStage(t, pmapi.Dialer{})
	g := s.c.Group()
	size, state, set := pmapi.Add[float64](g, "size"), pmapi.Add[string](g, "state"), pmapi.AddSet[float64](g, "disk.reads")
	s.fetch(g)
	s.change(func() { s.Fail = pdu.ErrPermission })
	s.later(time.Second)
	for range 2 {
		s.fails(g, pdu.ErrPermission)
		is(t, size, 0, pdu.ErrValue)
		is(t, state, "", pdu.ErrValue)
		if !errors.Is(set.Err(), pdu.ErrValue) || set.Len() != 0 {
			t.Error(set.Err())
		}
	}
	s.change(func() { s.Fail = 0 })
	s.later(time.Second)
	s.put(s.size, pdu.Uint64(3<<20))
	s.put(s.reads, pdu.Uint32(14), pdu.Uint32(20), pdu.Uint32(130))
	s.fetch(g)
	is(t, size, 1<<20, 0)
	is(t, state, "idle", 0)
	has(t, set, "sda=2", "sdb solid=0", "sdc=50")
}

// A connection that has been replaced has no values before it.
func TestGroupReconnect(t *testing.T) {
	s := newStage(t, pmapi.Dialer{Backoff: []time.Duration{0}})
	g := s.c.Group()
	size, sda := pmapi.Add[float64](g, "size"), pmapi.Add[float64](g, "disk.temp", pmapi.Instance("sda"))
	for range 2 {
		s.later(time.Second)
		s.fetch(g)
	}
	is(t, size, 0, 0)
	for _, broken := range []bool{true, false} {
		if broken {
			s.cut()
			for range 2 {
				s.fails(g, pdu.ErrIPC)
			}
			is(t, sda, 0, pdu.ErrValue)
		}
		if err := s.c.Reconnect(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.asked()
		s.later(time.Second)
		s.fetch(g)
		is(t, size, 0, pdu.ErrAgain)
		is(t, sda, 0.5, 0)
		if asked := s.asked(); !strings.Contains(asked, "PMNS_NAMES DESC_IDS INSTANCE_REQ") {
			t.Errorf("only asks %s", asked)
		}
		s.later(time.Second)
		s.fetch(g)
		is(t, size, 0, 0)
	}
}

// Each group of a context that survives hears of a gap, once.
func TestGroupGap(t *testing.T) {
	s := newStage(t, pmapi.Dialer{Survive: true, Backoff: []time.Duration{0}})
	groups := []*pmapi.Group{s.c.Group(), s.c.Group()}
	var items []*pmapi.Item[float64]
	for _, g := range groups {
		items = append(items, pmapi.Add[float64](g, "size"))
	}
	for range 2 {
		s.later(time.Second)
		s.fetch(groups[0])
		s.fetch(groups[1])
	}
	for range 2 {
		s.cut()
		s.fails(groups[0], pdu.ErrIPC)
		s.put(s.size, pdu.Uint64(7<<20))
		for i, g := range groups {
			var gap *pmapi.Gap
			if err := s.fails(g); !errors.As(err, &gap) {
				t.Errorf("group %d: %v", i, err)
			}
			is(t, items[i], 0, pdu.ErrValue)
			s.later(time.Second)
			s.fetch(g)
			is(t, items[i], 0, pdu.ErrAgain)
			s.put(s.size, pdu.Uint64(8<<20))
			s.later(time.Second)
			s.fetch(g)
			is(t, items[i], float64(1-i)*(1<<20), 0)
		}
		s.put(s.size, pdu.Uint64(1<<20))
	}
	late := s.c.Group()
	pmapi.Add[float64](late, "size")
	s.fetch(late)
}
