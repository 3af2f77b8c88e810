package pmdago

import (
	"runtime/metrics"

	"github.com/pcp-go/pcp/internal/goruntime"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

func (a *agent) addQuantiles() {
	a.quantiles = &pmda.InDom{
		Name: "quantile", Serial: pmda.InDomSerial(serialQuantiles), Text: "Quantiles of a distribution",
		Help: "The values that 50, 90, 99 and 100 of 100 do not exceed.",
	}
	a.Attach(a.quantiles)
	var list []pdu.Instance
	for i, name := range goruntime.QuantileNames {
		list = append(list, pdu.Instance{ID: pdu.InstID(i), Name: name})
	}
	a.quantiles.SetInstances(list...)
}

// putQuantiles adds the quantiles of the values counted since the earlier counts before. See
// goruntime.Quantiles.
func putQuantiles(s *pmda.Values[float64], h *metrics.Float64Histogram, before []uint64, seconds bool) {
	q, ok := goruntime.Quantiles(h, before, seconds)
	if !ok {
		return
	}
	for i, v := range q {
		s.Put(pdu.InstID(i), v)
	}
}
