package logrewrite

import (
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A Rule changes one thing of an archive, or all that a pattern matches. Rules are made by Parse,
// or by programs:
//
//	logrewrite.Rule{
//		Of: logrewrite.Metric{Name: "disk.dev.read"},
//		Do: []logrewrite.Change{
//			logrewrite.SetType{To: pdu.TypeU64},
//			logrewrite.SetName{Name: "disk.dev.reads"},
//		},
//	}
//
// What is not in an archive is not changed. The changes that a rule may have depend on what it is
// of:
//
//	Global       SetHost SetTimeZone SetZoneInfo SetFeatures Shift
//	InDom        RenameInstance RedactInstances ReplaceInstances RenumberInstance MoveInDom
//	Metric       Delete SetPMID SetName SetType SetSem SetUnits ReplaceValues MoveInDom
//	Text         Delete SetText, SetPMID of a metric's, MoveInDom of an instance domain's
//	Label        Delete NewLabel RenameLabel SetLabelValue,
//	             SetPMID of domains, clusters and metrics,
//	             MoveInDom of instance domains and instances, MoveInstance of instances
type Rule struct {
	Of Target
	Do []Change

	file  string
	line  int   // where what the rule is of ends
	lines []int // where the changes end
	notes []note
}

// A note is a warning about the text of a rule.
type note struct {
	before int // the change that it is about; -1 is what the rule is of
	line   int
	text   string
}

// A Target is what a rule is of: a Global, InDom, Metric, Text or Label.
type Target interface{ target() }

// Any in a pattern stands for all numbers, and in what replaces one for the number as it was.
const Any = -1

// A PMIDPattern is metrics by their identifiers: 29.0.6, 29.0.* or 29.*.*.
type PMIDPattern struct{ Domain, Cluster, Item int }

// PMIDs is the pattern of one metric.
func PMIDs(id pdu.PMID) PMIDPattern {
	return PMIDPattern{int(id.Domain()), int(id.Cluster()), int(id.Item())}
}

// matches reports whether a metric has the pattern.
func (p PMIDPattern) matches(id pdu.PMID) bool {
	return p.Domain == int(id.Domain()) && (p.Cluster == Any || p.Cluster == int(id.Cluster())) && (p.Item == Any || p.Item == int(id.Item()))
}

// one reports whether the pattern is that of one metric.
func (p PMIDPattern) one() bool { return p.Cluster != Any && p.Item != Any }

// of is what a metric becomes.
func (p PMIDPattern) of(id pdu.PMID) pdu.PMID {
	if p.Cluster == Any {
		p.Cluster = int(id.Cluster())
	}
	if p.Item == Any {
		p.Item = int(id.Item())
	}
	return makePMID(p.Domain, p.Cluster, p.Item)
}

// makePMID makes an identifier also of the domain 511, which is that of derived metrics.
func makePMID(domain, cluster, item int) pdu.PMID {
	return pdu.PMID(domain&511<<22 | cluster&4095<<10 | item&1023)
}

// An InDomPattern is instance domains: 29.2 or 29.*.
type InDomPattern struct{ Domain, Serial int }

// InDoms is the pattern of one instance domain.
func InDoms(d pdu.InDom) InDomPattern { return InDomPattern{int(d.Domain()), int(d.Serial())} }

func (p InDomPattern) matches(d pdu.InDom) bool {
	return p.Domain == int(d.Domain()) && (p.Serial == Any || p.Serial == int(d.Serial()))
}

// of is what an instance domain becomes.
func (p InDomPattern) of(d pdu.InDom) pdu.InDom {
	if p.Serial == Any {
		p.Serial = int(d.Serial())
	}
	return pdu.InDom(p.Domain&511<<22 | p.Serial&(1<<22-1))
}

// What a rule may be of.
type (
	// Global is the label of the archive, and its times.
	Global struct{}

	// InDom is instance domains.
	InDom struct{ ID InDomPattern }

	// Metric is a metric by its name, or, if Name is empty, metrics by their identifiers.
	Metric struct {
		Name string
		ID   PMIDPattern
	}

	// Text is help texts: of Metric, or if that is nil of InDom. If neither OneLine nor Help is
	// set, OneLine counts. If Content is not empty, only a text that is the same counts.
	Text struct {
		Metric        *Metric
		InDom         *InDom
		OneLine, Help bool
		Content       string
	}

	// Label is labels of a class: of pdu.LabelContext, of the domain of Metric.ID, of its clusters,
	// of metrics, of InDom, or of its instances. Empty Name and Value mean all; Value is JSON.
	Label struct {
		Class    pdu.LabelClass
		Metric   Metric
		InDom    InDom
		Instance Instance
		Name     string
		Value    string
		named    bool // there is a name, be it empty
	}
)

func (Global) target() {}
func (InDom) target()  {}
func (Metric) target() {}
func (Text) target()   {}
func (Label) target()  {}

// An Instance is one instance by its external name, or by its identifier, or all.
type Instance struct {
	By   InstanceBy
	Name string
	ID   pdu.InstID
}

// An InstanceBy says what of an Instance counts.
type InstanceBy uint8

// How an Instance is given.
const (
	ByNothing InstanceBy = iota // all instances
	ByName
	ByID
)

// A Change is what a rule does. See Rule.
type Change interface{ change() }

// The changes.
type (
	// SetHost sets the name of the host in the label.
	SetHost struct{ Name string }
	// SetTimeZone sets the time zone in the label, as in $TZ.
	SetTimeZone struct{ Zone string }
	// SetZoneInfo sets the other form of the time zone in the label of version 3, such as
	// :Africa/Timbuktu.
	SetZoneInfo struct{ Zone string }
	// SetFeatures sets the feature bits in the label of version 3.
	SetFeatures struct{ Bits uint32 }
	// Shift adds a duration to all times. One of less than a second does nothing, as in PCP.
	Shift struct{ By time.Duration }

	// RenameInstance gives an instance another external name, or with Delete removes it. As
	// everywhere in PCP the name up to the first blank is what counts.
	RenameInstance struct {
		Old, New string
		Delete   bool
	}
	// RedactInstances hides the external names of all instances: of each only the identifier
	// remains in it.
	RedactInstances struct{}
	// ReplaceInstances replaces the first match of a POSIX extended regular expression in the
	// external names of all instances. In what replaces it & is the match, \1 to \9 are its parts,
	// and a backslash takes the meaning of another character away.
	ReplaceInstances struct{ Find, With string }
	// RenumberInstance gives an instance another identifier, or with Delete removes it.
	RenumberInstance struct {
		Old, New pdu.InstID
		Delete   bool
	}
	// MoveInDom gives an instance domain another identifier, and all that refers to it; with
	// Duplicate there are both then. Of a metric it changes the instance domain, to none with None,
	// and Output says what becomes of the values.
	MoveInDom struct {
		To        InDomPattern
		None      bool
		Duplicate bool
		Output    Output
	}

	// Delete removes what the rule is of.
	Delete struct{}
	// SetPMID gives a metric, a text or labels another identifier. Of labels of domains only the
	// domain counts, of those of clusters the cluster, too.
	SetPMID struct{ To PMIDPattern }
	// SetName gives a metric another name. With DupOK another metric may have it before.
	SetName struct {
		Name  string
		DupOK bool
	}
	// SetType converts a metric's numbers, also to strings. If If is not 0, it does so for metrics
	// of that type alone: see OldType.
	SetType struct {
		If *pdu.Type
		To pdu.Type
	}
	// SetSem changes the semantics of a metric. Its values stay.
	SetSem struct{ Sem pdu.Sem }
	// SetUnits changes the units of a metric. Its values stay, but with Rescale they are converted
	// if the dimension stays.
	SetUnits struct {
		Units   pdu.Units
		Rescale bool
	}

	// ReplaceValues replaces in the values of a metric of strings, as ReplaceInstances does in
	// names. Several apply one after the other.
	ReplaceValues struct{ Find, With string }

	// SetText changes a help text.
	SetText struct{ Text string }

	// NewLabel adds a label. Value is JSON.
	NewLabel struct{ Name, Value string }
	// RenameLabel gives labels another name.
	RenameLabel struct{ Name string }
	// SetLabelValue gives labels another value, which is JSON.
	SetLabelValue struct{ Value string }
	// MoveInstance gives labels to another instance.
	MoveInstance struct{ To pdu.InstID }
)

func (SetHost) change()          {}
func (SetTimeZone) change()      {}
func (SetZoneInfo) change()      {}
func (SetFeatures) change()      {}
func (Shift) change()            {}
func (RenameInstance) change()   {}
func (RedactInstances) change()  {}
func (ReplaceInstances) change() {}
func (ReplaceValues) change()    {}
func (RenumberInstance) change() {}
func (MoveInDom) change()        {}
func (Delete) change()           {}
func (SetPMID) change()          {}
func (SetName) change()          {}
func (SetType) change()          {}
func (SetSem) change()           {}
func (SetUnits) change()         {}
func (SetText) change()          {}
func (NewLabel) change()         {}
func (RenameLabel) change()      {}
func (SetLabelValue) change()    {}
func (MoveInstance) change()     {}

// An Output says which value of a metric remains when its instance domain changes.
type Output struct {
	Pick     Pick
	Instance Instance // of PickInstance
}

// A Pick says which value remains.
type Pick uint8

// The picks. PickAll is the first one if either instance domain is none.
const (
	PickAll Pick = iota
	PickFirst
	PickLast
	PickInstance
	PickMin
	PickMax
	PickSum
	PickAvg
)

// changeLine is the line of a change, 0 if the rule was not parsed.
func (r *Rule) changeLine(i int) int {
	if i < len(r.lines) {
		return r.lines[i]
	}
	return 0
}
