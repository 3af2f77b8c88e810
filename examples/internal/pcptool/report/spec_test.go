package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseSpec(t *testing.T) {
	spec := func(name, label, unit, typ string, width, precision int, instances ...string) Spec {
		return Spec{Name: name, Label: label, Unit: unit, Type: typ, Width: width, Precision: precision, Instances: instances}
	}
	for text, want := range map[string]Spec{
		"a.b":                    spec("a.b", "", "", "", Unset, Unset),
		"a.b,l,i,u,raw,7,2,9,x":  spec("a.b", "l", "u", "raw", 7, 2, "i"),
		"a.b,,,,,,":              spec("a.b", "", "", "", Unset, Unset),
		`a,l,"x y",KB`:           spec("a", "l", "KB", "", Unset, Unset, "x y"),
		`a,l,"x,y",KB`:           spec("a", "l", "KB", "", Unset, Unset, "x", "y"),
		`a,l,'x','y',,,5`:        spec("a", "l", "", "", 5, Unset, "x", "y"),
		`a,l,"x","y z",,raw,5,0`: spec("a", "l", "", "raw", 5, 0, "x", "y z"),
		`a,l,"x`:                 spec("a", "l", "", "", Unset, Unset),
		"a,,,,, 5 ":              spec("a", "", "", "", 5, Unset),
		"":                       spec("", "", "", "", Unset, Unset),
	} {
		got, err := ParseSpec(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: error %v (-want +got):\n%s", text, err, diff)
		}
	}
	for _, text := range []string{"a,,,,,-1", "a,,,,,x", "a,,,,,,1.5"} {
		if _, err := ParseSpec(text); err == nil || err.Error() != "Non-negative integer expected: a" {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

func TestSplitInstances(t *testing.T) {
	for text, want := range map[string][]string{
		"a":            {"a"},
		"a,b c,":       {"a", "b c", ""},
		`"a,b",c`:      {"a,b", "c"},
		`'a','b'`:      {"a", "b"},
		`"a,b`:         {"a,b"},
		`'1 minute',x`: {"1 minute", "x"},
	} {
		if diff := cmp.Diff(want, splitInstances(text)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func TestSpecErrors(t *testing.T) {
	dir := write(t, map[string]string{"c.conf": "[a]\nx.width = 5\nx = m\n[b]\nx =\n[c]\nx = m\nx.type.y = raw\n[d]\nx = m\nx.width = z\n"})
	c, err := LoadConfig(dir + "/c.conf")
	if err != nil {
		t.Fatal(err)
	}
	for set, want := range map[string]string{
		"a": "Failed to read configuration file '" + dir + "/c.conf':\nUndeclared metric key x.",
		"b": "Failed to read configuration file '" + dir + "/c.conf':\nNo value set for x in [b].",
		"c": "Failed to read configuration file '" + dir + "/c.conf':\ntoo many values to unpack (expected 2).",
		"d": "Non-negative integer expected: m",
		"e": "Metricset definition ':e' not found.",
	} {
		if _, err := c.Specs([]string{":" + set}, true); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", set, err, want)
		}
	}
}
