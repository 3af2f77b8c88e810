package nodeview

// A family is one of node_exporter's families: the samples with one name.
type family struct {
	name, help string
	kind       kind
	sources    []source
}

// A kind is the type in TYPE.
type kind int

const (
	gauge kind = iota
	counter
	untyped // "unknown" in OpenMetrics
)

// A source is a metric of PCP that supplies samples of a family, one for each instance.
type source struct {
	metric string
	labels []label // labels of all its samples
	by     naming  // returns the label of an instance; nil for a singular metric
	joins  []join  // further labels
	only   int     // the only instance to use, if not 0

	// mul is a factor for values. 0 means that values are converted to the units in the family's
	// name.
	mul float64

	times string                               // a singular metric that is another factor
	value func(v float64) (w float64, ok bool) // then changes values, or omits them; may be nil
}

// A label is a label with its value.
type label struct{ name, value string }

// A naming returns the label of an instance by its name. It returns ok false to omit the instance.
type naming func(instance string) (l label, ok bool)

// A join is a label whose value comes from another metric: that of the instance of the same name,
// or its single value. If the value is missing, the label is omitted or, if it is required, the
// sample.
type join struct {
	label, metric string
	required      bool
	text          func(string) (text string, ok bool) // converts the value, or omits the sample with ok false; may be nil
}

// A collector is a part of the table with the name of node_exporter's collector.
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

// one returns a family of one singular metric.
func one(name string, k kind, metric, help string) family {
	return family{name: name, help: help, kind: k, sources: []source{{metric: metric}}}
}

// device returns the instance name as the label device.
func device(instance string) (label, bool) { return label{"device", instance}, true }

// always returns a function for samples whose information is in their labels.
func always(v float64) func(float64) (float64, bool) {
	return func(float64) (float64, bool) { return v, true }
}
