package archive_test

import (
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// These constants select the archives that TestInteropSuiteDamaged damages, and how often.
const (
	damagedSize  = 1_000_000 // bytes, with -all
	damagedTimes = 200
	sampledSize  = 3_000
	sampledTimes = 5
)

// TestInteropSuiteDamaged reads the archives of the test suite, cut at the ends of records and
// elsewhere and with flipped bits. Reading does not panic, gives errors that name the place, and
// takes bounded memory and time. Reading forward gives the good records before the damage, and
// reading backward those after it.
func TestInteropSuiteDamaged(t *testing.T) {
	pcptest.Need(t, filepath.Join(suite, "omnibus_v3.meta"))
	size, times := sampledSize, sampledTimes
	if *all {
		size, times = damagedSize, damagedTimes
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var archives, sound, cases, unopened atomic.Int64
	t.Cleanup(func() {
		runtime.ReadMemStats(&after)
		n := max(cases.Load(), 1)
		perCase := int64(after.TotalAlloc-before.TotalAlloc) / n
		t.Logf("%d archives, %d of them whole, %d cases, %d of which cannot be opened, %d bytes allocated for each",
			archives.Load(), sound.Load(), n, unopened.Load(), perCase)
		if sound.Load()*2 < archives.Load() {
			t.Errorf("too few archives are whole")
		}
		if perCase > 16<<20 {
			t.Errorf("%d bytes allocated for each of %d cases", perCase, n)
		}
	})
	for _, base := range metaBases(t) {
		t.Run(strings.TrimPrefix(base, filepath.Dir(suite)+"/"), func(t *testing.T) {
			t.Parallel()
			d := loadDamaged(t, base, size)
			if d == nil {
				return
			}
			archives.Add(1)
			if d.sound {
				sound.Add(1)
			}
			for _, name := range d.names() {
				d.damage(name, times)
			}
			cases.Add(d.cases)
			unopened.Add(d.unopened)
		})
	}
}

// metaBases are the base names of all archives of the test-suite, damaged ones too.
func metaBases(t *testing.T) (bases []string) {
	t.Helper()
	for _, pattern := range []string{"archives/*.meta*", "archives/*/*.meta*", "badarchives/*.meta*"} {
		paths, err := filepath.Glob(filepath.Join(filepath.Dir(suite), pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			bases = append(bases, path[:strings.LastIndex(path, ".meta")])
		}
	}
	return slices.Compact(bases)
}

// A damagedArchive is an archive in memory with one damaged file.
type damagedArchive struct {
	*testing.T
	base  string
	files fstest.MapFS
	ends  map[string][]int // where the records of each file end, the label first
	whole map[string][]byte
	read  atomic.Int64 // bytes
	good  reading      // of the archive as it was
	sound bool         // whether it was read to the end, so that what is read when it is damaged can be told

	volumes  []string
	cases    int64
	unopened int64
}

// loadDamaged loads an archive of the test suite and unpacks all its files. It returns nil if the
// archive has more than size bytes or a file without a label.
func loadDamaged(t *testing.T, base string, size int) *damagedArchive {
	found, err := archive.Options{}.Find(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a name such as x.meta.bad is not of an archive
	}
	if err != nil || len(found) != 1 {
		t.Fatalf("found %d, %v", len(found), err)
	}
	d := &damagedArchive{T: t, base: filepath.Base(base), files: fstest.MapFS{}, ends: map[string][]int{}, whole: map[string][]byte{}}
	total := 0
	for _, path := range append(volumePaths(found[0]), found[0].Meta, found[0].Index) {
		if path == "" {
			continue
		}
		if info, err := os.Stat(path); err != nil || info.Size() > int64(size) {
			return nil
		}
		name, data := d.load(path)
		if total += len(data); total > size || len(d.ends[name]) == 0 {
			return nil
		}
		d.files[name], d.whole[name] = &fstest.MapFile{Data: data}, data
		if suffix := filepath.Ext(name); suffix != ".meta" && suffix != ".index" {
			d.volumes = append(d.volumes, name)
		}
	}
	d.good = readAll(t, d.files, d.base)
	records := 0
	for _, v := range d.volumes {
		records += len(d.ends[v]) - 1
	}
	d.sound = d.good.open == nil && d.good.next == nil && d.good.records == records && d.good.back == records
	return d
}

// load loads a file and notes where its records end. It returns the name without the suffix of a
// compression.
func (d *damagedArchive) load(path string) (name string, data []byte) {
	f, err := archive.Options{AnyFeature: true}.OpenFile(d.Context(), path)
	if err != nil {
		d.Fatal(err)
	}
	defer f.Close()
	name = filepath.Base(path)
	for _, suffix := range []string{".xz", ".bz2", ".gz"} {
		name = strings.TrimSuffix(name, suffix)
	}
	var ends []int
	for r, err := range f.Records() {
		if err != nil {
			break // some are damaged
		}
		ends = append(ends, int(r.Offset)+len(r.Raw))
		data = append(data, r.Raw...)
	}
	if name == filepath.Base(path) {
		if data, err = os.ReadFile(path); err != nil {
			d.Fatal(err)
		}
	}
	d.ends[name] = ends
	return name, data
}

// names returns the sorted names of the files, so that the damage is the same each time.
func (d *damagedArchive) names() []string {
	var names []string
	for name := range d.files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// damage reads the archive many times, each time with one file truncated or changed.
func (d *damagedArchive) damage(name string, times int) {
	whole := d.whole[name]
	r := rand.New(rand.NewPCG(uint64(len(whole)), 6))
	cuts := slices.Clone(d.ends[name])
	for range times {
		cuts = append(cuts, r.IntN(len(whole)))
	}
	for _, cut := range cuts {
		got := d.readWith(name, whole[:cut:cut])
		d.checkCut(name, cut, got)
		if d.Failed() {
			d.Fatalf("%s cut at %d", name, cut)
		}
	}
	for range times {
		b := slices.Clone(whole)
		at, bit := r.IntN(len(b)), r.IntN(8)
		b[at] ^= 1 << bit
		got := d.readWith(name, b)
		d.checkFlip(name, at, got)
		if d.Failed() {
			d.Fatalf("%s with bit %d flipped at %d", name, bit, at)
		}
	}
}

// readWith reads the archive with other data in a file.
func (d *damagedArchive) readWith(name string, data []byte) reading {
	d.files[name] = &fstest.MapFile{Data: data}
	d.read.Store(0)
	r := readAll(d, countingFS{d.files, &d.read}, d.base)
	d.files[name] = &fstest.MapFile{Data: d.whole[name]}
	d.cases++
	if r.open != nil {
		d.unopened++
	}
	total := int64(0)
	for _, whole := range d.whole {
		total += int64(len(whole))
	}
	const passes, seeks, window = 10, 40, 256 << 10
	if n := d.read.Load(); n > passes*total+seeks*window {
		d.Errorf("%d bytes read of %d", n, total)
	}
	return r
}

// checkCut checks what was read of the archive with a file cut.
func (d *damagedArchive) checkCut(name string, cut int, got reading) {
	ends := d.ends[name]
	complete, last := 0, 0 // records
	for complete < len(ends) && ends[complete] <= cut {
		last = ends[complete]
		complete++
	}
	whole := cut == last
	v := slices.Index(d.volumes, name)
	switch {
	case complete == 0, complete == 1 && whole && v <= 0: // nothing but a part of the label, or all of it
		if v <= 0 && !errors.Is(got.open, pdu.ErrLabel) && !errors.Is(got.open, pdu.ErrNoData) {
			d.Errorf("open: %v", got.open)
		}
	case strings.HasSuffix(name, ".meta"):
		d.checkCutMeta(name, last, complete, whole, got)
	case !d.sound:
	case v < 0:
		d.checkSame(got)
	default:
		lost := len(ends) - complete
		before := 0
		for _, v := range d.volumes[:v] {
			before += len(d.ends[v]) - 1
		}
		if got.back != d.good.records-lost {
			d.Errorf("%d records read backward, want %d", got.back, d.good.records-lost)
		}
		if cut-last < 4 { // as if nothing were there
			if got.records != d.good.records-lost || got.next != nil {
				d.Errorf("%d records read, then %v; want %d", got.records, got.next, d.good.records-lost)
			}
			return
		}
		if want := before + complete - 1; got.records != want {
			d.Errorf("%d records read, want %d", got.records, want)
		}
		d.checkPlace(got.next, name, last, complete)
	}
}

// checkCutMeta checks what was read with metadata that was truncated after the last complete
// record.
func (d *damagedArchive) checkCutMeta(name string, last, complete int, whole bool, got reading) {
	if d.good.open != nil {
		return // an earlier file has another error
	}
	if whole {
		if got.open == nil && d.sound {
			d.checkSame(got)
		}
		return
	}
	d.checkPlace(got.open, name, last, complete)
}

// checkFlip checks what was read of the archive with a bit of a file flipped.
func (d *damagedArchive) checkFlip(name string, at int, got reading) {
	ends := d.ends[name]
	k, _ := slices.BinarySearch(ends, at+1) // the record, 0 is the label
	if !d.sound || k == 0 {
		return
	}
	v := slices.Index(d.volumes, name)
	if v < 0 {
		if got.open == nil {
			d.checkSame(got)
		} else if strings.HasSuffix(name, ".index") {
			d.Errorf("open: %v", got.open)
		}
		return
	}
	before, after := k-1, len(ends)-1-k
	for i, v2 := range d.volumes {
		if n := len(d.ends[v2]) - 1; i < v {
			before += n
		} else if i > v {
			after += n
		}
	}
	if got.records < before || got.back < after {
		d.Errorf("%d records read forward and %d back, want at least %d and %d", got.records, got.back, before, after)
	}
}

// checkSame checks that the records are the same as without damage.
func (d *damagedArchive) checkSame(got reading) {
	if got.open != nil || got.next != nil || got.records != d.good.records || got.back != d.good.back || got.seekErrors > 0 {
		d.Errorf("open: %v; %d records, then %v, and %d back; %d seeks failed; want %d records", got.open, got.records, got.next,
			got.back, got.seekErrors, d.good.records)
	}
}

// checkPlace checks that an error is about an incomplete record.
func (d *damagedArchive) checkPlace(err error, name string, offset, record int) {
	e, ok := errors.AsType[*archive.Error](err)
	if !ok || !errors.Is(err, pdu.ErrLogRec) || !errors.Is(err, io.ErrUnexpectedEOF) || e.File != name || e.Offset != int64(offset) || e.Record != record {
		d.Errorf("error %v, want one about record %d at offset %d", err, record, offset)
	}
}

// A countingFS counts the bytes that are read.
type countingFS struct {
	fstest.MapFS
	read *atomic.Int64
}

func (c countingFS) Open(name string) (fs.File, error) {
	f, err := c.MapFS.Open(name)
	if r, ok := f.(io.ReaderAt); ok && err == nil {
		return countingFile{f, r, c.read}, nil
	}
	return f, err
}

type countingFile struct {
	fs.File
	at   io.ReaderAt
	read *atomic.Int64
}

func (c countingFile) ReadAt(b []byte, off int64) (int, error) {
	n, err := c.at.ReadAt(b, off)
	c.read.Add(int64(n))
	return n, err
}
