package pmdago

import (
	"context"
	"hash/fnv"
	"log/slog"
	"runtime/metrics"
	"strings"

	"github.com/pcp-go/pcp/internal/goruntime"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmns"
)

// addRuntime adds the metrics of runtime/metrics.
func (a *agent) addRuntime(all []metrics.Description) {
	a.addQuantiles()
	items := make(map[string]int, len(known))
	for i, name := range known {
		items[name] = i
	}
	var names pmns.Builder // names of known metrics, which metrics of a newer Go must not reuse
	var godebug, others []metrics.Description
	for _, d := range all {
		item, ok := items[d.Name]
		switch {
		case strings.HasPrefix(d.Name, goruntime.GodebugNames):
			godebug = append(godebug, d)
		case ok:
			_ = names.Add(a.name(d.Name), pdu.MakePMID(0, 0, item)) // Register reports errors
			a.addReading(d, place{item: item, serial: serialOfKnown + item})
		default:
			others = append(others, d)
		}
	}
	for i, d := range others {
		err := names.Add(a.name(d.Name), pdu.MakePMID(0, 1, i))
		if i > pdu.MaxItem || err != nil {
			a.Log().Warn("a metric of the runtime is left out", slog.String("name", d.Name), slog.Any("error", err))
			continue
		}
		a.addReading(d, place{cluster: clusterOfNew, item: i, serial: serialOfNew + i})
	}
	a.addGodebug(godebug)
}

// named returns name with the Prefix of the Options in place of "go".
func (a *agent) named(name string) string { return a.prefix + strings.TrimPrefix(name, "go") }

// name returns the PCP name of a runtime metric.
func (a *agent) name(name string) string { return goruntime.Name(a.prefix, name) }

// A place is the position of a runtime metric in the tables.
type place struct {
	cluster, item int // cluster is added to that of each kind, such as clusterBuckets
	serial        int // of a histogram's instance domain
}

// addReading adds a runtime metric.
func (a *agent) addReading(d metrics.Description, at place) {
	rd := &reading{sample: metrics.Sample{Name: d.Name}}
	switch d.Kind {
	case metrics.KindUint64:
		register(a, rd, d, at, func(v metrics.Value) uint64 { return v.Uint64() })
	case metrics.KindFloat64:
		register(a, rd, d, at, func(v metrics.Value) float64 { return v.Float64() })
	case metrics.KindFloat64Histogram:
		a.addHistogram(rd, d, at)
	default: // a kind of a newer Go
		a.Log().Warn("a metric of the runtime is left out: its kind is unknown", slog.String("name", d.Name), slog.Int("kind", int(d.Kind)))
	}
}

// register adds a metric with one value. get extracts it from the sample.
func register[T pdu.Scalar](a *agent, rd *reading, d metrics.Description, at place, get func(metrics.Value) T) {
	id := a.file(rd, at, clusterValue)
	pmda.Register(a.Agent, pmda.Metric[T]{
		Name: a.name(d.Name), Text: goruntime.Sentence(d.Description), Help: d.Description, ID: id, Sem: goruntime.Sem(d), Units: goruntime.Units(d.Name),
		Value: func(context.Context, *pmda.Request, pdu.Instance) (T, error) {
			if v := rd.sample.Value; v.Kind() == d.Kind {
				return get(v), nil
			}
			var none T
			return none, pmda.NoValue
		},
	})
}

// file records that the metric in a cluster needs the reading, and returns its item.
func (a *agent) file(rd *reading, at place, cluster int) pmda.ItemID {
	cluster += at.cluster
	list := &a.readings[cluster]
	if more := at.item + 1 - len(*list); more > 0 {
		*list = append(*list, make([]*reading, more)...)
	}
	(*list)[at.item] = rd
	return pmda.Item(cluster, at.item)
}

// addGodebug adds one metric for the counts of all settings, because releases of Go add and remove
// settings.
func (a *agent) addGodebug(all []metrics.Description) {
	d := &pmda.InDom{
		Name: "setting", Serial: pmda.InDomSerial(serialGodebug),
		Text: "Settings of GODEBUG",
		Help: "Settings of GODEBUG that make the runtime or the standard library behave as in\nan older release of Go.",
	}
	a.Attach(d)
	taken := map[pdu.InstID]bool{}
	var list []pdu.Instance
	for _, m := range all {
		name, ok := goruntime.Setting(m)
		if !ok {
			continue
		}
		list = append(list, pdu.Instance{ID: settingID(name, taken), Name: name})
		a.godebug = append(a.godebug, &reading{sample: metrics.Sample{Name: m.Name}})
	}
	d.SetInstances(list...) // names of settings are unique
	pmda.Register(a.Agent, pmda.Metric[uint64]{
		Name: a.named("go.godebug.non_default_behavior"), ID: pmda.Item(clusterGodebug, 0), Sem: pdu.SemCounter, Units: pdu.UnitCount, InDom: d,
		Text: "How often a setting of GODEBUG made a difference",
		Help: "The number of non-default behaviors that were executed due to a non-default\nsetting of GODEBUG.",
		Values: func(_ context.Context, _ *pmda.Request, s *pmda.Values[uint64]) error {
			for i, rd := range a.godebug {
				if rd.sample.Value.Kind() == metrics.KindUint64 {
					s.Put(list[i].ID, rd.sample.Value.Uint64())
				}
			}
			return nil
		},
	})
}

// settingID derives the ID of a setting from its name, so that all releases have the same.
func settingID(name string, taken map[pdu.InstID]bool) pdu.InstID {
	h := fnv.New32a()
	h.Write([]byte(name))
	id := pdu.InstID(h.Sum32() >> 1)
	for taken[id] {
		id = (id + 1) & (1<<31 - 1)
	}
	taken[id] = true
	return id
}
