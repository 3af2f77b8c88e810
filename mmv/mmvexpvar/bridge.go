package mmvexpvar

import (
	"context"
	"encoding/json"
	"expvar"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/internal/expvars"
	"github.com/pcp-go/pcp/mmv"
)

// These limits are listed in the package comment.
const (
	maxDepth     = 8
	maxName      = 200
	maxInstances = 4096
	maxMetrics   = 4096
	maxLogged    = 1000 // kinds of things left out that are logged
)

// Add exports the variables of expvar through a registry, below a root such as "vars". It logs the
// variables that it leaves out to log; nil means slog.Default(). Call Add once for a registry.
// Registry.Err returns the errors of registrations.
func Add(r *mmv.Registry, root string, log *slog.Logger) {
	r.OnRead(newBridge(r, root, log, expvar.Do).read)
}

// A bridge registers variables and sets their metrics. OnRead runs one call at a time.
type bridge struct {
	registry *mmv.Registry
	root     string
	log      *slog.Logger
	do       func(func(expvar.KeyValue)) // expvar.Do
	calls    expvars.Calls
	metrics  map[string]metric // by name
	pass     int               // of all reads
	logged   map[string]bool
}

func newBridge(r *mmv.Registry, root string, log *slog.Logger, do func(func(expvar.KeyValue))) *bridge {
	return &bridge{registry: r, root: root, log: log, do: do, metrics: map[string]metric{}, logged: map[string]bool{}}
}

// A metric is the exported form of a variable.
type metric interface {
	// clear ends a pass that set no value.
	clear(pass int)
	// keep retains the values of the previous pass.
	keep(pass int)
}

// read reads all variables.
func (b *bridge) read() {
	b.pass++
	var vars []expvar.KeyValue // the code of the program is not called with expvar's lock
	b.do(func(kv expvar.KeyValue) {
		if kv.Key != "memstats" && kv.Key != "cmdline" {
			vars = append(vars, kv)
		}
	})
	top := b.level(b.root, "", 0)
	for _, kv := range vars {
		top.add(kv.Key, func(name, path string) { b.variable(name, path, kv.Value) })
	}
	for _, m := range b.metrics {
		m.clear(b.pass)
	}
}

// variable reads a variable. Its methods may panic, for example those of a nil *expvar.Int.
func (b *bridge) variable(name, path string, v expvar.Var) {
	defer func() {
		if p := recover(); p != nil {
			b.fail(name, path, fmt.Errorf("panic: %v", p))
		}
	}()
	b.flatten(name, path, v, 1)
}

// flatten sets the metrics of a variable, or of an entry of a Map.
func (b *bridge) flatten(name, path string, v expvar.Var, depth int) {
	switch v := v.(type) {
	case nil:
	case *expvar.Int:
		b.int(name, path, v.Value())
	case *expvar.Float:
		b.float(name, path, v.Value())
	case *expvar.String:
		b.text(name, path, v.Value())
	case *expvar.Map:
		b.flattenMap(name, path, v, depth)
	default:
		doc, err := b.calls.Value(context.Background(), path, v)
		if err != nil {
			b.fail(name, path, err)
			return
		}
		b.flattenJSON(name, path, doc, depth)
	}
}

// flattenMap sets a metric with instances, or a level of names.
func (b *bridge) flattenMap(name, path string, m *expvar.Map, depth int) {
	var entries []expvar.KeyValue
	numbers, float, more := 0, false, false
	m.Do(func(kv expvar.KeyValue) {
		if len(entries) == maxInstances {
			more = true
			return
		}
		entries = append(entries, kv)
		switch kv.Value.(type) {
		case *expvar.Int:
			numbers++
		case *expvar.Float:
			numbers++
			float = true
		}
	})
	if more {
		b.leaveOut(path, "there are too many keys")
	}
	if b.metrics[name] != nil || len(entries) > 0 && numbers == len(entries) {
		b.instances(name, path, float, entries)
		return
	}
	l := b.level(name, path, depth)
	for _, kv := range entries {
		l.add(kv.Key, func(name, path string) { b.flatten(name, path, kv.Value, depth+1) })
	}
}

// flattenJSON sets the metrics of a document.
func (b *bridge) flattenJSON(name, path string, doc any, depth int) {
	switch x := doc.(type) {
	case nil:
	case bool:
		n := int64(0)
		if x {
			n = 1
		}
		b.int(name, path, n)
	case json.Number:
		f, err := x.Float64()
		if err != nil {
			b.leaveOut(path, "the number is out of range")
			return
		}
		b.float(name, path, f)
	case string:
		b.text(name, path, x)
	case map[string]any:
		l := b.level(name, path, depth)
		for _, key := range slices.Sorted(maps.Keys(x)) {
			l.add(key, func(name, path string) { b.flattenJSON(name, path, x[key], depth+1) })
		}
	default:
		b.leaveOut(path, "it is an array")
	}
}

// A level makes the names at one level.
type level struct {
	b          *bridge
	name, path string
	deep       bool
	taken      map[string]bool
}

func (b *bridge) level(name, path string, depth int) *level {
	return &level{b, name, path, depth > maxDepth, map[string]bool{}}
}

// add calls f with the name and the path for a key, or logs why it ignores the key.
func (l *level) add(key string, f func(name, path string)) {
	name, path := l.name+"."+expvars.Component(key), strings.TrimPrefix(l.path+"\x00"+key, "\x00")
	switch {
	case l.deep:
		l.b.leaveOut(l.path, "what is in it is too deep")
	case l.taken[name]:
		l.b.leaveOut(path, "its name is that of another one")
	case len(name) > maxName:
		l.b.leaveOut(path, "its name is too long")
	default:
		l.taken[name] = true
		f(name, path)
	}
}

// fail keeps the values at and below a name.
func (b *bridge) fail(name, path string, err error) {
	b.leaveOut(path, err.Error())
	for n, m := range b.metrics {
		if rest, ok := strings.CutPrefix(n, name); ok && (rest == "" || rest[0] == '.') {
			m.keep(b.pass)
		}
	}
}

// leaveOut logs, once, that something is not exported. A path has its keys between zero bytes.
func (b *bridge) leaveOut(path, why string) {
	if text := path + "\x00" + why; !b.logged[text] && len(b.logged) < maxLogged {
		b.logged[text] = true
		log := b.log
		if log == nil {
			log = slog.Default()
		}
		log.Warn("a variable of expvar is left out", slog.String("registry", b.registry.Name),
			slog.String("variable", expvars.Printable(strings.ReplaceAll(path, "\x00", "."))), slog.String("reason", why))
	}
}
