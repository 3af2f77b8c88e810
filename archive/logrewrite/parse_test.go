package logrewrite

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
)

// exportAll compares the unexported fields of all types.
var exportAll = cmp.Exporter(func(reflect.Type) bool { return true })

// TestParse parses rules of every kind.
func TestParse(t *testing.T) {
	rules, err := Parse("f", strings.NewReader(`# a comment
GLOBAL { hostname -> a-b.c tz -> "UTC" Time -> -1:02:03.5 features -> bits(31,0) }
indom 29.* { iname "a b" -> delete inst 5 -> 6 indom -> duplicate 5.* }
metric 29.0.* { type if u64 -> 32 units -> 1,-1,0,BYTE,sec,0 rescale indom -> NULL output iname "x" name -> if }
text metric a.b-c help "say \"it\"" { delete }
label instances 29.2 5 "n" -1.5e3 { value -> "v" new "" true }`))
	if err != nil {
		t.Fatal(err)
	}
	u64 := pdu.TypeU64
	want := []rule{
		{target: globalTarget{}, changes: []change{setHost{"a-b.c"}, setTimeZone{"UTC"}, shift{-(time.Hour + 2*time.Minute + 3500*time.Millisecond)}, setFeatures{1<<31 | 1}}},
		{target: indomTarget{indomPattern{29, anyNumber}}, changes: []change{renameInstance{old: "a b", delete: true}, renumberInstance{old: 5, new: 6},
			moveInDom{to: indomPattern{5, anyNumber}, duplicate: true}}},
		{target: metricTarget{id: pmidPattern{29, 0, anyNumber}}, changes: []change{setType{ifType: &u64, to: pdu.Type32}, setUnits{pdu.MakeUnits(1, -1, 0, 0, 3, 0), true},
			moveInDom{none: true, output: outputChoice{pickInstance, instancePattern{by: byName, name: "x"}}}, setName{name: "if"}}},
		{target: textTarget{metric: &metricTarget{name: "a.b-c"}, help: true, content: `say "it"`}, changes: []change{deletion{}}},
		{target: labelTarget{class: pdu.LabelInstances, indom: indomTarget{indomPattern{29, 2}}, instance: instancePattern{by: byID, id: 5}, name: "n", value: "-1.5e3"},
			changes: []change{setLabelValue{`"v"`}, addLabel{"", "true"}}},
	}
	var got []rule
	for i, r := range rules.rules {
		if r.line != i+2 {
			t.Errorf("rule %d is of line %d", i, r.line)
		}
		of := r.target
		if l, ok := of.(labelTarget); ok {
			l.named = false
			of = l
		}
		got = append(got, rule{target: of, changes: r.changes})
	}
	if diff := cmp.Diff(want, got, exportAll); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestErrors checks the errors of the language and their lines, as pmlogrewrite prints them.
func TestErrors(t *testing.T) {
	for _, test := range []struct {
		rules, text string
		line        int
	}{
		{"", "syntax error", 1},
		{"# only\n", "syntax error", 2},
		{"foo\n\n", "syntax error", 1},
		{"@", "Unexpected character '@'", 1},
		{"metric\n\n{", "Expecting metric name or <domain>.<cluster>.<item> or <domain>.<cluster>.* or <domain>.*.* in metric rule", 3},
		{"metric 600.1.2 {", "Illegal domain field (600) for pmid", 1},
		{"metric 99999999999.5.3 {", "Illegal domain field (1215752191) for pmid", 1},
		{"metric 4.5000.1 {", "Illegal cluster field (5000) for pmid", 1},
		{"metric 4.5.2000 {", "Illegal item field (2000) for pmid", 1},
		{"metric a { pmid -> 1.*.3 }", "Expecting <domain>.<cluster>.<item> or <domain>.<cluster>.* or <domain>.*.* in pmid clause", 1},
		{"metric a { name -> type }", "Expecting metric name in iname clause", 1},
		{"metric a { name -> a--b }", "syntax error", 1},
		{"metric a { name -> _a }", "Unexpected character '_'", 1},
		{"metric a { type -> event }", "Expecting XXX (from PM_TYPE_XXX) in type clause", 1},
		{"metric a { type if aggregate -> 32 }", "Expecting XXX (from PM_TYPE_XXX) after if in type clause", 1},
		{"metric a { sem -> null }", "Expecting XXX (from PM_SEM_XXX) in sem clause", 1},
		{"metric a { units -> a }", "Expecting 3 numeric values for dim* fields of units", 1},
		{"metric a { units -> 1,2 }", "syntax error", 1},
		{"metric a { units -> 1,2,3,5,0,0 }", "Expecting 0 or XXX (from PM_SPACE_XXX) for scaleSpace field of units", 1},
		{"metric a { units -> 1,2,3,0,BYTE,0 }", "Expecting 0 or XXX (from PM_TIME_XXX) for scaleTime field of units", 1},
		{"metric a { units -> 1,2,3,0,0,-3 }", "Expecting 0 or ONE for scaleCount field of units", 1},
		{"metric a { indom ->\n\n}", "Expecting <domain>.<serial> or NULL in indom clause", 3},
		{"metric a { indom -> 1.2 output\n}", "Expecting FIRST or LAST or INST or INAME or MIN or MAX or AVG for OUTPUT instance option", 2},
		{"indom 29 {", "Expecting <domain>.<serial> or <domain>.* in indom rule", 1},
		{"indom 29. {", "Missing serial field for indom", 1},
		{"indom 0.1 {", "Illegal domain field (0) for indom", 1},
		{"indom 1.4194304 {", "Illegal serial field (4194304) for indom", 1},
		{"indom 1.2 { iname \"\" -> \"a\" }", "Expecting old external instance name string in iname clause", 1},
		{"indom 1.2 { iname \"a\" 5 }", "Expecting -> in iname clause", 1},
		{"indom 1.2 { iname \"a\" -> 5 }", "Expecting new external instance name string or DELETE in iname clause", 1},
		{"indom 1.2 { inst\n}", "Expecting old internal instance identifier in inst clause", 2},
		{"indom 1.2 { inst 1\n}", "Expecting -> in inst clause", 2},
		{"indom 1.2 { inst 1 -> }", "Expecting new internal instance identifier or DELETE in inst clause", 1},
		{"indom 1.2 { indom -> duplicate }", "syntax error", 1},
		{"global { hostname abc }", "Expecting -> in hostname clause", 1},
		{"global { hostname -> { }", "Expecting hostname in hostname clause", 1},
		{"global { tz -> abc }", "Expecting timezone string in timezone clause", 1},
		{"global { features -> bits(5,\n32) }", "Bit \"32\" not in the range 0..31", 2},
		{"global { features -> bits 5 }", "Expecting ( after \"bits\" in features clause", 1},
		{"global { features -> bits() }", "Expecting list of bit numbers after \"bits(\" in features clause", 1},
		{"global { features -> bits(5 }", "Expecting ) after \"bits(\" in features clause", 1},
		{"global { time -> :5 }", "Expecting delta of the form [+-][HH:[MM:]]SS[.d...] in time clause", 1},
		{"global { time -> 1:2:3:4 }", "syntax error", 1},
		{"text metric 1.2.3 { indom -> 1.2 }", "syntax error", 1},
		{"text metric 1.2.3 any { delete }", "syntax error", 1},
		{"metric a { / }", "Unexpected character '/'", 1},
		{"metric a { value 5 }", "Expecting <regular expression> in metric value clause", 1},
		{"metric a { value replace /a\n/ -> \"b\" }", "Unexpected character '/'", 1},
		{"metric a { value /a/ \"b\" }", "Expecting -> in metric value clause", 1},
		{"metric a { value /a/ -> b }", "Expecting <replacement> in metric value clause", 1},
		{"metric a { value /a/ -> /b/ / }", "Unexpected character '/'", 1},
		{"indom 1.2 { iname replace a }", "Expecting <regular expression> in iname clause", 1},
		{"indom 1.2 { iname replace \"a\" 5 }", "Expecting -> in iname clause", 1},
		{"indom 1.2 { iname replace \"a\" ->\n5 }", "Expecting <replacement> in iname clause", 2},
		{"metric a { extraunits -> 0,0,0,0,0,0 }", "syntax error", 1},
		{"metric a { extraunits -> 0,0,0,0,0,0,force,N }", "Unknown extra unit type \"force\"", 1},
		{"metric a { extraunits -> 0,0,0,0,0,0,Power,V }", "Unknown extra unit scale \"V\" for type \"Power\"", 1},
		{"metric a { units -> 0,0,0,0,0,0,power,W }", "syntax error", 1},
		{"label context { value -> 5.25 }", "syntax error", 1},
		{"label domain 29 { cluster -> 5.1 }", "syntax error", 1},
		{"label instances 29.1 \"a\nb\" { delete }", "syntax error", 1},
	} {
		_, err := Parse("f", strings.NewReader(test.rules))
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Text != test.text || e.Line != test.line {
			t.Errorf("%q: %v, want [line %d] %s", test.rules, err, test.line, test.text)
		}
	}
}

// TestParseLater parses the clauses added after PCP 6.0.3.
func TestParseLater(t *testing.T) {
	rules, err := Parse("f", strings.NewReader(`global { hostname -> "a b" tz -> "UTC" }
indom 1.2 { iname redact iname REPLACE /a(b*)/ -> "\1" }
metric value { name -> replace Name -> dupok DUPOK value "x" -> // value replace /"/ -> /y/ type -> string type if STRING -> 32
	extraunits -> 0,0,0,0,0,0,power,mw extraunits -> 1,0,0,KBYTE,0,0,Temperature,K rescale }
text metric 1.2.3 All { delete }`))
	if err != nil {
		t.Fatal(err)
	}
	str := pdu.TypeString
	want := [][]change{
		{setHost{"a b"}, setTimeZone{"UTC"}},
		{redactInstances{}, replaceInstances{"a(b*)", `\1`}},
		{setName{name: "replace"}, setName{"dupok", true}, replaceValues{"x", ""}, replaceValues{`"`, "y"}, setType{to: pdu.TypeString}, setType{&str, pdu.Type32},
			setUnits{pdu.MilliWatt, false}, setUnits{pdu.MakeUnits(1, 0, 0, 1, 0, 0) | pdu.TempKelvin, true}},
		{deletion{}},
	}
	var got [][]change
	for _, r := range rules.rules {
		got = append(got, r.changes)
	}
	if diff := cmp.Diff(want, got, exportAll); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if of := rules.rules[3].target.(textTarget); !of.oneLine || !of.help {
		t.Errorf("ALL is %+v", of)
	}
}

// FuzzParse checks that accepted rules are complete, and that errors have a line of the text.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"global { hostname -> a-b.c tz -> \"UTC\" time -> -1:02:03.5 features -> bits(31,0) }",
		"indom 29.* { iname \"a b\" -> delete inst 5 -> 6 indom -> duplicate 5.* }",
		"metric 29.0.* { type if u64 -> 32 units -> 1,-1,0,BYTE,sec,0 rescale indom -> NULL output iname \"x\" name -> if }",
		"text metric a.b-c help \"say \\\"it\\\"\" { delete } text indom 1.2 * { text -> \"a\nb\" }",
		"label instances 29.2 5 \"n\" -1.5e3 { value -> \"v\" new \"\" true }",
		"metric a { delete # b\n} @",
		"metric a { value /b/ -> // name -> c dupok extraunits -> 0,0,0,0,0,0,power,W } indom 1.2 { iname replace \"a\" -> /b/ iname redact }",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := Parse("f", strings.NewReader(text))
		for _, r := range rules.rules {
			if len(r.lines) != len(r.changes) || r.target == nil && err == nil {
				t.Fatalf("%d lines of %d changes of %v", len(r.lines), len(r.changes), r.target)
			}
		}
		if e, ok := errors.AsType[*Error](err); ok {
			if most := strings.Count(text, "\n") + 1; e.Line < 1 || e.Line > most || e.Text == "" {
				t.Fatalf("%v in a text of %d lines", err, most)
			}
		} else if err != nil || len(rules.rules) == 0 {
			t.Fatalf("%d rules, %v", len(rules.rules), err)
		}
	})
}
