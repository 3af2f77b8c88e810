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

// imported adds records every two seconds, with values base, base+10 and so on. Every other record
// has the instance 2 of a counter as well.
func (m *madeArchive) imported(t *testing.T, from, to, base int) {
	for i := 0; from+2*i <= to; i++ {
		v := uint32(base + 10*i)
		m.record(t, time.Duration(from+2*i)*time.Second, func(w *pdu.ResultWriter) {
			w.Begin(countID)
			w.Uint32(1, v)
			if i%2 == 1 {
				w.Uint32(2, 2*v)
			}
			w.Begin(loadID)
			w.Uint32(pdu.NoInst, v)
			w.Begin(stateID)
			w.Uint32(pdu.NoInst, v)
		})
	}
}

// TestArchiveStepsBack interpolates in archives that contain two imports, one after the other, so
// that time steps back between them. The values are those of pmval 6.0.3 for each metric: two
// instances of a counter, an instant and a discrete metric.
func TestArchiveStepsBack(t *testing.T) {
	for _, test := range []struct {
		name          string
		imports       [2][3]int // from, to and base
		from, to, gap int
		want          string
	}{
		{"overlap", [2][3]int{{0, 20, 0}, {9, 29, 1000}}, 0, 22, 1, `
17 85 170 80 80
18 90 180 90 90
19 1050 2100 90 90
20 1055 2110 100 100
21 1060 2120 1060 1060
22 1065 2130 1060 1060`},
		{"overlap, long steps", [2][3]int{{0, 20, 0}, {9, 29, 1000}}, 0, 24, 2, `
18 90 180 90 90
20 100 2110 100 100
22 1065 2130 1060 1060
24 1075 2150 1070 1070`},
		{"second begins before first", [2][3]int{{5, 13, 1000}, {0, 20, 0}}, 5, 15, 1, `
11 1030 2060 1030 1030
12 60 1420 1030 1030
13 65 780 1040 1040
14 70 140 70 70
15 75 150 70 70`},
		{"same times", [2][3]int{{0, 20, 0}, {0, 20, 1000}}, 0, 20, 1, `
17 85 170 80 80
18 90 180 90 90
19 1095 - 90 90
20 1100 - 100 100`},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := newMadeArchive()
			m.metric("made.count", pdu.Desc{PMID: countID, Type: pdu.TypeU32, InDom: madeDomain, Sem: pdu.SemCounter})
			m.metric("made.load", pdu.Desc{PMID: loadID, Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemInstant})
			m.metric("made.state", pdu.Desc{PMID: stateID, Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete})
			m.instances(0, madeDomain, pdu.Instance{ID: 1, Name: "a"}, pdu.Instance{ID: 2, Name: "b"})
			for _, i := range test.imports {
				m.imported(t, i[0], i[1], i[2])
			}
			rows := map[int]string{}
			for _, id := range []pdu.PMID{countID, loadID, stateID} {
				m.interpolate(t, id, test.from, test.gap, rows)
			}
			want := strings.Split(strings.TrimSpace(test.want), "\n")
			var got []string
			for at := test.to - (len(want)-1)*test.gap; at <= test.to; at += test.gap {
				got = append(got, fmt.Sprint(at, rows[at]))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// interpolate adds the values of a metric to the rows of the times in seconds.
func (m *madeArchive) interpolate(t *testing.T, id pdu.PMID, from, step int, rows map[int]string) {
	t.Helper()
	c := m.open(t, asPCP6)
	if err := c.SetMode(t.Context(), pmapi.ModeInterp, archiveStart.Add(time.Duration(from)*time.Second), time.Duration(step)*time.Second); err != nil {
		t.Fatal(err)
	}
	var r pdu.Result
	for {
		err := c.Fetch(t.Context(), []pdu.PMID{id}, &r)
		if errors.Is(err, pdu.ErrEOL) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		at := int(r.Time.Sub(archiveStart).Seconds())
		insts := []pdu.InstID{pdu.NoInst}
		if id == countID {
			insts = []pdu.InstID{1, 2}
		}
		for _, inst := range insts {
			text := " -"
			for n := range r.At(0).Len() {
				if r.At(0).Inst(n) == inst {
					v, _ := pdu.As[uint32](r.At(0).Atom(n, pdu.TypeU32))
					text = fmt.Sprint(" ", v)
				}
			}
			rows[at] += text
		}
	}
}
