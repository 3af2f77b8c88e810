package remotewrite_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pmapi/export/remotewrite"
)

func roundTrip(t *testing.T, b []byte) []byte {
	t.Helper()
	packed := remotewrite.Compress(b)
	got, err := unsnappy(packed)
	if err != nil || !bytes.Equal(got, b) {
		t.Fatalf("%d bytes, %d compressed: %d bytes again, error %v", len(b), len(packed), len(got), err)
	}
	return packed
}

func TestSnappy(t *testing.T) {
	if got := remotewrite.Compress(nil); !bytes.Equal(got, []byte{0}) {
		t.Errorf("nothing is %x", got)
	}
	random := make([]byte, 200_000)
	rand.NewChaCha8([32]byte{1}).Read(random)
	for _, n := range []int{1, 3, 4, 5, 59, 60, 61, 62, 255, 256, 257, 65535, 65536, 65537, 131073, 200_000} {
		if packed := roundTrip(t, random[:n]); len(packed) > n+16 {
			t.Errorf("%d random bytes are %d", n, len(packed))
		}
		if packed := roundTrip(t, bytes.Repeat([]byte("x"), n)); n > 256 && len(packed) > n/15 {
			t.Errorf("%d equal bytes are %d", n, len(packed))
		}
		roundTrip(t, bytes.Repeat(random[:min(n, 70)], 7))
	}
	// Copies of all lengths and distances, small and large.
	for n := 4; n < 140; n += 3 {
		for _, distance := range []int{n, 2046, 2047, 2048, 2049, 30_000} {
			b := bytes.Clone(random[:n+distance])
			roundTrip(t, append(b, random[:n]...))
		}
	}
	text := []byte(strings.Repeat(`{__name__="disk_dev_read_total",instname="sda",job="pcp",instance="host"}`, 500))
	if packed := roundTrip(t, text); len(packed) > len(text)/15 {
		t.Errorf("%d bytes of labels are %d", len(text), len(packed))
	}
}

func FuzzSnappy(f *testing.F) {
	f.Add([]byte("abcdabcdabcd"))
	f.Add(bytes.Repeat([]byte{0, 1}, 70_000))
	f.Fuzz(func(t *testing.T, b []byte) { roundTrip(t, b) })
}

// FuzzDecode tests the readers of the tests, which must handle messages of other programs.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("\x1f\x78\x0a\x1d\x0a\x0d\x0a\x08__name__\x12\x01m\x12\x0c\x09\x00\x00\x00\x00\x00\x00\xf0\x3f\x10\xe8\x07"))
	f.Fuzz(func(_ *testing.T, b []byte) {
		s := &store{}
		_ = s.take(b)
	})
}
