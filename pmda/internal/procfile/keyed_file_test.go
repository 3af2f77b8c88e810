package procfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// manyNumbers returns the text of a file that gives n50 the value 50 plus something.
func manyNumbers(n, plus int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "n%d %d\n", i, i+plus)
	}
	return b.String()
}

// TestKeyedFile: each reading reads as much of the file as the last one needed, until a caller
// requests more.
func TestKeyedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	f := KeyedFile{File: &File{Path: path}}
	early, late, never := f.Index("n50"), f.Index("n1900"), f.Index("none")
	head := func(plus int) int { return len(manyNumbers(51, plus)) + spare } // after a reading up to n50
	const whole, any = 0, -1
	for _, tt := range []struct {
		name  string
		lines int
		plus  int
		wants []int
		want  string
		reads int // bytes at first
	}{
		{"first", 2000, 0, []int{early}, "50", whole},
		{"again", 2000, 7, []int{early}, "57", head(0)},
		{"more digits", 2000, 70_000, []int{early}, "70050", head(7)},
		{"later as well", 2000, 7, []int{early, late}, "57 1907", any},
		{"all that are later", 2000, 7, []int{late}, "1907", any},
		{"absent", 2000, 7, []int{never, early}, "- 57", any},
		{"after absent", 2000, 7, []int{early}, "57", whole},
		{"shorter", 51, 7, []int{early, late}, "57 -", whole},
		{"none wanted", 2000, 7, nil, "", whole},
		{"after none", 2000, 7, []int{early}, "57", spare},
		{"empty", 0, 7, []int{early}, "-", any},
		{"longer", 2000, 9, []int{late, early}, "1909 59", whole},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := manyNumbers(tt.lines, tt.plus)
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			if err := f.Read(); err != nil {
				t.Fatal(err)
			}
			want := tt.reads
			if want == whole {
				want = len(text)
			}
			if want != any && len(f.text) != want {
				t.Errorf("%d bytes of %d are read at first, want %d", len(f.text), len(text), want)
			}
			var got []string
			for _, at := range tt.wants {
				got = append(got, found(f.Get(at)))
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("got %s, want %s", s, tt.want)
			}
		})
	}
	f.Read()
	f.Get(early)
	if n := testing.AllocsPerRun(100, func() { f.Read(); f.Get(early) }); n != 0 {
		t.Errorf("%v allocations a reading", n)
	}
}

// TestKeyedFileFails: a file that cannot be read on has no more numbers, until the next
// reading.
func TestKeyedFileFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(manyNumbers(2000, 0)), 0o666); err != nil {
		t.Fatal(err)
	}
	f := KeyedFile{File: &File{Path: path}}
	early, late := f.Index("n50"), f.Index("n1900")
	for range 2 {
		if err := f.Read(); err != nil {
			t.Fatal(err)
		}
		f.Get(early)
	}
	f.h.close()
	if _, ok := f.Get(late); ok || f.h != nil {
		t.Error("a number of a file that cannot be read")
	}
	if v, ok := f.Get(early); !ok || v != 50 {
		t.Error("what had been read is lost", v, ok)
	}
	if err := f.Read(); err != nil {
		t.Fatal(err)
	}
	if v, ok := f.Get(late); !ok || v != 1900 {
		t.Error("opened again:", v, ok)
	}
}
