package pmapi_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/pdutest"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// The error of a metric whose agent is late names the agent. The error of a request without a reply
// names the collector.
func TestTimeoutErrorText(t *testing.T) {
	const late = "the agent did not reply in time"
	src := &pmapitest.Source{}
	pmapitest.Add(src, pmapitest.Metric[float64]{Name: "shop.on", Value: func(time.Time, pdu.Instance) (float64, error) { return 1, nil }})
	slow := pmapitest.Add(src, pmapitest.Metric[float64]{Name: "shop.slow", Value: func(time.Time, pdu.Instance) (float64, error) { return 0, pdu.ErrTimeout }})
	c := src.Context()
	g := c.Group()
	on, item, set := pmapi.Add[float64](g, "shop.on"), pmapi.Add[float64](g, "shop.slow"), pmapi.AddSet[float64](g, "shop.slow")
	if _, err := g.Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v, err := on.Value(); v != 1 || err != nil {
		t.Errorf("another metric: %v %v", v, err)
	}
	want := func(err error, text string) {
		t.Helper()
		if fmt.Sprint(err) != text || !errors.Is(err, pdu.ErrTimeout) || pdu.FromError(err) != pdu.ErrTimeout {
			t.Errorf("%v (code %d), want %s", err, pdu.FromError(err), text)
		}
		if op, ok := errors.AsType[*pmapi.OpError](err); !ok || !op.Timeout() {
			t.Errorf("%v is no time-out", err)
		}
	}
	_, err := item.Value()
	want(err, `pmapi: fetch "shop.slow" on pmapitest: `+late)
	want(set.Err(), `pmapi: fetch "shop.slow" on pmapitest: `+late)
	slow.FailDesc(pdu.ErrTimeout)
	_, err = c.Desc(t.Context(), slow.PMID)
	want(err, "pmapi: describe "+fmt.Sprintf("%q", slow.PMID)+" on pmapitest: "+late)

	synctest.Test(t, func(t *testing.T) {
		d := pmapi.Dialer{DialContext: serve(t, func(p *pdutest.Peer) {
			_ = pdutest.AcceptClient(allFeatures)(p)
			_, _ = io.Copy(io.Discard, p.Stream)
		})}
		c, err := d.Dial(t.Context(), "web1")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, err = c.Lookup(t.Context(), []string{"x"})
		want(err, `pmapi: lookup "x" on web1: `+pdu.ErrTimeout.Error())
	})
}
