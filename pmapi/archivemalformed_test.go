package pmapi_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

const malformedMetric = "sample.seconds"

// openMalformed opens the recorded archive of version 3 with a malformed record in the middle. It
// uses only the files with the given suffixes. It also returns the times of the metric's records
// before and after the malformed record.
func openMalformed(t *testing.T, suffixes ...string) (c *pmapi.Context, before, after []time.Time) {
	t.Helper()
	files := fstest.MapFS{}
	for _, suffix := range suffixes {
		data, err := os.ReadFile(filepath.Join("..", "archive", "testdata", "v3."+suffix))
		if err != nil {
			t.Fatal(err)
		}
		files["v3."+suffix] = &fstest.MapFile{Data: data}
	}
	open := func() *pmapi.Context {
		c, err := pmapi.ArchiveOptions{Files: archive.Options{FS: files}}.Open(t.Context(), "v3")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	times := recordTimes(t, open(), pdu.ErrEOL)
	middle := len(times) / 2
	set, err := archive.Options{FS: files}.Open(t.Context(), "v3")
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	cursor := set.Cursor()
	if err := errors.Join(cursor.SeekNext(times[middle]), cursor.Next()); err != nil {
		t.Fatal(err)
	}
	r := cursor.Record()
	copy(files[r.File.Path()].Data[r.Offset:], "\xff\xff\xff\xff")
	return open(), times[:middle], times[middle+1:]
}

// recordTimes returns the times of the metric's records in the current mode, up to the first error.
// That error must be end.
func recordTimes(t *testing.T, c *pmapi.Context, end error) (times []time.Time) {
	t.Helper()
	ids, err := c.Lookup(t.Context(), []string{malformedMetric})
	if err != nil {
		t.Fatal(err)
	}
	var r pdu.Result
	for {
		if err := c.Fetch(t.Context(), ids, &r); err != nil {
			if !errors.Is(err, end) {
				t.Errorf("after %d records: %v, want %v", len(times), err, end)
			}
			return times
		}
		times = append(times, r.Time)
	}
}

// TestMalformedBack reads from the end up to a malformed record, though no index leads to the
// records after it.
func TestMalformedBack(t *testing.T) {
	c, before, after := openMalformed(t, "0", "1", "2", "meta")
	if got := recordTimes(t, c, pdu.ErrLogRec); !slices.EqualFunc(got, before, time.Time.Equal) {
		t.Errorf("forward: %v, want %v", got, before)
	}
	slices.Reverse(after)
	slices.Reverse(before)
	for _, tt := range []struct {
		origin time.Time
		want   []time.Time
		end    error
	}{
		{after[0], after, pdu.ErrLogRec},
		{after[1], after[1:], pdu.ErrLogRec},
		{before[0], before, pdu.ErrEOL},
		{before[1], before[1:], pdu.ErrEOL},
	} {
		if err := c.SetMode(t.Context(), pmapi.ModeBack, tt.origin, 0); err != nil {
			t.Fatal(err)
		}
		if got := recordTimes(t, c, tt.end); !slices.EqualFunc(got, tt.want, time.Time.Equal) {
			t.Errorf("back from %v: %v, want %v", tt.origin, got, tt.want)
		}
	}
}

// TestMalformedEvery expects one error for all rows that cannot be read, and then the rows after
// them, which the index leads to.
func TestMalformedEvery(t *testing.T) {
	c, before, after := openMalformed(t, "0", "1", "2", "index", "meta")
	g := c.Group()
	value := pmapi.Add[float64](g, malformedMetric, pmapi.Scale("instant"))
	const step = 5 * time.Millisecond
	for range 2 {
		if err := c.SetMode(t.Context(), pmapi.ModeInterp, before[0], 0); err != nil {
			t.Fatal(err)
		}
		errs, early, late := 0, 0, 0
		for now, err := range g.Every(t.Context(), step) {
			switch {
			case err != nil:
				if errs++; !errors.Is(err, pdu.ErrLogRec) {
					t.Error(err)
				}
			case value.Err() == nil && now.Before(after[0]):
				early++
			case value.Err() == nil:
				late++
			}
		}
		if errs != 1 || early == 0 || late == 0 {
			t.Errorf("%d errors, %d rows before the malformed record, %d after it", errs, early, late)
		}
	}
}
