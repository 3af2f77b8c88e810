package logrewrite

import (
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// writeInPlace changes an archive.
func writeInPlace(t *testing.T, base, rules string, spoil func(p *Plan)) error {
	t.Helper()
	set, err := archive.Open(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	p, err := Options{}.Plan(set)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Parse("rules", strings.NewReader(rules))
	if err := errors.Join(err, p.Add(r), p.Check()); err != nil {
		t.Fatal(err)
	}
	if spoil != nil {
		spoil(p)
	}
	return p.WriteInPlace(t.Context())
}

const (
	changes = "global { hostname -> other } metric 60.0.* { pmid -> 60.9.* }" // changes in each file
	before  = "3 " + unchanged
)

// after returns the dump of the archive after the changes.
func after() string { return strings.NewReplacer("web1", "other", "60.0.4", "60.9.4").Replace(before) }

// packFirst compresses the metadata and the first volume of an archive.
func packFirst(t *testing.T, base string) {
	t.Helper()
	for _, path := range []string{base + ".meta", base + ".0"} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(path + ".gz")
		if err != nil {
			t.Fatal(err)
		}
		z := gzip.NewWriter(f)
		_, err = z.Write(b)
		if err := errors.Join(err, z.Close(), f.Close(), os.Remove(path)); err != nil {
			t.Fatal(err)
		}
	}
}

// contents returns the contents of all files of a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(b)
	}
	return all
}

// TestWriteInPlace checks that an archive is replaced, and unchanged after an error.
func TestWriteInPlace(t *testing.T) {
	in := input(t, 3)
	check := func(want string) {
		t.Helper()
		if diff := cmp.Diff(want, dump(t, in)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if all, _ := filepath.Glob(filepath.Join(filepath.Dir(in), "*")); len(all) != 4 {
			t.Errorf("files: %v", all)
		}
	}
	if err := writeInPlace(t, in, "metric boot.time { units -> 0,1,0,0,NSEC,0 rescale type -> u32 }", nil); err == nil {
		t.Error("no error of a value that is too large")
	}
	check(before)
	// Remove the index while the archive is written, so that keep fails after it kept other files.
	index, err := os.ReadFile(in + ".index")
	if err != nil {
		t.Fatal(err)
	}
	gone := func(p *Plan) {
		p.step = func(string) { p.step = nil; os.Remove(in + ".index") }
	}
	if err := writeInPlace(t, in, "metric nosuch { delete }", gone); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without an index: %v", err)
	}
	if err := os.WriteFile(in+".index", index, 0o666); err != nil {
		t.Fatal(err)
	}
	check(before)
	if err := writeInPlace(t, in, changes, nil); err != nil {
		t.Fatal(err)
	}
	check(after())
}

// TestInPlaceEachStep checks the files before each step, as after a kill: the archive is complete
// under its name or, if that has no metadata, under the ".old" name.
func TestInPlaceEachStep(t *testing.T) {
	for _, packed := range []bool{false, true} {
		in := input(t, 3)
		if packed {
			packFirst(t, in)
		}
		steps, meanwhile := 0, 0
		look := func(step string) {
			steps++
			metas, err := filepath.Glob(in + ".meta*")
			if err != nil {
				t.Fatal(err)
			}
			if len(metas) > 0 {
				if got := dump(t, in); got != before && got != after() {
					t.Errorf("packed %v, before %s there is:\n%s", packed, step, got)
				}
				return
			}
			meanwhile++
			olds, err := filepath.Glob(in + ".old*.meta*")
			if err != nil || len(olds) != 1 {
				t.Fatalf("packed %v, before %s there is %q, %v", packed, step, olds, err)
			}
			base, _, _ := strings.Cut(olds[0], ".meta")
			if got := dump(t, base); got != before {
				t.Errorf("packed %v, before %s the old one is:\n%s", packed, step, got)
			}
		}
		if err := writeInPlace(t, in, changes, func(p *Plan) { p.step = look }); err != nil {
			t.Fatal(err)
		}
		look("the end")
		if steps < 12 || meanwhile < 4 {
			t.Errorf("packed %v: %d steps, %d without metadata", packed, steps, meanwhile)
		}
		if all := contents(t, filepath.Dir(in)); len(all) != 4 {
			t.Errorf("packed %v: there are %d files", packed, len(all))
		}
	}
}

// TestInPlaceFails makes the last steps fail and checks that only the old archive is left,
// unchanged.
func TestInPlaceFails(t *testing.T) {
	for _, packed := range []bool{false, true} {
		for _, suffix := range []string{".0", ".1", ".index", ".meta"} {
			in := input(t, 3)
			if packed {
				packFirst(t, in)
			}
			want := contents(t, filepath.Dir(in))
			spoil := func(step string) {
				if step != "rename "+in+suffix {
					return
				}
				fresh, err := filepath.Glob(in + ".new*" + suffix)
				if err != nil || len(fresh) != 1 {
					t.Fatalf("before %s: %q, %v", step, fresh, err)
				}
				if err := os.Remove(fresh[0]); err != nil {
					t.Fatal(err)
				}
			}
			if err := writeInPlace(t, in, changes, func(p *Plan) { p.step = spoil }); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("packed %v, no new file %s: error %v", packed, suffix, err)
			}
			if diff := cmp.Diff(want, contents(t, filepath.Dir(in))); diff != "" {
				t.Errorf("packed %v, no new file %s (-want +got):\n%s", packed, suffix, diff)
			}
		}
	}
}

// TestInPlaceModes checks that files keep their permissions, even if they were compressed. A new
// file has those of the metadata.
func TestInPlaceModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("has no such permissions")
	}
	in := input(t, 3)
	packFirst(t, in)
	for suffix, mode := range map[string]fs.FileMode{".meta.gz": 0o600, ".0.gz": 0o640, ".1": 0o444} {
		if err := os.Chmod(in+suffix, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(in + ".index"); err != nil {
		t.Fatal(err)
	}
	if err := writeInPlace(t, in, changes, nil); err != nil {
		t.Fatal(err)
	}
	for suffix, mode := range map[string]fs.FileMode{".meta": 0o600, ".index": 0o600, ".0": 0o640, ".1": 0o444} {
		if info, err := os.Stat(in + suffix); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v, want %v", suffix, info, err, mode)
		}
	}
}

// TestInPlaceNothingLeft checks that an archive stays unchanged if the rules leave no record.
func TestInPlaceNothingLeft(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a")
	w, err := archive.WriterOptions{Label: archive.Label{Version: 3, PID: 1, Host: "web1", TimeZone: "UTC"}}.Create(base)
	if err != nil {
		t.Fatal(err)
	}
	var b pdu.ResultWriter
	b.Begin(123)
	b.Uint32(pdu.NoInst, 7)
	r, err := b.Result()
	if err != nil {
		t.Fatal(err)
	}
	r.Time = time.Unix(1_800_000_000, 0)
	desc := pdu.Desc{PMID: 123, Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemInstant}
	if err := errors.Join(w.WriteMetric(archive.Metric{Desc: desc, Names: []string{"a.b"}}), w.WriteResult(r), w.Close()); err != nil {
		t.Fatal(err)
	}
	before := paths(t, base)
	if err := writeInPlace(t, base, "metric a.b { delete }", nil); !errors.Is(err, pdu.ErrNoData) {
		t.Errorf("error %v", err)
	}
	if after := paths(t, base); len(before) != 3 || !slices.Equal(before, after) {
		t.Errorf("files %q were there, and there are %q", before, after)
	}
}

// paths returns the files of an archive.
func paths(t *testing.T, base string) []string {
	t.Helper()
	found, err := filepath.Glob(base + "*")
	if err != nil {
		t.Fatal(err)
	}
	return found
}
