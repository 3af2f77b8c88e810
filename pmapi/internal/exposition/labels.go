package exposition

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
)

// A label is a label of a sample: its encoded name, its value, and its name in PCP.
type label struct{ name, value, pcp string }

// defaultDrop lists labels that an Encoder omits by default, because they differ from host to host
// and carry little information.
var defaultDrop = []string{"groupid", "machineid", "userid"}

// labelsOf returns the labels of sets, without optional ones. Later sets have precedence.
func (e *Encoder) labelsOf(sets ...pdu.LabelSet) []label {
	drop := e.Drop
	if drop == nil && e.Format != PCP {
		drop = defaultDrop
	}
	var all []label
	for _, set := range sets {
		for l := range set.All() {
			all = slices.DeleteFunc(all, func(old label) bool { return old.pcp == l.Name })
			text := l.Text()
			if l.Flags&pdu.LabelOptional != 0 || l.Name == "" || l.Value == "null" || text == "" || slices.Contains(drop, l.Name) {
				continue
			}
			all = append(all, label{e.labelName(l.Name), text, l.Name})
		}
	}
	return all
}

// labelName returns the encoded name of a label.
func (e *Encoder) labelName(name string) string {
	scheme := e.Escaping
	if scheme == Colons {
		scheme = Underscores
	}
	escaped := scheme.escape(name)
	switch {
	case e.Format != PCP && (escaped == "le" || escaped == "quantile"):
		return "pcp_" + escaped // both have a meaning in histograms and summaries
	case strings.HasPrefix(escaped, "__"):
		return "pcp" + escaped
	}
	return escaped
}

// instanceLabels adds the labels that distinguish instances.
func (e *Encoder) instanceLabels(all []label, inst *export.Instance) []label {
	has := func(name string) bool {
		return slices.ContainsFunc(all, func(l label) bool { return l.name == name })
	}
	if !has("instname") {
		all = append(all, label{"instname", inst.Name, "instname"})
	}
	if e.Format != OpenMetrics && !has("instid") {
		all = append(all, label{"instid", strconv.FormatUint(uint64(uint32(inst.ID)), 10), "instid"})
	}
	return all
}

// sorted sorts labels by name. Labels whose encoded names are equal become one, with all values.
func sorted(all []label) []label {
	slices.SortFunc(all, func(a, b label) int {
		if c := strings.Compare(a.name, b.name); c != 0 {
			return c
		}
		return strings.Compare(a.pcp, b.pcp)
	})
	var out []label
	for _, l := range all {
		if n := len(out); n > 0 && out[n-1].name == l.name {
			out[n-1].value += ";" + l.value
			continue
		}
		out = append(out, l)
	}
	return out
}

// appendSeries writes the name and labels of a sample.
func (e *Encoder) appendSeries(b []byte, name string, labels []label) []byte {
	quoted := e.Escaping.quoted(name)
	if !quoted {
		b = append(b, name...)
		if len(labels) == 0 {
			return b
		}
	}
	b = append(b, '{')
	if quoted {
		b = appendQuoted(b, name)
	}
	for i, l := range labels {
		if i > 0 || quoted {
			b = append(b, ',')
		}
		if e.Escaping.quoted(l.name) {
			b = appendQuoted(b, l.name)
		} else {
			b = append(b, l.name...)
		}
		b = append(b, '=')
		b = appendQuoted(b, l.value)
	}
	return append(b, '}')
}
