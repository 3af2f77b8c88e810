package pmapi_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// stored is the value of a singular metric.
func stored(t *testing.T, c *pmapi.Context, d pdu.Desc) pdu.Atom {
	t.Helper()
	var r pdu.Result
	if err := c.Fetch(t.Context(), []pdu.PMID{d.PMID}, &r); err != nil || r.At(0).Len() != 1 {
		t.Fatal(err, r.At(0).Len())
	}
	return r.At(0).Atom(0, d.Type)
}

// Store converts Go values to the type of the metric exactly, or fails.
func TestStoreConversions(t *testing.T) {
	type (
		whole  int16
		number float32
	)
	s := newLoggedSource(false)
	entered := map[pdu.Type]*atoms{}
	for typ := range pdu.TypeDouble + 1 {
		entered[typ] = s.add(fmt.Sprint("m", int(typ)), pdu.Desc{Type: typ, Sem: pdu.SemInstant}, nil)
	}
	c := s.src.Context()
	const (
		trunc = pdu.ErrTrunc
		sign  = pdu.ErrSign
		typ   = pdu.ErrType
	)
	// all are the six numbers that an integer becomes.
	all := func(v int64) [6]any {
		return [6]any{int32(v), uint32(v), v, uint64(v), float32(v), float64(v)}
	}
	except := func(all [6]any, code pdu.Error, types ...pdu.Type) [6]any {
		for _, typ := range types {
			all[typ] = code
		}
		return all
	}
	none := func(code pdu.Error) (all [6]any) {
		return except(all, code, pdu.Type32, pdu.TypeU32, pdu.Type64, pdu.TypeU64, pdu.TypeFloat, pdu.TypeDouble)
	}
	for _, tt := range []struct {
		v    any
		want [6]any // for 32, U32, 64, U64, FLOAT and DOUBLE
	}{
		{0, all(0)},
		{uint8(255), all(255)},
		{whole(-7), except(all(-7), sign, pdu.TypeU32, pdu.TypeU64)},
		{math.MaxInt32, except(all(math.MaxInt32), trunc, pdu.TypeFloat)},
		{int64(1 << 31), except(all(1<<31), trunc, pdu.Type32)},
		{-1 << 31, except(all(-1<<31), sign, pdu.TypeU32, pdu.TypeU64)},
		{int64(-1<<31 - 1), [6]any{trunc, sign, int64(-1<<31 - 1), sign, trunc, -1.0*(1<<31) - 1}},
		{uint32(math.MaxUint32), [6]any{trunc, uint32(math.MaxUint32), int64(math.MaxUint32), uint64(math.MaxUint32), trunc, float64(math.MaxUint32)}},
		{int64(1 << 32), except(all(1<<32), trunc, pdu.Type32, pdu.TypeU32)},
		{int64(math.MaxInt64), [6]any{trunc, trunc, int64(math.MaxInt64), uint64(math.MaxInt64), trunc, trunc}},
		{int64(math.MinInt64), [6]any{trunc, sign, int64(math.MinInt64), sign, float32(-0x1p63), -0x1p63}},
		{uint64(1) << 63, [6]any{trunc, trunc, trunc, uint64(1) << 63, float32(0x1p63), 0x1p63}},
		{uint64(math.MaxUint64), [6]any{trunc, trunc, trunc, uint64(math.MaxUint64), trunc, trunc}},
		{uint64(1<<53 + 1), [6]any{trunc, trunc, int64(1<<53 + 1), uint64(1<<53 + 1), trunc, trunc}},
		{1.5, [6]any{trunc, trunc, trunc, trunc, float32(1.5), 1.5}},
		{0.1, [6]any{trunc, trunc, trunc, trunc, float32(0.1), 0.1}},
		{-2.0, except(all(-2), sign, pdu.TypeU32, pdu.TypeU64)},
		{-0.5, [6]any{trunc, trunc, trunc, trunc, float32(-0.5), -0.5}},
		{number(0.1), [6]any{trunc, trunc, trunc, trunc, float32(0.1), float64(float32(0.1))}},
		{1e300, [6]any{trunc, trunc, trunc, trunc, trunc, 1e300}},
		{math.Inf(-1), [6]any{trunc, trunc, trunc, trunc, float32(math.Inf(-1)), math.Inf(-1)}},
		{math.NaN(), [6]any{trunc, trunc, trunc, trunc, float32(math.NaN()), math.NaN()}},
		{0x1p63, [6]any{trunc, trunc, trunc, uint64(1 << 63), float32(0x1p63), 0x1p63}},
		{-0x1p63, [6]any{trunc, sign, int64(math.MinInt64), sign, float32(-0x1p63), -0x1p63}},
		{0x1p64, [6]any{trunc, trunc, trunc, trunc, float32(0x1p64), 0x1p64}},
		{time.Second, all(1e9)}, // of a metric without units
		{pdu.Uint32(5), all(5)},
		{pdu.Float32(5.5), [6]any{trunc, trunc, trunc, trunc, float32(5.5), 5.5}},
		{"5", none(typ)}, {[]byte("5"), none(typ)}, {true, none(typ)}, {nil, none(typ)}, {[]int{1}, none(typ)}, {new(int), none(typ)},
		{pdu.String("5"), none(typ)}, {pdu.Atom{Type: pdu.TypeUnknown}, none(typ)},
	} {
		for to, want := range tt.want {
			m := entered[pdu.Type(to)]
			m.Clear()
			err := c.Store(t.Context(), fmt.Sprint("m", to), tt.v)
			if code, isCode := want.(pdu.Error); isCode {
				if pdu.FromError(err) != code {
					t.Errorf("%T %v to %v: %v, want %v", tt.v, tt.v, pdu.Type(to), err, code)
				}
				continue
			}
			if err != nil {
				t.Errorf("%T %v to %v: %v", tt.v, tt.v, pdu.Type(to), err)
				continue
			}
			if got := stored(t, c, m.Desc()); !got.Equal(atomOf(want)) {
				t.Errorf("%T %v to %v: stored %v, want %v", tt.v, tt.v, pdu.Type(to), got, want)
			}
		}
	}
}

// atomOf returns a Go number as an atom.
func atomOf(v any) pdu.Atom {
	switch v := v.(type) {
	case int32:
		return pdu.Int32(v)
	case uint32:
		return pdu.Uint32(v)
	case int64:
		return pdu.Int64(v)
	case uint64:
		return pdu.Uint64(v)
	case float32:
		return pdu.Float32(v)
	}
	return pdu.Float64(v.(float64))
}

// Store converts texts, bytes and durations, and refuses values that do not fit.
func TestStoreOthers(t *testing.T) {
	s := newLoggedSource(false)
	for name, d := range map[string]pdu.Desc{
		"text": {Type: pdu.TypeString}, "data": {Type: pdu.TypeAggregate}, "static": {Type: pdu.TypeAggregateStatic}, "events": {Type: pdu.TypeEvent},
		"msec": {Type: pdu.TypeU32, Units: pdu.TimeMSec}, "hours": {Type: pdu.TypeDouble, Units: pdu.TimeHour}, "per": {Type: pdu.Type64, Units: pdu.PerSec},
		"none": {Type: pdu.Type64},
	} {
		s.add(name, d, nil)
	}
	c := s.src.Context()
	static := pdu.Aggregate([]byte{1})
	static.Type = pdu.TypeAggregateStatic
	for _, tt := range []struct {
		metric string
		v      any
		want   any // an atom or an error
	}{
		{"text", word("hello"), pdu.String("hello")},
		{"text", pdu.String("hello"), pdu.String("hello")},
		{"text", "", pdu.String("")},
		{"text", 5, "from int to type STRING: Unknown or illegal metric type"},
		{"text", []byte("x"), "from []byte to type STRING: Unknown or illegal metric type"},
		{"text", nil, "from nothing to type STRING: Unknown or illegal metric type"},
		{"text", pdu.Int64(5), "from type 64 (int64) to type STRING: Unknown or illegal metric type"},
		{"data", blob{1, 2}, pdu.Aggregate([]byte{1, 2})},
		{"data", static, pdu.Aggregate([]byte{1})},
		{"static", []byte{1}, static},
		{"data", "x", "from string to type AGGREGATE: Unknown or illegal metric type"},
		{"events", []byte{1}, "from []byte to type EVENT: Unknown or illegal metric type"},
		{"msec", 1500 * time.Millisecond, pdu.Uint32(1500)},
		{"msec", 1500, pdu.Uint32(1500)},
		{"msec", 1500 * time.Microsecond, "from time.Duration to type U32 (uint32): Truncation in value conversion"},
		{"msec", -time.Second, "from time.Duration to type U32 (uint32): Negative value in conversion to unsigned"},
		{"msec", 1 << 32 * time.Millisecond, "from time.Duration to type U32 (uint32): Truncation in value conversion"},
		{"hours", 90 * time.Minute, pdu.Float64(1.5)},
		{"none", time.Second, pdu.Int64(1e9)},
		{"per", time.Second, `from time.Duration to type 64 (int64): the metric has units "/ sec", which are not of time, and so no time.Duration: Impossible value or scale conversion`},
		{"per", 5, pdu.Int64(5)},
	} {
		err := c.Store(t.Context(), tt.metric, tt.v)
		if text, ok := tt.want.(string); ok {
			if want := fmt.Sprintf("pmapi: store %q on pmapitest: %s", tt.metric, text); err == nil || err.Error() != want {
				t.Errorf("%v in %s: %v, want %s", tt.v, tt.metric, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%v in %s: %v", tt.v, tt.metric, err)
			continue
		}
		ids, err := c.Lookup(t.Context(), []string{tt.metric})
		if err != nil {
			t.Fatal(err)
		}
		d, err := c.Desc(t.Context(), ids[0])
		if err != nil {
			t.Fatal(err)
		}
		if got := stored(t, c, d); !got.Equal(tt.want.(pdu.Atom)) {
			t.Errorf("%v in %s: stored %v, want %v", tt.v, tt.metric, got, tt.want)
		}
	}
}

// Errors of stores name the metric and the instance.
func TestStoreErrors(t *testing.T) {
	s := newGroupFixture(t, false)
	refused := pdu.Error(0)
	s.src.OnRequest = func(_ context.Context, r pmapitest.Request) error {
		if r.Method == "Store" && refused != 0 {
			return refused
		}
		return nil
	}
	temp := func(v float64, insts ...pdu.InstID) func(w *pdu.ResultWriter) {
		return func(w *pdu.ResultWriter) {
			w.Begin(s.temp.Desc().PMID)
			for _, i := range insts {
				w.Float64(i, v)
			}
		}
	}
	size := func(w *pdu.ResultWriter) { w.Begin(s.size.Desc().PMID); w.Uint64(pdu.NoInst, 1) }
	result := func(add ...func(w *pdu.ResultWriter)) func() error {
		return func() error {
			var w pdu.ResultWriter
			for _, f := range add {
				f(&w)
			}
			r, err := w.Result()
			if err != nil {
				t.Fatal(err)
			}
			return s.c.StoreResult(t.Context(), r)
		}
	}
	store := func(metric string, v any, opts ...pmapi.ItemOption) func() error {
		return func() error { return s.c.Store(t.Context(), metric, v, opts...) }
	}
	sdb := pmapi.Instance("sdb")
	for _, tt := range []struct {
		do      func() error
		refused pdu.Error
		want    string
		code    pdu.Error
	}{
		{store("disk.temp", 7.5, sdb), 0, "", 0},
		{store("size", 7), 0, "", 0},
		{store("disk.temp", 7.5, sdb), pdu.ErrPermission, `store "disk.temp[sdb]" on pmapitest: No permission to perform requested operation`, pdu.ErrPermission},
		{store("size", 7), pdu.ErrBadStore, `store "size" on pmapitest: Bad input to pmstore`, pdu.ErrBadStore},
		{store("disk.temp", 7.5), 0, `store "disk.temp" on pmapitest: the metric has instances: use Instance: Unknown or illegal instance domain identifier`, pdu.ErrInDom},
		{store("size", 7, sdb), 0, `store "size[sdb]" on pmapitest: the metric has no instances: use no Instance: Unknown or illegal instance domain identifier`, pdu.ErrInDom},
		{store("disk.temp", 7, pmapi.Instance("sdz")), 0, `store "disk.temp[sdz]" on pmapitest: Unknown or illegal instance identifier`, pdu.ErrInst},
		{store("disk.temp", 7, pmapi.Instance("")), 0, `store "disk.temp[]" on pmapitest: Unknown or illegal instance identifier`, pdu.ErrInst},
		{store("disk.temp", 7, sdb, pmapi.Scale("%")), 0, `store "disk.temp[sdb]" on pmapitest: stores have no option but Instance: Bad value for function argument`, pdu.ErrArg},
		{store("disk", 7), 0, `store "disk" on pmapitest: Metric name is not a leaf in PMNS`, pdu.ErrNonLeaf},
		{store("nothing", 7), 0, `store "nothing" on pmapitest: Unknown metric name`, pdu.ErrName},
		{result(size), 0, "", 0},
		{result(), 0, `store on pmapitest: Insufficient elements in list`, pdu.ErrTooSmall},
		{result(size), pdu.ErrPermission, `store "400.0.2" on pmapitest: No permission to perform requested operation`, pdu.ErrPermission},
		{result(temp(1, 2)), pdu.ErrPermission, `store "400.0.1[2]" on pmapitest: No permission to perform requested operation`, pdu.ErrPermission},
		{result(temp(1, 0, 2), size), pdu.ErrPermission, `store "400.0.1 and 1 more" on pmapitest: No permission to perform requested operation`, pdu.ErrPermission},
		{result(temp(1)), 0, `store "400.0.1" on pmapitest: Missing metric value(s)`, pdu.ErrValue},
		{result(temp(1, 99)), 0, `store "400.0.1[99]" on pmapitest: Unknown or illegal instance identifier`, pdu.ErrInst},
	} {
		refused = tt.refused
		err := tt.do()
		var text string
		if err != nil {
			text = err.Error()
		}
		if want := tt.want; want != "" {
			want = "pmapi: " + want
			if diff := cmp.Diff(want, text); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		if pdu.FromError(err) != tt.code {
			t.Errorf("%v, want %v", err, tt.code)
		}
	}
	refused = 0
	s.cut()
	if err := s.c.Store(t.Context(), "size", 7); !errors.Is(err, pdu.ErrIPC) {
		t.Error(err)
	}
	g := s.src.Context().Group()
	temps, sizes := pmapi.AddSet[float64](g, "disk.temp"), pmapi.Add[uint64](g, "size", pmapi.Scale("instant"))
	s.fetch(g)
	has(t, temps, "sda=0.5", "sdb solid=7.5", "sdc=2.5")
	is(t, sizes, 1, 0)
}

// Stored values reach a C agent unchanged.
func TestInteropStore(t *testing.T) {
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "sample"}})
	c, err := pmapi.Dial(t.Context(), pmcd.Host())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	g := c.Group()
	for name, v := range map[string]any{
		"sample.long.write_me": int64(-5), "sample.ulong.write_me": int64(1<<32 - 1), "sample.longlong.write_me": int64(-1 << 40), "sample.ulonglong.write_me": uint64(1<<64 - 1),
		"sample.float.write_me": 0.5, "sample.double.write_me": 0.1, "sample.string.write_me": "three words\n",
	} {
		if err := c.Store(t.Context(), name, v); err != nil {
			t.Error(err)
			continue
		}
		ids, err := c.Lookup(t.Context(), []string{name})
		if err != nil {
			t.Fatal(err)
		}
		d, err := c.Desc(t.Context(), ids[0])
		if err != nil {
			t.Fatal(err)
		}
		var got any
		switch a := stored(t, c, d); v.(type) {
		case int64:
			got, _ = pdu.As[int64](a)
		case uint64:
			got, _ = pdu.As[uint64](a)
		case float64:
			got, _ = pdu.As[float64](a)
		case string:
			got, _ = pdu.As[string](a)
		}
		if got != v {
			t.Errorf("%s is %v, want %v", name, got, v)
		}
	}
	for name, want := range map[string]pdu.Error{"sample.long.one": pdu.ErrPermission, "sample.needprofile": pdu.ErrInDom} {
		if err := c.Store(t.Context(), name, 1); pdu.FromError(err) != want {
			t.Errorf("%v, want %v", err, want)
		}
	}
	bins := pmapi.AddSet[int32](g, "sample.bin")
	if err := c.Store(t.Context(), "sample.bin", 7, pmapi.Instance("bin-300")); err != nil {
		t.Error(err)
	}
	if _, err := g.Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v, err := bins.Get("bin-300"); v != 7 || err != nil {
		t.Error(v, err)
	}
}
