package pcptool_test

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// A suiteProgram is a program of PCP's own test-suite, in the directory src of its installation,
// that prints what functions of the C library return, with what prints the same by means of this
// module's packages.
type suiteProgram struct {
	name  string
	tests string // that run it
	libs  []string
	runs  func(t *testing.T) []suiteRun
	// ours is what Go prints for a run. Where the program alone knows its inputs, ours takes them
	// from the lines that it has printed, and replaces the results in them.
	ours func(t *testing.T, r suiteRun, theirs string) string
	// same, if there is one, makes texts comparable that may differ.
	same func(string) string
}

// A suiteRun is a command line.
type suiteRun struct {
	env, args []string
}

// suitePrograms are those that have a counterpart here; suiteElsewhere are the others of the same
// subjects.
func suitePrograms() []suiteProgram {
	return []suiteProgram{
		{name: "atomstr", tests: "423", libs: []string{"-lpcp_pmda"}, runs: once(), ours: atomStr, same: without("(null)", "NULL")},
		{name: "derived", tests: "803", runs: each(
			"bad.metric=a $ bad @ expression", "new.metric=rat(disk.dev.read)", "new.metric=rate(disk.dev.read)", "x=", "y=1+", "z=sum(1)"),
			ours: registerDerived},
		{name: "err", tests: "327 478", runs: errorCodes, ours: errStr},
		{name: "getconfig", tests: "448 963", runs: configNames, ours: getConfig},
		{name: "getoptions", tests: "625 728 899", runs: optionLines, ours: getOptions, same: messagesOnly},
		{name: "grind_conv", tests: "273", runs: scaleLines, ours: grindConv},
		{name: "indom2int", runs: each("60.2", "0.0", "511.4194303"), ours: inDomNumber},
		{name: "int2indom", runs: each("251658242", "0", "2147483647"), ours: numberInDom},
		{name: "int2pmid", runs: each("251660291", "0", "2147483647"), ours: numberPMID},
		{name: "loadderived", tests: "969", runs: derivedFiles, ours: loadDerived},
		{name: "numberstr", tests: "357", runs: numbers, ours: numberStr},
		{name: "parsehighresinterval", tests: "316", runs: intervals, ours: parseIntervals(9)},
		{name: "parsehostattrs", tests: "720 875", runs: hostAttrLines, ours: parseHostAttrs, same: sortedAttrs},
		{name: "parsehostspec", tests: "719", runs: hostLines, ours: parseHostSpec},
		{name: "parseinterval", tests: "316", runs: intervals, ours: parseIntervals(6)},
		{name: "parsemetricspec", tests: "299", runs: metricLines, ours: parseMetricSpec},
		{name: "pmconvscale", tests: "123 190", runs: each("x", "n", "c", "s", "t", "r"), ours: convScale},
		{name: "pmid2int", runs: each("60.2.3", "511.4095.1023", "0.0.0"), ours: pmidNumber},
		{name: "pv", tests: "265", runs: once(), ours: printValues},
		{name: "rtimetest", tests: "752", runs: once(), ours: freeTimes},
		{name: "scale", tests: "027", runs: once(), ours: scaleGrid},
		{name: "semstr", tests: "891", runs: once(), ours: semStr},
		{name: "tztest", tests: "600", runs: func(*testing.T) []suiteRun { return []suiteRun{{env: []string{"TZ=EST-11EST-10,86/2:00,303/2:00"}}} }, ours: zoneTimes,
			same: without(":Some", "In March daylight saving is off, and the time is 01 March 2000 12:00 ", "In September daylight saving is off, and the time is 01 September 2000 12:00 ")},
		{name: "units-parse", tests: "670", runs: unitLines, ours: parseUnits},
		{name: "xval", tests: "010 273", runs: extractLines, ours: extractValues},
	}
}

// TestInteropSuitePrograms runs programs of PCP's own test-suite as its tests do, and compares what
// they print with what ours does.
func TestInteropSuitePrograms(t *testing.T) {
	for _, p := range suitePrograms() {
		t.Run(p.name, func(t *testing.T) {
			program := buildSuiteProgram(t, p.name, p.libs...)
			for i, r := range p.runs(t) {
				t.Run(strconv.Itoa(i), func(t *testing.T) { p.compare(t, program, r) })
			}
		})
	}
}

// buildSuiteProgram builds a program of the test-suite.
func buildSuiteProgram(t *testing.T, name string, libs ...string) string {
	t.Helper()
	src := filepath.Join(pcptest.Conf("PCP_VAR_DIR"), "testsuite", "src")
	pcptest.Need(t, "gcc", filepath.Join(src, "libpcp.h"))
	return pcptest.BuildC(t, filepath.Join(src, name+".c"), append([]string{"-w", "-I", src, "-lpcp"}, libs...)...)
}

// compare compares one run.
func (p *suiteProgram) compare(t *testing.T, program string, r suiteRun) {
	out, errs, _ := pcptest.Run(t, r.env, "", append([]string{program}, r.args...)...)
	theirs := out + errs
	ours := p.ours(t, r, theirs)
	if p.same != nil {
		theirs, ours = p.same(theirs), p.same(ours)
	}
	if diff := cmp.Diff(strings.Split(theirs, "\n"), strings.Split(ours, "\n")); diff != "" {
		t.Errorf("%s %q (-C +Go):\n%s", p.name, r.args, diff)
	}
}
