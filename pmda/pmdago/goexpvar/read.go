package goexpvar

import (
	"context"
	"expvar"
	"fmt"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/internal/expvars"
	"github.com/pcp-go/pcp/pdu"
)

// list finds the published variables.
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

// arrange assigns names to variables in the order of their keys. Of several with the same name, the
// one that already has it keeps it; otherwise the first gets it.
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
			v = &variable{key: kv.Key, component: expvars.Component(kv.Key)}
			v.name = e.root + "." + v.component
			e.tops[kv.Key] = v
		}
		v.value = kv.Value
	}
	owner := map[string]*variable{}
	for _, v := range e.order {
		if v.value != nil {
			owner[v.component] = v
		}
	}
	for key, v := range e.tops {
		if v.value == nil {
			e.forgetVariable(v)
			delete(e.tops, key)
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

// readVariable updates the metrics of a variable and their values. Call list first.
func (e *exporter) readVariable(ctx context.Context, v *variable) {
	for _, m := range v.metrics {
		m.values.clear()
	}
	e.found = e.found[:0]
	e.flattenVariable(ctx, v, v.value)
	if !slices.Equal(e.found, v.metrics) {
		if v.wasRead {
			e.agent.Notify(pdu.ChangeNames)
		}
		e.replace(v, e.found)
	}
	v.wasRead = true
}

// replace sets the metrics of a variable. Earlier ones may return, such as those of a value that
// changes its type.
func (e *exporter) replace(v *variable, metrics []*metric) {
	e.reads++
	for _, m := range v.metrics {
		if e.byName[m.name] == m {
			delete(e.byName, m.name)
		}
		m.goneAt = e.reads
	}
	for _, m := range metrics {
		m.goneAt = 0
	}
	for _, m := range v.metrics {
		if m.goneAt != 0 {
			m.values.clear()
		}
	}
	v.metrics = append(v.metrics[:0], metrics...)
	for _, m := range v.metrics {
		e.byName[m.name] = m
	}
}

// flattenVariable flattens a variable. It recovers from panics in its methods, such as those of a
// nil *Int.
func (e *exporter) flattenVariable(ctx context.Context, v *variable, x expvar.Var) {
	defer func() {
		if p := recover(); p != nil {
			e.reads++
			for _, m := range e.found {
				m.goneAt = e.reads
			}
			e.found = e.found[:0]
			e.fail(v, v.name, v.key, fmt.Errorf("goexpvar: panic: %v", p))
		}
	}()
	e.entries = e.entries[:0]
	e.flatten(ctx, v, v.name, v.key, x, 0)
	clear(e.entries)
}

// fail keeps the metrics at and below a name, and sets their error.
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

// forgetVariable forgets the metrics of a removed variable.
func (e *exporter) forgetVariable(v *variable) {
	e.replace(v, nil)
	for _, m := range e.known {
		if m.top == v {
			e.forget(m)
		}
	}
}

// forget removes a metric. Its number is reused when no other is free.
func (e *exporter) forget(m *metric) {
	if m.indom != nil {
		if err := e.agent.Detach(m.indom); err != nil {
			e.leaveOut(m.name, err.Error())
		}
	}
	m.values.clear()
	m.top.known--
	delete(e.known, metricKey{m.name, m.kind})
	e.free = append(e.free, m.number)
	e.table.Lock()
	e.metrics[m.number] = nil
	e.table.Unlock()
}

// forgetOldest forgets the metric that has been gone for the longest time. If v is not nil, it
// considers only metrics of v. It returns false if no metric is gone.
func (e *exporter) forgetOldest(v *variable) bool {
	var oldest *metric
	for _, m := range e.metrics {
		if m != nil && m.goneAt != 0 && (v == nil || m.top == v) && (oldest == nil || m.goneAt < oldest.goneAt) {
			oldest = m
		}
	}
	if oldest != nil {
		e.forget(oldest)
	}
	return oldest != nil
}
