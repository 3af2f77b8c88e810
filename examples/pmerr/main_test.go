package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

func TestRun(t *testing.T) {
	tests := []struct {
		args      []string
		out, errs string
		status    int
	}{
		{args: nil},
		{args: []string{"-12357"}, out: "Code: -12357 0xffffcfbb Text: Unknown metric name\n"},
		{args: []string{"-12415"}, out: "Code: -12415 0xffffcf81 Text: Bad value for function argument\n"},
		{args: []string{"0xffffcfbb", "3x"}, out: "Code: -12357 0xffffcfbb Text: Unknown metric name\n" +
			"Code is positive, assume you mean -3\nCode: -3 0xfffffffd Text: No such process\n"},
		{args: []string{"foo", "-x"}, out: "Cannot decode \"foo\" - neither decimal nor hexadecimal\n" +
			"Cannot decode \"-x\" - neither decimal nor hexadecimal\n"},
		{args: []string{"-a"}, out: "Cannot decode \"-a\" - neither decimal nor hexadecimal\n"},
		{args: []string{"-"}, errs: "Illegal option -- \n" + usage, status: 1},
		{args: []string{"-x", "3"}, errs: "Illegal option -- x\n" + usage, status: 1},
		{args: []string{"--help"}, errs: usage, status: 1},
	}
	for _, tt := range tests {
		var out, errs strings.Builder
		status := run(tt.args, &out, &errs)
		want := fmt.Sprintf("%s\n%s\n%d", tt.out, tt.errs, tt.status)
		if diff := cmp.Diff(want, fmt.Sprintf("%s\n%s\n%d", &out, &errs, status)); diff != "" {
			t.Errorf("pmerr %q (-want +got):\n%s", tt.args, diff)
		}
	}
}

func TestParseCode(t *testing.T) {
	for text, want := range map[string]int32{
		"0": 0, " \t-3": -3, "+3": 3, "010": 10, "3.9": 3, "0x": 0, "0X3": 3, "0xg": 0, " 0x3": 0, "0xABCdef": 0xabcdef,
		"2147483648": -2147483648, "99999999999": 1215752191, "99999999999999999999": -1, "-99999999999999999999": 0,
		"0x1ffffffff": -1, "0x10000000000000001": -1,
	} {
		if got, ok := parseCode(text); got != want || !ok {
			t.Errorf("parseCode(%q): got %d, %t, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", " ", "-", "+-3", "- 3", "x", "é"} {
		if got, ok := parseCode(text); ok {
			t.Errorf("parseCode(%q): got %d, want none", text, got)
		}
	}
}

// TestInteropCodes compares the list of codes, and the texts of all codes that PCP has and of many
// that it does not have.
func TestInteropCodes(t *testing.T) {
	pcptest.Need(t, "pmerr")
	var args []string
	for code := -22000; code <= 0; code++ {
		args = append(args, strconv.Itoa(code))
	}
	for _, args := range [][]string{{"-l"}, args[:11000], args[11000:]} {
		var out, errs strings.Builder
		status := run(args, &out, &errs)
		wantOut, wantErrs, wantStatus := pcptest.Run(t, nil, "", append([]string{"pmerr"}, args...)...)
		want := fmt.Sprintf("%s\n%s\n%d", wantOut, wantErrs, wantStatus)
		got := fmt.Sprintf("%s\n%s\n%d", &out, &errs, status)
		// PM_ERR_ARG came with PCP 7.
		if strings.Contains(want, "(-12415)") {
			got = strings.Replace(got, "Bad value for function argument", "No such PMAPI error code (-12415)", 1)
		} else if args[0] == "-l" && !strings.Contains(want, "PM_ERR_ARG") {
			got = strings.Replace(got, "-12415  PM_ERR_ARG             Bad value for function argument\n", "", 1)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pmerr %s … (-C +ours):\n%s", args[0], diff)
		}
	}
}
