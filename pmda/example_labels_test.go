package pmda_test

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// Labels are made from Go values. Optional labels and labels that change describe a metric without
// being part of its identity.
func ExampleLabelNotes() {
	var paused atomic.Bool
	a := &pmda.Agent{
		Name: "queue", Domain: 400,
		ClusterLabels: map[int]string{0: pmda.LabelJSON(map[string]any{"subsystem": "mail"})},
		LabelsOf: func(_ context.Context, _ *pmda.Request, of pdu.LabelTarget) string {
			if of.Class != pdu.LabelItem {
				return ""
			}
			return pmda.LabelNotes(map[string]any{"paused": paused.Load()})
		},
	}
	pmda.Register(a, pmda.Metric[uint32]{
		Name:   "queue.length",
		Labels: pmda.LabelJSON(struct{ Unit string }{"messages"}),
		Value:  func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) { return 3, nil },
	})

	show := func() {
		r := &pmda.Request{Client: pmda.NewClient(0, 1)}
		sets, err := a.Labels(context.Background(), r, pdu.LabelsOfItem(pdu.MakePMID(400, 0, 0)))
		fmt.Println(sets, err)
	}
	show()
	paused.Store(true)
	a.Notify(pdu.ChangeLabels) // clients hear of it with their next fetch
	show()
	// Output:
	// [{"Unit":"messages","paused":false}] <nil>
	// [{"Unit":"messages","paused":true}] <nil>
}
