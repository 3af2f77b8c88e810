package toolcmp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// Changing compares the output of the real tool and ours for n archives whose metrics change. The
// archives differ by their seeds. In each, values have other types and instances than the
// descriptor says, instances come, go and are renamed, counters are reset, and there are marks and
// errors. In the middle, the clock is set back or jumps forward, and metrics get other names or
// PMIDs. Each element of options is the options of a run, which precede the archive.
func Changing(t *testing.T, tool string, n int, options, env []string) {
	t.Helper()
	pcptest.Need(t, tool)
	ours := pcptest.Build(t, "./examples/"+tool)
	for seed := range n {
		base := changingArchive(t, uint64(seed))
		for _, o := range options {
			run := func(program string) string {
				args := append([]string{program}, strings.Fields(o)...)
				stdout, stderr, status := pcptest.Run(t, env, "", append(args, base)...)
				return fmt.Sprintf("%sstandard error:\n%sexit status: %d\n", stdout, stderr, status)
			}
			if want, got := run(tool), run(ours); want != got {
				t.Errorf("seed %d: %v %s %s: %s", seed, env, tool, o, firstDifference(want, got))
			}
		}
	}
}

// changingArchive makes an archive and returns its base name.
func changingArchive(t testing.TB, seed uint64) (base string) {
	t.Helper()
	c := newChanger(seed)
	dir := t.TempDir()
	base, next := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	at := c.write(t, base, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), changingRecords)
	if c.IntN(2) == 0 {
		at = at.Add(-20 * time.Second)
	} else {
		at = at.Add(time.Minute)
	}
	for i := range c.metrics {
		switch c.IntN(6) {
		case 0:
			c.metrics[i].Names = []string{fmt.Sprint("other.name", i)}
		case 1: // another metric has the name
			c.metrics[i].PMID = pdu.MakePMID(400, 1, i)
		}
	}
	c.write(t, next, at, changingRecords)
	appendFiles(t, base, next)
	return base
}

const (
	changingRecords = 12 // of each half of an archive
	changingMetrics = 12
)

// A changer writes archives whose metrics change.
type changer struct {
	*rand.Rand
	metrics []archive.Metric
	values  map[[2]uint32]float64 // of counters
	names   []pdu.Instance
}

var changingInDom = pdu.MakeInDom(400, 1)

func newChanger(seed uint64) *changer {
	c := &changer{Rand: rand.New(rand.NewPCG(1, seed)), values: map[[2]uint32]float64{}}
	units := []pdu.Units{pdu.NoUnits, pdu.UnitCount, pdu.SpaceKByte, pdu.TimeMSec, pdu.TimeSec, pdu.TimeHour}
	for i := range changingMetrics {
		m := archive.Metric{Desc: pdu.Desc{PMID: pdu.MakePMID(400, 0, i), Type: pdu.Type(c.IntN(6)), InDom: pdu.NoInDom,
			Sem: []pdu.Sem{pdu.SemCounter, pdu.SemCounter, pdu.SemInstant, pdu.SemDiscrete}[c.IntN(4)], Units: units[c.IntN(len(units))]}}
		if c.IntN(2) == 0 {
			m.InDom = changingInDom
		}
		if c.IntN(10) == 0 {
			m.Type = pdu.TypeString
		}
		m.Names = []string{fmt.Sprintf("m%d.%v", i, strings.ToLower(m.Type.String()))}
		c.metrics = append(c.metrics, m)
	}
	c.names = []pdu.Instance{{ID: 0, Name: "a"}, {ID: 1, Name: "b"}}
	return c
}

// changeInstances adds, removes or renames an instance.
func (c *changer) changeInstances() {
	switch c.IntN(3) {
	case 0:
		c.names = append(c.names, pdu.Instance{ID: pdu.InstID(len(c.names)), Name: fmt.Sprint("new", c.IntN(100))})
	case 1:
		if len(c.names) > 1 {
			c.names = c.names[:len(c.names)-1]
		}
	default:
		i := c.IntN(len(c.names))
		c.names[i].Name = fmt.Sprint("name", c.IntN(100))
	}
}

// write writes records that start at a time, and returns the time of the last one.
func (c *changer) write(t testing.TB, base string, at time.Time, records int) time.Time {
	t.Helper()
	w, err := archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}}.Create(base)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range c.metrics {
		err = errors.Join(err, w.WriteMetric(m))
	}
	for i := range records {
		if i > 0 {
			at = at.Add(time.Duration(c.IntN(4)) * 7 * time.Second / 2)
		}
		if i > 0 && c.IntN(8) == 0 {
			err = errors.Join(err, w.WriteMark(at))
			continue
		}
		if i == 0 || c.IntN(4) == 0 {
			c.changeInstances()
			err = errors.Join(err, w.WriteInDom(archive.InDomRecord{Time: at, InDom: changingInDom, Instances: slices.Clone(c.names)}))
		}
		s := pdu.ResultWriter{Time: at}
		for n, m := range c.metrics {
			if i > 0 && c.IntN(5) == 0 {
				continue
			}
			s.Begin(m.PMID)
			c.putValues(&s, n, m)
		}
		err = errors.Join(err, w.WriteSets(&s))
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return at
}

func (c *changer) putValues(s *pdu.ResultWriter, n int, m archive.Metric) {
	if c.IntN(20) == 0 {
		s.Fail(pdu.ErrAgain)
		return
	}
	insts := []pdu.InstID{pdu.NoInst}
	if m.InDom != pdu.NoInDom {
		insts = nil
		for _, i := range c.names {
			if c.IntN(6) > 0 {
				insts = append(insts, i.ID)
			}
		}
	}
	if c.IntN(25) == 0 { // singular, or with instances
		insts = []pdu.InstID{pdu.NoInst}
		if m.InDom == pdu.NoInDom {
			insts = []pdu.InstID{3, 5}
		}
	}
	typ := m.Type
	if c.IntN(25) == 0 {
		typ = pdu.Type(c.IntN(7))
	}
	for _, i := range insts {
		key := [2]uint32{uint32(n), uint32(i)}
		switch c.IntN(12) {
		case 0:
			c.values[key] = float64(c.IntN(5)) // a reset
		case 1:
			c.values[key] = math.MaxUint32 - 50
		default:
			c.values[key] += float64(c.IntN(1000)) / 8
		}
		s.Atom(i, atomOf(typ, c.values[key]))
	}
}

func atomOf(t pdu.Type, v float64) pdu.Atom {
	switch t {
	case pdu.Type32:
		return pdu.Int32(int32(int64(v)))
	case pdu.TypeU32:
		return pdu.Uint32(uint32(v))
	case pdu.Type64:
		return pdu.Int64(int64(v))
	case pdu.TypeU64:
		return pdu.Uint64(uint64(v))
	case pdu.TypeFloat:
		return pdu.Float32(float32(v))
	case pdu.TypeDouble:
		return pdu.Float64(v)
	}
	return pdu.String(fmt.Sprint(v))
}

// appendFiles appends the records of the files of an archive to those of another.
func appendFiles(t testing.TB, to, from string) {
	t.Helper()
	for _, suffix := range []string{".0", ".meta"} {
		a, err := os.ReadFile(to + suffix)
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(from + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to+suffix, append(a, b[binary.BigEndian.Uint32(b):]...), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
