package pmda

import (
	"context"
	"errors"
	"math"
	"reflect"

	"github.com/pcp-go/pcp/internal/wire"
	"github.com/pcp-go/pcp/internal/wording"
	"github.com/pcp-go/pcp/pdu"
)

// An EventParam is a parameter of event records: a metric that has values only in events.
// RegisterParam makes one. Of makes a value for EventQueue.Append, and In reads the value from a
// record.
type EventParam[T pdu.Scalar] struct {
	p  *eventParam
	of func(*eventParam, T) EventValue
}

// An eventParam is an EventParam without its type parameter.
type eventParam struct {
	m     *metric
	agent *Agent
	fixed int // the length of the values if they are numbers, or else 0
}

func newEventParam(m *metric, a *Agent) *eventParam {
	p := &eventParam{m: m, agent: a}
	switch m.typ {
	case pdu.Type32, pdu.TypeU32, pdu.TypeFloat:
		p.fixed = 4
	case pdu.Type64, pdu.TypeU64, pdu.TypeDouble:
		p.fixed = 8
	}
	return p
}

func (p *eventParam) pmid() pdu.PMID { return p.m.pmid(p.agent.Domain) }

// RegisterParam registers the metric that describes a parameter of event records: clients look up
// its name, type and units. A fetch returns no value of it. m must have no Value, Values, InDom,
// Group or Store, and its Type must not be that of an event array. RegisterParam returns no error,
// because Agent.Err returns the first one.
func RegisterParam[T pdu.Scalar](a *Agent, m Metric[T]) EventParam[T] {
	var p EventParam[T]
	op := "register event parameter"
	_ = a.register(op, m.Name, func(t *tables) error { // which remembers the error
		if m.Value != nil || m.Values != nil || m.Store != nil || m.InDom != nil || m.Group != nil {
			return errors.New("has values in event records alone: no Value, Values, InDom, Group or Store")
		}
		if m.Type == pdu.TypeEvent || m.Type == pdu.TypeHighResEvent {
			return errors.New("type " + wording.Type(m.Type) + " cannot be a parameter of an event")
		}
		m.Value = noValue[T]
		e, err := newMetric(m)
		if err != nil {
			return err
		}
		if err = t.add(e); err == nil {
			p = EventParam[T]{newEventParam(e, t.agent), paramOf[T]()}
		}
		return err
	})
	return p
}

func noValue[T pdu.Scalar](context.Context, *Request, pdu.Instance) (v T, err error) {
	return v, NoValue
}

// PMID returns the identifier of the parameter's metric, for pdu.EventBuilder. Set the Agent's
// Domain before the call. It is pdu.NoPMID if the registration has failed.
func (p EventParam[T]) PMID() pdu.PMID {
	if p.p == nil {
		return pdu.NoPMID
	}
	return p.p.pmid()
}

// Of returns a value of the parameter for a record. It refers to the caller's []byte until it is
// appended.
func (p EventParam[T]) Of(value T) EventValue {
	if p.of == nil {
		return EventValue{}
	}
	return p.of(p.p, value)
}

// In returns the value of the parameter in a record that a client has fetched, the first if there
// are several. It converts the value to a T with pdu.As. Errors: pdu.ErrValue if the record does
// not have the parameter; those of pdu.As.
func (p EventParam[T]) In(record pdu.EventRecord) (T, error) {
	a, ok := record.Value(p.PMID())
	if !ok || p.p == nil {
		var none T
		return none, pdu.ErrValue
	}
	return pdu.As[T](a)
}

// paramOf makes the function of EventParam.Of. RegisterParam chooses it once, so that Of is cheap
// when no client reads the events.
func paramOf[T pdu.Scalar]() func(*eventParam, T) EventValue {
	var zero T
	var f any
	switch any(zero).(type) {
	case string:
		f = func(p *eventParam, v string) EventValue { return EventValue{p: p, text: v} }
	case []byte:
		f = func(p *eventParam, v []byte) EventValue { return EventValue{p: p, data: v} }
	case uint32:
		f = func(p *eventParam, v uint32) EventValue { return EventValue{p: p, bits: uint64(v)} }
	case int32:
		f = func(p *eventParam, v int32) EventValue { return EventValue{p: p, bits: uint64(v)} }
	case uint64:
		f = func(p *eventParam, v uint64) EventValue { return EventValue{p: p, bits: v} }
	case int64:
		f = func(p *eventParam, v int64) EventValue { return EventValue{p: p, bits: uint64(v)} }
	case float64:
		f = func(p *eventParam, v float64) EventValue { return EventValue{p: p, bits: math.Float64bits(v)} }
	case float32:
		f = func(p *eventParam, v float32) EventValue { return EventValue{p: p, bits: uint64(math.Float32bits(v))} }
	}
	if of, ok := f.(func(*eventParam, T) EventValue); ok {
		return of
	}
	return func(p *eventParam, v T) EventValue {
		e := EventValue{p: p}
		setNamed(&e, v)
		return e
	}
}

// setNamed sets the value of e to a value of a named type.
func setNamed[T pdu.Scalar](e *EventValue, value T) {
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.String:
		e.text = v.String()
	case reflect.Slice:
		e.data = v.Bytes()
	case reflect.Uint32, reflect.Uint64:
		e.bits = v.Uint()
	case reflect.Int32, reflect.Int64:
		e.bits = uint64(v.Int())
	case reflect.Float64:
		e.bits = math.Float64bits(v.Float())
	default:
		e.bits = uint64(math.Float32bits(float32(v.Float())))
	}
}

// An EventValue is the value of a parameter: see EventParam.Of.
type EventValue struct {
	p    *eventParam
	bits uint64 // the value if it is a number
	text string // the value if it is a string
	data []byte // the value if it is a []byte
}

// size returns the number of value bytes.
func (e *EventValue) size() int {
	if e.p.fixed != 0 {
		return e.p.fixed
	}
	return len(e.text) + len(e.data)
}

// paramHead is the length of the PMID, type and length that precede the value bytes of a parameter.
const paramHead = 8

// appendTo appends the parameter in the encoding of a record.
func (e *EventValue) appendTo(b []byte) []byte {
	n := e.size()
	at := len(b)
	b, p := grow(b, paramHead+wire.Pad4(n))
	be.PutUint32(p, uint32(e.p.pmid()))
	be.PutUint32(p[4:], uint32(e.p.m.typ)<<24|uint32(4+n))
	switch p = p[paramHead:]; e.p.fixed {
	case 4:
		be.PutUint32(p, uint32(e.bits))
	case 8:
		be.PutUint64(p, e.bits)
	default:
		b = append(append(b[:at+paramHead], e.text...), e.data...)
		for len(b)&3 != 0 {
			b = append(b, 0)
		}
	}
	return b
}
