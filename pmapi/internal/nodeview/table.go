package nodeview

// A family is one of node_exporter's: the samples of one name.
type family struct {
	name, help string
	kind       kind
	sources    []source
}

// A kind is what TYPE says.
type kind int

const (
	gauge kind = iota
	counter
	untyped // "unknown" in OpenMetrics
)

// A source is a metric of PCP that gives samples to a family: one for each instance.
type source struct {
	metric string
	labels []label // that all of its samples have
	by     naming  // the labels of an instance; nil for a metric of a single value
	joins  []join  // further labels
	only   int     // the one instance that counts, if it is not 0

	// mul is the factor for values. 0 means that values are converted to the units in the
	// family's name.
	mul float64

	times string                               // a metric of a single value that values are multiplied with, besides
	value func(v float64) (w float64, ok bool) // changes values further, or leaves them out; nil means no change
}

// A label is one with its value.
type label struct{ name, value string }

// A naming makes the label of an instance from its name; ok is false for an instance that is left
// out.
type naming func(instance string) (l label, ok bool)

// A join is a label whose value is that of another metric: of the instance of the same name, or its
// single one. A sample whose label is not known has it empty or, if it is required, is left out.
type join struct {
	label, metric string
	required      bool
	text          func(string) (text string, ok bool) // of the value; nil means the value itself, and ok false that the sample is left out
}

// A collector is a part of the table, named as node_exporter's are.
type collector struct {
	name     string
	families []family
}

// collectors lists the collectors in the order of the page.
var collectors = []collector{
	{"cpu", cpuFamilies}, {"cpufreq", cpufreqFamilies}, {"diskstats", diskFamilies}, {"entropy", entropyFamilies}, {"filefd", filefdFamilies},
	{"filesystem", filesystemFamilies}, {"loadavg", loadFamilies}, {"meminfo", meminfoFamilies}, {"netclass", netclassFamilies},
	{"netdev", netdevFamilies}, {"netstat", netstatFamilies}, {"nfs", nfsFamilies}, {"nfsd", nfsdFamilies}, {"pressure", pressureFamilies},
	{"sockstat", sockstatFamilies}, {"softnet", softnetFamilies}, {"stat", statFamilies}, {"uname", unameFamilies}, {"vmstat", vmstatFamilies},
}

// one is a family of one metric without instances.
func one(name string, k kind, metric, help string) family {
	return family{name: name, help: help, kind: k, sources: []source{{metric: metric}}}
}

// device uses the instance's name, unchanged, as the label device.
func device(instance string) (label, bool) { return label{"device", instance}, true }

// always is the value of samples that say something in their labels.
func always(v float64) func(float64) (float64, bool) {
	return func(float64) (float64, bool) { return v, true }
}
