package pmdatest

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmns"
)

// replyLimit is the time limit of a request. It is the default timeout of pmcd and
// collector.Server.
const replyLimit = 5 * time.Second

// maxOverdue is the number of overdue requests that stops the test. Otherwise a Handler that
// hangs would take replyLimit for each of hundreds of requests.
const maxOverdue = 3

// errReported is the error of a request whose failure has been reported: it has panicked, has
// returned an error that no agent may return, or is overdue and may still be running.
var errReported = errors.New("has failed, as reported")

// stopped is the panic value of a request after too many overdue requests.
type stopped struct{}

// A watched is the Handler under test. It makes each request on a separate goroutine, and reports
// a request that panics or is overdue with the name of what was requested.
type watched struct {
	pmda.Handler
	c       *checker
	overdue atomic.Int32
}

// call makes a request. what names it. After call has returned errReported, the caller must not
// touch the arguments of the Handler: the request may still be running.
func (w *watched) call(ctx context.Context, what string, request func(context.Context) error) error {
	if w.overdue.Load() >= maxOverdue {
		panic(stopped{})
	}
	ctx, cancel := context.WithTimeout(ctx, replyLimit)
	defer cancel()
	start := time.Now()
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if v := recover(); v != nil {
				o.failure = fmt.Sprintf("panic: %v\n%s", v, debug.Stack())
			} else if !o.returned {
				o.failure = "it has ended its goroutine, as testing.T.FailNow does"
			}
			done <- o
		}()
		o.err = request(ctx)
		o.returned = true
	}()
	limit := time.NewTimer(replyLimit)
	defer limit.Stop()
	select {
	case o := <-done:
		if !o.returned {
			w.c.errorf("%s: %s", what, o.failure)
			return errReported
		}
		if time.Since(start) < replyLimit {
			if ctx.Err() == nil && w.c.broken(o.err, "%s", what) {
				return errReported
			}
			return o.err
		}
	case <-limit.C:
	}
	w.c.errorf("%s: no reply within %v, after which a collector gives up", what, replyLimit)
	w.overdue.Add(1)
	return errReported
}

// An outcome describes how a request has ended.
type outcome struct {
	returned bool
	err      error  // if the request has returned
	failure  string // if it has not
}

// result is like call, for a request with a result.
func result[T any](ctx context.Context, w *watched, what string, request func(context.Context) (T, error)) (T, error) {
	var reply T
	err := w.call(ctx, what, func(ctx context.Context) (err error) {
		r, err := request(ctx)
		if err == nil {
			reply = r
		}
		return err
	})
	if err != nil {
		var none T // not reply, which an overdue request may set later
		return none, err
	}
	return reply, nil
}

// nameOf returns the name of a metric, or its PMID if no name is known yet.
func (w *watched) nameOf(id pdu.PMID) string {
	if name, ok := w.c.nameOf[id]; ok {
		return name
	}
	return id.String()
}

// fetchOf describes a fetch, for errors.
func (w *watched) fetchOf(ids []pdu.PMID) string {
	if len(ids) == 1 {
		return w.nameOf(ids[0]) + ": Fetch"
	}
	what := fmt.Sprintf("Fetch of %d metrics", len(ids))
	if c := w.c; c.slowest > replyLimit/10 {
		what += fmt.Sprintf(" (the slowest is %s: %v)", c.slowestName, c.slowest.Round(time.Millisecond))
	}
	return what
}

func (w *watched) Fetch(ctx context.Context, r *pmda.Request, ids []pdu.PMID, to *pdu.ResultWriter) error {
	return w.call(ctx, w.fetchOf(ids), func(ctx context.Context) error { return w.Handler.Fetch(ctx, r, ids, to) })
}

func (w *watched) Desc(ctx context.Context, r *pmda.Request, id pdu.PMID) (pdu.Desc, error) {
	return result(ctx, w, w.nameOf(id)+": Desc",
		func(ctx context.Context) (pdu.Desc, error) { return w.Handler.Desc(ctx, r, id) })
}

func (w *watched) Instances(ctx context.Context, r *pmda.Request, d pdu.InDom, inst pdu.InstID, name string) ([]pdu.Instance, error) {
	return result(ctx, w, fmt.Sprintf("Instances(%v, %d, %q)", d, inst, name),
		func(ctx context.Context) ([]pdu.Instance, error) { return w.Handler.Instances(ctx, r, d, inst, name) })
}

func (w *watched) Text(ctx context.Context, r *pmda.Request, of pdu.TextTarget, kind pdu.TextKind) (string, error) {
	return result(ctx, w, fmt.Sprintf("Text(%v, %v)", of, kind),
		func(ctx context.Context) (string, error) { return w.Handler.Text(ctx, r, of, kind) })
}

func (w *watched) Store(ctx context.Context, r *pmda.Request, values *pdu.Result) error {
	what := "Store"
	for _, s := range values.All() {
		what = w.nameOf(s.PMID) + ": Store"
	}
	return w.call(ctx, what, func(ctx context.Context) error { return w.Handler.Store(ctx, r, values) })
}

func (w *watched) PMID(ctx context.Context, r *pmda.Request, name string) (pdu.PMID, error) {
	return result(ctx, w, fmt.Sprintf("PMID(%q)", name),
		func(ctx context.Context) (pdu.PMID, error) { return w.Handler.PMID(ctx, r, name) })
}

func (w *watched) Names(ctx context.Context, r *pmda.Request, id pdu.PMID) ([]string, error) {
	return result(ctx, w, fmt.Sprintf("Names(%v)", id),
		func(ctx context.Context) ([]string, error) { return w.Handler.Names(ctx, r, id) })
}

func (w *watched) Children(ctx context.Context, r *pmda.Request, name string) ([]pmns.Child, error) {
	return result(ctx, w, fmt.Sprintf("Children(%q)", name),
		func(ctx context.Context) ([]pmns.Child, error) { return w.Handler.Children(ctx, r, name) })
}

func (w *watched) Traverse(ctx context.Context, r *pmda.Request, name string) ([]string, error) {
	return result(ctx, w, fmt.Sprintf("Traverse(%q)", name),
		func(ctx context.Context) ([]string, error) { return w.Handler.Traverse(ctx, r, name) })
}

func (w *watched) Labels(ctx context.Context, r *pmda.Request, of pdu.LabelTarget) ([]pdu.LabelSet, error) {
	return result(ctx, w, fmt.Sprintf("Labels(%v)", of),
		func(ctx context.Context) ([]pdu.LabelSet, error) { return w.Handler.Labels(ctx, r, of) })
}

func (w *watched) SetClient(client *pmda.Client) {
	_ = w.call(w.c.ctx, "SetClient", func(context.Context) error { w.Handler.SetClient(client); return nil })
}

func (w *watched) EndClient(client *pmda.Client) {
	_ = w.call(w.c.ctx, "EndClient", func(context.Context) error { w.Handler.EndClient(client); return nil })
}

func (w *watched) Namespace() *pmns.Tree {
	t, _ := result(w.c.ctx, w, "Namespace", func(context.Context) (*pmns.Tree, error) { return w.Handler.Namespace(), nil })
	return t
}

func (w *watched) Info() pmda.Info {
	i, _ := result(w.c.ctx, w, "Info", func(context.Context) (pmda.Info, error) { return w.Handler.Info(), nil })
	return i
}

func (w *watched) Err() error {
	err, _ := result(w.c.ctx, w, "Err", func(context.Context) (error, error) { return w.Handler.Err(), nil })
	return err
}
