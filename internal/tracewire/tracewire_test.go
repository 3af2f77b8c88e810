package tracewire_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/pcp-go/pcp/internal/tracewire"
	"pgregory.net/rapid"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// capturedData are DATA PDUs that the C library has sent.
var capturedData = []struct {
	name, wire string
	want       tracewire.Data
}{
	{"transaction", "0000001c 00007051 00002f62 01030180 3fd001b866e43aa8 7478007e",
		tracewire.Data{From: 0x2f62, Kind: tracewire.KindTransaction, Sync: true, Value: 0.250105, Tag: []byte("tx")}},
	{"asynchronous", "0000001c 00007051 00002f64 01030100 3fd001d19157abb8 7478007e",
		tracewire.Data{From: 0x2f64, Kind: tracewire.KindTransaction, Value: 0.250111, Tag: []byte("tx")}},
	{"point", "0000001c 00007051 00002f62 01030280 bff0000000000000 7074007e",
		tracewire.Data{From: 0x2f62, Kind: tracewire.KindPoint, Sync: true, Value: -1, Tag: []byte("pt")}},
	{"observation", "0000001c 00007051 00002f62 01040380 4045400000000000 6f627300",
		tracewire.Data{From: 0x2f62, Kind: tracewire.KindObservation, Sync: true, Value: 42.5, Tag: []byte("obs")}},
	{"counter", "0000001c 00007051 00002f62 01040480 408f400000000000 63747200",
		tracewire.Data{From: 0x2f62, Kind: tracewire.KindCounter, Sync: true, Value: 1000, Tag: []byte("ctr")}},
}

func TestDataCaptures(t *testing.T) {
	for _, tt := range capturedData {
		t.Run(tt.name, func(t *testing.T) {
			b := unhex(t, tt.wire)
			got, err := tracewire.NewDecoder(bytes.NewReader(b)).Data()
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(got.Value-tt.want.Value) < 1e-6 {
				tt.want.Value = got.Value // the capture's microseconds are rounded
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("decoded (-want +got):\n%s", diff)
			}
			again, err := got.Append(nil)
			if diff := cmp.Diff(b, again); err != nil || diff != "" {
				t.Errorf("encoded: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestAckCaptures(t *testing.T) {
	for _, tt := range []struct {
		wire string
		want tracewire.Ack
	}{
		{"00000010 00007050 00007e48 00000001", tracewire.Ack{From: 0x7e48, Code: tracewire.Version}},
		{"00000010 00007050 00007e48 ffffd116", tracewire.Ack{From: 0x7e48, Code: -12010}},
		{"00000010 00007050 00007e48 ffffd115", tracewire.Ack{From: 0x7e48, Code: -12011}},
	} {
		b := unhex(t, tt.wire)
		got, err := tracewire.NewDecoder(bytes.NewReader(b)).Ack()
		if err != nil || got != tt.want {
			t.Errorf("%s: %+v, %v", tt.wire, got, err)
		}
		if diff := cmp.Diff(b, got.Append(nil)); diff != "" {
			t.Errorf("encoded (-want +got):\n%s", diff)
		}
	}
}

// TestDataLenient is about what the C agent accepts too.
func TestDataLenient(t *testing.T) {
	for _, tt := range []struct{ name, wire, tag string }{
		{"no NUL", "0000001c 00007051 00000000 01030200 0000000000000000 7261777e", "raw"},
		{"bytes after the tag", "00000020 00007051 00000000 01020200 0000000000000000 6100ffff ffffffff", "a"},
		{"no padding", "0000001a 00007051 00000000 01020200 0000000000000000 6100", "a"},
		{"other bits", "0000001c 00007051 00000000 0102027f 0000000000000000 61007e7e", "a"},
		{"NUL alone", "0000001c 00007051 00000000 01010200 0000000000000000 007e7e7e", ""},
	} {
		got, err := tracewire.NewDecoder(bytes.NewReader(unhex(t, tt.wire))).Data()
		if err != nil || string(got.Tag) != tt.tag || got.Sync {
			t.Errorf("%s: %+v, %v", tt.name, got, err)
		}
	}
}

var malformedData = []struct{ name, wire, want string }{
	{"short", "0000000f 00007051 00000000 010202", "length at offset 0: 15 is not in 16..272"},
	{"long", "00000111", "length at offset 0: 273 is not in 16..272"},
	{"negative", "ffffffff", "length at offset 0: 4294967295 is not in 16..272"},
	{"no value", "00000014 00007051 00000000 01020200 00000000", "length at offset 0: 20 is less than 24"},
	{"no tag", "00000018 00007051 00000000 01020200 0000000000000000", "tag at offset 24: needs 2 bytes, 0 left"},
	{"tag cut", "0000001c 00007051 00000000 01050200 0000000000000000 61616161", "tag at offset 24: needs 5 bytes, 4 left"},
	{"tag length", "0000001c 00007051 00000000 01000200 0000000000000000 61616161", "tag length at offset 13: 0 is not in 1..248"},
	{"tag length 249", "0000001c 00007051 00000000 01f90200 0000000000000000 61616161", "tag length at offset 13: 249 is not in 1..248"},
	{"version", "0000001c 00007051 00000000 02020200 0000000000000000 61007e7e", "version at offset 12: 2, want 1"},
	{"kind 0", "0000001c 00007051 00000000 01020000 0000000000000000 61007e7e", "kind at offset 14: 0 is not in 1..4"},
	{"kind 5", "0000001c 00007051 00000000 01020500 0000000000000000 61007e7e", "kind at offset 14: 5 is not in 1..4"},
	{"type", "0000001c 00007052 00000000 01020200 0000000000000000 61007e7e", "type at offset 4: 0x7052, want 0x7051"},
	{"ack", "00000010 00007050 00000000 00000001", "type at offset 4: 0x7050, want 0x7051"},
}

func TestMalformedData(t *testing.T) {
	for _, tt := range malformedData {
		d := tracewire.NewDecoder(bytes.NewReader(unhex(t, tt.wire)))
		_, err := d.Data()
		_, again := d.Data()
		if !errors.Is(err, tracewire.ErrMalformed) || !strings.Contains(err.Error(), tt.want) || again != err {
			t.Errorf("%s: %v, then %v; want %s", tt.name, err, again, tt.want)
		}
		if !d.Buffered() {
			t.Errorf("%s: not Buffered", tt.name)
		}
	}
	for _, wire := range []string{
		"00000014 00007050 00000000 00000001 00000000", // longer than an ACK
		"0000001c 00007051 00000000 01020200 0000000000000000 61007e7e",
	} {
		if a, err := tracewire.NewDecoder(bytes.NewReader(unhex(t, wire))).Ack(); !errors.Is(err, tracewire.ErrMalformed) || a != (tracewire.Ack{}) {
			t.Errorf("%s: %+v, %v", wire, a, err)
		}
	}
}

func TestTagLengths(t *testing.T) {
	for n := range 256 {
		d := tracewire.Data{Kind: tracewire.KindPoint, Value: -1, Tag: bytes.Repeat([]byte("t"), n)}
		b, err := d.Append(nil)
		if n > 247 {
			if err == nil || b != nil {
				t.Errorf("%d bytes: %d encoded, %v", n, len(b), err)
			}
			continue
		}
		got, err := tracewire.NewDecoder(bytes.NewReader(b)).Data()
		if diff := cmp.Diff(d, got); err != nil || diff != "" || len(b)%4 != 0 {
			t.Fatalf("%d bytes: %v (-want +got):\n%s", n, err, diff)
		}
	}
}

// TestDecoderFragments cuts a stream of many PDUs in every way that rapid thinks of.
func TestDecoderFragments(t *testing.T) {
	data := rapid.Custom(func(t *rapid.T) tracewire.Data {
		return tracewire.Data{
			From: rapid.Int32().Draw(t, "from"), Kind: tracewire.Kind(rapid.IntRange(1, 4).Draw(t, "kind")),
			Sync: rapid.Bool().Draw(t, "sync"), Value: rapid.Float64().Draw(t, "value"),
			Tag: []byte(rapid.StringMatching(`[ -~]{0,247}`).Draw(t, "tag")),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(data, 0, 60).Draw(t, "data")
		var b []byte
		for _, d := range want {
			b, _ = d.Append(b)
		}
		size := rapid.IntRange(1, 300).Draw(t, "size")
		r := &cutReader{b: b, size: size}
		d := tracewire.NewDecoder(r)
		for i, w := range want {
			buffered, reads := d.Buffered(), r.reads
			got, err := d.Data()
			if diff := cmp.Diff(w, got); err != nil || diff != "" {
				t.Fatalf("PDU %d: %v (-want +got):\n%s", i, err, diff)
			}
			if (r.reads == reads) != buffered {
				t.Fatalf("PDU %d: Buffered said %v, %d reads", i, buffered, r.reads-reads)
			}
		}
		if _, err := d.Data(); err != io.EOF {
			t.Fatalf("at the end: %v", err)
		}
	})
}

// A cutReader yields size bytes a call.
type cutReader struct {
	b           []byte
	size, reads int
}

func (r *cutReader) Read(p []byte) (int, error) {
	r.reads++
	if len(r.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.b[:min(r.size, len(r.b))])
	r.b = r.b[n:]
	return n, nil
}

func TestDecoderBuffered(t *testing.T) {
	b := unhex(t, capturedData[0].wire)
	r := &cutReader{b: bytes.Repeat(b, 3), size: 3*len(b) - 1}
	d := tracewire.NewDecoder(r)
	for i, want := range []struct {
		buffered bool
		reads    int
	}{{false, 0}, {true, 1}, {false, 1}, {false, 2}} {
		if d.Buffered() != want.buffered || r.reads != want.reads {
			t.Errorf("before PDU %d: %v after %d reads, want %v after %d", i, d.Buffered(), r.reads, want.buffered, want.reads)
		}
		if _, err := d.Data(); (err == nil) != (i < 3) {
			t.Fatalf("PDU %d: %v", i, err)
		}
	}
}

// TestDecoderReaderErrors: an error of the reader loses nothing.
func TestDecoderReaderErrors(t *testing.T) {
	b := unhex(t, capturedData[0].wire)
	d := tracewire.NewDecoder(iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(b))))
	if _, err := d.Data(); err != iotest.ErrTimeout {
		t.Fatalf("%v", err)
	}
	if got, err := d.Data(); err != nil || string(got.Tag) != "tx" {
		t.Errorf("after a time-out: %+v, %v", got, err)
	}
	if _, err := tracewire.NewDecoder(bytes.NewReader(b[:20])).Data(); err != io.ErrUnexpectedEOF {
		t.Errorf("end within a PDU: %v", err)
	}
}

func TestDecoderAllocates(t *testing.T) {
	d := tracewire.NewDecoder(&endless{b: unhex(t, capturedData[0].wire)})
	if n := testing.AllocsPerRun(1000, func() {
		if _, err := d.Data(); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a PDU", n)
	}
}

// An endless reader repeats b.
type endless struct {
	b []byte
	i int
}

func (r *endless) Read(p []byte) (int, error) {
	for n := range p {
		p[n] = r.b[r.i]
		r.i = (r.i + 1) % len(r.b)
	}
	return len(p), nil
}

func FuzzTrace(f *testing.F) {
	var all []byte
	for _, tt := range capturedData {
		f.Add(unhex(f, tt.wire), uint8(255))
		all = append(all, unhex(f, tt.wire)...)
	}
	f.Add(all, uint8(5))
	for _, tt := range malformedData {
		f.Add(append(unhex(f, capturedData[0].wire), unhex(f, tt.wire)...), uint8(7))
	}
	f.Add(unhex(f, "00000010 00007050 00007e48 ffffd116"), uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, size uint8) {
		whole, wholeErr := decodeAll(bytes.NewReader(b))
		cut, cutErr := decodeAll(&cutReader{b: b, size: int(size) + 1})
		if diff := cmp.Diff(whole, cut); diff != "" || wholeErr.Error() != cutErr.Error() {
			t.Fatalf("%v, in pieces of %d %v (-whole +pieces):\n%s", wholeErr, int(size)+1, cutErr, diff)
		}
		again, err := decodeAll(bytes.NewReader(whole))
		if diff := cmp.Diff(whole, again); diff != "" || err != io.EOF {
			t.Fatalf("decoded and encoded: %v (-want +got):\n%s", err, diff)
		}
		if a, err := tracewire.NewDecoder(bytes.NewReader(b)).Ack(); err == nil && !bytes.Equal(a.Append(nil), b[:16]) {
			t.Fatalf("%x decodes to %+v", b[:16], a)
		}
	})
}

// decodeAll decodes the Data in r and encodes them again.
func decodeAll(r io.Reader) (all []byte, err error) {
	d := tracewire.NewDecoder(r)
	for {
		data, err := d.Data()
		if err != nil {
			return all, err
		}
		if data.Kind < 1 || data.Kind > 4 || len(data.Tag) > 248 {
			return nil, errors.New("impossible " + data.Kind.String())
		}
		if b, err := data.Append(all); err == nil {
			all = b // a tag of 248 bytes without its NUL has no place for one
		}
	}
}
