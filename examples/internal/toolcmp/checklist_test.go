package toolcmp

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// checklist has, for each of what a user of the tools looks at first, a command line that tests
// compare with the real tool's.
var checklist = []struct{ what, line string }{
	{"layout", `^pmrep .*-s 2 -t \.2 kernel\.all\.load$`},
	{"time stamps and rates", `^pmrep .*-p -s 2 .* kernel\.all\.load kernel\.all\.pswitch$`},
	{"columns and rows swapped", `^pmrep .*-X load `},
	{"the extended header", `^pmrep .*-x -s 1 hinv\.ncpu$`},
	{"the version", `^pmrep .*-V$`},
	{"sets that there are not", `^pmrep .*:nosuch$`},
	{"no regular expression", `^pmrep .*-i '\('`},
	{"the order of instances", `^pmrep .*-i blue,b\.\* `},
	{"live filters", `^pmrep .*-j -i '\.\*5 m`},
	{"ranks of values", `^pmrep .*-1 -J -2 .*many\.int`},
	{"a predicate and dynamic headers", `^pmrep .*-N disk\.dev\.read .*-1|^pmrep .*-1 .*-N `},
	{"overall ranks", `^pmrep .*-J 2 -2 .*disk\.dev\.write`},
	{"sorted rows", `^pmrep .*-6 disk\.dev\.read .*-7|^pmrep .*-7 .*-6 `},
	{"limits", `^pmrep .*-9 -100 -8`},
	{"narrow columns and infinities", `^pmrep .*v\.d=1/0`},
	{"precision", `^pmrep .*-P 0 `},
	{"units of specs, defaults and forced", `^pmrep .*-B MB -y s `},
	{"raw values", `^pmrep .*-r -y hour`},
	{"unknown units", `^pmrep .*-b foo`},
	{"incompatible metrics", `^pmrep .*-I .*hinv\.ncpu,,,MB`},
	{"delimiters", `^pmrep .*-l _ -w 20`},
	{"separate headers", `^pmrep .*-g -X DISK`},
	{"labels", `^pmrep .*-m -w 30`},
	{"repeated headers", `^pmrep .*-E auto`},
	{"extended csv", `^pmrep .*-o csv -k`},
	{"the name pcp2csv", `^pcp2csv `},
	{"archives that cannot be written", `^pmrep -o archive -F /nosuch/x`},
	{"recorded times", `^pmrep .*-u .*-s 3|^pmrep .*-p -u`},
	{"the end of the window", `^pmrep .*-T .* hinv\.ncpu`},
	{"time zones", `^pmrep -Z EST5`},
	{"alignment", `^pmrep .*-A 1.* -f |^pmrep .*-p -A 1|^pmrep .*-A 1m`},
	{"no collector", `^pmrep -h \$CLOSED`},
	{"configurations with a key twice", `^pmrep -c \$C/duplicate\.conf`},
	{"directories of configurations", `^pmrep -c \$C/dir`},
	{"sets among metrics", `^pmrep -c \$C/sets\.conf .* :b disk`},
	{"two derived metrics", `^pmrep .*q\.b=hinv\.ncpu\*5`},
	{"derived metrics that are wrong", `^pmrep .*-e /nosuch a\.b`},
	{"checks", `^pmrep .*-C disk\.dev$`},
	{"a shipped set", `^pmrep .*:vmstat$`},
	{"pmstat's extended columns", `^pmstat .*-x`},
	{"pmstat of many hosts", `^pmstat .*-h .*-h `},
	{"pmstat of an archive with gaps", `^pmstat .*pcp-vmstat`},
	{"pmstat's scales", `^pmstat .*pcp-zeroconf`},
	{"events", `^pmevent .*sample\.event`},
	{"values that cannot be stored", `^pmval .*-x foo`},
	{"no interpolation", `^pmval .*-U `},
	{"pmval's window", `^pmval .*-A 10 -S 3 -T 20`},
	{"columns too wide", `^pmval -.*-f 30`},
	{"aggregated disks", `^pmiostat .*pcp-zeroconf.*-G sum`},
	{"device mapper", `^pmiostat .*dm-io`},
	{"the summary of an archive", `^pcp .*pcpcmd`},
	{"unknown commands", `^pcp .*nosuchcmd|^pcp nosuch`},
	{"pcp free", `^pcp .*free -w -l -t -o -m|^pcp-free .*-w -l`},
	{"pcp uptime", `^pcp .*pcp-uptime2 uptime`},
	{"pminfo at a time", `^pminfo .*-O -0|^pminfo .*sample-secs.*-O`},
	{"series", `^pminfo .*-s sample\.colour`},
	{"metrics that there are not", `^pmprobe .*nosuch sample\.long\.one`},
	{"instances of no domain", `^pmprobe .*-f -iI|^pmprobe .*-f .*-I`},
	{"stored instances", `^pmstore .*red,blue|^pmstore .* -i `},
	{"quoted arguments", `^pmgetopt .*--label`},
	{"no derived metrics", `^PCP_DERIVED_CONFIG=/nosuch pminfo`},
}

// TestChecklist fails if a command line of the checklist is in no table that tests read. How tools
// end, when a signal comes or the collector goes, is TestInteropEndings.
func TestChecklist(t *testing.T) {
	var lines []string
	for _, pattern := range []string{"testdata/*.lines", "../../*/testdata/*.lines"} {
		tables, err := filepath.Glob(pattern)
		if err != nil || len(tables) == 0 {
			t.Fatalf("%s: %d tables, error %v", pattern, len(tables), err)
		}
		for _, table := range tables {
			text, err := os.ReadFile(table)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, strings.Split(string(text), "\n")...)
		}
	}
	text := strings.Join(lines, "\n")
	for _, row := range checklist {
		if !regexp.MustCompile("(?m)" + row.line).MatchString(text) {
			t.Errorf("%s: no command line is like %s", row.what, row.line)
		}
	}
}
