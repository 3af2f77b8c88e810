package goexpvar

import (
	"context"
	"encoding/json"
	"expvar"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/pmdatest"
)

// TestHang checks that a fetch waits once for a variable that hangs, and that others work.
func TestHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hang chan struct{} // nil while it does not hang
		var mu sync.Mutex
		var calls atomic.Int32
		b := newBench(t, map[string]expvar.Var{"ok": integer(1), "f": expvar.Func(func() any {
			calls.Add(1)
			mu.Lock()
			c := hang
			mu.Unlock()
			if c != nil {
				<-c
			}
			return 5
		})})
		b.calls.Timeout = callTimeout
		stop := make(chan struct{})
		ok, f := b.id("x.vars.ok"), b.id("x.vars.f")
		mu.Lock()
		hang = stop
		mu.Unlock()
		show := func(wait time.Duration, want string) {
			t.Helper()
			before := time.Now()
			r, changed := b.fetch(ok, f)
			if d := time.Since(before); d != wait {
				t.Errorf("the fetch took %v, want %v", d, wait)
			}
			got := ""
			for _, v := range r.At(1).All(pdu.TypeDouble) {
				got += plain(v)
			}
			if err := r.At(1).Err(); err != nil {
				got = err.Error()
			}
			if got != want || r.At(0).Len() != 1 || changed {
				t.Errorf("got %s, want %s; %d of the other; names change: %v", got, want, r.At(0).Len(), changed)
			}
		}
		show(callTimeout, pdu.ErrAgain.Error())
		n := calls.Load()
		for range 3 {
			show(0, pdu.ErrAgain.Error())
		}
		if calls.Load() != n {
			t.Error("it is called again before it has returned")
		}
		if got := strings.Join(b.all(), " "); got != "x.vars.f x.vars.ok" {
			t.Errorf("names while it hangs: %s", got)
		}
		mu.Lock()
		hang = nil
		mu.Unlock()
		close(stop)
		synctest.Wait()
		show(0, "5")
	})
}

// TestStuck checks that waiting and goroutines are limited if no call returns.
func TestStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		var calls atomic.Int32
		vars := map[string]expvar.Var{"ok": integer(1), "z": text("2")}
		for i := range maxStuck + 10 {
			vars[fmt.Sprintf("f%02d", i)] = expvar.Func(func() any { calls.Add(1); <-stop; return i })
		}
		b := newBench(t, vars)
		b.calls.Timeout = callTimeout
		for _, wait := range []time.Duration{maxStuck * callTimeout, 0} {
			before := time.Now()
			if got := strings.Join(b.all(), " "); got != "x.vars.ok" || time.Since(before) != wait || calls.Load() != maxStuck {
				t.Errorf("%s after %v and %d calls, want %v", got, time.Since(before), calls.Load(), wait)
			}
		}
		close(stop)
		synctest.Wait()
		if n := len(b.all()); n != len(vars) || b.calls.Stuck() != 0 {
			t.Errorf("afterwards %d names, want %d; %d calls", n, len(vars), b.calls.Stuck())
		}
	})
}

// TestHangCancelled checks that a cancelled fetch does not wait for a variable.
func TestHangCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		defer close(stop)
		b := newBench(t, map[string]expvar.Var{"f": expvar.Func(func() any { <-stop; return 5 }), "g": expvar.Func(func() any { <-stop; return 5 })})
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		before := time.Now()
		list, err := b.agent.Traverse(ctx, request(), "x.vars")
		if d := time.Since(before); d != time.Millisecond || err != nil || len(list) != 0 {
			t.Errorf("%v, %v after %v", list, err, d)
		}
		if !b.turn.TryLock() {
			t.Fatal("a request runs")
		}
		for name, err := range map[string]error{
			"Traverse": func() error { _, err := b.agent.Traverse(ctx, request(), "x.vars"); return err }(),
			"PMID":     func() error { _, err := b.agent.PMID(ctx, request(), "x.vars.f"); return err }(),
		} {
			if err != context.DeadlineExceeded {
				t.Errorf("%s: %v", name, err)
			}
		}
		b.turn.Unlock()
	})
}

// TestPanicsLater checks that a variable that panics keeps its metrics, with an error.
func TestPanicsLater(t *testing.T) {
	bad := false
	b := newBench(t, map[string]expvar.Var{"m": mapOf("f", expvar.Func(func() any {
		if bad {
			panic("now")
		}
		return map[string]int{"a": 1}
	}), "s", str("x"))})
	a, s := b.id("x.vars.m.f.a"), b.id("x.vars.m.s")
	bad = true
	for range 2 {
		if got, other := b.show(a), b.show(s); got != "DOUBLE: "+pdu.ErrGeneric.Error() || other != "STRING x" {
			t.Errorf("%s; %s", got, other)
		}
	}
	if n := strings.Count(b.log.String(), "panic"); n != 1 {
		t.Errorf("logged %d times: %s", n, b.log)
	}
	bad = false
	if got := b.show(a); got != "DOUBLE 1" {
		t.Error(got)
	}
}

// nested returns a document of nested objects.
func nested(depth int) text {
	return text(strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth))
}

func TestDepth(t *testing.T) {
	loop := new(expvar.Map)
	loop.Set("again", loop)
	loop.Set("n", integer(1))
	b := newBench(t, map[string]expvar.Var{"deepest": nested(maxDepth), "deeper": nested(maxDepth + 1), "abyss": nested(100_000), "loop": loop})
	got := b.all()
	deepest, loops := 0, 0
	for _, name := range got {
		switch {
		case strings.HasPrefix(name, "x.vars.deepest."):
			deepest++
		case strings.HasPrefix(name, "x.vars.loop"):
			loops++
		default:
			t.Errorf("%s is exported", name)
		}
	}
	if deepest != 1 || loops != maxDepth {
		t.Errorf("%d and %d metrics, want 1 and %d: %v", deepest, loops, maxDepth, got)
	}
}

// object returns a document with n numbers.
func object(from, n int) text {
	doc := map[string]int{}
	for i := range n {
		doc[fmt.Sprintf("n%05d", from+i)] = i
	}
	s, _ := json.Marshal(doc)
	return text(s)
}

// TestMany checks the limits of metrics per variable and in all, even if names change all the time.
func TestMany(t *testing.T) {
	b := newBench(t, map[string]expvar.Var{"a": object(0, 5000), "b": integer(1)})
	if n := len(b.all()); n != maxPerVariable+1 {
		t.Errorf("%d names, want %d", n, maxPerVariable+1)
	}
	b.set("a", object(10_000, 100))
	if n := len(b.all()); n != 1 {
		t.Errorf("%d names, want that of the other variable alone", n)
	}
	if n := len(b.all()); n != 101 { // the next read has room
		t.Errorf("%d names, want 101", n)
	}
	b.set("a", object(0, 10))
	if n := len(b.all()); n != 11 {
		t.Errorf("%d names, want 11", n)
	}
	for i := range 5 {
		b.set(fmt.Sprintf("c%d", i), object(0, 1000))
	}
	if n := len(b.all()); n > maxMetrics || len(b.metrics) != maxMetrics {
		t.Errorf("%d names, %d metrics ever, want %d", n, len(b.metrics), maxMetrics)
	}
	var last pdu.PMID
	value := ""
	for _, name := range b.all() {
		if id := b.id(name); id > last {
			last, value = id, strings.TrimLeft(name[len(name)-5:], "0") // see object
		}
	}
	if last != pdu.MakePMID(251, firstCluster+clusters-1, pdu.MaxItem) {
		t.Errorf("the last PMID is %v", last)
	}
	if got := b.show(last); got != "DOUBLE "+value {
		t.Errorf("the last metric: %s, want %s", got, value)
	}
}

// TestManyKeys checks the limit of instances of a Map.
func TestManyKeys(t *testing.T) {
	m := new(expvar.Map)
	for i := range maxInstances + 10 {
		m.Add(fmt.Sprintf("k%06d", i), 1)
	}
	b := newBench(t, map[string]expvar.Var{"m": m})
	id := b.id("x.vars.m")
	count := func() int {
		r, _ := b.fetch(id)
		return r.At(0).Len()
	}
	if n := count(); n != maxInstances {
		t.Errorf("%d instances, want %d", n, maxInstances)
	}
	m.Init()
	m.Add("k000003", 1)
	m.Add("another", 1)
	if n := count(); n != 1 {
		t.Errorf("%d instances, want the one that was there before", n)
	}
}

// TestLogEnds: the number of log lines is limited, even if new problems never end.
func TestLogEnds(t *testing.T) {
	b := newBench(t, nil)
	for i := range 3000 {
		b.leaveOut(fmt.Sprint(i), "of the test")
	}
	if n := strings.Count(b.log.String(), "\n"); n != 1000 {
		t.Errorf("%d lines", n)
	}
}

// document draws a value that encoding/json can write, with unusual keys.
func document(depth int) *rapid.Generator[any] {
	scalar := rapid.OneOf(rapid.Float64().AsAny(), rapid.Bool().AsAny(), rapid.String().AsAny(), rapid.Just[any](nil))
	if depth == 0 {
		return scalar
	}
	inner := document(depth - 1)
	return rapid.OneOf(scalar, rapid.MapOfN(rapid.String(), inner, 0, 4).AsAny(), rapid.SliceOfN(inner, 0, 2).AsAny())
}

// TestAnyVariable checks that the agent keeps its contract for arbitrary variables and changes.
func TestAnyVariable(t *testing.T) {
	variable := rapid.Custom(func(t *rapid.T) expvar.Var {
		switch rapid.IntRange(0, 4).Draw(t, "type") {
		case 0:
			return integer(rapid.Int64().Draw(t, "int"))
		case 1:
			return text(rapid.String().Draw(t, "text"))
		case 2:
			m := new(expvar.Map)
			for _, key := range rapid.SliceOfN(rapid.String(), 0, 5).Draw(t, "keys") {
				m.Set(key, rapid.SampledFrom([]expvar.Var{integer(1), float(0.5), str("x"), text("{}"), nested(2)}).Draw(t, "entry"))
			}
			return m
		}
		s, err := json.Marshal(document(3).Draw(t, "document"))
		if err != nil {
			t.Fatal(err)
		}
		return text(s)
	})
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t, map[string]expvar.Var{})
		keys := rapid.SliceOfN(rapid.String(), 1, 4).Draw(rt, "keys")
		for range 3 {
			b.set(rapid.SampledFrom(keys).Draw(rt, "key"), variable.Draw(rt, "variable"))
			// Variables that are not JSON have failing values.
			if err := pmdatest.Check(b.agent, pmdatest.Texts(), pmdatest.MayFail("x.vars")); err != nil {
				rt.Fatal(err)
			}
		}
	})
}

// TestConcurrent changes variables while clients fetch.
func TestConcurrent(t *testing.T) {
	m := new(expvar.Map)
	b := newBench(t, map[string]expvar.Var{"m": m, "n": integer(1)})
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			m.Add(fmt.Sprintf("k%d", i%50), 1)
			m.Delete(fmt.Sprintf("k%d", (i+25)%50))
			b.set("doc", object(i%10, 5))
			time.Sleep(10 * time.Microsecond)
		}
	})
	err := pmdatest.Check(b.agent, pmdatest.Changing())
	close(stop)
	wg.Wait()
	// A variable may disappear between two requests.
	if err != nil && strings.Contains(err.Error(), "panic") {
		t.Error(err)
	}
	if err := pmdatest.Check(b.agent, pmdatest.Texts()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
