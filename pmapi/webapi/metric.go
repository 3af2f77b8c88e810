package webapi

import (
	"context"
	"errors"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// metric describes the metrics of the request: those with a PMID of a list, or those at or below
// the names of a list. An empty list of names means all.
func (q *query) metric() error {
	key, list, ok := q.params.first("prefix", "names", "name", "pmids", "pmid")
	if err := q.open(); err != nil {
		return err
	}
	var infos []metricInfo
	var err error
	if ok && (key == "pmids" || key == "pmid") {
		infos, err = q.metricsByID(list)
	} else {
		infos, err = q.metricsBelow(list)
	}
	if err != nil {
		return err
	}
	if err := q.describe(infos); err != nil {
		return err
	}
	q.begin()
	q.out = append(q.out, `,"metrics":[`...)
	for i := range infos {
		if i > 0 {
			q.out = append(q.out, ',')
		}
		q.appendMetric(&infos[i])
		if err := q.checkSize(); err != nil {
			return err
		}
	}
	q.out = append(q.out, "]}"...)
	return nil
}

// A metricInfo describes a metric, or has the error of its name.
type metricInfo struct {
	name       string
	err        error
	id         pdu.PMID
	desc       pdu.Desc
	labels     []byte
	text, help string
}

// metricsBelow returns the metrics at or below the names of a list. An unknown name is an error
// only if it is the whole list.
func (q *query) metricsBelow(list string) ([]metricInfo, error) {
	var infos []metricInfo
	for prefix := range strings.SplitSeq(list, ",") {
		if prefix == "" && list != "" {
			continue
		}
		names, err := q.s.c.Traverse(q.ctx, prefix)
		switch {
		case err != nil && prefix == "":
			return nil, badPrefix("namespace traversal failed - ", err)
		case err != nil && (isFatal(err) || prefix == list):
			return nil, badPrefix(prefix+" traversal failed - ", err)
		case err != nil:
			infos = append(infos, metricInfo{name: prefix, err: err})
		}
		if len(infos)+len(names) > q.g.limits.MaxNames {
			return nil, errTooMany
		}
		for _, name := range names {
			infos = append(infos, metricInfo{name: name})
		}
	}
	return infos, nil
}

var errTooMany = badRequest("too many metrics")

// metricsByID returns the metrics of a list of PMIDs.
func (q *query) metricsByID(list string) ([]metricInfo, error) {
	var infos []metricInfo
	for item := range strings.SplitSeq(list, ",") {
		id, err := parsePMID(item)
		if err == nil && len(infos) >= q.g.limits.MaxNames {
			return nil, errTooMany
		}
		if err == nil {
			var name string
			if name, err = q.s.c.Name(q.ctx, id); err == nil {
				infos = append(infos, metricInfo{name: name})
				continue
			}
		}
		if isFatal(err) {
			return nil, err
		}
		infos = append(infos, metricInfo{name: item, id: pdu.NoPMID, err: errNoMetric})
	}
	return infos, nil
}

// describe sets all fields of infos but the names.
func (q *query) describe(infos []metricInfo) error {
	if err := q.lookUp(infos); err != nil {
		return err
	}
	var known []*metricInfo
	var ids []pdu.PMID
	for i := range infos {
		if infos[i].err == nil {
			known, ids = append(known, &infos[i]), append(ids, infos[i].id)
		}
	}
	if len(known) == 0 {
		return nil
	}
	items, err := q.s.c.ItemLabelSets(q.ctx, ids)
	if err != nil && items == nil {
		if isFatal(err) {
			return err
		}
		items = make([]pdu.LabelSet, len(ids))
	}
	short, err := texts(q.ctx, q.s.c, ids, pdu.TextOneLine)
	if err != nil {
		return err
	}
	long, err := texts(q.ctx, q.s.c, ids, pdu.TextHelp)
	if err != nil {
		return err
	}
	l, err := q.newLabeller()
	if err != nil {
		return err
	}
	for i, m := range known {
		m.text, m.help = short[i], long[i]
		if m.labels, err = l.ofMetric(m.desc, items[i]); err != nil {
			return err
		}
	}
	return nil
}

// lookUp sets the PMIDs and descriptors of infos.
func (q *query) lookUp(infos []metricInfo) error {
	var names []string
	var found []*metricInfo
	for i := range infos {
		switch {
		case infos[i].err != nil:
		case infos[i].name == "": // collectors reject an empty name as malformed
			infos[i].id, infos[i].desc.PMID, infos[i].err = pdu.NoPMID, pdu.NoPMID, errNoMetric
		default:
			names, found = append(names, infos[i].name), append(found, &infos[i])
		}
	}
	if len(names) == 0 {
		return nil
	}
	ids, err := q.s.c.Lookup(q.ctx, names)
	if len(ids) != len(names) || err != nil && isFatal(err) {
		return err
	}
	var descs []pdu.Desc
	var descErr error
	known := withoutNone(ids)
	if len(known) > 0 {
		if descs, descErr = q.s.c.Descs(q.ctx, known); len(descs) != len(known) || descErr != nil && isFatal(descErr) {
			return descErr
		}
	}
	next := 0
	for i, m := range found {
		m.id = ids[i]
		m.desc.PMID = pdu.NoPMID
		if m.id != pdu.NoPMID {
			m.desc = descs[next]
			next++
		}
		if m.desc.PMID == pdu.NoPMID {
			m.err = errNoMetric
		}
	}
	return nil
}

var errNoMetric = errors.New("failed to lookup metric name")

// withoutNone returns ids without pdu.NoPMID.
func withoutNone(ids []pdu.PMID) []pdu.PMID {
	known := make([]pdu.PMID, 0, len(ids))
	for _, id := range ids {
		if id != pdu.NoPMID {
			known = append(known, id)
		}
	}
	return known
}

// texts returns the help texts of metrics, with "" for a metric without one.
func texts(ctx context.Context, c *pmapi.Context, ids []pdu.PMID, kind pdu.TextKind) ([]string, error) {
	all, err := c.Texts(ctx, ids, kind)
	if all == nil {
		if isFatal(err) {
			return nil, err
		}
		all = make([]string, len(ids))
	}
	return all, nil
}

func (q *query) appendMetric(m *metricInfo) {
	q.out = appendString(append(q.out, `{"name":`...), m.name)
	if m.err != nil {
		message := m.err.Error()
		if m.err != errNoMetric {
			message = text(m.err)
		}
		q.out = append(appendString(append(q.out, `,"message":`...), message), `,"success":false}`...)
		return
	}
	q.out = appendString(append(q.out, `,"series":`...), seriesID(m.name, m.desc, m.labels))
	q.out = q.appendPMID(append(q.out, `,"pmid":`...), m.id)
	if m.desc.InDom != pdu.NoInDom {
		q.out = q.appendInDom(append(q.out, `,"indom":`...), m.desc.InDom)
	}
	q.out = appendString(append(q.out, `,"type":`...), typeWord(m.desc.Type))
	q.out = appendString(append(q.out, `,"sem":`...), m.desc.Sem.String())
	units := m.desc.Units.String()
	if units == "" {
		units = "none"
	}
	q.out = appendString(append(q.out, `,"units":`...), units)
	q.out = append(append(q.out, `,"labels":`...), m.labels...)
	q.out = appendString(append(q.out, `,"text-oneline":`...), m.text)
	q.out = append(appendString(append(q.out, `,"text-help":`...), m.help), '}')
}

// typeWord returns the name of a type in replies.
func typeWord(t pdu.Type) string {
	switch t {
	case pdu.TypeNoSupport:
		return "unsupported"
	case pdu.TypeUnknown:
		return "unknown"
	}
	return strings.ToLower(t.String())
}
