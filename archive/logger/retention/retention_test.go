package retention_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	"github.com/pcp-go/pcp/archive/logger/retention"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/pdu"
)

// now is the time of most tests.
var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// recordsEach is the number of records that record writes to an archive.
const recordsEach = 5

// record makes an archive that starts at the time in its name, and was last changed an hour later.
func record(t testing.TB, dir, base string) {
	t.Helper()
	start, err := time.Parse("20060102.15.04", base[:len("20060102.15.04")])
	if err != nil {
		t.Fatal(err)
	}
	do := func(err error) {
		if t.Helper(); err != nil {
			t.Fatal(err)
		}
	}
	im, err := logimport.New(filepath.Join(dir, base), archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}})
	do(err)
	_, err = im.AddMetric("x.count", pdu.Desc{PMID: pdu.MakePMID(60, 1, 2), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter})
	do(err)
	if strings.Contains(base, "-") { // a second archive of the same minute
		start = start.Add(30 * time.Second)
	}
	for i := range recordsEach {
		at := start.Add(time.Duration(i) * time.Second)
		do(im.Put("x.count", "", pdu.AtomOf(uint64(at.Unix()))))
		do(im.Write(at))
	}
	do(im.Close())
	for _, suffix := range []string{".0", ".meta", ".index"} {
		do(os.Chtimes(filepath.Join(dir, base+suffix), start.Add(time.Hour), start.Add(time.Hour)))
	}
}

// list returns the names of all files in a directory and below.
func list(t testing.TB, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			path, err = filepath.Rel(dir, path)
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == ".retention/lock" || name == ".retention/recording" })
}

// times returns the times of all records that readers find in the archives of a directory.
func times(t testing.TB, dir string) map[time.Time]bool {
	t.Helper()
	found, err := archive.Options{}.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	read := map[time.Time]bool{}
	for _, files := range found {
		if files.Meta == "" {
			continue // left of an archive that is being removed
		}
		set, err := archive.Open(t.Context(), files.Base)
		if err != nil {
			t.Errorf("%s: %v", files.Base, err)
			continue
		}
		for r, err := range set.Records() {
			if err != nil {
				t.Errorf("%s: %v", files.Base, err)
				break
			}
			if r.Kind == archive.KindResult {
				read[r.Time.UTC()] = true
			}
		}
		set.Close()
	}
	return read
}

func names(base string, suffixes ...string) (all []string) {
	for _, suffix := range suffixes {
		all = append(all, base+suffix)
	}
	return all
}

func archiveNames(bases ...string) (all []string) {
	for _, base := range bases {
		all = append(all, names(base, ".0", ".index", ".meta")...)
	}
	return all
}

var allOptions = retention.Options{Merge: logextract.Options{}.Run, Compress: retention.Gzip(gzip.BestSpeed), Keep: 14 * 24 * time.Hour, Location: time.UTC, Now: now}

var recorded = []string{"20261101.00.10", "20261120.00.10", "20261121.00.10", "20261121.00.10-00", "20261121.13.00", "20261122.00.10", "20261122.09.00",
	"20261123.00.10", "20261123.08.00"}

func TestMaintain(t *testing.T) {
	only := func(change func(o *retention.Options)) retention.Options {
		o := retention.Options{Location: time.UTC, Now: now}
		change(&o)
		return o
	}
	kept := archiveNames("20261123.00.10", "20261123.08.00")
	for _, tt := range []maintainTest{
		{"nothing", only(func(*retention.Options) {}), allRecorded(), nil},
		{"cull", only(func(o *retention.Options) { o.Keep = 40 * time.Hour }), archiveNames(recorded[5:]...),
			[]string{"culled [20261101.00.10] ", "culled [20261120.00.10] ", "culled [20261121.00.10] ", "culled [20261121.00.10-00] ", "culled [20261121.13.00] "}},
		{"merge", only(func(o *retention.Options) { o.Merge = logextract.Options{}.Run }),
			slices.Concat(archiveNames("20261101", "20261120", "20261121", "20261122"), kept),
			[]string{"merged [20261101.00.10] 20261101", "merged [20261120.00.10] 20261120",
				"merged [20261121.00.10 20261121.00.10-00 20261121.13.00] 20261121", "merged [20261122.00.10 20261122.09.00] 20261122"}},
		{"compress", only(func(o *retention.Options) {
			o.Compress, o.CompressAfter = retention.Gzip(gzip.BestSpeed), 14*24*time.Hour
		}), slices.Concat(names("20261101.00.10", ".0.gz", ".index", ".meta.gz"), archiveNames(recorded[1:]...)),
			[]string{"compressed [20261101.00.10.meta] 20261101.00.10.meta.gz", "compressed [20261101.00.10.0] 20261101.00.10.0.gz"}},
		{"all", allOptions,
			slices.Concat(names("20261120", ".0.gz", ".index", ".meta.gz"), names("20261121", ".0.gz", ".index", ".meta.gz"), names("20261122", ".0.gz", ".index", ".meta.gz"), kept), nil},
		{"space", only(func(o *retention.Options) { o.MaxBytes = 1 }), archiveNames("20261123.08.00"), nil},
		{"written", only(func(o *retention.Options) {
			o.MaxBytes, o.Merge = 1, logextract.Options{}.Run
			o.Writing = func(base string) bool { return base == "20261122.00.10" }
		}), archiveNames("20261122.00.10"), nil},
		{"in another zone", only(func(o *retention.Options) {
			o.Merge, o.Now, o.Location = logextract.Options{}.Run, time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC), time.FixedZone("", -5*3600)
		}), slices.Concat(archiveNames("20261101", "20261120", "20261121"), archiveNames(recorded[5:]...)), nil},
	} {
		t.Run(tt.name, tt.run)
	}
}

// allRecorded returns the files of all archives in recorded.
func allRecorded() []string {
	all := archiveNames(recorded...)
	slices.Sort(all)
	return all
}

// A maintainTest maintains a directory with all archives in recorded.
type maintainTest struct {
	name string
	o    retention.Options
	want []string // files
	did  []string // actions, if not nil
}

func (tt *maintainTest) run(t *testing.T) {
	dir := t.TempDir()
	for _, base := range recorded {
		record(t, dir, base)
	}
	other := filepath.Join(dir, "pmlogger.log")
	if err := os.WriteFile(other, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	before := times(t, dir)
	var did []string
	tt.o.Did = func(a retention.Action) { did = append(did, fmt.Sprint(a.Kind, " ", a.From, " ", a.To)) }
	dry := tt.o
	dry.DryRun = true
	if err := retention.Maintain(t.Context(), dir, dry); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(append(allRecorded(), "pmlogger.log"), list(t, dir)); diff != "" {
		t.Errorf("after a dry run (-want +got):\n%s", diff)
	}
	if tt.did != nil {
		if diff := cmp.Diff(tt.did, did); diff != "" {
			t.Errorf("it would do (-want +got):\n%s", diff)
		}
	}
	did = nil
	for range 2 { // the second run finds nothing to do
		if err := retention.Maintain(t.Context(), dir, tt.o); err != nil {
			t.Error(err)
		}
	}
	slices.Sort(tt.want)
	if diff := cmp.Diff(append(tt.want, "pmlogger.log"), list(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(tt.did, did); tt.did != nil && diff != "" {
		t.Errorf("it did (-want +got):\n%s", diff)
	}
	if after := times(t, dir); tt.o.Keep == 0 && tt.o.MaxBytes == 0 && !cmp.Equal(before, after) {
		t.Errorf("%d records, %d before", len(after), len(before))
	}
}

// TestMaintainFails checks that a day with an error stays unchanged, and that other days are
// maintained.
func TestMaintainFails(t *testing.T) {
	fails := errors.New("it fails")
	for _, tt := range []struct {
		name    string
		prepare func(dir string, o *retention.Options) error
		err     error
		merged  string // day
	}{
		{"merge", func(_ string, o *retention.Options) error {
			merge := o.Merge
			o.Merge = func(ctx context.Context, inputs []string, output string) error {
				if strings.Contains(output, "20261121") {
					return errors.Join(fails, os.WriteFile(output+".0", nil, 0o666))
				}
				return merge(ctx, inputs, output)
			}
			return nil
		}, fails, "20261122"},
		{"rewrite", func(_ string, o *retention.Options) error {
			o.Rewrite = func(_ context.Context, base string) error {
				if strings.HasSuffix(base, "20261121.13.00") {
					return fails
				}
				return nil
			}
			return nil
		}, fails, "20261122"},
		{"damage", func(dir string, _ *retention.Options) error {
			return os.WriteFile(filepath.Join(dir, "20261121.13.00.meta"), []byte("xxxxxxxxxxxxxxxx"), 0o666)
		}, pdu.ErrLabel, "20261122"},
		{"damage in a volume", func(dir string, _ *retention.Options) error {
			return overwrite(filepath.Join(dir, "20261121.13.00.0"), -2*56) // length of the last record but one
		}, pdu.ErrLogRec, "20261122"},
		{"a length that is too great", func(dir string, _ *retention.Options) error {
			return overwrite(filepath.Join(dir, "20261121.00.10.0"), (&archive.Label{Version: 3}).Len())
		}, pdu.ErrLogRec, "20261122"},
		{"no output", func(_ string, o *retention.Options) error {
			merge := o.Merge
			o.Merge = func(ctx context.Context, inputs []string, output string) error {
				if strings.Contains(output, "20261121") {
					return os.WriteFile(output+".index", nil, 0o666)
				}
				return merge(ctx, inputs, output)
			}
			return nil
		}, retention.ErrNotMerged, "20261122"},
		{"there is one", func(dir string, _ *retention.Options) error {
			return os.WriteFile(filepath.Join(dir, "20261121.0.xz"), nil, 0o666)
		}, fs.ErrExist, "20261122"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, base := range recorded[2:] {
				record(t, dir, base)
			}
			o := retention.Options{Merge: logextract.Options{}.Run, Location: time.UTC, Now: now}
			if err := tt.prepare(dir, &o); err != nil {
				t.Fatal(err)
			}
			before := slices.DeleteFunc(list(t, dir), func(name string) bool { return strings.HasPrefix(name, tt.merged) })
			if err := retention.Maintain(t.Context(), dir, o); !errors.Is(err, tt.err) {
				t.Errorf("error %v, want %v", err, tt.err)
			}
			want := append(before, archiveNames(tt.merged)...)
			slices.Sort(want)
			if diff := cmp.Diff(want, list(t, dir)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// overwrite damages four bytes of a file at offset off, which counts from the end if it is
// negative.
func overwrite(path string, off int64) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return err
	} else if off < 0 {
		off += info.Size()
	}
	_, err = f.WriteAt([]byte{0x01, 0x02, 0x03, 0x04}, off)
	return err
}

// TestOtherCompressed checks that a file is kept if its compressed file has different content. Its
// day stays unchanged, and other days are maintained.
func TestOtherCompressed(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, "20261121.00.10")
	record(t, dir, "20261121.10.00")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprint(z, "something else")
	z.Close()
	if err := os.WriteFile(filepath.Join(dir, "20261121.00.10.0.gz"), packed.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	before := list(t, dir)
	record(t, dir, "20261122.00.10")
	record(t, dir, "20261123.08.00")
	o := allOptions
	o.Compress = nil
	if err := retention.Maintain(t.Context(), dir, o); !errors.Is(err, retention.ErrOther) || !errors.Is(err, fs.ErrExist) {
		t.Errorf("error %v", err)
	}
	want := slices.Concat(before, archiveNames("20261122", "20261123.08.00"))
	if diff := cmp.Diff(want, list(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCompressorLies checks that no file is lost if a compressor fails without an error.
func TestCompressorLies(t *testing.T) {
	half := func(ctx context.Context, w io.Writer, r io.Reader) error {
		return retention.Gzip(gzip.BestSpeed).Compress(ctx, w, io.LimitReader(r, 100))
	}
	nothing := func(context.Context, io.Writer, io.Reader) error { return nil }
	for name, compress := range map[string]func(context.Context, io.Writer, io.Reader) error{"half": half, "nothing": nothing} {
		dir := t.TempDir()
		record(t, dir, "20261121.00.10")
		record(t, dir, "20261123.08.00")
		before := list(t, dir)
		o := retention.Options{Location: time.UTC, Now: now, Compress: &retention.Compressor{Suffix: ".gz", Compress: compress}}
		if err := retention.Maintain(t.Context(), dir, o); err == nil {
			t.Errorf("%s: no error", name)
		}
		if diff := cmp.Diff(before, list(t, dir)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestLocked(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, "20261121.00.10")
	record(t, dir, "20261121.10.10")
	record(t, dir, "20261123.08.00")
	o := retention.Options{Location: time.UTC, Now: now}
	o.Merge = func(ctx context.Context, inputs []string, output string) error {
		if err := retention.Maintain(ctx, dir, allOptions); !errors.Is(err, retention.ErrLocked) {
			t.Errorf("beside another maintainer: error %v", err)
		}
		return logextract.Options{}.Run(ctx, inputs, output)
	}
	if err := retention.Maintain(t.Context(), dir, o); err != nil {
		t.Error(err)
	}
	pcp := filepath.Join(dir, "lock")
	if err := os.WriteFile(pcp, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := retention.Maintain(t.Context(), dir, allOptions); !errors.Is(err, retention.ErrLocked) {
		t.Errorf("beside PCP's scripts: error %v", err)
	}
	old := time.Now().Add(-31 * time.Minute)
	if err := os.Chtimes(pcp, old, old); err != nil {
		t.Fatal(err)
	}
	if err := retention.Maintain(t.Context(), dir, allOptions); err != nil {
		t.Errorf("after a crash of PCP's scripts: %v", err)
	}
	if _, err := os.Lstat(pcp); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the lock is still there: %v", err)
	}
}

// TestLockedLong checks that a maintainer that runs for a long time keeps its lock.
func TestLockedLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(now))
		dir := t.TempDir()
		record(t, dir, "20261121.00.10")
		record(t, dir, "20261121.10.10")
		record(t, dir, "20261123.08.00")
		o := retention.Options{Location: time.UTC}
		o.Merge = func(ctx context.Context, inputs []string, output string) error {
			time.Sleep(2 * time.Hour)
			synctest.Wait()
			info, err := os.Stat(filepath.Join(dir, "lock"))
			if err != nil || time.Since(info.ModTime()).Abs() > 10*time.Minute {
				t.Errorf("after two hours the lock is taken for one that a crash has left: %v", err)
			}
			return logextract.Options{}.Run(ctx, inputs, output)
		}
		if err := retention.Maintain(t.Context(), dir, o); err != nil {
			t.Error(err)
		}
	})
}

// TestWorkDirectory checks that foreign files in the work directory are neither followed nor
// removed.
func TestWorkDirectory(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	record(t, elsewhere, "20261121.00.10")
	before := list(t, elsewhere)
	if err := os.Symlink(elsewhere, filepath.Join(dir, ".retention")); err != nil {
		t.Skip(err)
	}
	if err := retention.Maintain(t.Context(), dir, allOptions); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a link: error %v", err)
	}
	if diff := cmp.Diff(before, list(t, elsewhere)); diff != "" {
		t.Errorf("a link (-want +got):\n%s", diff)
	}
	work := filepath.Join(elsewhere, ".retention")
	if err := errors.Join(os.Mkdir(work, 0o777), os.WriteFile(filepath.Join(work, "notes"), nil, 0o666)); err != nil {
		t.Fatal(err)
	}
	if err := retention.Maintain(t.Context(), elsewhere, retention.Options{Now: now}); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(append([]string{".retention/notes"}, before...), list(t, elsewhere)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTruncated merges an archive of a killed logger, whose last record is incomplete.
func TestTruncated(t *testing.T) {
	dir := t.TempDir()
	for _, base := range recorded[5:] {
		record(t, dir, base)
	}
	complete := times(t, dir)
	delete(complete, time.Date(2026, 11, 22, 0, 10, recordsEach-1, 0, time.UTC))
	volume := filepath.Join(dir, recorded[5]+".0")
	info, err := os.Stat(volume)
	if err == nil {
		err = os.Truncate(volume, info.Size()-5)
	}
	if err != nil {
		t.Fatal(err)
	}
	o := retention.Options{Merge: logextract.Options{}.Run, Location: time.UTC, Now: now}
	if err := retention.Maintain(t.Context(), dir, o); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(archiveNames("20261122", "20261123.00.10", "20261123.08.00"), list(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(complete, times(t, dir)); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// TestMended checks that an archive repaired by Rewrite is merged with all remaining records.
func TestMended(t *testing.T) {
	dir := t.TempDir()
	for _, base := range recorded[5:] {
		record(t, dir, base)
	}
	complete := times(t, dir)
	delete(complete, time.Date(2026, 11, 22, 0, 10, recordsEach-2, 0, time.UTC))
	if err := overwrite(filepath.Join(dir, recorded[5]+".0"), -2*56); err != nil {
		t.Fatal(err)
	}
	o := retention.Options{Merge: logextract.Options{}.Run, Location: time.UTC, Now: now}
	o.Rewrite = func(ctx context.Context, base string) error {
		_, err := archive.RepairOptions{Discard: true}.Repair(ctx, base)
		return err
	}
	if err := retention.Maintain(t.Context(), dir, o); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(complete, times(t, dir)); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

func TestEnded(t *testing.T) {
	dir := t.TempDir()
	for _, base := range recorded {
		record(t, dir, base)
	}
	before := list(t, dir)
	ctx, end := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	o := allOptions
	o.Keep = 0
	o.Merge = func(ctx context.Context, _ []string, output string) error {
		end(why)
		return errors.Join(context.Cause(ctx), os.WriteFile(output+".0", nil, 0o666))
	}
	o.Rewrite = func(_ context.Context, base string) error { // only Rewrite, since a single archive would be renamed
		if !strings.Contains(base, "20261121") {
			return fs.ErrInvalid
		}
		return nil
	}
	if err := retention.Maintain(ctx, dir, o); !errors.Is(err, why) {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff(before, list(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOtherNames checks that a file with a name in the future is not mistaken for the archive being
// written, and that files whose names are other numbers are ignored.
func TestOtherNames(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, "20261122.00.10")
	record(t, dir, "20261123.00.10")
	var others []string
	for _, name := range []string{"20991231.0", "123456.0", "20261301.00.10.meta", "99999999.meta", "20261101", "20261101.tar.gz", "x20261101.0"} {
		path := filepath.Join(dir, name)
		old := now.Add(-1000 * time.Hour)
		if err := errors.Join(os.WriteFile(path, nil, 0o666), os.Chtimes(path, old, old)); err != nil {
			t.Fatal(err)
		}
		others = append(others, name)
	}
	o := retention.Options{Location: time.UTC, Now: now, Keep: time.Second, MaxBytes: 1}
	if err := retention.Maintain(t.Context(), dir, o); err != nil {
		t.Error(err)
	}
	want := append(archiveNames("20261123.00.10"), others...)
	slices.Sort(want)
	if diff := cmp.Diff(want, list(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBase(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 11, 23, 0, 10, 59, 0, time.FixedZone("", 3600))
	for _, want := range []string{"20261123.00.10", "20261123.00.10-00", "20261123.00.10-01"} {
		base, err := retention.Base(dir, at)
		if err != nil || base != filepath.Join(dir, want) {
			t.Fatalf("%s, %v, want %s", base, err, want)
		}
		if err := os.WriteFile(base+".0.xz", nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNextDay(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	for from, want := range map[string]time.Duration{"2026-03-29 00:00": 23 * time.Hour, "2026-10-25 00:00": 25 * time.Hour, "2026-11-23 23:59": time.Minute} {
		at, err := time.ParseInLocation("2006-01-02 15:04", from, berlin)
		if err != nil {
			t.Fatal(err)
		}
		if got := retention.NextDay(at).Sub(at); got != want {
			t.Errorf("after %s: %v, want %v", from, got, want)
		}
	}
}

// TestNextDaySkipped checks that a day begins later if clocks skip midnight.
func TestNextDaySkipped(t *testing.T) {
	for zone, want := range map[string]string{"America/Sao_Paulo": "2018-11-04 01:00", "America/Havana": "2018-03-11 01:00", "Asia/Beirut": "2018-03-25 01:00", "Pacific/Apia": "2011-12-31 00:00"} {
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Skip(err)
		}
		day, err := time.ParseInLocation("2006-01-02 15:04", want, location)
		if err != nil {
			t.Fatal(err)
		}
		for _, before := range []time.Duration{time.Minute, 10 * time.Hour} {
			if got := retention.NextDay(day.Add(-before)); !got.Equal(day) {
				t.Errorf("%v before %v: %v", before, day, got)
			}
		}
	}
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 22, 20, 0, 0, 0, time.UTC)))
		record(t, dir, "20261122.00.10")
		record(t, dir, "20261122.12.00")
		var log bytes.Buffer
		o := retention.Options{Merge: logextract.Options{}.Run, Location: time.UTC, Logger: slog.New(slog.NewTextHandler(&log, nil))}
		ctx, end := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- retention.Run(ctx, dir, o) }()
		synctest.Wait()
		before := list(t, dir)
		time.Sleep(3 * time.Hour)
		record(t, dir, "20261123.00.00")
		time.Sleep(time.Hour + 9*time.Minute)
		if diff := cmp.Diff(append(before, archiveNames("20261123.00.00")...), list(t, dir)); diff != "" {
			t.Errorf("before its time (-want +got):\n%s", diff)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if diff := cmp.Diff(archiveNames("20261122", "20261123.00.00"), list(t, dir)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if err := os.WriteFile(filepath.Join(dir, "lock"), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		soon := time.Now().Add(48 * time.Hour) // younger than the test's time
		if err := os.Chtimes(filepath.Join(dir, "lock"), soon, soon); err != nil {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if !strings.Contains(log.String(), "maintained by somebody else") {
			t.Errorf("log %q", log.String())
		}
		end()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
}
