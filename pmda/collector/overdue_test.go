package collector_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
)

// hanging is an agent that returns from a request when a channel is closed.
type hanging struct {
	pmda.Handler
	end chan struct{}
}

func (h hanging) Fetch(ctx context.Context, r *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	<-h.end
	return h.Handler.Fetch(ctx, r, ids, w)
}

func (h hanging) Desc(ctx context.Context, r *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
	<-h.end
	return h.Handler.Desc(ctx, r, id)
}

func (h hanging) Instances(ctx context.Context, r *pmda.Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error) {
	<-h.end
	return h.Handler.Instances(ctx, r, d, inst, name)
}

func (h hanging) Text(ctx context.Context, r *pmda.Request, of pdu.TextTarget, kind pdu.TextKind) (string, error) {
	<-h.end
	return h.Handler.Text(ctx, r, of, kind)
}

func (h hanging) Labels(ctx context.Context, r *pmda.Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	<-h.end
	return h.Handler.Labels(ctx, r, of)
}

func (h hanging) Store(ctx context.Context, r *pmda.Request, values *pdu.Result) error {
	<-h.end
	return h.Handler.Store(ctx, r, values)
}

// TestOverdueNames checks that the log describes a request that an agent does not reply to.
func TestOverdueNames(t *testing.T) {
	id := func(item int) pdu.PMID { return pdu.MakePMID(250, 0, item) }
	for _, tt := range []struct {
		name    string
		request pdu.PDU
		want    string
	}{
		{"fetch", pdu.Fetch{PMIDs: []pdu.PMID{id(1), id(0)}}, `request=fetch metrics="cache.b, cache.a"`},
		{"fetch of many", pdu.Fetch{PMIDs: []pdu.PMID{id(0), id(1), id(2), id(3), id(4), id(5), id(6)}},
			`request=fetch metrics="cache.a, cache.b, cache.c, cache.d, cache.e and 2 more"`},
		{"fetch of an unknown one", pdu.Fetch{PMIDs: []pdu.PMID{id(99)}}, `request=fetch metrics=250.0.99`},
		{"descriptor", pdu.DescReq{PMID: id(0)}, `request=desc metrics=cache.a`},
		{"descriptors", pdu.DescsReq{PMIDs: []pdu.PMID{id(0), id(2)}}, `request=desc metrics="cache.a, cache.c"`},
		{"instances", pdu.InstanceReq{InDom: pdu.MakeInDom(250, 0), Inst: pdu.NoInst}, `request=instances indom=250.0`},
		{"text", pdu.TextOfMetric(id(1)).Request(pdu.TextOneLine), `request=text metrics=cache.b`},
		{"text of a domain", pdu.TextOfInDom(pdu.MakeInDom(250, 0)).Request(pdu.TextOneLine), `request=text indom=250.0`},
		{"labels", pdu.LabelsOfItem(id(1)).Request(), `request=labels metrics=cache.b`},
		{"labels of instances", pdu.LabelsOfInstances(pdu.MakeInDom(250, 0)).Request(), `request=labels indom=250.0`},
		{"store", collectortest.Storing(id(0), id(1)), `request=store metrics="cache.a, cache.b"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &pmda.Agent{Name: "cache", Domain: 250}
				shard := a.AddInDom("shard", "red")
				for i := range 7 {
					pmda.Register(a, pmda.Metric[uint64]{Name: "cache." + string(rune('a'+i)), InDom: shard,
						Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { return 1, nil }})
				}
				h := hanging{a, make(chan struct{})}
				var log pcptest.LogBuffer
				s := collectortest.CloseAtEnd(t, &collector.Server{Timeout: time.Second, Logger: log.Logger(slog.LevelWarn)})
				collectortest.Add(t, s, h)
				c := collectortest.Connect(t, s)
				c.Request(pdu.ChildReq{}) // for the names
				c.Send(pdu.SetProfile{})
				c.Request(tt.request)
				synctest.Wait()
				want := `level=WARN msg="agent timed out" agent=cache domain=250 client=0 ` + tt.want + "\n"
				if got := log.String(); got != want {
					t.Errorf("log %q, want %q", strings.TrimSpace(got), want)
				}
				close(h.end)
			})
		})
	}
}
