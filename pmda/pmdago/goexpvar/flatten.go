package goexpvar

import (
	"cmp"
	"context"
	"encoding/json"
	"expvar"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/internal/expvars"
	"github.com/pcp-go/pcp/pdu"
)

// values are the values of a metric.
type values struct {
	ok    bool // there is a value
	err   error
	i     int64 // also for kindBool
	f     float64
	s     string
	insts []instanceValue
}

type instanceValue struct {
	id pdu.InstID
	i  int64
	f  float64
}

// clear removes the values and keeps the memory.
func (v *values) clear() { *v = values{insts: v.insts[:0]} }

// put sets the value of a metric.
func (e *exporter) put(v *variable, name, path string, k kind, val values) {
	m := e.metricOf(v, name, path, k)
	if m == nil {
		return
	}
	val.insts = m.values.insts
	m.values = val
	e.found = append(e.found, m)
}

// putString sets a string, or no value if PCP cannot represent it.
func (e *exporter) putString(v *variable, name, path, s string) {
	if len(s) > maxString || strings.Contains(s, "\x00") {
		e.leaveOut(path, "the string is too long, or has a zero byte")
		e.put(v, name, path, kindString, values{})
		return
	}
	e.put(v, name, path, kindString, values{ok: true, s: s})
}

// flatten makes metrics from a variable or an entry of a Map. path identifies it in logs and calls.
func (e *exporter) flatten(ctx context.Context, v *variable, name, path string, x expvar.Var, depth int) {
	switch x := x.(type) {
	case nil:
	case *expvar.Int:
		e.put(v, name, path, kindInt, values{ok: true, i: x.Value()})
	case *expvar.Float:
		f := x.Value()
		e.put(v, name, path, kindFloat, values{ok: !math.IsNaN(f), f: f})
	case *expvar.String:
		e.putString(v, name, path, x.Value())
	case *expvar.Map:
		e.flattenMap(ctx, v, name, path, x, depth)
	default:
		doc, err := e.calls.Value(ctx, path, x)
		if err != nil {
			e.fail(v, name, path, err)
			return
		}
		e.flattenJSON(v, name, path, doc, depth)
	}
}

// flattenMap makes a metric with instances from a Map, or a level of names.
func (e *exporter) flattenMap(ctx context.Context, v *variable, name, path string, x *expvar.Map, depth int) {
	from := len(e.entries)
	e.room = maxInstances
	x.Do(e.collectEntry)
	entries := e.entries[from:]
	if e.room < 0 {
		e.leaveOut(path, "there are too many keys")
	}
	numbers, k := 0, kindInts
	for _, kv := range entries {
		switch kv.Value.(type) {
		case *expvar.Float:
			k = kindFloats
			numbers++
		case *expvar.Int:
			numbers++
		}
	}
	switch {
	case len(entries) == 0:
	case numbers == len(entries):
		e.putInstances(v, name, path, k, entries)
	default:
		l := e.level(path, depth)
		for _, kv := range entries {
			if c, ok := l.component(kv.Key); ok {
				e.flatten(ctx, v, name+"."+c, path+"\x00"+kv.Key, kv.Value, depth+1)
			}
		}
	}
	e.entries = e.entries[:from]
}

// putInstances sets the values of a Map of numbers.
func (e *exporter) putInstances(v *variable, name, path string, k kind, entries []expvar.KeyValue) {
	m := e.metricOf(v, name, path, k)
	if m == nil {
		return
	}
	m.values.clear()
	m.values.ok = true
	e.keys = e.keys[:0]
	for _, kv := range entries {
		id, ok := e.instance(m, kv.Key)
		if !ok {
			continue
		}
		e.keys = append(e.keys, kv.Key)
		val := instanceValue{id: id}
		switch x := kv.Value.(type) {
		case *expvar.Int:
			val.i = x.Value()
			val.f = float64(val.i)
		case *expvar.Float:
			val.f = x.Value()
		}
		if !math.IsNaN(val.f) {
			m.values.insts = append(m.values.insts, val)
		}
	}
	slices.SortFunc(m.values.insts, func(a, b instanceValue) int { return cmp.Compare(a.id, b.id) })
	e.setInstances(m, e.keys)
	e.found = append(e.found, m)
}

// flattenJSON makes metrics from a JSON document.
func (e *exporter) flattenJSON(v *variable, name, path string, doc any, depth int) {
	switch x := doc.(type) {
	case nil:
	case bool:
		val := values{ok: true}
		if x {
			val.i = 1
		}
		e.put(v, name, path, kindBool, val)
	case json.Number:
		f, err := x.Float64()
		if err != nil {
			e.leaveOut(path, "the number is out of range")
		}
		e.put(v, name, path, kindFloat, values{ok: err == nil, f: f})
	case string:
		e.putString(v, name, path, x)
	case map[string]any:
		l := e.level(path, depth)
		for _, key := range slices.Sorted(maps.Keys(x)) {
			if c, ok := l.component(key); ok {
				e.flattenJSON(v, name+"."+c, path+"\x00"+key, x[key], depth+1)
			}
		}
	default:
		e.leaveOut(path, "it is an array")
	}
}

// A level makes the name components at one level.
type level struct {
	e     *exporter
	path  string
	deep  bool
	taken map[string]bool
}

func (e *exporter) level(path string, depth int) *level {
	return &level{e, path, depth >= maxDepth, map[string]bool{}}
}

// component returns the name component of a key, or false if the key must be omitted.
func (l *level) component(key string) (string, bool) {
	c := expvars.Component(key)
	switch {
	case l.deep:
		l.e.leaveOut(l.path, "what is in it is too deep")
		return "", false
	case l.taken[c]:
		l.e.leaveOut(l.path+"\x00"+key, "its name is that of another one")
		return "", false
	}
	l.taken[c] = true
	return c, true
}
