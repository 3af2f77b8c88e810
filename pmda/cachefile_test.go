package pmda_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

const cacheHeader = "2 0 2147483647\n"

// cacheOf returns a cache that has loaded records.
func cacheOf(t *testing.T, records string) *pmda.Cache[string] {
	t.Helper()
	c := &pmda.Cache[string]{File: writeFile(t, cacheHeader+records)}
	if n, err := c.Load(); n != strings.Count(records, "\n") || err != nil {
		t.Fatal(n, err)
	}
	return c
}

func writeFile(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "251.0")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestCacheFile checks when Save and Sync write, and what they write.
func TestCacheFile(t *testing.T) {
	c := &pmda.Cache[int]{File: filepath.Join(t.TempDir(), "config", "pmda", "251.0")}
	if n, err := c.Load(); n != 0 || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("load of no file: %d, %v", n, err)
	}
	if n, err := c.Save(); n != 0 || err != nil {
		t.Errorf("save of nothing: %d, %v", n, err)
	}
	if _, err := os.Stat(c.File); !errors.Is(err, fs.ErrNotExist) {
		t.Error("there is a file:", err)
	}
	const all = cacheHeader + "0 x a\n1 x b c\n"
	for i, s := range []struct {
		do   func()
		save func() (int, error)
		n    int
		file string
	}{
		{func() { c.Add("a", 1); c.Add("b c", 2) }, c.Save, 2, all},
		{func() {}, c.Sync, 0, all},
		{func() { c.Add("a", 1) }, c.Save, 0, all},
		{func() {}, c.Sync, 2, all},
		{func() { c.Hide("a") }, c.Sync, 0, all},
		{func() { c.Cull("a") }, c.Save, 1, cacheHeader + "1 x b c\n"},
		{func() { c.AddKey("z", "k\xff", 1) }, c.Save, 2, "2 1 2147483647\n1 x b c\n1885121023 x [6bff] z\n"},
		{func() { c.Resize(1900000000) }, c.Save, 0, "2 1 2147483647\n1 x b c\n1885121023 x [6bff] z\n"},
		{func() {}, c.Sync, 2, "2 1 1900000000\n1 x b c\n1885121023 x [6bff] z\n"},
		{func() { c.CullAll() }, c.Save, 0, "2 1 1900000000\n"},
	} {
		s.do()
		n, err := s.save()
		if n != s.n || err != nil {
			t.Errorf("step %d: %d, %v, want %d", i, n, err, s.n)
		}
		if diff := gocmp.Diff(s.file, stampless(readFile(t, c.File))); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
	}
	if list, _ := filepath.Glob(filepath.Dir(c.File) + "/*"); len(list) != 1 {
		t.Error("left over:", list)
	}
}

// TestCacheFileHostile checks the errors of malformed files, and the instances that are still
// loaded.
func TestCacheFileHostile(t *testing.T) {
	for _, s := range []struct {
		name, text string
		n          int
		want       []pdu.Instance
		err        string
		kept       bool // Save leaves the file alone
	}{
		{"empty", "", 0, nil, "", false},
		{"version 1", "1 1\n7 1 b\n", 1, []pdu.Instance{{ID: 7, Name: "b"}}, "", false},
		{"another version", "3 0 9\n4 1 b\n", 0, nil, `line 1: "3 0 9" is no header`, true},
		{"version 1 with a maximum", "1 0 9\n", 0, nil, "line 1", true},
		{"version 2 without one", "2 0\n", 0, nil, "line 1", true},
		{"a bad mode", "2 2 9\n", 0, nil, "line 1", true},
		{"a maximum below 0", "2 0 -1\n", 0, nil, "line 1", true},
		{"a maximum too high", "2 0 2147483648\n", 0, nil, "line 1", true},
		{"a header cut off", "2 0 2147", 0, nil, "line 1: it is cut off", true},
		{"a long header", "2 0 " + strings.Repeat("1", 100_000) + "\n", 0, nil, "line 1: it is too long", true},
		{"binary", "\x7fELF\x00\x00", 0, nil, "line 1", true},
		{"an empty line", cacheHeader + "4 1 b\n\n5 1 c\n", 2, []pdu.Instance{{ID: 4, Name: "b"}, {ID: 5, Name: "c"}}, "line 3", false},
		{"no name", cacheHeader + "4 1 \n5 1\n6\n7 1 c\n", 1, []pdu.Instance{{ID: 7, Name: "c"}}, `line 2: "4 1 " is no record`, false},
		{"numbers", cacheHeader + "x 1 a\n-4 1 a\n2147483648 1 a\n99999999999999999999 1 a\n1 x a\n1 -1 a\n1 9223372036854775808 a\n2147483647 9223372036854775807 z\n", 1,
			[]pdu.Instance{{ID: 2147483647, Name: "z"}}, "line 2", false},
		{"no blanks", cacheHeader + "1a\n12[6b]a\n1 2[6b] a\n", 0, nil, "line 2", false},
		{"keys", cacheHeader + "1 1 [6b b\n2 1 [6b]c\n3 1 [6] d\n4 1 [zz] e\n5 1 [6B6b]   f  g\n6 1 []  h\n7 1 [6c] [x\n", 3,
			[]pdu.Instance{{ID: 5, Name: "f  g"}, {ID: 6, Name: "h"}, {ID: 7, Name: "[x"}}, "line 2", false},
		{"control characters", cacheHeader + "1 1 a\x00\n2 1 a\x1b[2J\n3 1 a\tb\n4 1 \xc2\x9b\n5 1 c\r\n6 1 \xff\n", 1, []pdu.Instance{{ID: 6, Name: "\xff"}}, "line 2", false},
		{"tabs", cacheHeader + "\t4\t 1 \tb\n", 1, []pdu.Instance{{ID: 4, Name: "b"}}, "", false},
		{"the same ID", cacheHeader + "4 1 b\n4 1 c\n5 1 d\n", 3, []pdu.Instance{{ID: 4, Name: "b"}, {ID: 5, Name: "d"}}, `line 3: instance 4 "c" is ignored: there is 4 "b"`, false},
		{"the same name", cacheHeader + "4 1 b x\n5 1 b y\n6 1 b\n7 1 d\n", 4, []pdu.Instance{{ID: 4, Name: "b x"}, {ID: 7, Name: "d"}}, "line 3: instance 5", false},
		{"the same record", cacheHeader + "4 1 b\n4 1 b\n", 2, []pdu.Instance{{ID: 4, Name: "b"}}, "", false},
		{"cut off", cacheHeader + "4 1 b\n5 1 cc", 1, []pdu.Instance{{ID: 4, Name: "b"}}, "line 3: it is cut off", false},
		{"the longest line", cacheHeader + "4 1 " + strings.Repeat("x", 1018) + "\n", 1, []pdu.Instance{{ID: 4, Name: strings.Repeat("x", 1018)}}, "", false},
		{"too long", cacheHeader + "4 1 " + strings.Repeat("x", 1019) + "\n5 1 c\n", 1, []pdu.Instance{{ID: 5, Name: "c"}}, "line 2: it is too long", false},
		{"far too long", cacheHeader + "4 1 " + strings.Repeat("x", 300_000) + "\n5 1 c\n" + strings.Repeat("x", 300_000), 1, []pdu.Instance{{ID: 5, Name: "c"}}, "line 2: it is too long", false},
	} {
		t.Run(s.name, func(t *testing.T) {
			c := &pmda.Cache[int]{File: writeFile(t, s.text)}
			n, err := c.Load()
			if n != s.n || (err == nil) != (s.err == "") {
				t.Errorf("Load: %d, %v, want %d, %q", n, err, s.n, s.err)
			}
			if err != nil && (!strings.HasPrefix(err.Error(), "pmda: load instances: "+c.File+": "+s.err) || pdu.FromError(err) != pdu.ErrGeneric) {
				t.Errorf("%v (%d), want %s", err, pdu.FromError(err), s.err)
			}
			c.ActivateAll()
			if got := (&pmda.InDom{Cache: c}).Instances(); !slices.Equal(got, s.want) {
				t.Errorf("%v, want %v", got, s.want)
			}
			c.Add("a/new/one", 0)
			_, err = c.Save()
			if kept := readFile(t, c.File) == s.text; kept != s.kept || (err != nil) != s.kept {
				t.Errorf("the file is left alone: %v (%v), want %v", kept, err, s.kept)
			}
		})
	}
}

// TestCacheFileNames checks that Save leaves out names that the format cannot hold.
func TestCacheFileNames(t *testing.T) {
	c := &pmda.Cache[int]{Strings: true, File: filepath.Join(t.TempDir(), "x")}
	lost := []string{"", " a", "\ta", "[a", "a\nb", "a\x00", strings.Repeat("x", 1030)}
	for _, s := range append(lost, "kept", "a ", "a  b", "a[") {
		if _, err := c.Add(s, 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.AddKey("[b", "k", 0); err != nil { // which is kept
		t.Fatal(err)
	}
	if n, err := c.Save(); n != 5 || err != nil {
		t.Error(n, err)
	}
	got := &pmda.Cache[int]{Strings: true, File: c.File}
	if n, err := got.Load(); n != 5 || err != nil {
		t.Error(n, err)
	}
	for e := range got.Inactive() {
		if before, ok := c.Lookup(e.ID); !ok || before.Name != e.Name || before.Key != e.Key {
			t.Errorf("%v, was %v", e, before)
		}
	}
}

// TestCacheFileUnusable checks that a file that cannot be read is not replaced, and that a file
// that cannot be written is written later.
func TestCacheFileUnusable(t *testing.T) {
	dir := t.TempDir()
	c := &pmda.Cache[int]{File: filepath.Join(dir, "251.0")}
	if err := os.Mkdir(c.File, 0o755); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Load(); n != 0 || err == nil {
		t.Errorf("load of a directory: %d, %v", n, err)
	}
	c.Add("a", 0)
	if n, err := c.Save(); n != 0 || err == nil || !strings.Contains(err.Error(), "is left alone") {
		t.Errorf("save: %d, %v", n, err)
	}
	c = &pmda.Cache[int]{File: c.File}
	c.Add("a", 0)
	for range 2 {
		if n, err := c.Save(); n != 0 || err == nil {
			t.Errorf("save in place of a directory: %d, %v", n, err)
		}
	}
	if err := os.Remove(c.File); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Save(); n != 1 || err != nil {
		t.Errorf("save: %d, %v", n, err)
	}
	if list, _ := filepath.Glob(dir + "/*"); len(list) != 1 {
		t.Error("left over:", list)
	}
}

// TestInteropCacheFile checks that C loads and writes a file of Go byte for byte, and Go a file of
// C.
func TestInteropCacheFile(t *testing.T) {
	c := newCCache(t)
	names := []string{"sda", "/order::200 of a day", "d  blanks ", "\xe2\x82\xac", strings.Repeat("y", 900)}
	for i, reuse := range []bool{false, true} {
		ours := &pmda.Cache[int]{File: filepath.Join(c.dir, fmt.Sprint("200.", i))}
		for _, n := range names {
			if _, err := ours.Add(n, 0); err != nil {
				t.Fatal(err)
			}
		}
		if reuse {
			if _, err := ours.AddKey("keyed", "\x00\x01\xff", 0); err != nil {
				t.Fatal(err)
			}
		}
		ours.Hide("sda")
		want, err := ours.Save()
		if err != nil {
			t.Fatal(err)
		}
		text := readFile(t, ours.File)
		c.do("use 200 %d", i)
		if n := c.do("op 1"); n != fmt.Sprint(want) {
			t.Errorf("C loads %s", n)
		}
		c.do("store 2 %s 0", hexed("one-more"))
		c.do("op 6")
		byC := readFile(t, ours.File)
		// C's entries are in the order of IDs, so that the new one is not the last if
		// IDs are used again.
		if diff := gocmp.Diff(text, without(byC, "one-more")); diff != "" {
			t.Errorf("of C (-ours +C):\n%s", diff)
		}
		again := &pmda.Cache[int]{File: ours.File}
		if n, err := again.Load(); n != want+1 || err != nil {
			t.Error(n, err)
		}
		if _, err := again.Add("one-more-yet", 0); err != nil {
			t.Error(err)
		}
		if _, err := again.Save(); err != nil {
			t.Error(err)
		}
		if diff := gocmp.Diff(byC, without(readFile(t, ours.File), "one-more-yet")); diff != "" {
			t.Errorf("ours (-C +ours):\n%s", diff)
		}
	}
}

// without returns a text without the line of a name.
func without(text, name string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, " "+name+"\n") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// FuzzCacheFile loads arbitrary files. The loaded instances are consistent, and survive Save and
// another Load.
func FuzzCacheFile(f *testing.F) {
	for _, s := range []string{
		cacheHeader + "0 1795238727 sda\n1 1795238727 [6b6579] sdb\n",
		"1 0\n7 1 b\n", "2 1 9\n10 1 a b\n4 0 a c\n4 1 x\n", "2 0 9\n4 1\n", "", "2 0 9", cacheHeader + "4 1 [] x\n5 1 [x\n\n\x00",
	} {
		f.Add([]byte(s))
	}
	dir := f.TempDir()
	path := filepath.Join(dir, "cache")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		c := &pmda.Cache[int]{File: path}
		n, err := c.Load()
		if n > strings.Count(string(text), "\n") {
			t.Fatalf("%d records of %q", n, text)
		}
		if _, inactive := c.Size(); inactive > n || err == nil && n > 0 && inactive == 0 {
			t.Fatalf("%d of %d", inactive, n)
		}
		last := pdu.NoInst
		for e := range c.Inactive() {
			by, ok := c.LookupName(e.Name)
			if e.ID <= last || e.ID < 0 || !ok || by != e || !pmda.ValidInstanceName(e.Name) {
				t.Fatalf("%v after %d; by name %v, %v", e, last, by, ok)
			}
			if by, ok := c.LookupKey(e.Key); e.Key != "" && (!ok || by.Key != e.Key) {
				t.Fatalf("%v: by key %v, %v", e, by, ok)
			}
			last = e.ID
		}
		id, err := c.Add("a/new/one", 0)
		if err != nil {
			return // it is full, or has the name
		}
		c.File = filepath.Join(dir, "again")
		saved, err := c.Save()
		if err != nil {
			return // it was no cache file
		}
		again := &pmda.Cache[int]{File: c.File}
		if n, err := again.Load(); n != saved || err != nil {
			t.Fatalf("%d of %d, %v: %q", n, saved, err, readFile(t, c.File))
		}
		for e := range again.Inactive() {
			if before, ok := c.Lookup(e.ID); !ok || before.Name != e.Name || before.Key != e.Key {
				t.Fatalf("%v was %v (new %d)", e, before, id)
			}
		}
	})
}
