package main

import (
	"net"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// asInstalled is our program in the place of PCP's pmcd, and the environment that says so.
func asInstalled(t *testing.T) (program string, env []string) {
	t.Helper()
	bin := filepath.Join(pcptest.ShortDir(t), "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(bin, "pmcd")
	if err := os.Symlink(pcptest.Build(t, "./examples/pmcd"), program); err != nil {
		t.Fatal(err)
	}
	return program, []string{"PCP_BINADM_DIR=" + bin}
}

// A fatalStart is a command line that keeps pmcd from starting. The test adds -f and names for all
// that pmcd would write.
type fatalStart struct {
	name string
	args string
	env  string
	// ours says why our program does not do as C pmcd does, and is what it then prints to standard
	// error; empty if it does the same.
	ours string
}

const (
	// exits is why the exit status differs: C pmcd ends with 0, as if it had started, if it does
	// not know an option.
	exits = `^pmcd: .*\nUsage: pmcd `
	// parses is why the text of a faulty name space differs: ours ends at the first fault.
	parses = "parses"
)

var fatalStarts = []fatalStart{
	{name: "help", args: "-?"},
	{name: "help and more", args: "--help more -t x"},
	{name: "unknown letter", args: "-z", ours: exits},
	{name: "unknown name", args: "--nosuch", ours: exits},
	{name: "no argument", args: "-c", ours: exits},
	{name: "timeout", args: "-t x"},
	{name: "timeout less than 0", args: "-t -1"},
	{name: "timeout with a fraction", args: "-t 3.5"},
	{name: "no agent timeout", args: "-q 0"},
	{name: "agent timeout", args: "-q x"},
	{name: "no size", args: "-L 0"},
	{name: "size", args: "-L x"},
	{name: "trace", args: "-T x"},
	{name: "trace less than 0", args: "-T -1"},
	{name: "port", args: "-p x"},
	{name: "port less than 0", args: "-p -3"},
	{name: "one of several ports", args: "-p 1,x"},
	{name: "debug", args: "-D nosuch"},
	{name: "several options", args: "-q 0 -t x -D nosuch"},
	{name: "port of the environment", args: "-c conf -n names", env: "PMCD_PORT=x", ours: `^pmcd: PMCD_PORT requires a positive numeric argument`},
	{name: "no configuration", args: "-c nosuch -n names"},
	{name: "empty configuration", args: "-c empty -n names"},
	{name: "bad configuration", args: "-c bad -n names"},
	{name: "bad access", args: "-c badaccess -n names"},
	{name: "bad configuration, log on standard error", args: "-c bad -n names -l -"},
	{name: "bad configuration, no log", args: "-c bad -n names -l /nosuch/dir/log"},
	{name: "no names", args: "-c conf -n nosuch"},
	{name: "no default names", args: "-c conf", env: "PMNS_DEFAULT=/nosuch"},
	{name: "empty names", args: "-c conf -n empty"},
	{name: "bad names", args: "-c conf -n badnames", ours: parses},
	{name: "duplicate names", args: "-c conf -N duplicates"},
	{name: "busy port", args: "-c conf -n names -i 127.0.0.1 -p BUSY -s /nosuch/socket"},
	{name: "unknown interface", args: "-c bad -n names -i nosuch.host.invalid"},
	{name: "port twice", args: "-c bad -n names -i 127.0.0.1 -p FREE -p FREE"},
	{name: "ports of the environment", args: "-c bad -n names -i 127.0.0.1", env: "PMCD_PORT=0,FREE"},
	{name: "loopback of the environment", args: "-c bad -n names", env: "PMCD_LOCAL=1"},
	{name: "backlog of the environment", args: "-c bad -n names", env: "PMCD_MAXPENDING=7"},
	{name: "bad backlog of the environment", args: "-c bad -n names", env: "PMCD_MAXPENDING=x"},
	{name: "verify", args: "-v -c bad"},
	{name: "verify nothing", args: "-v -c nosuch"},
	{name: "verify empty", args: "--verify --config=empty"},
	{name: "verify good", args: "-v -c conf"},
	{name: "verify access", args: "-v -c badaccess"},
	{name: "verify with an option", args: "-v -c conf -t x"},
}

// run runs a program in a new directory, and returns its exit status and what it has printed,
// logged and reported.
func (f fatalStart) run(t *testing.T, program string, env []string, busy string) (status int, printed, logged, reported string) {
	t.Helper()
	dir := pcptest.ShortDir(t)
	for name, text := range map[string]string{
		"conf": "x 250 pipe binary /bin/true\n", "empty": "", "bad": "x 600 pipe binary /bin/true\n", "names": "root { }\n",
		"badaccess": "x 250 pipe binary /bin/true\n[access]\nall;\n", "badnames": "root {\n\ta 1:2\n}\n", "duplicates": "root {\n a 1:2:3\n b 1:2:3\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	free := strconv.Itoa(pcptest.FreePort(t))
	args := []string{program, "-A", "-f", "-x", "report", "-s", "socket", "-U", u.Username}
	if !strings.Contains(f.args+f.env, "-p ") && f.env == "" {
		args = append(args, "-p", free)
	}
	env = append(slices.Clone(env), "PCP_RUN_DIR="+dir, "PCP_LOG_DIR="+dir, "PCP_TMP_DIR="+dir, "PMCD_ROOT_AGENT=0")
	if f.env != "" {
		env = append(env, "PMCD_PORT="+free, strings.Replace(f.env, "FREE", free, 1))
	}
	out, printed, status := pcptest.RunIn(t, dir, env, "", append(args, strings.Fields(strings.NewReplacer("BUSY", busy, "FREE", free).Replace(f.args))...)...)
	if out != "" {
		t.Errorf("%s: standard output %q", program, out)
	}
	mask := func(s string) string {
		s = regexp.MustCompile(`pmcd\(\d+\)`).ReplaceAllString(stamp.ReplaceAllString(strings.ReplaceAll(s, free, "FREE"), "TIME"), "pmcd(PID)")
		return regexp.MustCompile(`\n\n+`).ReplaceAllString(s, "\n")
	}
	read := func(name string) string {
		b, _ := os.ReadFile(filepath.Join(dir, name)) // there may be none
		return mask(string(b))
	}
	return status, mask(printed), read("pmcd.log"), read("report")
}

// usageBody is what follows the first line of the usage message. Its options are compared in
// TestInteropUsage.
var usageBody = regexp.MustCompile(`(?m)^(General|Service|Configuration|Connection|Diagnostic) options:\n(^  .*\n)*`)

// TestInteropFatalStart starts C pmcd and ours, in its place, where they cannot: they end with the
// same status and print, log and report the same.
func TestInteropFatalStart(t *testing.T) {
	pcptest.Need(t, "pmcd")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, busy, _ := net.SplitHostPort(l.Addr().String())
	program, env := asInstalled(t)
	t.Run("all", func(t *testing.T) {
		for _, f := range fatalStarts {
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				status, printed, logged, reported := f.run(t, program, env, busy)
				got := []string{usageBody.ReplaceAllString(printed, ""), logged, reported}
				switch f.ours {
				case parses:
					got[1] = strings.Replace(got[1], "\n      ^\n", "\n      ^\nMORE\n", 1)
					got[2] = strings.Replace(got[2], "\n      ^\n", "\n      ^\nMORE\n", 1)
				case "":
				default:
					if status != 1 || !regexp.MustCompile(f.ours).MatchString(printed) {
						t.Errorf("exit status %d, standard error:\n%s", status, printed)
					}
					return
				}
				wantStatus, printed, logged, reported := f.run(t, pcptest.Tool(t, "pmcd"), nil, busy)
				want := []string{usageBody.ReplaceAllString(printed, ""), logged, reported}
				if f.ours == parses {
					more := regexp.MustCompile(`(?s)(\n      \^\n)\[.*?\n(Error: pmLoad)`)
					want[1], want[2] = more.ReplaceAllString(want[1], "${1}MORE\n$2"), more.ReplaceAllString(want[2], "${1}MORE\n$2")
				}
				if diff := cmp.Diff(want, got); diff != "" || status != wantStatus {
					t.Errorf("exit status %d, want %d; standard error, log and report (-C +Go):\n%s", status, wantStatus, diff)
				}
			})
		}
	})
}

// TestInteropUsage compares the usage message of our program in the place of PCP's with that of C
// pmcd: it has all options of that one, in its words, and some of later versions.
func TestInteropUsage(t *testing.T) {
	pcptest.Need(t, "pmcd")
	program, env := asInstalled(t)
	_, want, _ := pcptest.Run(t, nil, "", pcptest.Tool(t, "pmcd"), "-?")
	_, got, _ := pcptest.Run(t, env, "", program, "-?")
	options := func(usage string) string { // an option in a line
		return regexp.MustCompile(`\n {20,}`).ReplaceAllString(usage, "  ")
	}
	only := regexp.MustCompile(`^  -([CFMQS])[ ,]`) // -Q and -S need certificates and accounts
	lines := func(usage string) []string {
		usage = strings.Replace(usage, "-L BYTES, --maxbytes=BYTES", "-L BYTES", 1)
		usage = regexp.MustCompile(`(  -.*?)  +`).ReplaceAllString(options(usage), "$1  ")
		return slices.DeleteFunc(strings.Split(usage, "\n"), only.MatchString)
	}
	if diff := cmp.Diff(lines(want), lines(got)); diff != "" {
		t.Errorf("(-C +Go):\n%s", diff)
	}
}
