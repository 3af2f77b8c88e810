package logextract_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive/logextract"
)

func TestParseConfig(t *testing.T) {
	type (
		M = logextract.Metric
		I = logextract.Instance
	)
	for _, test := range []struct {
		text string
		want []M
		err  string
	}{
		{"", nil, ""},
		{"# nothing\n\t\r\n", nil, ""},
		{"a.b", []M{{Name: "a.b", Line: 1}}, ""},
		{"a\nb", []M{{Name: "a", Line: 2}, {Name: "b", Line: 2}}, ""},
		{"a,b c", []M{{Name: "a", Line: 1}, {Name: "b", Line: 1}, {Name: "c", Line: 1}}, ""},
		{"a[1,\n\"x y\" 'z'\nw]\n\nb", []M{{Name: "a", Line: 3, Instances: []I{{ID: 1}, {Name: "x y"}, {Name: "z"}, {Name: "w"}}}, {Name: "b", Line: 5}}, ""},
		{"a # b\n[99999999999 c]", []M{{Name: "a", Line: 2, Instances: []I{{ID: 1215752191}, {Name: "c"}}}}, ""},
		{"a,", []M{{Name: "a", Line: 1}}, "line 1: syntax error"},
		{",a", nil, "line 1: syntax error"},
		{"a,,b", []M{{Name: "a", Line: 1}}, "line 1: syntax error"},
		{"a[]", nil, "line 1: syntax error"},
		{"a[1,]", nil, "line 1: syntax error"},
		{"a[1", nil, "line 1: syntax error"},
		{"a\nb[\n\n", []M{{Name: "a", Line: 2}}, "line 4: syntax error"},
		{"a[\"\"]", nil, "line 1: Unexpected character '\"'"},
		{"a[\"x\ny\"]", nil, "line 1: Unexpected character '\"'"},
		{"a\nb{", []M{{Name: "a", Line: 2}}, "line 2: Unexpected character '{'"},
		{"_a", nil, "line 1: Unexpected character '_'"},
		{"1", nil, "line 1: syntax error"},
	} {
		got, err := logextract.ParseConfig(strings.NewReader(test.text))
		text := ""
		if err != nil {
			text = err.Error()
		}
		if d := cmp.Diff(test.want, got); d != "" || text != test.err {
			t.Errorf("%q: error %q, want %q (-want +got):\n%s", test.text, text, test.err, d)
		}
	}
}

// FuzzParseConfig checks that a parsed configuration stays the same when it is written and parsed
// again.
func FuzzParseConfig(f *testing.F) {
	for _, seed := range []string{"", "a.b", "a[1, \"x y\" 'z' w]\nb # c\n,d", "a[", "a[\"\"]", "9", "a\x00", "a['\"']"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		metrics, err := logextract.ParseConfig(strings.NewReader(text))
		if err != nil && err.Error() == "" {
			t.Fatal("error without a text")
		}
		var b strings.Builder
		for i := range metrics {
			m := &metrics[i]
			if m.Name == "" || m.Line < 1 || m.Line > 1+strings.Count(text, "\n") {
				t.Fatalf("metric %+v", m)
			}
			m.Line = 1
			b.WriteString(m.Name)
			for k, inst := range m.Instances {
				b.WriteString(map[bool]string{true: "[", false: " "}[k == 0])
				switch {
				case inst.Name == "" && inst.ID < 0:
					inst.ID, m.Instances[k].ID = 0, 0
					fallthrough
				case inst.Name == "":
					b.WriteString(strconv.Itoa(int(inst.ID)))
				case strings.Contains(inst.Name, `"`):
					b.WriteString("'" + inst.Name + "'")
				default:
					b.WriteString(`"` + inst.Name + `"`)
				}
			}
			if m.Instances != nil {
				b.WriteString("]")
			}
			b.WriteString(" ")
		}
		again, err := logextract.ParseConfig(strings.NewReader(b.String()))
		if d := cmp.Diff(metrics, again); d != "" || err != nil {
			t.Fatalf("%q: %v (-want +got):\n%s", b.String(), err, d)
		}
	})
}
