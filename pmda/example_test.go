package pmda_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing/fstest"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdatest"
)

// show prints the result of a fetch of all metrics of an agent.
func show(a *pmda.Agent) {
	ctx, r := context.Background(), &pmda.Request{Client: pmda.NewClient(0, 1)}
	for name, id := range a.Namespace().All() {
		d, err := a.Desc(ctx, r, id)
		if err != nil {
			fmt.Println(name, err)
			continue
		}
		var w pdu.ResultWriter
		b := make([]byte, pdu.HeaderLen)
		if err = a.Fetch(ctx, r, []pdu.PMID{id}, &w); err == nil {
			b, err = w.Append(b, pdu.FormatLowRes)
		}
		var res pdu.Result
		if err = errors.Join(err, res.Decode(b[pdu.HeaderLen:])); err != nil {
			fmt.Println(name, err)
			continue
		}
		fmt.Print(name)
		if err := res.At(0).Err(); err != nil {
			fmt.Print(": ", err)
		}
		for inst, v := range res.At(0).All(d.Type) {
			if inst != pdu.NoInst {
				fmt.Printf(" [%d]", inst)
			}
			fmt.Print(" ", v)
		}
		fmt.Println()
	}
}

// An agent consists of tables, here with one counter. Main makes a program of it. A collector in
// the same program can host it unchanged.
func Example() {
	var hits atomic.Uint64
	a := &pmda.Agent{Name: "cache", Domain: 400}
	pmda.Register(a, pmda.Metric[uint64]{
		Name:  "cache.hits",
		ID:    pmda.Item(0, 0),
		Text:  "Lookups served from memory",
		Sem:   pdu.SemCounter,
		Units: pdu.UnitCount,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { return hits.Load(), nil },
	})
	if err := a.Err(); err != nil {
		fmt.Println(err)
	}
	hits.Add(3)
	show(a)
	// Output:
	// cache.hits 3
}

func ExampleAgent_indom() {
	a := &pmda.Agent{Name: "cache", Domain: 400}
	shards := a.AddInDom("shard", "red", "blue")
	pmda.Register(a, pmda.Metric[float64]{
		Name:  "cache.load",
		ID:    pmda.Item(0, 0),
		InDom: shards,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (float64, error) {
			if i.Name == "red" {
				return 0.5, nil
			}
			return 0, pmda.NoValue
		},
	})
	show(a)
	// Output:
	// cache.load [0] 5.000000e-01
}

// Errors of registrations need not be handled one by one: the Agent remembers the first, with the
// file and line of the call.
func ExampleRegister() {
	a := &pmda.Agent{Name: "cache", Domain: 400}
	size := pmda.Metric[uint32]{
		Name:  "cache.size",
		ID:    pmda.Item(1, 0), // 400.1.0
		Sem:   pdu.SemInstant,
		Units: pdu.SpaceKByte,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) { return 64, nil },
	}
	pmda.Register(a, size)
	size.Name = "cache.limit"
	pmda.Register(a, size)
	if err, ok := errors.AsType[*pmda.OpError](a.Err()); ok {
		file, _, _ := strings.Cut(filepath.Base(err.Site), ":")
		fmt.Printf("%s %s in %s: %v\n", err.Op, err.Name, file, err.Err)
	}
	// Output:
	// register cache.limit in example_test.go: the ID 1.0 is in use by "cache.size"
}

// Values puts the values of all instances at once.
func ExampleMetric_values() {
	a := &pmda.Agent{Name: "cache", Domain: 400}
	shards := a.AddInDom("shard", "red", "blue", "green")
	pmda.Register(a, pmda.Metric[int64]{
		Name:  "cache.entries",
		ID:    pmda.Item(0, 0),
		InDom: shards,
		Values: func(_ context.Context, _ *pmda.Request, s *pmda.Values[int64]) error {
			for i := range s.Instances() {
				s.Put(i.ID, int64(len(i.Name)))
			}
			return nil
		},
	})
	show(a)
	// Output:
	// cache.entries [0] 3 [1] 4 [2] 5
}

func ExampleMetric_store() {
	limit := int32(10)
	a := &pmda.Agent{Name: "cache", Domain: 400}
	pmda.Register(a, pmda.Metric[int32]{
		Name:  "cache.limit",
		ID:    pmda.Item(0, 0),
		Group: a.Group(nil), // guards limit
		Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) { return limit, nil },
		Store: func(_ context.Context, _ *pmda.Request, _ pdu.Instance, v int32) error {
			if v < 1 {
				return pdu.ErrBadStore
			}
			limit = v
			return nil
		},
	})
	var w pdu.ResultWriter
	w.Begin(pdu.MakePMID(400, 0, 0))
	w.Int32(pdu.NoInst, 20)
	b, _ := w.Append(make([]byte, pdu.HeaderLen), pdu.FormatLowRes)
	var values pdu.Result
	if err := values.Decode(b[pdu.HeaderLen:]); err != nil {
		fmt.Println(err)
	}
	fmt.Println(a.Store(context.Background(), &pmda.Request{Client: pmda.NewClient(0, 1)}, &values))
	show(a)
	// Output:
	// <nil>
	// cache.limit 20
}

// An event metric has values of type []byte, and its parameters are metrics, too. An agent that
// keeps the events itself, without an EventQueue, makes the value in the fetch.
func ExampleMetric_events() {
	a := &pmda.Agent{Name: "log", Domain: 404}
	message := pmda.RegisterParam(a, pmda.Metric[string]{Name: "log.param.message"})
	pmda.Register(a, pmda.Metric[[]byte]{
		Name: "log.records",
		Type: pdu.TypeEvent,
		Value: func(context.Context, *pmda.Request, pdu.Instance) ([]byte, error) {
			var b pdu.EventBuilder
			b.Begin(time.Unix(1700000000, 0), pdu.EventPoint)
			b.Param(message.PMID(), pdu.String("disk full"))
			v, err := b.Atom()
			return v.Bytes(), err
		},
	})
	show(a)
	// Output:
	// log.param.message
	// log.records [1 event record]
}

// A Group reads the source once for both the instances and the values of several metrics.
func ExampleAgent_Group() {
	type disk struct{ reads, writes uint64 }
	var disks map[string]disk // guarded by the group
	look := func() map[string]disk { return map[string]disk{"sda": {10, 20}, "sdb": {1, 2}} }

	a := &pmda.Agent{Name: "disk", Domain: 401}
	in := &pmda.InDom{Name: "disk"}
	in.Group = a.Group(func(context.Context, *pmda.Request) error {
		disks = look()
		var names []string
		for n := range disks {
			names = append(names, n)
		}
		slices.Sort(names)
		_, err := in.SetNames(names...)
		return err
	})
	a.Attach(in)
	pmda.Register(a, pmda.Metric[uint64]{Name: "disk.reads", Sem: pdu.SemCounter, InDom: in,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint64, error) {
			return disks[i.Name].reads, nil
		}})
	pmda.Register(a, pmda.Metric[uint64]{Name: "disk.writes", Sem: pdu.SemCounter, InDom: in,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint64, error) {
			return disks[i.Name].writes, nil
		}})
	show(a)
	// Output:
	// disk.reads [0] 10 [1] 1
	// disk.writes [0] 20 [1] 2
}

// A name that returns has the ID that it had before.
func ExampleInDom_SetNames() {
	a := &pmda.Agent{Name: "jobs", Domain: 402}
	jobs := a.AddInDom("job", "backup", "index")
	for _, now := range [][]string{{"index", "report"}, {"backup", "report"}} {
		if _, err := jobs.SetNames(now...); err != nil {
			fmt.Println(err)
		}
		fmt.Println(jobs.Instances())
	}
	// Output:
	// [{1 index} {2 report}]
	// [{0 backup} {2 report}]
}

// uptime is a Handler without tables. Its only metric counts its fetches, without a lock.
type uptime struct {
	pmda.Handler
	fetches uint32
}

func (u *uptime) Desc(_ context.Context, _ *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
	if id != pdu.MakePMID(u.Info().Domain, 0, 0) {
		return pdu.Desc{}, pdu.ErrPMID
	}
	return pdu.Desc{PMID: id, Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemCounter}, nil
}

func (u *uptime) Fetch(_ context.Context, _ *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	for _, id := range ids {
		w.Begin(id)
		if id != pdu.MakePMID(u.Info().Domain, 0, 0) {
			w.Fail(pdu.ErrPMID)
			continue
		}
		u.fetches++
		w.Uint32(pdu.NoInst, u.fetches)
	}
	return nil
}

func ExampleSerial() {
	h := pmda.Serial(&uptime{Handler: pmda.Unimplemented(pmda.Info{Name: "uptime", Domain: 403})})
	var w pdu.ResultWriter
	err := h.Fetch(context.Background(), &pmda.Request{Client: pmda.NewClient(0, 1)}, []pdu.PMID{pdu.MakePMID(403, 0, 0)}, &w)
	fmt.Println(h.Info().Name, w.Len(), err)
	// pmdatest finds what the Handler lacks: here, the names.
	fmt.Println(pmdatest.Check(h))
	// Output:
	// uptime 1 <nil>
	// names: no names: Namespace is nil or empty; give the names with the option Names
}

// A pointed is a Handler that adds a help text where the tables have no text.
type pointed struct{ pmda.Handler }

func (p pointed) Unwrap() pmda.Handler { return p.Handler }

func (p pointed) Text(ctx context.Context, r *pmda.Request, of pdu.TextTarget, kind pdu.TextKind) (string, error) {
	s, err := p.Handler.Text(ctx, r, of, kind)
	if errors.Is(err, pdu.ErrText) && kind == pdu.TextHelp {
		return "See https://cache.example/metrics.", nil
	}
	return s, err
}

// A timed is a Handler that prints the number of metrics of each fetch.
type timed struct{ pmda.Handler }

func (t timed) Unwrap() pmda.Handler { return t.Handler }

func (t timed) Fetch(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	err := t.Handler.Fetch(ctx, r, ids, w)
	fmt.Println("fetch of", len(ids), "metrics:", err)
	return err
}

// A wrapper replaces one kind of reply and leaves the rest to the tables.
func ExampleAgent_Use() {
	a := &pmda.Agent{Name: "cache", Domain: 400}
	pmda.Register(a, pmda.Metric[int32]{Name: "cache.size", Text: "Size",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) { return 1, nil }})
	a.Use(func(next pmda.Handler) pmda.Handler { return pointed{next} })
	a.Use(func(next pmda.Handler) pmda.Handler { return timed{next} }) // around pointed

	ctx, r := context.Background(), &pmda.Request{Client: pmda.NewClient(0, 1)}
	size := pdu.MakePMID(400, 0, 0)
	for _, kind := range []pdu.TextKind{pdu.TextOneLine, pdu.TextHelp} {
		fmt.Println(a.Text(ctx, r, pdu.TextOfMetric(size), kind))
	}
	var w pdu.ResultWriter
	a.Fetch(ctx, r, []pdu.PMID{size}, &w)
	// Output:
	// Size <nil>
	// See https://cache.example/metrics. <nil>
	// fetch of 1 metrics: <nil>
}

// Metrics are added and removed together with the objects that they describe.
func ExampleAgent_Remove() {
	a := &pmda.Agent{Name: "jobs", Domain: 405}
	add := func(job string) {
		pmda.Register(a, pmda.Metric[uint64]{Name: "jobs." + job + ".runs", Sem: pdu.SemCounter,
			Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { return 1, nil }})
	}
	show := func() {
		for name, id := range a.Namespace().All() {
			fmt.Println(name, id)
		}
	}
	add("backup")
	add("report")
	show()
	fmt.Println(a.Remove("jobs.backup.runs"))
	add("cleanup") // which does not get the number of backup
	show()
	fmt.Println(a.Remove("jobs.backup.runs"))
	// Output:
	// jobs.backup.runs 405.0.0
	// jobs.report.runs 405.0.1
	// <nil>
	// jobs.report.runs 405.0.1
	// jobs.cleanup.runs 405.0.2
	// pmda: agent jobs: remove "jobs.backup.runs": Unknown metric name
}

// The help texts of an agent may come from a file, which is usually embedded in the program
// with go:embed.
func ExampleAgent_UseHelp() {
	files := fstest.MapFS{"help": {Data: []byte(`
@ CACHE.0 The shards of the cache
@ cache.hits Lookups answered from memory, by shard
Lookups of entries that were expired count as misses.
`)}}
	a := &pmda.Agent{Name: "cache", Domain: 407}
	shards := a.AddInDom("shard", "red", "blue")
	pmda.Register(a, pmda.Metric[uint64]{Name: "cache.hits", InDom: shards,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { return 17, nil }})
	if err := a.UseHelp(files, "help"); err != nil {
		fmt.Println(err)
	}
	ctx, r := context.Background(), &pmda.Request{Client: pmda.NewClient(0, 1)}
	hits, err := a.Namespace().Lookup("cache.hits")
	fmt.Println(hits, err)
	fmt.Println(a.Text(ctx, r, pdu.TextOfMetric(hits), pdu.TextOneLine))
	fmt.Println(a.Text(ctx, r, pdu.TextOfMetric(hits), pdu.TextHelp))
	fmt.Println(a.Text(ctx, r, pdu.TextOfInDom(shards.ID()), pdu.TextOneLine))
	// Output:
	// 407.0.0 <nil>
	// Lookups answered from memory, by shard <nil>
	// Lookups of entries that were expired count as misses. <nil>
	// The shards of the cache <nil>
}
