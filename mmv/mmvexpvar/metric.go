package mmvexpvar

import (
	"expvar"
	"fmt"
	"math"
	"strings"

	"github.com/pcp-go/pcp/internal/expvars"
	"github.com/pcp-go/pcp/mmv"
)

// register returns the metric of a name, and calls create for a new name. It returns nil if the
// metric cannot be registered.
func (b *bridge) register(name, path string, create func(mmv.Metric) metric) metric {
	if m := b.metrics[name]; m != nil {
		return m
	}
	if len(b.metrics) == maxMetrics {
		b.leaveOut(path, "there are too many metrics")
		return nil
	}
	for other := range b.metrics {
		if strings.HasPrefix(other, name+".") || strings.HasPrefix(name, other+".") {
			b.leaveOut(path, "there is a metric above or below it")
			return nil
		}
	}
	key := expvars.Printable(strings.ReplaceAll(path, "\x00", "."))
	m := create(mmv.Metric{Text: "Variable of expvar", Help: fmt.Sprintf("The value of the expvar variable %.150s.", key)})
	b.metrics[name] = m
	return m
}

// seen is the pass of the latest value.
type seen int

func (s *seen) keep(pass int) { *s = seen(pass) }

// A number is a metric with one number.
type number struct {
	seen
	int   *mmv.Gauge      // or nil
	float *mmv.FloatGauge // or nil
}

func (n *number) clear(pass int) {
	switch {
	case int(n.seen) == pass:
	case n.int != nil:
		n.int.Set(0)
	default:
		n.float.Set(math.NaN())
	}
}

// int sets an integer.
func (b *bridge) int(name, path string, v int64) {
	m := b.register(name, path, func(m mmv.Metric) metric { return &number{int: b.registry.Gauge(name, m)} })
	b.number(m, path, float64(v), func(n *number) { n.int.Set(v) })
}

// float sets a fraction.
func (b *bridge) float(name, path string, v float64) {
	m := b.register(name, path, func(m mmv.Metric) metric { return &number{float: b.registry.FloatGauge(name, m)} })
	b.number(m, path, v, func(n *number) { n.int.Set(int64(v)) })
}

// number sets a number: set does so if it is of integers.
func (b *bridge) number(m metric, path string, v float64, set func(*number)) {
	n, ok := m.(*number)
	switch {
	case m == nil:
	case !ok:
		b.leaveOut(path, "it has become a number")
	case n.int != nil:
		set(n)
		n.keep(b.pass)
	default:
		n.float.Set(v)
		n.keep(b.pass)
	}
}

// A text is a metric with a string.
type text struct {
	seen
	handle *mmv.Text
}

func (t *text) clear(pass int) {
	if int(t.seen) != pass {
		t.handle.Set("")
	}
}

// text sets a string.
func (b *bridge) text(name, path, v string) {
	m := b.register(name, path, func(m mmv.Metric) metric { return &text{handle: b.registry.Text(name, m)} })
	t, ok := m.(*text)
	switch {
	case m == nil:
	case !ok:
		b.leaveOut(path, "it has become a string")
	default:
		t.handle.Set(v)
		t.keep(b.pass)
	}
}

// A set is a metric with an instance for each key of a Map.
type set struct {
	domain *mmv.InDom
	ints   *mmv.Vec[mmv.Gauge]      // or nil
	floats *mmv.Vec[mmv.FloatGauge] // or nil
	passes map[string]int           // of each instance's latest value
}

func (s *set) clear(pass int) {
	var gone []string
	for name, p := range s.passes {
		if p != pass {
			gone = append(gone, name)
			delete(s.passes, name)
		}
	}
	if gone != nil {
		s.domain.Remove(gone...)
	}
}

// keep has all instances stay.
func (s *set) keep(pass int) {
	for name := range s.passes {
		s.passes[name] = pass
	}
}

// instances sets the values of a Map. It ignores elements that are not numbers.
func (b *bridge) instances(name, path string, float bool, entries []expvar.KeyValue) {
	m := b.register(name, path, func(m mmv.Metric) metric {
		s := &set{passes: map[string]int{}}
		s.domain = b.registry.InDom(name+".key", mmv.Domain{Text: fmt.Sprintf("Keys of %.200s", name)})
		if float {
			s.floats = s.domain.FloatGauge(name, m)
		} else {
			s.ints = s.domain.Gauge(name, m)
		}
		return s
	})
	s, ok := m.(*set)
	if !ok {
		if m != nil {
			b.leaveOut(path, "it has become a Map of numbers")
		}
		return
	}
	for _, kv := range entries {
		instance := expvars.Printable(kv.Key)
		switch {
		case len(instance) > maxName:
			b.leaveOut(path+"\x00"+kv.Key, "the name of the instance is too long")
		case s.passes[instance] == b.pass:
			b.leaveOut(path+"\x00"+kv.Key, "the name of the instance is that of another one")
		default:
			if !s.put(instance, kv.Value, b.pass) {
				b.leaveOut(path+"\x00"+kv.Key, "it is no number, as the others are")
			}
		}
	}
}

// put sets the value of an instance. It returns false if the variable is not a number.
func (s *set) put(instance string, v expvar.Var, pass int) bool {
	switch v := v.(type) {
	case *expvar.Int:
		if n := v.Value(); s.ints != nil {
			s.ints.With(instance).Set(n)
		} else {
			s.floats.With(instance).Set(float64(n))
		}
	case *expvar.Float:
		if f := v.Value(); s.ints != nil {
			s.ints.With(instance).Set(int64(f))
		} else {
			s.floats.With(instance).Set(f)
		}
	default:
		return false
	}
	s.passes[instance] = pass
	return true
}
