package pmdago

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestProcess(t *testing.T) {
	agent := New(Options{})
	before := one[uint32](t, agent, "go.process.fd.open")
	counted, err := countFiles("/proc/self/fd")
	if err != nil || counted != before {
		t.Errorf("%d descriptors, %d counted (%v)", before, counted, err)
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if after := one[uint32](t, agent, "go.process.fd.open"); after != before+1 {
		t.Errorf("%d descriptors, then with another %d", before, after)
	}
	if limit := one[uint64](t, agent, "go.process.fd.limit"); limit <= uint64(before) {
		t.Errorf("a limit of %d descriptors with %d open", limit, before)
	}
	rss, size, peak := one[uint64](t, agent, "go.process.memory.rss"), one[uint64](t, agent, "go.process.memory.virtual"), one[uint64](t, agent, "go.process.memory.maxrss")
	if rss < 1<<20 || size <= rss || peak < rss/2 {
		t.Errorf("memory %d, address space %d, at most %d", rss, size, peak)
	}
	used := func() uint64 {
		return one[uint64](t, agent, "go.process.cpu.user") + one[uint64](t, agent, "go.process.cpu.sys")
	}
	const some, limit = 20 * time.Millisecond, time.Minute
	atFirst, more := used(), uint64(0)
	for began := time.Now(); time.Since(began) < limit; { // other processes may use the processors
		if time.Since(began) > some {
			if more = used(); more > atFirst {
				break
			}
		}
	}
	if more <= atFirst {
		t.Errorf("processor time %d us, then %d us", atFirst, more)
	}
	if program := one[string](t, agent, "go.process.program"); program != programName() || program == "" {
		t.Errorf("program %q", program)
	}
}

func TestStart(t *testing.T) {
	agent := New(Options{})
	start := one[float64](t, agent, "go.process.start")
	before := seconds()
	up := one[float64](t, agent, "go.process.uptime")
	after := seconds()
	if up <= 0 || up > 3600 {
		t.Errorf("up for %g s", up)
	}
	if start+up < before-1 || start+up > after+1 {
		t.Errorf("began at %.3f, up for %.3f s, but it is %.3f", start, up, after)
	}
}

// seconds returns the current time in seconds.
func seconds() float64 { return float64(time.Now().UnixMilli()) / 1000 }

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		text string
		n    uint64
		rest string
		ok   bool
	}{
		{"12 34\n", 12, " 34\n", true},
		{" 34\n", 34, "\n", true},
		{"\n", 0, "\n", false},
		{"", 0, "", false},
		{"x", 0, "x", false},
	} {
		n, rest, ok := number([]byte(c.text))
		if n != c.n || string(rest) != c.rest || ok != c.ok {
			t.Errorf("%q: %d, %q, %v", c.text, n, rest, ok)
		}
	}
}
