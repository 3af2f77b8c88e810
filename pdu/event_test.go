package pdu

import (
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// An event is a record with its parameters in hand.
type event struct {
	Time   time.Time
	Flags  EventFlags
	Missed int
	IDs    []PMID
	Values []Atom
}

func events(t rapid.TB, a Atom) []event {
	t.Helper()
	e, err := a.Events()
	if err != nil {
		t.Fatal(err)
	}
	var all []event
	for r := range e.All() {
		v := event{Time: r.Time, Flags: r.Flags, Missed: r.Missed}
		for id, a := range r.Params() {
			v.IDs, v.Values = append(v.IDs, id), append(v.Values, a)
		}
		if len(v.IDs) != r.NumParams() {
			t.Fatalf("%d of %d parameters", len(v.IDs), r.NumParams())
		}
		all = append(all, v)
	}
	if len(all) != e.Len() {
		t.Fatalf("%d of %d records", len(all), e.Len())
	}
	return all
}

// fill builds an array from records.
func fill(b *EventBuilder, all []event) {
	for _, v := range all {
		if v.Flags == EventMissed {
			b.Missed(v.Time, v.Missed)
			continue
		}
		b.Begin(v.Time, v.Flags)
		for i, id := range v.IDs {
			b.Param(id, v.Values[i])
		}
	}
}

func TestEventArray(t *testing.T) {
	at := time.Unix(1795238032, 877355451)
	id := MakePMID(29, 0, 127)
	in := []event{
		{Time: at, Flags: EventPoint | EventID, IDs: []PMID{id, id, id}, Values: []Atom{Uint32(7), String("fetch #2"), Float64(-2.5)}},
		{Flags: EventMissed, Missed: 3},
		{Time: at, Values: nil},
		{Time: at, Flags: EventStart, IDs: []PMID{id, id}, Values: []Atom{Aggregate([]byte{1, 2, 3, 4, 5}), Int64(-1)}},
	}
	for _, highRes := range []bool{false, true} {
		b := EventBuilder{HighRes: highRes}
		fill(&b, in)
		a, err := b.Atom()
		if err != nil {
			t.Fatal(err)
		}
		want := slices.Clone(in)
		if !highRes {
			for i := range want {
				want[i].Time = want[i].Time.Truncate(time.Microsecond)
			}
		}
		if diff := cmp.Diff(want, events(t, a)); diff != "" {
			t.Errorf("high resolution %v (-want +got)\n%s", highRes, diff)
		}
		if b.Len() != 4 || b.Err() != nil {
			t.Errorf("%d records, %v", b.Len(), b.Err())
		}
	}
}

// TestEventCapture reads an array that the C library's sample agent made; the
// padding is what happened to be there.
func TestEventCapture(t *testing.T) {
	data, err := hex.DecodeString("00000002" +
		"6b0129b900021d750000000100000001" + "074000860600000c6665746368202330" +
		"6b0129b900021d750000000100000001" + "074000860600000a62696e676f213a2f")
	if err != nil {
		t.Fatal(err)
	}
	at, id := time.Unix(0x6b0129b9, 0x21d75*1000), MakePMID(29, 0, 134)
	want := []event{
		{Time: at, Flags: EventPoint, IDs: []PMID{id}, Values: []Atom{String("fetch #0")}},
		{Time: at, Flags: EventPoint, IDs: []PMID{id}, Values: []Atom{String("bingo!")}},
	}
	if diff := cmp.Diff(want, events(t, Atom{Type: TypeEvent, data: data})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestEventLayout holds the bytes to the layout, not to our reader.
func TestEventLayout(t *testing.T) {
	var b EventBuilder
	b.Begin(time.Unix(0x65000001, 2000), EventPoint)
	b.Param(0x07400001, String("abcde"))
	b.Missed(time.Unix(0x65000002, 0), 9)
	a, err := b.Atom()
	if err != nil {
		t.Fatal(err)
	}
	want := "\x00\x00\x00\x02" +
		"\x65\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x01" +
		"\x07\x40\x00\x01\x06\x00\x00\x09abcde\x00\x00\x00" +
		"\x65\x00\x00\x02\x00\x00\x00\x00\x80\x00\x00\x00\x00\x00\x00\x09"
	if diff := cmp.Diff(want, string(a.Bytes())); diff != "" || a.Type != TypeEvent {
		t.Errorf("type %v (-want +got)\n%s", a.Type, diff)
	}
	var empty EventBuilder
	if a, err := empty.Atom(); err != nil || string(a.Bytes()) != "\x00\x00\x00\x00" || len(events(t, a)) != 0 {
		t.Errorf("no records: %v, %v", a, err)
	}
}

func TestEventArrayErrors(t *testing.T) {
	const head = "\x00\x00\x00\x01"
	const stamp = "\x00\x00\x00\x01\x00\x00\x00\x00"
	const point = "\x00\x00\x00\x01"
	for _, tt := range []struct {
		name, data string
		want       Error
		text       string
	}{
		{"no count", "\x00\x00", ErrIPC, "event array: nrecords at offset 4: needs 4 bytes, 2 left: IPC protocol failure"},
		{"negative count", "\xff\xff\xff\xff", ErrIPC, "event array: nrecords at offset 4: negative count -1: IPC protocol failure"},
		{"count too high", "\x00\x00\x00\x02" + stamp + point + "\x00\x00\x00\x00", ErrIPC, "event array: nrecords at offset 4: 2 elements of at least 16 bytes in 16 bytes: IPC protocol failure"},
		{"trailing", head + stamp + point + "\x00\x00\x00\x00" + "x", ErrIPC, "event array: end at offset 24: 1 trailing bytes: IPC protocol failure"},
		{"parameters missing", head + stamp + point + "\x00\x00\x00\x01", ErrIPC, "event record 0: nparams at offset 20: 1 elements of at least 8 bytes in 0 bytes: IPC protocol failure"},
		{"negative parameters", head + stamp + point + "\xff\xff\xff\xff", ErrIPC, "event record 0: nparams at offset 20: negative count -1: IPC protocol failure"},
		{"short length", head + stamp + point + "\x00\x00\x00\x01" + "\x07\x40\x00\x01\x06\x00\x00\x03", ErrIPC, "event record 0: value at offset 32: negative length -1: IPC protocol failure"},
		{"value beyond", head + stamp + point + "\x00\x00\x00\x01" + "\x07\x40\x00\x01\x06\x00\x00\x09abcd", ErrIPC, "event record 0: value at offset 32: needs 5 bytes, 4 left: IPC protocol failure"},
		{"no padding", head + stamp + point + "\x00\x00\x00\x01" + "\x07\x40\x00\x01\x06\x00\x00\x09abcde", ErrIPC, "event record 0: value at offset 37: needs 3 bytes, 0 left: IPC protocol failure"},
		{"number cut", head + stamp + point + "\x00\x00\x00\x01" + "\x07\x40\x00\x01\x03\x00\x00\x08abcd", ErrIPC, "event record 0: parameter 0: value of type U64: 4 bytes, want 8: IPC protocol failure"},
		{"nested", head + stamp + point + "\x00\x00\x00\x01" + "\x07\x40\x00\x01\x09\x00\x00\x08\x00\x00\x00\x00", ErrType, "event record 0: parameter 0: type EVENT: Unknown or illegal metric type"},
		{"unknown type", head + stamp + point + "\x00\x00\x00\x01" + "\x07\x40\x00\x01\xff\x00\x00\x04", ErrType, "event record 0: parameter 0: type UNKNOWN: Unknown or illegal metric type"},
		{"missed and more", head + stamp + "\x80\x00\x00\x01" + "\x00\x00\x00\x01", ErrConv, "event record 0: flags 0x80000001: missed events beside other flags: Impossible value or scale conversion"},
		{"negative missed", head + stamp + "\x80\x00\x00\x00" + "\xff\xff\xff\xff", ErrIPC, "event record 0: missed events at offset 20: negative: IPC protocol failure"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, err := Atom{Type: TypeEvent, data: []byte(tt.data)}.Events()
			if !errors.Is(err, tt.want) || err.Error() != tt.text {
				t.Errorf("got %v", err)
			}
			if e.Len() != 0 {
				t.Errorf("%d records", e.Len())
			}
		})
	}
	if _, err := Int32(1).Events(); err != ErrType {
		t.Errorf("a number: %v", err)
	}
}

func TestEventBuilderErrors(t *testing.T) {
	now := time.Unix(1, 0)
	beyond := int64(math.MaxInt32) + 1 // below zero as an int of 32 bits
	for _, tt := range []struct {
		name string
		do   func(*EventBuilder)
		want Error
	}{
		{"parameter without record", func(b *EventBuilder) { b.Param(1, Int32(1)) }, ErrArg},
		{"parameter of missed", func(b *EventBuilder) { b.Missed(now, 1); b.Param(1, Int32(1)) }, ErrArg},
		{"nested", func(b *EventBuilder) { b.Begin(now, 0); b.Param(1, Atom{Type: TypeEvent}) }, ErrType},
		{"no support", func(b *EventBuilder) { b.Begin(now, 0); b.Param(1, Atom{Type: TypeNoSupport}) }, ErrType},
		{"missed flag", func(b *EventBuilder) { b.Begin(now, EventMissed) }, ErrConv},
		{"negative missed", func(b *EventBuilder) { b.Missed(now, -1) }, ErrTooBig},
		{"many missed", func(b *EventBuilder) { b.Missed(now, int(beyond)) }, ErrTooBig},
		{"late", func(b *EventBuilder) { b.Begin(time.Unix(beyond, 0), 0) }, ErrTooBig},
		{"large", func(b *EventBuilder) { b.Begin(now, 0); b.Param(1, Aggregate(make([]byte, maxBlockLen))) }, ErrTooBig},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b EventBuilder
			tt.do(&b)
			b.Begin(now, EventPoint) // a failure sticks
			if _, err := b.Atom(); !errors.Is(err, tt.want) || !errors.Is(b.Err(), tt.want) {
				t.Errorf("got %v", err)
			}
			b.Reset()
			b.Begin(now, EventPoint)
			if a, err := b.Atom(); err != nil || len(events(t, a)) != 1 {
				t.Errorf("after Reset: %v, %v", a, err)
			}
		})
	}
	late := EventBuilder{HighRes: true}
	late.Begin(time.Unix(1<<40, 5), 0)
	if a, err := late.Atom(); err != nil || events(t, a)[0].Time.Unix() != 1<<40 {
		t.Errorf("high resolution: %v", err)
	}
}

func TestEventRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := EventBuilder{HighRes: rapid.Bool().Draw(t, "high resolution")}
		var want []event
		for range rapid.IntRange(0, 5).Draw(t, "records") {
			v := event{Time: time.Unix(rapid.Int64Range(1, math.MaxInt32).Draw(t, "sec"), rapid.Int64Range(0, 999999).Draw(t, "usec")*1000)}
			if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
				v.Flags, v.Missed = EventMissed, rapid.IntRange(0, math.MaxInt32).Draw(t, "missed")
			} else {
				v.Flags = EventFlags(rapid.Uint32Range(0, 1<<31-1).Draw(t, "flags"))
				for range rapid.IntRange(0, 4).Draw(t, "parameters") {
					v.IDs, v.Values = append(v.IDs, PMID(rapid.Uint32().Draw(t, "PMID"))), append(v.Values, drawAtom(t))
				}
			}
			want = append(want, v)
		}
		fill(&b, want)
		a, err := b.Atom()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, events(t, a)); diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
		if len(a.data)%4 != 0 {
			t.Fatalf("%d bytes", len(a.data))
		}
		checkEarlyStop(t, a)
		// No beginning of an array is an array.
		if n := rapid.IntRange(0, len(a.data)-1).Draw(t, "cut"); n < len(a.data) {
			if _, err := (Atom{Type: a.Type, data: a.data[:n]}).Events(); err == nil {
				t.Fatalf("%d of %d bytes pass", n, len(a.data))
			}
		}
	})
}

// checkEarlyStop leaves both iterators before their end.
func checkEarlyStop(t rapid.TB, a Atom) {
	e, err := a.Events()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for r := range e.All() {
		for range r.Params() {
			n++
			break
		}
		break
	}
	if n > 1 {
		t.Fatalf("%d parameters", n)
	}
}

func TestEventAllocates(t *testing.T) {
	b := EventBuilder{}
	now := time.Now()
	text, blob := String("some text"), Aggregate([]byte{1, 2, 3})
	n := testing.AllocsPerRun(100, func() {
		b.Reset()
		for range 10 {
			b.Begin(now, EventPoint)
			b.Param(1, Uint64(1))
			b.Param(2, text)
			b.Param(3, blob)
		}
		a, err := b.Atom()
		if err != nil {
			t.Fatal(err)
		}
		e, err := a.Events()
		if err != nil {
			t.Fatal(err)
		}
		params := 0
		for r := range e.All() {
			for range r.Params() {
				params++
			}
		}
		if params != 30 {
			t.Fatalf("%d parameters", params)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkEventArray(b *testing.B) {
	b.ReportAllocs()
	var e EventBuilder
	for range 100 {
		e.Begin(time.Unix(1, 0), EventPoint)
		e.Param(1, Uint64(1))
		e.Param(2, String("some text"))
	}
	a, err := e.Atom()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(a.Bytes())))
	for b.Loop() {
		v, err := a.Events()
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for r := range v.All() {
			n += r.NumParams()
		}
		if n != 200 {
			b.Fatal(n)
		}
	}
}
