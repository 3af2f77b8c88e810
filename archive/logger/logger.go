package logger

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/internal/session"
	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/internal/logconf"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// A Logger records metrics into an archive. Options.New makes one. See the package documentation.
type Logger struct {
	src  *pmapi.Context
	opts Options
	host string
	wake chan struct{} // the tasks have changed

	mu       ctxwait.Mutex // held while a task is recorded; guards what follows
	w        *archive.Writer
	metrics  map[pdu.PMID]*metric
	order    []*metric // in the order of the requests
	subtrees []subtree
	requests int // number of requests so far
	tasks    []*task
	meta     described
	running  bool
	ended    bool
	lost     bool            // there is no connection
	noTLS    bool            // Lost was reported again because of TLS
	retry    time.Time       // when to try to connect, if lost
	behind   bool            // the clock of the collector was set back
	recheck  bool            // metrics may have changed
	gap      bool            // a mark must precede the next record
	replan   bool            // metrics have changed, so plan has made other groups
	resumed  bool            // there is a new connection, and no record yet
	begun    time.Time       // when Run began
	first    session.Session // for the record before the first one of values
	preamble int64           // bytes of the label and that record, if written with the latest group
	records  int
	missed   int // tasks that were due without a collector
	renamed  pdu.ResultWriter
	volume   volumeState
	push     pusher

	public sync.Mutex // protects what follows
	status Status
}

// New resolves the configuration and prepares the archive. The files are created with the first
// record of values: a Logger that records nothing leaves no files. Options.Report gets warnings
// about the configuration. Errors: a syntax error in Config, ErrNothing unless Linger is set,
// fs.ErrExist if the archive exists, those of Push, and those of the source.
func (o Options) New(ctx context.Context, src *pmapi.Context) (*Logger, error) {
	l, err := o.resolved(ctx, src)
	if err != nil {
		return nil, err
	}
	if len(l.tasks) == 0 && !o.Linger {
		return nil, ErrNothing
	}
	if err := l.create(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// Check resolves the configuration and reports warnings, as New does, but prepares no archive. It
// returns the tasks that a Logger would have. They may be empty, which is not an error.
func (o Options) Check(ctx context.Context, src *pmapi.Context) ([]Task, error) {
	l, err := o.resolved(ctx, src)
	if err != nil {
		return nil, err
	}
	list := make([]Task, len(l.tasks))
	for i, t := range l.tasks {
		list[i] = t.public()
	}
	return list, nil
}

// resolved returns a Logger without an archive. After a syntax error in the configuration, it still
// reports problems with the requests before the error.
func (o Options) resolved(ctx context.Context, src *pmapi.Context) (*Logger, error) {
	config, parseErr := new(logconf.Config), error(nil)
	if o.Config != "" {
		every := max(0, cmp.Or(o.Interval, time.Minute))
		config, parseErr = logconf.Options{Default: every}.Parse("config", strings.NewReader(o.Config))
	}
	if o.Report == nil {
		o.Report = LogEvent
	}
	l := &Logger{src: src, opts: o, mu: ctxwait.NewMutex(), wake: make(chan struct{}, 1), metrics: map[pdu.PMID]*metric{}}
	l.meta.init()
	if err := l.configure(ctx, config.Requests); err != nil {
		return nil, err
	}
	if parseErr != nil {
		return nil, parseErr
	}
	l.plan()
	return l, nil
}

// create prepares the archive with the label of the source.
func (l *Logger) create(ctx context.Context) error {
	o := l.opts.Writer
	l.host = l.src.HostName(ctx)
	if o.Label.Host == "" {
		o.Label.Host = l.host
	}
	zone, info, err := l.zone(ctx)
	if err != nil {
		return err
	}
	if o.Label.TimeZone == "" {
		o.Label.TimeZone = zone
	}
	if o.Label.ZoneInfo == "" && o.Label.Version != 2 {
		o.Label.ZoneInfo = info
	}
	l.volume = volumeState{bytes: o.VolumeSize, records: o.VolumeRecords, time: o.VolumeTime}
	o.VolumeSize, o.VolumeRecords, o.VolumeTime = 0, 0, 0
	o.IndexInstances = true
	if err := l.connectPush(ctx); err != nil {
		return err
	}
	if l.push.sender != nil {
		o.Storage = l.push.sender
	}
	l.w, err = o.Create(l.opts.Base)
	if err != nil {
		return err
	}
	l.opts.Writer.Label = l.w.Label()
	l.status = Status{Host: o.Label.Host, TimeZone: zone, ZoneInfo: info}
	return nil
}

// zone returns the time zone of the collector, or "" if the collector has no such metrics.
func (l *Logger) zone(ctx context.Context) (zone, info string, err error) {
	var values [2]string
	ids, err := l.src.Lookup(ctx, []string{"pmcd.timezone", "pmcd.zoneinfo"})
	if ids == nil {
		return "", "", err
	}
	for i, id := range ids {
		if id == pdu.NoPMID {
			continue
		}
		var r pdu.Result
		if err := l.fetch(ctx, nil, []pdu.PMID{id}, &r); err != nil {
			return "", "", err
		}
		if s := r.At(0); s.Len() > 0 {
			values[i], _ = pdu.As[string](s.Atom(0, pdu.TypeString))
		}
	}
	return values[0], values[1], nil
}

// everything is a profile of all instances.
var everything = new(pdu.Profile)

// fetch fetches values. After a *pmapi.Gap it fetches again, because the logger handles gaps
// itself.
func (l *Logger) fetch(ctx context.Context, p *pdu.Profile, ids []pdu.PMID, r *pdu.Result) error {
	if p == nil {
		p = everything
	}
	err := l.src.FetchProfile(ctx, p, ids, r)
	if _, ok := errors.AsType[*pmapi.Gap](err); ok {
		l.recheck = !l.resumed
		err = l.src.FetchProfile(ctx, p, ids, r)
	}
	return err
}

// lock waits for a fetch in progress, however long that takes.
func (l *Logger) lock() { _ = l.mu.Lock(context.Background()) }

// report reports an event.
func (l *Logger) report(e Event) { l.opts.Report(e) }

// Run records until ctx ends or an end of the options is reached, and completes the archive. A lost
// collector does not end it. Run returns nil if ctx has ended, a limit of the options was reached,
// or with EndOnChange the host name of the collector has changed. Errors: ErrMetricsChanged with
// EndOnChange, those of writing the archive, those of Options.Push, and os.ErrClosed for a second
// call.
func (l *Logger) Run(ctx context.Context) error {
	if err := l.start(ctx); err != nil {
		return err
	}
	err := l.loop(ctx)
	return errors.Join(err, l.finish(ctx, !errors.Is(err, ErrMetricsChanged)))
}

// start begins to run.
func (l *Logger) start(ctx context.Context) error {
	l.lock()
	defer l.mu.Unlock()
	if l.running || l.ended {
		return os.ErrClosed
	}
	l.begun = time.Now()
	if l.opts.Host == "" {
		l.opts.Host, _ = os.Hostname()
	}
	if l.opts.EndAfter > 0 {
		end := time.Now().Add(l.opts.EndAfter)
		if l.opts.EndTime.IsZero() || end.Before(l.opts.EndTime) {
			l.opts.EndTime = end
		}
	}
	_, l.first = l.session(ctx)
	l.plan() // from now on
	l.running = true
	l.volume.begin = time.Now()
	l.publish()
	return nil
}

// finish completes the archive, with the last record.
func (l *Logger) finish(ctx context.Context, epilogue bool) error {
	l.lock()
	defer l.mu.Unlock()
	l.running, l.ended = false, true
	if l.push.sender != nil && l.push.sender.Err() != nil { // it refuses the archive; Run returns the reason
		return l.closePush(ctx)
	}
	if !epilogue || !l.hasRecords() {
		return errors.Join(l.w.Close(), l.closePush(ctx))
	}
	return errors.Join(l.epilogue(ctx), l.closePush(ctx))
}

// hasRecords reports whether the archive has a record.
func (l *Logger) hasRecords() bool { return !l.w.Last().IsZero() }

// prologue writes the first record, which describes the logger. t is the time of the first data
// record.
func (l *Logger) prologue(t time.Time) error {
	if err := l.first.WritePrologue(l.w, t); err != nil {
		return err
	}
	l.gap = false // there is no earlier record
	l.preamble = l.w.Size()
	l.meta.session(l.w)
	return nil
}

// epilogue writes the last record and closes the archive.
func (l *Logger) epilogue(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWait)
	defer cancel()
	t, s := l.session(ctx)
	if t.Before(l.w.Last()) {
		t = l.w.Last().Add(time.Millisecond)
	}
	err := errors.Join(l.mark(t), s.WriteEpilogue(l.w, t))
	l.publish()
	return errors.Join(err, l.w.Close())
}

// lastWait is how long a logger that ends waits for its collector.
const lastWait = 5 * time.Second

// session returns what the first and the last record say about the logger, and the time of the
// collector.
func (l *Logger) session(ctx context.Context) (time.Time, session.Session) {
	s := session.Session{Host: l.opts.Host, Port: l.opts.Port, Archive: l.opts.Base}
	if l.push.sender == nil {
		s.Archive = absolute(l.opts.Base)
	}
	if l.lost {
		return l.w.Last().Add(time.Millisecond), s
	}
	ids := []pdu.PMID{pdu.MakePMID(2, 0, 23), pdu.MakePMID(2, 0, 24)}
	var r pdu.Result
	if err := l.fetch(ctx, nil, ids, &r); err != nil || r.Time.IsZero() {
		return l.w.Last().Add(time.Millisecond), s
	}
	if v := r.At(0); v.Len() > 0 {
		s.PMCD, _ = pdu.As[uint64](v.Atom(0, pdu.TypeU64))
	}
	if v := r.At(1); v.Len() > 0 {
		s.Seqnum, _ = pdu.As[uint32](v.Atom(0, pdu.TypeU32))
	}
	return r.Time, s
}

// loop records tasks when they are due.
func (l *Logger) loop(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wait, err := l.runDue(ctx)
		if err != nil {
			return l.endOf(err)
		}
		if wait < 0 || wait > checkConnection { // a negative wait means that nothing is due
			wait = checkConnection
		}
		timer.Reset(wakeAfter(wait))
		select {
		case <-ctx.Done():
			l.report(Ended{EndContext})
			return nil
		case <-timer.C:
		case <-l.wake:
		}
	}
}

// wakeAfter returns the duration of the timer for a wait. With epoll_wait(2) the Go runtime can
// wait only for whole milliseconds. For any other duration it wakes twice: before the last
// millisecond and at the end. So wakeAfter rounds a long wait up to whole milliseconds. It adds a
// little, because some time passes before the system begins to count.
func wakeAfter(wait time.Duration) time.Duration {
	const least, passed = 10 * time.Millisecond, 50 * time.Microsecond
	part := wait % time.Millisecond
	if part == 0 || wait < least {
		return wait
	}
	return wait - part + time.Millisecond + passed
}

// endOf reports why the loop ends, and returns the error of Run.
func (l *Logger) endOf(err error) error {
	switch e, ok := errors.AsType[endError](err); {
	case ok:
		l.report(Ended{EndReason(e)})
		return nil
	case errors.Is(err, ErrMetricsChanged):
		l.report(Ended{EndChanged})
	}
	return err
}

// An endError ends Run without an error.
type endError EndReason

func (e endError) Error() string { return EndReason(e).String() }

// runDue records one task if it is due, and returns the result of untilDue. Callers that wait for
// the lock get it between two tasks: with short intervals and a slow collector, a task may always
// be due.
func (l *Logger) runDue(ctx context.Context) (time.Duration, error) {
	l.lock()
	defer l.mu.Unlock()
	if err := l.tendPush(); err != nil {
		return 0, err
	}
	if err := l.endReached(); err != nil {
		return 0, err
	}
	if !l.lost && l.src.Disconnected() {
		l.lose(io.EOF)
	}
	if l.lost && time.Until(l.retry) <= 0 {
		if _, err := l.reconnect(ctx); err != nil {
			return 0, err
		}
	}
	if t := l.dueTask(); t != nil && ctx.Err() == nil {
		done, err := l.runTask(ctx, t)
		if err != nil {
			return 0, err
		}
		switch now := time.Now(); {
		case t.setting.Interval > 0:
			t.next(now)
		case done:
			t.finishOnce()
		default:
			t.due = now.Add(retryOnce)
		}
		l.publish()
		if err := l.endReached(); err != nil {
			return 0, err
		}
	}
	return l.untilDue(), nil
}

// dueTask returns the task that has been due for longest, the first of several; nil if no task is
// due.
func (l *Logger) dueTask() (first *task) {
	now := time.Now()
	for _, t := range l.tasks {
		if !t.once && !t.due.After(now) && (first == nil || t.due.Before(first.due)) {
			first = t
		}
	}
	return first
}

// retryOnce is the delay before a failed task that records only once is tried again.
const retryOnce = time.Second

// finishOnce notes that a task that records only once has done so.
func (t *task) finishOnce() {
	t.once = true
	for _, m := range t.members {
		m.done = true
	}
}

// untilDue returns the time until the next task, attempt to connect, volume or end is due. It
// returns -1 if nothing is due.
func (l *Logger) untilDue() time.Duration {
	var due time.Time
	consider := func(t time.Time) {
		if !t.IsZero() && (due.IsZero() || t.Before(due)) {
			due = t
		}
	}
	for _, t := range l.tasks {
		if !t.once {
			consider(t.due)
		}
	}
	consider(l.opts.EndTime)
	consider(l.volume.due())
	if l.lost {
		consider(l.retry)
	}
	if due.IsZero() {
		return -1
	}
	return max(time.Until(due), 0)
}

// endReached returns an endError if an end of the options is reached. It begins another volume if
// its time has come.
func (l *Logger) endReached() error {
	if !l.opts.EndTime.IsZero() && time.Until(l.opts.EndTime) <= 0 {
		return endError(EndTime)
	}
	if err := l.fullEnd(); err != nil {
		return err
	}
	if due := l.volume.due(); !due.IsZero() && time.Until(due) <= 0 {
		l.newVolume("sample time")
	}
	return nil
}

// fullEnd returns an endError if EndRecords or EndBytes is reached.
func (l *Logger) fullEnd() error {
	switch {
	case l.opts.EndRecords > 0 && l.records+l.missed >= l.opts.EndRecords:
		return endError(EndRecords)
	case l.opts.EndBytes > 0 && l.volume.total(l.w) >= l.opts.EndBytes:
		return endError(EndBytes)
	}
	return nil
}
