package pmda_test

import (
	"errors"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

func TestEventParamIn(t *testing.T) {
	a := &pmda.Agent{Name: "shop", Domain: 411}
	item := pmda.RegisterParam(a, pmda.Metric[string]{Name: "shop.item", ID: pmda.Item(1, 0)})
	price := pmda.RegisterParam(a, pmda.Metric[uint64]{Name: "shop.price", ID: pmda.Item(1, 1)})
	other := pmda.RegisterParam(a, pmda.Metric[int32]{Name: "shop.other", ID: pmda.Item(1, 2)})
	if err := a.Err(); err != nil {
		t.Fatal(err)
	}
	var b pdu.EventBuilder
	b.Begin(time.Unix(1, 0), pdu.EventPoint)
	b.Param(price.PMID(), pdu.Uint64(250))
	b.Param(item.PMID(), pdu.String("tea"))
	b.Param(item.PMID(), pdu.String("cake"))
	array, err := b.Atom()
	if err != nil {
		t.Fatal(err)
	}
	records, err := array.Events()
	if err != nil {
		t.Fatal(err)
	}
	for r := range records.All() {
		if v, err := item.In(r); v != "tea" || err != nil {
			t.Error(v, err)
		}
		if v, err := price.In(r); v != 250 || err != nil {
			t.Error(v, err)
		}
		if _, err := other.In(r); !errors.Is(err, pdu.ErrValue) {
			t.Error(err)
		}
		var none pmda.EventParam[string]
		if _, err := none.In(r); !errors.Is(err, pdu.ErrValue) {
			t.Error(err)
		}
	}
}
