package logrewrite

import (
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// A rule changes the parts of an archive that its target selects. The parser allows these changes
// for each target:
//
//	globalTarget  setHost setTimeZone setZoneInfo setFeatures shift
//	indomTarget   renameInstance redactInstances replaceInstances renumberInstance moveInDom
//	metricTarget  deletion setPMID setName setType setSem setUnits replaceValues moveInDom
//	textTarget    deletion setText; setPMID for metrics, moveInDom for instance domains
//	labelTarget   deletion addLabel renameLabel setLabelValue; setPMID for domains, clusters
//	              and metrics, moveInDom for instance domains and instances, moveInstance for
//	              instances
type rule struct {
	target  target
	changes []change

	line  int   // the line on which the target ends
	lines []int // the line on which each change ends
	notes []note
}

// A note is a warning about the text of a rule.
type note struct {
	before int // index of the change that it concerns; -1 means the target
	line   int
	text   string
}

// A target is a globalTarget, indomTarget, metricTarget, textTarget or labelTarget.
type target interface{ target() }

// anyNumber in a pattern matches all numbers. In a replacement it keeps the old number.
const anyNumber = -1

// A pmidPattern selects metrics by identifier: 29.0.6, 29.0.* or 29.*.*.
type pmidPattern struct{ domain, cluster, item int }

// matches reports whether the pattern selects id.
func (p pmidPattern) matches(id pdu.PMID) bool {
	return p.domain == int(id.Domain()) && (p.cluster == anyNumber || p.cluster == int(id.Cluster())) && (p.item == anyNumber || p.item == int(id.Item()))
}

// one reports whether the pattern selects a single metric.
func (p pmidPattern) one() bool { return p.cluster != anyNumber && p.item != anyNumber }

// of returns the replacement of id.
func (p pmidPattern) of(id pdu.PMID) pdu.PMID {
	if p.cluster == anyNumber {
		p.cluster = int(id.Cluster())
	}
	if p.item == anyNumber {
		p.item = int(id.Item())
	}
	return makePMID(p.domain, p.cluster, p.item)
}

// makePMID is like pdu.MakePMID but also accepts the domain of derived metrics, 511.
func makePMID(domain, cluster, item int) pdu.PMID {
	return pdu.PMID(domain&511<<22 | cluster&4095<<10 | item&1023)
}

// An indomPattern selects instance domains: 29.2 or 29.*.
type indomPattern struct{ domain, serial int }

func (p indomPattern) matches(d pdu.InDom) bool {
	return p.domain == int(d.Domain()) && (p.serial == anyNumber || p.serial == int(d.Serial()))
}

// of returns the replacement of d.
func (p indomPattern) of(d pdu.InDom) pdu.InDom {
	if p.serial == anyNumber {
		p.serial = int(d.Serial())
	}
	return pdu.InDom(p.domain&511<<22 | p.serial&(1<<22-1))
}

// The targets.
type (
	// globalTarget is the label of the archive and all its times.
	globalTarget struct{}

	// indomTarget selects instance domains.
	indomTarget struct{ id indomPattern }

	// metricTarget selects one metric by name or, if name is empty, metrics by identifier.
	metricTarget struct {
		name string
		id   pmidPattern
	}

	// textTarget selects help texts of metric or, if that is nil, of indom. If neither oneLine nor
	// help is set, it selects one-line texts. A non-empty content selects only texts equal to it.
	textTarget struct {
		metric        *metricTarget
		indom         *indomTarget
		oneLine, help bool
		content       string
	}

	// labelTarget selects labels of one class: of the context, of the domain or cluster in
	// metric.id, of metrics, of indom or of its instances. An empty name or value selects all.
	// value is JSON.
	labelTarget struct {
		class    pdu.LabelClass
		metric   metricTarget
		indom    indomTarget
		instance instancePattern
		name     string
		value    string
		named    bool // the rule has a name, which may be empty
	}
)

func (globalTarget) target() {}
func (indomTarget) target()  {}
func (metricTarget) target() {}
func (textTarget) target()   {}
func (labelTarget) target()  {}

// An instancePattern selects one instance by external name or identifier, or all instances.
type instancePattern struct {
	by   instanceBy
	name string
	id   pdu.InstID
}

// An instanceBy says which field of an instancePattern to compare.
type instanceBy uint8

const (
	byNothing instanceBy = iota // all instances
	byName
	byID
)

// A change is one clause of a rule.
type change interface{ change() }

// The changes.
type (
	// setHost sets the name of the host in the label.
	setHost struct{ name string }
	// setTimeZone sets the time zone in the label, as in $TZ.
	setTimeZone struct{ zone string }
	// setZoneInfo sets the zoneinfo name in a version 3 label, such as :Africa/Timbuktu.
	setZoneInfo struct{ zone string }
	// setFeatures sets the feature bits in a version 3 label.
	setFeatures struct{ bits uint32 }
	// shift adds a duration to all times. A duration under one second has no effect, as in PCP.
	shift struct{ by time.Duration }

	// renameInstance changes the external name of an instance, or deletes the instance. Names match
	// up to the first blank.
	renameInstance struct {
		old, new string
		delete   bool
	}
	// redactInstances replaces all external names with the instance's identifier.
	redactInstances struct{}
	// replaceInstances replaces the first match of a POSIX extended regular expression in the
	// external names of all instances. In the replacement, & is the match and \1 to \9 are its
	// groups. A backslash quotes any other character.
	replaceInstances struct{ find, with string }
	// renumberInstance changes the identifier of an instance, or deletes the instance.
	renumberInstance struct {
		old, new pdu.InstID
		delete   bool
	}
	// moveInDom changes the identifier of an instance domain and all references to it. With
	// duplicate it keeps the old domain too. For a metric it changes the instance domain, or
	// removes it if none is set, and output chooses the value to keep.
	moveInDom struct {
		to        indomPattern
		none      bool
		duplicate bool
		output    outputChoice
	}

	// deletion removes the target.
	deletion struct{}
	// setPMID changes the identifier of a metric, text or label. For labels of domains and clusters
	// it uses only the domain, or the domain and cluster.
	setPMID struct{ to pmidPattern }
	// setName renames a metric. With dupOK another metric may already have the name.
	setName struct {
		name  string
		dupOK bool
	}
	// setType converts the values of a numeric metric to another type, which may be string. If
	// ifType is not nil, it converts only metrics of that type.
	setType struct {
		ifType *pdu.Type
		to     pdu.Type
	}
	// setSem changes the semantics of a metric, not its values.
	setSem struct{ sem pdu.Sem }
	// setUnits changes the units of a metric. Values are converted only with rescale, and only if
	// the dimension stays the same.
	setUnits struct {
		units   pdu.Units
		rescale bool
	}

	// replaceValues edits the values of a string metric as replaceInstances edits names. Several
	// changes apply in order.
	replaceValues struct{ find, with string }

	// setText changes a help text.
	setText struct{ text string }

	// addLabel adds a label whose value is JSON.
	addLabel struct{ name, value string }
	// renameLabel renames labels.
	renameLabel struct{ name string }
	// setLabelValue changes the JSON value of labels.
	setLabelValue struct{ value string }
	// moveInstance moves labels to another instance.
	moveInstance struct{ to pdu.InstID }
)

func (setHost) change()          {}
func (setTimeZone) change()      {}
func (setZoneInfo) change()      {}
func (setFeatures) change()      {}
func (shift) change()            {}
func (renameInstance) change()   {}
func (redactInstances) change()  {}
func (replaceInstances) change() {}
func (replaceValues) change()    {}
func (renumberInstance) change() {}
func (moveInDom) change()        {}
func (deletion) change()         {}
func (setPMID) change()          {}
func (setName) change()          {}
func (setType) change()          {}
func (setSem) change()           {}
func (setUnits) change()         {}
func (setText) change()          {}
func (addLabel) change()         {}
func (renameLabel) change()      {}
func (setLabelValue) change()    {}
func (moveInstance) change()     {}

// An outputChoice says which value of a metric is kept when its instance domain changes.
type outputChoice struct {
	pick     pickKind
	instance instancePattern // for pickInstance
}

// A pickKind says how to choose the value to keep.
type pickKind uint8

// pickAll means pickFirst if the old or new instance domain is NULL.
const (
	pickAll pickKind = iota
	pickFirst
	pickLast
	pickInstance
	pickMin
	pickMax
	pickSum
	pickAvg
)
