package pmda

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// LabelJSON returns labels as a JSON text for DomainLabels, Labels and InstanceLabels. The argument
// is a map or a struct that encoding/json encodes as an object. Without labels the text is empty.
// Texts may be concatenated: if a name occurs twice, the later text wins. If the labels are
// invalid, LabelJSON returns the reason as a text that is not JSON.
//
// Register, Attach and Agent.Err reject such a text, and labels with invalid names. In a text from
// InstanceLabels or LabelsOf, the Agent drops only the labels with invalid names, and logs that.
// LabelJSON is the counterpart of pmdaAddLabels(3).
func LabelJSON(labels any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	var s pdu.LabelSet
	err := e.Encode(labels)
	text := strings.TrimSuffix(b.String(), "\n")
	if err == nil {
		s, err = pdu.ParseLabels(pdu.LabelItem, text, false)
	} else {
		_, err = pdu.MakeLabels(pdu.LabelItem, labels, false) // for the wording of its error
	}
	switch {
	case text == "null": // a nil map
		return ""
	case err != nil:
		return wrongLabels + strings.TrimPrefix(err.Error(), wrongLabels)
	case len(s.Labels) == 0:
		return ""
	}
	return text // not the labels of s, which lacks bad names: registration must see them
}

// LabelNotes is LabelJSON for optional labels. Optional labels describe an object but do not
// identify it, such as the state of a metric. The text may be appended to that of LabelJSON:
//
//	Labels: pmda.LabelJSON(map[string]any{"role": "testing"}) +
//		pmda.LabelNotes(map[string]any{"changed": false})
//
// The text is the word "optional" and a JSON object. LabelNotes is the counterpart of
// pmdaAddNotes(3).
func LabelNotes(labels any) string {
	text := LabelJSON(labels)
	if text == "" || strings.HasPrefix(text, wrongLabels) {
		return text
	}
	return optionalLabels + text
}

const (
	wrongLabels    = "labels: " // begins the text that LabelJSON returns for invalid labels
	optionalLabels = "optional" // precedes a JSON object of optional labels
)

// parseLabels makes a label set from a text with any number of objects, which it merges. dropped
// reports labels that it leaves out because of their names.
func parseLabels(class pdu.LabelClass, text string) (s pdu.LabelSet, dropped, err error) {
	s, first := pdu.ParseLabels(class, text, false)
	if first == nil {
		return s, pdu.CheckLabelNames(text), nil
	}
	var sets []pdu.LabelSet
	left := false
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimSpace(rest) {
		if strings.HasPrefix(rest, wrongLabels) {
			return pdu.LabelSet{}, nil, fmt.Errorf("%s: %w", rest, pdu.ErrArg)
		}
		var optional bool
		rest, optional = strings.CutPrefix(rest, optionalLabels)
		d := json.NewDecoder(strings.NewReader(rest))
		var object json.RawMessage
		if err := d.Decode(&object); err != nil {
			return pdu.LabelSet{}, nil, first
		}
		s, err := pdu.ParseLabels(class, string(object), optional)
		names := pdu.CheckLabelNames(string(object))
		if err != nil && names == nil {
			return pdu.LabelSet{}, nil, err
		}
		left = left || len(s.Labels) > 0
		dropped = cmp.Or(dropped, names)
		sets = append(sets, s)
		rest = rest[d.InputOffset():]
	}
	if dropped != nil && !left {
		return pdu.LabelSet{}, nil, dropped
	}
	s, err = pdu.MergeLabels(nil, sets...)
	return s, dropped, err
}

// checkLabels returns an error for a text that is not labels. An empty text is valid.
func checkLabels(field, text string) error {
	if reason, ok := strings.CutPrefix(text, wrongLabels); ok {
		return fmt.Errorf("%s: %s", field, reason)
	}
	_, dropped, err := parseLabels(pdu.LabelItem, text)
	if err = cmp.Or(err, dropped); err != nil {
		return fmt.Errorf("%s %s: %w", field, excerpt(text), err)
	}
	return nil
}

// excerpt returns the quoted beginning of a text.
func excerpt(s string) string {
	const most = 60
	if len(s) <= most {
		return fmt.Sprintf("%#q", s)
	}
	return fmt.Sprintf("%#q...", strings.ToValidUTF8(s[:most], ""))
}

// labels returns the set of a text and of the labels that LabelsOf adds, or no set without labels.
func (h tableHandler) labels(ctx context.Context, r *Request, of pdu.LabelTarget, text string) ([]pdu.LabelSet, error) {
	if h.a.LabelsOf != nil {
		text += h.a.LabelsOf(ctx, r, of)
	}
	if text == "" && of.Class == pdu.LabelDomain {
		return defaultLabels(h.a.Name)
	}
	s, dropped, err := parseLabels(of.Class, text)
	if (err != nil || dropped != nil) && h.a.labelsLog.isNew(h.a, text) {
		h.a.warn(checkLabels("LabelsOf returned", text), "bad labels", slog.Any("of", of))
	}
	if err != nil {
		return nil, reported{err}
	}
	if len(s.Labels) == 0 {
		return nil, nil
	}
	return []pdu.LabelSet{s}, nil
}

// instanceLabels returns a set for every instance that the client wants, and for the only value of
// a singular metric. The set of an instance without labels is empty.
func (h tableHandler) instanceLabels(ctx context.Context, r *Request, in *InDom, id pdu.InDom) ([]pdu.LabelSet, error) {
	switch {
	case id == pdu.NoInDom:
		return []pdu.LabelSet{{Inst: pdu.NoInst}}, nil
	case in == nil:
		return nil, nil
	}
	insts, err := in.fresh(ctx, r)
	if err != nil {
		return nil, err
	}
	rule := r.Profile.For(id)
	var sets []pdu.LabelSet
	for _, i := range insts.list() {
		if rule.Includes(i.ID) {
			sets = append(sets, h.labelsOf(in, i))
		}
	}
	return sets, nil
}

// labelsOf returns the label set of one instance.
func (h tableHandler) labelsOf(in *InDom, i pdu.Instance) pdu.LabelSet {
	if in.InstanceLabels == nil {
		return pdu.LabelSet{Inst: i.ID}
	}
	text := in.InstanceLabels(i)
	s, dropped, err := parseLabels(pdu.LabelInstances, text)
	if (err != nil || dropped != nil) && in.labelsLog.isNew(h.a, "bad labels") { // not the error: many instances are likely to have the same fault
		h.a.warn(checkLabels("InDom.InstanceLabels returned", text), "bad labels of an instance", slog.String("indom", in.Name), slog.String("instance", i.Name))
	}
	if err != nil {
		s = pdu.LabelSet{Err: pdu.FromError(err)}
	}
	s.Inst = i.ID
	return s
}

// defaultLabels returns the default label set of an agent's domain, {"agent":"NAME"}. As in the C
// library, NAME omits a leading "pmda" and a trailing " DSO".
func defaultLabels(name string) ([]pdu.LabelSet, error) {
	name = strings.TrimSuffix(strings.TrimPrefix(name, "pmda"), " DSO")
	s, err := pdu.MakeLabels(pdu.LabelDomain, map[string]string{"agent": name}, false)
	if err != nil {
		return nil, err
	}
	return []pdu.LabelSet{s}, nil
}
