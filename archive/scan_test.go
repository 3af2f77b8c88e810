package archive_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// TestInteropScansAgree reads the archives of the test suite forward, backward and from the places
// that seeks find. The records are the same.
func TestInteropScansAgree(t *testing.T) {
	for _, base := range suiteArchives(t, 20_000) {
		t.Run(strings.TrimPrefix(base, suite+"/"), func(t *testing.T) {
			t.Parallel()
			s, err := archive.Open(t.Context(), base)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			c := s.Cursor()
			on := scan(t, c, c.Next)
			if err := c.SeekEnd(); err != nil {
				t.Fatal(err)
			}
			back := scan(t, c, c.Prev)
			slices.Reverse(back)
			if !slices.Equal(on, back) {
				t.Fatalf("forward %d records, backward %d, which are not the same", len(on), len(back))
			}
			for i := 0; i < len(on); i += 1 + len(on)/50 {
				at := on[i].time
				first := slices.IndexFunc(on, func(r place) bool { return !r.time.Before(at) })
				if err := c.SeekNext(at); err != nil {
					t.Fatal(err)
				}
				if err := c.Next(); err != nil || here(c) != on[first] {
					t.Errorf("SeekNext(%v) leads to %v, %v, want %v", at.UTC(), here(c), err, on[first])
				}
				last := first
				for last+1 < len(on) && !on[last+1].time.After(at) {
					last++
				}
				if err := c.SeekPrev(at); err != nil {
					t.Fatal(err)
				}
				if err := c.Prev(); err != nil || here(c) != on[last] {
					t.Errorf("SeekPrev(%v) leads to %v, %v, want %v", at.UTC(), here(c), err, on[last])
				}
			}
		})
	}
}

// A place is the position of a record.
type place struct {
	file   string
	offset int64
	time   time.Time
}

func (p place) String() string { return fmt.Sprint(p.file, " ", p.offset, " ", p.time.UTC()) }

// here returns the place of the record that was read last.
func here(c *archive.Cursor) place {
	r := c.Record()
	return place{r.File.Path(), r.Offset, r.Time}
}

// scan returns the places of all records in one direction.
func scan(t *testing.T, c *archive.Cursor, move func() error) (list []place) {
	t.Helper()
	for {
		err := move()
		if err == pdu.ErrEOL {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, here(c))
	}
}
