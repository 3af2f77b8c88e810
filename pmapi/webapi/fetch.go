package webapi

import (
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A plan holds the metrics of a request.
type plan struct {
	ids   []pdu.PMID // of items with a descriptor, in their order
	items []planItem
}

// A planItem is one metric of a plan.
type planItem struct {
	head  []byte // the JSON before its values
	typ   pdu.Type
	fetch bool // it has a descriptor
}

// A planKey identifies a plan.
type planKey struct {
	parameter, list string
	compat          bool
}

// fetch replies with values. It omits unknown names. In the parameters name and pmid they are
// errors.
func (q *query) fetch() error {
	key := planKey{compat: q.compat}
	var ok bool
	if key.parameter, key.list, ok = q.params.first("names", "name", "pmids", "pmid"); !ok {
		return badRequest("required parameter is missing: names")
	}
	if err := q.find(); err != nil {
		return err
	}
	return q.shared(q.s, key, func() error { return q.fetchValues(key) })
}

// fetchValues fetches values and appends them to the reply, which has begun.
func (q *query) fetchValues(key planKey) error {
	p, err := q.s.plan(q, key)
	if err != nil {
		return err
	}
	if err := q.fetchPlan(p); err != nil {
		return err
	}
	if q.s.result.Changed.AffectsNames() {
		clear(q.s.plans) // a name may now be that of another metric
		if p, err = q.s.plan(q, key); err == nil {
			err = q.fetchPlan(p)
		}
		if err != nil {
			return err
		}
	}
	q.appendTime(q.s.result.Time)
	return q.appendValues(p)
}

func (q *query) fetchPlan(p *plan) error {
	if len(p.ids) == 0 { // the reply has a time even without metrics
		_, now, _ := q.s.c.Mode()
		if now.IsZero() {
			now = time.Now()
		}
		q.s.result = pdu.Result{Time: now}
		return nil
	}
	return q.s.c.Fetch(q.ctx, p.ids, &q.s.result)
}

// beginFetch begins the reply with what differs between requests that share a fetch.
func (q *query) beginFetch() {
	if q.compat {
		q.out = append(q.out, '{')
		return
	}
	q.begin()
	q.out = append(q.out, ',')
}

func (q *query) appendTime(t time.Time) {
	q.out = append(q.out, `"timestamp":`...)
	if q.compat {
		q.out = strconv.AppendInt(append(q.out, `{"s":`...), t.Unix(), 10)
		q.out = strconv.AppendInt(append(q.out, `,"us":`...), int64(t.Nanosecond()/1000), 10)
		q.out = append(q.out, '}')
	} else {
		q.out = strconv.AppendInt(q.out, t.Unix(), 10)
		q.out = appendNanos(append(q.out, '.'), t.Nanosecond())
	}
	q.out = append(q.out, `,"values":[`...)
}

// appendNanos appends n with nine digits.
func appendNanos(b []byte, n int) []byte {
	b = append(b, "000000000"...)
	for i := len(b) - 1; n > 0; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
	return b
}

// appendValues appends the fetched values of a plan.
func (q *query) appendValues(p *plan) error {
	next := 0
	for i := range p.items {
		if i > 0 {
			q.out = append(q.out, ',')
		}
		item := &p.items[i]
		q.out = append(q.out, item.head...)
		if !item.fetch {
			q.out = append(q.out, "]}"...)
			continue
		}
		set := q.s.result.At(next)
		next++
		for j := range set.Len() {
			if j > 0 {
				q.out = append(q.out, ',')
			}
			q.out = q.appendInst(append(q.out, `{"instance":`...), set.Inst(j))
			q.out = append(appendAtom(append(q.out, `,"value":`...), set.Atom(j, item.typ)), '}')
		}
		q.out = append(q.out, ']')
		if err := set.Err(); err != nil {
			q.out = appendString(append(q.out, `,"error":`...), text(err))
		}
		q.out = append(q.out, '}')
		if err := q.checkSize(); err != nil {
			return err
		}
	}
	q.out = append(q.out, "]}"...)
	return nil
}

// plan returns the plan of a request. It caches the plan if all metrics are known.
func (s *session) plan(q *query, key planKey) (*plan, error) {
	if p := s.plans[key]; p != nil {
		return p, nil
	}
	if key.list == "" {
		return nil, badRequest(pdu.ErrTooSmall.Error())
	}
	infos, unknown, err := q.planned(key)
	if err != nil {
		return nil, err
	}
	p := &plan{items: make([]planItem, 0, len(infos))}
	for _, m := range infos {
		item := planItem{typ: m.desc.Type, fetch: m.err == nil}
		item.head = q.appendPMID([]byte(`{"pmid":`), m.id)
		item.head = append(appendString(append(item.head, `,"name":`...), m.name), `,"instances":[`...)
		if item.fetch {
			p.ids = append(p.ids, m.id)
		} else {
			unknown = true
		}
		p.items = append(p.items, item)
	}
	if !unknown {
		if s.plans == nil || len(s.plans) >= maxPlans {
			s.plans = map[planKey]*plan{}
		}
		key.parameter, key.list = strings.Clone(key.parameter), strings.Clone(key.list)
		s.plans[key] = p
	}
	return p, nil
}

// planned returns the known metrics of a list. A metric without a descriptor has an error.
func (q *query) planned(key planKey) (infos []metricInfo, unknown bool, err error) {
	single := key.parameter == "name" || key.parameter == "pmid"
	if strings.Count(key.list, ",") >= q.g.limits.MaxNames {
		return nil, false, errTooMany
	}
	byID := key.parameter == "pmids" || key.parameter == "pmid"
	if byID {
		infos, err = q.metricsByID(key.list)
	} else {
		for name := range strings.SplitSeq(key.list, ",") {
			infos = append(infos, metricInfo{name: name})
		}
	}
	if err == nil {
		err = q.lookUp(infos)
	}
	if err != nil {
		return nil, false, err
	}
	known := infos[:0]
	for _, m := range infos {
		if m.id == pdu.NoPMID {
			unknown = true
			continue
		}
		known = append(known, m)
	}
	if unknown && single {
		return nil, false, badRequest("bad parameters passed")
	}
	return known, unknown, nil
}

// parsePMID reads a PMID in dotted form or as a 32-bit number.
func parsePMID(s string) (pdu.PMID, error) {
	if strings.IndexByte(s, '.') >= 0 {
		return pdu.ParsePMID(s)
	}
	n, err := parseNumber(s)
	return pdu.PMID(n), err
}

// parseNumber reads a decimal or hexadecimal 32-bit number.
func parseNumber(s string) (uint32, error) {
	base := 10
	if len(s) > 2 && (s[:2] == "0x" || s[:2] == "0X") {
		s, base = s[2:], 16
	}
	n, err := strconv.ParseUint(s, base, 32)
	if err != nil {
		return 0, pdu.ErrArg
	}
	return uint32(n), nil
}
