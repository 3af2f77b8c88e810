//go:build unix

package pmda_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// manyInstances is the number of instances in the caches of the benchmarks.
const manyInstances = 1_000_000

// cpuTime returns the processor time of the program. Other programs on the machine affect it less
// than the elapsed time.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// measure runs f, which does n operations, and reports the processor time of each. It returns when
// the benchmark has run long enough.
func measure(b *testing.B, n int, unit string, f func()) {
	b.Helper()
	b.ReportAllocs()
	var used time.Duration
	for b.Loop() {
		before := cpuTime(b)
		f()
		used += cpuTime(b) - before
	}
	b.ReportMetric(float64(used.Nanoseconds())/float64(b.N)/float64(n), unit)
}

func instanceNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = "instance-" + strconv.Itoa(i)
	}
	return names
}

// manyCache is a cache of manyInstances, the same for all benchmarks.
var manyCache *pmda.Cache[*int]

func benchCache(b *testing.B) (*pmda.Cache[*int], []string) {
	b.Helper()
	names := instanceNames(manyInstances)
	if manyCache == nil {
		manyCache = new(pmda.Cache[*int])
		for _, n := range names {
			if _, err := manyCache.Add(n, nil); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ResetTimer()
	return manyCache, names
}

// BenchmarkCacheAdd adds a million instances, and measures their memory without the
// names.
func BenchmarkCacheAdd(b *testing.B) {
	names := instanceNames(manyInstances)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var c *pmda.Cache[*int]
	measure(b, manyInstances, "cpu-ns/add", func() {
		c = new(pmda.Cache[*int])
		for _, n := range names {
			if _, err := c.Add(n, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/manyInstances, "B/instance")
	runtime.KeepAlive(c)
	runtime.KeepAlive(names)
}

// BenchmarkCacheLookups looks all instances up, in order or at random. At random, memory accesses
// take most of the time. The names are prepared in advance.
func BenchmarkCacheLookups(b *testing.B) {
	next := make([]pdu.Instance, manyInstances)
	random := make([]pdu.Instance, manyInstances)
	r := uint32(1)
	for i := range next {
		r = r*1664525 + 1013904223
		for l, id := range map[*pdu.Instance]int{&next[i]: i, &random[i]: int(r % manyInstances)} {
			*l = pdu.Instance{ID: pdu.InstID(id), Name: "instance-" + strconv.Itoa(id)}
		}
	}
	for _, o := range []struct {
		name string
		list []pdu.Instance
	}{{"next", next}, {"random", random}} {
		for _, l := range []struct {
			name   string
			lookup func(c *pmda.Cache[*int], i pdu.Instance) bool
		}{
			{"id", func(c *pmda.Cache[*int], i pdu.Instance) bool { _, ok := c.Lookup(i.ID); return ok }},
			{"name", func(c *pmda.Cache[*int], i pdu.Instance) bool { _, ok := c.LookupName(i.Name); return ok }},
			{"add", func(c *pmda.Cache[*int], i pdu.Instance) bool { _, err := c.Add(i.Name, nil); return err == nil }},
		} {
			b.Run(o.name+"="+l.name, func(b *testing.B) {
				c, _ := benchCache(b)
				measure(b, manyInstances, "cpu-ns/lookup", func() {
					for _, i := range o.list {
						if !l.lookup(c, i) {
							b.Fatal("lost")
						}
					}
				})
			})
		}
	}
}

// BenchmarkCacheActive walks through a million instances.
func BenchmarkCacheActive(b *testing.B) {
	c, _ := benchCache(b)
	measure(b, manyInstances, "cpu-ns/instance", func() {
		n := 0
		for range c.Active() {
			n++
		}
		if n != manyInstances {
			b.Fatal(n)
		}
	})
}

// BenchmarkCacheFile writes and reads a file of a million instances.
func BenchmarkCacheFile(b *testing.B) {
	c, _ := benchCache(b)
	file := filepath.Join(b.TempDir(), "cache")
	c.File = file
	b.Run("save", func(b *testing.B) {
		measure(b, manyInstances, "cpu-ns/instance", func() {
			if _, err := c.Add("instance-0", nil); err != nil {
				b.Fatal(err)
			}
			if n, err := c.Sync(); n != manyInstances || err != nil {
				b.Fatal(n, err)
			}
		})
	})
	b.Run("load", func(b *testing.B) {
		measure(b, manyInstances, "cpu-ns/instance", func() {
			c := &pmda.Cache[*int]{File: file}
			if n, err := c.Load(); n != manyInstances || err != nil {
				b.Fatal(n, err)
			}
		})
	})
}

// BenchmarkCacheOfC measures the C library's cache with as many instances: the processor time per
// instance of an add, lookups and a load.
func BenchmarkCacheOfC(b *testing.B) {
	c := newCCache(b)
	serial := 0
	for b.Loop() {
		serial += 2
		c.do("use 200 %d", serial)
		report := func(unit, command string) {
			ns, err := strconv.ParseFloat(c.do("%s %d", command, manyInstances), 64)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(ns, unit)
		}
		report("cpu-ns/add", "fill")
		report("cpu-ns/random-id", "time id")
		report("cpu-ns/random-name", "time name")
		report("cpu-ns/next-id", "time nextid")
		report("cpu-ns/next-name", "time nextname")
		if got := c.do("op 6"); got != strconv.Itoa(manyInstances) {
			b.Fatal(got)
		}
		c.rename(fmt.Sprint("200.", serial), fmt.Sprint("200.", serial+1))
		c.do("use 200 %d", serial+1)
		report("cpu-ns/load", "time load")
	}
}
