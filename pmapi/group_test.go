package pmapi_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// Names are looked up once, together; then each fetch is one request.
func TestGroupExchanges(t *testing.T) {
	s := newGroupFixture(t, false)
	g := s.c.Group()
	size := pmapi.Add[uint64](g, "size", pmapi.Scale("Kbyte"))
	a, b := pmapi.Add[float64](g, "disk.temp", pmapi.Instance("sda")), pmapi.Add[float64](g, "disk.temp", pmapi.Instance("sdb"))
	is(t, size, 0, pdu.ErrValue)
	s.wantRequests("")
	s.fetch(g)
	s.wantRequests("Lookup Descs Instances Fetch")
	is(t, size, 1024, 0)
	is(t, a, 0.5, 0)
	is(t, b, 1.5, 0)
	s.fetch(g)
	s.fetch(g)
	s.wantRequests("Fetch Fetch")

	// Items that are added later are looked up alone. A set requests all instances.
	reads := pmapi.AddSet[uint32](g, "disk.reads", pmapi.Scale("instant"))
	again := pmapi.AddSet[string](g, "size", pmapi.Scale("instant"))
	s.fetch(g)
	s.wantRequests("Lookup Descs Fetch")
	has(t, reads, "sda=10", "sdb solid=20", "sdc=30")
	has(t, again, "=1048576")
	s.fetch(g)
	s.wantRequests("Fetch")
	is(t, b, 1.5, 0)

	if _, err := s.c.Group().Fetch(t.Context()); !errors.Is(err, pdu.ErrTooSmall) {
		t.Error(err)
	}
}

// When names are known, a fetch is one request on the wire. The profile is sent only when it has
// changed.
func TestGroupOnTheWire(t *testing.T) {
	s := newGroupFixture(t, false)
	var kinds []string
	reply := sourceReplies(s.src)
	c := open(t, pmapi.Dialer{}, replying(pdu.FeatureHighRes|pdu.FeatureDescs, func(h pdu.Header, p pdu.PDU) []byte {
		kinds = append(kinds, p.Kind().String())
		return reply(h, p)
	}))
	requests := func(want string) {
		t.Helper()
		if got := strings.Join(kinds, " "); got != want {
			t.Errorf("requests %s, want %s", got, want)
		}
		kinds = nil
	}
	g := c.Group()
	size, sda := pmapi.Add[uint64](g, "size", pmapi.Scale("Kbyte")), pmapi.Add[float64](g, "disk.temp", pmapi.Instance("sda"))
	s.fetch(g)
	requests("PMNS_NAMES DESC_IDS INSTANCE_REQ PROFILE HIGHRES_FETCH")
	is(t, size, 1024, 0)
	is(t, sda, 0.5, 0)
	s.fetch(g)
	requests("HIGHRES_FETCH")
	same := c.Group() // its profile is another value with the same entries
	pmapi.Add[float64](same, "disk.temp", pmapi.Instance("sda"))
	s.fetch(same)
	requests("PMNS_NAMES DESC_REQ INSTANCE_REQ HIGHRES_FETCH")
	reads := pmapi.AddSet[uint32](g, "disk.reads", pmapi.Scale("instant"))
	s.fetch(g)
	requests("PMNS_NAMES DESC_REQ PROFILE HIGHRES_FETCH")
	has(t, reads, "sda=10", "sdb solid=20", "sdc=30")

	// Of the metrics of an agent without a reply, only one is requested alone.
	for _, m := range []*atoms{s.size, s.temp, s.reads} {
		m.FailDesc(pdu.ErrPMDANotReady)
	}
	s.src.Notify(pdu.ChangeRestartAgent)
	if _, err := g.Fetch(t.Context()); !errors.Is(err, pdu.ErrPMDANotReady) {
		t.Error(err)
	}
	requests("HIGHRES_FETCH PMNS_NAMES DESC_IDS DESC_REQ")
}

// A group has a separate profile.
func TestGroupProfile(t *testing.T) {
	s := newGroupFixture(t, false)
	g := s.c.Group()
	sda := pmapi.Add[float64](g, "disk.temp", pmapi.Instance("sda"))
	if err := s.c.DelProfile(s.disks.ID()); err != nil {
		t.Fatal(err)
	}
	if err := s.c.AddProfile(s.disks.ID(), 2); err != nil {
		t.Fatal(err)
	}
	var r pdu.Result
	for range 2 {
		s.fetch(g)
		is(t, sda, 0.5, 0)
		if err := s.c.Fetch(t.Context(), []pdu.PMID{s.temp.Desc().PMID}, &r); err != nil {
			t.Fatal(err)
		}
		if v := r.At(0); v.Len() != 1 || v.Inst(0) != 2 {
			t.Errorf("%d values of the context's profile", v.Len())
		}
	}
	// The collector sent the group only the values that it requested.
	s.requestsMade()
	set := pmapi.AddSet[float64](g, "disk.temp")
	s.fetch(g)
	has(t, set, "sda=0.5", "sdb solid=1.5", "sdc=2.5")
}

func TestGroupUnresolved(t *testing.T) {
	s := newGroupFixture(t, false)
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
	for range 3 {
		err := s.fetchWithout(g, pdu.ErrName, pdu.ErrInDom, pdu.ErrInst, pdu.ErrConv, pdu.ErrType, pdu.ErrArg)
		if n := len(strings.Split(err.Error(), "\n")); n != 9 {
			t.Errorf("%d errors:\n%v", n, err)
		}
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
	var texts []string
	for _, b := range bad {
		_, err := b.Value()
		texts = append(texts, err.Error())
	}
	texts = append(texts, bytes.Err().Error(), set.Err().Error(), events.Err().Error())
	if diff := cmp.Diff([]string{
		`pmapi: lookup "nothing" on pmapitest: Unknown metric name`,
		`pmapi: fetch "disk.temp" on pmapitest: the metric has instances: use Instance or AddSet: Unknown or illegal instance domain identifier`,
		`pmapi: fetch "size[sda]" on pmapitest: the metric has no instances: use no Instance: Unknown or illegal instance domain identifier`,
		`pmapi: fetch "disk.temp[sdz]" on pmapitest: Unknown or illegal instance identifier`,
		`pmapi: fetch "size" on pmapitest: from units "byte" to "count": Impossible value or scale conversion`,
		`pmapi: fetch "size" on pmapitest: units "furlong": unrecognized or duplicate base unit: Impossible value or scale conversion`,
		`pmapi: fetch "size" on pmapitest: from type U64 (uint64) to []byte: Unknown or illegal metric type`,
		`pmapi: fetch "disk.temp[sda]" on pmapitest: a Set has all instances: use Add with Instance: Bad value for function argument`,
		`pmapi: fetch "size" on pmapitest: type U64 (uint64) has no event records: Unknown or illegal metric type`,
	}, texts); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}

	// A name that was unknown is looked up again when the collector reports changes.
	s.requestsMade()
	s.temp.Rename("nothing")
	change(s.temp, func(d *pdu.Desc) { d.InDom = pdu.NoInDom })
	s.temp.Set(pdu.Float64(4))
	s.fetchWithout(g, pdu.ErrName) // disk.temp is not known any more
	is(t, bad[0], 4, 0)
	is(t, bad[1], 0, pdu.ErrName)
}

// A group without any resolved metric looks its names up at each Fetch.
func TestGroupWithoutAnyMetric(t *testing.T) {
	s := newGroupFixture(t, false)
	g := s.c.Group()
	i := pmapi.Add[uint64](g, "later", pmapi.Scale("instant"))
	for range 3 {
		s.fails(g, pdu.ErrName)
		is(t, i, 0, pdu.ErrName)
	}
	s.size.Rename("later")
	s.fetch(g)
	is(t, i, 1<<20, 0)
}

// If an agent is not available at present, its metrics are requested again, with one request for
// all of them.
func TestGroupNotReady(t *testing.T) {
	for _, code := range []pdu.Error{pdu.ErrAgain, pdu.ErrTimeout, pdu.ErrPMDANotReady, pdu.ErrPMDAFenced} {
		t.Run(code.Error(), func(t *testing.T) {
			s := newGroupFixture(t, false)
			g := s.c.Group()
			state, size := pmapi.Add[string](g, "state"), pmapi.Add[uint64](g, "size", pmapi.Scale("instant"))
			temp, reads := pmapi.AddSet[float64](g, "disk.temp"), pmapi.Add[uint32](g, "disk.reads", pmapi.Instance("sdb"), pmapi.Scale("instant"))
			for _, m := range []*atoms{s.size, s.temp, s.reads} {
				m.FailDesc(code)
			}
			s.fetchWithout(g, code)
			s.wantRequests("Lookup Descs Fetch")
			for range 2 {
				s.fetch(g)
				is(t, state, "idle", 0)
				is(t, size, 0, code)
			}
			for _, m := range []*atoms{s.size, s.temp, s.reads} {
				m.FailDesc(nil)
			}
			s.disks.Fail(code)
			for range 2 { // names are still missing
				s.fetch(g)
				is(t, size, 1<<20, 0)
				is(t, reads, 0, code)
				has(t, temp, "=0.5", "=1.5", "=2.5")
			}
			s.disks.Fail(nil)
			s.fetch(g)
			is(t, reads, 20, 0)
			has(t, temp, "sda=0.5", "sdb solid=1.5", "sdc=2.5")
			s.requestsMade()
			s.fetch(g)
			s.wantRequests("Fetch")
		})
	}
}

// Names are looked up again, after a change that the collector reports, before values are used.
func TestGroupChanges(t *testing.T) {
	s := newGroupFixture(t, false)
	g, other := s.c.Group(), s.c.Group()
	size, others := pmapi.Add[float64](g, "size"), pmapi.Add[float64](other, "size")
	state := pmapi.Add[string](g, "state")
	set := pmapi.AddSet[float64](g, "disk.temp")
	second := func() {
		t.Helper()
		s.src.Advance(time.Second)
		s.fetch(g)
		s.fetch(other)
	}
	second()
	s.size.Set(pdu.Uint64(3 << 20))
	second()
	is(t, size, 2<<20, 0)

	// Nothing has changed for the group, which looks up all names again and goes on with rates.
	s.src.Notify(pdu.ChangeAddAgent)
	s.instances("0 nvme0", "1 nvme1", "2 nvme2")
	s.requestsMade()
	second()
	s.wantRequests("Fetch Lookup Descs Instances Fetch Lookup Descs")
	is(t, size, 0, 0)
	is(t, others, 0, 0)
	has(t, set, "nvme0=0.5", "nvme1=1.5", "nvme2=2.5")
	s.requestsMade()
	second()
	s.wantRequests("Fetch Fetch")

	// The names stand for other metrics now.
	old := s.size.Desc().PMID
	change(s.size, func(d *pdu.Desc) { d.PMID = s.state.Desc().PMID })
	change(s.state, func(d *pdu.Desc) { d.PMID = old })
	s.src.Notify(pdu.ChangeRestartAgent | pdu.ChangeLabels)
	second()
	is(t, size, 0, pdu.ErrAgain) // the first of a rate
	is(t, state, "idle", 0)
	second()
	is(t, size, 0, 0)
	change(s.size, func(d *pdu.Desc) { d.PMID = pdu.MakePMID(400, 0, 77) })
	s.src.Advance(time.Second)
	s.fetch(g)
	is(t, size, 0, pdu.ErrAgain) // it was not fetched
	s.fetch(g)
	is(t, size, 0, pdu.ErrAgain)
	s.size.Set(pdu.Uint64(5 << 20))
	s.src.Advance(time.Second)
	s.fetch(g)
	is(t, size, 2<<20, 0)

	// Other changes do not affect names.
	s.requestsMade()
	s.src.Notify(pdu.ChangeLabels | pdu.ChangeHostname)
	s.fetch(g)
	s.wantRequests("Fetch")

	// An agent goes, and comes back.
	s.size.FailDesc(pdu.ErrNoAgent)
	s.size.Fail(pdu.ErrNoAgent)
	s.src.Notify(pdu.ChangeDropAgent)
	s.fetchWithout(g, pdu.ErrNoAgent)
	is(t, size, 0, pdu.ErrNoAgent)
	is(t, state, "idle", 0)
	s.size.FailDesc(nil)
	s.size.Fail(nil)
	s.src.Notify(pdu.ChangeAddAgent)
	s.fetch(g)
	s.src.Advance(time.Second)
	s.fetch(g)
	is(t, size, 0, pdu.ErrAgain)
	s.src.Advance(time.Second)
	s.fetch(g)
	is(t, size, 0, 0)
}

// A failed fetch leaves no values. The next rates are since the last fetch that succeeded.
func TestGroupFetchFails(t *testing.T) {
	s := newGroupFixture(t, false)
	g := s.c.Group()
	size, state, set := pmapi.Add[float64](g, "size"), pmapi.Add[string](g, "state"), pmapi.AddSet[float64](g, "disk.reads")
	s.fetch(g)
	s.src.FailFetch(pdu.ErrPermission)
	s.src.Advance(time.Second)
	for range 2 {
		s.fails(g, pdu.ErrPermission)
		is(t, size, 0, pdu.ErrValue)
		is(t, state, "", pdu.ErrValue)
		if !errors.Is(set.Err(), pdu.ErrValue) || set.Len() != 0 {
			t.Error(set.Err())
		}
	}
	s.src.FailFetch(nil)
	s.src.Advance(time.Second)
	s.size.Set(pdu.Uint64(3 << 20))
	s.reads.Set(pdu.Uint32(14), pdu.Uint32(20), pdu.Uint32(130))
	s.fetch(g)
	is(t, size, 1<<20, 0)
	is(t, state, "idle", 0)
	has(t, set, "sda=2", "sdb solid=0", "sdc=50")
}

// Rates start again after the connection was replaced.
func TestGroupReconnect(t *testing.T) {
	s := newGroupFixture(t, false)
	g := s.c.Group()
	size, sda := pmapi.Add[float64](g, "size"), pmapi.Add[float64](g, "disk.temp", pmapi.Instance("sda"))
	for range 2 {
		s.src.Advance(time.Second)
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
		s.requestsMade()
		s.src.Advance(time.Second)
		s.fetch(g)
		is(t, size, 0, pdu.ErrAgain)
		is(t, sda, 0.5, 0)
		if made := s.requestsMade(); !strings.Contains(made, "Lookup Descs Instances") {
			t.Errorf("only makes the requests %s", made)
		}
		s.src.Advance(time.Second)
		s.fetch(g)
		is(t, size, 0, 0)
	}
}

// Each group of a context that reconnects automatically reports a gap, once.
func TestGroupGap(t *testing.T) {
	s := newGroupFixture(t, true)
	groups := []*pmapi.Group{s.c.Group(), s.c.Group()}
	var items []*pmapi.Item[float64]
	for _, g := range groups {
		items = append(items, pmapi.Add[float64](g, "size"))
	}
	for range 2 {
		s.src.Advance(time.Second)
		s.fetch(groups[0])
		s.fetch(groups[1])
	}
	for range 2 {
		s.cut()
		s.fails(groups[0], pdu.ErrIPC)
		s.size.Set(pdu.Uint64(7 << 20))
		for i, g := range groups {
			var gap *pmapi.Gap
			if err := s.fails(g); !errors.As(err, &gap) {
				t.Errorf("group %d: %v", i, err)
			}
			is(t, items[i], 0, pdu.ErrValue)
			s.src.Advance(time.Second)
			s.fetch(g)
			is(t, items[i], 0, pdu.ErrAgain)
			s.size.Set(pdu.Uint64(8 << 20))
			s.src.Advance(time.Second)
			s.fetch(g)
			is(t, items[i], float64(1-i)*(1<<20), 0)
		}
		s.size.Set(pdu.Uint64(1 << 20))
	}
	late := s.c.Group()
	pmapi.Add[float64](late, "size")
	s.fetch(late)
}
