package pmda_test

import (
	"context"
	"fmt"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// Metrics below a dynamic root come and go: here one for each job that runs. Collectors request
// their names from the agent, and clients get a notice of each change.
func ExampleAgent_AddDynamic() {
	a := &pmda.Agent{Name: "jobs", Domain: 400}
	a.AddDynamic("jobs.run")
	start := func(job string) {
		pmda.Register(a, pmda.Metric[uint64]{
			Name:  "jobs.run." + job + ".lines",
			Text:  "Lines that the job has read",
			Sem:   pdu.SemCounter,
			Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { return 42, nil },
		})
	}
	start("import")
	start("backup")
	a.Remove("jobs.run.import.lines") // it has ended

	// What a collector does for a client:
	ctx, r := context.Background(), &pmda.Request{Client: pmda.NewClient(0, 1)}
	names, err := a.Traverse(ctx, r, "jobs.run")
	fmt.Println(names, err, a.Err())
	id, err := a.PMID(ctx, r, names[0])
	fmt.Println(id, err)
	// Output:
	// [jobs.run.backup.lines] <nil> <nil>
	// 400.0.1 <nil>
}
