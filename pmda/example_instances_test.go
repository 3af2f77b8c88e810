package pmda_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
)

// The instances of this agent come and go. The function Refresh of their domain sets them before
// each request that uses them. A client in the same program reads them.
func ExampleInDom_refresh() {
	var mu sync.Mutex
	lines := map[string]uint64{"backup": 12, "import": 7} // by job, guarded by mu

	a := &pmda.Agent{Name: "jobs", Domain: 400}
	jobs := a.AddInDom("job")
	jobs.Refresh = func(context.Context, *pmda.Request) error {
		mu.Lock()
		defer mu.Unlock()
		_, err := jobs.SetNames(slices.Sorted(maps.Keys(lines))...)
		return err
	}
	pmda.Register(a, pmda.Metric[uint64]{
		Name: "jobs.lines", Text: "Lines that the job has read",
		Units: pdu.UnitCount, InDom: jobs,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint64, error) {
			mu.Lock()
			defer mu.Unlock()
			n, ok := lines[i.Name]
			if !ok {
				return 0, pmda.NoValue // it has just ended
			}
			return n, nil
		},
	})
	srv := &collector.Server{}
	defer srv.Close()
	if err := srv.Add(a); err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	c, err := pmapi.Local(ctx, srv)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	g := c.Group()
	values := pmapi.AddSet[uint64](g, "jobs.lines")
	fetch := func() {
		if _, err := g.Fetch(ctx); err != nil {
			fmt.Println(err)
		}
		for i, n := range values.All() {
			fmt.Println(i.ID, i.Name, n)
		}
	}
	fetch()
	mu.Lock()
	delete(lines, "backup")
	lines["report"] = 3
	mu.Unlock()
	fetch()
	// Output:
	// 0 backup 12
	// 1 import 7
	// 1 import 7
	// 2 report 3
}

// Replace makes the instances of a sequence the active ones of a Cache, with their values. It hides
// all others. An instance that returns has the ID that it had.
func ExampleCache_Replace() {
	type disk struct {
		name  string
		reads uint64
	}
	plugged := []disk{{"sda", 10}, {"sdb", 20}} // or a file of /proc

	a := &pmda.Agent{Name: "drives", Domain: 400}
	disks := &pmda.Cache[disk]{}
	d := &pmda.InDom{Name: "disk", Cache: disks}
	d.Refresh = func(context.Context, *pmda.Request) error {
		return disks.Replace(func(yield func(string, disk) bool) {
			for _, d := range plugged {
				if !yield(d.name, d) {
					return
				}
			}
		})
	}
	a.Attach(d)
	pmda.Register(a, pmda.Metric[uint64]{
		Name: "drives.reads", Sem: pdu.SemCounter, Units: pdu.UnitCount, InDom: d,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint64, error) {
			e, ok := disks.Lookup(i.ID)
			if !ok {
				return 0, pmda.NoValue // it has just gone
			}
			return e.Value.reads, nil
		},
	})
	show(a)
	plugged = []disk{{"sdc", 1}, {"sdb", 25}}
	show(a)
	active, inactive := disks.Size()
	fmt.Println(active, "active,", inactive, "inactive")
	// Output:
	// drives.reads [0] 10 [1] 20
	// drives.reads [1] 25 [2] 1
	// 2 active, 1 inactive
}
