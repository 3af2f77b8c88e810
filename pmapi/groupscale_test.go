package pmapi_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// The rates of a counter of time equal those of libpcp bit for bit: they are computed through
// nanoseconds, and each product is rounded.
func TestScaleRounding(t *testing.T) {
	s := newLoggedSource(false)
	millis := s.add("millis", pdu.Desc{Type: pdu.TypeU64, Sem: pdu.SemCounter, Units: pdu.TimeMSec}, nil)
	millis.Set(pdu.Uint64(0))
	g := s.src.Context().Group()
	want := map[string]float64{"s/s": 13.485000000000001, "ms/s": 13485, "us/s": 13485000, "ns/s": 13484999999.999998, "%": 1348.5}
	items := map[string]*pmapi.Item[float64]{}
	for scale := range want {
		items[scale] = pmapi.Add[float64](g, "millis", pmapi.Scale(scale))
	}
	for range 2 {
		if _, err := g.Fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.src.Advance(10 * time.Second)
		millis.Set(pdu.Uint64(134850))
	}
	for scale, item := range items {
		if v, err := item.Value(); v != want[scale] || err != nil {
			t.Errorf("%s: %v, %v, want %v", scale, v, err, want[scale])
		}
	}
}

// A scale that changes nothing keeps integers exact.
func TestScaleToSameUnits(t *testing.T) {
	s := newLoggedSource(false)
	const size = 1<<62 + 1
	s.add("size", pdu.Desc{Type: pdu.TypeU64, Sem: pdu.SemInstant, Units: pdu.SpaceKByte}, nil).Set(pdu.Uint64(size))
	g := s.src.Context().Group()
	item := pmapi.Add[uint64](g, "size", pmapi.Scale("Kbyte"))
	if _, err := g.Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v, err := item.Value(); v != size || err != nil {
		t.Errorf("%d, %v, want %d", v, err, uint64(size))
	}
}

// A percentage is a hundred times a ratio, or the rate of a counter of time.
func TestScalePercent(t *testing.T) {
	s := newLoggedSource(false)
	metric := func(name string, sem pdu.Sem, units pdu.Units, v pdu.Atom) *atoms {
		m := s.add(name, pdu.Desc{Type: v.Type, Sem: sem, Units: units}, nil)
		m.Set(v)
		return m
	}
	metric("ratio", pdu.SemInstant, pdu.NoUnits, pdu.Float64(0.125))
	metric("hits", pdu.SemCounter, pdu.NoUnits, pdu.Float64(0.5))
	metric("text", pdu.SemInstant, pdu.NoUnits, pdu.String("0.25"))
	millis := metric("millis", pdu.SemCounter, pdu.TimeMSec, pdu.Uint64(1000))
	nanos := metric("nanos", pdu.SemCounter, pdu.TimeNSec, pdu.Uint32(0))
	hours := metric("hours", pdu.SemCounter, pdu.TimeHour, pdu.Float64(1))
	metric("bytes", pdu.SemInstant, pdu.SpaceByte, pdu.Uint64(7))
	metric("count", pdu.SemInstant, pdu.UnitCount, pdu.Uint64(7))
	metric("reads", pdu.SemCounter, pdu.UnitCount, pdu.Uint64(7))
	g := s.src.Context().Group()
	percent := func(name string) *pmapi.Item[float64] { return pmapi.Add[float64](g, name, pmapi.Scale("%")) }
	items := map[string]*pmapi.Item[float64]{}
	for _, name := range []string{"ratio", "hits", "text", "millis", "nanos", "hours", "bytes", "count", "reads"} {
		items[name] = percent(name)
	}
	rounded := pmapi.Add[uint32](g, "millis", pmapi.Scale("%"))
	fetch := func(want map[string]float64, codes map[string]pdu.Error) {
		t.Helper()
		if _, err := g.Fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
		for name, item := range items {
			if v, err := item.Value(); math.Abs(v-want[name]) > 1e-9 || pdu.FromError(err) != codes[name] {
				t.Errorf("%s: %v (%v), want %v (%v)", name, v, err, want[name], codes[name])
			}
		}
	}
	conv := map[string]pdu.Error{"bytes": pdu.ErrConv, "count": pdu.ErrConv, "reads": pdu.ErrConv}
	first := map[string]pdu.Error{"bytes": pdu.ErrConv, "count": pdu.ErrConv, "reads": pdu.ErrConv,
		"millis": pdu.ErrAgain, "nanos": pdu.ErrAgain, "hours": pdu.ErrAgain}
	fetch(map[string]float64{"ratio": 12.5, "hits": 50, "text": 25}, first)
	s.src.Advance(2 * time.Second)
	millis.Set(pdu.Uint64(1000 + 1500))
	nanos.Set(pdu.Uint32(500_000_000))
	hours.Set(pdu.Float64(1 + 2./3600))
	fetch(map[string]float64{"ratio": 12.5, "hits": 50, "text": 25, "millis": 75, "nanos": 25, "hours": 100}, conv)
	is(t, rounded, 75, 0)
	if _, err := items["bytes"].Value(); err == nil || err.Error() != `pmapi: fetch "bytes" on pmapitest: from units "byte" to "%": Impossible value or scale conversion` {
		t.Error(err)
	}
}

// A metric of time in any units becomes a time.Duration. A counter of time becomes a time.Duration
// per second.
func TestDurations(t *testing.T) {
	type duration int64 // any other type has the number
	const year = 365 * 24 * time.Hour
	for _, tt := range []struct {
		name   string
		units  pdu.Units
		value  pdu.Atom
		want   time.Duration
		number duration
		code   pdu.Error
	}{
		{"ns", pdu.TimeNSec, pdu.Uint64(1<<62 + 1), 1<<62 + 1, 1<<62 + 1, 0},
		{"us", pdu.TimeUSec, pdu.Uint32(1500), 1500 * time.Microsecond, 1500, 0},
		{"ms", pdu.TimeMSec, pdu.Int64(-9007199254741), -9007199254741 * time.Millisecond, -9007199254741, 0},
		{"sec", pdu.TimeSec, pdu.Int32(90), 90 * time.Second, 90, 0},
		{"min", pdu.TimeMin, pdu.Uint32(3), 3 * time.Minute, 3, 0},
		{"hour", pdu.TimeHour, pdu.Uint64(290 * 365 * 24), 290 * year, 290 * 365 * 24, 0},
		{"fractions", pdu.TimeSec, pdu.Float64(0.3), 300 * time.Millisecond, 0, 0},
		{"float", pdu.TimeMSec, pdu.Float32(0.5), 500 * time.Microsecond, 0, 0},
		{"text", pdu.TimeSec, pdu.String("2"), 2 * time.Second, 2, 0},
		{"too long", pdu.TimeHour, pdu.Uint64(1 << 40), 0, 1 << 40, pdu.ErrTrunc},
		{"too long in float", pdu.TimeHour, pdu.Float64(1 << 40), 0, 1 << 40, pdu.ErrTrunc},
		{"too long below 0", pdu.TimeSec, pdu.Int64(math.MinInt64), 0, math.MinInt64, pdu.ErrTrunc},
		{"none", pdu.NoUnits, pdu.Int64(5), 5, 5, 0},
		{"counts", pdu.UnitCount, pdu.Int64(5), 0, 5, pdu.ErrConv},
		{"per count", pdu.TimeSec | pdu.PerCount, pdu.Int64(5), 0, 5, pdu.ErrConv},
	} {
		s := newLoggedSource(false)
		for name, sem := range map[string]pdu.Sem{"m": pdu.SemInstant, "counter": pdu.SemCounter} {
			s.add(name, pdu.Desc{Type: tt.value.Type, Sem: sem, Units: tt.units}, nil).Set(tt.value)
		}
		g := s.src.Context().Group()
		plain, number := pmapi.Add[time.Duration](g, "m"), pmapi.Add[duration](g, "m")
		set, instant := pmapi.AddSet[time.Duration](g, "m"), pmapi.Add[time.Duration](g, "counter", pmapi.Scale("instant"))
		scaled := pmapi.Add[time.Duration](g, "m", pmapi.Scale("100 millisec"))
		if _, err := g.Fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Run(tt.name, func(t *testing.T) {
			is(t, plain, tt.want, tt.code)
			is(t, number, tt.number, 0)
			is(t, instant, tt.want, tt.code)
			if v, err := set.Get(""); v != tt.want || pdu.FromError(err) != tt.code {
				t.Errorf("in a set: %v (%v), want %v (%v)", v, err, tt.want, tt.code)
			}
			if tt.units == pdu.NoUnits {
				tt.want, tt.code = 0, pdu.ErrConv
			}
			is(t, scaled, tt.want, tt.code)
		})
	}
}

// A time.Duration of a metric in other units is an error that names them, with any Scale.
func TestDurationOfOtherUnits(t *testing.T) {
	for _, tt := range []struct {
		sem  pdu.Sem
		opts []pmapi.ItemOption
	}{
		{pdu.SemInstant, nil}, {pdu.SemCounter, nil},
		{pdu.SemCounter, []pmapi.ItemOption{pmapi.Scale("rate")}},
		{pdu.SemCounter, []pmapi.ItemOption{pmapi.Scale("instant")}},
		{pdu.SemInstant, []pmapi.ItemOption{pmapi.Scale("Kbyte")}},
		{pdu.SemInstant, []pmapi.ItemOption{pmapi.Scale("second")}},
	} {
		s := newLoggedSource(false)
		s.add("m", pdu.Desc{Type: pdu.TypeU32, Sem: tt.sem, Units: pdu.SpaceByte}, nil).Set(pdu.Uint32(10))
		g := s.src.Context().Group()
		item := pmapi.Add[time.Duration](g, "m", tt.opts...)
		const want = `fetch "m" on pmapitest: the metric has units "byte", which are not of time`
		if _, err := g.Fetch(t.Context()); !errors.Is(err, pdu.ErrConv) || !strings.Contains(err.Error(), want) {
			t.Errorf("Fetch: %v, want %s", err, want)
		}
		is(t, item, 0, pdu.ErrConv)
	}
}

func TestDurationRates(t *testing.T) {
	s := newLoggedSource(false)
	millis := s.add("millis", pdu.Desc{Type: pdu.TypeU64, Sem: pdu.SemCounter, Units: pdu.TimeMSec}, nil)
	seconds := s.add("seconds", pdu.Desc{Type: pdu.TypeDouble, Sem: pdu.SemInstant, Units: pdu.TimeSec}, nil)
	g := s.src.Context().Group()
	used := pmapi.Add[time.Duration](g, "millis")
	change := pmapi.Add[time.Duration](g, "seconds", pmapi.Scale("rate"))
	for _, step := range []struct {
		pause   time.Duration
		millis  uint64
		seconds float64
		want    time.Duration // per second
		code    pdu.Error
	}{
		{0, 100, 1, 0, pdu.ErrAgain},
		{4 * time.Second, 1100, 2, 250 * time.Millisecond, 0},
		{3 * time.Second, 2100, 3, 333333333, 0},
	} {
		s.src.Advance(step.pause)
		millis.Set(pdu.Uint64(step.millis))
		seconds.Set(pdu.Float64(step.seconds))
		if _, err := g.Fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
		is(t, used, step.want, step.code)
		is(t, change, step.want, step.code)
	}
	if err := g.Err(); err != nil {
		t.Error(err)
	}
}
