package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// A recording is what C's program and ours record at the same time.
type recording struct {
	name   string
	config string // or, if it begins with a slash, its file
	args   string
	env    string
	store  [][]string // commands of pmstore, one after the other while the loggers run
}

var recordings = []recording{
	{name: "instances", config: `log mandatory on 100 msec sample.bin`, args: "-s 5"},
	{name: "once", config: `log mandatory on once { sample.bin hinv sample.long } log advisory on 200 msec sample.colour`, args: "-s 4"},
	{name: "instance lists", config: `log mandatory on 100 msec { sample.bin["bin-300",500 "bin-100"] sample.colour[2,"red"] sample.long.one }`, args: "-s 4"},
	{name: "lists of one domain", config: `log mandatory on 200 msec { sample.bin["bin-300"] } log mandatory on 300 msec { sample.bin[100] sample.bogus_bin sample.part_bin[200] }`, args: "-s 6"},
	{name: "intervals", config: "log on 200 msec sample.bin\nlog on 300 msec { sample.colour sample.drift }\nlog mandatory on 1 sec { sample.long sample.float }", args: "-s 9"},
	{name: "maybe and off", config: "log mandatory on 200 msec { sample.bin sample.colour }\nlog mandatory off sample.colour[\"red\"]\nlog mandatory maybe sample.bin\n" +
		"log advisory on 100 msec { sample.long.one sample.float }\nlog mandatory off sample.float", args: "-s 5"},
	{name: "default", config: "log on default { sample.bin sample.ulong }", args: "-t 150msec -s 4"},
	{name: "strings and aggregates", config: "log on 150 msec { sample.string sample.aggregate sample.hordes.two sample.ulonglong sample.double sample.wrap }", args: "-s 4"},
	{name: "events", config: "log on 100 msec { sample.event }", args: "-s 16"},
	{name: "events 3", config: "log on 100 msec { sample.event.records sample.event.highres_records sample.bin }", args: "-s 16 -V 3"},
	{name: "errors", config: "log on 200 msec { sample.bad sample.error_code sample.not_ready sample.dodgey sample.nosupport sample.step sample.noinst }", args: "-s 3"},
	{name: "names", config: "log on once sample.dupnames\nlog on 150 msec { sample.dupnames.two sample.bin sample.long.one }", args: "-s 4 -V 3"},
	{name: "name of another agent", config: "log on 200 msec sample.secret.foo.bar.max.redirect\nlog on 300 msec pmcd.agent.status", args: "-s 4"},
	{name: "volumes of records", config: "log on 100 msec { sample.bin sample.long }", args: "-v 2 -s 7"},
	{name: "volumes of bytes", config: "log on 100 msec { sample.bin sample.long }", args: "-V 3 -v 600b -s 5"},
	{name: "end by bytes", config: "log on 100 msec { sample.bin sample.long.one }", args: "-s 2kb"},
	{name: "linux", config: "log on once { hinv kernel.uname }\nlog on 200 msec { kernel.all.load kernel.all.cpu kernel.percpu mem.util disk.dev disk.all network.interface filesys swap }", args: "-s 4"},
	{name: "linux 3", config: "log on 200 msec { kernel.all mem disk network }", args: "-s 3 -V 3"},
	{name: "pmcd", config: "log on 200 msec { pmcd.pid pmcd.agent pmcd.hostname pmcd.version pmcd.numagents pmcd.pmie pmcd.simabi pmcd.timezone pmcd.zoneinfo }", args: "-s 3 -H elsewhere"},
	{name: "shipped", config: "/var/lib/pcp/config/pmlogger/config.pmstat", args: "-t 200msec -s 4"},
	{name: "derived", config: "log on 200 msec { my sample.bin }", args: "-s 3", env: "my.total = sum(sample.bin)\nmy.double = sample.long.one + sample.float.one\n"},
	{name: "changing domain", config: "log on 100 msec { sample.many.int }", args: "-T 3sec",
		store: [][]string{{"sample.many.count", "7"}, {"sample.many.count", "3"}, {"sample.many.count", "50"}, {"sample.many.count", "51"}, {"sample.many.count", "2"}}},
	{name: "changing domain 3", config: "log on 100 msec { sample.many.int }", args: "-V 3 -T 3sec",
		store: [][]string{{"sample.many.count", "7"}, {"sample.many.count", "3"}, {"sample.many.count", "50"}, {"sample.many.count", "51"}, {"sample.many.count", "2"}}},
	{name: "macros", config: "%define often \"100 msec\"\n%define what \"sample.bin sample.colour\"\nlog on %often { %what }\n[access]\ndisallow .* : all;\nallow localhost : enquire;\n", args: "-s 3"},
	{name: "pmlogconf", config: "pmlogconf", args: "-t 500msec -s 12"},
}

func TestInteropSideBySide(t *testing.T) {
	l := newLab(t)
	chosen := recordings
	if !*all {
		short := slices.DeleteFunc(slices.Clone(recordings), func(r recording) bool { return r.config == "pmlogconf" || r.store != nil })
		chosen = sample(short, 3)
	}
	var changing sync.Mutex // two that change a domain disturb each other
	limit := make(chan struct{}, 3)
	var wg sync.WaitGroup
	for _, r := range chosen {
		wg.Go(func() {
			if r.store != nil {
				changing.Lock()
				defer changing.Unlock()
			}
			limit <- struct{}{}
			defer func() { <-limit }()
			l.compareRecording(t, r)
		})
	}
	wg.Wait()
}

// compareRecording compares archives that are made at the same time. On a busy machine a logger may
// be late; so a difference counts only if it is there three times in a row.
func (l *lab) compareRecording(t *testing.T, r recording) {
	diff := ""
	for n := 0; n < 3; n++ {
		if diff = l.tryRecording(t, r); diff == "" {
			return
		}
	}
	t.Errorf("%s (-C +ours):\n%s", r.name, diff)
}

func (l *lab) tryRecording(t *testing.T, r recording) string {
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Error(err)
		return ""
	}
	config := r.config
	switch {
	case config == "pmlogconf":
		config = filepath.Join(dir, "config")
		if out, err := l.command(t, dir, r, "pmlogconf", "-q", "-h", l.pmcd.Host(), config).CombinedOutput(); err != nil {
			t.Errorf("pmlogconf: %v\n%s", err, out)
		}
	case config[0] != '/':
		config = filepath.Join(dir, "config")
		if err := os.WriteFile(config, []byte(r.config+"\n"), 0o666); err != nil {
			t.Error(err)
		}
	}
	var wg sync.WaitGroup
	var dumps, logs [2]string
	for i, program := range []string{pcptest.Tool(t, "pmlogger"), l.ours} {
		wg.Go(func() {
			sub := filepath.Join(dir, fmt.Sprint(i))
			if err := os.Mkdir(sub, 0o777); err != nil {
				t.Error(err)
			}
			args := append([]string{"-h", l.pmcd.Host(), "-c", config}, strings.Fields(r.args)...)
			out, err := l.command(t, sub, r, program, append(args, "X")...).CombinedOutput()
			log, _ := os.ReadFile(filepath.Join(sub, "pmlogger.log"))
			logs[i] = mask(fmt.Sprintf("%s%s%v", log, out, err))
			dumps[i] = l.dump(t, sub, r)
		})
	}
	for _, s := range r.store {
		time.Sleep(500 * time.Millisecond) // so that each state is recorded
		l.command(t, dir, r, "pmstore", append([]string{"-h", l.pmcd.Host()}, s...)...).Run()
	}
	wg.Wait()
	return cmp.Diff(strings.Split(logs[0], "\n"), strings.Split(logs[1], "\n")) + cmp.Diff(strings.Split(dumps[0], "\n"), strings.Split(dumps[1], "\n"))
}

// command is a command in a directory.
func (l *lab) command(t *testing.T, dir string, r recording, name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, pcptest.Tool(t, name), args...)
	cmd.Dir, cmd.Env = dir, l.env
	if r.env != "" {
		file := filepath.Join(dir, "derived")
		if err := os.WriteFile(file, []byte(r.env), 0o666); err != nil {
			t.Error(err)
		}
		cmd.Env = append(cmd.Env, "PCP_DERIVED_CONFIG="+file)
	}
	return cmd
}

// dump is what there is in an archive, without what must differ: times, values, sizes, process ids,
// and what is in event records.
func (l *lab) dump(t *testing.T, dir string, r recording) string {
	r.env = ""
	if out, err := l.command(t, dir, r, "pmlogcheck", "-w", "X").CombinedOutput(); err != nil || len(out) > 0 {
		return fmt.Sprintf("pmlogcheck: %v\n%s", err, out)
	}
	out, err := l.command(t, dir, r, "pmdumplog", "-a", "X").CombinedOutput()
	if err != nil {
		return fmt.Sprintf("pmdumplog: %v\n%s", err, out)
	}
	return normalise(string(out), r.store != nil, strings.HasPrefix(r.name, "events"))
}

// withoutParameters sorts descriptors of three lines each, without those of parameters of events.
func withoutParameters(lines []string) []string {
	var descs []string
	for i := 1; i+2 < len(lines); i += 3 {
		if !strings.Contains(lines[i], "sample.event.param") && !strings.Contains(lines[i], "sample.event.type") {
			descs = append(descs, strings.Join(lines[i:i+3], "\n"))
		}
	}
	slices.Sort(descs)
	return descs
}

var (
	pidLine   = regexp.MustCompile(`PID for pmlogger: (\d+)`)
	eventLine = regexp.MustCompile(`^ +(--- event record|==> \d+ missed|29\.0\.1(2[789]|3[0-5]) .* value|29\.0\.1(2[789]|3[0-5]) .*inst)`)
	dumpMasks = []struct {
		pattern *regexp.Regexp
		with    string
	}{
		{regexp.MustCompile(`[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d\.\d+ \d{4}`), "DATE"},
		{regexp.MustCompile(`\d\d:\d\d:\d\d\.\d+`), "TIME"},
		{regexp.MustCompile(` value .*`), " value"},
		{regexp.MustCompile(`\[\d+ bytes\]`), "[SIZE]"},
		{regexp.MustCompile(`(?:No|\d+)( \(and \d+ missed\))? event records?`), "event records"},
		{regexp.MustCompile(`^(TIME\t +\d+).*`), "$1"}, // of the index
	}
)

// normalise masks what differs from archive to archive. Where instances change while the loggers
// run, only the first of records that are the same is left.
//
// Which parameters of events there are depends on who fetches when, and on that the order of
// descriptors.
func normalise(dump string, changing, events bool) string {
	if m := pidLine.FindStringSubmatch(dump); m != nil {
		dump = regexp.MustCompile(`\b`+m[1]+`\b`).ReplaceAllString(dump, "PID")
	}
	var records []string
	for record := range strings.SplitSeq(dump, "\n\n") {
		var lines []string
		for line := range strings.SplitSeq(record, "\n") {
			for _, m := range dumpMasks {
				line = m.pattern.ReplaceAllString(line, m.with)
			}
			if !eventLine.MatchString(line) && (!changing || !strings.HasPrefix(line, "TIME\t")) {
				lines = append(lines, line)
			}
		}
		if events && len(records) == 1 {
			lines = withoutParameters(lines)
		}
		text := strings.Join(lines, "\n")
		if !changing || len(records) == 0 || records[len(records)-1] != text {
			records = append(records, text)
		}
	}
	return strings.Join(records, "\n\n")
}
