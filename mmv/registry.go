package mmv

import (
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pcp-go/pcp/pdu"
)

// A Registry holds the metrics of a program. Its methods register metrics and return handles,
// through which the program sets the values. Only Name is required. Set the fields before the
// first method is called, and do not copy a Registry after that. All methods of a Registry, of its
// instance domains and of its handles are safe for concurrent use.
//
// A registration always returns a handle that counts. Errors of registrations are returned by Err
// and Publish and logged by Logger:
//
//	what is invalid                                   result
//	name, Type, Sem or Item of a metric; too many     the metric is not exported
//	name or Serial of an instance domain              its metrics are not exported
//	name or number of an instance                     the instance is not exported
//	a label                                           the label is left out
//	too many labels, or labels with Version below 3   all labels of the call are left out
//	Text or Help too long, or with a NUL              it is cut
//	bounds or quantiles of a Histogram                the one bound 1, and no quantiles
//	Name of the Registry                              nothing is exported
//
// The values are exported when Publish writes a file for pmdammv, when an agent in the same
// process serves Source, or both.
//
// Registry is the counterpart of mmv_stats_registry(3). Unlike there, metrics can be added at any
// time.
type Registry struct {
	// Name is the name of the file and part of the metrics' names: a metric "requests" is
	// mmv.NAME.requests. It is a letter, followed by letters, digits and "_", or several such words
	// with dots between them. With NoPrefix it may have "-" too.
	Name string

	// Cluster is the second part of the metrics' PMIDs, 70.CLUSTER.ITEM, from 1 to 2047. 0
	// means a number computed from Name, which is the same on every host and after every restart.
	// Programs of one host should have different clusters. Err reports a clash that Publish finds.
	Cluster int

	// NoPrefix leaves Name out of the metrics' names: mmv.requests.
	NoPrefix bool

	// Process says whether agents serve the file only while this process lives.
	Process ProcessCheck

	// Version is the version of the file. 0 means the lowest version that can hold the metrics.
	Version Version

	// Labels are labels of all metrics. Agents add {"agent":"mmv"}.
	Labels Labels

	// Logger logs the errors of Err, each once, from the first Publish or Source on: invalid
	// registrations, and a file that cannot be written or that another program has replaced.
	// Similar messages are limited in rate. It is called without a lock of the registry, so its
	// handler may be one of LogHandler. nil means slog.Default().
	Logger *slog.Logger

	mu         sync.Mutex
	started    bool
	version    Version // the lowest that can hold all
	metrics    []*metric
	domains    []*InDom
	cells      []*cell // of metrics and instances that an image has
	labels     []label
	names      map[string]*metric // by name
	groups     map[string]*metric // by prefix, such as "a.b" of "a.b.c": one metric below it
	items      map[int]*metric
	serials    map[int]*InDom
	inDoms     map[string]*InDom
	errs       []error // what was wrong with registrations
	dropped    int     // errors that errs has no room for
	last       uint64  // generation
	stale      bool    // the image has what has been removed
	file       publication
	log        problemLog
	onRead     []func()
	reading    sync.Mutex // while those are called
	image      atomic.Pointer[image]
	histograms map[*Histogram]*instance
	runtimes   map[string]uintptr // where AddRuntime was called, by prefix
}

// maxErrors is how many errors of registrations a Registry keeps.
const maxErrors = 100

// A Metric describes a metric at its registration. All fields are optional.
type Metric struct {
	Text  string    // one line that says what it is, up to 255 bytes
	Help  string    // more than one line, up to 255 bytes
	Units pdu.Units // such as pdu.UnitCount, pdu.TimeSec or pdu.SpaceByte
	Sem   pdu.Sem   // 0: that of the handle

	// Type is the type of the values in the file, such as new(pdu.TypeU32). nil means the type of
	// the handle. Handles of numbers accept any type of numbers. All handles accept
	// pdu.TypeNoSupport, which exports the metric without values.
	Type *pdu.Type

	// Item is the third part of the PMID, 1 to 1023. 0 means a number computed from the name.
	// It is the same after every restart and does not depend on other metrics, unless two names
	// give the same number. Then the later registration gets the next free one.
	Item int

	Labels Labels
}

// A metric is a registered metric.
type metric struct {
	registry *Registry
	name     string
	Metric
	typ   valueType // in the file
	cells valueType // of the cells: the handle's own instead of typeNoSupport
	index int       // in Registry.metrics
	dom   *InDom
	bad   bool // it is in no image
	adds  bool // as class.adds
	where uintptr
}

// A class is what handles of one type have in common.
type class struct {
	typ     valueType
	sem     pdu.Sem
	numeric bool // any type of numbers will do
	adds    bool // handles only add to numbers, none sets one
}

var (
	counterClass      = class{typeU64, pdu.SemCounter, true, true}
	floatCounterClass = class{typeDouble, pdu.SemCounter, true, true}
	gaugeClass        = class{type64, pdu.SemInstant, true, false}
	floatGaugeClass   = class{typeDouble, pdu.SemInstant, true, false}
	timerClass        = class{typeElapsed, pdu.SemCounter, false, false}
	textClass         = class{typeString, pdu.SemDiscrete, false, false}
)

// Counter registers a metric and returns its handle.
func (r *Registry) Counter(name string, m Metric) *Counter {
	c := new(Counter)
	r.single(&c.cell, name, m, counterClass)
	return c
}

// FloatCounter registers a metric and returns its handle.
func (r *Registry) FloatCounter(name string, m Metric) *FloatCounter {
	c := new(FloatCounter)
	r.single(&c.cell, name, m, floatCounterClass)
	return c
}

// Gauge registers a metric and returns its handle.
func (r *Registry) Gauge(name string, m Metric) *Gauge {
	g := new(Gauge)
	r.single(&g.cell, name, m, gaugeClass)
	return g
}

// FloatGauge registers a metric and returns its handle.
func (r *Registry) FloatGauge(name string, m Metric) *FloatGauge {
	g := new(FloatGauge)
	r.single(&g.cell, name, m, floatGaugeClass)
	return g
}

// Timer registers a metric and returns its handle. Units and semantics are always microseconds and
// pdu.SemCounter.
func (r *Registry) Timer(name string, m Metric) *Timer {
	t := new(Timer)
	r.single(&t.cell, name, m, timerClass)
	return t
}

// Text registers a metric of strings of up to 254 bytes and returns its handle.
func (r *Registry) Text(name string, m Metric) *Text {
	t := new(Text)
	r.single(&t.cell, name, m, textClass)
	return t
}

// single registers a metric without a domain, whose only value is c.
func (r *Registry) single(c *cell, name string, m Metric, k class) {
	r.mu.Lock()
	defer r.unlock()
	where := r.start()
	c.init(r.metric(where, name, m, k, nil), nil)
	r.add(c)
	r.grow()
}

// add adds a value to those that images have.
func (r *Registry) add(c *cell) {
	if !c.metric.bad && (c.inst == nil || !c.inst.bad) {
		r.cells = append(r.cells, c)
	}
}

// start is called by all methods that register, with r.mu. It returns where the program called
// them.
func (r *Registry) start() (where uintptr) {
	where = callSite()
	if r.started {
		return where
	}
	r.started = true
	r.names, r.groups, r.items = make(map[string]*metric), make(map[string]*metric), make(map[int]*metric)
	r.serials, r.inDoms = make(map[int]*InDom), make(map[string]*InDom)
	r.histograms, r.runtimes = make(map[*Histogram]*instance), make(map[string]uintptr)
	r.version = version1
	if !r.isFileName() || len(r.Name) > maxNameLen {
		r.fail(where, "Registry.Name %q: %s", r.Name, nameRule)
	}
	if r.Cluster == 0 {
		r.Cluster = hash(r.Name)%safeCluster + 1
	} else if r.Cluster < 0 || r.Cluster > safeCluster {
		r.fail(where, "Registry.Cluster %d: out of range (1..%d)", r.Cluster, safeCluster)
	}
	if r.Version != 0 && !r.Version.valid() {
		r.fail(where, "Registry.Version %d: there are 1, 2 and 3", r.Version)
		r.Version = 0
	}
	r.addLabels(where, "Registry", r.Labels, pdu.LabelCluster, uint32(r.Cluster), nil)
	return where
}

// AddLabels adds labels of all metrics, or replaces those with the same names.
func (r *Registry) AddLabels(l Labels) {
	r.mu.Lock()
	defer r.unlock()
	r.addLabels(r.start(), "Registry", l, pdu.LabelCluster, uint32(r.Cluster), nil)
	r.grow()
}

// addLabels adds labels of something that owner names in errors.
func (r *Registry) addLabels(where uintptr, owner string, l Labels, c pdu.LabelClass, identity uint32, inst *instance) {
	records, err := l.encode(c, identity, inst)
	r.failEach(where, owner, err)
	if len(records) == 0 {
		return
	}
	if r.Version != 0 && r.Version < version3 {
		r.fail(where, "%s: labels need version %d, Registry.Version is %d", owner, version3, r.Version)
		return
	}
	kept := slices.DeleteFunc(slices.Clone(r.labels), func(l label) bool { return slices.ContainsFunc(records, l.same) })
	if n := len(kept) + len(records); n > maxLabels {
		r.fail(where, "%s: %d labels are too many, limit %d", owner, n, maxLabels)
		return
	}
	r.stale = r.stale || len(kept) < len(r.labels)
	r.version = version3
	r.labels = append(kept, records...)
}

// metric registers a metric. It is bad if something is wrong.
func (r *Registry) metric(where uintptr, name string, spec Metric, k class, dom *InDom) *metric {
	m := &metric{registry: r, name: name, Metric: spec, typ: k.typ, adds: k.adds, dom: dom, where: where}
	r.failEach(where, fmt.Sprintf("metric %q", name), r.check(m, k))
	if m.cells = m.typ; m.typ == typeNoSupport {
		m.cells = k.typ
	}
	if m.bad = m.bad || dom != nil && dom.bad; m.bad {
		return m
	}
	if m.Sem == 0 || m.typ == typeElapsed {
		m.Sem = k.sem
	}
	if m.typ == typeElapsed {
		m.Units = pdu.TimeUSec
	}
	if m.Item == 0 {
		m.Item = free(r.items, hash(name), 1, maxItem)
	}
	m.index = len(r.metrics)
	r.metrics = append(r.metrics, m)
	r.names[name], r.items[m.Item] = m, m
	for i := range name {
		if name[i] == '.' {
			r.groups[name[:i]] = m
		}
	}
	if len(name) > maxShortName {
		r.version = max(r.version, version2)
	}
	r.addLabels(where, fmt.Sprintf("metric %q", name), m.Labels, pdu.LabelItem, uint32(m.Item), nil)
	return m
}

// check returns an error if a metric is invalid, and marks it as bad.
func (r *Registry) check(m *metric, k class) error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !isName(m.name) {
		wrong(nameRule)
	}
	if limit := r.maxName(); len(m.name) > limit {
		wrong("the name has %d bytes, limit %d", len(m.name), limit)
	}
	if r.isReserved(m.name) {
		wrong("agents have metrics mmv.control.reload, debug, files and metrics of their own")
	}
	if same := r.names[m.name]; same != nil {
		wrong("already registered at %s", site(same.where))
	} else if below := r.groups[m.name]; below != nil {
		wrong("registered at %s is %q, whose name begins with this one and a dot", site(below.where), below.name)
	}
	for i := range m.name {
		if above := r.names[m.name[:i]]; m.name[i] == '.' && above != nil {
			wrong("%q is a metric, registered at %s", above.name, site(above.where))
		}
	}
	if m.Type != nil {
		m.typ = valueType(*m.Type)
	}
	if ok := m.typ == k.typ || m.typ == typeNoSupport || k.numeric && m.typ.isKnown() && m.typ <= typeDouble; !ok {
		wrong("type %v is not one that this handle can have", m.typ)
		m.typ = k.typ
	}
	if m.Sem != 0 && m.Sem != pdu.SemCounter && m.Sem != pdu.SemInstant && m.Sem != pdu.SemDiscrete {
		wrong("semantics %d do not exist", m.Sem)
	}
	if m.Item < 0 || m.Item > maxItem {
		wrong("item %d is out of range (1..%d)", m.Item, maxItem)
	} else if same := r.items[m.Item]; same != nil {
		wrong("item %d is that of %q, registered at %s", m.Item, same.name, site(same.where))
	}
	if len(r.metrics) == maxMetrics {
		wrong("there are %d metrics, which is the limit", maxMetrics)
	}
	m.bad = errs != nil
	return errors.Join(append(errs, checkTexts(m.Text, m.Help))...)
}

// maxName is how long a name may be.
func (r *Registry) maxName() int {
	if r.Version == version1 {
		return maxShortName
	}
	return maxNameLen
}

func checkTexts(short, long string) error {
	var errs []error
	for i, s := range [...]string{short, long} {
		what := [...]string{"Text", "Help"}[i]
		if len(s) > maxText {
			errs = append(errs, fmt.Errorf("%s has %d bytes, limit %d: it is cut", what, len(s), maxText))
		}
		if strings.Contains(s, "\x00") {
			errs = append(errs, fmt.Errorf("%s has a NUL: it is cut there", what))
		}
	}
	return errors.Join(errs...)
}

// isFileName reports whether Name can be exported. With NoPrefix it only names the file, which may
// have dashes, unlike a name of metrics.
func (r *Registry) isFileName() bool {
	return isName(r.Name) || r.NoPrefix && isName(strings.ReplaceAll(r.Name, "-", "_"))
}

// isReserved reports whether a metric would collide with one of the agent itself.
func (r *Registry) isReserved(name string) bool {
	if !r.NoPrefix {
		name = r.Name + "." + name
	}
	rest, ok := strings.CutPrefix(name+".", "control.")
	first, _, _ := strings.Cut(rest, ".")
	return ok && slices.Contains([]string{"", "reload", "debug", "files", "metrics"}, first)
}

// hash is a number that depends on a name only.
func hash(name string) int {
	h := fnv.New32a()
	h.Write([]byte(name))
	return int(h.Sum32() >> 1)
}

// free is a number from low to high that is not used: start brought into the range, or the next
// free one.
func free[N ~int | ~int32, V any](used map[N]V, start int, low, high N) N {
	n := low + N(int64(start)%(int64(high)-int64(low)+1))
	for {
		if _, ok := used[n]; !ok {
			return n
		}
		if n++; n > high || n < low {
			n = low
		}
	}
}

// Err returns the errors of registrations, each with the place in the program, and of the file of
// Publish. It returns nil if nothing is wrong. Errors of registrations stay. An error in writing
// the file disappears when the file is written. An error caused by the file of another program or
// registry stays until Publish or Close is called.
func (r *Registry) Err() error {
	r.mu.Lock()
	defer r.unlock()
	return r.err()
}

func (r *Registry) err() error {
	errs := slices.Clone(r.errs)
	if r.dropped > 0 {
		errs = append(errs, fmt.Errorf("mmv: %d more errors", r.dropped))
	}
	return errors.Join(append(errs, r.file.err, r.file.clash)...)
}

// fail adds an error of a registration.
func (r *Registry) fail(where uintptr, format string, args ...any) {
	if len(r.errs) == maxErrors {
		r.dropped++
		return
	}
	r.errs = append(r.errs, fmt.Errorf("mmv: %s: %w", site(where), fmt.Errorf(format, args...)))
}

// failEach adds an error of a registration for each that is in err, which may be nil, or made by
// errors.Join.
func (r *Registry) failEach(where uintptr, owner string, err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			r.failEach(where, owner, e)
		}
	} else if err != nil {
		r.fail(where, "%s: %w", owner, err)
	}
}

// callSite is the place in the program that called this package.
func callSite() uintptr {
	var pcs [8]uintptr
	n := runtime.Callers(2, pcs[:])
	for _, pc := range pcs[:n] {
		if f := runtime.FuncForPC(pc - 1); f != nil && !strings.HasPrefix(f.Name(), pkg+".") {
			return pc
		}
	}
	return 0
}

const pkg = "github.com/pcp-go/pcp/mmv"

// site is a place in the program as FILE:LINE.
func site(pc uintptr) string {
	f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	if f.File == "" {
		return "?"
	}
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

// OnRead registers a function that is called before values are read: by Source, and every second
// while a file is published. It is for values that come from elsewhere, such as the size of a
// heap, and sets their handles. The functions of a registry never run concurrently. They may
// register metrics, but must not call Source, Publish or Close.
func (r *Registry) OnRead(f func()) {
	r.mu.Lock()
	defer r.unlock()
	r.onRead = append(r.onRead, f)
}

// read calls the functions of OnRead and computes the quantiles of histograms.
func (r *Registry) read() {
	r.mu.Lock()
	functions := r.onRead
	r.unlock()
	r.reading.Lock()
	defer r.reading.Unlock()
	for _, f := range functions {
		f()
	}
	r.mu.Lock()
	defer r.unlock()
	for h := range r.histograms {
		h.updateQuantiles()
	}
}
