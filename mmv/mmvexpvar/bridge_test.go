package mmvexpvar

import (
	"bytes"
	"expvar"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pcp-go/pcp/internal/expvars"
	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pdu"
)

// A trial is a registry with its own set of variables.
type trial struct {
	t        *testing.T
	registry *mmv.Registry
	vars     []expvar.KeyValue
	bridge   *bridge
	log      bytes.Buffer
}

func newTrial(t *testing.T) *trial {
	r := &trial{t: t, registry: &mmv.Registry{Name: "x"}}
	do := func(f func(expvar.KeyValue)) {
		for _, kv := range r.vars {
			f(kv)
		}
	}
	r.bridge = newBridge(r.registry, "vars", slog.New(slog.NewTextHandler(&r.log, nil)), do)
	r.registry.OnRead(r.bridge.read)
	return r
}

func (r *trial) publish(key string, v expvar.Var) {
	r.vars = append(r.vars, expvar.KeyValue{Key: key, Value: v})
}

// read is what a reader finds: each metric with its values, by instance.
func (r *trial) read() map[string]string {
	r.t.Helper()
	f, err := mmv.Read(r.registry.Source())
	if err != nil {
		r.t.Fatal(err)
	}
	s, err := f.Snapshot(time.Now())
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.registry.Err(); err != nil {
		r.t.Error(err)
	}
	all := map[string]string{}
	for _, m := range s.Metrics {
		var values []string
		for _, v := range m.Values {
			value := any(v.Value)
			if f, err := pdu.As[float64](v.Value); err == nil {
				value = f
			}
			values = append(values, strings.TrimPrefix(fmt.Sprintf("%s=%v", v.Instance.Name, value), "="))
		}
		all[m.Metric.Name] = strings.Join(values, " ")
	}
	return all
}

func (r *trial) check(what string, want map[string]string) {
	r.t.Helper()
	if d := cmp.Diff(want, r.read()); d != "" {
		r.t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func (r *trial) logs(want string) {
	r.t.Helper()
	if !strings.Contains(r.log.String(), want) {
		r.t.Errorf("no %q in the log:\n%s", want, &r.log)
	}
}

// A document is a variable whose value is its own text.
type document string

func (s document) String() string { return string(s) }

func ints(keys map[string]int64) *expvar.Map {
	m := new(expvar.Map)
	for k, v := range keys {
		m.Add(k, v)
	}
	return m
}

func TestVariables(t *testing.T) {
	i, f, s := new(expvar.Int), new(expvar.Float), new(expvar.String)
	i.Set(-7)
	f.Set(0.5)
	s.Set("ready")
	mixed := ints(map[string]int64{"n": 3})
	mixed.Set("state", s)
	floats := ints(map[string]int64{"a": 1})
	floats.AddFloat("b", 2.5)
	r := newTrial(t)
	r.publish("count", i)
	r.publish("load 1m", f)
	r.publish("state", s)
	r.publish("200", ints(map[string]int64{"GET /": 5, "POST": 2}))
	r.publish("floats", floats)
	r.publish("mixed", mixed)
	r.publish("func", expvar.Func(func() any {
		return map[string]any{"on": true, "n": 3, "list": []int{1}, "deep": map[string]string{"er": "x"}}
	}))
	r.publish("empty", new(expvar.Map))
	r.publish("memstats", document("1"))
	r.publish("bad", document("{"))
	want := map[string]string{
		"vars.count": "-7", "vars.load_1m": "0.5", "vars.state": `"ready"`,
		"vars.x200": "GET_/=5 POST=2", "vars.floats": "a=1 b=2.5",
		"vars.mixed.n": "3", "vars.mixed.state": `"ready"`,
		"vars.func.on": "1", "vars.func.n": "3", "vars.func.deep.er": `"x"`,
	}
	r.check("at first", want)
	r.logs("variable=func.list reason=\"it is an array\"")
	r.logs("variable=bad reason=\"expvar: the text of a variable is not JSON, or too long\"")
	i.Add(2)
	want["vars.count"] = "-5"
	r.check("afterwards", want)
	if n := strings.Count(r.log.String(), "\n"); n != 2 {
		t.Errorf("%d lines of log, want 2:\n%s", n, &r.log)
	}
}

// TestChanges: a removed variable loses its value, and a variable whose type changes is left out.
func TestChanges(t *testing.T) {
	r := newTrial(t)
	hits := ints(map[string]int64{"a": 1, "b": 2})
	var doc string
	r.publish("hits", hits)
	r.publish("doc", expvar.Func(func() any { return map[string]any{"n": 1.5, "s": "x", "on": false} }))
	r.publish("late", expvar.Func(func() any { return map[string]any{"v": doc} }))
	r.check("at first", map[string]string{"vars.hits": "a=1 b=2",
		"vars.doc.n": "1.5", "vars.doc.s": `"x"`, "vars.doc.on": "0", "vars.late.v": `""`})
	hits.Delete("a")
	hits.AddFloat("c", 3.5)
	r.vars[1].Value = document(`{"s": 7}`)
	r.vars[2].Value = ints(map[string]int64{"v": 1})
	r.publish("more", document(`"new"`))
	r.check("afterwards", map[string]string{"vars.hits": "b=2 c=3", "vars.doc.n": "NaN", "vars.doc.s": `""`, "vars.doc.on": "0",
		"vars.late.v": `""`, "vars.more": `"new"`})
	r.logs("it has become a number")
	r.logs("there is a metric above or below it")
}

// TestHostile: program code that panics or hangs does not affect other variables, and its values
// stay.
func TestHostile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTrial(t)
		mode, stop := "", make(chan struct{})
		r.publish("f", expvar.Func(func() any {
			switch mode {
			case "panic":
				panic("no")
			case "hang":
				<-stop
			}
			return map[string]int{"n": 1}
		}))
		ok := new(expvar.Int)
		r.publish("nil", (*expvar.Int)(nil))
		r.publish("ok", ok)
		for i, m := range []string{"", "panic", "hang"} {
			mode = m
			ok.Set(int64(i))
			before := time.Now()
			r.check(m, map[string]string{"vars.f.n": "1", "vars.ok": fmt.Sprint(i)})
			if took := time.Since(before); took > expvars.CallTimeout {
				t.Errorf("%s takes %v", m, took)
			}
		}
		r.logs(`reason="expvar: panic: no"`)
		r.logs("takes too long")
		close(stop)
	})
}

func TestLimits(t *testing.T) {
	r := newTrial(t)
	many := new(expvar.Map)
	for i := range maxInstances + 1 {
		many.Add(fmt.Sprint(i), 1)
	}
	r.publish("many", many)
	r.publish("a b", document("1"))
	r.publish("a_b", document("2"))
	r.publish(strings.Repeat("x", maxName), document("1"))
	r.publish("deep", document(strings.Repeat(`{"d":`, 100)+"1"+strings.Repeat("}", 100)))
	got := r.read()
	if n := len(strings.Fields(got["vars.many"])); n != maxInstances {
		t.Errorf("%d instances, want %d", n, maxInstances)
	}
	delete(got, "vars.many")
	if d := cmp.Diff(map[string]string{"vars.a_b": "1"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, why := range []string{"there are too many keys", "its name is that of another one",
		"its name is too long", "what is in it is too deep"} {
		r.logs(why)
	}
}
