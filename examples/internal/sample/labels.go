package sample

import (
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// setLabels sets the fixed labels and those of instances.
func (s *sample) setLabels() {
	type object = map[string]any
	s.agent.DomainLabels = pmda.LabelJSON(object{"agent": "sample", "role": "testing"})
	s.agent.ClusterLabels = map[int]string{0: pmda.LabelJSON(object{"cluster": "zero"})}
	s.agent.LabelsOf = s.changingLabels
	s.indoms.colour.Labels = pmda.LabelJSON(object{"model": "RGB"})
	s.indoms.family.Labels = pmda.LabelJSON(object{"clan": "mcdonell"})
	bin := func(i pdu.Instance) string { return pmda.LabelJSON(object{"bin": i.ID}) }
	s.indoms.bin.InstanceLabels, s.dynamic.scramble.indom.InstanceLabels = bin, bin
	s.indoms.mirage.InstanceLabels = func(i pdu.Instance) string { return pmda.LabelJSON(object{"transient": i.ID != 0}) }
}

// rapidLabels are the labels of the metric rapid.
var rapidLabels = pmda.LabelJSON(map[string]any{"measure": "speed", "units": "metres per second", "unitsystem": "SI"})

// changingLabels returns labels that tell whether a client has changed a metric.
func (s *sample) changingLabels(_ context.Context, _ *pmda.Request, of pdu.LabelTarget) string {
	if of.Class != pdu.LabelItem {
		return ""
	}
	w := &s.writable
	changed := false
	switch of.PMID() {
	case s.id(36):
		changed = w.rate != 2
	case s.id(14):
		changed = w.long != 13
	case s.id(19):
		changed = w.float != 13
	case s.id(24):
		changed = w.longlong != 13
	case s.id(29):
		changed = w.double != 13
	case s.id(97):
		changed = w.ulong != 13
	case s.id(102):
		changed = w.ulonglong != 13
	default:
		return ""
	}
	return pmda.LabelNotes(map[string]bool{"changed": changed})
}

// Labels returns the labels of all instances and ignores the client's profile, as PCP's agent does.
func (h handler) Labels(ctx context.Context, r *pmda.Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	h.s.countProfile(r)
	h.begin(r)
	if of.Class == pdu.LabelInstances {
		if _, err := h.Handler.Instances(ctx, r, of.InDom(), pdu.NoInst, ""); err != nil {
			return nil, err
		}
		all := *r
		all.Profile = nil
		r = &all
	}
	return h.Handler.Labels(ctx, r, of)
}
