package procfile

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// TestKeyedNumbers parses a file again and again; the names come in other orders, and
// not all of them each time.
func TestKeyedNumbers(t *testing.T) {
	var k KeyedNumbers
	free, dirty := k.Index("MemFree"), k.Index("nr_dirty")
	if k.Index("MemFree") != free || k.Empty() {
		t.Error("a name is entered twice")
	}
	for _, tt := range []struct{ text, want string }{
		{"MemFree:   1234 kB\nnr_dirty 12\n", "1234 12"},
		{"nr_dirty 5\nOther: 7\nMemFree:\t8\n", "8 5"},
		{"nr_dirty 5\nMemFree: 8 MB\n", "- 5"},
		{"nr_dirty -5\nMemFree: 8 kB more\nMemFree", "- -"},
		{"nr_dirty 18446744073709551616\nMemFree: 18446744073709551615 kB\nnr_dirty 7", "18446744073709551615 -"},
		{" MemFree 3\nnr_dirty:4\n", "3 4"},
		{"MemFree x: 3\nnr_dirtyx: 4\nnr_dirty\n", "- -"},
		{"", "- -"},
	} {
		parseLines(&k, tt.text)
		if got := found(k.Get(free)) + " " + found(k.Get(dirty)); got != tt.want {
			t.Errorf("of %q: %s, want %s", tt.text, got, tt.want)
		}
		clone := k.Clone()
		if _, ok := clone.Get(free); ok {
			t.Error("a clone has a number")
		}
		clone.CopyFrom(&k)
		if got := found(clone.Get(free)) + " " + found(clone.Get(dirty)); got != tt.want {
			t.Errorf("the clone of %q: %s, want %s", tt.text, got, tt.want)
		}
	}
}

// parseLines parses the lines of a file.
func parseLines(k *KeyedNumbers, text string) {
	k.Clear()
	for line := range Lines([]byte(text)) {
		k.ParseLine(line)
	}
}

func found(v uint64, ok bool) string {
	if !ok {
		return "-"
	}
	return fmt.Sprint(v)
}

// TestGroupedNumbers parses the three forms of files.
func TestGroupedNumbers(t *testing.T) {
	table := (*GroupedNumbers).ParseTable
	for _, tt := range []struct {
		name, text string
		parse      func(*GroupedNumbers, []byte) error
		want       string // of Tcp in, Tcp max, Udp in, in
	}{
		{"table", "Tcp: in max\nTcp: 1 2\nUdp: x in\nUdp: 3 4\n", table, "1 2 4 -"},
		{"no limit", "Tcp: max in\nTcp: -1 -1\n", table, "- 18446744073709551615 - -"},
		{"too few numbers", "Tcp: in max\nTcp: 1\nUdp: in\nUdp: 5\n", table, "- - 5 -"},
		{"too many numbers", "Tcp: in\nTcp: 1 2\n", table, "- - - -"},
		{"no numbers", "Tcp: in max\nUdp: in\nUdp: 5\n", table, "- - 5 -"},
		{"cut", "Tcp: in max\nTcp: 1 2", table, "- - - -"},
		{"pairs", "Tcp: in 1 max 2 other 3\nUdp: in\nOther: in 5\n", (*GroupedNumbers).ParsePairs, "1 2 - -"},
		{"list", "in 7\nmax 8\n", (*GroupedNumbers).ParseList, "- - - 7"},
		{"damaged list", "in 7 8\n", (*GroupedNumbers).ParseList, "- - - -"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := GroupedNumbers{Unlimited: "max"}
			places := []int{n.Index("Tcp", "in"), n.Index("Tcp", "max"), n.Index("Udp", "in"), n.Index("", "in")}
			for range 2 {
				tt.parse(&n, []byte(tt.text))
				var got []string
				for _, at := range places {
					got = append(got, found(n.Get(at)))
				}
				if s := strings.Join(got, " "); s != tt.want {
					t.Errorf("got %s, want %s", s, tt.want)
				}
			}
		})
	}
}

// TestNumberLine parses lines of numbers, some of them invalid.
func TestNumberLine(t *testing.T) {
	for text, want := range map[string]string{"1 2\n": "1 2 -", "1 x 3\n": "1 - 3", "1 2": "- - -", "1 2 3 4 5 6 7 8 9\n": "1 2 3"} {
		var n NumberLine
		n.Parse([]byte(text))
		if got := found(n.Get(0)) + " " + found(n.Get(1)) + " " + found(n.Get(2)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]bool{"5\n": true, "5 \n": true, "5": false, "5 6\n": false, "5\n\n": false, "-5\n": false, "": false} {
		var v uint64
		if got := ParseNumber([]byte(text), &v); got != want || got && v != 5 {
			t.Errorf("%q is %d, %v", text, v, got)
		}
	}
}

// FuzzNumbers: numbers found in damaged text occur in it, and a second parse finds the same
// numbers.
func FuzzNumbers(f *testing.F) {
	f.Add([]byte("Tcp: in max\nTcp: 1 2\nin 7\nTcp: in 1 max 2\nMemFree: 12 kB\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var k KeyedNumbers
		n := GroupedNumbers{Unlimited: "max"}
		free, in, limit := k.Index("MemFree"), n.Index("Tcp", "in"), n.Index("Tcp", "max")
		var again [2]string
		for i := range again {
			parseLines(&k, string(text))
			again[i] = found(k.Get(free))
			for _, parse := range []func([]byte) error{n.ParseTable, n.ParsePairs, n.ParseList} {
				parse(text)
				again[i] += " " + found(n.Get(in)) + " " + found(n.Get(limit))
			}
		}
		if again[0] != again[1] {
			t.Errorf("%s, and then %s", again[0], again[1])
		}
		for field := range strings.FieldsSeq(again[0]) {
			if field != "-" && field != fmt.Sprint(uint64(math.MaxUint64)) && !strings.Contains(string(text), field) {
				t.Errorf("%s is not in the file", field)
			}
		}
	})
}
