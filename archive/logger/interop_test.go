package logger_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmapi"
)

// recordBoth records the same configuration with the C pmlogger and with ours, and returns both
// archives.
func recordBoth(t *testing.T, pmcd *pcptest.PMCD, config string, version, records int) (theirs, ours string) {
	t.Helper()
	dir := pcptest.ShortDir(t)
	theirs, ours = filepath.Join(dir, "c"), filepath.Join(dir, "g")
	file := filepath.Join(dir, "config")
	if err := os.WriteFile(file, []byte(config+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	port := pcptest.FreePort(t)
	env := []string{"PMLOGGER_LOCAL=1", fmt.Sprint("PMLOGGER_PORT=", port), "PCP_TMP_DIR=" + dir, "PCP_RUN_DIR=" + dir, "PCP_LOG_DIR=" + dir}
	if err := os.MkdirAll(filepath.Join(dir, "pmlogger"), 0o777); err != nil {
		t.Fatal(err)
	}
	_, stderr, status := pcptest.Run(t, env, "", "pmlogger", "-h", pmcd.Host(), "-V", strconv.Itoa(version), "-s", strconv.Itoa(records),
		"-c", file, "-l", filepath.Join(dir, "log"), theirs)
	if status != 0 {
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		t.Fatalf("pmlogger: %d %s%s", status, stderr, log)
	}
	c, err := pmapi.Dial(t.Context(), pmcd.Host())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	err = logger.Run(t.Context(), c, logger.Options{Config: config, Base: ours, EndRecords: records, Port: uint32(port),
		Writer: archive.WriterOptions{Label: archive.Label{Version: version}}, Report: func(e logger.Event) { t.Log(e) }})
	if err != nil {
		t.Error(err)
	}
	return theirs, ours
}

var (
	times    = regexp.MustCompile(`\d\d:\d\d:\d\d\.\d+|(commencing|ending) +\w.*`)
	ownPID   = regexp.MustCompile(`PID for pmlogger: \d+|inst \[\d+ or "\d+"\] value|   \d+ or "\d+"`)
	offsets  = regexp.MustCompile(`(TIME\t *\d+) +\d+ +\d+`)
	ownNames = regexp.MustCompile(`(pmcd\.pmlogger\.\w+)\): .*`)
	lengths  = regexp.MustCompile(`^\[\d+ bytes\]`)
)

// dump returns the output of pmdumplog for an archive, without times, offsets and the records of
// the logger about itself.
func dump(t *testing.T, base string) []string {
	t.Helper()
	out, stderr, status := pcptest.Run(t, nil, "", "pmdumplog", "-zaeh", base)
	if status != 0 || stderr != "" {
		t.Fatalf("pmdumplog: %d %s", status, stderr)
	}
	lines := strings.Split(out, "\n")
	for i, line := range lines {
		line = times.ReplaceAllString(line, "TIME")
		line = offsets.ReplaceAllString(line, "$1 OFFSETS")
		line = ownNames.ReplaceAllString(line, "$1 VALUE")
		lines[i] = ownPID.ReplaceAllString(line, "PID")
		if strings.Contains(line, "pmcd.pmlogger.") && i > 1 { // names of other lengths
			lines[i-2] = lengths.ReplaceAllString(lines[i-2], "LENGTH")
		}
	}
	return lines
}

// configurations are recorded by both. They have values that do not change, and one interval, so
// that ticks cannot come in another order.
var configurations = []struct {
	text    string
	records int
}{
	{`log mandatory on once { sample.long sample.string.hullo sample.longlong.bin pmcd.version }
	log mandatory on 200 msec { sample.bin sample.ulong.bin["bin-100"] sample.long.one sample.float.bin["bin-100", 300] sample.darkness[0, 1] }`, 3},
	{`log advisory on 100 msec { sample.double sample.ulong.bin[100] sample.bad.fetch.again sample.noinst sample.needprofile sample.bad.nosupport }
	log mandatory off sample.double.ten`, 3},
	{`log mandatory on 200 msec { sample.dupnames.two.bin sample.dupnames.three hinv.ncpu kernel.uname sample.aggregate sample.part_bin sample.darkness }`, 2},
}

// TestInteropRecords checks that the logger records the same as pmlogger: metrics, instances,
// labels, texts, the order of records, and the index.
func TestInteropRecords(t *testing.T) {
	pcptest.Need(t, "pmcd", "pmlogger", "pmdumplog", "pmlogcheck")
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "linux", "sample"}})
	for i, c := range configurations {
		for _, version := range []int{2, 3} {
			t.Run(fmt.Sprint(i, "v", version), func(t *testing.T) {
				t.Parallel()
				theirs, ours := recordBoth(t, pmcd, c.text, version, c.records)
				if diff := cmp.Diff(dump(t, theirs), dump(t, ours)); diff != "" {
					t.Errorf("pmdumplog (-pmlogger +ours):\n%s", diff)
				}
				checkWithC(t, ours)
			})
		}
	}
}

// checkWithC checks an archive with the C pmlogcheck.
func checkWithC(t *testing.T, base string) {
	t.Helper()
	if out, stderr, status := pcptest.Run(t, nil, "", "pmlogcheck", "-w", base); status != 0 || out+stderr != "" {
		t.Errorf("pmlogcheck %s: %d %s%s", base, status, out, stderr)
	}
}

// TestInteropLost checks that C tools find no fault with an archive after pmcd was killed and
// restarted.
func TestInteropLost(t *testing.T) {
	pcptest.Need(t, "pmcd", "pmlogcheck")
	config := pcptest.Config{Shipped: []string{"pmcd", "sample"}}
	pmcd := pcptest.StartPMCD(t, config)
	addr := pmcd.Host()
	d := pmapi.Dialer{Backoff: []time.Duration{10 * time.Millisecond}}
	c, err := d.Dial(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	base := filepath.Join(t.TempDir(), "a")
	happened := make(chan logger.Event, 100)
	o := logger.Options{Config: "log mandatory on 50 msec { sample.bin sample.milliseconds sample.scramble }", Base: base,
		Report: func(e logger.Event) { happened <- e }}
	l, err := o.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	await := func(is func(logger.Event) bool) {
		for !is(<-happened) {
		}
	}
	await(func(e logger.Event) bool { _, ok := e.(logger.Recorded); return ok })
	pmcd.Stop()
	await(func(e logger.Event) bool { _, ok := e.(logger.Lost); return ok })
	config.Args = []string{"-p", strconv.Itoa(pmcd.Port())}
	pcptest.StartPMCD(t, config)
	await(func(e logger.Event) bool { _, ok := e.(logger.Restored); return ok })
	for records := l.Status().Records; l.Status().Records < records+10; time.Sleep(10 * time.Millisecond) {
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	checkWithC(t, base)
	marks := 0
	r := &recording{t: t, base: base}
	for _, line := range r.records() {
		if strings.HasSuffix(line, " mark") {
			marks++
		}
	}
	if marks != 1 {
		t.Errorf("%d marks", marks)
	}
}

// TestInteropSharedObject records metrics of an agent in a shared object. For their instance labels
// pmcd uses the profile of the last fetch, even if it has received another profile since.
func TestInteropSharedObject(t *testing.T) {
	linux := filepath.Join(pcptest.Conf("PCP_PMDAS_DIR"), "linux", "pmda_linux.so")
	pcptest.Need(t, "pmcd", "pmlogcheck", linux)
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Agents: []string{"linux 60 dso linux_init " + linux}, PMNS: pcptest.Names(t, "linux")})
	for _, metrics := range []string{"kernel.all.load kernel.percpu.cpu.user", `kernel.all.load["1 minute"] kernel.percpu.cpu.user["cpu0"]`} {
		c, err := pmapi.Dial(t.Context(), pmcd.Host())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		base := filepath.Join(t.TempDir(), "a")
		o := logger.Options{Config: "log mandatory on 10 msec { " + metrics + " }", Base: base, EndRecords: 3, Report: func(e logger.Event) {
			if lost, ok := e.(logger.Lost); ok {
				t.Fatalf("%s: %v", metrics, lost)
			}
		}}
		if err := logger.Run(t.Context(), c, o); err != nil {
			t.Fatalf("%s: %v", metrics, err)
		}
		checkWithC(t, base)
	}
}
