package procfile

import (
	"slices"
	"strings"
	"testing"
)

// TestRows: rows keep their values while their names stay, and it is reported when
// they do not.
func TestRows(t *testing.T) {
	var r Rows[int]
	for i, tt := range []struct {
		names   string
		kept    string // those of the names that still had a value
		changed bool
	}{
		{"a b c", "", true}, {"a b c", "a b c", false}, {"a b", "a b", true}, {"a x", "a", true}, {"", "", true}, {"", "", false}, {"x", "", true},
	} {
		r.Begin()
		var kept []string
		for name := range strings.FieldsSeq(tt.names) {
			row := r.Row([]byte(name))
			if *row == 7 {
				kept = append(kept, name)
			}
			*row = 7
			if r.LastName() != name {
				t.Errorf("the last name is %s", r.LastName())
			}
		}
		if changed := r.Changed(); changed != tt.changed || r.End() != changed {
			t.Errorf("%d: the names have changed: %v", i, changed)
		}
		if got := strings.Join(r.Names, " "); got != tt.names || len(r.Vals) != r.Len() || strings.Join(kept, " ") != tt.kept {
			t.Errorf("%d: %q with values kept of %q, want %q, %q", i, got, kept, tt.names, tt.kept)
		}
	}
}

// TestRowsSteady: reading the same names again allocates nothing, and changes nothing.
func TestRowsSteady(t *testing.T) {
	var r Rows[[4]uint64]
	names := [][]byte{[]byte("sda"), []byte("sdb")}
	read := func() bool {
		r.Begin()
		for _, name := range names {
			r.Row(name)
		}
		return r.End()
	}
	if !read() || read() {
		t.Error("the first reading changes the names, and no other")
	}
	if n := testing.AllocsPerRun(100, func() { read() }); n != 0 {
		t.Errorf("a reading allocates %v times", n)
	}
}

// TestRowsKeep removes rows.
func TestRowsKeep(t *testing.T) {
	var r Rows[int]
	r.Begin()
	for i, name := range []string{"a", "b", "c", "d"} {
		*r.Row([]byte(name)) = i
	}
	r.End()
	r.Keep(func(at int) bool { return r.Vals[at]%2 == 1 })
	if !slices.Equal(r.Names, []string{"b", "d"}) || !slices.Equal(r.Vals, []int{1, 3}) || r.Len() != 2 {
		t.Error(r.Names, r.Vals, r.Len())
	}
	r.Begin()
	r.Row([]byte("b"))
	r.Row([]byte("x"))
	r.DropLast()
	r.Row([]byte("d"))
	if r.End(); !slices.Equal(r.Names, []string{"b", "d"}) {
		t.Error("after DropLast:", r.Names)
	}
	if !r.Has(1, []byte("d")) || r.Has(0, []byte("d")) || r.Has(2, nil) {
		t.Error("Has")
	}
	r.Begin()
	if !r.NextHad([]byte("b")) || r.NextHad([]byte("d")) {
		t.Error("NextHad")
	}
}
