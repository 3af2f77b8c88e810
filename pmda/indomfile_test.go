package pmda_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// filed returns an instance domain with a file, and the log of its agent.
func filed(t *testing.T, path string) (*pmda.InDom, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	a := &pmda.Agent{Name: "a", Domain: 251, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	d := &pmda.InDom{Name: "disk", File: path}
	if err := a.Attach(d); err != nil {
		t.Fatal(err)
	}
	return d, &log
}

// withoutStamps returns a file without the stamps of its lines.
func withoutStamps(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i, line := range strings.Split(string(text), "\n") {
		if f := strings.SplitN(line, " ", 3); i > 0 && len(f) == 3 {
			if _, err := strconv.Atoi(f[1]); err != nil {
				t.Errorf("%q has no stamp", line)
			}
			line = f[0] + " " + f[2]
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// TestInDomFile checks that the next agent has the same IDs.
func TestInDomFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config", "pmda", "251.0")
	steps := []struct {
		names []string
		want  []pdu.InstID
		file  string
	}{
		{[]string{"sda", "sdb"}, []pdu.InstID{0, 1}, "2 0 2147483647\n0 sda\n1 sdb\n"},
		{[]string{"sdc", "sdb"}, []pdu.InstID{1, 2}, "2 0 2147483647\n0 sda\n1 sdb\n2 sdc\n"},
		{nil, nil, "2 0 2147483647\n0 sda\n1 sdb\n2 sdc\n"},
		{[]string{"with space", "sda", "[ab] x"}, []pdu.InstID{0, 3, 4}, "2 0 2147483647\n0 sda\n1 sdb\n2 sdc\n3 with space\n"},
	}
	for _, s := range steps {
		d, log := filed(t, path)
		if err := setNames(d, s.names...); err != nil {
			t.Fatal(err)
		}
		var got []pdu.InstID
		for _, i := range d.Instances() {
			got = append(got, i.ID)
		}
		if diff := gocmp.Diff(s.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", s.names, diff)
		}
		if diff := gocmp.Diff(s.file, withoutStamps(t, path)); diff != "" {
			t.Errorf("file (-want +got):\n%s", diff)
		}
		if log.Len() > 0 {
			t.Error(log)
		}
	}
	if list, _ := filepath.Glob(filepath.Dir(path) + "/*"); len(list) != 1 {
		t.Error("left over:", list)
	}
}

// TestInDomFileHostile checks that the valid parts of a damaged file are used.
func TestInDomFileHostile(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []pdu.Instance // of an Update with a, b and c
		log        string
		kept       bool // the file is left alone
	}{
		{"empty", "", []pdu.Instance{{ID: 0, Name: "a"}, {ID: 1, Name: "b"}, {ID: 2, Name: "c"}}, "", false},
		{"version 1", "1 0\n7 1 b\n", []pdu.Instance{{ID: 7, Name: "b"}, {ID: 8, Name: "a"}, {ID: 9, Name: "c"}}, "", false},
		{"lowest IDs", "2 1 2147483647\n0 1 x\n2 1 b\n", []pdu.Instance{{ID: 1, Name: "a"}, {ID: 2, Name: "b"}, {ID: 3, Name: "c"}}, "", false},
		{"highest ID in use", "2 0 2147483647\n2147483647 1 b\n0 1 x\n", []pdu.Instance{{ID: 1, Name: "a"}, {ID: 2, Name: "c"}, {ID: 2147483647, Name: "b"}}, "", false},
		{"a key", "2 0 9\n4 1 [6b] b\n", []pdu.Instance{{ID: 4, Name: "b"}, {ID: 5, Name: "a"}, {ID: 6, Name: "c"}}, "", false},
		{"blanks", "2 0 9\n  4 1   b\n", []pdu.Instance{{ID: 4, Name: "b"}, {ID: 5, Name: "a"}, {ID: 6, Name: "c"}}, "", false},
		{"all in use", "2 0 1\n0 1 a\n1 1 b\n", nil, "", true},
		{"another version", "3 0 9\n4 1 b\n", []pdu.Instance{{ID: 0, Name: "a"}, {ID: 1, Name: "b"}, {ID: 2, Name: "c"}}, "no header", true},
		{"no header", "ELF\x00\n", []pdu.Instance{{ID: 0, Name: "a"}, {ID: 1, Name: "b"}, {ID: 2, Name: "c"}}, "no header", true},
		{"a bad record", "2 0 9\nx 1 a\n4 1 b\n", []pdu.Instance{{ID: 4, Name: "b"}, {ID: 5, Name: "a"}, {ID: 6, Name: "c"}}, "line 2", false},
		{"bad numbers", "2 0 9\n-1 1 a\n99999999999 1 a\n3 -1 a\n3 x a\n4 1 b\n", []pdu.Instance{{ID: 4, Name: "b"}, {ID: 5, Name: "a"}, {ID: 6, Name: "c"}}, "line 2", false},
		{"above the highest", "2 0 9\n10 1 b\n", []pdu.Instance{{ID: 10, Name: "b"}, {ID: 11, Name: "a"}, {ID: 12, Name: "c"}}, "", false},
		{"no name", "2 0 9\n4 1\n3 1 \n2 1 b\n", []pdu.Instance{{ID: 2, Name: "b"}, {ID: 3, Name: "a"}, {ID: 4, Name: "c"}}, "line 2", false},
		{"cut off", "2 0 9\n4 1 b\n5 1 a", []pdu.Instance{{ID: 4, Name: "b"}, {ID: 5, Name: "a"}, {ID: 6, Name: "c"}}, "line 3", false},
		{"twice", "2 0 9\n4 1 b\n4 1 a\n5 1 b\n", []pdu.Instance{{ID: 4, Name: "b"}, {ID: 5, Name: "a"}, {ID: 6, Name: "c"}}, "line 3", false},
		{"too long", "2 0 9\n4 1 " + strings.Repeat("x", 1020) + "\n5 1 b\n", []pdu.Instance{{ID: 5, Name: "b"}, {ID: 6, Name: "a"}, {ID: 7, Name: "c"}}, "too long", false},
		{"NUL", "2 0 9\n4 1 a\x00\n5 1 b\n", []pdu.Instance{{ID: 5, Name: "b"}, {ID: 6, Name: "a"}, {ID: 7, Name: "c"}}, "line 2", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "251.0")
			if err := os.WriteFile(path, []byte(c.text), 0o666); err != nil {
				t.Fatal(err)
			}
			d, log := filed(t, path)
			if err := setNames(d, "a", "b", "c"); (err == nil) != (c.want != nil) {
				t.Error(err)
			}
			if diff := gocmp.Diff(c.want, d.Instances()); diff != "" {
				t.Error("(-want +got)\n", diff)
			}
			if !strings.Contains(log.String(), c.log) || c.log == "" && log.Len() > 0 {
				t.Errorf("the log has %q, want %q in it", log, c.log)
			}
			now, err := os.ReadFile(path)
			if kept := string(now) == c.text; err != nil || kept != c.kept {
				t.Errorf("the file is left alone: %v (%v), want %v", kept, err, c.kept)
			}
		})
	}
}

// TestInDomFileUnusable checks that SetNames works with an unusable file, but does not keep the
// IDs.
func TestInDomFileUnusable(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"a directory": dir, "below a file": filepath.Join(file, "x")} {
		d, log := filed(t, path)
		if err := setNames(d, "a"); err != nil || len(d.Instances()) != 1 {
			t.Errorf("%s: %v, %v", name, d.Instances(), err)
		}
		if !strings.Contains(log.String(), "instance file cannot be") {
			t.Errorf("%s: the log has %q", name, log)
		}
	}
}

// TestInDomFileOfC goes on with files that C agents have written, if there are some.
func TestInDomFileOfC(t *testing.T) {
	const files = "/var/lib/pcp/config/pmda/*.*"
	pcptest.Need(t, files)
	list, err := filepath.Glob(files)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range list {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it is another's
		}
		mine := filepath.Join(t.TempDir(), "251.0")
		if err := os.WriteFile(mine, text, 0o666); err != nil {
			t.Fatal(err)
		}
		before := withoutStamps(t, mine)
		d, log := filed(t, mine)
		if err := setNames(d, "one more"); err != nil || log.Len() > 0 {
			t.Errorf("%s: %v, %s", path, err, log)
		}
		want := before + strconv.Itoa(int(d.Instances()[0].ID)) + " one more\n"
		if diff := gocmp.Diff(want, withoutStamps(t, mine)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

// TestInDomFileLater sets the File of a domain after AddInDom has made it. The next SetNames still
// reads the file.
func TestInDomFileLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "251.0")
	if err := os.WriteFile(path, []byte("2 0 2147483647\n7 1 sda\n0 1 old\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	a := &pmda.Agent{Name: "a", Domain: 251}
	none, some := a.AddInDom("none"), a.AddInDom("some", "first")
	none.File, some.File = path, path
	for _, c := range []struct {
		d    *pmda.InDom
		want []pdu.Instance
		file string
	}{
		{none, []pdu.Instance{{ID: 7, Name: "sda"}, {ID: 8, Name: "sdb"}}, "2 0 2147483647\n0 old\n7 sda\n8 sdb\n"},
		// The instance from before the file was known has ID 0.
		{some, []pdu.Instance{{ID: 7, Name: "sda"}, {ID: 8, Name: "sdb"}, {ID: 9, Name: "sdc"}}, "2 0 2147483647\n0 first\n7 sda\n8 sdb\n9 sdc\n"},
	} {
		names := []string{"sda", "sdb"}
		if c.d == some {
			names = append(names, "sdc")
		}
		if err := setNames(c.d, names...); err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(c.want, c.d.Instances()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.d.Name, diff)
		}
		if diff := gocmp.Diff(c.file, withoutStamps(t, path)); diff != "" {
			t.Errorf("%s: file (-want +got):\n%s", c.d.Name, diff)
		}
	}
	// Reading the written file logs nothing.
	d, log := filed(t, path)
	if err := setNames(d, "first", "sda"); err != nil || log.Len() > 0 {
		t.Error(err, log)
	}
}

// TestInDomFileUnreadable checks that a file that cannot be read is not replaced. It may be
// readable later, when permissions or file descriptors allow it.
func TestInDomFileUnreadable(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "251.0")
	if err := os.Symlink("251.0", path); err != nil { // to itself, which nobody can open
		t.Skip(err)
	}
	d, log := filed(t, path)
	if err := setNames(d, "a"); err != nil || len(d.Instances()) != 1 {
		t.Errorf("%v, %v", d.Instances(), err)
	}
	if !strings.Contains(log.String(), "instance file cannot be read") {
		t.Errorf("the log has %q", log)
	}
	if st, err := os.Lstat(path); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Errorf("it was replaced: %v, %v", st, err)
	}
}

// TestNameIDs checks that names without an instance get IDs, too, and always the same ones.
func TestNameIDs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "251.0")
	d, log := filed(t, path)
	ids := func(names ...string) []pdu.InstID {
		t.Helper()
		list, err := d.NameIDs(names...)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if got := ids("lo", "eth0", "lo"); !gocmp.Equal(got, []pdu.InstID{0, 1, 0}) || len(d.Instances()) != 0 {
		t.Errorf("%v, instances %v", got, d.Instances())
	}
	got, err := d.SetNames("lo", "eth1", "a b")
	if err != nil || !gocmp.Equal(got, []pdu.InstID{0, 2, 3}) {
		t.Errorf("%v, %v", got, err)
	}
	if got := ids("eth0", "eth1", "eth2"); !gocmp.Equal(got, []pdu.InstID{1, 2, 4}) || len(d.Instances()) != 3 {
		t.Errorf("%v, instances %v", got, d.Instances())
	}
	if got := ids("", "a c", "eth0", "\x01"); !gocmp.Equal(got, []pdu.InstID{pdu.NoInst, pdu.NoInst, 1, pdu.NoInst}) {
		t.Errorf("%v of names that cannot be", got)
	}
	if d.SetNames(); len(d.Instances()) != 0 {
		t.Errorf("instances %v", d.Instances())
	}
	if got := ids("a c", "eth2"); !gocmp.Equal(got, []pdu.InstID{5, 4}) {
		t.Errorf("%v: a name that is gone gives way", got)
	}
	d, _ = filed(t, path)
	if got := ids("eth2", "eth1", "a c", "new"); !gocmp.Equal(got, []pdu.InstID{4, 2, 5, 6}) {
		t.Errorf("%v after a restart", got)
	}
	if log.Len() > 0 {
		t.Error(log)
	}
	d = &pmda.InDom{Cache: new(pmda.Cache[int])}
	if _, err := d.NameIDs("a"); err == nil {
		t.Error("an instance domain with a Cache has IDs of its own")
	}
}
