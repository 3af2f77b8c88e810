package report

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// patternNames are names of instances that patterns of tests select from.
var patternNames = []string{
	"", "lo", "LO", "eth0", "eth1", "docker0", "sda", "sdb1", "1 minute", "15 minute", "000001 /sbin/init", "000345 sshd: root@pts/0",
	"a", "b", "ab", "aab", "ba", "a]b", "dm-0", "/dev/mapper/x-y", "Z", "AZ", "é", "cpu0", "cpu10", "x.y", "[a:", "\t", "\b",
}

// patterns are expressions with the names that Python's re, as pmrep uses it, selects by them, or
// its error.
var patterns = map[string]string{
	`(?!lo).*`:               "|LO|eth0|eth1|docker0|sda|sdb1|1 minute|15 minute|000001 /sbin/init|000345 sshd: root@pts/0|a|b|ab|aab|ba|a]b|dm-0|/dev/mapper/x-y|Z|AZ|é|cpu0|cpu10|x.y|[a:|\t|\b",
	`(?!lo$|docker|\d)\w+\d`: "eth0|eth1|sdb1|cpu0|cpu10",
	`^(?!eth)(?!lo).+0$`:     "docker0|000345 sshd: root@pts/0|dm-0|cpu0|cpu10",
	`(?=.*0)c.*`:             "cpu0|cpu10",
	`((?!in).)*`:             "|lo|LO|eth0|eth1|docker0|sda|sdb1|000345 sshd: root@pts/0|a|b|ab|aab|ba|a]b|dm-0|/dev/mapper/x-y|Z|AZ|é|cpu0|cpu10|x.y|[a:|\t|\b",
	`.*(?<!1)0`:              "eth0|docker0|000345 sshd: root@pts/0|dm-0|cpu0",
	`.*(?<=[ed])b?1`:         "sdb1",
	`a(?=(?!ab).*)(?!b).*`:   "a|a]b",
	`(?i:(?!LO)[a-z]+)`:      "sda|a|b|ab|aab|ba|Z|AZ",
	`(?i:l(?-i:o))`:          "lo",
	`(?:a|b(?=a))+`:          "a|ba",
	`(?=a)*b`:                "b",
	`(?!a)|(?!b)`:            "|lo|LO|eth0|eth1|docker0|sda|sdb1|1 minute|15 minute|000001 /sbin/init|000345 sshd: root@pts/0|b|ba|dm-0|/dev/mapper/x-y|Z|AZ|é|cpu0|cpu10|x.y|[a:|\t|\b",
	`(?P<d>s)d(?P<e>.)`:      "sda",
	`(?#c)a{,2}b`:            "b|ab|aab",
	`[]a]+[^]]*`:             "a|ab|aab|a]b",
	`[[a-z:]+`:               "lo|sda|a|b|ab|aab|ba|[a:",
	`[\b\t]`:                 "\t|\b",
	`\bcpu\d\b`:              "cpu0",
	`a\B.*`:                  "ab|aab",
	`\`:                      "",
	`\x61\.?b`:               "ab",
	`.`:                      "a|b|Z|é|\t|\b",
	`lo|(?!x)eth.|sd`:        "lo|eth0|eth1",
	`(?!a`:                   "missing ), unterminated subpattern at position 2",
	`(?<!a(b)`:               "missing ), unterminated subpattern at position 2",
	`(?!a(b`:                 "missing ), unterminated subpattern at position 6",
	`(?i)LO`:                 "global flags not at the start of the expression at position 2",
	`(?z)`:                   "unknown extension ?z at position 3",
	`\p{L}`:                  `bad escape \p at position 2`,
	`\z`:                     `bad escape \z at position 2`,
	`[`:                      `bad escape \Z at position 3`,
	`$*`:                     "nothing to repeat at position 3",
	`(?#a`:                   "missing ), unterminated comment at position 2",
}

// selectNames are the names that a pattern selects, or its error.
func selectNames(text string, names []string) string {
	p, err := compilePattern(`\A` + text + `\Z`)
	if err != nil {
		return err.Error()
	}
	var selected []string
	for _, n := range names {
		if p.matches(n) {
			selected = append(selected, n)
		}
	}
	return strings.Join(selected, "|")
}

func TestPatterns(t *testing.T) {
	for text, want := range patterns {
		if diff := cmp.Diff(want, selectNames(text, patternNames)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// pythonSelects selects names by the patterns that it reads, as pmrep does.
const pythonSelects = `
import json, re, sys
texts, names = json.load(sys.stdin)
out = {}
for t in texts:
    try:
        r = re.compile(r'\A' + t + r'\Z')
        out[t] = "|".join(n for n in names if re.match(r, n))
    except re.error as e:
        out[t] = str(e)
json.dump(out, sys.stdout)
`

// TestInteropPatterns has Python select the same names.
func TestInteropPatterns(t *testing.T) {
	pcptest.Need(t, "/usr/bin/python3")
	var texts []string
	for text := range patterns {
		texts = append(texts, text)
	}
	in, err := json.Marshal([]any{texts, patternNames})
	if err != nil {
		t.Fatal(err)
	}
	out, errs, status := pcptest.Run(t, nil, string(in), "/usr/bin/python3", "-W", "ignore", "-c", pythonSelects)
	if status != 0 {
		t.Fatal(errs)
	}
	var got map[string]string
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(patterns, got); diff != "" {
		t.Errorf("(-ours +Python's):\n%s", diff)
	}
}

// TestPatternReferences checks expressions that patterns do not support.
func TestPatternReferences(t *testing.T) {
	for text, want := range map[string]string{
		`(a)\1`:          "references to groups are not supported at position 5",
		`(?P<x>a)(?P=x)`: "references to groups are not supported at position 10",
		`(?!(a)\1)`:      "references to groups are not supported at position 8",
	} {
		if got := selectNames(text, patternNames); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestPatternProperty compares the matches that looks need with those of package regexp, which
// expressions without looks have.
func TestPatternProperty(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "b", ".", "[^a]", "(a|ab)", "(b*)", "a+?", "(?:ba)*", "|", `\b`, "^", "$", "b{2}", "(?i:A)", "é"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "pieces"), "")
		name := rapid.StringOfN(rapid.RuneFrom([]rune("abA é")), 0, 8, -1).Draw(t, "name")
		p, err := compilePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := p.matchesAt(name, 0, -1), regexp.MustCompile(`\A(?:`+text+`)`).MatchString(name); got != want || p.matches(name) != want {
			t.Fatalf("%q matches %q: %v", name, text, got)
		}
		not, err := compilePattern("(?!" + text + ")")
		if err != nil {
			t.Fatal(err)
		}
		if not.matches(name) == p.matches(name) {
			t.Fatalf("%q matches both %q and not", name, text)
		}
	})
}

// TestPatternTime has expressions that make a backtracking matcher take twice as long with each
// character.
func TestPatternTime(t *testing.T) {
	name := strings.Repeat("a", 200)
	start := time.Now()
	for _, text := range []string{`(a*)*b`, `((?!(a*)*b)a|a)*b`, `(a|a)*(?<=(a|a)*b)`} {
		if got := selectNames(text, []string{name}); got != "" {
			t.Errorf("%s: %s", text, got)
		}
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("it took %v", d)
	}
}

func FuzzPattern(f *testing.F) {
	for text := range patterns {
		f.Add(text, "eth0")
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		if len(text) > 100 || len(name) > 100 {
			return
		}
		if p, err := compilePattern(text); err == nil {
			if p.matches(name) != p.matchesAt(name, 0, -1) {
				t.Fatalf("%q, %q", text, name)
			}
		}
	})
}
