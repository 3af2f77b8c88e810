package archive_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pcp-go/pcp/archive"
)

// TestIndexEntryAnywhere lets an index entry lead to any place at any time. Seeks find the same as
// without an index. With -all it tries every offset of every volume, otherwise some of them.
func TestIndexEntryAnywhere(t *testing.T) {
	step := 7
	if *all {
		step = 1
	}
	for _, base := range []string{"v2", "v3"} {
		t.Run(base, func(t *testing.T) {
			t.Parallel()
			files := recorded(t, base)
			index := base + ".index"
			whole := files[index].Data
			delete(files, index)
			times, want := seekTargets(t, files, base)
			cases := 0
			for volume := range 4 { // one of them is missing
				size := 0
				if f := files[fmt.Sprint(base, ".", volume)]; f != nil {
					size = len(f.Data)
				}
				for offset := -8; offset <= size+8; offset += step {
					for _, entry := range []time.Time{times[0].Add(-time.Hour), times[len(times)/2], times[len(times)-1].Add(time.Hour)} {
						m := maker{label: archive.Label{Version: int(base[1] - '0')}, fs: fstest.MapFS{}, base: base}
						m.fs[index] = &fstest.MapFile{Data: slices.Clone(whole[:labelLens[base]])}
						m.index(archive.IndexEntry{Time: entry, Volume: volume, Meta: labelLens[base], Data: int64(offset)})
						files[index] = m.fs[index]
						if got := seekAll(t, files, base, times); !slices.Equal(got, want) {
							t.Fatalf("entry at %v in volume %d at %d: (-without +with)\n%v\n%v", entry.UTC(), volume, offset, want, got)
						}
						cases++
					}
				}
			}
			t.Logf("%d cases", cases)
		})
	}
}

var labelLens = map[string]int64{"v2": 132, "v3": 808}

// seekTargets returns times at and between the records of an archive, and what seeks find there.
func seekTargets(t *testing.T, files fstest.MapFS, base string) (times []time.Time, want []string) {
	c := open(t, files, base).Cursor()
	for c.Next() == nil {
		times = append(times, c.Time().Add(-time.Microsecond), c.Time())
	}
	return times, seekAll(t, files, base, times)
}

// seekAll returns what SeekNext and SeekPrev find at the times.
func seekAll(t *testing.T, files fstest.MapFS, base string, times []time.Time) (found []string) {
	s, err := archive.Options{FS: files}.Open(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := s.Cursor()
	note := func(err error) {
		r := c.Record()
		found = append(found, fmt.Sprint(err, r.Offset, r.Time.UnixNano()))
	}
	for _, at := range times {
		note(errors.Join(c.SeekNext(at), c.Next()))
		note(errors.Join(c.SeekPrev(at), c.Prev()))
	}
	return found
}
