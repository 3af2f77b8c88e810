package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
)

// valuesOf makes values of instances 0, 1 and so on.
func valuesOf(numbers ...float64) []Value {
	var values []Value
	for i, x := range numbers {
		values = append(values, Value{Inst: pdu.Instance{ID: pdu.InstID(i)}, Atom: pdu.Float64(x)})
	}
	return values
}

// idsOf are the instances of values.
func idsOf(values []Value) []pdu.InstID {
	ids := []pdu.InstID{}
	for _, v := range values {
		ids = append(ids, v.Inst.ID)
	}
	return ids
}

func TestRank(t *testing.T) {
	for _, test := range []struct {
		rank   int
		values []Value
		want   []pdu.InstID
	}{
		{2, valuesOf(1, 5, 3, 5), []pdu.InstID{1, 3}},
		{1, valuesOf(1, 5, 3, 5), []pdu.InstID{1}},
		{-2, valuesOf(1, 5, 1, 1), []pdu.InstID{0, 2}},
		{9, valuesOf(1, 2), []pdu.InstID{0, 1}},
		{2, nil, []pdu.InstID{}},
	} {
		r := &Report{opts: Options{Rank: test.rank}}
		if diff := cmp.Diff(test.want, idsOf(r.rank(test.values))); diff != "" {
			t.Errorf("rank %d (-want +got):\n%s", test.rank, diff)
		}
	}
}

func TestLimit(t *testing.T) {
	for _, test := range []struct {
		limit, force int
		want         []pdu.InstID
	}{
		{0, 0, []pdu.InstID{0, 1, 2, 3}},
		{5, 0, []pdu.InstID{2, 3}},
		{-5, 0, []pdu.InstID{0, 1, 2}},
		{-5, 6, []pdu.InstID{3}},
	} {
		r := &Report{opts: Options{LimitFilter: test.limit, LimitFilterForce: test.force}}
		if diff := cmp.Diff(test.want, idsOf(r.limit(valuesOf(-1, 4.5, 5, 9)))); diff != "" {
			t.Errorf("limits %d and %d (-want +got):\n%s", test.limit, test.force, diff)
		}
	}
}

func TestRankOverall(t *testing.T) {
	r := &Report{opts: Options{Rank: 2}, series: []*series{{}}, header: Header{Metrics: make([]Metric, 1)}}
	for _, values := range [][]Value{valuesOf(1, 5, 3), valuesOf(5, 1, 9), valuesOf(0, 0, 0)} {
		r.rankOverall(&Sample{Values: [][]Value{values}})
	}
	var got []pdu.InstID
	for _, v := range r.ranking() {
		got = append(got, v.Value.Inst.ID)
	}
	if diff := cmp.Diff([]pdu.InstID{2, 0}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
