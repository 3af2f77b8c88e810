package pmdaproc

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pmda"
)

// FuzzAccounting checks that the agent accepts any file of records, and that clients can read the
// values.
func FuzzAccounting(f *testing.F) {
	record := make([]byte, 2*acctRecordLength)
	record[1], record[acctRecordLength+1] = acctVersion, acctVersion|0x80
	record[16], record[acctRecordLength+16] = 1, 1
	copy(record[24:], "\xff\xff\xff\x7f\x00\x00\x80\x7f")
	f.Add(record)
	f.Add(record[:100])
	f.Add(bytes.Repeat([]byte{3}, 3*acctRecordLength))
	path := filepath.Join(f.TempDir(), "pacct")
	f.Fuzz(func(t *testing.T, text []byte) {
		a := &accounting{p: &proc{Options: new(Options)}, known: map[pid]*acctRecord{}}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := openAcct(path)
		if err != nil {
			return
		}
		a.file.f, a.file.path = file, path
		defer a.file.close()
		a.file.read(2, func(b []byte) { a.add(b, time.Time{}) })
		if len(a.list) != len(a.known) || len(a.list) > 2 {
			t.Errorf("%d in the list, %d known", len(a.list), len(a.known))
		}
		for _, r := range a.list {
			if pid(r.pid) <= 0 || !pmda.ValidInstanceName("1 "+r.command) {
				t.Errorf("%+v", r)
			}
		}
	})
}

// TestAcctNumbers checks encoded numbers and invalid times.
func TestAcctNumbers(t *testing.T) {
	for c, want := range map[uint16]uint64{0: 0, 1: 1, 0x1fff: 8191, 0x2001: 8, 0xffff: 8191 << 21} {
		if got := expand(c); got != want {
			t.Errorf("%#x is %d, want %d", c, got, want)
		}
	}
	for elapsed, want := range map[float32]int64{250: 102, -1: -62135596800, float32(math.NaN()): -62135596800, float32(math.Inf(1)): -62135596800} {
		if got := (&acctRecord{began: 100, elapsed: elapsed}).ended(100).Unix(); got != want {
			t.Errorf("%v: %d", elapsed, got)
		}
	}
}
