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

// LabelJSON is labels as a JSON text, for DomainLabels, Labels and InstanceLabels: of a
// map or a struct, which encoding/json makes an object. No labels are an empty text. Texts
// may be joined: labels of a name that stands twice are those of the later text. If the labels
// are wrong, it returns the reason, an invalid text that registration rejects. Registration also
// rejects labels with bad names. InstanceLabels and LabelsOf lose those labels alone, and the
// Agent logs it. The counterpart of pmdaAddLabels(3).
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
		_, err = pdu.MakeLabels(pdu.LabelItem, labels, false) // which has the error in its words
	}
	switch {
	case text == "null": // a nil map
		return ""
	case err != nil:
		return wrongLabels + strings.TrimPrefix(err.Error(), wrongLabels)
	case len(s.Labels) == 0:
		return ""
	}
	return text // not that of s, which has no bad names
}

// LabelNotes is LabelJSON for optional labels: those that say something of what they
// label but are no part of what it is, such as the state of a metric. Its text may be joined to
// that of LabelJSON:
//
//	Labels: pmda.LabelJSON(map[string]any{"role": "testing"}) +
//		pmda.LabelNotes(map[string]any{"changed": false})
//
// It is the JSON text after the word "optional". The counterpart of pmdaAddNotes(3).
func LabelNotes(labels any) string {
	text := LabelJSON(labels)
	if text == "" || strings.HasPrefix(text, wrongLabels) {
		return text
	}
	return optionalLabels + text
}

const (
	wrongLabels    = "labels: " // begins what LabelJSON returns in place of labels that are wrong
	optionalLabels = "optional" // precedes a JSON object of optional labels
)

// parseLabels makes a label set of a text with any number of objects, which are merged.
// dropped reports labels that it leaves out because of their names.
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

// checkLabels refuses a text that is not one of labels; none is right.
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

// excerpt is the quoted beginning of a text.
func excerpt(s string) string {
	const most = 60
	if len(s) <= most {
		return fmt.Sprintf("%#q", s)
	}
	return fmt.Sprintf("%#q...", strings.ToValidUTF8(s[:most], ""))
}

// labels makes the set of a text and of what LabelsOf adds, or none if there are no labels.
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

// instanceLabels makes a set for every instance that the client wants, empty for
// one without labels, and for the only value of a singular metric.
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

// labelsOf makes the label set of one instance.
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

// defaultLabels is the default label set of an agent's domain, {"agent":"NAME"};
// of the name a leading "pmda" and a trailing " DSO" are left out, as in the C
// library.
func defaultLabels(name string) ([]pdu.LabelSet, error) {
	name = strings.TrimSuffix(strings.TrimPrefix(name, "pmda"), " DSO")
	s, err := pdu.MakeLabels(pdu.LabelDomain, map[string]string{"agent": name}, false)
	if err != nil {
		return nil, err
	}
	return []pdu.LabelSet{s}, nil
}
