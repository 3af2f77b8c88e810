package pmdatest

import (
	"bytes"
	"slices"

	"github.com/pcp-go/pcp/pdu"
)

// checkRequests reuses the memory of one request for the next, which reveals a Handler that keeps
// it.
func (c *checker) checkRequests() {
	if len(c.metrics) == 0 {
		return
	}
	ids, r := make([]pdu.PMID, 1), request(0, nil)
	var w pdu.ResultWriter
	for _, m := range slices.Concat(c.metrics, c.metrics) {
		ids[0] = m.desc.PMID
		w.Reset()
		if err := c.h.Fetch(c.ctx, r, ids, &w); err == errReported {
			return
		} else if err != nil {
			if !c.mayFailAs(m.name) {
				c.errorf("%s: Fetch: %s", m.name, errorText(err))
			}
			continue
		}
		if ids[0] != m.desc.PMID {
			c.errorf("%s: Fetch: it has changed the list of PMIDs", m.name)
		}
		if got := c.decode(&w, pdu.FormatLowRes); got != nil && (got.Len() != 1 || got.At(0).PMID != m.desc.PMID) {
			c.errorf("%s: Fetch: the reply is to an earlier request: it has kept the list of PMIDs", m.name)
		}
	}
	if want := *request(0, nil); *r.Client != *want.Client || r.Profile != nil || r.ContextID != 0 || !r.Deadline.IsZero() {
		c.errorf("Fetch: it has changed the request: %+v", *r)
	}
	c.keptWriter()
}

// keptWriter checks that the Handler does not write into a reply after it has returned.
func (c *checker) keptWriter() {
	var w pdu.ResultWriter
	if err := c.h.Fetch(c.ctx, request(0, nil), c.ids(), &w); err != nil {
		return
	}
	before, err := w.Append(make([]byte, pdu.HeaderLen), pdu.FormatHighRes)
	c.fetch(nil, c.ids())
	after, again := w.Append(make([]byte, pdu.HeaderLen), pdu.FormatHighRes)
	if err == nil && (again != nil || !bytes.Equal(before, after)) {
		c.errorf("Fetch: it has written into the reply after it returned: it has kept the writer")
	}
}
