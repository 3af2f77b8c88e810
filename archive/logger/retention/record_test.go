package retention_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logextract"
	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/archive/logger/retention"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// A recording is a Record of a synthetic source in a synctest bubble, where days pass at once.
type recording struct {
	t      *testing.T
	src    *pmapitest.Source
	count  *pmapitest.Metric[int64]
	dir    string
	begun  []string // base names
	events []string // types of the events to check
	errors bytes.Buffer
	end    context.CancelFunc
	done   chan error
}

const (
	countPMID = pdu.PMID(60<<22 | 1)
	oncePMID  = pdu.PMID(60<<22 | 2)
)

// newRecording returns a recording that begins at a time in November 2026.
func newRecording(t *testing.T, dir, at string) *recording {
	t.Helper()
	d := &recording{t: t, src: &pmapitest.Source{}, dir: dir, done: make(chan error, 1)}
	d.until(at)
	pmapitest.Add(d.src, pmapitest.Metric[uint64]{Name: "pmcd.pid", PMID: pdu.MakePMID(2, 0, 23)}).Set(4711)
	pmapitest.Add(d.src, pmapitest.Metric[uint32]{Name: "pmcd.seqnum", PMID: pdu.MakePMID(2, 0, 24)}).Set(8)
	d.count = pmapitest.Add(d.src, pmapitest.Metric[int64]{Name: "x.count", PMID: countPMID,
		Value: func(at time.Time, _ pdu.Instance) (int64, error) { return at.Unix(), nil }})
	pmapitest.Add(d.src, pmapitest.Metric[int32]{Name: "x.once", PMID: oncePMID}).Set(17)
	return d
}

// until waits until a time in November 2026.
func (d *recording) until(at string) {
	d.t.Helper()
	when, err := time.Parse("2006-01-02 15:04:05", "2026-11-"+at)
	if err != nil {
		d.t.Fatal(err)
	}
	time.Sleep(time.Until(when))
	synctest.Wait()
}

// record starts a Record. It sets the modification time of each ended archive to the bubble's time.
func (d *recording) record(o retention.Options, lo logger.Options) {
	lo.Config, lo.Host = "log mandatory on once x.once\nlog mandatory on 1 min x.count", "here"
	lo.Report = func(e logger.Event) {
		if _, ok := e.(logger.Recorded); !ok {
			d.events = append(d.events, strings.TrimPrefix(fmt.Sprintf("%T", e), "logger."))
		}
	}
	o.Location, o.Logger = time.UTC, slog.New(slog.NewTextHandler(&d.errors, nil))
	o.Begun = func(l *logger.Logger) {
		if n := len(d.begun); n > 0 {
			for _, suffix := range []string{".0", ".meta", ".index"} {
				_ = os.Chtimes(filepath.Join(d.dir, d.begun[n-1]+suffix), time.Now(), time.Now()) // the files may have been replaced
			}
		}
		d.begun = append(d.begun, filepath.Base(l.Base()))
	}
	ctx, end := context.WithCancel(d.t.Context())
	d.end = end
	src := d.src.Context()
	go func() {
		defer src.Close()
		d.done <- retention.Record(ctx, src, d.dir, lo, o)
	}()
	synctest.Wait()
}

// stop ends the Record.
func (d *recording) stop() {
	d.t.Helper()
	d.end()
	if err := <-d.done; err != nil {
		d.t.Errorf("error %v", err)
	}
}

// TestRecordTwice checks that a second Record of a directory fails and names the process of the
// first. After the first has ended, another one can start, although the lock file still exists.
func TestRecordTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		first := newRecording(t, dir, "22 10:00:00")
		first.record(retention.Options{}, logger.Options{})
		second := newRecording(t, dir, "22 10:01:00")
		second.record(retention.Options{}, logger.Options{})
		err := <-second.done
		if want := fmt.Sprintf("retention: another logger, process %d, records into %s: choose another directory, or end that logger", os.Getpid(), dir); !errors.Is(err, retention.ErrLocked) || err.Error() != want {
			t.Errorf("second: error %v, want %s", err, want)
		}
		if len(second.begun) != 0 {
			t.Errorf("second: archives %s", second.begun)
		}
		first.stop()
		if err := os.WriteFile(filepath.Join(dir, ".retention", "recording"), []byte("4711\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		third := newRecording(t, dir, "22 10:02:00")
		third.record(retention.Options{}, logger.Options{})
		third.stop()
		if len(third.begun) != 1 {
			t.Errorf("third: archives %s", third.begun)
		}
	})
}

// A content is what archives contain.
type content struct {
	counts      []time.Time // times of the records of x.count
	once, marks int
}

// read reads all archives of a directory as one.
func read(t *testing.T, dir string) (c content) {
	t.Helper()
	found, err := archive.Options{}.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	var bases []string
	for _, f := range found {
		bases = append(bases, f.Base)
	}
	slices.Sort(bases)
	all := filepath.Join(t.TempDir(), "all")
	if err := (logextract.Options{}).Run(t.Context(), bases, all); err != nil {
		t.Fatal(err)
	}
	set, err := archive.Open(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	for rec, err := range set.Records() {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Kind == archive.KindMark {
			c.marks++
		}
		var r pdu.Result
		if rec.Kind != archive.KindResult || rec.Result(&r) != nil {
			continue
		}
		for _, s := range r.All() {
			switch {
			case s.PMID == oncePMID:
				c.once++
			case s.PMID == countPMID && s.Len() == 1:
				if v, err := pdu.As[int64](s.Atom(0, pdu.Type64)); err == nil && v == rec.Time.Unix() {
					c.counts = append(c.counts, rec.Time)
				}
			}
		}
	}
	return c
}

// longest returns the longest time between two records. The times must ascend.
func (c content) longest() (longest time.Duration) {
	for i := 1; i < len(c.counts); i++ {
		gap := c.counts[i].Sub(c.counts[i-1])
		if gap <= 0 {
			return -1
		}
		longest = max(longest, gap)
	}
	return longest
}

func packed(base string) []string { return names(base, ".0.gz", ".index", ".meta.gz") }

var dailyOptions = retention.Options{Merge: logextract.Options{}.Run, Compress: retention.Gzip(gzip.BestSpeed), Keep: 47 * time.Hour}

// TestRecord records several days. Each has an archive. Those of past days are compressed, old ones
// are removed, and no record is missing.
func TestRecord(t *testing.T) {
	dir, kept := t.TempDir(), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		d := newRecording(t, dir, "22 20:00:30")
		d.record(dailyOptions, logger.Options{})
		want := [][]string{
			archiveNames("20261122.20.00"),
			slices.Concat(packed("20261122"), archiveNames("20261123.00.00")),
			slices.Concat(packed("20261122"), packed("20261123"), archiveNames("20261124.00.00")),
			slices.Concat(packed("20261123"), packed("20261124"), archiveNames("20261125.00.00")),
		}
		for day, files := range want {
			d.until(fmt.Sprint(22+day, " 23:59:00"))
			if diff := cmp.Diff(files, list(t, dir)); diff != "" {
				t.Errorf("day %d (-want +got):\n%s", day, diff)
			}
			if day == 2 {
				if err := os.CopyFS(kept, os.DirFS(dir)); err != nil {
					t.Fatal(err)
				}
			}
		}
		d.stop()
		if diff := cmp.Diff([]string{"Ended"}, d.events); diff != "" || d.errors.Len() > 0 {
			t.Errorf("events (-want +got):\n%s%s", diff, d.errors.String())
		}
		for _, c := range []struct {
			dir       string
			once, min int
		}{{kept, 3, 51*60 + 57}, {dir, 3, 3*24*60 - 2}} {
			if got := read(t, c.dir); got.longest() != time.Minute || got.once != c.once || got.marks != 0 || len(got.counts) < c.min || len(got.counts) > c.min+4 {
				t.Errorf("%d records, %v apart, %d of once, %d marks", len(got.counts), got.longest(), got.once, got.marks)
			}
		}
	})
}

// TestRecordLost loses the collector at midnight. The next archive begins when the collector is
// back, and the archive of the past day is completed in time.
func TestRecordLost(t *testing.T) {
	for name, lost := range map[string]string{"before midnight": "22 23:50:10", "at midnight": "22 23:59:59"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				d := newRecording(t, dir, "22 20:00:30")
				d.record(dailyOptions, logger.Options{})
				d.until(lost)
				d.src.Break(nil)
				d.until("23 00:15:00")
				if diff := cmp.Diff(packed("20261122"), list(t, dir)); diff != "" {
					t.Errorf("without a collector (-want +got):\n%s", diff)
				}
				d.src.Restore()
				d.until("23 04:00:00")
				d.stop()
				if len(d.begun) != 2 || !strings.HasPrefix(d.begun[1], "20261123.00.15") {
					t.Errorf("archives %q", d.begun)
				}
				if diff := cmp.Diff([]string{"Lost", "Restored", "Ended"}, d.events); diff != "" || d.errors.Len() > 0 {
					t.Errorf("events (-want +got):\n%s%s", diff, d.errors.String())
				}
				if got := read(t, dir); got.marks != 1 || got.once != 2 || got.longest() < 15*time.Minute || got.longest() > 30*time.Minute {
					t.Errorf("%v apart, %d of once, %d marks", got.longest(), got.once, got.marks)
				}
			})
		})
	}
}

// TestRecordChanged checks that changed metrics begin another archive.
func TestRecordChanged(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		d := newRecording(t, dir, "22 20:00:30")
		d.record(dailyOptions, logger.Options{})
		d.until("22 21:00:00")
		d.count.Remove()
		pmapitest.Add(d.src, pmapitest.Metric[string]{Name: "x.count", PMID: countPMID}).Set("many")
		d.src.Notify(pdu.ChangeRestartAgent)
		d.until("23 12:00:00")
		d.stop()
		if diff := cmp.Diff([]string{"20261122.20.00", "20261122.21.00", "20261123.00.00"}, d.begun); diff != "" {
			t.Errorf("archives (-want +got):\n%s", diff)
		}
		if got := slices.Compact(slices.Clone(d.events)); !cmp.Equal(got, []string{"Validating", "MetricChanged", "Ended"}) {
			t.Errorf("events %q", got)
		}
		if !strings.Contains(d.errors.String(), "merge archives of 20261122") { // they cannot be merged
			t.Errorf("log %q", d.errors.String())
		}
	})
}

// TestRecordHostname checks that a changed host name begins another archive.
func TestRecordHostname(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		d := newRecording(t, dir, "22 20:00:30")
		d.src.Host = "a"
		d.record(retention.Options{}, logger.Options{})
		d.until("22 21:00:00")
		d.src.Host = "b"
		d.src.Notify(pdu.ChangeHostname)
		d.until("22 22:00:00")
		d.stop()
		var hosts []string
		for _, base := range d.begun {
			set, err := archive.Open(t.Context(), filepath.Join(dir, base))
			if err != nil {
				t.Fatal(err)
			}
			hosts = append(hosts, base+" "+set.Label().Host)
			set.Close()
		}
		if diff := cmp.Diff([]string{"20261122.20.00 a", "20261122.21.00 b"}, hosts); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestRecordAfterCrash simulates a crash of everything except the collector. The archive is
// repaired, and recording continues.
func TestRecordAfterCrash(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		d := newRecording(t, dir, "22 20:00:30")
		d.record(dailyOptions, logger.Options{})
		d.until("22 21:30:00")
		d.stop()
		volume := filepath.Join(dir, d.begun[0]+".0")
		info, err := os.Stat(volume)
		if err == nil {
			err = os.Truncate(volume, info.Size()-200) // in the middle of the records at the end
		}
		stale := filepath.Join(dir, ".retention", "20261121.new")
		if err := errors.Join(err, os.WriteFile(filepath.Join(dir, "lock"), []byte("retention, pid 1\n"), 0o666), os.Mkdir(stale, 0o777)); err != nil {
			t.Fatal(err)
		}
		d.until("22 21:30:20")
		d.record(dailyOptions, logger.Options{})
		d.until("23 12:00:00")
		d.stop()
		if diff := cmp.Diff(append(packed("20261122"), archiveNames("20261123.00.00")...), list(t, dir)); diff != "" || d.errors.Len() > 0 {
			t.Errorf("(-want +got):\n%s%s", diff, d.errors.String())
		}
		if got := read(t, dir); got.marks != 0 || got.once != 3 || got.longest() < 0 || got.longest() > 2*time.Minute {
			t.Errorf("%v apart, %d of once, %d marks", got.longest(), got.once, got.marks)
		}
	})
}

// TestRecordEnds checks that a recording ends as its options say. Record creates its directory.
func TestRecordEnds(t *testing.T) {
	for _, tt := range []struct {
		name string
		lo   logger.Options
		want []string // archives
	}{
		{"records", logger.Options{EndRecords: 100}, []string{"20261122.22.00"}},
		{"records of the second day", logger.Options{EndRecords: 200}, []string{"20261122.22.00", "20261123.00.00"}},
		{"time", logger.Options{EndTime: time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)}, []string{"20261122.22.00", "20261123.00.00", "20261124.00.00"}},
		{"after", logger.Options{EndAfter: 2 * time.Hour}, []string{"20261122.22.00", "20261123.00.00"}},
		{"midnight", logger.Options{EndTime: time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)}, []string{"20261122.22.00"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "not", "there")
			synctest.Test(t, func(t *testing.T) {
				d := newRecording(t, dir, "22 22:00:30")
				d.record(retention.Options{}, tt.lo)
				if err := <-d.done; err != nil {
					t.Errorf("error %v", err)
				}
				d.end()
				if diff := cmp.Diff(tt.want, d.begun); diff != "" || !slices.Equal(d.events, []string{"Ended"}) {
					t.Errorf("events %q, archives (-want +got):\n%s", d.events, diff)
				}
			})
		})
	}
	err := retention.Record(t.Context(), (&pmapitest.Source{}).Context(), t.TempDir(), logger.Options{}, retention.Options{})
	if !errors.Is(err, logger.ErrNothing) {
		t.Errorf("without metrics: error %v", err)
	}
}
