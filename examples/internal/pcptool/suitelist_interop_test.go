package pcptool_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// suiteElsewhere lists programs of PCP's test suite that TestInteropSuitePrograms does not run, and
// the tests that run them. It names their counterparts, or why they lack one.
var suiteElsewhere = []struct{ programs, tests, where string }{
	{"addctxdm", "", "no test runs it; definitions for one context: TestInteropSuiteContexts"},
	{"badUnitsStr_r", "746", "a buffer that is too short; AppendTo has a buffer that grows"},
	{"chk_metric_types", "277", "values of agents that are installed; type and value on the wire: pdu, TestInteropExtract"},
	{"chknumval xxx", "043 273", "print what pmcd's metrics are; stores and fetches: examples/pmstore"},
	{"churnctx", "828 833 1066 1077 1199 1261", "looks for leaks of memory, of contexts that come and go"},
	{"ctx_derive", "1252 1254 1260", "needs a pmcd: TestInteropSuiteContexts"},
	{"debug", "348 973 1359", "-D: examples/internal/toolcmp runs it with every tool"},
	{"endian", "268", "the order of bytes in C's unions; pdu, TestInteropExtract has both orders"},
	{"exertz", "077", "prints the label of an archive in zones: tool, TestInteropZone"},
	{"fetchgroup", "858", "pmapi, TestInteropSuiteFetchGroup"},
	{"fetchrate", "233", "rates of a live pmcd: pmapi, TestInteropGroupTime"},
	{"getcontexthost", "786", "prints the host of a context: pmapi, Context.HostName"},
	{"getversion", "1092", "pmGetVersion; PCPVersion is what -V prints"},
	{"grind_ctx", "246 977 1259", "looks for leaks of memory, of contexts with derived metrics"},
	{"hrunpack unpack", "404 405 901 902", "pmapi, TestInteropSuiteEvents"},
	{"interp0", "087 090 388 406", "archives in mode INTERP, of events too: pmapi, TestInteropArchiveRequests"},
	{"labels", "568", "pmapi, TestInteropSuiteLabels"},
	{"labels_changing labelsets labelsets_memleak", "1310 1490", "the bindings of Python; labels of all levels: pmapi, TestPMInfo"},
	{"loadconfig2", "954", "locks, while definitions are loaded twice"},
	{"mark-bug", "289", "mode INTERP, backwards over marks: pmapi, TestInteropArchiveRequests"},
	{"mergelabels", "561", "pmapi, TestInteropSuiteMergeLabels"},
	{"mergelabelsets", "567", "its sets hold no JSON; sets that do: pdu, TestInteropMergeLabelSets"},
	{"multictx multithread5", "470 865 866 942", "units in descriptors, of several contexts: pmapi, TestPMInfo"},
	{"multithread10", "953 4751", "pmapi, TestInteropSuiteManyGroups"},
	{"pmfg-derived", "1899", "pmapi, TestInteropSuiteDerivedGroup"},
	{"pmfstring pmstrn pmsprintf", "1245 1300 1313", "C's strings"},
	{"pmprintf", "325 1145", "a dialog or a file for messages: Command.Report"},
	{"pmsocks_objstyle", "353", "a SOCKS proxy, of the tool pmsocks"},
	{"progname", "1182", "a global name; Command.Name"},
	{"qa_timezone", "", "no test runs it; prints the zone that C has found"},
	{"sizeof", "480 560", "sizes of C's structs"},
	{"stampconv", "1341", "C's structs of time"},
	{"test_pcp test_pcp_getopts test_pcp_options test_pcp_time", "702 707 737 739 741", "the bindings of Python"},
	{"test_pmcc", "", "no test runs it; the bindings of Python"},
	{"test_pmda_memleak", "", "no test runs it; looks for leaks of memory of the bindings of Python"},
	{"test_pmfg", "859", "pmapi, TestInteropSuitePmfg and the two after it"},
	{"time_stamp", "1661 1662", "a stopwatch"},
	{"timeshift", "632", "pmlogrewrite's shifts of time; intervals alone are ParseInterval's"},
	{"torture_api torture_pmns xlog", "031 037 112 208 256 257 574 905 1263 1268 1270 1271", "print descriptors, and units in them: pmapi, TestPMInfo"},
	{"torture_logmeta", "479 480", "metadata of archives: pmapi, TestInteropArchiveRequests"},
	{"usergroup username", "653 1438", "pmGetUsername; os/user"},
	{"whichtimezone", "086", "zones of several pmcds; Command.SetTimes with -z"},
	{"wrap_int", "269", "makes expected output for pmval"},
	{"xmktime", "188", "mktime of the C library"},
}

// suiteSubjects matches functions for fetch groups, derived metrics, units, values, intervals, time
// windows, specifications of metrics and hosts, events and labels.
var suiteSubjects = regexp.MustCompile(`FetchGroup|\bpmfg\b|RegisterDerived|AddDerived|LoadDerivedConfig|pmParseUnitsStr|pmUnitsStr|pmConvScale|` +
	`pmExtractValue|pmAtomStr|pmNumberStr|Parse(HighRes)?Interval|Parse(HighRes)?TimeWindow|__pmParseTime|ParseMetricSpec|ParseHostSpec|` +
	`ParseHostAttrs|Unpack(HighRes)?EventRecords|pmMergeLabel|pmLookupLabels`)

// TestInteropSuiteList looks for every program of the test-suite that is about these subjects in
// the lists, and for what is in them.
func TestInteropSuiteList(t *testing.T) {
	src := filepath.Join(pcptest.Conf("PCP_VAR_DIR"), "testsuite", "src")
	pcptest.Need(t, src)
	listed := map[string]bool{} // and whether it is there
	for _, p := range suitePrograms() {
		listed[p.name] = false
	}
	for _, e := range suiteElsewhere {
		for name := range strings.FieldsSeq(e.programs) {
			if _, twice := listed[name]; twice {
				t.Errorf("%s is listed twice", name)
			}
			listed[name] = false
		}
	}
	files, err := os.ReadDir(src)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name, kind, _ := strings.Cut(f.Name(), ".")
		if _, ok := listed[name]; ok {
			listed[name] = true
			continue
		}
		if kind != "c" && kind != "python" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(src, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if function := suiteSubjects.Find(text); function != nil {
			t.Errorf("%s, which has %s, is not listed", f.Name(), function)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		if !listed[name] {
			t.Errorf("there is no program %s", name)
		}
	}
}

// TestSuiteElsewhere looks for the tests of this module that the list names.
func TestSuiteElsewhere(t *testing.T) {
	texts := map[string]string{}
	for _, dir := range []string{".", "../../../pmapi", "../../../pmapi/tool", "../../../pdu"} {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			texts[dir] += string(text)
		}
	}
	for _, e := range suiteElsewhere {
		for _, m := range regexp.MustCompile(`(?:(pdu|pmapi|tool), )?(Test\w+)`).FindAllStringSubmatch(e.where, -1) {
			dir := map[string]string{"": ".", "pmapi": "../../../pmapi", "tool": "../../../pmapi/tool", "pdu": "../../../pdu"}[m[1]]
			if !strings.Contains(texts[dir], "func "+m[2]+"(") {
				t.Errorf("%s: there is no %s", e.programs, m[0])
			}
		}
	}
}
