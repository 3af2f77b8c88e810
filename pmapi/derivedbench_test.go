//go:build unix

package pmapi_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// cpuTime returns the CPU time that the program has used. Other programs on the machine affect it
// less than wall time.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// A race has the times that the C library and ours take for the same work, in turn.
type race struct{ theirs, ours, quotients []float64 }

func (r *race) add(theirs, ours float64) {
	r.theirs, r.ours = append(r.theirs, theirs), append(r.ours, ours)
	r.quotients = append(r.quotients, theirs/ours)
}

// report reports the medians of the times and of their quotients.
func (r *race) report(b *testing.B, unit string) {
	b.ReportMetric(median(r.theirs), "C-"+unit)
	b.ReportMetric(median(r.ours), "Go-"+unit)
	b.ReportMetric(r.quotient(), "C/Go")
}

// quotient returns the median of the quotients: how many times faster ours is.
func (r *race) quotient() float64 { return median(r.quotients) }

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// cProgram builds a program of testdata, and returns a function that runs it and returns the
// numbers of its answer.
func cProgram(b *testing.B, name string) func(args ...any) []float64 {
	b.Helper()
	program := pcptest.BuildC(b, filepath.Join("testdata", name+".c"), "-O2", "-Wall", "-lpcp", "-lpcp_import")
	return func(args ...any) (numbers []float64) {
		b.Helper()
		words := []string{program}
		for _, a := range args {
			words = append(words, fmt.Sprint(a))
		}
		out, errs, status := pcptest.Run(b, nil, "", words...)
		if status != 0 {
			b.Fatal(words, status, errs)
		}
		for word := range strings.FieldsSeq(out) {
			v, err := strconv.ParseFloat(word, 64)
			if err != nil {
				b.Fatal(err)
			}
			numbers = append(numbers, v)
		}
		return numbers
	}
}

// BenchmarkDerivedOfC fetches derived metrics of 1,000 instances from an archive, with the C
// library and with ours in turn, and reports the CPU time of a fetch. The first case fetches the
// operands themselves.
func BenchmarkDerivedOfC(b *testing.B) {
	run := cProgram(b, "derivedbench")
	archive := filepath.Join(b.TempDir(), "archive")
	run("write", archive)
	const fetches = 1990
	for _, expr := range []string{"-", "rate(bench.x)*100/bench.y", "bench.x*bench.y", "sum(bench.x)", "delta(bench.y)"} {
		b.Run(strings.ReplaceAll(expr, " ", ""), func(b *testing.B) {
			var r race
			for b.Loop() {
				r.add(run("fetch", archive, fetches, expr)[0], fetchDerived(b, archive, expr, fetches))
			}
			r.report(b, "cpu-ns/fetch")
		})
	}
}

// fetchDerived returns the CPU time of a fetch.
func fetchDerived(b *testing.B, archive, expr string, fetches int) float64 {
	ctx := b.Context()
	c, err := pmapi.Open(ctx, archive)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	names := []string{"bench.x", "bench.y"}
	if expr != "-" {
		names = []string{"bench.derived"}
		if err := c.Derive(ctx, names[0], expr); err != nil {
			b.Fatal(err)
		}
	}
	ids, err := c.Lookup(ctx, names)
	if err != nil {
		b.Fatal(err)
	}
	if err := c.SetMode(ctx, pmapi.ModeForward, time.Unix(0, 0), 0); err != nil {
		b.Fatal(err)
	}
	var r pdu.Result
	begin := cpuTime(b)
	for n := range fetches {
		err := c.Fetch(ctx, ids, &r)
		if errors.Is(err, pdu.ErrEOL) {
			if err = c.SetMode(ctx, pmapi.ModeForward, time.Unix(0, 0), 0); err == nil {
				err = c.Fetch(ctx, ids, &r)
			}
		}
		if err != nil || n == fetches-1 && r.At(0).Len() == 0 {
			b.Fatal(n, err, r.At(0).Err())
		}
	}
	return float64((cpuTime(b) - begin).Nanoseconds()) / float64(fetches)
}

// BenchmarkDerivedLoad loads the definitions of PCP, and ten copies of them, with the C library and
// with ours in turn, and reports the CPU time. The C library cannot load definitions twice in a
// process, so much of its time in the first case is that of the start. Our time is the mean of
// several loads.
func BenchmarkDerivedLoad(b *testing.B) {
	run := cProgram(b, "derivedbench")
	path := filepath.Join(pcptest.Conf("PCP_VAR_DIR"), "config", "derived")
	b.Run("shipped", func(b *testing.B) { loadDerived(b, run, path, 200) })
	b.Run("ten copies", func(b *testing.B) { loadDerived(b, run, copiesOf(b, path, 10), 20) })
}

func loadDerived(b *testing.B, run func(args ...any) []float64, path string, loads int) {
	var r race
	for b.Loop() {
		theirs := run("load", path)
		begin := cpuTime(b)
		for range loads {
			if n, err := new(pmapi.Derived).Load(path); err != nil || n != int(theirs[0]) {
				b.Fatal(n, err)
			}
		}
		r.add(theirs[1], float64((cpuTime(b)-begin).Nanoseconds())/float64(loads))
	}
	r.report(b, "cpu-ns/load")
}

// copiesOf returns a directory with n copies of the definitions below path, each with unique names.
func copiesOf(b *testing.B, path string, n int) string {
	b.Helper()
	files, err := filepath.Glob(filepath.Join(path, "*"))
	if err != nil || len(files) == 0 {
		b.Fatal(files, err)
	}
	dir := b.TempDir()
	name := regexp.MustCompile(`(?m)^([a-z]\w*\.[\w.]+(\(\w+\))? *=)`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		for i := range n {
			copied := name.ReplaceAll(text, fmt.Appendf(nil, "copy%d.$1", i))
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d-%s", i, filepath.Base(file))), copied, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	return dir
}
