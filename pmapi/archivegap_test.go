package pmapi_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// openWithout opens the recorded archive of version 3 without one of its three volumes.
func openWithout(t *testing.T, volume string) *pmapi.Context {
	t.Helper()
	dir := t.TempDir()
	for _, suffix := range []string{"0", "1", "2", "index", "meta"} {
		text, err := os.ReadFile(filepath.Join("..", "archive", "testdata", "v3."+suffix))
		if err == nil && suffix != volume {
			err = os.WriteFile(filepath.Join(dir, "v3."+suffix), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	c, err := pmapi.Open(t.Context(), filepath.Join(dir, "v3"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// fetchAll fetches a metric up to the end and returns how often it had values.
func fetchAll(t *testing.T, c *pmapi.Context, name string) (n int) {
	t.Helper()
	ids, err := c.Lookup(t.Context(), []string{name})
	if err != nil {
		t.Fatal(err)
	}
	var r pdu.Result
	for {
		err := c.Fetch(t.Context(), ids, &r)
		if errors.Is(err, pdu.ErrEOL) {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.At(0).Len() > 0 {
			n++
		}
	}
}

// TestMissingVolume fetches across a volume that is missing.
func TestMissingVolume(t *testing.T) {
	label := func(c *pmapi.Context) archive.Label {
		l, err := c.ArchiveLabel()
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	whole := fetchAll(t, openWithout(t, ""), "sample.seconds")
	for _, volume := range []string{"0", "1", "2"} {
		c := openWithout(t, volume)
		forward := fetchAll(t, c, "sample.seconds")
		if forward < 2 || forward >= whole {
			t.Errorf("without volume %s: %d records forward, of %d", volume, forward, whole)
		}
		end, err := c.ArchiveEnd(t.Context())
		if err == nil {
			err = c.SetMode(t.Context(), pmapi.ModeBack, end, 0)
		}
		if err != nil {
			t.Fatal(err)
		}
		if back := fetchAll(t, c, "sample.seconds"); back != forward {
			t.Errorf("without volume %s: %d records back, %d forward", volume, back, forward)
		}
		if err := c.SetMode(t.Context(), pmapi.ModeInterp, label(c).Start, 20*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if n := fetchAll(t, c, "sample.seconds"); n < forward {
			t.Errorf("without volume %s: %d values at a step of 20 ms, from %d records", volume, n, forward)
		}
	}
}

// TestFetchEventFlags fetches what no record has: it is as of the next record, and has no values.
func TestFetchEventFlags(t *testing.T) {
	c := openWithout(t, "")
	ids := []pdu.PMID{pdu.EventFlagsPMID, pdu.EventMissedPMID}
	var r, next pdu.Result
	if err := c.FetchArchive(t.Context(), &next); err != nil {
		t.Fatal(err)
	}
	if err := c.SetMode(t.Context(), pmapi.ModeForward, next.Time, 0); err != nil {
		t.Fatal(err)
	}
	if err := c.Fetch(t.Context(), ids, &r); err != nil {
		t.Fatal(err)
	}
	if !r.Time.Equal(next.Time) || r.Len() != 2 || r.At(0).Err() != nil || r.At(0).Len() != 0 {
		t.Errorf("got %d sets as of %v, the first with %d values and error %v", r.Len(), r.Time, r.At(0).Len(), r.At(0).Err())
	}
	if n := fetchAll(t, c, pdu.EventMissedName); n != 0 {
		t.Errorf("%d values of %s", n, pdu.EventMissedName)
	}
}
