package pmapi_test

import (
	"debug/elf"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// comparisons are the tests that compare functions of formats, time and configuration with the C
// library's, or with its tools.
var comparisons = map[string]string{
	"pmExtractValue":               "pdu/oracle_test.go TestInteropExtract",
	"pmConvScale":                  "pdu/values_oracle_test.go TestInteropConvertUnits",
	"pmAtomStr":                    "pdu/values_oracle_test.go TestInteropAtomString",
	"pmPrintValue":                 "pdu/values_oracle_test.go TestInteropValueFormat",
	"pmPrintValue of another type": "pdu/values_oracle_test.go TestInteropValueOfOtherType",
	"pmNumberStr":                  "pdu/values_oracle_test.go TestInteropFormatNumber",
	"pmUnitsStr":                   "pdu/oracle_test.go TestInteropUnitsString",
	"pmParseUnitsStr":              "pdu/oracle_test.go TestInteropParseUnits",
	"pmTypeStr, pmSemStr, pmIDStr, pmInDomStr, pmEventFlagsStr": "pdu/oracle_test.go TestInteropNames",
	"pmErrStr":               "pdu/oracle_test.go TestInteropErrorText",
	"pmSortInstances":        "pdu/oracle_test.go TestInteropSortInstances",
	"pmUnpackEventRecords":   "pdu/values_oracle_test.go TestInteropEventRecordValues",
	"pmMergeLabels":          "pdu/oracle_test.go TestInteropMergeLabels",
	"pmPrintDesc":            "examples/internal/pcptool/desc_test.go TestInteropDesc",
	"pmParseHighResInterval": "pmapi/interval_oracle_test.go TestInteropParseInterval",
	"pmParseInterval, pmGetConfig, __pmParseHostAttrs": "examples/internal/pcptool/suiteprograms_interop_test.go TestInteropSuitePrograms",
	"pmParseTimeWindow":                                    "pmapi/timewindow_oracle_test.go TestInteropWindow",
	"pmParseMetricSpec":                                    "pmapi/specs_test.go TestInteropMetricSpec",
	"__pmParseHostSpec":                                    "pmapi/specs_test.go TestInteropHost",
	"pmCtime, pmPrintStamp, pmPrintHighResStamp":           "examples/internal/pcptool/stamp_test.go TestInteropStamp",
	"pmNewZone":                                            "pmapi/tool/zone_test.go TestInteropZone",
	"pmGetOptions, pmUsageMessage, pmprintf, pmflush":      "examples/internal/pcptool/command_test.go TestInteropErrors",
	"pmRegisterDerived, pmAddDerived, pmLoadDerivedConfig": "pmapi/derivedinterop_test.go TestInteropDerive",
}

// TestComparisons checks that the files contain the tests.
func TestComparisons(t *testing.T) {
	for name, where := range comparisons {
		file, test, _ := strings.Cut(where, " ")
		text, err := os.ReadFile(filepath.Join("..", file))
		if err != nil || !strings.Contains(string(text), "func "+test) {
			t.Errorf("%s: no %s in %s, %v", name, test, file, err)
		}
	}
}

// TestInteropEveryFunction looks for every function of the installed C library in the table of the
// package documentation.
func TestInteropEveryFunction(t *testing.T) {
	library := filepath.Join(pcptest.Conf("PCP_LIB_DIR"), "libpcp.so")
	pcptest.Need(t, library)
	f, err := elf.Open(library)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(file.Doc.Text(), "# The C names")
	listed := map[string]bool{}
	for _, name := range regexp.MustCompile(`\b(__)?pm\w+`).FindAllString(table, -1) {
		listed[name] = true
	}
	n := 0
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF || !strings.HasPrefix(s.Name, "pm") {
			continue
		}
		n++
		base := strings.TrimSuffix(s.Name, "_r")
		if !listed[s.Name] && !listed[base] && !listed[strings.TrimSuffix(base, "HighRes")] && !listed[strings.TrimSuffix(base, "Metric")] {
			t.Errorf("%s is not in the table of doc.go", s.Name)
		}
	}
	if n < 100 {
		t.Errorf("%s has %d functions", library, n)
	}
}
