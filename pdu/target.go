package pdu

import "fmt"

// A TextTarget is what a help text describes: a metric or an instance domain.
// The zero TextTarget is neither.
type TextTarget struct {
	kind  TextKind // TextPMID, TextInDom, or both or none in a malformed request
	ident uint32
}

// TextOfMetric is the target of a metric's help texts.
func TextOfMetric(id PMID) TextTarget { return TextTarget{TextPMID, uint32(id)} }

// TextOfInDom is the target of an instance domain's help texts.
func TextOfInDom(d InDom) TextTarget { return TextTarget{TextInDom, uint32(d)} }

// PMID is the metric, and false if the target is not one.
func (t TextTarget) PMID() (PMID, bool) {
	if t.kind&TextPMID == 0 {
		return NoPMID, false
	}
	return PMID(t.ident), true
}

// InDom is the instance domain, and false if the target is not one.
func (t TextTarget) InDom() (InDom, bool) {
	if t.kind&TextInDom == 0 || t.kind&TextPMID != 0 {
		return NoInDom, false
	}
	return InDom(t.ident), true
}

// String is the identifier, such as "metric 60.0.1".
func (t TextTarget) String() string {
	if id, ok := t.PMID(); ok {
		return "metric " + id.String()
	}
	if d, ok := t.InDom(); ok {
		return "instance domain " + d.String()
	}
	return "no text target"
}

// Request is the PDU that requests a text of the target; kind is TextOneLine or
// TextHelp.
func (t TextTarget) Request(kind TextKind) TextReq { return TextReq{t.ident, t.kind | kind} }

// Target returns the metric or instance domain that the text describes. The target of a malformed
// request is neither.
func (p TextReq) Target() TextTarget {
	return TextTarget{p.Text & (TextPMID | TextInDom), p.Ident}
}

// A LabelTarget is what labels are attached to.
type LabelTarget struct {
	Class LabelClass
	ident uint32
}

// LabelsOfContext is the target of the labels of a host or an archive as a whole.
func LabelsOfContext() LabelTarget { return LabelTarget{LabelContext, uint32(NoPMID)} }

// LabelsOfDomain is the target of the labels of all metrics of an agent.
func LabelsOfDomain(d Domain) LabelTarget { return LabelTarget{LabelDomain, uint32(d)} }

// LabelsOfInDom is the target of the labels of an instance domain as a whole.
func LabelsOfInDom(d InDom) LabelTarget { return LabelTarget{LabelInDom, uint32(d)} }

// LabelsOfCluster is the target of the labels of all metrics in the cluster of
// one.
func LabelsOfCluster(id PMID) LabelTarget { return LabelTarget{LabelCluster, uint32(id)} }

// LabelsOfItem is the target of the labels of one metric.
func LabelsOfItem(id PMID) LabelTarget { return LabelTarget{LabelItem, uint32(id)} }

// LabelsOfInstances is the target of the labels of the instances of a domain.
func LabelsOfInstances(d InDom) LabelTarget { return LabelTarget{LabelInstances, uint32(d)} }

// Domain is the number of the agent that has the labels; DynamicDomain, which no
// agent has, for the context.
func (t LabelTarget) Domain() Domain {
	switch t.Class {
	case LabelDomain:
		return Domain(min(t.ident, uint32(DynamicDomain)))
	case LabelContext:
		return DynamicDomain
	}
	return PMID(t.ident).Domain() // at the same place in an InDom
}

// PMID is the metric of LabelItem, or one of the cluster of LabelCluster;
// NoPMID for other classes.
func (t LabelTarget) PMID() PMID {
	switch t.Class {
	case LabelCluster, LabelItem:
		return PMID(t.ident)
	}
	return NoPMID
}

// InDom is the instance domain of LabelInDom and LabelInstances; NoInDom for
// other classes.
func (t LabelTarget) InDom() InDom {
	switch t.Class {
	case LabelInDom, LabelInstances:
		return InDom(t.ident)
	}
	return NoInDom
}

// String is the class and the identifier, such as "instances 60.1".
func (t LabelTarget) String() string {
	switch t.Class {
	case LabelDomain:
		return fmt.Sprintf("domain %d", t.Domain())
	case LabelCluster:
		return fmt.Sprintf("cluster %d.%d", t.Domain(), t.PMID().Cluster())
	case LabelItem:
		return "metric " + t.PMID().String()
	case LabelInDom, LabelInstances:
		return t.Class.String() + " " + t.InDom().String()
	case LabelContext:
		return "context"
	}
	return fmt.Sprintf("class %#x of %#x", int32(t.Class), t.ident)
}

// Request is the PDU that requests the labels of the target.
func (t LabelTarget) Request() LabelReq { return LabelReq{t.ident, t.Class} }

// Target returns the target of the labels. It removes the flags of labels from the class, as C
// agents do.
func (p LabelReq) Target() LabelTarget {
	return LabelTarget{p.Class &^ LabelClass(LabelCompound|LabelOptional), p.Ident}
}
