package main

import (
	"context"
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
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// requests are random statements of pmlc(1), and queries.
func requests(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 0))
	metrics := []string{"sample.bin", "sample.colour", "sample.long.one", "sample.magnitude", `sample.bin["bin-100"]`, `sample.bin["bin-100","bin-200"]`,
		"sample.colour[red]", "sample.colour[green,blue]", "sample.hordes.two[0]", "sample.noinst"}
	states := []string{"mandatory on once", "mandatory on 3 sec", "mandatory on 500 msec", "mandatory off", "mandatory maybe", "advisory on once",
		"advisory on 4 sec", "advisory off"}
	var b strings.Builder
	for range 150 {
		fmt.Fprintf(&b, "log %s %s\n", states[r.IntN(len(states))], metrics[r.IntN(len(metrics))])
		if r.IntN(3) == 0 {
			fmt.Fprintf(&b, "query %s\n", metrics[r.IntN(4)])
		}
	}
	return b.String()
}

// Requests of pmlc(1) are granted and refused as by C's program, and the log tells of them in the
// same words.
func TestInteropRequests(t *testing.T) {
	l := newLab(t)
	pcptest.Need(t, "pmlc")
	seeds := 1
	if *all {
		seeds = 20
	}
	for seed := range seeds {
		text := requests(uint64(seed))
		var got [2]string
		var wg sync.WaitGroup
		for i, program := range []string{pcptest.Tool(t, "pmlogger"), l.ours} {
			wg.Go(func() { got[i] = l.request(t, program, text) })
		}
		wg.Wait()
		if diff := cmp.Diff(strings.Split(got[0], "\n"), strings.Split(got[1], "\n")); diff != "" {
			t.Errorf("seed %d (-C +ours):\n%s", seed, diff)
		}
	}
}

var requestMasks = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`(?m)^(Connected to pmlogger on port) .*`), "$1"},
	{regexp.MustCompile(`(on |off) n[la]`), "$1   "},                             // depends on which fetches there have been
	{regexp.MustCompile(`(?m)^(check_inst|__pmResult|  29\.|   value).*\n`), ""}, // C's program complains about itself
}

// request runs a logger and has pmlc(1) give it requests, and returns what both say.
func (l *lab) request(t *testing.T, program, text string) string {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Error(err)
		return ""
	}
	run := pcptest.ShortDir(t)
	env := append(slices.Clone(l.env), "PCP_RUN_DIR="+run, "PCP_TMP_DIR="+run, "PMLOGGER_PORT="+strconv.Itoa(pcptest.FreePort(t)))
	logger := exec.CommandContext(ctx, program, "-h", l.pmcd.Host(), "-c", "/dev/null", "-L", "-l", "log", "X")
	logger.Dir, logger.Env = dir, env
	if err := logger.Start(); err != nil {
		t.Error(err)
		return ""
	}
	awaitMap(ctx, run, logger.Process.Pid)
	var out []byte
	for ctx.Err() == nil { // until the logger, which has written its map file before, takes connections
		pmlc := exec.CommandContext(ctx, pcptest.Tool(t, "pmlc"), "-e", "-h", "localhost", fmt.Sprint(logger.Process.Pid))
		pmlc.Dir, pmlc.Env, pmlc.Stdin = dir, env, strings.NewReader(text)
		if out, err = pmlc.CombinedOutput(); err == nil && !strings.HasPrefix(string(out), "Unable to connect") {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	_ = logger.Process.Signal(syscall.SIGTERM)
	_ = logger.Wait()
	log, _ := os.ReadFile(filepath.Join(dir, "log"))
	got := mask(string(out) + string(log))
	for _, m := range requestMasks {
		got = m.pattern.ReplaceAllString(got, m.with)
	}
	return got
}
