package pmdaproc

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A hotList is the list of the processes that match a condition. It is evaluated periodically.
type hotList struct {
	p       *proc
	changed chan struct{} // buffered by one: the condition or the interval changed

	mu         sync.Mutex
	condition  condition // nil if there is none
	interval   time.Duration
	generation uint32
	last       evaluation

	// Only the goroutine that evaluates uses the following fields.
	loaded  bool // the file was read, or is missing
	sampler *sampler
}

// An evaluation is the result of evaluating the condition. Its map does not change.
type evaluation struct {
	hot    map[pid]*hotProcess
	totals totals
}

// A hotProcess is a process that has matched the condition.
type hotProcess struct {
	uid    int
	inode  uint64 // of its directory, to tell it from another process with its PID
	values variables
}

// totals are the processor use between two evaluations, in processors.
type totals struct{ idle, burn, transient, notBurn, other, percent float32 }

// defaultInterval is the interval of evaluations unless a client changes it.
const defaultInterval = 10 * time.Second

// addHotproc adds the metrics that control hotproc and those of its evaluation.
func (p *proc) addHotproc() {
	h := &hotList{p: p, interval: defaultInterval, changed: make(chan struct{}, 1)}
	h.sampler = newSampler(p)
	p.hotList = h
	p.Background(h.run)
	h.addControl()
	h.addTotals()
	h.addVariables()
}

// run evaluates the condition while the agent is served.
func (h *hotList) run(ctx context.Context) {
	if !h.loaded {
		h.loaded = true
		if err := h.load(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			h.p.Log().Warn("no condition for hotproc", slog.Any("err", err))
		}
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		h.setTimer(timer)
		select {
		case <-ctx.Done():
			return
		case <-h.changed:
		case <-timer.C:
			h.evaluate()
		}
	}
}

// setTimer sets the timer to the next evaluation, or stops it without a condition or an interval.
func (h *hotList) setTimer(timer *time.Timer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	timer.Stop()
	if h.condition != nil && h.interval > 0 {
		timer.Reset(h.interval)
	}
}

// evaluate evaluates the condition for all processes.
func (h *hotList) evaluate() {
	h.mu.Lock()
	c := h.condition
	h.mu.Unlock()
	if c == nil {
		return
	}
	e, err := h.sampler.evaluate(c, time.Now())
	if err != nil {
		h.p.Log().Warn("cannot look for hot processes", slog.Any("err", err))
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.condition != nil { // not switched off meanwhile
		h.last = e
	}
}

// evaluated returns the last evaluation.
func (h *hotList) evaluated() evaluation {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last
}

// set parses a text and sets the condition. An empty text switches hotproc off.
func (h *hotList) set(text string, generation func(old uint32) uint32) error {
	c, err := parseCondition(text)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.condition = c
	if h.generation = generation(h.generation); c == nil {
		h.generation, h.last.hot = 0, nil
	}
	h.wake()
	return nil
}

// wake makes run reset its timer.
func (h *hotList) wake() {
	select {
	case h.changed <- struct{}{}:
	default:
	}
}

// load reads the condition from the configured file. If that fails the condition stays.
func (h *hotList) load() error {
	path := h.p.HotprocConfig
	if path == "" {
		return fs.ErrNotExist
	}
	at, err := os.Stat(path)
	if err != nil {
		return err
	}
	if at.Mode()&0o002 != 0 {
		return errors.New(path + ": all users may write to the file")
	}
	text, err := readLimited(path, maxCondition+1)
	if err != nil {
		return err
	}
	return h.set(string(text), func(uint32) uint32 { return 1 })
}

// addControl adds the settings.
func (h *hotList) addControl() {
	p := h.p
	pmda.Register(p.Agent, pmda.Metric[uint32]{Name: "hotproc.control.refresh", ID: pmda.Item(60, 1),
		Text: "Seconds from one search for hot processes to the next",
		Help: "The root user can set it. With 0 there is none.",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			return uint32(h.interval / time.Second), nil
		},
		Store: rootOnly(func(v uint32) error {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.interval = time.Duration(v) * time.Second
			h.wake()
			return nil
		}),
	})
	pmda.Register(p.Agent, pmda.Metric[string]{Name: "hotproc.control.config", ID: pmda.Item(60, 8),
		Text: "Condition that hot processes meet",
		Help: conditionHelp,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (string, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.condition == nil {
				return "", nil
			}
			return h.condition.String(), nil
		},
		Store: rootOnly(func(v string) error {
			if err := h.set(v, func(old uint32) uint32 { return old + 1 }); err != nil {
				p.Log().Warn("bad condition for hotproc", slog.Any("err", err))
				return pdu.ErrBadStore
			}
			return nil
		}),
	})
	pmda.Register(p.Agent, pmda.Metric[uint32]{Name: "hotproc.control.config_gen", ID: pmda.Item(60, 9),
		Text: "How often the condition was set, 0 if there is none",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			return h.generation, nil
		},
	})
	pmda.Register(p.Agent, pmda.Metric[uint32]{Name: "hotproc.control.reload_config", ID: pmda.Item(60, 10),
		Text:  "Always 0; a store of any number reads the condition from its file again",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) { return 0, nil },
		Store: rootOnly(func(uint32) error {
			if err := h.load(); err != nil {
				p.Log().Warn("the condition for hotproc stays as it is", slog.Any("err", err))
			}
			return nil
		}),
	})
}

const conditionHelp = `The root user can set it; an empty one switches hotproc off. A condition compares
numbers with < <= > >= == !=, texts with == !=, and texts with patterns between slashes
with ~ !~; comparisons are joined by && || ! and parentheses. Numbers: uid gid cpuburn
ctxswitch virtualsize residentsize iodemand iowait schedwait. Texts: uname gname fname
psargs. For example: uname != "root" && (cpuburn > 0.2 || fname ~ /^java/)`

// rootOnly makes a Store function for the root user.
func rootOnly[T pdu.Scalar](set func(T) error) func(context.Context, *pmda.Request, pdu.Instance, T) error {
	return func(_ context.Context, r *pmda.Request, _ pdu.Instance, v T) error {
		if r.Client == nil || r.Client.UID != 0 {
			return pdu.ErrPermission
		}
		return set(v)
	}
}

// addTotals adds the metrics of the use of processors.
func (h *hotList) addTotals() {
	total := func(item int, name, text string, value func(t *totals) float32) {
		pmda.Register(h.p.Agent, pmda.Metric[float32]{Name: name, ID: pmda.Item(60, item), Text: text,
			Value: func(context.Context, *pmda.Request, pdu.Instance) (float32, error) {
				e := h.evaluated()
				return value(&e.totals), nil
			}})
	}
	total(2, "hotproc.total.cpuidle", "Processors that were idle", func(t *totals) float32 { return t.idle })
	total(3, "hotproc.total.cpuburn", "Processors that hot processes have used", func(t *totals) float32 { return t.burn })
	total(4, "hotproc.total.cpuother.transient", "Processors that processes have used which were not there at both evaluations", func(t *totals) float32 { return t.transient })
	total(5, "hotproc.total.cpuother.not_cpuburn", "Processors that processes have used which are not hot", func(t *totals) float32 { return t.notBurn })
	total(6, "hotproc.total.cpuother.total", "Processors that others than hot processes have used", func(t *totals) float32 { return t.other })
	total(7, "hotproc.total.cpuother.percent", "What others than hot processes have used, in percent of all that was used", func(t *totals) float32 { return t.percent })
}

// addVariables adds the metrics of the variables of the condition.
func (h *hotList) addVariables() {
	addVariable[float32](h, 1, "hotproc.predicate.ctxswitch", varCtxSwitch, pdu.UnitCount|pdu.PerSec, "Times a second that the process was given a processor and lost it")
	addVariable[uint32](h, 2, "hotproc.predicate.virtualsize", varVirtualSize, pdu.SpaceKByte, "Virtual memory of the process")
	addVariable[uint32](h, 3, "hotproc.predicate.residentsize", varResidentSize, pdu.SpaceKByte, "Main memory that the process has")
	addVariable[float32](h, 4, "hotproc.predicate.iodemand", varIODemand, pdu.SpaceKByte|pdu.PerSec, "What the process reads from disks and writes to them")
	addVariable[float32](h, 5, "hotproc.predicate.iowait", varIOWait, 0, "Part of the time that the process has waited for disks")
	addVariable[float32](h, 6, "hotproc.predicate.schedwait", varSchedWait, 0, "Part of the time that the process has waited for a processor")
	addVariable[float32](h, 7, "hotproc.predicate.cpuburn", varCPUBurn, 0, "Part of the time that the process has run")
}

// addVariable adds a variable of the condition. The I/O of a process is visible only to its user
// because the kernel shows it to no other user.
func addVariable[V float32 | uint32](h *hotList, item int, name string, variable int, units pdu.Units, text string) {
	t := h.p.hot
	pmda.Register(h.p.Agent, pmda.Metric[V]{Name: name, ID: pmda.Item(61, item), InDom: t.indom, Units: units, Text: text,
		Values: func(_ context.Context, _ *pmda.Request, s *pmda.Values[V]) error {
			if !t.view.access {
				return pdu.ErrPermission
			}
			for _, p := range t.list {
				hot := t.hot[p.id]
				if hot == nil || variable == varIODemand && t.view.switches && hot.uid != t.view.uid {
					continue
				}
				s.Put(p.id, V(hot.values.numbers[variable]))
			}
			return nil
		}})
}
