package goexpvar

import (
	"cmp"
	"context"
	"expvar"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/pcp-go/pcp/internal/expvars"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A kind is the kind of a metric's values.
type kind int

const (
	kindInt kind = iota
	kindFloat
	kindString
	kindBool
	kindInts   // by instance
	kindFloats // by instance
)

func (k kind) typ() pdu.Type {
	return [...]pdu.Type{pdu.Type64, pdu.TypeDouble, pdu.TypeString, pdu.TypeU32, pdu.Type64, pdu.TypeDouble}[k]
}

func (k kind) sem() pdu.Sem {
	if k == kindString {
		return pdu.SemDiscrete
	}
	return pdu.SemInstant
}

// A metric is a metric that exists or may return. Only the fields guarded by exporter.turn change.
type metric struct {
	name   string
	kind   kind
	number int
	help   string
	indom  *pmda.InDom // of kindInts and kindFloats

	// The following fields are guarded by exporter.turn.
	top    *variable // its variable at the last read
	values values
	goneAt uint64 // value of exporter.reads when it disappeared; 0 while it exists

	// State of the instance domain.
	ids   map[string]pdu.Instance // by key, including removed ones
	taken map[string]bool         // names of instances
	keys  []string                // of the current instances
}

// A metricKey identifies a metric.
type metricKey struct {
	name string
	kind kind
}

func (m *metric) pmid(d pdu.Domain) pdu.PMID {
	return pdu.MakePMID(d, firstCluster+m.number/perCluster, m.number%perCluster)
}

func (m *metric) indomID() pdu.InDom {
	if m.indom == nil {
		return pdu.NoInDom
	}
	return m.indom.ID()
}

// A variable is a published variable.
type variable struct {
	key       string
	component string     // component of its name
	name      string     // full name
	value     expvar.Var // nil while the variable is missing
	metrics   []*metric  // its existing metrics, in the order of names
	known     int        // number of its metrics in exporter.known
	wasRead   bool

	seen bool // by the current fetch
}

// metricOf returns the metric for a value, which it makes if necessary, or nil if that exceeds a
// limit.
func (e *exporter) metricOf(v *variable, name, what string, k kind) *metric {
	if m := e.known[metricKey{name, k}]; m != nil {
		if m.top != v { // another variable has the name now
			m.top.known--
			v.known++
			m.top = v
		}
		m.goneAt = 0
		return m
	}
	if len(name) > maxName {
		e.leaveOut(what, "its name is too long")
		return nil
	}
	if v.known == maxPerVariable && !e.forgetOldest(v) || len(e.known) == maxMetrics && !e.forgetOldest(nil) {
		e.leaveOut(v.key, "there are too many metrics")
		return nil
	}
	number := len(e.metrics)
	if number == maxMetrics {
		number = e.free[0]
	}
	m := &metric{name: name, kind: k, number: number, top: v}
	m.help = fmt.Sprintf("The value of the expvar variable %s.", expvars.Printable(strings.ReplaceAll(what, "\x00", ".")))
	if k == kindInts || k == kindFloats {
		m.ids, m.taken = map[string]pdu.Instance{}, map[string]bool{}
		m.indom = &pmda.InDom{
			Name: "key", Serial: pmda.InDomSerial(firstSerial + m.number), Text: "Keys of " + name,
			Help:    m.help + " Spaces, and what\ncannot be printed, are underscores.",
			Refresh: func(ctx context.Context, _ *pmda.Request) error { return e.refresh(ctx, m) },
		}
		if err := e.agent.Attach(m.indom); err != nil {
			e.leaveOut(what, err.Error())
			return nil
		}
	}
	v.known++
	e.known[metricKey{name, k}] = m
	e.table.Lock()
	defer e.table.Unlock()
	if number == len(e.metrics) {
		e.metrics = append(e.metrics, m)
	} else {
		e.free = e.free[1:]
		e.metrics[number] = m
	}
	return m
}

// refresh reads the variable of a metric before the agent lists its instances.
func (e *exporter) refresh(ctx context.Context, m *metric) error {
	if err := e.turn.Lock(ctx); err != nil {
		return err
	}
	defer e.turn.Unlock()
	e.list()
	e.readVariable(ctx, m.top)
	return nil
}

// instance returns the instance of a key, or false if the key is omitted.
func (e *exporter) instance(m *metric, key string) (pdu.InstID, bool) {
	if i, ok := m.ids[key]; ok {
		return i.ID, i.ID != pdu.NoInst
	}
	if len(m.ids) >= maxInstances {
		e.leaveOut(m.name, "there are too many keys")
		return 0, false
	}
	i := pdu.Instance{ID: pdu.InstID(len(m.ids)), Name: expvars.Printable(key)}
	if len(i.Name) > maxName || m.taken[i.Name] {
		e.leaveOut(m.name+"["+i.Name+"]", "the name of the instance is too long, or that of another one")
		i.ID = pdu.NoInst
	} else {
		m.taken[i.Name] = true
	}
	m.ids[key] = i
	return i.ID, i.ID != pdu.NoInst
}

// setInstances sets the current instances.
func (e *exporter) setInstances(m *metric, keys []string) {
	if slices.Equal(keys, m.keys) {
		return
	}
	m.keys = append(m.keys[:0], keys...)
	list := make([]pdu.Instance, len(keys))
	for n, key := range keys {
		list[n] = m.ids[key]
	}
	slices.SortFunc(list, func(a, b pdu.Instance) int { return cmp.Compare(a.ID, b.ID) })
	if _, err := m.indom.SetInstances(list...); err != nil {
		e.leaveOut(m.name, err.Error())
	}
}

// leaveOut logs, once, that something is not exported.
func (e *exporter) leaveOut(what, why string) {
	what = strings.ReplaceAll(what, "\x00", ".")
	const most = 1000 // limit, since variables may change forever
	if text := what + "\x00" + why; !e.logged[text] && len(e.logged) < most {
		e.logged[text] = true
		e.agent.Log().Warn("a variable of expvar is left out", slog.String("variable", expvars.Printable(what)), slog.String("reason", why))
	}
}
