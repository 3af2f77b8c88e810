package remote_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/remote"
)

// encode is a PDU as bytes, with its header.
func encode(t testing.TB, m pdu.PDU) []byte {
	var b bytes.Buffer
	if err := pdu.NewConn(&b).Write(0, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func result(t *testing.T, build func(*pdu.ResultWriter)) *pdu.Result {
	t.Helper()
	var w pdu.ResultWriter
	build(&w)
	b, err := w.Append(make([]byte, pdu.HeaderLen), pdu.FormatLowRes)
	if err != nil {
		t.Fatal(err)
	}
	r := new(pdu.Result)
	if err := r.Decode(b[pdu.HeaderLen:]); err != nil {
		t.Fatal(err)
	}
	return r
}

// quiet is a Config without a log.
func quiet() remote.Config { return remote.Config{Logger: slog.New(slog.DiscardHandler)} }

// fixed fetches the same value for every metric.
type fixed struct{ pmda.Handler }

func (fixed) Fetch(_ context.Context, _ *pmda.Request, ids []pdu.PMID, w *pdu.ResultWriter) error {
	for _, id := range ids {
		w.Begin(id)
		w.Uint64(pdu.NoInst, 1)
	}
	return nil
}

// testAgent is an agent with metrics of every sort.
func testAgent(t testing.TB) *pmda.Agent {
	t.Helper()
	register := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	a := &pmda.Agent{Name: "test", Domain: 251}
	list := make([]string, 20)
	for i := range list {
		list[i] = "i" + strconv.Itoa(i)
	}
	static, grouped := a.AddInDom("static", list...), a.AddInDom("grouped")
	refresh := func(context.Context, *pmda.Request) error {
		_, err := grouped.SetNames(list...)
		return err
	}
	grouped.Refresh = refresh
	group := a.Group(refresh)
	grouped.Group = group
	value := func(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint64, error) {
		return uint64(i.ID) + 1000, nil
	}
	register(pmda.Register(a, pmda.Metric[uint64]{Name: "test.value", InDom: static, Value: value}))
	register(pmda.Register(a, pmda.Metric[uint64]{Name: "test.values", InDom: static,
		Values: func(_ context.Context, _ *pmda.Request, s *pmda.Values[uint64]) error {
			for i := range s.Instances() {
				s.Put(i.ID, uint64(i.ID)+1000)
			}
			return nil
		}}))
	register(pmda.Register(a, pmda.Metric[uint64]{Name: "test.grouped", InDom: grouped, Group: group, Value: value}))
	for i := range 100 {
		register(pmda.Register(a, pmda.Metric[uint64]{Name: "test.single" + strconv.Itoa(i), Value: value}))
	}
	register(pmda.Register(a, pmda.Metric[string]{Name: "test.string", InDom: static,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (string, error) {
			return fmt.Sprint("colour ", i.ID), nil
		}}))
	return a
}
