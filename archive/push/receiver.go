package push

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/internal/loginlimit"
	"github.com/pcp-go/pcp/internal/loglimit"
	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pdu"
)

// ReceiverOptions configure a Receiver: the directory, the clients that may push, and their limits.
type ReceiverOptions struct {
	// Dir is the directory of the archives. Open creates it if it is missing.
	Dir string
	// Networks are the networks of clients that may push without a password; nil means this
	// computer. Clients behind a reverse proxy have the address of the proxy. Set Networks to an
	// empty, non-nil slice to require logins of all. Clients on a unix socket never need a
	// password, because the socket's permissions apply.
	Networks []netip.Prefix
	// Users are logins that may push from any address.
	Users []User
	// UsersFile is a file in the format of ParseUsers whose logins replace Users; empty means none.
	// The Receiver reads it again when it changes. On Unix, other users of the system must not have
	// access to it.
	UsersFile string
	// Limits are the limits of clients.
	Limits Limits
	// UTC names archives by UTC instead of the local time zone.
	UTC bool
	// Log receives the begin and end of archives, refused requests, and errors; nil means
	// slog.Default().
	Log *slog.Logger
	// Metrics gets metrics of the Stats, except Stored and Held. Their names begin with push. Nil
	// means none.
	Metrics *mmv.Registry
}

// A Receiver is an http.Handler that receives archives. It is safe for concurrent use.
type Receiver struct {
	opts ReceiverOptions
	log  *slog.Logger
	root *os.Root
	life context.Context // ends with Close
	end  context.CancelFunc
	done chan struct{} // closed when the sweeper has ended

	mu        sync.Mutex
	closed    bool
	archives  map[uint32]*incoming
	perClient map[string]int // archives
	usage     usage
	held      int64            // bytes in memory of records that have not come to their end
	heldBy    map[string]int64 // those of each client
	names     map[string]int   // by name without a suffix: the suffix of the next archive

	stats counters

	access   atomic.Pointer[access]
	users    usersFile
	failures loginlimit.Failures
}

type counters struct{ archives, requests, refused, bytes atomic.Uint64 }

// Stats are the statistics of a Receiver. Its counters start at Open.
type Stats struct {
	Open     int    // archives that are being received
	Archives uint64 // that have begun
	Requests uint64 // except pings, and except those with a wrong path, method or query
	Refused  uint64 // all requests with an error, also those that Requests does not count
	Bytes    uint64 // of records that were written
	Stored   int64  // bytes in the directory
	Held     int64  // bytes of incomplete records in memory
}

// Stats returns the current statistics.
func (r *Receiver) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &r.stats
	return Stats{Open: len(r.archives), Archives: c.archives.Load(), Requests: c.requests.Load(), Refused: c.refused.Load(),
		Bytes: c.bytes.Load(), Stored: r.usage.total, Held: r.held}
}

// Open returns a Receiver for the directory. It continues the archives that an earlier Receiver did
// not finish. Only one Receiver may use a directory at a time, which Open does not check.
func (o ReceiverOptions) Open() (*Receiver, error) {
	file := usersFile{path: o.UsersFile}
	if o.UsersFile != "" {
		var err error
		if o.Users, err = file.read(); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(o.Dir, 0o775); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return nil, err
	}
	o.Limits = o.Limits.complete()
	if o.Log == nil {
		o.Log = slog.Default()
	}
	ctx, end := context.WithCancel(context.Background())
	r := &Receiver{opts: o, log: loglimit.New(o.Log), root: root, life: ctx, end: end, done: make(chan struct{}), archives: map[uint32]*incoming{}, perClient: map[string]int{}, heldBy: map[string]int64{}}
	r.access.Store(&access{o.Networks, o.Users})
	r.users.path, r.users.seen = file.path, file.seen
	if err := r.load(); err != nil {
		end()
		return nil, errors.Join(err, root.Close())
	}
	go r.sweep(ctx)
	if o.Metrics != nil {
		r.registerMetrics(o.Metrics)
	}
	return r, nil
}

// registerMetrics registers the Stats as metrics.
func (r *Receiver) registerMetrics(reg *mmv.Registry) {
	counter := func(name, text string, units pdu.Units) *mmv.Gauge {
		return reg.Gauge(name, mmv.Metric{Text: text, Units: units, Sem: pdu.SemCounter})
	}
	archives := counter("push.archives", "Archives that loggers have begun to push", pdu.UnitCount)
	requests := counter("push.requests", "Requests of loggers that push", pdu.UnitCount)
	refused := counter("push.refused", "Requests of loggers that were refused", pdu.UnitCount)
	bytes := counter("push.bytes", "Bytes of pushed archives that were written", pdu.SpaceByte)
	open := reg.Gauge("push.open", mmv.Metric{Text: "Archives that are being pushed", Units: pdu.UnitCount})
	reg.OnRead(func() {
		s := r.Stats()
		archives.Set(int64(s.Archives))
		requests.Set(int64(s.Requests))
		refused.Set(int64(s.Refused))
		bytes.Set(int64(s.Bytes))
		open.Set(int64(s.Open))
	})
}

// SetUsers replaces the users, until UsersFile changes. It does not end requests in progress.
func (r *Receiver) SetUsers(users []User) {
	a := *r.access.Load()
	a.users = users
	r.access.Store(&a)
}

// Close closes the Receiver. Later requests fail, and the bodies of requests in progress are cut
// off. A later Receiver continues the archives.
func (r *Receiver) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	all := r.open()
	r.mu.Unlock()
	r.end()
	<-r.done
	var errs []error
	for _, a := range all {
		_ = a.turn.Lock(context.Background()) // Close has cut off the body of its request
		errs = append(errs, a.close())
		a.turn.Unlock()
	}
	loglimit.Flush(r.log)
	return errors.Join(append(errs, r.root.Close())...)
}

// open returns all archives. The caller holds the lock.
func (r *Receiver) open() []*incoming {
	all := make([]*incoming, 0, len(r.archives))
	for _, a := range r.archives {
		all = append(all, a)
	}
	return all
}

// sweep ends idle archives, and flushes the others to the disk, until ctx ends.
func (r *Receiver) sweep(ctx context.Context) {
	defer close(r.done)
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	synced, counted := time.Now(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := time.Now()
		r.mu.Lock()
		all := r.open()
		r.mu.Unlock()
		flush := now.Sub(synced) >= syncEvery
		if flush {
			synced = now
		}
		for _, a := range all {
			r.tend(a, now, flush)
		}
		if now.Sub(counted) >= recountWait {
			counted = now
			r.recount(ctx)
		}
	}
}

// tend ends an idle archive, and flushes any other one. It skips an archive with a request in
// progress.
func (r *Receiver) tend(a *incoming, now time.Time, flush bool) {
	if !a.turn.TryLock() {
		return
	}
	defer a.turn.Unlock()
	if now.Sub(a.last) > r.idle(a) {
		r.finish(a)
		return
	}
	if now.Sub(a.last) > heldTimeout {
		for _, f := range a.all() {
			f.drop()
		}
	}
	if flush {
		if err := a.sync(); err != nil {
			r.log.Error("sync", slog.String("archive", a.Base), slog.Any("err", err))
		}
	}
}

// idle returns how long an archive may be without a request.
func (r *Receiver) idle(a *incoming) time.Duration {
	return min(max(time.Duration(a.Timeout)*time.Second, 3*a.longest), r.opts.Limits.maxTimeout)
}

// finish ends an archive. The caller holds its turn. An archive without a volume is removed.
func (r *Receiver) finish(a *incoming) {
	r.mu.Lock()
	if a.finished {
		r.mu.Unlock()
		return
	}
	a.finished = true
	delete(r.archives, a.Number)
	if r.perClient[a.Owner]--; r.perClient[a.Owner] <= 0 {
		delete(r.perClient, a.Owner)
	}
	r.mu.Unlock()
	err := a.close()
	if a.hasVolume() {
		a.Finished = true
		err = errors.Join(err, a.save())
	} else {
		err = errors.Join(err, a.remove())
	}
	r.log.Info("archive ends", slog.String("archive", a.Base), slog.String("client", a.Owner))
	if err != nil {
		r.log.Error("archive ends", slog.String("archive", a.Base), slog.Any("err", err))
	}
}
