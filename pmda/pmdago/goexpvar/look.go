package goexpvar

import (
	"context"
	"expvar"
	"fmt"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// list finds out which variables there are.
func (e *exporter) list() {
	clear(e.vars)
	e.vars = e.vars[:0]
	e.do(e.collect)
	if !e.listed || !slices.EqualFunc(e.vars, e.keysListed, func(kv expvar.KeyValue, key string) bool { return kv.Key == key }) {
		e.arrange()
	}
	for _, kv := range e.vars {
		e.tops[kv.Key].value = kv.Value
	}
}

// arrange gives variables their names, in the order of their keys. Of those with
// the same name the one that has it keeps it, or else the first gets it.
func (e *exporter) arrange() {
	if e.listed {
		e.agent.Notify(pdu.ChangeNames)
	}
	e.listed, e.keysListed = true, e.keysListed[:0]
	for _, v := range e.tops {
		v.value = nil
	}
	for _, kv := range e.vars {
		e.keysListed = append(e.keysListed, kv.Key)
		v := e.tops[kv.Key]
		if v == nil {
			v = &variable{key: kv.Key, component: component(kv.Key)}
			v.name = e.root + "." + v.component
			e.tops[kv.Key] = v
		}
		v.value = kv.Value
	}
	owner := map[string]*variable{}
	for _, v := range e.order {
		if v.value != nil {
			owner[v.component] = v
		} else {
			e.replace(v, nil)
		}
	}
	e.order = e.order[:0]
	for _, key := range e.keysListed {
		v := e.tops[key]
		if o := owner[v.component]; o != nil && o != v {
			e.leaveOut(key, "its name is that of "+o.key)
			continue
		}
		owner[v.component] = v
		e.order = append(e.order, v)
	}
}

// look finds out which metrics a variable has now, and their values. list has
// been called.
func (e *exporter) look(ctx context.Context, v *variable) {
	for _, m := range v.metrics {
		m.values.clear()
	}
	e.found = e.found[:0]
	e.flattenVariable(ctx, v, v.value)
	if !slices.Equal(e.found, v.metrics) {
		if v.looked {
			e.agent.Notify(pdu.ChangeNames)
		}
		e.replace(v, e.found)
	}
	v.looked = true
}

// replace says which metrics a variable has.
func (e *exporter) replace(v *variable, metrics []*metric) {
	for _, m := range v.metrics {
		if e.byName[m.name] == m {
			delete(e.byName, m.name)
		}
		if !slices.Contains(metrics, m) {
			m.values.clear()
		}
	}
	v.metrics = append(v.metrics[:0], metrics...)
	for _, m := range v.metrics {
		e.byName[m.name] = m
	}
}

// flattenVariable flattens a variable, whose methods may panic: there are nil
// pointers to Ints.
func (e *exporter) flattenVariable(ctx context.Context, v *variable, x expvar.Var) {
	defer func() {
		if p := recover(); p != nil {
			e.found = e.found[:0]
			e.fail(v, v.name, v.key, fmt.Errorf("goexpvar: panic: %v", p))
		}
	}()
	e.entries = e.entries[:0]
	e.flatten(ctx, v, v.name, v.key, x, 0)
	clear(e.entries)
}

// fail keeps the metrics at and below a name, with an error.
func (e *exporter) fail(v *variable, name, path string, err error) {
	e.leaveOut(path, err.Error())
	for _, m := range v.metrics {
		if rest, ok := strings.CutPrefix(m.name, name); ok && (rest == "" || rest[0] == '.') {
			m.values.clear()
			m.values.err = err
			e.found = append(e.found, m)
		}
	}
}
