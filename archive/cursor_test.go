package archive_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// step returns what a cursor has read: the seconds after epoch with a value, "mark", or the error.
func step(c *archive.Cursor, err error) string {
	switch code, _ := errors.AsType[pdu.Error](err); {
	case code != 0:
		return fmt.Sprint(int(code))
	case err != nil:
		return err.Error()
	}
	seconds := c.Time().Sub(epoch).Seconds()
	if c.Mark() {
		return fmt.Sprintf("%g mark", seconds)
	}
	r, err := c.Result()
	if err != nil {
		return err.Error()
	}
	if r.Len() == 0 {
		return fmt.Sprintf("%g empty", seconds)
	}
	v, _ := pdu.As[uint64](r.At(0).Atom(0, pdu.TypeU64))
	return fmt.Sprintf("%g=%d", seconds, v)
}

// walk returns what a cursor reads until the end, or until n errors.
func walk(c *archive.Cursor, move func() error, n int) []string {
	var steps []string
	for n > 0 {
		err := move()
		if err == pdu.ErrEOL {
			break
		}
		if err != nil {
			n--
		}
		steps = append(steps, step(c, err))
	}
	return steps
}

// forward and back return what a cursor reads from either end.
func forward(c *archive.Cursor) []string {
	c.SeekStart()
	return walk(c, c.Next, 9)
}

func back(t *testing.T, c *archive.Cursor) []string {
	t.Helper()
	if err := c.SeekEnd(); err != nil {
		t.Fatal(err)
	}
	return walk(c, c.Prev, 9)
}

func diff(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// threeVolumes makes an archive with records at 0, 10, … seconds, a mark at 35 and three volumes.
func threeVolumes(version int) (fstest.MapFS, *maker) {
	fs := fstest.MapFS{}
	m := newMaker(fs, "a", version, epoch)
	m.value(0, at(0), 0)
	m.value(0, at(10), 1)
	m.volume(1)
	m.value(1, at(20), 2)
	m.value(1, at(30), 3)
	m.mark(1, at(35))
	m.volume(2)
	m.value(2, at(40), 4)
	return fs, m
}

func TestCursor(t *testing.T) {
	for _, version := range []int{2, 3} {
		fs, _ := threeVolumes(version)
		delete(fs, "a.index")
		c := open(t, fs, "a").Cursor()
		diff(t, "forward", forward(c), []string{"0=0", "10=1", "20=2", "30=3", "35 mark", "40=4"})
		diff(t, "back", back(t, c), []string{"40=4", "35 mark", "30=3", "20=2", "10=1", "0=0"})
		// A change of direction gives the same record again, even where the volume changes.
		c.SeekStart()
		var got []string
		for range 4 {
			got = append(got, step(c, c.Next()), step(c, c.Prev()), step(c, c.Next()))
		}
		diff(t, "turning round", got, []string{"0=0", "0=0", "0=0", "10=1", "10=1", "10=1", "20=2", "20=2", "20=2", "30=3", "30=3", "30=3"})
		diff(t, "after the end", []string{step(c, c.Next()), step(c, c.Next()), step(c, c.Next()), step(c, c.Next())},
			[]string{"35 mark", "40=4", "-12370", "-12370"})
	}
}

func TestCursorRecord(t *testing.T) {
	fs, _ := threeVolumes(3)
	delete(fs, "a.index")
	c := open(t, fs, "a").Cursor()
	var got []string
	two, other := pdu.NewSelection([]pdu.PMID{7, valueMetric.PMID}), pdu.NewSelection([]pdu.PMID{7})
	for c.Next() == nil {
		r := c.Record()
		got = append(got, fmt.Sprintf("%s %d@%d %d", r.File.Path(), r.Number, r.Offset, len(r.Raw)))
		found, err := c.Select(two)
		if err != nil || found == c.Mark() || two.At(0).Len() != 0 || (two.At(1).Len() == 1) != found {
			t.Errorf("Select: %v, %v, %d values at %v", found, err, two.At(1).Len(), c.Time())
		}
		if c.Contains(7, valueMetric.PMID) != found || c.Contains(7) {
			t.Errorf("Contains is %v and %v at %v", !found, c.Contains(7), c.Time())
		}
		if found, err := c.Select(other); found || err != nil {
			t.Errorf("Select of a metric that is not there: %v, %v at %v", found, err, c.Time())
		}
	}
	diff(t, "records", got, []string{"a.0 1@808 56", "a.0 2@864 56", "a.1 1@808 56", "a.1 2@864 56", "a.1 3@920 24", "a.2 1@808 56"})
}

// TestSeek checks that seeks find the same place with a good index, with no index, and with any
// wrong index.
func TestSeek(t *testing.T) {
	fs, m := threeVolumes(3)
	good := fs["a.index"].Data
	seconds := []float64{-5, 0, 5, 10, 15, 20, 25, 30, 33, 35, 37, 40, 45}
	next := []string{"0=0", "0=0", "10=1", "10=1", "20=2", "20=2", "30=3", "30=3", "35 mark", "35 mark", "40=4", "40=4", "-12370"}
	prev := []string{"-12370", "0=0", "0=0", "10=1", "10=1", "20=2", "20=2", "30=3", "30=3", "35 mark", "35 mark", "40=4", "40=4"}
	check := func(t *testing.T, what string) {
		t.Helper()
		c := open(t, fs, "a").Cursor()
		for i, s := range seconds {
			if err := c.SeekNext(at(s)); err != nil {
				t.Errorf("%s: SeekNext(%g): %v", what, s, err)
			}
			diff(t, fmt.Sprintf("%s: first record at or after %g", what, s), step(c, c.Next()), next[i])
			if err := c.SeekPrev(at(s)); err != nil {
				t.Errorf("%s: SeekPrev(%g): %v", what, s, err)
			}
			diff(t, fmt.Sprintf("%s: last record at or before %g", what, s), step(c, c.Prev()), prev[i])
		}
	}
	entries := func(list ...archive.IndexEntry) {
		fs["a.index"].Data = good[:len(good):len(good)]
		for _, e := range list {
			m.index(e)
		}
	}
	entries(archive.IndexEntry{Time: at(0), Data: 808}, archive.IndexEntry{Time: at(20), Volume: 1, Data: 808},
		archive.IndexEntry{Time: at(30), Volume: 1, Data: 864}, archive.IndexEntry{Time: at(40), Volume: 2, Data: 808})
	check(t, "good index")
	entries(archive.IndexEntry{Time: at(10), Volume: 0, Data: 920}, archive.IndexEntry{Time: at(30), Volume: 1, Data: 920})
	check(t, "index of the ends of records")
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		var list []archive.IndexEntry
		for range r.IntN(6) + 1 {
			list = append(list, archive.IndexEntry{Time: at(r.Float64()*60 - 10), Volume: r.IntN(5) - 1, Data: r.Int64N(1000)})
			if r.IntN(2) == 0 {
				list[len(list)-1].Data = 808 + 56*r.Int64N(4)
			}
		}
		entries(list...)
		check(t, fmt.Sprintf("wrong index %d %v", i, list))
		if t.Failed() {
			return
		}
	}
	delete(fs, "a.index")
	check(t, "no index")
}

func TestSetJoin(t *testing.T) {
	fs := fstest.MapFS{}
	m := newMaker(fs, "dir/a", 3, at(0))
	for i := range 3 {
		m.value(0, at(float64(10*i)), uint64(i))
	}
	m = newMaker(fs, "dir/b", 2, at(60))
	for i := range 3 {
		m.value(0, at(float64(60+10*i)), uint64(6+i))
	}
	delete(fs, "dir/a.index")
	delete(fs, "dir/b.index")
	for _, name := range []string{"dir", "dir/b,dir/a", "dir/b.meta,dir/a.0,dir/a"} {
		s := open(t, fs, name)
		if got := s.Label().Start; !got.Equal(at(0)) || len(s.Archives()) != 2 {
			t.Errorf("%s: %d archives from %v", name, len(s.Archives()), got)
		}
		c := s.Cursor()
		diff(t, "forward", forward(c), []string{"0=0", "10=1", "20=2", "20.001 mark", "60=6", "70=7", "80=8"})
		diff(t, "back", back(t, c), []string{"80=8", "70=7", "60=6", "59.999 mark", "20=2", "10=1", "0=0"})
		for _, test := range []struct {
			seconds    float64
			next, prev string
		}{
			{20, "20=2", "20=2"},
			{20.0005, "20.001 mark", "20=2"},
			{20.001, "20.001 mark", "20=2"},
			{40, "60=6", "20=2"},
			{59.9995, "60=6", "59.999 mark"},
			{60, "60=6", "60=6"},
			{100, "-12370", "80=8"},
			{-1, "0=0", "-12370"},
		} {
			if err := errors.Join(c.SeekNext(at(test.seconds))); err != nil {
				t.Error(err)
			}
			diff(t, fmt.Sprint("next at ", test.seconds), step(c, c.Next()), test.next)
			if err := c.SeekPrev(at(test.seconds)); err != nil {
				t.Error(err)
			}
			diff(t, fmt.Sprint("prev at ", test.seconds), step(c, c.Prev()), test.prev)
		}
	}
}

func TestSetOverlap(t *testing.T) {
	fs := fstest.MapFS{}
	m := newMaker(fs, "a", 3, at(0))
	m.value(0, at(0), 0)
	m.value(0, at(20), 2)
	m = newMaker(fs, "b", 3, at(10))
	m.value(0, at(10), 1)
	m.value(0, at(30), 3)
	delete(fs, "a.index")
	delete(fs, "b.index")
	c := open(t, fs, "a,b").Cursor()
	diff(t, "forward", forward(c), []string{"0=0", "20=2", "-12401", "10=1", "30=3"})
	diff(t, "back", back(t, c), []string{"30=3", "10=1", "-12401", "20=2", "0=0"})
}

func TestMissingVolume(t *testing.T) {
	fs, _ := threeVolumes(3)
	delete(fs, "a.1")
	delete(fs, "a.index")
	c := open(t, fs, "a").Cursor()
	diff(t, "forward", forward(c), []string{"0=0", "10=1", "-12375", "40=4"})
	diff(t, "back", back(t, c), []string{"40=4", "-12375", "10=1", "0=0"})
	c.SeekStart()
	walk(c, c.Next, 1)
	if err := c.SeekNext(at(15)); err != nil {
		t.Error(err)
	}
	diff(t, "seek over it", step(c, c.Next()), "40=4")
	c.SeekStart()
	var err error
	for err == nil {
		err = c.Next()
	}
	if want := "archive: a: volume 1 missing between 0 and 2: Missing PCP archive log file"; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

// TestEmptyVolume checks that an empty volume has no records and is not reported as missing.
func TestEmptyVolume(t *testing.T) {
	for volume, want := range map[string][]string{
		"a.1": {"0=0", "10=1", "40=4"},
		"a.2": {"0=0", "10=1", "20=2", "30=3", "35 mark"},
	} {
		fs, _ := threeVolumes(3)
		delete(fs, "a.index")
		fs[volume].Data = nil
		c := open(t, fs, "a").Cursor()
		diff(t, "forward", forward(c), want)
		slices.Reverse(want)
		diff(t, "back", back(t, c), want)
	}
}

func TestForeignVolume(t *testing.T) {
	fs, m := threeVolumes(3)
	delete(fs, "a.index")
	m.label.PID++
	m.volume(1)
	c := open(t, fs, "a").Cursor()
	diff(t, "forward", walk(c, c.Next, 2), []string{"0=0", "10=1", "-12372", "-12372"})
	err := c.Next()
	if e, ok := errors.AsType[*archive.Error](err); !ok || e.File != "a.1" || e.Offset != 0 || !strings.Contains(err.Error(), "another archive") {
		t.Errorf("error %v", err)
	}
}

// TestBadRecord reads the records before a malformed one, and backward from the end those after it.
func TestBadRecord(t *testing.T) {
	fs, _ := threeVolumes(3)
	delete(fs, "a.index")
	be.PutUint32(fs["a.1"].Data[864:], 12)
	c := open(t, fs, "a").Cursor()
	diff(t, "forward", walk(c, c.Next, 2), []string{"0=0", "10=1", "20=2", "-12373", "-12373"})
	if err := c.SeekEnd(); err != nil {
		t.Fatal(err)
	}
	diff(t, "back", walk(c, c.Prev, 2), []string{"40=4", "35 mark", "-12373", "-12373"})
	err := c.SeekNext(at(33))
	if e, ok := errors.AsType[*archive.Error](err); !ok || e.File != "a.1" || e.Offset != 864 || e.Record != 2 || errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("SeekNext: %v", err)
	}
	// The error has the number of the record even after a seek.
	c = open(t, fs, "a").Cursor()
	err = c.SeekNext(at(25))
	if e, ok := errors.AsType[*archive.Error](err); !ok || e.Record != 2 {
		t.Errorf("SeekNext: %v", err)
	}
	// A well-framed record with a malformed body is an error only of Result.
	fs, _ = threeVolumes(3)
	delete(fs, "a.index")
	be.PutUint32(fs["a.1"].Data[864+16:], 5)
	c = open(t, fs, "a").Cursor()
	for c.Next() == nil && !c.Time().Equal(at(30)) {
	}
	if _, err := c.Result(); !errors.Is(err, pdu.ErrLogRec) || !strings.Contains(err.Error(), "a.1: record 2 at offset 864") {
		t.Errorf("Result: %v", err)
	}
	diff(t, "after it", step(c, c.Next()), "35 mark")
}

// TestTail checks that a cursor at the end reads appended records, and an incomplete record once it
// is complete.
func TestTail(t *testing.T) {
	fs, m := threeVolumes(3)
	delete(fs, "a.index")
	c := open(t, fs, "a").Cursor()
	forward(c)
	m.value(2, at(50), 5)
	diff(t, "appended", step(c, c.Next()), "50=5")
	m.value(2, at(60), 6)
	whole := fs["a.2"].Data
	for cut := 55; cut > 0; cut-- {
		fs["a.2"].Data = whole[:len(whole)-cut]
		switch err := c.Next(); {
		case cut > 52 && err != pdu.ErrEOL: // not even its length is there
			t.Errorf("%d bytes missing: %v", cut, err)
		case cut <= 52 && !(errors.Is(err, pdu.ErrLogRec) && errors.Is(err, io.ErrUnexpectedEOF)):
			t.Errorf("%d bytes missing: %v", cut, err)
		}
		if end, err := open(t, fs, "a").End(); err != nil || !end.Equal(at(50)) {
			t.Errorf("%d bytes missing: End is %v, %v", cut, end, err)
		}
	}
	fs["a.2"].Data = whole
	diff(t, "complete", step(c, c.Next()), "60=6")
	diff(t, "end", step(c, c.Next()), "-12370")
}

func TestRefresh(t *testing.T) {
	fs, m := threeVolumes(3)
	m.index(archive.IndexEntry{Time: at(0), Data: 808})
	s := open(t, fs, "a")
	c := s.Cursor()
	forward(c)
	meta := len(fs["a.meta"].Data)
	m.desc(archive.Metric{Desc: pdu.Desc{PMID: 2}, Names: []string{"b"}})
	whole := fs["a.meta"].Data
	m.volume(3)
	m.value(3, at(50), 5)
	m.index(archive.IndexEntry{Time: at(50), Volume: 3, Meta: 1, Data: 808})
	for cut := meta; cut < len(whole); cut++ {
		fs["a.meta"].Data = whole[:cut]
		if err := s.Refresh(t.Context()); err != nil {
			t.Fatalf("metadata up to %d: %v", cut, err)
		}
		if _, ok := s.Metadata().Desc(2); ok {
			t.Fatal("half a record gave a metric")
		}
	}
	fs["a.meta"].Data = whole
	old := s.Metadata()
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if id, err := s.Metadata().Names().Lookup("b"); id != 2 || err != nil {
		t.Errorf("new metric: %v, %v", id, err)
	}
	if _, ok := old.Desc(2); ok {
		t.Error("an old snapshot has changed")
	}
	if got := s.Archives()[0].Index(); len(got) != 2 {
		t.Errorf("index has %d entries", len(got))
	}
	diff(t, "new volume", step(c, c.Next()), "50=5")
	if end, err := s.End(); err != nil || !end.Equal(at(50)) {
		t.Errorf("End is %v, %v", end, err)
	}
	// A new volume may not even have a label yet.
	fs["a.4"] = &fstest.MapFile{}
	if err := s.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	diff(t, "empty volume", step(c, c.Next()), "-12370")
	empty := fs["a.4"]
	m.volume(4)
	m.value(4, at(60), 6)
	empty.Data = fs["a.4"].Data // of the file that is open
	diff(t, "filled volume", step(c, c.Next()), "60=6")
	fs["a.meta"].Data = whole[:len(whole)-1]
	if err := s.Refresh(t.Context()); !errors.Is(err, pdu.ErrLogRec) {
		t.Errorf("metadata that has shrunk: %v", err)
	}
}

func TestCursorAllocs(t *testing.T) {
	fs := fstest.MapFS{}
	m := newMaker(fs, "a", 3, epoch)
	for i := range 2000 {
		m.value(0, at(float64(i)), uint64(i))
	}
	delete(fs, "a.index")
	s := open(t, fs, "a")
	c := s.Cursor()
	value := pdu.NewSelection([]pdu.PMID{valueMetric.PMID})
	var sum int
	read := func(move func() error) func() {
		return func() {
			if err := move(); err != nil {
				t.Fatal(err)
			}
			r, err := c.Result()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Select(value); err != nil {
				t.Fatal(err)
			}
			sum += r.Len() + value.At(0).Len()
		}
	}
	for range 100 {
		read(c.Next)()
	}
	if n := testing.AllocsPerRun(1000, read(c.Next)); n != 0 {
		t.Errorf("Next and Result allocate %v times", n)
	}
	if n := testing.AllocsPerRun(1000, read(c.Prev)); n != 0 {
		t.Errorf("Prev and Result allocate %v times", n)
	}
	f, err := s.Archives()[0].File(0)
	if err != nil {
		t.Fatal(err)
	}
	start, records := time.Now(), 0
	perPass := testing.AllocsPerRun(5, func() {
		for _, err := range f.Records() {
			if err != nil {
				t.Fatal(err)
			}
			records++
		}
	})
	if perPass > 20 {
		t.Errorf("a pass of %d records in %v allocates %v times", records, time.Since(start), perPass)
	}
}
