package archive_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

func TestFind(t *testing.T) {
	files := fstest.MapFS{}
	for _, name := range []string{
		"a.0", "a.meta", "a.index", "a.2.xz", "a.10", "a.2", "a.b.007.gz", "a.b.meta.zst", "a.b.meta.gz", "dir/x.meta", "dir/x.0",
		"dir/y.meta.xz", "dir/y.0", "dir/novolume.index", "dir/notes.txt", "a.-1", "a.+1", "a.0x1", "a.99999999999", "a.5.txt", "sub.0/z.meta", "empty/readme",
	} {
		files[name] = &fstest.MapFile{}
	}
	const a = "{a a.meta a.index [{0 a.0} {2 a.2} {10 a.10}]}"
	const ab = "{a.b a.b.meta.gz  [{7 a.b.007.gz}]}"
	const xy = "{dir/x dir/x.meta  [{0 dir/x.0}]} {dir/y dir/y.meta.xz  [{0 dir/y.0}]}"
	for _, test := range []struct{ name, want string }{
		{"a", a}, {"a.0", a}, {"a.meta", a}, {"a.index", a}, {"a.2.xz", a}, {"a.2", a}, {"a.0,a.meta", a},
		{"a.b", ab}, {"a.b.7", "file does not exist"}, {"a.b.007", ab}, {"a.b.meta", ab}, {"dir", xy}, {"dir/", xy}, {"dir,a,dir/x", xy + " " + a},
		{"sub.0", "{sub.0/z sub.0/z.meta  []}"}, {"dir/novolume", "{dir/novolume  dir/novolume.index []}"},
		{"b", "file does not exist"}, {"a,,dir", "file does not exist"}, {"a,", a}, {"dir,a,,", xy + " " + a}, {",", "file does not exist"}, {",a", "file does not exist"}, {"a//", a}, {"nodir/a", "file does not exist"},
		{"", "Missing PCP archive log file"}, {"empty", "Missing PCP archive log file"}, {"a.5.txt", "file does not exist"},
	} {
		found, err := archive.Options{FS: files}.Find(test.name)
		got := strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(found), "["), "]")
		if err == nil && got != test.want ||
			err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("Find(%q) = %s, %v, want %s", test.name, got, err, test.want)
		}
	}
}

// TestOpenDamaged damages one file at a time. Open returns an error that names the file.
func TestOpenDamaged(t *testing.T) {
	label := func(change func(*archive.Label)) func([]byte) []byte {
		return func(b []byte) []byte {
			l := archive.Label{Version: 3, PID: 42, Start: epoch, Host: "web1", TimeZone: "UTC", Volume: int(int32(be.Uint32(b[24:])))}
			change(&l)
			out, err := l.Append(nil)
			if err != nil {
				panic(err)
			}
			return append(out, b[808:]...)
		}
	}
	cut := func(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:n] } }
	word := func(at int, v uint32) func([]byte) []byte {
		return func(b []byte) []byte { be.PutUint32(b[at:], v); return b }
	}
	for _, test := range []struct {
		name   string
		damage func([]byte) []byte
		want   error
	}{
		{"nothing", cut(0), pdu.ErrNoData},
		{"4 bytes", cut(4), pdu.ErrNoData},
		{"100 bytes", cut(100), pdu.ErrLabel},
		{"807 bytes", cut(807), pdu.ErrLabel},
		{"label only", cut(808), pdu.ErrNoData},
		{"magic", word(4, 0x50052503), pdu.ErrLabel},
		{"version 1", word(4, 0x50052601), pdu.ErrLabel},
		{"version 4", word(4, 0x50052604), pdu.ErrLabel},
		{"length", word(0, 132), pdu.ErrLabel},
		{"trailer", word(804, 132), pdu.ErrLabel},
		{"volume", word(24, 7), pdu.ErrLabel},
		{"version 2", label(func(l *archive.Label) { l.Version = 2 }), pdu.ErrLabel},
		{"pid", label(func(l *archive.Label) { l.PID = 1 }), pdu.ErrLabel},
		{"host", label(func(l *archive.Label) { l.Host = "web2" }), pdu.ErrLabel},
		{"feature", label(func(l *archive.Label) { l.Features = 1 }), pdu.ErrFeature},
		{"feature of QA", label(func(l *archive.Label) { l.Features = 1 << 31 }), nil},
		{"zone", label(func(l *archive.Label) { l.TimeZone = "CET" }), nil},
		{"start", label(func(l *archive.Label) { l.Start = at(-1) }), nil},
	} {
		for _, file := range []string{"a.meta", "a.index", "a.0"} {
			files, _ := one(3)
			files[file].Data = test.damage(files[file].Data)
			s, err := archive.Options{FS: files}.Open(t.Context(), "a")
			if err == nil {
				s.Close()
			}
			if !errors.Is(err, test.want) {
				t.Errorf("%s of %s: %v, want %v", test.name, file, err, test.want)
			}
			if e, ok := errors.AsType[*archive.Error](err); err != nil && (!ok || e.File == "") {
				t.Errorf("%s of %s: error names no file: %v", test.name, file, err)
			}
		}
	}
	files, _ := one(3)
	files["a.0"].Data = label(func(l *archive.Label) { l.Features = 1 })(files["a.0"].Data)
	s, err := archive.Options{FS: files, AnyFeature: true}.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

func TestOpenIncomplete(t *testing.T) {
	for _, test := range []struct {
		without string
		want    error
	}{{"a.meta", pdu.ErrLogFile}, {"a.0", pdu.ErrLogFile}, {"a.index", nil}} {
		files, _ := one(2)
		delete(files, test.without)
		s, err := archive.Options{FS: files}.Open(t.Context(), "a")
		if !errors.Is(err, test.want) {
			t.Errorf("without %s: %v, want %v", test.without, err, test.want)
		}
		if err == nil {
			diff(t, "without "+test.without, forward(s.Cursor()), []string{"0=1"})
			s.Close()
		}
	}
	files, _ := one(2)
	files["a.meta"].Data = files["a.meta"].Data[:132]
	m := maker{fs: files, base: "a", label: archive.Label{Version: 2}}
	m.text(pdu.TextHelp|pdu.TextPMID, 1, "no metric")
	if _, err := (archive.Options{FS: files}).Open(t.Context(), "a"); !errors.Is(err, pdu.ErrLogRec) {
		t.Errorf("no descriptor: %v", err)
	}
	files, _ = one(2)
	if _, err := (archive.Options{FS: files, MaxMetadata: 10}).Open(t.Context(), "a"); !errors.Is(err, pdu.ErrLogRec) || !strings.Contains(err.Error(), "MaxMetadata") {
		t.Errorf("much metadata: %v", err)
	}
	files["a.meta"].Data = append(files["a.meta"].Data, 0, 0)
	if _, err := (archive.Options{FS: files}).Open(t.Context(), "a"); !errors.Is(err, pdu.ErrLogRec) {
		t.Errorf("torn metadata: %v", err)
	}
	s, err := archive.Options{FS: files, Growing: true}.Open(t.Context(), "a")
	if err != nil {
		t.Fatalf("torn metadata of a growing archive: %v", err)
	}
	s.Close()
}

func TestOpenSetErrors(t *testing.T) {
	files, _ := one(3)
	m := newMaker(files, "b", 3, epoch)
	delete(files, "b.index")
	m.value(0, at(0), 1)
	if _, err := (archive.Options{FS: files}).Open(t.Context(), "a,b"); !errors.Is(err, pdu.ErrLogOverlap) {
		t.Errorf("equal start: %v", err)
	}
	m = newMaker(files, "c", 3, at(100))
	m.value(0, at(100), 1)
	for name, f := range files {
		if strings.HasPrefix(name, "c.") {
			copy(f.Data[36:], "web9")
		}
	}
	delete(files, "c.index")
	if _, err := (archive.Options{FS: files}).Open(t.Context(), "a,c"); !errors.Is(err, pdu.ErrLogHost) {
		t.Errorf("other host: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	files["c.0.gz"] = &fstest.MapFile{Data: gzipped(t, files["c.0"].Data)}
	delete(files, "c.0")
	if _, err := (archive.Options{FS: files}).Open(ctx, "c"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func gzipped(t *testing.T, b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// packers are the commands that compress to a suffix.
var packers = map[string][]string{
	".bz2": {"bzip2", "-c"}, ".bz": {"bzip2", "-c"}, ".gz": {"gzip", "-c"}, ".z": {"gzip", "-c"}, ".Z": {"gzip", "-c"},
	".xz": {"xz", "-c"}, ".lzma": {"xz", "-c", "--format=lzma"}, ".zst": {"zstd", "-c"},
}

// onDisk writes the files of an archive to a directory, compressed by a command.
func onDisk(t *testing.T, files fstest.MapFS, suffix string) (dir string) {
	dir = t.TempDir()
	for name, f := range files {
		b := f.Data
		if suffix != "" {
			cmd := exec.Command(pcptest.Optional(t, packers[suffix][0]), packers[suffix][1:]...)
			cmd.Stdin = bytes.NewReader(b)
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%s: %v", cmd, err)
			}
			b, name = out, name+suffix
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCompressed(t *testing.T) {
	for suffix := range packers {
		t.Run(suffix, func(t *testing.T) {
			files, _ := threeVolumes(3)
			delete(files, "a.index")
			dir := onDisk(t, files, suffix)
			tmp := t.TempDir()
			opts := archive.Options{TempDir: tmp}
			for _, o := range []archive.Options{opts, {TempDir: tmp, FS: os.DirFS(dir)}} {
				name := "a"
				if o.FS == nil {
					name = filepath.Join(dir, "a.0")
				}
				s, err := o.Open(t.Context(), name)
				if err != nil {
					t.Fatal(err)
				}
				diff(t, "records", back(t, s.Cursor()), []string{"40=4", "35 mark", "30=3", "20=2", "10=1", "0=0"})
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			if left, _ := os.ReadDir(tmp); len(left) != 0 {
				t.Errorf("left in TempDir: %v", left)
			}
		})
	}
}

// TestUnpackShared opens two sets that share an unpacked file until both are closed.
func TestUnpackShared(t *testing.T) {
	files, _ := one(3)
	delete(files, "a.index")
	dir := onDisk(t, files, "")
	packed := filepath.Join(dir, "a.0.gz")
	if err := os.WriteFile(packed, gzipped(t, files["a.0"].Data), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "a.0")); err != nil {
		t.Fatal(err)
	}
	var sets []*archive.Set
	for range 3 {
		s, err := archive.Open(t.Context(), filepath.Join(dir, "a"))
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, s)
	}
	if n := archive.SharedFiles(); n != 1 {
		t.Errorf("%d unpacked files, want 1", n)
	}
	for i, s := range sets {
		diff(t, fmt.Sprint("set ", i), forward(s.Cursor()), []string{"0=1"})
		c := s.Cursor()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := c.Next(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
	}
	if n := archive.SharedFiles(); n != 0 {
		t.Errorf("%d unpacked files after Close", n)
	}
	// A decompression bomb, garbage, and a limit.
	bomb := gzipped(t, append(slices.Clone(files["a.0"].Data), make([]byte, 50<<20)...))
	for name, test := range map[string]struct {
		data []byte
		want string
	}{
		"bomb":    {bomb, "unpacks to more than 1048576 bytes"},
		"garbage": {[]byte("not compressed at all"), "cannot be unpacked"},
		"cut":     {bomb[:len(bomb)/100], "cannot be unpacked"},
	} {
		if err := os.WriteFile(packed, test.data, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := archive.Options{MaxUnpacked: 1 << 20}.Open(t.Context(), filepath.Join(dir, "a"))
		if e, ok := errors.AsType[*archive.Error](err); !ok || e.File != packed || !errors.Is(err, pdu.ErrLogRec) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := archive.SharedFiles(); n != 0 {
		t.Errorf("%d unpacked files after errors", n)
	}
}

func TestMissingCommand(t *testing.T) {
	files, _ := one(3)
	files["a.0.xz"] = files["a.0"]
	delete(files, "a.0")
	t.Setenv("PATH", t.TempDir())
	_, err := archive.Options{FS: files}.Open(t.Context(), "a")
	if !errors.Is(err, pdu.ErrLogRec) || !strings.Contains(err.Error(), "command xz") {
		t.Errorf("without xz: %v", err)
	}
}

func TestBadXz(t *testing.T) {
	xz := pcptest.Optional(t, "xz")
	files, _ := one(3)
	files["a.0.xz"] = files["a.0"]
	delete(files, "a.0")
	_, err := archive.Options{FS: files}.Open(t.Context(), "a")
	if e, ok := errors.AsType[*archive.Error](err); !ok || e.File != "a.0.xz" || !errors.Is(err, pdu.ErrLogRec) {
		t.Errorf("not compressed: %v", err)
	}
	pack := exec.CommandContext(t.Context(), xz, "-0c")
	pack.Stdin = bytes.NewReader(append(slices.Clone(files["a.0.xz"].Data), make([]byte, 50<<20)...))
	bomb, err := pack.Output()
	if err != nil {
		t.Fatal(err)
	}
	files["a.0.xz"] = &fstest.MapFile{Data: bomb}
	_, err = archive.Options{FS: files, MaxUnpacked: 1 << 20}.Open(t.Context(), "a")
	if e, ok := errors.AsType[*archive.Error](err); !ok || e.File != "a.0.xz" || !errors.Is(err, pdu.ErrLogRec) ||
		!strings.Contains(err.Error(), "unpacks to more than 1048576 bytes") {
		t.Errorf("a bomb: %v", err)
	}
}

// TestLinks follows symbolic links. They may lead anywhere except out of an os.Root, and only to
// regular files.
func TestLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege")
	}
	files, _ := one(3)
	delete(files, "a.index")
	dir, outside := onDisk(t, files, ""), onDisk(t, files, "")
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, test := range []struct{ target, plain, confined string }{
		{filepath.Join(outside, "a.0"), "", "escapes"},
		{filepath.Join(outside, "nothing"), "no such file", "escapes"},
		{outside, "not a regular file", "escapes"},
		{"/dev/zero", "not a regular file", "escapes"},
	} {
		link := filepath.Join(dir, "a.0")
		if err := errors.Join(os.Remove(link), os.Symlink(test.target, link)); err != nil {
			t.Fatal(err)
		}
		for _, try := range []struct {
			o          archive.Options
			name, want string
		}{{archive.Options{}, filepath.Join(dir, "a"), test.plain}, {archive.Options{FS: root.FS()}, "a", test.confined}} {
			s, err := try.o.Open(t.Context(), try.name)
			if err == nil {
				s.Close()
			}
			if e, ok := errors.AsType[*archive.Error](err); (err == nil) != (try.want == "") ||
				err != nil && (!ok || !strings.HasSuffix(e.File, "a.0") || !strings.Contains(err.Error(), try.want)) {
				t.Errorf("%s: %v, want %q", test.target, err, try.want)
			}
		}
	}
}

// TestMetadataOnly opens archives that have only metadata, or whose other files are damaged.
func TestMetadataOnly(t *testing.T) {
	files, _ := threeVolumes(3)
	delete(files, "a.index")
	whole := open(t, files, "a")
	only := fstest.MapFS{"a.meta": files["a.meta"]}
	damaged := fstest.MapFS{"a.meta": files["a.meta"], "a.index": {Data: []byte("x")}, "a.0": {Data: []byte("y")}}
	for name, fsys := range map[string]fstest.MapFS{"whole": files, "only": only, "damaged": damaged} {
		s, err := archive.Options{FS: fsys, MetadataOnly: true}.Open(t.Context(), "a")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		defer s.Close()
		if l := s.Label(); l.Host != whole.Label().Host || !l.Start.Equal(whole.Start()) {
			t.Errorf("%s: label %+v", name, l)
		}
		diff(t, name, slices.Collect(s.Metadata().Metrics()), slices.Collect(whole.Metadata().Metrics()))
		if _, err := s.End(); !errors.Is(err, pdu.ErrLogFile) {
			t.Errorf("%s: end: %v", name, err)
		}
		c := s.Cursor()
		if err := c.Next(); !errors.Is(err, pdu.ErrLogFile) {
			t.Errorf("%s: next record: %v", name, err)
		}
		if err := c.SeekEnd(); !errors.Is(err, pdu.ErrLogFile) {
			t.Errorf("%s: going to the end: %v", name, err)
		}
		if err := s.Refresh(t.Context()); err != nil {
			t.Errorf("%s: refresh: %v", name, err)
		}
	}
	if _, err := (archive.Options{FS: only}).Open(t.Context(), "a"); !errors.Is(err, pdu.ErrLogFile) {
		t.Errorf("without MetadataOnly: %v", err)
	}
	if _, err := (archive.Options{FS: fstest.MapFS{"a.0": files["a.0"]}, MetadataOnly: true}).Open(t.Context(), "a"); !errors.Is(err, pdu.ErrLogFile) {
		t.Errorf("without metadata: %v", err)
	}
}

// TestIsReplaced checks that a set notices when its name stands for other archives, but not when
// they have only grown.
func TestIsReplaced(t *testing.T) {
	dir := t.TempDir()
	write := func(base string, at int64) *archive.Writer {
		t.Helper()
		w, err := archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC"}}.Create(base)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteMetric(valueMetric); err != nil {
			t.Fatal(err)
		}
		if err := w.WriteMark(time.Unix(at, 0)); err != nil {
			t.Fatal(err)
		}
		return w
	}
	base := filepath.Join(dir, "a")
	w := write(base, 1e9)
	open := func(name string) *archive.Set {
		t.Helper()
		s, err := archive.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	one, all := open(base), open(dir)
	check := func(what string, wantOne, wantAll bool) {
		t.Helper()
		if gotOne, gotAll := one.IsReplaced(), all.IsReplaced(); gotOne != wantOne || gotAll != wantAll {
			t.Errorf("%s: the archive %v, the directory %v, want %v and %v", what, gotOne, gotAll, wantOne, wantAll)
		}
	}
	check("at first", false, false)
	w.NewVolume()
	if err := w.WriteMetric(archive.Metric{Names: []string{"grown"}, Desc: pdu.Desc{PMID: 77, Type: pdu.Type32, InDom: pdu.NoInDom}}); err != nil {
		t.Fatal(err)
	}
	if err := w.WriteMark(time.Unix(1e9+1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	check("grown", false, false)
	if err := write(filepath.Join(dir, "b"), 2e9).Close(); err != nil {
		t.Fatal(err)
	}
	check("another archive in the directory", false, true)
	for _, suffix := range []string{".0", ".1", ".meta", ".index"} {
		if err := os.Rename(base+suffix, filepath.Join(dir, "c")+suffix); err != nil {
			t.Fatal(err)
		}
	}
	check("renamed", true, true)
	if err := write(base, 1e9).Close(); err != nil {
		t.Fatal(err)
	}
	check("another one in its place", true, true)
}
