package helptext_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/helptext"
	"github.com/pcp-go/pcp/pdu"
)

// names are the metrics that tests know.
var names = map[string]pdu.PMID{
	"a": pdu.MakePMID(1, 2, 3), "a2": pdu.MakePMID(1, 2, 3), "b": pdu.MakePMID(1, 0, 4), "z.c": pdu.MakePMID(2, 0, 1), "z.dyn": pdu.DynamicRoot(5),
}

func resolve(key string) (pdu.TextTarget, error) {
	if id, ok := names[key]; ok {
		return pdu.TextOfMetric(id), nil
	}
	if key == "z" {
		return pdu.TextTarget{}, pdu.ErrNonLeaf
	}
	return pdu.TextTarget{}, pdu.ErrName
}

// parse returns the entries as "ID KEY|ONE-LINE|HELP", and the problems.
func parse(t *testing.T, newhelp bool, sources ...string) (entries, problems []string) {
	t.Helper()
	added := 0
	p := helptext.Parser{Resolve: resolve, Newhelp: newhelp,
		Report: func(p *helptext.Problem) { problems = append(problems, p.Error()) },
		Added:  func(*helptext.Entry) { added++ },
	}
	for i, s := range sources {
		if err := p.Parse(string(rune('f'+i)), strings.NewReader(s)); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range p.Entries {
		entries = append(entries, e.Of.String()+" "+e.Key+"|"+e.OneLine+"|"+e.Help)
	}
	if added != len(entries) {
		t.Errorf("%d of %d entries were added", added, len(entries))
	}
	return entries, problems
}

func TestParse(t *testing.T) {
	long := strings.Repeat("y", 3000)
	tests := []struct {
		name          string
		source        string
		entries       []string
		problems      []string
		withNewhelp   []string // entries, if others
		newhelpReport []string // problems, if others
	}{
		{name: "empty"},
		{name: "comments and text before the first entry", source: "#c\ntext\n@ a one  line \nl1\n#c\n\n l2\n\n\n",
			entries: []string{"metric 1.2.3 a|one  line |l1\n\n l2"}},
		{name: "leading blank lines", source: "@a\tx\n\n\ny\n", entries: []string{"metric 1.2.3 a|x|\n\ny"}},
		{name: "numbers", source: "@ 7.2 x\nh\n@ 1.2.4 y\nh\n", entries: []string{"instance domain 7.2 7.2|x|h", "metric 1.2.4 1.2.4|y|h"}},
		{name: "no texts", source: "@ a\n@ b  \n", entries: []string{"metric 1.2.3 a||", "metric 1.0.4 b||"},
			problems:      []string{"[f:1] a: warning, null oneline", "[f:1] a: warning, null help", "[f:2] b  : warning, null oneline", "[f:2] b  : warning, null help"},
			newhelpReport: []string{"[f:2] a: warning, null oneline", "[f:2] a: warning, null help", "[f:3] b  : warning, null oneline", "[f:3] b  : warning, null help"}},
		{name: "unknown", source: "@ nosuch x\nh\n@ z\n@ 7\n@ b y\nh\n", entries: []string{"metric 1.0.4 b|y|h"},
			problems: []string{"[f:1] nosuch: Unknown metric name, entry abandoned", "[f:3] z: Metric name is not a leaf in PMNS, entry abandoned",
				"[f:4] 7: Unknown metric name, entry abandoned"},
			newhelpReport: []string{"[f:3] nosuch: Unknown metric name, entry abandoned", "[f:4] z: Metric name is not a leaf in PMNS, entry abandoned",
				"[f:5] 7: Unknown metric name, entry abandoned"}},
		{name: "empty entry", source: "@\nh\n@ \t\r\n@ a x\nh\n", entries: []string{"metric 1.2.3 a|x|h"},
			problems: []string{"[f:1] null entry?", "[f:3] null entry?"}},
		{name: "duplicates", source: "@ a x\nh\n@ a y\nh\n@ a2 z\nh\n@ 7.1 x\nh\n@ 7.1 y\nh\n@ a x\nh\n", entries: []string{"metric 1.2.3 a|x|h", "instance domain 7.1 7.1|x|h"},
			problems:      []string{"[f:3] duplicate key (1.2.3) entry abandoned", "[f:5] duplicate key (1.2.3) entry abandoned", "[f:9] duplicate key (7.1) entry abandoned", "[f:11] duplicate key (1.2.3) entry abandoned"},
			withNewhelp:   []string{"metric 1.2.3 a|x|h", "metric 1.2.3 a|y|h", "instance domain 7.1 7.1|x|h", "metric 1.2.3 a|x|h"},
			newhelpReport: []string{"[f:7] duplicate key (1.2.3) entry abandoned", "[f:11] duplicate key (7.1) entry abandoned"}},
		{name: "no newline at the end", source: "@ a x\nh", entries: []string{"metric 1.2.3 a|x|h"}, newhelpReport: []string{"[f:2] long line split after ...\na x\nh"}},
		{name: "a long line", source: "@ a x\n" + long[:130] + "\n", entries: []string{"metric 1.2.3 a|x|" + long[:130]},
			withNewhelp:   []string{"metric 1.2.3 a|x|" + long[:127] + "\n" + long[:3]},
			newhelpReport: []string{"[f:2] long line split after ...\na x\n" + long[:127]}},
		{name: "a long entry", source: "@ a x\n" + strings.Repeat(long[:99]+"\n", 11) + "@ b x\nh\n@ z.c x\nh\n",
			entries:     []string{"metric 1.2.3 a|x|" + strings.TrimSuffix(strings.Repeat(long[:99]+"\n", 11), "\n"), "metric 1.0.4 b|x|h", "metric 2.0.1 z.c|x|h"},
			withNewhelp: []string{"metric 1.2.3 a|x|" + strings.Repeat(long[:99]+"\n", 10) + long[:18], "metric 2.0.1 z.c|x|h"},
			newhelpReport: []string{"[f:12] entry truncated after ... " + long[:43] + "\n" + long[:18],
				"[f:13] null entry?"}},
		{name: "a NUL", source: "@ a x\nh\x00i\n", entries: []string{"metric 1.2.3 a|x|h\x00i"}, withNewhelp: []string{"metric 1.2.3 a|x|h"},
			newhelpReport: []string{"[f:2] long line split after ...\na x\nh"}},
	}
	for _, tt := range tests {
		for _, newhelp := range []bool{false, true} {
			wantEntries, wantProblems := tt.entries, tt.problems
			if newhelp && tt.withNewhelp != nil {
				wantEntries = tt.withNewhelp
			}
			if newhelp && tt.newhelpReport != nil {
				wantProblems = tt.newhelpReport
			}
			entries, problems := parse(t, newhelp, tt.source)
			if diff := cmp.Diff(wantEntries, entries); diff != "" {
				t.Errorf("%s, as newhelp %t: entries (-want +got):\n%s", tt.name, newhelp, diff)
			}
			if diff := cmp.Diff(wantProblems, problems); diff != "" {
				t.Errorf("%s, as newhelp %t: problems (-want +got):\n%s", tt.name, newhelp, diff)
			}
		}
	}
}

// TestParseSeveral: lines are counted through for newhelp, where an end of a source counts
// too.
func TestParseSeveral(t *testing.T) {
	const first, second = "@ a x\nh\n", "ignored\n@ nosuch x\n@ b y\nh\n"
	for newhelp, want := range map[bool]string{false: "[g:2] nosuch: Unknown metric name, entry abandoned", true: "[g:6] nosuch: Unknown metric name, entry abandoned"} {
		entries, problems := parse(t, newhelp, first, second)
		if diff := cmp.Diff([]string{"metric 1.2.3 a|x|h", "metric 1.0.4 b|y|h"}, entries); diff != "" {
			t.Errorf("entries (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{want}, problems); diff != "" {
			t.Errorf("as newhelp %t: problems (-want +got):\n%s", newhelp, diff)
		}
	}
}

func TestParseReadError(t *testing.T) {
	for _, newhelp := range []bool{false, true} {
		p := helptext.Parser{Newhelp: newhelp}
		err := p.Parse("f", io.MultiReader(strings.NewReader("@ 1.2.3 x\nh\n"), iotest.ErrReader(io.ErrNoProgress)))
		if !errors.Is(err, io.ErrNoProgress) {
			t.Errorf("as newhelp %t: error %v", newhelp, err)
		}
	}
}

func TestParseKey(t *testing.T) {
	for key, want := range map[string]string{
		"1.2": "instance domain 1.2", "1.2.3": "metric 1.2.3", "1.2x": "instance domain 1.2", "1.2.": "instance domain 1.2", "1.2.3.4": "metric 1.2.3",
		"+1.2": "instance domain 1.2", "7.-1": "instance domain 7.4194303", "999.1.1": "metric 487.1.1", "1.5000.1": "metric 1.904.1",
		"99999999999.1": "instance domain 511.1", "1.\v2": "instance domain 1.2", "1.2e3": "instance domain 1.2",
		"1": "", "29.*": "", "1.": "", ".1": "", "1..2": "", "a.b": "", "": "", "0x1.2": "",
	} {
		of, ok := helptext.ParseKey(key)
		got := of.String()
		if !ok {
			got = ""
		}
		if got != want {
			t.Errorf("ParseKey(%q) = %q, want %q", key, got, want)
		}
	}
}

// FuzzParse reads sources from outside: the texts are no longer than the source, and what
// newhelp has limits for has them.
func FuzzParse(f *testing.F) {
	f.Add("@ a one line\nhelp\n\nmore\n@ 253.0 indom\ntext\n# comment\n@ 1.2.3 \n")
	f.Add("text before\n@\n@ \n@ nosuch x\n@ 999.1.1 y\n@ 1.2.3.4 z")
	f.Add("@ a " + strings.Repeat("y", 300) + "\n" + strings.Repeat(strings.Repeat("z", 100)+"\n", 20) + "@ b x\n")
	f.Add("@ a \x00\n\x00\r\n@ 1.\v2 x\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, newhelp := range []bool{false, true} {
			size, splits := 0, 0
			p := helptext.Parser{Resolve: resolve, Newhelp: newhelp, Report: func(p *helptext.Problem) {
				if p.Error() == "" {
					t.Error("a problem without a text")
				}
				if p.Kind == helptext.SplitLine {
					splits++ // each has a newline more
				}
			}}
			if err := p.Parse("f", strings.NewReader(text)); err != nil {
				t.Fatal(err)
			}
			for _, e := range p.Entries {
				size += len(e.Key) + len(e.OneLine) + len(e.Help)
				if newhelp && len(e.Key)+len(e.OneLine)+len(e.Help) > 1024 {
					t.Errorf("an entry of %d bytes", len(e.Key)+len(e.OneLine)+len(e.Help))
				}
				if strings.HasPrefix(e.Help, "@") || strings.HasSuffix(e.Help, "\n") || strings.Contains(e.OneLine, "\n") {
					t.Errorf("entry %q", e)
				}
			}
			if size > len(text)+splits {
				t.Errorf("%d bytes of texts from %d", size, len(text))
			}
			dir, pag, err := helptext.Compile(p.Entries)
			if err != nil {
				if newhelp || !strings.Contains(text, "\x00") {
					t.Errorf("cannot be compiled: %v", err)
				}
				continue
			}
			compiled, err := helptext.Decode(dir, pag)
			if err != nil {
				t.Fatalf("the compiled texts: %v", err)
			}
			if diff := cmp.Diff(withoutKeys(helptext.Index(p.Entries)), helptext.Index(compiled), cmp.AllowUnexported(pdu.TextTarget{})); diff != "" {
				t.Errorf("compiled (-want +got):\n%s", diff)
			}
		}
	})
}

// withoutKeys is texts as Decode returns them.
func withoutKeys(texts map[pdu.TextTarget]helptext.Entry) map[pdu.TextTarget]helptext.Entry {
	for of, e := range texts {
		e.Key = ""
		texts[of] = e
	}
	return texts
}
