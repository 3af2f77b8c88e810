package pdu

import (
	"errors"
	"testing"
)

// FuzzText covers what parses text from outside: identifiers, units, labels.
// What a parser accepts is printed as a text that it parses to the same value.
func FuzzText(f *testing.F) {
	for _, s := range []string{"60.2.0", "29.*.*", "PM_ID_NULL", "60.1", "PM_INDOM_NULL", "Kbyte / sec", "2 byte^2 / 4 count x 10^3", "100 s/ 0x1p3", "temperature (C)",
		"-nan(1) time-6", `{"a":{"b":[1, 2],"c":"\u00e9"},"d":1.50}`, `{"a":1,"a":2}`, "{}", `{"a.b":1}`, `{"x":{}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if id, err := ParsePMID(s); err == nil {
			if back, err := ParsePMID(id.String()); err != nil || back != id {
				t.Errorf("PMID %q is %v and then %v, %v", s, id, back, err)
			}
		}
		if id, err := ParseInDom(s); err == nil {
			if back, err := ParseInDom(id.String()); err != nil || back != id {
				t.Errorf("instance domain %q is %v and then %v, %v", s, id, back, err)
			}
		}
		fuzzUnits(t, s)
		fuzzLabels(t, s)
	})
}

func fuzzUnits(t *testing.T, s string) {
	u, mult, err := ParseUnits(s)
	if err != nil {
		if u != NoUnits || mult != 1 || !errors.Is(err, ErrConv) {
			t.Errorf("units %q: %v, %v beside %v", s, u, mult, err)
		}
		return
	}
	if !parsable(u) {
		return
	}
	back, mult, err := ParseUnits(u.String())
	if err != nil || back != u || mult != 1 {
		t.Errorf("units %q are %q and then %q, %v, %v", s, u, back, mult, err)
	}
}

func fuzzLabels(t *testing.T, s string) {
	set, err := ParseLabels(LabelItem, s, false)
	if err != nil {
		if set.JSON != nil || set.Labels != nil || !errors.Is(err, ErrInvalid) && !errors.Is(err, err2Big) {
			t.Errorf("labels %q: %v beside %v", s, set, err)
		}
		return
	}
	if err := set.validate(); err != nil {
		t.Errorf("labels %q: %v", s, err)
	}
	again, err := ParseLabels(LabelItem, set.String(), false)
	if err != nil || again.String() != set.String() || len(again.Labels) != len(set.Labels) {
		t.Errorf("labels %q are %s and then %s, %v", s, set, again, err)
	}
	flat, err := MergeLabels(nil, set)
	if errors.Is(err, err2Big) {
		return // full names take more room
	}
	if err != nil || len(flat.Labels) != len(set.Labels) || flat.validate() != nil {
		t.Errorf("labels %q merge to %s, %v", s, flat, err)
	}
	merged := map[string]string{}
	for l := range flat.All() {
		merged[l.Name] = l.Value
	}
	for l := range set.All() {
		if v, ok := merged[l.Name]; !ok || v != l.Value {
			t.Errorf("labels %q: %s is %s after merging", s, l.Name, v)
		}
		if v, ok := flat.Lookup(l.Name); !ok || v != l.Text() {
			t.Errorf("labels %q: %s is looked up as %q", s, l.Name, v)
		}
	}
}
