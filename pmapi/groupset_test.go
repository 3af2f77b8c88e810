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

// Instances come and go. Their names are requested when an instance is new.
func TestSetInstances(t *testing.T) {
	s := newGroupFixture(t, false)
	g := s.c.Group()
	reads, temp := pmapi.AddSet[float64](g, "disk.reads"), pmapi.AddSet[float64](g, "disk.temp")
	for _, step := range []struct {
		name        string
		list        []string // of instances, if it changes
		reads, temp []instValue
		requests    string
		wantReads   []string
		wantTemp    []string
	}{{
		"first", nil,
		[]instValue{inst(2, pdu.Uint32(30)), inst(0, pdu.Uint32(10))},
		[]instValue{inst(0, pdu.Float64(1))},
		"Lookup Descs Fetch Instances",
		[]string{"sda: Try again. Information not currently available", "sdc: Try again. Information not currently available"},
		[]string{"sda=1"},
	}, {
		"one more", nil,
		[]instValue{inst(2, pdu.Uint32(32)), inst(1, pdu.Uint32(20)), inst(0, pdu.Uint32(11))},
		[]instValue{inst(1, pdu.Float64(2)), inst(0, pdu.Float64(1))},
		"Fetch Instances",
		[]string{"sda=1", "sdb solid: Try again. Information not currently available", "sdc=2"},
		[]string{"sda=1", "sdb solid=2"},
	}, {
		"as before", nil,
		[]instValue{inst(0, pdu.Uint32(12)), inst(1, pdu.Uint32(21)), inst(2, pdu.Uint32(32))},
		[]instValue{inst(0, pdu.Float64(1)), inst(1, pdu.Float64(2))},
		"Fetch",
		[]string{"sda=1", "sdb solid=1", "sdc=0"},
		[]string{"sda=1", "sdb solid=2"},
	}, {
		"a new one, and one that goes", []string{"0 sda", "2 sdc", "7 sdh"},
		[]instValue{inst(0, pdu.Uint32(13)), inst(2, pdu.Uint32(33)), inst(7, pdu.Uint32(70))},
		[]instValue{inst(0, pdu.Float64(1)), inst(7, pdu.Float64(7))},
		"Fetch Instances",
		[]string{"sda=1", "sdc=1", "sdh: Try again. Information not currently available"},
		[]string{"sda=1", "sdh=7"},
	}, {
		"the number of one that has gone has another name", []string{"0 sda", "1 loop", "2 sdc", "7 sdh"},
		[]instValue{inst(0, pdu.Uint32(14)), inst(1, pdu.Uint32(5)), inst(2, pdu.Uint32(33)), inst(7, pdu.Uint32(70))},
		[]instValue{inst(0, pdu.Float64(1)), inst(7, pdu.Float64(7))},
		"Fetch Instances",
		[]string{"sda=1", "loop: Try again. Information not currently available", "sdc=0", "sdh=0"},
		[]string{"sda=1", "sdh=7"},
	}, {
		"one without a name", nil,
		[]instValue{inst(0, pdu.Uint32(14)), inst(99, pdu.Uint32(5))},
		[]instValue{inst(99, pdu.Float64(9))},
		"Fetch Instances",
		[]string{"sda=0", ": Try again. Information not currently available"},
		[]string{"=9"},
	}, {
		"which is not requested again", nil,
		[]instValue{inst(0, pdu.Uint32(13)), inst(99, pdu.Uint32(6))},
		[]instValue{inst(99, pdu.Float64(9))},
		"Fetch",
		[]string{"sda: Missing metric value(s)", "=1"},
		[]string{"=9"},
	}, {
		"nothing of one metric", nil,
		[]instValue{inst(0, pdu.Uint32(14)), inst(99, pdu.Uint32(6))}, nil,
		"Fetch",
		[]string{"sda=1", "=0"}, nil,
	}} {
		if step.list != nil {
			s.instances(step.list...)
		}
		setValues(s.reads, step.reads...)
		setValues(s.temp, step.temp...)
		s.fetch(g)
		t.Run(step.name, func(t *testing.T) {
			if diff := cmp.Diff(step.requests, s.requestsMade()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			has(t, reads, step.wantReads...)
			has(t, temp, step.wantTemp...)
		})
		s.src.Advance(time.Second)
	}
}

// An item uses the number of its instance in the list. The list is requested again while the
// instance has no value.
func TestItemInstances(t *testing.T) {
	s := newGroupFixture(t, false)
	g := s.c.Group()
	sdb, sdx := pmapi.Add[float64](g, "disk.temp", pmapi.Instance("sdb")), pmapi.Add[float64](g, "disk.temp", pmapi.Instance("sdx"))
	s.fetchWithout(g, pdu.ErrInst)
	is(t, sdb, 1.5, 0)
	is(t, sdx, 0, pdu.ErrInst)
	setValues(s.temp, inst(2, pdu.Float64(2)), inst(0, pdu.Float64(0)))
	s.fetch(g)
	is(t, sdb, 0, pdu.ErrValue)
	s.instances("0 sda", "5 sdb", "6 sdx fast")
	setValues(s.temp, inst(5, pdu.Float64(5)), inst(6, pdu.Float64(6)), inst(1, pdu.Float64(1)))
	s.requestsMade()
	s.fetch(g)
	s.wantRequests("Instances Fetch")
	is(t, sdb, 5, 0)
	is(t, sdx, 6, 0)
	set := pmapi.AddSet[float64](g, "disk.temp")
	s.fetch(g)
	has(t, set, "=1", "sdb=5", "sdx fast=6")
	s.requestsMade()
	s.fetch(g)
	s.wantRequests("Fetch")
	// While the list has the old number, the item has its value.
	s.instances("0 sda", "8 sdb", "6 sdx fast")
	s.fetch(g)
	is(t, sdb, 5, 0)
	// Instances that have gone first lack their values, and then are not in the list.
	s.instances("0 sda", "9 nine")
	setValues(s.temp, inst(9, pdu.Float64(9)))
	for _, code := range []pdu.Error{pdu.ErrValue, pdu.ErrInst, pdu.ErrInst} {
		s.fetch(g)
		is(t, sdb, 0, code)
		has(t, set, "nine=9")
	}
}

// A collector that does not know a domain has values without names.
func TestSetWithoutNames(t *testing.T) {
	s := newGroupFixture(t, false)
	g := s.c.Group()
	s.disks.Fail(pdu.ErrInDom)
	temp := pmapi.AddSet[float64](g, "disk.temp")
	sda := pmapi.Add[float64](g, "disk.temp", pmapi.Instance("sda"))
	s.fetchWithout(g, pdu.ErrInDom)
	has(t, temp, "=0.5", "=1.5", "=2.5")
	is(t, sda, 0, pdu.ErrInDom)
	s.requestsMade()
	s.fetch(g)
	s.wantRequests("Fetch")
}

// A set whose values all fail to fit its Go type has an error that names both types. A set with
// some values that fit has no error.
func TestSetMisfit(t *testing.T) {
	s := newGroupFixture(t, false)
	names := s.add("disk.names", pdu.Desc{Type: pdu.TypeString}, s.disks)
	sizes := s.add("disk.sizes", pdu.Desc{Type: pdu.Type64}, s.disks)
	names.Set(pdu.String("one"), pdu.String("two"))
	sizes.Set(pdu.Int64(-1), pdu.Int64(1<<40))
	g := s.c.Group()
	misfits := []interface{ Err() error }{
		pmapi.AddSet[float64](g, "disk.names"), pmapi.AddSet[[]byte](g, "disk.names"), pmapi.AddSet[uint32](g, "disk.sizes"),
		pmapi.AddSet[time.Duration](g, "disk.names"), pmapi.AddSet[float64](g, "disk.names", pmapi.Scale("rate")), pmapi.AddSet[word](g, "state"),
		pmapi.Add[celsius](g, "state"), pmapi.Add[uint32](g, "disk.sizes", pmapi.Instance("sda")), pmapi.Add[blob](g, "size"),
	}
	s.fetch(g)
	var texts []string
	for _, m := range misfits {
		texts = append(texts, strings.TrimPrefix(fmt.Sprint(m.Err()), "pmapi: fetch "))
	}
	if diff := cmp.Diff([]string{
		`"disk.names" on pmapitest: from type STRING to float64: Unknown or illegal metric type`,
		`"disk.names" on pmapitest: from type STRING to []byte: Unknown or illegal metric type`,
		`"disk.sizes" on pmapitest: from type 64 (int64) to uint32: Negative value in conversion to unsigned`,
		`"disk.names" on pmapitest: from type STRING to time.Duration: Unknown or illegal metric type`,
		`"disk.names" on pmapitest: from type STRING to float64: Unknown or illegal metric type`,
		`<nil>`,
		`"state" on pmapitest: from type STRING to pmapi_test.celsius: Unknown or illegal metric type`,
		`"disk.sizes[sda]" on pmapitest: from type 64 (int64) to uint32: Negative value in conversion to unsigned`,
		`"size" on pmapitest: from type U64 (uint64) to pmapi_test.blob: Unknown or illegal metric type`,
	}, texts); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if n := strings.Count(g.Err().Error(), "\n") + 1; n != 6 { // but not of values that are too small
		t.Errorf("%d errors of the group:\n%v", n, g.Err())
	}
	numbers := misfits[0].(*pmapi.Set[float64])
	if _, _, err := numbers.At(1); numbers.Len() != 2 || err == nil || err.Error() != `pmapi: fetch "disk.names[sdb solid]" on pmapitest: from type STRING to float64: Unknown or illegal metric type` {
		t.Error(numbers.Len(), err)
	}

	// An error of one fetch does not stay.
	names.Set(pdu.String("one"), pdu.String("2"))
	s.fetch(g)
	has(t, numbers, "sda: Unknown or illegal metric type", "sdb solid=2")
	names.Fail(pdu.ErrType) // as the agent says it
	s.fetch(g)
	if err := numbers.Err(); err == nil || err.Error() != `pmapi: fetch "disk.names" on pmapitest: Unknown or illegal metric type` {
		t.Error(err)
	}
	names.Set()
	s.fetch(g)
	has(t, numbers)
}

// Get finds an instance by its name, or by its name up to the first space.
func TestSetGet(t *testing.T) {
	s := newGroupFixture(t, false)
	g := s.c.Group()
	temp, reads, size := pmapi.AddSet[float64](g, "disk.temp"), pmapi.AddSet[float64](g, "disk.reads"), pmapi.AddSet[uint64](g, "size", pmapi.Scale("instant"))
	nothing := pmapi.AddSet[float64](g, "nothing")
	if _, err := temp.Get("sda"); !errors.Is(err, pdu.ErrValue) {
		t.Error(err)
	}
	s.instances("0 sdb loose", "1 sdb solid", "2 sdb", "3 sdc")
	s.temp.Set(pdu.Float64(0), pdu.Float64(1), pdu.Float64(2), pdu.Float64(3))
	s.fetch(g)
	for name, want := range map[string]float64{"sdb": 2, "sdb loose": 0, "sdb solid": 1, "sdc": 3} {
		if v, err := temp.Get(name); v != want || err != nil {
			t.Errorf("%s: %v (%v), want %v", name, v, err, want)
		}
	}
	s.instances("1 sdb solid", "0 sdb loose")
	setValues(s.temp, inst(1, pdu.Float64(1)), inst(0, pdu.Float64(0)))
	s.src.Notify(pdu.ChangeNames)
	s.fetch(g)
	if v, err := temp.Get("sdb"); v != 0 || err != nil { // the one with the lowest number
		t.Error(v, err)
	}
	for name, tt := range map[string]struct {
		get  func(string) (float64, error)
		want string
	}{
		"sd":  {temp.Get, `pmapi: fetch "disk.temp[sd]" on pmapitest: Unknown or illegal instance identifier`},
		"":    {temp.Get, `pmapi: fetch "disk.temp" on pmapitest: Unknown or illegal instance identifier`},
		"sda": {nothing.Get, `pmapi: lookup "nothing" on pmapitest: Unknown metric name`},
		"sdc": {reads.Get, `pmapi: fetch "disk.reads[sdc]" on pmapitest: Unknown or illegal instance identifier`},
	} {
		if v, err := tt.get(name); v != 0 || err == nil || err.Error() != tt.want {
			t.Errorf("%q: %v %v, want %s", name, v, err, tt.want)
		}
	}
	if v, err := size.Get(""); v != 1<<20 || err != nil {
		t.Error(v, err)
	}
	s.temp.Fail(pdu.ErrNoAgent)
	s.fetch(g)
	if _, err := temp.Get("sdb"); !errors.Is(err, pdu.ErrNoAgent) {
		t.Error(err)
	}
}
