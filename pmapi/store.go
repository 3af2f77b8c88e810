package pmapi

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/pcp-go/pcp/internal/wording"
	"github.com/pcp-go/pcp/pdu"
)

// Store sets the value of a singular metric, or of the instance that the option Instance selects.
// It takes no other option.
//
//	err := c.Store(ctx, "cache.limit", 500)
//	err := c.Store(ctx, "shop.open", 0, pmapi.Instance("south door"))
//
// value has one of these Go types, or a type defined as one. It is converted to the type of the
// metric:
//
//	any integer        the same number, for a metric of any numeric type
//	float32, float64   the nearest floating point number, or exactly the same integer
//	string             the string, for a metric of strings
//	[]byte             the bytes, for a metric of type AGGREGATE
//	time.Duration      for a metric in units of time, the number of these units, as above;
//	                   for a metric without units, the nanoseconds
//	pdu.Atom           as the Go value that it holds
//
// Errors: pdu.ErrType, with both types, for what is not in this table; pdu.ErrConv for a
// time.Duration and a metric in other units; pdu.ErrSign for a number
// below 0 and an unsigned type; pdu.ErrTrunc for one that the type cannot hold; pdu.ErrName;
// pdu.ErrInDom for a missing Instance option or for one of a singular metric; pdu.ErrInst;
// pdu.ErrArg for another option; and those of StoreResult. They name the metric and the instance.
//
// The name, the descriptor and the instance are looked up each time; to store many values often,
// use StoreResult.
func (c *Context) Store(ctx context.Context, metric string, value any, opts ...ItemOption) error {
	var o itemOptions
	for _, option := range opts {
		option(&o)
	}
	about := metric
	if o.hasInstance {
		about += "[" + o.instance + "]"
	}
	if o != (itemOptions{instance: o.instance, hasInstance: o.hasInstance}) {
		return c.fail("store", about, fmt.Errorf("stores have no option but Instance: %w", pdu.ErrArg))
	}
	d, inst, err := c.findStored(ctx, metric, &o)
	if err != nil {
		return c.fail("store", about, err)
	}
	a, err := storedAtom(value, d)
	if err != nil {
		return c.fail("store", about, err)
	}
	var w pdu.ResultWriter
	w.Begin(d.PMID)
	w.Atom(inst, a)
	r, err := w.Result()
	if err == nil {
		err = c.store(ctx, r)
	}
	return c.fail("store", about, err)
}

// findStored finds the metric and the instance of a value to store.
func (c *Context) findStored(ctx context.Context, metric string, o *itemOptions) (pdu.Desc, pdu.InstID, error) {
	var d pdu.Desc
	inst := pdu.NoInst
	err := c.inTurn(ctx, func() error {
		ids, errs, err := c.src.Lookup(ctx, []string{metric})
		if err == nil {
			err = errs.At(0)
		}
		if err != nil {
			return err
		}
		descs, errs, err := c.src.Descs(ctx, ids)
		if err == nil {
			err = errs.At(0)
		}
		if err != nil {
			return err
		}
		d = descs[0]
		if err := checkInstance(o.hasInstance, d.InDom != pdu.NoInDom, "use Instance"); err != nil || d.InDom == pdu.NoInDom {
			return err
		}
		if o.instance == "" {
			return pdu.ErrInst // the request would be for all
		}
		list, err := c.src.Instances(ctx, pdu.InstanceReq{InDom: d.InDom, Inst: pdu.NoInst, Name: o.instance})
		if err == nil {
			inst = list[0].ID
		}
		return err
	})
	return d, inst, err
}

// MaxStore is the Limit, in bytes, of a pdu.ResultWriter that makes the Result of a StoreResult.
// The C pmcd closes the connection of a client whose request exceeds 64 KiB.
const MaxStore = 64<<10 - 1<<10

// StoreResult sets the values of metrics, all in one request. A pdu.ResultWriter makes the Result,
// with values of the types that the metrics have, and with MaxStore as its Limit if there may be
// many. It is not atomic: when one agent fails, others may have stored their values.
//
// Errors: pdu.ErrTooSmall without metrics, pdu.ErrValue for a metric without a value,
// pdu.ErrPermission, pdu.ErrBadStore, or another code of an agent that has failed. They name
// the first metric, and how many others there are. The counterpart of pmStore(3).
func (c *Context) StoreResult(ctx context.Context, r *pdu.Result) error {
	err := c.store(ctx, r)
	if err == nil {
		return nil
	}
	return c.fail("store", labelOfStore(r), err)
}

func (c *Context) store(ctx context.Context, r *pdu.Result) error {
	if r.Len() == 0 {
		return pdu.ErrTooSmall
	}
	for _, s := range r.All() {
		if s.Len() == 0 {
			return pdu.ErrValue
		}
	}
	return c.inTurn(ctx, func() error { return c.src.Store(ctx, r) })
}

// labelOfStore names the metrics of r in errors.
func labelOfStore(r *pdu.Result) string {
	if r.Len() == 0 {
		return ""
	}
	first := r.At(0)
	label := first.PMID.String()
	if first.Len() == 1 && first.Inst(0) != pdu.NoInst {
		label = fmt.Sprintf("%v[%d]", first.PMID, first.Inst(0))
	}
	if n := r.Len() - 1; n > 0 {
		label += fmt.Sprintf(" and %d more", n)
	}
	return label
}

// storedAtom returns a Go value as a value of a metric.
func storedAtom(value any, d pdu.Desc) (pdu.Atom, error) {
	a, err := convertStored(value, d)
	if err != nil {
		from := "nothing"
		switch v := value.(type) {
		case nil:
		case pdu.Atom:
			from = "type " + wording.Type(v.Type)
		default:
			from = goName(reflect.TypeOf(value))
		}
		return pdu.Atom{}, fmt.Errorf("from %s to type %s: %w", from, wording.Type(d.Type), err)
	}
	return a, nil
}

func convertStored(value any, d pdu.Desc) (pdu.Atom, error) {
	switch v := value.(type) {
	case pdu.Atom:
		return convertStoredAtom(v, d.Type)
	case time.Duration:
		switch {
		case isTime(d.Units):
			return storedDuration(v, d)
		case d.Units != pdu.NoUnits:
			return pdu.Atom{}, errNoTime(d.Units)
		}
	}
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return convertStoredAtom(pdu.Int64(v.Int()), d.Type)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return convertStoredAtom(pdu.Uint64(v.Uint()), d.Type)
	case reflect.Float32, reflect.Float64:
		return convertStoredAtom(pdu.Float64(v.Float()), d.Type)
	case reflect.String:
		return convertStoredAtom(pdu.String(v.String()), d.Type)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return convertStoredAtom(pdu.Aggregate(v.Bytes()), d.Type)
		}
	}
	return pdu.Atom{}, pdu.ErrType
}

// convertStoredAtom converts a value to a type, if the type can hold it exactly. Only floating
// point numbers may lose digits. In contrast, pdu.As also drops fractions and high bits.
func convertStoredAtom(a pdu.Atom, to pdu.Type) (pdu.Atom, error) {
	switch {
	case a.Type == pdu.TypeString && to == pdu.TypeString:
		return a, nil
	case isAggregate(a.Type) && isAggregate(to):
		a.Type = to
		return a, nil
	case a.Type < 0 || a.Type > pdu.TypeDouble || to < 0 || to > pdu.TypeDouble:
		return pdu.Atom{}, pdu.ErrType
	case a.Type != pdu.TypeFloat && a.Type != pdu.TypeDouble:
		if v, err := pdu.As[int64](a); err == nil && v < 0 {
			return storedInteger(true, -uint64(v), to)
		}
		v, err := pdu.As[uint64](a)
		if err != nil {
			return pdu.Atom{}, err
		}
		return storedInteger(false, v, to)
	}
	v, err := pdu.As[float64](a)
	if err != nil {
		return pdu.Atom{}, err
	}
	return storedFloat(v, to)
}

func isAggregate(t pdu.Type) bool { return t == pdu.TypeAggregate || t == pdu.TypeAggregateStatic }

// storedFloat returns a floating point number as a number of a type.
func storedFloat(v float64, to pdu.Type) (pdu.Atom, error) {
	switch {
	case to == pdu.TypeDouble:
		return pdu.Float64(v), nil
	case to == pdu.TypeFloat && math.IsInf(float64(float32(v)), 0) && !math.IsInf(v, 0):
		return pdu.Atom{}, pdu.ErrTrunc
	case to == pdu.TypeFloat:
		return pdu.Float32(float32(v)), nil
	case v != math.Trunc(v) || math.Abs(v) >= 1<<64: // NaN too
		return pdu.Atom{}, pdu.ErrTrunc
	}
	return storedInteger(v < 0, uint64(math.Abs(v)), to)
}

// storedInteger returns an integer as a number of a type. size is its absolute value.
func storedInteger(negative bool, size uint64, to pdu.Type) (pdu.Atom, error) {
	v := int64(size)
	if negative {
		v = -v
	}
	switch {
	case to == pdu.TypeFloat || to == pdu.TypeDouble:
		f := float64(size)
		if to == pdu.TypeFloat {
			f = float64(float32(size))
		}
		if f >= 1<<64 || uint64(f) != size {
			return pdu.Atom{}, pdu.ErrTrunc
		}
		if negative {
			f = -f
		}
		return storedFloat(f, to)
	case negative && (to == pdu.TypeU32 || to == pdu.TypeU64):
		return pdu.Atom{}, pdu.ErrSign
	case to == pdu.TypeU64:
		return pdu.Uint64(size), nil
	case to == pdu.TypeU32 && size <= math.MaxUint32:
		return pdu.Uint32(uint32(size)), nil
	case to == pdu.Type64 && v < 0 == negative:
		return pdu.Int64(v), nil
	case to == pdu.Type32 && v < 0 == negative && v == int64(int32(v)):
		return pdu.Int32(int32(v)), nil
	}
	return pdu.Atom{}, pdu.ErrTrunc
}

// storedDuration returns a duration in the units of a metric.
func storedDuration(v time.Duration, d pdu.Desc) (pdu.Atom, error) {
	unit, err := durationOf(d.Units, false)
	if err != nil {
		return pdu.Atom{}, err
	}
	if d.Type == pdu.TypeFloat || d.Type == pdu.TypeDouble {
		return storedFloat(float64(v)/float64(unit.nanos), d.Type)
	}
	if int64(v)%unit.nanos != 0 {
		return pdu.Atom{}, pdu.ErrTrunc
	}
	return convertStoredAtom(pdu.Int64(int64(v)/unit.nanos), d.Type)
}
