package webapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pcp-go/pcp/pdu"
)

// metrics replies with the values of numeric metrics as text, in the form that pmproxy gives them: under their names with underscores, or
// with colons in the older interface, with all labels, and after a comment with the descriptor. It is valid text for Prometheus.
func (q *query) metrics() error {
	_, list, _ := q.params.first("names", "name", "prefix", "target")
	_, given := q.params.get("context")
	err := error(nil)
	if given || q.pathID != "" {
		err = q.find()
	} else {
		err = q.openNew(true) // nobody learns its number
	}
	if err == nil {
		err = q.take()
	}
	if err != nil {
		return err
	}
	infos, err := q.exported(list)
	if err != nil {
		return err
	}
	times, _ := q.params.get("times")
	x := exporter{q: q, times: times == "true", taken: map[string]string{}, indoms: map[pdu.InDom]*exportedInDom{}}
	if err := x.export(infos); err != nil {
		return err
	}
	q.text = "text/plain; version=0.0.4; charset=utf-8"
	return nil
}

// exported are the metrics that a list of names stands for, each once, without those that are no numbers.
func (q *query) exported(list string) ([]metricInfo, error) {
	infos, err := q.metricsBelow(list)
	if err != nil && list != "" && !strings.Contains(list, ",") && !isFatal(err) {
		if f, ok := err.(*failure); ok && strings.HasSuffix(f.message, pdu.ErrName.Error()) {
			err = badRequest("'" + list + "' - " + pdu.ErrName.Error())
		}
	}
	if err == nil {
		err = q.describe(infos)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(infos, func(m metricInfo) bool {
		drop := m.err != nil || m.desc.Type < pdu.Type32 || m.desc.Type > pdu.TypeDouble || seen[m.name]
		seen[m.name] = true
		return drop
	}), err
}

// An exporter writes the metrics of one request.
type exporter struct {
	q      *query
	times  bool
	taken  map[string]string // names of families, and the metrics that have them
	indoms map[pdu.InDom]*exportedInDom
}

// An exportedInDom has what samples need of an instance domain.
type exportedInDom struct {
	names  map[pdu.InstID]string
	labels map[pdu.InstID]pdu.LabelSet
}

// export writes metrics that have values.
func (x *exporter) export(infos []metricInfo) error {
	if len(infos) == 0 {
		return nil
	}
	ids := make([]pdu.PMID, len(infos))
	for i := range infos {
		ids[i] = infos[i].id
	}
	r := &x.q.s.result
	if err := x.q.s.c.Fetch(x.q.ctx, ids, r); err != nil {
		return err
	}
	for i := range infos {
		set := r.At(i)
		if set.Len() == 0 {
			continue
		}
		if err := x.family(&infos[i], set); err != nil {
			return err
		}
		if err := x.q.checkSize(); err != nil {
			return err
		}
	}
	return nil
}

// family writes one metric.
func (x *exporter) family(m *metricInfo, set pdu.ValueSet) error {
	var labels map[string]json.RawMessage
	if err := json.Unmarshal(m.labels, &labels); err != nil {
		labels = nil
	}
	insts, err := x.indom(m.desc.InDom)
	if err != nil {
		return err
	}
	name := x.familyName(m.name)
	x.head(m, name)
	for inst, a := range set.All(m.desc.Type) {
		if a.Type < pdu.Type32 || a.Type > pdu.TypeDouble {
			continue // malformed
		}
		all := labels
		if m.desc.InDom != pdu.NoInDom {
			all = insts.merge(labels, inst)
		}
		x.q.out = appendLabels(append(x.q.out, name...), all)
		x.q.out = appendNumber(append(x.q.out, ' '), a)
		if x.times {
			x.q.out = strconv.AppendInt(append(x.q.out, ' '), x.q.s.result.Time.UnixMilli(), 10)
		}
		x.q.out = append(x.q.out, '\n')
	}
	return nil
}

// head writes the comments of a metric.
func (x *exporter) head(m *metricInfo, name string) {
	units := m.desc.Units.String()
	if units == "" {
		units = "none"
	}
	b := x.q.out
	if x.q.compat {
		b = fmt.Appendf(b, "# PCP %s %s %s\n", m.name, m.desc.Sem, units)
	} else {
		b = fmt.Appendf(b, "# PCP5 %s %s %s %s %s %s\n", m.name, m.id, typeWord(m.desc.Type), m.desc.InDom, m.desc.Sem, units)
	}
	if m.text != "" {
		b = fmt.Appendf(b, "# HELP %s %s\n", name, helpEscapes.Replace(strings.ToValidUTF8(m.text, "\uFFFD")))
	}
	kind := "gauge"
	if m.desc.Sem == pdu.SemCounter {
		kind = "counter"
	}
	x.q.out = fmt.Appendf(b, "# TYPE %s %s\n", name, kind)
}

var (
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	valueEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// familyName is the name of a metric for Prometheus. One that another metric has taken is written with the codes of its characters.
func (x *exporter) familyName(metric string) string {
	separator := byte('_')
	if x.q.compat {
		separator = ':'
	}
	name := mapName(metric, separator)
	if by, ok := x.taken[name]; ok && by != metric {
		var b strings.Builder
		b.WriteString("U__")
		for _, c := range metric {
			switch {
			case c == '_':
				b.WriteString("__")
			case isWord(c):
				b.WriteRune(c)
			default:
				fmt.Fprintf(&b, "_%X_", c)
			}
		}
		name = b.String()
	}
	x.taken[name] = metric
	return name
}

// mapName replaces what cannot be in a name.
func mapName(s string, separator byte) string {
	b := make([]byte, 0, len(s)+1)
	for _, c := range s {
		switch {
		case c == '.':
			b = append(b, separator)
		case !isWord(c):
			b = append(b, '_')
		case len(b) == 0 && c <= '9':
			b = append(b, '_', byte(c))
		default:
			b = append(b, byte(c))
		}
	}
	return string(b)
}

func isWord(c rune) bool {
	return c < utf8.RuneSelf && (c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_')
}

// indom is an instance domain, requested once.
func (x *exporter) indom(d pdu.InDom) (*exportedInDom, error) {
	if e := x.indoms[d]; e != nil || d == pdu.NoInDom {
		return e, nil
	}
	insts, err := x.q.instances(d)
	if err != nil {
		return nil, err
	}
	sets, err := x.q.s.c.InstanceLabels(x.q.ctx, d)
	if err != nil && isFatal(err) {
		return nil, err
	}
	e := &exportedInDom{names: map[pdu.InstID]string{}, labels: map[pdu.InstID]pdu.LabelSet{}}
	for _, i := range insts {
		e.names[i.ID] = i.Name
	}
	for _, set := range sets {
		e.labels[set.Inst] = set
	}
	x.indoms[d] = e
	return e, nil
}

// merge adds the labels of an instance, its name and its number to those of a metric.
func (e *exportedInDom) merge(labels map[string]json.RawMessage, inst pdu.InstID) map[string]json.RawMessage {
	all := maps.Clone(labels)
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	for l := range e.labels[inst].All() {
		if isIntrinsic(l) {
			all[l.Name] = json.RawMessage(l.Value)
		}
	}
	if _, ok := all["instname"]; !ok {
		if name, ok := e.names[inst]; ok {
			all["instname"] = appendString(nil, name)
		}
	}
	if _, ok := all["instid"]; !ok {
		all["instid"] = fmt.Appendf(nil, `"%d"`, uint32(inst))
	}
	return all
}

// appendLabels appends labels in the order of their names. Of names that become the same, the first counts.
func appendLabels(b []byte, labels map[string]json.RawMessage) []byte {
	texts := make(map[string]string, len(labels))
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		raw := labels[name]
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		if string(raw) == "null" || text == "" {
			continue
		}
		mapped := mapName(name, '_')
		if strings.HasPrefix(mapped, "__") {
			mapped = "pcp" + mapped
		}
		if _, ok := texts[mapped]; !ok {
			texts[mapped] = text
		}
	}
	if len(texts) == 0 {
		return b
	}
	separator := byte('{')
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		b = append(append(append(b, separator), name...), `="`...)
		b = append(append(b, valueEscapes.Replace(strings.ToValidUTF8(texts[name], "\uFFFD"))...), '"')
		separator = ','
	}
	return append(b, '}')
}

// appendNumber appends a value of a sample.
func appendNumber(b []byte, a pdu.Atom) []byte {
	if a.Type != pdu.TypeFloat && a.Type != pdu.TypeDouble {
		return appendAtom(b, a)
	}
	start := len(b)
	if b = appendAtom(b, a); string(b[start:]) != "null" {
		return b
	}
	v, _ := pdu.As[float64](a)
	return strconv.AppendFloat(b[:start], v, 'g', -1, 64) // NaN, +Inf, -Inf
}
