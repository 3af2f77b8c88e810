package pdu_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// archiveRecord is a record of a version 3 archive by pmlogger of PCP 6.0.3, without the words of
// its length.
const archiveRecord = `
	6b012890 00000000 3577b3a4 00000004
	0f003000 00000001 00000001 ffffffff 0000001f
	0f000800 00000003 00000001 00000001 00000024 00000005 00000026 0000000f 00000028
	0f000014 00000001 00000001 ffffffff 0000002a
	00800017 00000001 00000001 ffffffff 0000002d
	06000014 362e3138 2e34342d 66632d76 35393500
	04000008 40451eb8 04000008 3f90a3d7 04000008 3eeb851f
	0300000c 00000000 0001b904 0300000c 00000000 00001feb`

func TestArchiveRecord(t *testing.T) {
	body, err := hex.DecodeString(strings.NewReplacer("\n", "", "\t", "", " ", "").Replace(archiveRecord))
	if err != nil {
		t.Fatal(err)
	}
	r := pdu.Result{Format: pdu.FormatArchive}
	if err := r.Decode(body); err != nil {
		t.Fatal(err)
	}
	if want := time.Unix(0x6b012890, 0x3577b3a4); !r.Time.Equal(want) {
		t.Errorf("time %v, want %v", r.Time, want)
	}
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	if v, err := pdu.As[string](r.At(0).Atom(0, pdu.TypeString)); v != "6.18.44-fc-v595" || err != nil {
		t.Errorf("first value %q, %v", v, err)
	}
	if v, err := pdu.As[uint64](r.At(3).Atom(0, pdu.TypeU64)); v != 8171 || err != nil {
		t.Errorf("last value %d, %v", v, err)
	}
	out, err := r.Append(make([]byte, pdu.HeaderLen))
	if err != nil || !bytes.Equal(out[pdu.HeaderLen:], body) {
		t.Errorf("written: %x, %v", out[pdu.HeaderLen:], err)
	}
	// Seconds beyond 32 bits.
	w := pdu.ResultWriter{Time: time.Unix(5<<32+7, 9)}
	out, err = w.Append(make([]byte, pdu.HeaderLen), pdu.FormatArchive)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Decode(out[pdu.HeaderLen:]); err != nil || !r.Time.Equal(w.Time) {
		t.Errorf("time %v, %v, want %v", r.Time, err, w.Time)
	}
	for i := range body {
		if err := r.DecodeValid(body[:i]); !errors.Is(err, pdu.ErrIPC) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
}

// TestValidateOrder: blocks in another order than the values, and with gaps, are reported or
// accepted as before.
func TestValidateOrder(t *testing.T) {
	valid := func(change func(body []byte)) bool {
		var w pdu.ResultWriter
		w.Begin(1)
		w.Uint64(1, 10)
		w.Uint64(2, 20)
		out, err := w.Append(make([]byte, pdu.HeaderLen), pdu.FormatHighRes)
		if err != nil {
			t.Fatal(err)
		}
		body := out[pdu.HeaderLen:]
		change(body)
		r := pdu.Result{Format: pdu.FormatHighRes}
		if err := r.Decode(body); err != nil {
			t.Fatal(err)
		}
		ok := r.Validate() == nil
		if err := r.DecodeValid(body); (err == nil) != ok {
			t.Errorf("DecodeValid: %v, valid is %v", err, ok)
		}
		return ok
	}
	const word1, word2, block1 = 20 + 12 + 4, 20 + 12 + 12, 20 + 12 + 16
	for name, test := range map[string]struct {
		change func([]byte)
		want   bool
	}{
		"as written": {func([]byte) {}, true},
		"swapped":    {func(b []byte) { b[word1+3], b[word2+3] = b[word2+3], b[word1+3] }, true},
		"one twice":  {func(b []byte) { b[word2+3] = b[word1+3] }, true}, // the sum of their lengths is right
		"too long":   {func(b []byte) { b[block1+3] = 16 }, false},
		"too short":  {func(b []byte) { b[block1+3] = 8 }, false},
		"no length":  {func(b []byte) { b[block1+3] = 0 }, false},
		"less than its own head": {func(b []byte) {
			b[block1+3], b[word2+3] = 3, b[word1+3]+1
			copy(b[block1+4:], []byte{byte(pdu.TypeString), 0, 0, 20})
		}, false},
		"outside":   {func(b []byte) { b[word2] = 1 }, false},
		"last long": {func(b []byte) { b[block1+12+3] = 20 }, false},
	} {
		if got := valid(test.change); got != test.want {
			t.Errorf("%s: valid is %v, want %v", name, got, test.want)
		}
	}
}
