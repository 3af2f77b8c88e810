package pmapi_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// A loggedSource is a source that logs its requests.
type loggedSource struct {
	src *pmapitest.Source

	mu       sync.Mutex
	requests []string
}

// atoms is a metric with values of any type.
type atoms = pmapitest.Metric[pdu.Atom]

func newLoggedSource(reconnects bool) *loggedSource {
	s := new(loggedSource)
	s.src = &pmapitest.Source{Start: time.Unix(1e9, 0), AutoReconnect: reconnects, OnRequest: func(_ context.Context, r pmapitest.Request) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests = append(s.requests, r.Method)
		return nil
	}}
	return s
}

// add adds a metric without values: a singular one, unless there are instances.
func (s *loggedSource) add(name string, d pdu.Desc, in *pmapitest.InDom) *atoms {
	return pmapitest.Add(s.src, atoms{Name: name, Type: d.Type, Sem: d.Sem, Units: d.Units, InDom: in})
}

// requestsMade returns the requests since the previous call, in their order.
func (s *loggedSource) requestsMade() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := strings.Join(s.requests, " ")
	s.requests = nil
	return all
}

// cut breaks all present connections.
func (s *loggedSource) cut() {
	s.src.Break(errors.New("cut"))
	s.src.Restore()
}

// change changes the descriptor of a metric.
func change(m *atoms, f func(d *pdu.Desc)) {
	d := m.Desc()
	f(&d)
	m.SetDesc(d)
}

// An instValue is the value of an instance.
type instValue struct {
	inst pdu.InstID
	atom pdu.Atom
}

func inst(id pdu.InstID, a pdu.Atom) instValue { return instValue{id, a} }

// setValues replaces the values of a metric with those of instances of any numbers.
func setValues(m *atoms, values ...instValue) {
	m.Clear()
	for _, v := range values {
		m.SetInstance(v.inst, v.atom)
	}
}

// A groupFixture is a source with some metrics, and a context on it.
type groupFixture struct {
	*loggedSource
	*testing.T
	c     *pmapi.Context
	disks *pmapitest.InDom

	reads, temp, size, state *atoms // a counter, numbers, a singular counter, a discrete metric
}

func newGroupFixture(t *testing.T, reconnects bool) *groupFixture {
	s := &groupFixture{loggedSource: newLoggedSource(reconnects), T: t}
	s.disks = s.src.InDom("sda", "sdb solid", "sdc")
	s.reads = s.add("disk.reads", pdu.Desc{Type: pdu.TypeU32, Sem: pdu.SemCounter, Units: pdu.UnitCount}, s.disks)
	s.temp = s.add("disk.temp", pdu.Desc{Type: pdu.TypeDouble, Sem: pdu.SemInstant}, s.disks)
	s.size = s.add("size", pdu.Desc{Type: pdu.TypeU64, Sem: pdu.SemCounter, Units: pdu.SpaceByte}, nil)
	s.state = s.add("state", pdu.Desc{Type: pdu.TypeString, Sem: pdu.SemDiscrete}, nil)
	s.reads.Set(pdu.Uint32(10), pdu.Uint32(20), pdu.Uint32(30))
	s.temp.Set(pdu.Float64(0.5), pdu.Float64(1.5), pdu.Float64(2.5))
	s.size.Set(pdu.Uint64(1 << 20))
	s.state.Set(pdu.String("idle"))
	s.c = s.src.Context()
	return s
}

// instances replaces the instances of the disks, given as a number and a name each.
func (s *groupFixture) instances(texts ...string) {
	var list []pdu.Instance
	for _, text := range texts {
		var i pdu.Instance
		number, name, _ := strings.Cut(text, " ")
		if _, err := fmt.Sscan(number, &i.ID); err != nil {
			s.T.Fatal(err)
		}
		i.Name = name
		list = append(list, i)
	}
	s.disks.SetInstances(list...)
}

// fetch fetches a group and fails the test on an error.
func (s *groupFixture) fetch(g *pmapi.Group) {
	s.T.Helper()
	now, err := g.Fetch(s.T.Context())
	if err != nil {
		s.T.Fatal(err)
	}
	if !now.Equal(s.src.Now()) {
		s.T.Errorf("time %v, want %v", now, s.src.Now())
	}
}

// fails fetches a group and fails the test unless the error has all of want.
func (s *groupFixture) fails(g *pmapi.Group, want ...error) error {
	s.T.Helper()
	now, err := g.Fetch(s.T.Context())
	if err == nil {
		s.T.Fatal("no error")
	}
	for _, w := range want {
		if !errors.Is(err, w) {
			s.T.Errorf("error %v, want %v", err, w)
		}
	}
	if !now.Equal(s.src.Now()) {
		s.T.Errorf("time %v of a fetch that failed", now)
	}
	return err
}

// fetchWithout fetches a group and fails the test unless Group.Err has all of want.
func (s *groupFixture) fetchWithout(g *pmapi.Group, want ...error) error {
	s.T.Helper()
	s.fetch(g)
	err := g.Err()
	for _, w := range want {
		if !errors.Is(err, w) {
			s.T.Errorf("error %v, want %v", err, w)
		}
	}
	return err
}

// wantRequests checks the requests made since it was last called.
func (s *groupFixture) wantRequests(want string) {
	s.T.Helper()
	if diff := cmp.Diff(want, s.requestsMade()); diff != "" {
		s.T.Errorf("requests (-want +got):\n%s", diff)
	}
}

// is checks that an item has a value, or an error with a code.
func is[T comparable](t *testing.T, i interface{ Value() (T, error) }, want T, code pdu.Error) {
	t.Helper()
	if got, err := i.Value(); got != want || pdu.FromError(err) != code {
		t.Errorf("value %v (%v), want %v (%v)", got, err, want, code)
	}
}

// has checks the instances of a set: "sda=1", or "sda: why".
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
