package pmlogger

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/examples/internal/pcptool/pmlc"
	"github.com/pcp-go/pcp/internal/logconf"
	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/pdu"
)

func TestSizes(t *testing.T) {
	for text, want := range map[string]size{
		"3": {records: 3}, "2s": {records: 2}, "4294967297": {records: 1}, "99999999999999999999": {},
		"7b": {bytes: 7}, "1Kib": {bytes: 1024}, "2kbytes": {bytes: 2048}, "3MB": {bytes: 3 << 20}, "1g": {bytes: 1 << 30}, "9999999999999g": {},
		"1sec": {after: time.Second}, "1.5": {after: 1500 * time.Millisecond}, "2hours": {after: 2 * time.Hour}, "5days": {after: 120 * time.Hour},
	} {
		var got size
		if err := got.set("exit size")(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "-1", "foo", "0.2sec", "3samples", "0x10", "1.5k", "1 k", "10%", "s"} {
		var got size
		if err := got.set("exit size")(text); err == nil || !strings.HasPrefix(err.Error(), "illegal size argument '") {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// How long a logger runs counts from its first record; a time is a time, of a zone.
func TestSetEnd(t *testing.T) {
	for _, test := range []struct {
		finish string
		before time.Duration // by -s
		after  time.Duration // 0 for a time
	}{
		{"10min", 0, 10 * time.Minute},
		{"10min", time.Second, time.Second},
		{"1sec", time.Minute, time.Second},
		{"@23:59", 0, 0},
		{"-5sec", 0, 0},
	} {
		lo := logger.Options{EndAfter: test.before}
		if err := (&options{finish: test.finish}).setEnd(&lo, time.UTC); err != nil {
			t.Error(err)
		}
		if lo.EndAfter != test.after || lo.EndTime.IsZero() != (test.after > 0) {
			t.Errorf("-T %s with -s %v: after %v, at %v", test.finish, test.before, lo.EndAfter, lo.EndTime)
		}
	}
	var ends [2]time.Time
	for i, zone := range []*time.Location{time.UTC, time.FixedZone("", -5*3600)} {
		var lo logger.Options
		if err := (&options{finish: "@2000-01-02 12:00"}).setEnd(&lo, zone); err != nil {
			t.Error(err)
		}
		ends[i] = lo.EndTime
	}
	if d := ends[1].Sub(ends[0]); d != 5*time.Hour {
		t.Errorf("a time is %v later in a zone 5 hours west", d)
	}
	if err := (&options{finish: "foo"}).setEnd(&logger.Options{}, time.UTC); err == nil || !strings.Contains(err.Error(), "illegal -T argument") {
		t.Errorf("-T foo: %v", err)
	}
}

func TestChooseBase(t *testing.T) {
	t.Chdir(t.TempDir())
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.Local)
	for n, want := range []string{"X-20261123", "X-20261123-00", "X-20261123-01"} {
		base, notes, err := chooseBase("X-%Y%m%d", now)
		if err != nil || base != want || strings.Count(notes, "already exists, not over-written\n") != n {
			t.Errorf("%s, %q, %v, want %s", base, notes, err, want)
		}
		if err := os.WriteFile(base+".meta", nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if _, notes, err := chooseBase("nosuch/X", now); err == nil || notes != "__pmLogNewFile: failed to create \"nosuch/X.index\": No such file or directory\n" {
		t.Errorf("%q, %v", notes, err)
	}
}

// A problem is an event of a type that pmlogger does not know.
type problem struct{ error }

func (p problem) String() string { return p.Error() }
func (p problem) Unwrap() error  { return p.error }

func TestEvents(t *testing.T) {
	when := time.Date(2026, 11, 3, 9, 5, 6, 0, time.Local)
	task := logger.Task{Setting: logger.Setting{State: logger.On, Interval: 500 * time.Millisecond},
		Metrics: []logger.TaskMetric{{Name: "a.b", PMID: pdu.MakePMID(29, 0, 1)}, {Name: "a.c", PMID: pdu.MakePMID(29, 0, 2)}, {Name: "d", PMID: pdu.MakePMID(511, 0, 1)}}}
	single := logger.Task{Setting: logger.Setting{State: logger.On}, Metrics: task.Metrics[:1]}
	for want, e := range map[string]logger.Event{
		"Warning [f, line 3]\nProblem with lookup for metric \"m\" ... logging not activated\nReason: Unknown metric name\n": logger.MetricSkipped{File: "f", Line: 3, Metric: "m", Step: "lookup", Err: pdu.ErrName},
		"Description unavailable for metric \"m\\x1b[2J\": Unknown metric name\n":                                            logger.MetricGone{Metric: "m\x1b[2J", Err: pdu.ErrName},
		"Warning [f, line 3]\nInstance \"7\" is not defined for the metric \"m\"\n":                                          logger.MetricSkipped{File: "f", Line: 3, Metric: "m", Instance: "7", Step: "instance", Err: pdu.ErrInst},
		"New log volume 4, via SIGHUP at Tue Nov  3 09:05:06 2026\n":                                                         logger.NewVolume{Volume: 4, Reason: "SIGHUP", Time: when},
		"pmlogger: Lost connection to PMCD on \"vm\" at Tue Nov  3 09:05:06 2026\n":                                          logger.Lost{Host: "vm", Time: when},
		"Semantics of metric \"m\" have changed from a to b\n":                                                               logger.MetricChanged{Metric: "m", What: "Semantics", From: "a", To: "b"},
		"Units of metric \"m\" has changed from a to b\n":                                                                    logger.MetricChanged{Metric: "m", What: "Units", From: "a", To: "b"},
		"\nGroup [3 metrics, 1 derived] {\n\td\n\ta.c\n\ta.b\n} logged every 0.500 sec: 144 bytes or 23.73 Mbytes/day\n":     logger.Recorded{Task: task, Bytes: 144},
		"\nMetric a.b logged once: 60 bytes\n":                                                                               logger.Recorded{Task: single, Bytes: 60},
		"":                                                                                                                   problem{endReason{text: "Caught signal 15"}},
	} {
		var b strings.Builder
		(&events{w: &b, report: true}).print(e)
		if b.String() != want {
			t.Errorf("%T: %q, want %q", e, b.String(), want)
		}
	}
}

// What comes after the first wrong directive is not there, as with pmcpp.
func TestPreprocess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c")
	for text, want := range map[string]string{
		"log on once a\n":                                      "",
		"%define x 1\nlog on %x sec {\n":                       "Specification error in configuration file (F)\n[line 3] syntax error\n",
		"log on once a\n%include \"nosuch\"\nlog on twice b\n": "pmcpp: F[2]: %include \"nosuch\"\npmcpp: Error: Cannot open file for %include\n",
		"%ifdef x\nlog on once a\n":                            "pmcpp: F:\npmcpp: Error: End of input and no matching %endif for %ifdef or %ifndef at line 1\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		p := &program{opts: &options{}, conf: new(pcpconf.Conf), w: &b}
		c, err := p.readConfig(file)
		if err != nil {
			t.Fatal(err)
		}
		if c.err != nil {
			c.printError(&b)
		}
		_, got, _ := strings.Cut(b.String(), "\n") // after the command line of pmcpp
		if got = strings.ReplaceAll(got, file, "F"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// The options of --daily.
func TestDailyOptions(t *testing.T) {
	for args, want := range map[string]struct {
		keep     time.Duration
		maxBytes int64
		suffix   string
		err      string // a part of it
	}{
		"--daily D":                                        {keep: 14 * 24 * time.Hour, suffix: ".gz"},
		"--daily --keep=30days D":                          {keep: 30 * 24 * time.Hour, suffix: ".gz"},
		"--daily --max-size 10gbytes D":                    {keep: 14 * 24 * time.Hour, maxBytes: 10 << 30, suffix: ".gz"},
		"--daily --keep 0 --compress none --compress=xz D": {suffix: ".xz"},
		"--daily --compress=zstd --compress none D":        {keep: 14 * 24 * time.Hour},
		"--keep=3days X":                                   {err: "pmlogger: --keep is for --daily\n"},
		"--compress=xz X":                                  {err: "pmlogger: --compress is for --daily\n"},
		"--daily --max-size=7 D":                           {err: "pmlogger: illegal size argument '7' for archives\n"},
		"--daily --max-size=2hours D":                      {err: "illegal size argument"},
		"--daily --keep=-3days D":                          {err: "illegal --keep argument"},
		"--daily --keep=x D":                               {err: "illegal --keep argument"},
		"--daily --compress=lz4 D":                         {err: "pmlogger: illegal --compress argument 'lz4': not gzip, xz, zstd or none\n"},
		"--dail D":                                         {err: "option '--dail'"},
		"--daily":                                          {err: "pmlogger: insufficient arguments\n"},
	} {
		o, err := parseOptions(strings.Fields(args))
		if err != nil || want.err != "" {
			if exit, ok := errors.AsType[*pcptool.ExitError](err); !ok || want.err == "" || !strings.Contains(exit.Message, want.err) {
				t.Errorf("%s: error %v, want %q", args, err, want.err)
			}
			continue
		}
		suffix := ""
		if o.daily.compress != nil {
			suffix = o.daily.compress.Suffix
		}
		if o.base != "D" || !o.daily.on || o.daily.keep != want.keep || o.daily.maxBytes != want.maxBytes || suffix != want.suffix {
			t.Errorf("%s: %q, %+v, suffix %q", args, o.base, o.daily, suffix)
		}
	}
}

// TestReexecArgs checks the command line of a logger that restarts itself. A second restart leaves
// it unchanged.
func TestReexecArgs(t *testing.T) {
	for line, want := range map[string]string{
		"pmlogger X":                  "pmlogger -mreexec X",
		"pmlogger -c a -h b X":        "pmlogger -c a -h b -mreexec X",
		"pmlogger -c a -m note X":     "pmlogger -c a -mreexec X",
		"pmlogger -mnote -c a X":      "pmlogger -c a -mreexec X",
		"pmlogger --note=note X":      "pmlogger --note=note -mreexec X",
		"pmlogger -c a X -r":          "pmlogger -c a X -mreexec -r",
		"pmlogger X -c a -h b":        "pmlogger -mreexec X -c a -h b",
		"pmlogger X -h b -m note":     "pmlogger -mreexec X -h b",
		"pmlogger -h b -l log X -m n": "pmlogger -h b -l log -mreexec X",
	} {
		args := strings.Fields(line)
		for range 2 {
			args = reexecArgs(args, "X")
			if got := strings.Join(args, " "); got != want {
				t.Errorf("%s: %s, want %s", line, got, want)
			}
		}
	}
}

// A request that comes through the socket is logged with its path.
func TestLogRequest(t *testing.T) {
	conf, err := pcpconf.Load("")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	p := &program{w: &b, conf: conf}
	p.logRequest(t.Context(), &net.UnixAddr{Net: "unix"}, &pmlc.ControlReq{Control: logger.Advisory, State: logger.Off}, nil, nil)
	if want := "\npmlc request from " + pmlc.SocketPath(conf.Get("PCP_RUN_DIR"), os.Getpid()) + ": advisory off\n"; !strings.HasSuffix(b.String(), want) {
		t.Errorf("%q, want %q at its end", b.String(), want)
	}
}

// Only the primary logger writes and removes the file that leads scripts to it.
func TestNotePID(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PCP_RUN_DIR", dir)
	conf, err := pcpconf.Load("")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "pmlogger.pid")
	if err := os.WriteFile(file, []byte("4711"), 0o644); err != nil {
		t.Fatal(err)
	}
	other := &program{opts: &options{note: checkNote}, conf: conf}
	other.notePID()
	other.removePID()
	if b, err := os.ReadFile(file); err != nil || string(b) != "4711" {
		t.Errorf("after another logger: %q, %v", b, err)
	}
	primary := &program{opts: &options{primary: true}, conf: conf}
	primary.notePID()
	if b, err := os.ReadFile(file); err != nil || string(b) != strconv.Itoa(os.Getpid()) {
		t.Errorf("with the primary logger: %q, %v", b, err)
	}
	primary.removePID()
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("after the primary logger: %v", err)
	}
}

// A logger ends at a change only if PCP's scripts start it again.
func TestEndOnChange(t *testing.T) {
	for note, want := range map[string]bool{"": false, "user": false, checkNote: true, reexecNote: true} {
		p := &program{opts: &options{note: note}, conf: new(pcpconf.Conf)}
		lo, err := p.loggerOptions(&config{Config: new(logconf.Config)})
		if err != nil || lo.EndOnChange != want {
			t.Errorf("-m %q: %t, %v", note, lo.EndOnChange, err)
		}
	}
}

// The usage message has all options that the documentation names.
func TestHelpListsAll(t *testing.T) {
	_, err := parseOptions([]string{"--help"})
	exit, ok := errors.AsType[*pcptool.ExitError](err)
	if !ok {
		t.Fatal(err)
	}
	for _, name := range []string{"--daily", "--keep=TIME", "--max-size=SIZE", "--compress=PROGRAM", "--login=FILE", "--config=FILE"} {
		if !strings.Contains(exit.Message, name) {
			t.Errorf("%s is missing in\n%s", name, exit.Message)
		}
	}
}
