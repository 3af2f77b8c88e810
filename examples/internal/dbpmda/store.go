package dbpmda

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"syscall"

	"github.com/pcp-go/pcp/pdu"
)

// store stores a value into all selected instances of a metric.
func (d *debugger) store(id pdu.PMID, value string) {
	if !d.connected() {
		return
	}
	d.printf("PMID: %v\n", id)
	d.timed(func() outcome { return d.storeValue(id, value) })
}

func (d *debugger) storeValue(id pdu.PMID, value string) outcome {
	d.printf("Getting description...\n")
	desc, o := d.descriptor(id)
	if o == failed {
		return o
	}
	if d.selected {
		d.printf("Sending Profile...\n")
	}
	if o := d.sendProfile(); o != answered {
		return o
	}
	d.printf("Getting Result Structure...\n")
	if o == noAnswer {
		desc.PMID = id
	}
	var r rawResult
	if o := d.ask(storedRequest, pdu.Fetch{PMIDs: []pdu.PMID{desc.PMID}}, &r); o != answered {
		return o
	}
	w, err := d.replaceValues(&r, id, desc, value)
	if err != nil {
		d.printf("Error: %v\n", err)
		return failed
	}
	if !d.agent.dso {
		d.printf("Sending Result...\n")
	}
	var none pdu.Status
	return d.ask(storeRequest, w.PDU(pdu.FormatLowRes), &none)
}

// replaceValues makes the request that replaces the values in r by value, and prints both. The
// request is for the metric id. desc and r may be of another metric if an agent ignores the domain.
func (d *debugger) replaceValues(r *rawResult, id pdu.PMID, desc pdu.Desc, value string) (*pdu.ResultWriter, error) {
	if r.Len() != 1 {
		return nil, pdu.ErrIPC
	}
	s := r.At(0)
	if !storable(desc.Type) {
		return nil, fmt.Errorf("dbpmda does not support storing into %s metrics", typeName(desc.Type))
	}
	atom, err := parseValue(value, desc.Type)
	switch {
	case err != nil:
		return nil, err
	case s.Err() != nil:
		return nil, fmt.Errorf("%v: %w", id, s.Err())
	case s.Len() == 0:
		return nil, complaint(fmt.Sprintf("%v not available!", id))
	}
	var w pdu.ResultWriter
	w.Begin(s.PMID)
	for i := range s.Len() {
		d.printf("%v", id)
		if s.Len() > 1 {
			d.printf(" [%d]", i)
		}
		old := appendValue(nil, s, i, r.forms[0], desc.Type)
		d.printf(": %s -> %s\n", old, pdu.ValueFormat{}.Format(atom))
		w.Atom(s.Inst(i), atom)
	}
	return &w, w.Err()
}

func storable(t pdu.Type) bool {
	switch t {
	case pdu.Type32, pdu.TypeU32, pdu.Type64, pdu.TypeU64, pdu.TypeFloat, pdu.TypeDouble, pdu.TypeString:
		return true
	}
	return false
}

// typeName returns the name of a type in messages.
func typeName(t pdu.Type) string {
	switch t {
	case pdu.TypeNoSupport:
		return "NO_SUPPORT"
	case pdu.TypeAggregate, pdu.TypeAggregateStatic, pdu.TypeEvent, pdu.TypeHighResEvent:
		return t.String()
	}
	return "UNKNOWN"
}

// parseValue parses a value of a type. Integers are decimal, and their low bits count if they have
// more bits than the type. Blanks may precede a number.
func parseValue(text string, t pdu.Type) (pdu.Atom, error) {
	if t == pdu.TypeString {
		return pdu.String(text), nil
	}
	trimmed := strings.TrimLeft(text, " \t\n\v\f\r")
	var atom pdu.Atom
	var err error
	switch t {
	case pdu.Type32, pdu.Type64:
		var v int64
		v, err = strconv.ParseInt(trimmed, 10, 64)
		atom = pdu.Int64(v)
		if t == pdu.Type32 {
			atom = pdu.Int32(int32(v))
		}
	case pdu.TypeU32, pdu.TypeU64:
		var v uint64
		v, err = parseUnsigned(trimmed)
		atom = pdu.Uint64(v)
		if t == pdu.TypeU32 {
			atom = pdu.Uint32(uint32(v))
		}
	default:
		atom, err = parseReal(text, t)
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		return atom, complaint(fmt.Sprintf("Decoding value: %v", pdu.FromError(syscall.ERANGE)))
	case err != nil:
		return atom, complaint(fmt.Sprintf("Value \"%s\" is incompatible with metric type (PM_TYPE_%v)", text, t))
	}
	return atom, nil
}

// parseUnsigned parses a 64-bit number. A minus sign yields its two's complement.
func parseUnsigned(text string) (uint64, error) {
	digits, minus := strings.CutPrefix(text, "-")
	if !minus {
		digits = strings.TrimPrefix(text, "+")
	}
	v, err := strconv.ParseUint(digits, 10, 64)
	if minus {
		v = -v
	}
	return v, err
}

// parseReal parses a float or a double. Numbers too small for full precision are out of range.
func parseReal(text string, t pdu.Type) (pdu.Atom, error) {
	if digits := strings.ToLower(strings.TrimLeft(text, " \t\n\v\f\r+-")); strings.HasPrefix(digits, "0x") && !strings.Contains(digits, "p") {
		text += "p0" // a hexadecimal integer
	}
	atom, err := pdu.ParseAtom(text, pdu.TypeDouble)
	v, _ := pdu.As[float64](atom)
	switch {
	case errors.Is(err, pdu.ErrTrunc):
		return atom, strconv.ErrRange
	case err != nil || t == pdu.TypeDouble:
		return atom, err
	}
	f := float32(v)
	if math.IsInf(float64(f), 0) != math.IsInf(v, 0) || v != 0 && math.Abs(v) < 0x1p-126 {
		return atom, strconv.ErrRange
	}
	return pdu.Float32(f), nil
}
