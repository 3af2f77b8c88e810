package pmapi_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// Instances come and go; their names are requested when one is new.
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

// An item's instance keeps its number until the list has another.
func TestItemInstances(t *testing.T) {
	s := newGroupFixture(t, false)
	g := s.c.Group()
	sdb, sdx := pmapi.Add[float64](g, "disk.temp", pmapi.Instance("sdb")), pmapi.Add[float64](g, "disk.temp", pmapi.Instance("sdx"))
	s.fails(g, pdu.ErrInst)
	setValues(s.temp, inst(2, pdu.Float64(2)), inst(0, pdu.Float64(0)))
	s.fetch(g)
	is(t, sdb, 0, pdu.ErrValue)
	s.instances("0 sda", "5 sdb", "6 sdx fast")
	setValues(s.temp, inst(5, pdu.Float64(5)), inst(6, pdu.Float64(6)), inst(1, pdu.Float64(1)))
	s.fetch(g)
	is(t, sdb, 1, 0) // as far as the group knows
	is(t, sdx, 0, pdu.ErrInst)
	// A set of the same domain needs the list; then the others have it too.
	set := pmapi.AddSet[float64](g, "disk.temp")
	s.fetch(g)
	has(t, set, "=1", "sdb=5", "sdx fast=6")
	s.fetch(g)
	is(t, sdb, 5, 0)
	is(t, sdx, 6, 0)
	s.requestsMade()
	s.fetch(g)
	s.wantRequests("Fetch")
	// Those that are not in a list any more lack their values.
	s.instances("0 sda", "9 nine")
	setValues(s.temp, inst(9, pdu.Float64(9)))
	for range 2 {
		s.fetch(g)
		is(t, sdb, 0, pdu.ErrValue)
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
	s.fails(g, pdu.ErrInDom)
	s.fetch(g)
	has(t, temp, "=0.5", "=1.5", "=2.5")
	is(t, sda, 0, pdu.ErrInDom)
	s.requestsMade()
	s.fetch(g)
	s.wantRequests("Fetch")
}
