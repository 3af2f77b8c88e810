package dbpmda

import (
	"strings"
	"testing"
)

// TestForms checks the forms that words may have.
func TestForms(t *testing.T) {
	for command, want := range map[string]string{
		"desc 0X12":                  "Warning: PMID (0.0.18) is not defined in the PMNS\nWarning: No PMDA",
		"fetch 1,0x1 , simple.color": "Warning: No PMDA",
		"de\rsc\r simple.color\r":    "Warning: No PMDA currently opened\n",
		"desc $a":                    "Error: syntax error\n",
		"$a.b":                       "Error: Unrecognized command\nType 'help' for a list of commands.\n     ^ at or near here\nError: Illegal character\n",
		"$1":                         "Error: Illegal character\n",
		"attr \"uid\" '0'":           "Warning: No PMDA",
		"attr \"authname\"":          "Error: Attribute (authname) is not recognised\n",
		"label cluster 511.7":        "Warning: No PMDA",
	} {
		if got := transcript(t, command+"\n", nil); !strings.Contains(got, want) {
			t.Errorf("%q:\n%s\nwant\n%s", command, got, want)
		}
	}
}

// TestDebugOptions has debug options by name and number, and status lists them.
func TestDebugOptions(t *testing.T) {
	for command, want := range map[string]string{
		"debug PDU,Fetch":           "pdu fetch",
		"debug pdu, -pdu attr":      "attr",
		"debug 0x3":                 "pdu fetch",
		"debug 1073741824":          "desperate",
		"debug 2147483648":          "(none)",
		"debug 4294967297":          "pdu",
		"debug all\ndebug none":     "(none)",
		"debug all":                 "(all)",
		"debug pdu nosuch":          "pdu",
		"debug pdu,":                "pdu",
		"debug context -all":        "(none)",
		"debug appl0\ndebug -APPL0": "(none)",
	} {
		if got := transcript(t, command+"\nstatus\n", nil); !strings.Contains(got, "\nDebug options:          "+want+"\n") {
			t.Errorf("%q:\n%s\nwant the options %s", command, got, want)
		}
	}
}

// TestLineWriter writes lines whole before a message.
func TestLineWriter(t *testing.T) {
	var out strings.Builder
	l := newLineWriter(&out)
	write := func(text, lines, all string) {
		t.Helper()
		l.Write([]byte(text))
		if l.FlushLines(); out.String() != lines {
			t.Errorf("%q: the lines are %q, want %q", text, out.String(), lines)
		}
		if all == "" {
			return
		}
		if l.Flush(); out.String() != all {
			t.Errorf("%q: all is %q, want %q", text, out.String(), all)
		}
	}
	write("a", "", "")
	write("b\nc", "ab\n", "")
	write("\n\nd", "ab\nc\n\n", "ab\nc\n\nd")
	write("e", "ab\nc\n\nd", "ab\nc\n\nde")
}
