package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

var all = flag.Bool("all", false, "run all command lines and configurations, not a sample")

// A lab is a collector, and the environment of loggers.
type lab struct {
	pmcd *pcptest.PMCD
	ours string
	env  []string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	pcptest.Need(t, "pmlogger", "pmdumplog", "pmlogcheck")
	l := &lab{pmcd: pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "sample", "linux"}}),
		ours: pcptest.Build(t, "./examples/pmlogger")}
	dir := pcptest.ShortDir(t)
	l.env = append(pcptest.Env(), "PCP_RUN_DIR="+dir, "PCP_TMP_DIR="+dir, "PMLOGGER_LOCAL=1", "PMLOGGER_PORT="+strconv.Itoa(pcptest.FreePort(t)),
		"PMCD_SOCKET="+l.pmcd.Socket())
	return l
}

// run runs a logger in a directory to its end.
func (l *lab) run(t *testing.T, program, dir, stdin string, args ...string) (stdout, stderr, status string) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Args[0] = "pmlogger"
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.WaitDelay = dir, l.env, strings.NewReader(stdin), 10*time.Second
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Errorf("%s: %v", program, err)
	}
	return out.String(), pcptest.WithoutTypos(errs.String()), fmt.Sprint(cmd.ProcessState)
}

// configFiles are the configurations of the command lines. In the first one 500 msec is long: PCP's
// program swaps the first records of two groups if it takes longer than the interval to start.
var configFiles = map[string]string{
	"good":     "log mandatory on 500 msec { sample.bin sample.colour[\"red\"] sample.long.one }\nlog mandatory on once { hinv.ncpu sample.string }\n",
	"empty":    "",
	"off":      "log mandatory off sample.bin\n",
	"comment":  "# nothing\n\n",
	"open":     "log mandatory on 5 sec { sample.bin\n",
	"unit":     "log advisory on 5 foo sample.bin\n",
	"include":  "%include \"nosuch\"\nlog mandatory on 5 sec { sample.bin }\n",
	"included": "%include \"good\"\nlog mandatory on 5 sec { nosuch }\n",
	"long":     "log mandatory on 300000 hours sample.bin\n",
	"names":    "log mandatory on 5 sec { sample.bin[\"bin-100\",\"nosuch\"] sample.colour[3,\"red\"] sample.long.one[\"a\"]\n nosuch.metric\n sample.nosuch }\n",
	"conflict": "log mandatory on 5 sec { sample.bin[\"bin-100\"] sample.colour }\nlog advisory on 10 sec { sample.bin }\nlog advisory off sample.colour[\"red\"]\n" +
		"log mandatory off sample.bin[\"bin-100\"]\nlog advisory on once { sample.colour[\"red\",\"green\"] sample.bin[\"bin-300\"] }\n",
	"all": "log mandatory on 1 sec sample.long.one\nlog advisory on 2 sec sample.long.one\nlog advisory off sample.long.one\n" +
		"log mandatory on 2 sec sample.bin\nlog advisory on 2 sec sample.bin\nlog mandatory off sample.long.ten\nlog advisory on default sample.long.ten\n",
	"maybe":   "log mandatory maybe { sample.bin }\nlog advisory on 1 sec { sample.bin }\nlog mandatory on 2 sec sample.bin\nlog mandatory maybe sample.bin\nlog advisory on once sample.bin\n",
	"rule":    "log mandatory on 1 sec sample.long\n[access]\nallow foo bar\n",
	"clash":   "log on once { sample.long.one }\n[access]\ndisallow * : all;\nallow unix:* : all;\n",
	"host":    "log on once { sample.long.one }\n[access]\ndisallow nosuch.invalid : all;\n",
	"access":  "log on once { sample.long.one }\n[access]\ndisallow .* : all;\nallow localhost : enquire;\n",
	"define":  "%define foo a b c\nlog mandatory on 1 sec sample.long\n",
	"macro":   "%define often 1 sec\nlog mandatory on %often sample.long\n",
	"macros":  "%define often \"1 sec\"\nlog mandatory on %often sample.long\n\n\nlog on %often nosuch\n",
	"ifdef":   "%ifdef foo\nlog on once { sample.long }\n",
	"second":  "log mandatory on 0 sec { sample.long.one }\nlog mandatory on 1 sec \"x\"\n",
	"dollar":  "log on once { sample.long $ }\n",
	"errors":  "log on once { sample.bogus sample.error sample.bad.unknown sample.bad.nosupport sample.not_ready sample.dodgey pmcd }\n",
	"partial": "log on once { sample.long nosuch }\nlog on twice { sample.long }\n",
	"quotes":  "log on once { sample.bin[\"bin-100] }\n",
}

// commandLines are separated at blanks; an underscore stands for a blank, H for the collector.
var commandLines = []string{
	"", "-Q", "--nosuch", "-x", "-x a X", "-x -1 X", "-t abc X", "-t abc", "-s foo X", "-v foo X", "-V 1 X", "-V 4 X", "-V x X", "-V 2x X", "-V",
	"-p abc X", "-p 99999999 X", "-p -5 X", "-p 0 X", "-p 1x X", "-P -h H X", "-P -h H", "-o -h H X", "-o -P -h H X Y", "-D foo X", "-I 9 X", "-I x X", "-I 1 X", "-I 2x X", "-K foo X", "X Y", "-C X Y", "--host",
	"-t abc -s foo", "-t abc -Q -s foo X Y", "X Y -s foo", "-?", "--help X", "-t abc -?", "--lo X", "-d /tmp X",
	"-s 0 X", "-s -1 X", "-s 1.5k X", "-s 3samples X", "-s 0b X", "-s 1t X", "-s 0sec X", "-s 0.2sec X", "-v 0x10 X", "-v 10% X",
	"-U nosuch.user X",
	"-c nosuch -h H X", "-C -c nosuch -h H", "-C -h localhost:1 -c nosuch", "-C -h localhost:1 -n nosuch", "-n nosuch -h H X", "-C -n nosuch -h H", "-h localhost:1 X", "-l - -h localhost:1 X",
	"-h localhost:1 -l /nosuch/log X", "-h foo:bar X",
	"-c good -h H -T foo X", "-c good -h H -T @bar_12 X", "-c good -h H -T -5sec X", "-c good -h H -s 1 /nosuch/X", "-c good -h H -s 1 exists", "-c empty -h H exists", "-c good -h H -s 1 exist%%s",
	"-h H X", "-h H -L -T 0.1sec X", "-c good -h H -s 1 X", "-c good -h H -s 3 -r X", "-c good -h H -s 1b X", "-c good -h H -s 1sec X", "-c good -h H -T 0.2sec X",
	"-c good -h H -l my.log -s 1 X", "-c good -h H -l - -s 1 X", "-c good -h H -l /nosuch/log -s 1 X", "-c good -h H -v 1 -s 3 X", "-c good -h H -v 100b -s 3 X", "-c good -h H -V 3 -s 2 X", "-c good -h H -V 2 -V 3 -s 2 X",
	"-c good -h H -H foo -m note -s 1 X", "-c good -h H -y -s 1 X", "-c good -h H -u -s 1 X", "-c good -h H -I 2 -N -s 1 X", "-c good -h H -s 1 X%%Y", "-t 0 -h H -c good -s 1 X", "-C -T foo -h H -c good", "-C -P -c good", "-C -l foo.log -h H -c good",
	"-C -h H", "-C -h H <log_on_once_foo_bar", "-h H -s 1 X <log_on_once_sample.long.one", "-o -c empty X", "-o -L -c empty -T 0.1sec X", "-c off -h H -T 1sec X", "-c open -h H X", "-c names -r -h H -s 1 X", "-c included -r -h H -s 1 X",
}

// differing are command lines whose differences are on purpose.
var differing = map[string]string{
	"-c good -h H -T foo X": "C leaves three empty files",
}

func TestInteropCommandLines(t *testing.T) {
	l := newLab(t)
	lines := append([]string{}, commandLines...)
	for name := range configFiles {
		lines = append(lines, "-C -h H -c "+name)
	}
	if !*all {
		lines = sample(lines, 12)
	}
	limit := make(chan struct{}, 4)
	var wg sync.WaitGroup
	for _, line := range lines {
		wg.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			l.compareLine(t, line)
		})
	}
	wg.Wait()
}

// sample is some of a list.
func sample[T any](list []T, n int) []T {
	list = slices.Clone(list)
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:n]
}

// Runs that may end without a record, and the files of their archives. PCP 6.0.3 leaves an archive
// of its preamble. PCP 7 and our program leave no files.
var (
	recordsNothing = regexp.MustCompile(`-T @|-T -5sec|-c (empty|off) |-L -T `)
	emptyArchive   = regexp.MustCompile(`(?m)^file X\S*\.(0|index|meta)\n`)
)

// compareLine compares what C's program and ours do with a command line. Only a difference that is
// there three times is one: a busy machine makes others.
func (l *lab) compareLine(t *testing.T, line string) {
	for n := 1; ; n++ {
		want, got := l.runLine(t, pcptest.Tool(t, "pmlogger"), line), l.runLine(t, l.ours, line)
		if recordsNothing.MatchString(line) && !emptyArchive.MatchString(got) {
			want = emptyArchive.ReplaceAllString(want, "")
		}
		diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n"))
		reason := differing[line]
		switch {
		case diff == "" && reason != "":
			t.Errorf("pmlogger %s: no difference any more: %s", line, reason)
		case diff == "" || reason != "":
		case n < 3:
			continue
		default:
			t.Errorf("pmlogger %s (-C +ours):\n%s", line, diff)
		}
		return
	}
}

// runLine runs a command line in a new directory and returns its output and the files that it
// writes.
func (l *lab) runLine(t *testing.T, program, line string) string {
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Error(err)
		return ""
	}
	files := map[string]string{"exists.index": "", "exist%s.meta": ""}
	for name, text := range configFiles {
		files[name] = text
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Error(err)
		}
	}
	command, stdin, _ := strings.Cut(line, "<")
	args := strings.Fields(command)
	for i, a := range args {
		if a = strings.ReplaceAll(a, "_", " "); a == "H" {
			a = l.pmcd.Host()
		}
		args[i] = a
	}
	stdout, stderr, status := l.run(t, program, dir, strings.ReplaceAll(stdin, "_", " ")+"\n", args...)
	var b strings.Builder
	fmt.Fprintf(&b, "standard output:\n%sstandard error:\n%s%s\n", stdout, stderr, status)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Error(err)
	}
	for _, e := range entries {
		if _, ours := files[e.Name()]; ours {
			continue
		}
		fmt.Fprintf(&b, "file %s\n", e.Name())
		if strings.HasSuffix(e.Name(), ".log") {
			text, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Error(err)
			}
			b.Write(text)
		}
	}
	return mask(b.String())
}

// masks are what differs from run to run.
var masks = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d\] pmlogger\(\d+\)`), "[DATE] pmlogger(PID)"},
	{regexp.MustCompile(`[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}`), "DATE"},
	{regexp.MustCompile(`\nOptions that PCP's pmlogger does not have:\n(  .*\n)*`), ""},
}

func mask(text string) string {
	for _, m := range masks {
		text = m.pattern.ReplaceAllString(text, m.with)
	}
	return text
}
