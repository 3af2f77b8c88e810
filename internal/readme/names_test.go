package readme

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNames looks up the qualified names of each page, in code and in prose, in the lists of the
// API.
func TestNames(t *testing.T) {
	api := readAPI(t)
	runPages(t, func(t *testing.T, page, text string) {
		n := 0
		for number, line := range strings.Split(text, "\n") {
			names := namesIn(line)
			n += len(names)
			for _, name := range names {
				if !api.has(name) {
					t.Errorf("%s:%d: there is no %s", page, number+1, name)
				}
			}
		}
		if page == "README.md" && n < 20 {
			t.Errorf("found only %d names", n)
		}
	})
}

func TestNamesIn(t *testing.T) {
	api := readAPI(t)
	for _, tt := range []struct {
		line string
		bad  string // the names that are not of the API
	}{
		{"`v.With(mmv.Instance{ID: mmv.AutoID})`, `pdu.InstID`", "mmv.AutoID"},
		{"a := &pmda.Agent{}; pmda.Registered(a, pmda.Metric[uint64]{})", "pmda.Registered"},
		{"`mmv.Registry.Publish`, `*mmv.Registry.Publisher`, `mmv.Registry.Name`", "mmv.Registry.Publisher"},
		{"`Registry.Err` and `Registry.Error`", "Registry.Error"},
		{"runtime/trace.Start, mmv.shop.orders, mmv.NAME.metric, x.mmv.Gone, net.Listener.Addr, a.Domain.Foo", ""},
		{"`pmda.Handler.Fetch`, `pmda.Handler.Fetched`.", "pmda.Handler.Fetched"},
		{"`trace.Config.NoAgent`, `trace.Config.Agentless`, `trace.Client.Config`", "trace.Config.Agentless"},
	} {
		var bad []string
		for _, name := range namesIn(tt.line) {
			if !api.has(name) {
				bad = append(bad, name)
			}
		}
		if got := strings.Join(bad, " "); got != tt.bad {
			t.Errorf("%s: %q, want %q", tt.line, got, tt.bad)
		}
	}
}

// An api has the exported names: pkg, pkg.Name and pkg.Type.Member, and those of types
// and their members without the package too.
type api map[string]bool

var (
	packageLine = regexp.MustCompile(`^package (\w+) `)
	nameLine    = regexp.MustCompile(`^(const|func|type|var) (\w+)`)
	memberLine  = regexp.MustCompile(`^\t(?:field |embedded \*?(?:\w+\.)?|method (?:\(\*?\w+\) )?)(\w+)`)
)

// readAPI reads the lists of internal/apigolden.
func readAPI(t *testing.T) api {
	t.Helper()
	files, err := filepath.Glob("../apigolden/testdata/*.txt")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d lists of the API, %v", len(files), err)
	}
	a := api{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		a.add(string(text))
	}
	return a
}

// add adds the names of a package. A variable has the members of all its types: the list
// says of what type it is, but not what that one has from the structs in it.
func (a api) add(list string) {
	var pkg, name string
	var variables, members []string
	for line := range strings.Lines(list) {
		if m := packageLine.FindStringSubmatch(line); m != nil {
			pkg = m[1]
			a[pkg] = true
		} else if m := nameLine.FindStringSubmatch(line); m != nil {
			name = m[2]
			a[pkg+"."+name] = true
			switch m[1] {
			case "type":
				a[name] = true
			case "var":
				variables = append(variables, pkg+"."+name)
			}
		} else if m := memberLine.FindStringSubmatch(line); m != nil {
			a[pkg+"."+name+"."+m[1]] = true
			a[name+"."+m[1]] = true
			members = append(members, m[1])
		}
	}
	for _, v := range variables {
		for _, m := range members {
			a[v+"."+m] = true
		}
	}
}

// has reports whether there is a name, if it is one of ours.
func (a api) has(name string) bool {
	first, rest, _ := strings.Cut(name, ".")
	return !a[first] || a[name] || strings.HasPrefix(rest, placeholder)
}

// placeholder stands in the README for a part of the name of a metric.
const placeholder = "NAME"

// qualified is a package or a type, an exported name of it, and a member of that. What is
// before it is no selector and no path.
var qualified = regexp.MustCompile(`(?:^|[^\w./])([A-Za-z]\w*\.[A-Z]\w*(?:\.[A-Z]\w*)?)`)

// namesIn returns the qualified names in a line.
func namesIn(line string) []string {
	var names []string
	for _, m := range qualified.FindAllStringSubmatch(line, -1) {
		names = append(names, m[1])
	}
	return names
}
