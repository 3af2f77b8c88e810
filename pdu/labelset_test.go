package pdu

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func parseLabels(t testing.TB, class LabelClass, text string) LabelSet {
	t.Helper()
	s, err := ParseLabels(class, text, false)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestParseLabels(t *testing.T) {
	for _, tt := range []struct {
		name, in, text string
		want           []NamedLabel
	}{
		{"none", "{}", "{}", nil},
		{"empty", "", "{}", nil},
		{"sorted index", ` { "b" : 1.50 , "a" : "x y" } `, `{"b":1.50,"a":"x y"}`, []NamedLabel{{"a", `"x y"`, 2}, {"b", "1.50", 2}}},
		{"nested", `{"b":1,"a":{"d":{"e":[1, 2]},"c":null}}`, `{"b":1,"a":{"d":{"e":[1,2]},"c":null}}`,
			[]NamedLabel{{"a.c", "null", 2 | LabelCompound}, {"a.d.e", "[1,2]", 2 | LabelCompound}, {"b", "1", 2}}},
		{"dotted", `{"a.b":1,"a":2}`, `{"a.b":1,"a":2}`, []NamedLabel{{"a", "2", 2}, {"a.b", "1", 2 | LabelCompound}}},
		{"underscores", `{"_block":16,"site":{"_x":"b1"}}`, `{"_block":16,"site":{"_x":"b1"}}`,
			[]NamedLabel{{"_block", "16", 2}, {"site._x", `"b1"`, 2 | LabelCompound}}},
		{"bad name first", `{"data-center":"x","rack":"r7"}`, `{"rack":"r7"}`, []NamedLabel{{"rack", `"r7"`, 2}}},
		{"bad name last", `{"rack":"r7" , "data-center" : {"a":[{"b-c":1}]} }`, `{"rack":"r7"}`, []NamedLabel{{"rack", `"r7"`, 2}}},
		{"bad names within", `{"1":0,"a":{"b-c":1,"d":[{"e-f":2}],"g":{"":3}},"h":{"i.":4},"j":{},"1":0}`, `{"a":{"d":[{"e-f":2}]},"j":{}}`,
			[]NamedLabel{{"a.d", `[{"e-f":2}]`, 2 | LabelCompound}, {"j", "{}", 2}}},
		{"empty object", `{"a":{ }}`, `{"a":{}}`, []NamedLabel{{"a", "{}", 2}}},
		{"object in array", `{"a":[{"b":1}]}`, `{"a":[{"b":1}]}`, []NamedLabel{{"a", `[{"b":1}]`, 2}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := parseLabels(t, LabelDomain, tt.in)
			if s.Inst != NoInst || s.validate() != nil || s.String() != tt.text {
				t.Errorf("got %+v", s)
			}
			if diff := cmp.Diff(tt.want, slices.Collect(s.All())); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			for _, l := range tt.want {
				if v, ok := s.Lookup(l.Name); !ok || v != l.Text() {
					t.Errorf("%s: %q, %v", l.Name, v, ok)
				}
			}
			if _, ok := s.Lookup("none"); ok {
				t.Error("found a label that is not there")
			}
		})
	}
}

// TestLookupLabel: Lookup returns the text of a label without the quotes and escapes of JSON.
func TestLookupLabel(t *testing.T) {
	s := parseLabels(t, LabelItem, `{"host":"web1","path":"C:\\\\a \"b\" \u00e4","rack":{"row":4},"up":true,"list":["a"],"empty":""}`)
	got := map[string]string{}
	for _, name := range []string{"host", "path", "rack.row", "up", "list", "empty"} {
		v, ok := s.Lookup(name)
		if !ok {
			t.Errorf("%s is missing", name)
		}
		got[name] = v
	}
	want := map[string]string{"host": "web1", "path": `C:\\a "b" ä`, "rack.row": "4", "up": "true", "list": `["a"]`, "empty": ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, name := range []string{"rack", "row", "Host", ""} {
		if v, ok := s.Lookup(name); ok || v != "" {
			t.Errorf("%s: %q", name, v)
		}
	}
}

func manyLabels(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"a%d":1`, i)
	}
	return "{" + b.String()[1:] + "}"
}

func TestParseLabelsErrors(t *testing.T) {
	long := strings.Repeat("a", 255)
	for _, tt := range []struct {
		in   string
		want Error
		text string
	}{
		{`{"a":1,"a":2}`, ErrInvalid, `labels: name "a" stands twice: Invalid argument`},
		{`{"a":1,"a":{"b":2}}`, ErrInvalid, `labels: name "a" stands twice: Invalid argument`},
		{`{"a":{"b":1},"a.b":2}`, ErrInvalid, `labels: name "a.b" stands twice: Invalid argument`},
		{`{"":1}`, ErrInvalid, `labels: bad name "": Invalid argument`},
		{`{"1a":1}`, ErrInvalid, `labels: bad name "1a": Invalid argument`},
		{`{"a-b":1}`, ErrInvalid, `labels: bad name "a-b": Invalid argument`},
		{`{"a.":1}`, ErrInvalid, `labels: bad name "a.": Invalid argument`},
		{`{"a..b":1}`, ErrInvalid, `labels: bad name "a..b": Invalid argument`},
		{`{"a":{"":1}}`, ErrInvalid, `labels: bad name "a.": Invalid argument`},
		{`{"a-b":1,"c":{"d-e":[{"f":1}],"9":{}}}`, ErrInvalid, `labels: bad name "a-b", and 2 more: Invalid argument`},
		{`{"a":{"1b":{"c":1}}}`, ErrInvalid, `labels: bad name "a.1b.c": Invalid argument`},
		{`{"é":1}`, ErrInvalid, `labels: bad name "é": Invalid argument`},
		{`{"a":foo}`, ErrInvalid, `labels: JSON at offset 5: want a value: Invalid argument`},
		{`{"a":1`, ErrInvalid, `labels: JSON at offset 6: want ,: Invalid argument`},
		{`[1]`, ErrInvalid, `labels: JSON at offset 0: want an object: Invalid argument`},
		{`{"` + long + `":1}`, err2Big, `labels: name "aaaaaaaaaaaaaaaaaaaa"… of 255 bytes, limit 254: Argument list too long`},
		{manyLabels(maxLabels + 1), err2Big, `labels: more than 254 labels: Argument list too long`},
		{`{"a":"` + strings.Repeat("x", 65528) + `"}`, err2Big, `labels: 65536 bytes of JSON, limit 65534: Argument list too long`},
	} {
		s, err := ParseLabels(LabelContext, tt.in, false)
		if !errors.Is(err, tt.want) || err.Error() != tt.text {
			t.Errorf("%.40s: got %v", tt.in, err)
		}
		if s.JSON != nil || s.Labels != nil {
			t.Errorf("%.40s: a set beside the error", tt.in)
		}
	}
	for _, in := range []string{manyLabels(maxLabels), `{"` + long[1:] + `":1}`, `{"a":"` + strings.Repeat("x", 65526) + `"}`} {
		if s, err := ParseLabels(LabelContext, in, true); err != nil || s.Labels[0].Flags != LabelFlags(LabelContext)|LabelOptional {
			t.Errorf("%.40s: %v", in, err)
		}
	}
}

// TestMergeLabels has the results that pmMergeLabels(3) was seen to give, but
// for those of its flaws.
func TestMergeLabels(t *testing.T) {
	for _, tt := range []struct {
		in   []string
		want string
	}{
		{nil, "{}"},
		{[]string{`{}`, ``}, "{}"},
		{[]string{`{"a":1}`, `{"a":2,"b":"x"}`}, `{"a":2,"b":"x"}`},
		{[]string{`{ "z" : 1 , "y" : false }`}, `{"y":false,"z":1}`},
		{[]string{`{"a":1}`, `{"a":{"b":2}}`}, `{"a":1,"a.b":2}`},
		{[]string{`{"a":{"b":2}}`, `{"a":1}`}, `{"a":1,"a.b":2}`},
		{[]string{`{"q":{"r":[1,2]}}`}, `{"q.r":[1,2]}`},
		{[]string{`{"a":{"d":{"e":1,"f":2},"g":3}}`}, `{"a.d.e":1,"a.d.f":2,"a.g":3}`},
		{[]string{`{"a":"sp ace \"q\""}`}, `{"a":"sp ace \"q\""}`},
		{[]string{`{"b":{}}`}, `{"b":{}}`},
		{[]string{`{"a":1}`, `{"ab":{"c":1}}`}, `{"a":1,"ab.c":1}`},
		{[]string{`{"x":1}`, `{"x":2}`, `{"x":3}`}, `{"x":3}`},
	} {
		var sets []LabelSet
		for _, s := range tt.in {
			sets = append(sets, parseLabels(t, LabelItem, s))
		}
		m, err := MergeLabels(nil, sets...)
		if err != nil || m.String() != tt.want || m.validate() != nil {
			t.Errorf("%q: got %s, %v", tt.in, m, err)
		}
		// The result is a set like any other, and its own merger.
		back := parseLabels(t, LabelItem, m.String())
		if diff := cmp.Diff(m, back); diff != "" {
			t.Errorf("%q (-merged +parsed)\n%s", tt.in, diff)
		}
	}
}

func TestMergeLabelsKeep(t *testing.T) {
	host := parseLabels(t, LabelContext, `{"hostname":"web1","a":{"b":1}}`)
	user, err := ParseLabels(LabelContext, `{"userid":0}`, true)
	if err != nil {
		t.Fatal(err)
	}
	inst := parseLabels(t, LabelInstances, `{"device_type":"disk"}`)
	inst.Inst = 7
	m, err := MergeLabels(func(l NamedLabel) bool { return l.Flags&LabelOptional == 0 }, host, user, inst)
	if err != nil {
		t.Fatal(err)
	}
	want := []NamedLabel{
		{"a.b", "1", LabelFlags(LabelContext) | LabelCompound},
		{"device_type", `"disk"`, LabelFlags(LabelInstances)},
		{"hostname", `"web1"`, LabelFlags(LabelContext)},
	}
	if diff := cmp.Diff(want, slices.Collect(m.All())); diff != "" || m.Inst != 7 {
		t.Errorf("instance %d (-want +got)\n%s", m.Inst, diff)
	}
	if c := want[0].Flags.Class(); c != LabelContext {
		t.Errorf("class %v", c)
	}
	low := parseLabels(t, LabelDomain, `{"userid":7,"a":1}`)
	if m, err = MergeLabels(func(l NamedLabel) bool { return l.Flags&LabelOptional == 0 }, low, user); err != nil || m.String() != `{"a":1}` {
		t.Errorf("a label that one hides which is left out: %v, %v", m, err)
	}
}

func TestMergeLabelsErrors(t *testing.T) {
	one, two := parseLabels(t, 1, manyLabels(200)), parseLabels(t, 1, strings.ReplaceAll(manyLabels(200), "a", "b"))
	if _, err := MergeLabels(nil, one, two); !errors.Is(err, err2Big) {
		t.Errorf("400 labels: %v", err)
	}
	half := `":"` + strings.Repeat("x", 40000) + `"}`
	if _, err := MergeLabels(nil, parseLabels(t, 1, `{"a`+half), parseLabels(t, 1, `{"b`+half)); !errors.Is(err, err2Big) {
		t.Errorf("80000 bytes: %v", err)
	}
	junk := []byte(`{"a":foo,"b":1}`)
	for _, s := range []LabelSet{
		{JSON: junk, Labels: []Label{{NameOff: 2, NameLen: 1, ValueOff: 5, ValueLen: 3}}},
		{JSON: junk, Labels: []Label{{NameOff: 2, NameLen: 2, ValueOff: 13, ValueLen: 1}}},
	} {
		if m, err := MergeLabels(nil, s); !errors.Is(err, ErrInvalid) {
			t.Errorf("junk: %s, %v", m, err)
		}
	}
	long := LabelSet{JSON: []byte(strings.Repeat("a", 255)), Labels: []Label{{NameLen: 255}}}
	if _, err := MergeLabels(nil, long); !errors.Is(err, err2Big) {
		t.Errorf("long name: %v", err)
	}
}

// TestLabelsOfPeers has sets whose index and text do not agree.
func TestLabelsOfPeers(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  LabelSet
		want []NamedLabel
	}{
		{"array beside its place", // as C has it after [1, 2]
			LabelSet{JSON: []byte(`{"a":[1,2]}`), Labels: []Label{{NameOff: 2, NameLen: 1, ValueOff: 4, ValueLen: 6}}},
			[]NamedLabel{{"a", "[1,2]", 0}}},
		{"name that is none",
			LabelSet{JSON: []byte(`{"abc":12}`), Labels: []Label{{NameOff: 3, NameLen: 1, ValueOff: 7, ValueLen: 1}}},
			[]NamedLabel{{"b", "1", 0}}},
		{"no value",
			LabelSet{JSON: []byte(`x`), Labels: []Label{{NameOff: 0, NameLen: 1}}},
			[]NamedLabel{{"x", "", 0}}},
		{"outside",
			LabelSet{JSON: []byte(`{}`), Labels: []Label{{NameOff: 2, NameLen: 1}}},
			nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, slices.Collect(tt.set.All())); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	none := LabelSet{JSON: []byte(`x`), Labels: []Label{{NameOff: 0, NameLen: 1}}}
	if m, err := MergeLabels(nil, none); err != nil || m.String() != `{"x":null}` {
		t.Errorf("no value: %s, %v", m, err)
	}
	if s := (LabelSet{Err: ErrNoLabels}).String(); s != ErrNoLabels.Error() {
		t.Errorf("error: %q", s)
	}
}

func TestLabelSetValidate(t *testing.T) {
	text := []byte(`{"a":1}`)
	for _, tt := range []struct {
		set  LabelSet
		want string
	}{
		{LabelSet{JSON: text, Labels: []Label{{NameOff: 2, NameLen: 5, ValueOff: 5, ValueLen: 2}}}, ""},
		{LabelSet{JSON: text, Labels: []Label{{NameOff: 2, NameLen: 6}}}, "label set of instance 0: label 0 outside its 7 bytes of JSON: IPC protocol failure"},
		{LabelSet{JSON: text, Labels: []Label{{}, {ValueOff: math.MaxUint16, ValueLen: math.MaxUint16}}}, "label set of instance 0: label 1 outside its 7 bytes of JSON: IPC protocol failure"},
		{LabelSet{Inst: 3, Labels: make([]Label, 255)}, "label set of instance 3: 255 labels, limit 254: IPC protocol failure"},
		{LabelSet{JSON: make([]byte, 65535)}, "label set of instance 0: 65535 bytes of JSON, limit 65534: IPC protocol failure"},
	} {
		err := tt.set.validate()
		if (err == nil) != (tt.want == "") || err != nil && err.Error() != tt.want {
			t.Errorf("got %v, want %q", err, tt.want)
		}
	}
}

func TestMakeLabels(t *testing.T) {
	s, err := MakeLabels(LabelDomain, map[string]any{
		"agent": `a"b\<c>` + "\n\x01é", "n": 3, "big": uint64(math.MaxUint64), "f": 0.1, "ok": true, "none": nil,
		"list": []int{1, 2}, "sub": map[string]any{"x": "y"},
	}, false)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"agent":"a\"b\\<c>\n\u0001é","big":18446744073709551615,"f":0.1,"list":[1,2],"n":3,"none":null,"ok":true,"sub":{"x":"y"}}`
	if diff := cmp.Diff(want, s.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	texts := map[string]string{}
	for l := range s.All() {
		texts[l.Name] = l.Text()
	}
	if diff := cmp.Diff(map[string]string{"agent": `a"b\<c>` + "\n\x01é", "big": "18446744073709551615", "f": "0.1", "list": "[1,2]", "n": "3", "none": "null", "ok": "true", "sub.x": "y"}, texts); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, v := range []any{map[string]any{"f": math.NaN()}, 5, map[string]int{"a-b": 1}} {
		if _, err := MakeLabels(LabelDomain, v, false); !errors.Is(err, ErrInvalid) {
			t.Errorf("%v: %v", v, err)
		}
	}
}

// TestLabelProperties: what goes in comes out, and merging is what a map does.
func TestLabelProperties(t *testing.T) {
	set := rapid.MapOfN(rapid.StringMatching(`[a-c][a-c0-9_]{0,2}`), rapid.OneOf(
		rapid.Just[any](true), rapid.Just[any](nil), rapid.Map(rapid.Float64Range(-1e9, 1e9), func(f float64) any { return f }),
		rapid.Map(rapid.String(), func(s string) any { return s }),
	), 0, 6)
	rapid.Check(t, func(t *rapid.T) {
		model := map[string]string{}
		var sets []LabelSet
		for range rapid.IntRange(1, 4).Draw(t, "sets") {
			m := set.Draw(t, "labels")
			s, err := MakeLabels(LabelItem, m, rapid.Bool().Draw(t, "optional"))
			if err != nil {
				t.Fatal(err)
			}
			for l := range s.All() {
				b, err := json.Marshal(m[l.Name])
				var a, c any
				if err != nil || json.Unmarshal(b, &a) != nil || json.Unmarshal([]byte(l.Value), &c) != nil || a != c {
					t.Fatalf("%q became %s", m[l.Name], l.Value)
				}
				model[l.Name] = l.Value
			}
			sets = append(sets, s)
		}
		m, err := MergeLabels(nil, sets...)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for l := range m.All() {
			got[l.Name] = l.Value
		}
		if diff := cmp.Diff(model, got); diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
		if names := slices.Sorted(maps.Keys(got)); len(names) > 0 && !strings.HasPrefix(m.String(), `{"`+names[0]+`":`) {
			t.Fatalf("not sorted: %s", m)
		}
	})
}

func TestLabelClassString(t *testing.T) {
	var got []string
	for _, c := range []LabelClass{LabelContext, LabelDomain, LabelInDom, LabelCluster, LabelItem, LabelInstances, 0, 3} {
		got = append(got, c.String())
	}
	if diff := cmp.Diff([]string{"context", "domain", "indom", "cluster", "pmid", "instances", "?", "?"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func BenchmarkMergeLabels(b *testing.B) {
	b.ReportAllocs()
	host := parseLabels(b, LabelContext, `{"domainname":"localdomain","groupid":0,"hostname":"vm","machineid":"0123456789abcdef","userid":0}`)
	agent := parseLabels(b, LabelDomain, `{"agent":"linux"}`)
	item := parseLabels(b, LabelItem, `{"device_type":"block","units":"count"}`)
	for b.Loop() {
		if _, err := MergeLabels(nil, host, agent, item); err != nil {
			b.Fatal(err)
		}
	}
}
