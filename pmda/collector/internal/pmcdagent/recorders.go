package pmcdagent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// Loggers and inference engines have files in these directories below TmpDir, named after their
// process identifiers.
const (
	loggersDir = "pmlogger"
	enginesDir = "pmie"
)

// primaryName is the name of instance 0, the primary logger or engine.
const primaryName = "primary"

// recorders holds the contents of the files at the last refresh.
type recorders struct {
	loggers map[pdu.InstID]logger
	engines map[pdu.InstID]engine
}

// A logger holds what a running pmlogger reports about itself: the lines of its file.
type logger struct {
	port                uint32
	host, archive, note string
}

// An engine holds what a running pmie reports about itself.
type engine struct {
	config, log, host                           string
	rules, actions, yes, no, unknown, evaluated uint32
	expected                                    float32
}

// maxLoggerFile is the maximum size of the file of a pmlogger. The file has a host, a path and a
// note, and is much shorter.
const maxLoggerFile = 16 << 10

// readLogger decodes the file of a pmlogger: a line each for its port, the host that it logs, the
// archive and, if any, the note.
func readLogger(b []byte) (l logger, ok bool) {
	lines := strings.Split(string(b), "\n")
	port, err := strconv.ParseUint(lines[0], 10, 32)
	if err != nil {
		return l, false
	}
	l.port = uint32(port)
	for i, field := range []*string{&l.host, &l.archive, &l.note} {
		if i+1 < len(lines) {
			*field = lines[i+1]
		}
	}
	return l, true
}

// The file of a pmie is one record in the byte order of the host:
//
//	0     4097 bytes  rules file, NUL-terminated
//	4097  4097 bytes  log file
//	8194    65 bytes  default host
//	8260  float32     planned evaluations per second
//	8264  uint32      rules, then actions, evaluations that were true, false and
//	                  unknown, and evaluations in all
//	8288  uint32      version of the record, 1
const (
	engineLog      = 4097
	engineHost     = 2 * 4097
	engineHostEnd  = engineHost + 65
	engineNumbers  = 8260
	engineVersion  = 8288
	engineFileSize = 8292
)

// readEngine decodes the file of a pmie.
func readEngine(b []byte) (e engine, ok bool) {
	if len(b) != engineFileSize || binary.NativeEndian.Uint32(b[engineVersion:]) != 1 {
		return e, false
	}
	text := func(from, to int) string {
		s, _, _ := bytes.Cut(b[from:to], []byte{0})
		return string(s)
	}
	e.config, e.log, e.host = text(0, engineLog), text(engineLog, engineHost), text(engineHost, engineHostEnd)
	e.expected = math.Float32frombits(binary.NativeEndian.Uint32(b[engineNumbers:]))
	for i, n := range []*uint32{&e.rules, &e.actions, &e.yes, &e.no, &e.unknown, &e.evaluated} {
		*n = binary.NativeEndian.Uint32(b[engineNumbers+4+4*i:])
	}
	return e, true
}

// readRunning decodes the files in a directory that belong to running processes. It skips missing
// and invalid files, and files that are longer than limit.
func readRunning[T any](dir string, limit int64, decode func([]byte) (T, bool)) map[pdu.InstID]T {
	found := map[pdu.InstID]T{}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		pid, err := strconv.ParseInt(e.Name(), 10, 32)
		if err != nil || pid <= 0 || !processExists(int(pid)) {
			continue
		}
		b, err := readShort(filepath.Join(dir, e.Name()), limit)
		if err != nil {
			continue
		}
		if v, ok := decode(b); ok {
			found[pdu.InstID(pid)] = v
		}
	}
	return found
}

// readShort reads a regular file of at most limit bytes.
func readShort(name string, limit int64) ([]byte, error) {
	if st, err := os.Stat(name); err != nil || !st.Mode().IsRegular() || st.Size() > limit {
		return nil, cmp.Or(err, os.ErrInvalid)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// pidFile returns the process ID in a file, or 0 if the file or the process does not exist.
func pidFile(name string) int {
	b, err := readShort(name, 64)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid <= 0 || !processExists(pid) {
		return 0
	}
	return pid
}

// primaryLogger returns the process ID of the primary pmlogger from the link to its file, or 0
// without that link.
func (p *pmcd) primaryLogger() int {
	to, err := os.Readlink(filepath.Join(p.TmpDir, loggersDir, primaryName))
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(filepath.Base(to))
	return pid
}

// primaryEngine returns the process ID of the primary pmie, or 0 if no primary pmie runs.
func (p *pmcd) primaryEngine() int {
	if p.RunDir == "" {
		return 0
	}
	return pidFile(filepath.Join(p.RunDir, "pmie.pid"))
}

func (p *pmcd) refreshLoggers(context.Context, *pmda.Request) error {
	if p.TmpDir == "" {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recorders.loggers = readRunning(filepath.Join(p.TmpDir, loggersDir), maxLoggerFile, readLogger)
	return setRunning(p.loggers, p.recorders.loggers, p.primaryLogger())
}

func (p *pmcd) refreshEngines(context.Context, *pmda.Request) error {
	if p.TmpDir == "" {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recorders.engines = readRunning(filepath.Join(p.TmpDir, enginesDir), engineFileSize, readEngine)
	return setRunning(p.engines, p.recorders.engines, p.primaryEngine())
}

// setRunning sets the instances of processes. The primary process has two instances.
func setRunning[T any](d *pmda.InDom, found map[pdu.InstID]T, primary int) error {
	if v, ok := found[pdu.InstID(primary)]; ok {
		found[0] = v
	}
	list := make([]pdu.Instance, 0, len(found))
	for id := range found {
		name := strconv.Itoa(int(id))
		if id == 0 {
			name = primaryName
		}
		list = append(list, pdu.Instance{ID: id, Name: name})
	}
	slices.SortFunc(list, func(a, b pdu.Instance) int { return cmp.Compare(a.ID, b.ID) })
	_, err := d.SetInstances(list...)
	return err
}

// recorderMetric registers a metric of the loggers or of the engines. found points to their latest
// list.
func recorderMetric[R any, T pdu.Scalar](p *pmcd, found *map[pdu.InstID]R, value func(R) T, m pmda.Metric[T]) {
	m.Value = func(_ context.Context, _ *pmda.Request, i pdu.Instance) (v T, err error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		r, ok := (*found)[i.ID]
		if !ok {
			return v, pmda.NoValue
		}
		return value(r), nil
	}
	register(p, m)
}

// addLoggers registers pmcd.pmlogger.
func (p *pmcd) addLoggers() {
	add := func(name string, item int, text, help string, value func(logger) string) {
		recorderMetric(p, &p.recorders.loggers, value, pmda.Metric[string]{
			Name: name, ID: pmda.Item(3, item), Sem: pdu.SemDiscrete, InDom: p.loggers,
			Text: text, Help: help,
		})
	}
	add("pmcd.pmlogger.host", 3, "Hosts on which archive loggers run",
		"The name of this host: the collector knows of the loggers here.",
		func(logger) string { return p.Collector.Hostname() })
	recorderMetric(p, &p.recorders.loggers, func(l logger) uint32 { return l.port }, pmda.Metric[uint32]{
		Name: "pmcd.pmlogger.port", ID: pmda.Item(3, 0), Sem: pdu.SemDiscrete, InDom: p.loggers,
		Text: "Ports on which archive loggers can be controlled",
		Help: "The TCP port where a pmlogger waits for pmlc(1).",
	})
	add("pmcd.pmlogger.archive", 2, "Archives that are being written",
		"The path of the archive that a pmlogger writes, without a suffix.",
		func(l logger) string { return l.archive })
	add("pmcd.pmlogger.pmcd_host", 1, "Hosts whose metrics are logged",
		"The host of the collector from which a pmlogger has its values.",
		func(l logger) string { return l.host })
}

// addEngines registers pmcd.pmie.
func (p *pmcd) addEngines() {
	add := func(name string, item int, text, help string, value func(engine) string) {
		recorderMetric(p, &p.recorders.engines, value, pmda.Metric[string]{
			Name: name, ID: pmda.Item(5, item), Sem: pdu.SemDiscrete, InDom: p.engines,
			Text: text, Help: help,
		})
	}
	count := func(name string, item int, text, help string, value func(engine) uint32) {
		recorderMetric(p, &p.recorders.engines, value, pmda.Metric[uint32]{
			Name: name, ID: pmda.Item(5, item), Sem: pdu.SemCounter, Units: pdu.UnitCount, InDom: p.engines,
			Text: text, Help: help,
		})
	}
	add("pmcd.pmie.configfile", 0, "Files with the rules of inference engines",
		`The file that a pmie has its rules from; "<stdin>" for its standard input.`,
		func(e engine) string { return e.config })
	add("pmcd.pmie.logfile", 1, "Log files of inference engines",
		`The file to which a pmie writes what it reports; "<none>" if there is none.`,
		func(e engine) string { return e.log })
	add("pmcd.pmie.pmcd_host", 2, "Hosts that inference engines look at",
		"The host of the metrics in rules of a pmie that name no host.",
		func(e engine) string { return e.host })
	recorderMetric(p, &p.recorders.engines, func(e engine) uint32 { return e.rules }, pmda.Metric[uint32]{
		Name: "pmcd.pmie.numrules", ID: pmda.Item(5, 3), Sem: pdu.SemDiscrete, InDom: p.engines,
		Text: "Rules of inference engines", Help: "The number of rules that a pmie evaluates.",
	})
	count("pmcd.pmie.actions", 4, "Actions of inference engines",
		"How often a rule of a pmie has led to an action.", func(e engine) uint32 { return e.actions })
	count("pmcd.pmie.eval.true", 5, "Rules that were found true",
		"How often a pmie has evaluated a rule as true.", func(e engine) uint32 { return e.yes })
	count("pmcd.pmie.eval.false", 6, "Rules that were found false",
		"How often a pmie has evaluated a rule as false.", func(e engine) uint32 { return e.no })
	count("pmcd.pmie.eval.unknown", 7, "Rules of which it was not known whether they are true",
		"How often a pmie could not evaluate a rule for want of values.", func(e engine) uint32 { return e.unknown })
	recorderMetric(p, &p.recorders.engines, func(e engine) float32 { return e.expected }, pmda.Metric[float32]{
		Name: "pmcd.pmie.eval.expected", ID: pmda.Item(5, 8), Sem: pdu.SemDiscrete, InDom: p.engines,
		Units: pdu.UnitCount | pdu.PerSec,
		Text:  "Rate at which rules are to be evaluated",
		Help:  "The evaluations per second that the rules of a pmie ask for.",
	})
	count("pmcd.pmie.eval.actual", 9, "Rules that were evaluated",
		"How often a pmie has evaluated a rule.", func(e engine) uint32 { return e.evaluated })
}
