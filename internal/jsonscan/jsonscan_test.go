package jsonscan

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestCompact(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)
	for _, tt := range []struct{ name, in, want, err string }{
		{"object", ` { "b" : 1.50 , "a" : [ 1 , { } ] } `, `{"b":1.50,"a":[1,{}]}`, ""},
		{"string keeps blanks", ` " a \" \u00e9\\ " `, `" a \" \u00e9\\ "`, ""},
		{"numbers", `[0,-0,-1,10,1.0,1e5,1E+5,1.25e-07]`, `[0,-0,-1,10,1.0,1e5,1E+5,1.25e-07]`, ""},
		{"words", "[true,\tfalse,\r\nnull]", `[true,false,null]`, ""},
		{"empty", `{}`, `{}`, ""},
		{"deepest", deep, deep, ""},
		{"too deep", "[" + deep + "]", "", "JSON at offset 64: nested deeper than 64"},
		{"nothing", ` `, "", "JSON at offset 1: want a value"},
		{"after", `1 2`, "", "JSON at offset 2: text after the value"},
		{"leading zero", `01`, "", "JSON at offset 0: bad number"},
		{"minus", `-`, "", "JSON at offset 0: bad number"},
		{"point", `1.`, "", "JSON at offset 0: bad number"},
		{"exponent", `1e+`, "", "JSON at offset 0: bad number"},
		{"plus", `+1`, "", "JSON at offset 0: want a value"},
		{"word", `tru`, "", "JSON at offset 0: want a value"},
		{"name", `{a:1}`, "", "JSON at offset 1: want a name"},
		{"no value", `{"a":}`, "", "JSON at offset 5: want a value"},
		{"no colon", `{"a" 1}`, "", "JSON at offset 5: want :"},
		{"comma", `{"a":1,}`, "", "JSON at offset 7: want a name"},
		{"array comma", `[1,]`, "", "JSON at offset 3: want a value"},
		{"mixed", `[1}`, "", "JSON at offset 2: want ,"},
		{"unterminated object", `{"a":1`, "", "JSON at offset 6: want ,"},
		{"unterminated array", `[`, "", "JSON at offset 1: want a value"},
		{"unterminated string", `"a`, "", "JSON at offset 0: string without end"},
		{"control", "\"\t\"", "", "JSON at offset 0: control character in a string"},
		{"escape", `"\x"`, "", "JSON at offset 0: bad escape in a string"},
		{"short escape", `"\u12"`, "", "JSON at offset 0: bad escape in a string"},
		{"bad digit", `"\u12g4"`, "", "JSON at offset 0: bad escape in a string"},
		{"cut escape", `"\`, "", "JSON at offset 0: bad escape in a string"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Compact([]byte("x"), []byte(tt.in))
			if text(err) != tt.err {
				t.Fatalf("error %q, want %q", text(err), tt.err)
			}
			if diff := cmp.Diff("x"+tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestCompactMembers drops the members whose names begin with x.
func TestCompactMembers(t *testing.T) {
	keep := func(name []byte) bool { return !strings.HasPrefix(string(name), "x") }
	for in, want := range map[string]string{
		`{ }`:                       `{}`,
		`{"a":1,"b":2}`:             `{"a":1,"b":2}`,
		`{"x":1, "b" : 2}`:          `{"b":2}`,
		`{"a":1,"x":{"b":2},"c":3}`: `{"a":1,"c":3}`,
		`{"a":1,"x1":2,"x2":3}`:     `{"a":1}`,
		`{"x1":2,"x2":3,"a":1}`:     `{"a":1}`,
		`{"x1":2,"x2":3}`:           `{}`,
		`{"a":{"x":1},"b":{"c":{"x":1},"d":[{"x":1}]},"e":{}}`: `{"b":{"d":[{"x":1}]},"e":{}}`,
	} {
		got, err := CompactMembers([]byte("y"), []byte(in), keep)
		if err != nil || string(got) != "y"+want {
			t.Errorf("%s: %s, %v, want y%s", in, got, err, want)
		}
	}
	if got, err := CompactMembers([]byte("y"), []byte(`{"a":1,"x":`), keep); err == nil || string(got) != "y" {
		t.Errorf("damaged: %s, %v", got, err)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

type found struct {
	Path, Name, Value string
	Depth             int
}

func walk(text string) ([]found, error) {
	var got []found
	err := Walk([]byte(text), func(m Member) error {
		got = append(got, found{string(m.Path), text[m.NameOff : m.NameOff+m.NameLen], text[m.ValueOff : m.ValueOff+m.ValueLen], m.Depth})
		return nil
	})
	return got, err
}

func TestWalk(t *testing.T) {
	got, err := walk(` {"a" : 1 , "b":{"c": [1, {"x":2}] ,"d":{"e":"f\"g"}}, "h":{ }, "i":[] } `)
	want := []found{{"a", "a", "1", 1}, {"b.c", "c", `[1, {"x":2}]`, 2}, {"b.d.e", "e", `"f\"g"`, 3}, {"h", "h", "{ }", 1}, {"i", "i", "[]", 1}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got)\n%s", err, diff)
	}
	if _, err := walk(`[]`); text(err) != "JSON at offset 0: want an object" {
		t.Errorf("an array: %v", err)
	}
	if _, err := walk(`{"a":1 "b":2}`); text(err) != "JSON at offset 7: want ," {
		t.Errorf("no comma: %v", err)
	}
	stop := errors.New("stop")
	if err := Walk([]byte(`{"a":1,"b":2}`), func(Member) error { return stop }); err != stop {
		t.Errorf("the caller's error: %v", err)
	}
}

// TestAgainstEncodingJSON holds the scanner to another one: they accept the
// same texts and leave the same.
func TestAgainstEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.SampledFrom([]string{`{`, `}`, `[`, `]`, `,`, `:`, `"a"`, `"b"`, `"\n"`, `1`, `-0.5e3`, `01`, `true`, `null`, ` `, "\n", `x`}), 0, 14).Draw(t, "text")
		in := strings.Join(text, "")
		got, err := Compact(nil, []byte(in))
		if json.Valid([]byte(in)) != (err == nil) {
			t.Fatalf("%q: valid %v, error %v", in, json.Valid([]byte(in)), err)
		}
		if err == nil {
			var want strings.Builder
			for _, s := range text {
				want.WriteString(strings.TrimSpace(s))
			}
			if string(got) != want.String() {
				t.Fatalf("%q became %q", in, got)
			}
		}
		_ = Walk([]byte(in), func(m Member) error {
			if m.NameOff+m.NameLen > len(in) || m.ValueOff+m.ValueLen > len(in) || m.Depth < 1 {
				t.Fatalf("%q: %+v", in, m)
			}
			return nil
		})
	})
}
