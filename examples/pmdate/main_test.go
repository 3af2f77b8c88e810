package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/build"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// output is what pmdate prints, and its exit status.
func output(now time.Time, args ...string) string {
	var out, errs strings.Builder
	status := run(args, now, &out, &errs)
	return fmt.Sprintf("%s%s%d", out.String(), errs.String(), status)
}

func TestRun(t *testing.T) {
	now := time.Date(2024, time.January, 31, 22, 13, 20, 0, time.FixedZone("AEST", 10*3600))
	for _, tt := range []struct{ args, want string }{
		{"%F_%T_%Z", "2024-01-31_22:13:20_AEST\n0"},
		{"-7d %d%m%Y", "24012024\n0"},
		{"+1m %F", "2024-03-02\n0"},
		{"+1y -1m +90S -1H +2M %F_%T", "2024-12-31_21:16:50\n0"},
		{"+1d", "+1d\n0"},
		{"+d %d", "31\n0"},
		{"5d x", "pmdate: incorrect leading sign for offset (5d), must be \"+\" or \"-\"\n1"},
		{"+5 x", "pmdate: missing scale after offset (+5)\n1"},
		{"+1.5H x", "pmdate: unknown scale after offset (+1.5H)\n1"},
		{"+5? x", usage + "1"},
		{"-?", usage + "1"},
		{"%300d", "pmdate: format too long\n1"},
		{"--version", build.Text("pmdate") + "0"},
		{"+1d --version", "--version\n0"},
	} {
		if diff := cmp.Diff(tt.want, output(now, strings.Fields(tt.args)...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.args, diff)
		}
	}
	if got := output(now, ""); got != "pmdate: format too long\n1" {
		t.Errorf("an empty format: %q", got)
	}
	if got := output(now); got != usage+"1" {
		t.Errorf("no argument: %q", got)
	}
}

// commandLines are the arguments of TestInterop, one command line per line.
var commandLines = strings.Split(`
-?
--help
-? x
--help x
+5?
+5? x
+5d -?
5d x
+5 x
-5 x
+5x x
+1.5H x
-- x
- x
+ x
--version x
x x
+1d
+d %H
%H
-d -m %Y-%m
-+5d %F
--5d %F
+5dd %F
+99999999999d %F
+99999999999999999999d %F
-99999999999999999999S %F
+4294967295y %F
+2147483647y %F
+1m +1y -3d +400H -9999M +7S %F_%T_%Z
+6m %F_%T_%z
-6m %F_%T_%z_%s
+180d %F_%T_%z_%s
+20000m %F
-20000m %F
-200y %F_%C_%y_%G_%g_%U_%W_%V
-2100y %F_%C_%y_%G_%g_%U_%W_%V
%%260d
%%261d
+1d xxx%%260d
%%2000000000d
%%99999999999d`, "\n")

// TestInterop compares with the real pmdate: command lines, and all conversions with flags, widths
// and modifiers.
func TestInterop(t *testing.T) {
	pcptest.Need(t, "pmdate")
	for _, tz := range []string{"UTC", "XST5XDT,M3.2.0,M11.1.0", "YDT-9:30YST,M11.1.0,M3.2.0"} {
		t.Setenv("TZ", tz)
		compare(t, []string{""})
		for _, line := range commandLines {
			compare(t, strings.Fields(strings.ReplaceAll(line, "%%", "%")))
		}
	}
	var format strings.Builder
	for c := byte(1); c < 0x7f; c++ {
		if c >= '0' && c <= '9' || strings.IndexByte("_-^#EO", c) >= 0 {
			continue
		}
		format.Reset()
		for _, before := range []string{"", "E", "O", "^", "#", "-", "_", "0", "12", "_12", "-12", "012", "^#3", "5O", "5E", "0_5", "-0", "5-"} {
			fmt.Fprintf(&format, "%%%s%c|", before, c)
		}
		compare(t, []string{"-3m", "-1d", format.String()})
	}
	compare(t, []string{"é%é%"})
	compare(t, []string{"%EEy%OOy%E"})
}

// compare compares with what the real pmdate prints. Of its clock, which is that of time(2), the
// second may begin some milliseconds later: what differs is compared again.
func compare(t *testing.T, args []string) {
	t.Helper()
	var diff string
	for range 3 {
		stdout, stderr, status := pcptest.Run(t, []string{"TZ=" + os.Getenv("TZ")}, "", append([]string{"pmdate"}, args...)...)
		diff = cmp.Diff(fmt.Sprintf("%s%s%d", stdout, stderr, status), output(time.Now().In(tool.LocalZone()), args...))
		if diff == "" {
			return
		}
	}
	t.Errorf("pmdate %q (-C +ours):\n%s", args, diff)
}
