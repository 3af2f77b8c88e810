package pmdaproc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// accounting has the kernel's records of recently ended processes.
type accounting struct {
	p     *proc
	group *pmda.Group
	indom *pmda.InDom

	// The lock of the group guards the following fields. mu also guards the file.
	mu       sync.Mutex
	served   bool // while the agent is served
	file     acctFile
	list     []*acctRecord // the oldest first
	known    map[pid]*acctRecord
	names    []pdu.Instance
	shorten  time.Time // when to look at the length of the private file
	failure  string    // that was logged
	settings acctSettings
}

// acctSettings are the settings that clients may store into acct.control, in seconds and bytes.
type acctSettings struct {
	retry, check, lifetime, refresh, enable uint32
	threshold                               uint64
}

// maxEnded is the maximum number of ended processes that are kept. The oldest are dropped.
const maxEnded = 5000

// addAccounting adds the metrics of ended processes.
func (p *proc) addAccounting() {
	a := &accounting{p: p, known: map[pid]*acctRecord{}, settings: acctSettings{retry: 60, check: 600, lifetime: 60, refresh: 600, threshold: 10 << 20}}
	a.file.paths = []string{p.path("var/log/account/pacct"), p.path("var/account/pacct")}
	a.group = p.Group(a.refresh)
	a.indom = &pmda.InDom{Serial: pmda.InDomSerial(40), Name: "ended process", Group: a.group,
		Text: "Processes that have ended lately", Help: "The ID of an instance is that of the process, its name the command's. Names need not be\nunique."}
	p.Attach(a.indom)
	p.Use(func(next pmda.Handler) pmda.Handler { return acctHandler{next, a} })
	p.Background(a.closeAtEnd)
	a.addMetrics()
	a.addControl()
}

// closeAtEnd switches accounting off when the agent ends, if the agent has switched it on.
func (a *accounting) closeAtEnd(ctx context.Context) {
	a.setServed(true)
	defer a.setServed(false)
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C: // even if no client fetches
			a.mu.Lock()
			a.file.shorten(a.settings.threshold)
			a.mu.Unlock()
		}
	}
}

func (a *accounting) setServed(served bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch a.served = served; {
	case !served:
		a.file.close()
	case a.p.PrivateAccounting != "":
		endAccounting(a.p.PrivateAccounting)
	}
	a.file.next = time.Time{}
}

// mayEnable reports whether the agent may switch process accounting on.
func (a *accounting) mayEnable() bool { return a.served && a.settings.enable != 0 }

// refresh reads new records, for clients that may see processes.
func (a *accounting) refresh(ctx context.Context, _ *pmda.Request) error {
	v := viewOf(ctx)
	if !v.access {
		if v.instances {
			return pdu.ErrPermission
		}
		return nil
	}
	if v.switches {
		a.updateAsAgent()
	} else {
		a.update(time.Now())
	}
	return a.setInstances()
}

// updateAsAgent is update with the rights of the agent, for a thread that has the rights of a
// client.
func (a *accounting) updateAsAgent() {
	var failure any
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { failure = recover() }()
		a.update(time.Now())
	}()
	if <-done; failure != nil {
		panic(failure)
	}
}

// update opens the file if that is due, reads new records, and drops old ones.
func (a *accounting) update(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := &a.file
	if p := a.p.AccountingFile; p != "" && f.paths[0] != p {
		f.paths = slices.Insert(f.paths, 0, p)
	}
	f.private = a.p.PrivateAccounting
	oldest := now.Add(-time.Duration(a.settings.lifetime) * time.Second)
	each := func(b []byte) { a.add(b, oldest) }
	err := f.read(maxEnded, each)
	if !now.Before(f.next) || f.f != nil && err != nil {
		if f.f == nil || err != nil || a.mayEnable() && !f.grows() {
			err = f.open(a.mayEnable())
		}
		wait := a.settings.check
		if err != nil {
			f.close()
			wait = a.settings.retry
		}
		f.next = now.Add(time.Duration(wait) * time.Second)
		a.log(err)
	}
	if !now.Before(a.shorten) {
		a.shorten = now.Add(time.Duration(a.settings.refresh) * time.Second)
		f.shorten(a.settings.threshold)
	}
	a.expire(oldest)
}

// log logs an error once. The absence of accounting is an error only if it was requested.
func (a *accounting) log(err error) {
	if err == nil || a.settings.enable == 0 && errors.Is(err, errNoAccounting) {
		a.failure = ""
		return
	}
	if text := err.Error(); text != a.failure {
		a.failure = text
		a.p.Log().Warn("no process accounting", slog.Any("err", err))
	}
}

// add adds the process of a record, unless it ended too long ago or is already listed.
func (a *accounting) add(record []byte, oldest time.Time) {
	r, ok := parseAcctRecord(record)
	id := pid(r.pid)
	if !ok || id <= 0 || a.known[id] != nil || r.ended(a.p.hertz()).Before(oldest) {
		return
	}
	if len(a.list) == maxEnded {
		delete(a.known, pid(a.list[0].pid))
		a.list = slices.Delete(a.list, 0, 1)
	}
	a.list = append(a.list, &r)
	a.known[id] = &r
}

// expire drops processes that ended too long ago.
func (a *accounting) expire(oldest time.Time) {
	a.list = slices.DeleteFunc(a.list, func(r *acctRecord) bool {
		old := r.ended(a.p.hertz()).Before(oldest)
		if old {
			delete(a.known, pid(r.pid))
		}
		return old
	})
}

// setInstances sets the instances. An ID before each name makes it unique.
func (a *accounting) setInstances() error {
	a.names = a.names[:0]
	for _, r := range slices.Backward(a.list) {
		a.names = append(a.names, pdu.Instance{ID: pid(r.pid), Name: fmt.Sprintf("%d %s", r.pid, r.command)})
	}
	if slices.Equal(a.names, a.indom.Instances()) {
		return nil
	}
	_, err := a.indom.SetInstances(a.names...)
	return err
}

// An acctHandler removes the IDs from the names of ended processes.
type acctHandler struct {
	pmda.Handler
	a *accounting
}

// Unwrap returns the handler of the tables, for pmda.As.
func (h acctHandler) Unwrap() pmda.Handler { return h.Handler }

// Instances returns the instances of the tables without the IDs before the names of ended
// processes.
func (h acctHandler) Instances(ctx context.Context, r *pmda.Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error) {
	if d != h.a.indom.ID() {
		return h.Handler.Instances(ctx, r, d, inst, name)
	}
	list, err := h.Handler.Instances(ctx, r, d, inst, "")
	if err != nil {
		return nil, err
	}
	named := make([]pdu.Instance, len(list))
	for i, at := range list {
		named[i] = pdu.Instance{ID: at.ID, Name: at.Name[len(fmt.Sprint(at.ID))+1:]}
	}
	if name == "" {
		return named, nil
	}
	at := slices.IndexFunc(named, func(i pdu.Instance) bool { return i.Name == name })
	if at < 0 || inst != pdu.NoInst {
		return nil, pdu.ErrInst
	}
	return named[at : at+1], nil
}

// An acctRow is a metric of records.
type acctRow[V pdu.Scalar] struct {
	item  int
	name  string // without acct.
	sem   pdu.Sem
	units pdu.Units
	text  string
	value func(r *acctRecord) V
}

// addAcctRows adds metrics of records.
func addAcctRows[V pdu.Scalar](a *accounting, rows ...acctRow[V]) {
	for _, row := range rows {
		pmda.Register(a.p.Agent, pmda.Metric[V]{Name: "acct." + row.name, ID: pmda.Item(70, row.item), InDom: a.indom, Sem: row.sem, Units: row.units, Text: row.text,
			Values: func(ctx context.Context, _ *pmda.Request, s *pmda.Values[V]) error {
				if !viewOf(ctx).access {
					return pdu.ErrPermission
				}
				for _, r := range slices.Backward(a.list) {
					if id := pid(r.pid); s.Wants(id) {
						s.Put(id, row.value(r))
					}
				}
				return nil
			}})
	}
}

// addMetrics adds the metrics of processes.
func (a *accounting) addMetrics() {
	p := a.p
	seconds := func(ticks float32) float32 { return ticks / float32(p.hertz()) }
	flag := func(bit uint8) func(*acctRecord) uint32 {
		return func(r *acctRecord) uint32 { return truth(r.flag&bit != 0) }
	}
	addAcctRows(a,
		acctRow[uint32]{0, "psinfo.tty", pdu.SemDiscrete, 0, "Device number of the terminal of the process", func(r *acctRecord) uint32 { return uint32(r.tty) }},
		acctRow[uint32]{1, "psinfo.exitcode", pdu.SemDiscrete, 0, "How the process has ended, as wait(2) tells it", func(r *acctRecord) uint32 { return r.exitCode }},
		acctRow[uint32]{2, "id.uid", pdu.SemDiscrete, 0, "User of the process", func(r *acctRecord) uint32 { return r.uid }},
		acctRow[uint32]{3, "id.gid", pdu.SemDiscrete, 0, "Group of the process", func(r *acctRecord) uint32 { return r.gid }},
		acctRow[uint32]{4, "psinfo.pid", pdu.SemDiscrete, 0, "ID of the process", func(r *acctRecord) uint32 { return r.pid }},
		acctRow[uint32]{5, "psinfo.ppid", pdu.SemDiscrete, 0, "ID of the process that had begun it", func(r *acctRecord) uint32 { return r.ppid }},
		acctRow[uint32]{6, "psinfo.btime", pdu.SemDiscrete, pdu.TimeSec, "When the process began, in seconds since 1970", func(r *acctRecord) uint32 { return r.began }},
		acctRow[uint32]{19, "flag.fork", pdu.SemInstant, 0, "Whether the process has executed no other program than that of the one that had begun it", flag(0x01)},
		acctRow[uint32]{20, "flag.su", pdu.SemInstant, 0, "Whether the process has used the rights of the root user", flag(0x02)},
		acctRow[uint32]{21, "flag.core", pdu.SemDiscrete, 0, "Whether a dump of the memory of the process was made", flag(0x08)},
		acctRow[uint32]{22, "flag.xsig", pdu.SemDiscrete, 0, "Whether a signal has ended the process", flag(0x10)},
	)
	addAcctRows(a,
		acctRow[float32]{7, "psinfo.etime", pdu.SemCounter, pdu.TimeSec, "Time from when the process began to when it ended", func(r *acctRecord) float32 { return seconds(r.elapsed) }},
		acctRow[float32]{8, "psinfo.utime", pdu.SemCounter, pdu.TimeSec, "Time of processors that the program had", func(r *acctRecord) float32 { return seconds(float32(r.user)) }},
		acctRow[float32]{9, "psinfo.stime", pdu.SemCounter, pdu.TimeSec, "Time of processors that the kernel has spent for the process", func(r *acctRecord) float32 { return seconds(float32(r.system)) }},
	)
	addAcctRows(a,
		acctRow[uint64]{10, "psinfo.mem", pdu.SemInstant, pdu.SpaceKByte, "Memory that the process had at the average", func(r *acctRecord) uint64 { return r.memory }},
		acctRow[uint64]{11, "psinfo.io", pdu.SemCounter, pdu.UnitCount, "Characters read and written, 0 with the kernels of today", func(r *acctRecord) uint64 { return r.chars }},
		acctRow[uint64]{12, "psinfo.rw", pdu.SemCounter, pdu.UnitCount, "Blocks read and written, 0 with the kernels of today", func(r *acctRecord) uint64 { return r.blocks }},
		acctRow[uint64]{13, "psinfo.minflt", pdu.SemCounter, 0, "Page faults for which no disk was read", func(r *acctRecord) uint64 { return r.minorFaults }},
		acctRow[uint64]{14, "psinfo.majflt", pdu.SemCounter, pdu.UnitCount, "Page faults for which disks were read", func(r *acctRecord) uint64 { return r.majorFaults }},
		acctRow[uint64]{15, "psinfo.swaps", pdu.SemCounter, pdu.UnitCount, "Times that the process was swapped out, 0 with the kernels of today", func(r *acctRecord) uint64 { return r.swaps }},
	)
	addAcctRows(a,
		acctRow[string]{16, "psinfo.ttyname", pdu.SemDiscrete, 0, "Name of the terminal of the process, a question mark if it had none", func(r *acctRecord) string { return p.ttys.name(p, uint64(r.tty)) }},
		acctRow[string]{17, "id.uid_nm", pdu.SemDiscrete, 0, "Name of the user of the process", func(r *acctRecord) string { return p.users.user(r.uid) }},
		acctRow[string]{18, "id.gid_nm", pdu.SemDiscrete, 0, "Name of the group of the process", func(r *acctRecord) string { return p.users.group(r.gid) }},
	)
}

// addControl adds the settings.
func (a *accounting) addControl() {
	s := &a.settings
	addAcctSetting(a, 23, "open_retry_interval", pdu.TimeSec, "How long to wait when there was no file of process accounting", "", &s.retry)
	addAcctSetting(a, 24, "check_acct_interval", pdu.TimeSec, "How often to look whether the file is still the right one", "That the file was rotated is seen at once.", &s.check)
	addAcctSetting(a, 25, "file_size_threshold", pdu.SpaceByte, "How long the file may become that the agent has the kernel write", "Then it is emptied.", &s.threshold)
	addAcctSetting(a, 26, "lifetime", pdu.TimeSec, "For how long processes have values after they have ended", "", &s.lifetime)
	addAcctSetting(a, 27, "refresh", pdu.TimeSec, "How often to look at the length of the file that the agent has the kernel write", "", &s.refresh)
	addAcctSetting(a, 28, "enable_acct", 0, "Whether the agent may switch process accounting on",
		"1 has the kernel write a record of each process that ends, if it does not do so already.\nThis is for the whole machine. 0, or the end of the agent, ends it.", &s.enable)
}

// addAcctSetting adds a setting, which the root user may change.
func addAcctSetting[V uint32 | uint64](a *accounting, item int, name string, units pdu.Units, text, help string, setting *V) {
	pmda.Register(a.p.Agent, pmda.Metric[V]{Name: "acct.control." + name, ID: pmda.Item(70, item), Group: a.group, Sem: pdu.SemDiscrete, Units: units, Text: text, Help: help,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (V, error) { return *setting, nil },
		Store: func(_ context.Context, r *pmda.Request, _ pdu.Instance, v V) error {
			if r.Client == nil || r.Client.UID != 0 || name == "refresh" && v == 0 {
				return pdu.ErrPermission
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			*setting = v
			if name == "enable_acct" {
				a.file.next = time.Time{}
				if v == 0 && a.file.kernel {
					a.file.close()
				}
			}
			return nil
		}})
}
