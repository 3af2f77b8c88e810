package logger_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/archive/push"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// A receiver is an http.RoundTripper to a push.Receiver that can be killed. Replies and data that
// has not been written are lost then.
type receiver struct {
	t     *testing.T
	dir   string
	mu    sync.Mutex
	now   *push.Receiver // nil while it is dead
	dying int            // what becomes of the next request
	dead  []*push.Receiver
	limit push.Limits
}

// Ways to die.
const (
	alive     = iota
	beforeAll // the request does not arrive
	inBody    // a part of it does
	inReply   // it is done, and nobody is told
)

var errDead = errors.New("connection refused")

func (r *receiver) start() {
	r.t.Helper()
	rc, err := push.ReceiverOptions{Dir: r.dir, UTC: true, Log: slog.New(slog.DiscardHandler), Limits: r.limit,
		Users: []push.User{{Name: "web", Password: "secret"}}}.Open()
	if err != nil {
		r.t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = rc
}

// kill has the receiver die with the next request.
func (r *receiver) kill(how int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dying = how
}

// close closes all receivers, including those that were killed.
func (r *receiver) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rc := range append(r.dead, r.now) {
		if rc != nil {
			rc.Close()
		}
	}
}

func (r *receiver) RoundTrip(hr *http.Request) (*http.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now == nil {
		return nil, errDead
	}
	body, _ := io.ReadAll(hr.Body)
	var in io.Reader = bytes.NewReader(body)
	if r.dying == inBody {
		in = io.MultiReader(bytes.NewReader(body[:len(body)*2/3]), errReader{})
	}
	rec := httptest.NewRecorder()
	if r.dying != beforeAll {
		to := httptest.NewRequest(hr.Method, hr.URL.RequestURI(), in)
		to.RemoteAddr, to.Header = "127.0.0.1:1", hr.Header
		r.now.ServeHTTP(rec, to)
	}
	if r.dying != alive {
		r.dead, r.now, r.dying = append(r.dead, r.now), nil, alive
		left := r.dir // in which the dead may go on
		r.dir = fmt.Sprint(left, "x")
		if err := os.CopyFS(r.dir, os.DirFS(left)); err != nil {
			r.t.Error(err)
		}
		return nil, errDead
	}
	return rec.Result(), nil
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errDead }

// both records a source into files and to a receiver, in the bubble of the test.
func both(t *testing.T, r *receiver, buffer int64) (local, far *recording, count *pmapitest.Metric[uint64], users *pmapitest.Metric[uint32]) {
	t.Helper()
	src := &pmapitest.Source{Host: "web1"}
	count = pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "t.count", Sem: pdu.SemCounter})
	users = pmapitest.Add(src, pmapitest.Metric[uint32]{Name: "t.users", InDom: src.InDom("users", "ann", "bob")})
	count.Set(0)
	users.Set(1, 2)
	const config = "log mandatory on 1 sec { t.count t.users }"
	o := logger.Options{Writer: archive.WriterOptions{Label: archive.Label{TimeZone: "UTC"}, VolumeRecords: 1000}}
	local = record(t, src, config, o)
	o.Push = &push.SenderOptions{URL: "http://web:secret@far", Client: &http.Client{Transport: r}, MaxBuffer: buffer}
	far = record(t, src, config, o)
	return local, far, count, users
}

// valuesByTime are all values of an archive with their times, of the test's metrics.
func (r *recording) valuesByTime(from string) (lines []string, marks int) {
	r.t.Helper()
	base := r.base
	r.base = from
	defer func() { r.base = base }()
	r.each(func(rec *archive.Record, set *archive.Set) {
		switch rec.Kind {
		case archive.KindMark:
			marks++
		case archive.KindResult:
			var res pdu.Result
			if err := rec.Result(&res); err != nil {
				r.t.Fatal(err)
			}
			for _, s := range res.All() {
				if s.PMID.Domain() != 2 {
					lines = append(lines, rec.Time.String()+" "+r.values(set, s))
				}
			}
		}
	})
	return lines, marks
}

// TestPushHour pushes an hour of archive time. The receiver is killed five times, in each possible
// way, and is away for half a minute each time. No value is lost, and C's pmlogcheck reports no
// problem.
func TestPushHour(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "received")
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{t: t, dir: dir}
		r.start()
		defer r.close()
		local, far, count, users := both(t, r, 0)
		time.Sleep(500 * time.Millisecond)
		kills := map[int]int{300: beforeAll, 900: inBody, 1500: inReply, 2100: inBody, 3000: inReply}
		for i := range 3600 {
			if how, ok := kills[i]; ok {
				r.kill(how)
			}
			if _, ok := kills[i-30]; ok {
				r.start()
			}
			count.Set(uint64(i))
			users.SetInstance(pdu.InstID(i/100%2), uint32(i))
			time.Sleep(time.Second)
		}
		if err := errors.Join(local.stop(0), far.stop(0)); err != nil {
			t.Error(err)
		}
		if s := far.l.Status(); s.Push.Archives != 1 || s.Push.Queued != 0 || s.LeftOut != 0 || len(reported[logger.ReceiverLost](far)) != 5 || len(reported[logger.ReceiverRestored](far)) != 5 {
			t.Errorf("%+v; %v", s, far.kinds())
		}
		for _, e := range far.events {
			if strings.Contains(e.String(), "secret") {
				t.Errorf("the password is in %q", e)
			}
		}
		dir = r.dir
		bases, err := filepath.Glob(filepath.Join(dir, "web1", "*.meta"))
		if err != nil || len(bases) != 1 {
			t.Fatal(bases, err)
		}
		wanted, _ := local.valuesByTime(local.base)
		got, marks := far.valuesByTime(strings.TrimSuffix(bases[0], ".meta"))
		if len(wanted) < 2*3600 || marks != 0 {
			t.Errorf("%d values, %d marks", len(wanted), marks)
		}
		if !slices.Equal(got, wanted) {
			t.Errorf("%d values arrive, of %d", len(got), len(wanted))
		}
	})
	checkReceived(t, dir)
}

// checkReceived has C's tools read what has been received, if they are there.
func checkReceived(t *testing.T, dir string) {
	t.Helper()
	bases, err := filepath.Glob(filepath.Join(dir, "web1", "*.meta"))
	if err != nil || len(bases) == 0 {
		t.Fatal(bases, err)
	}
	t.Run("Interop", func(t *testing.T) {
		pcptest.Need(t, "pmlogcheck", "pmdumplog")
		for _, base := range bases {
			base = strings.TrimSuffix(base, ".meta")
			if out, stderr, status := pcptest.Run(t, nil, "", "pmlogcheck", "-w", base); status != 0 || out+stderr != "" {
				t.Errorf("pmlogcheck: %d %s%s", status, out, stderr)
			}
			out, stderr, status := pcptest.Run(t, nil, "", "pmdumplog", "-z", base, "t.count")
			if status != 0 || stderr != "" || !strings.Contains(out, "(t.count): value ") {
				t.Errorf("pmdumplog: %d %.1000s%s", status, out, stderr)
			}
		}
	})
}

// TestPushFull checks that records are left out and counted when there is no room for the records
// that an absent receiver has not got. A mark shows the gap.
func TestPushFull(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "received")
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{t: t, dir: dir}
		r.start()
		defer r.close()
		local, far, count, _ := both(t, r, 5000)
		time.Sleep(500 * time.Millisecond)
		for i := range 400 {
			if i == 100 {
				r.kill(beforeAll)
			}
			if i == 300 {
				r.start()
			}
			count.Set(uint64(i))
			time.Sleep(time.Second)
		}
		if err := errors.Join(local.stop(0), far.stop(0)); err != nil {
			t.Error(err)
		}
		s := far.l.Status()
		out := reported[logger.PushLeftOut](far)
		if len(reported[logger.PushFull](far)) != 1 || len(out) != 1 || out[0].Records != s.LeftOut || s.LeftOut < 50 || s.LeftOut > 250 {
			t.Errorf("%+v; %v %v", s, far.kinds(), out)
		}
		dir = r.dir
		bases, _ := filepath.Glob(filepath.Join(dir, "web1", "*.meta"))
		if len(bases) != 1 {
			t.Fatal(bases)
		}
		wanted, _ := local.valuesByTime(local.base)
		got, marks := far.valuesByTime(strings.TrimSuffix(bases[0], ".meta"))
		if marks != 1 || len(got) != len(wanted)-2*s.LeftOut {
			t.Errorf("%d marks, %d values of %d, %d records were left out", marks, len(got), len(wanted), s.LeftOut)
		}
	})
	checkReceived(t, dir)
}

// TestPushAway checks that Run waits for a receiver that is away at the end, and counts the records
// that it does not get. A receiver that is away at the start is an error.
func TestPushAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{t: t, dir: t.TempDir()}
		r.start()
		defer r.close()
		local, far, _, _ := both(t, r, 0)
		far.wait(10*time.Second + time.Second/2)
		r.kill(beforeAll)
		far.wait(3 * time.Second)
		err := far.stop(0)
		if lost, ok := errors.AsType[*push.LostError](err); !ok || lost.Records != 4 { // and the last record
			t.Errorf("%v", err)
		}
		if err := local.stop(0); err != nil {
			t.Error(err)
		}
		c := far.src.Context()
		defer c.Close()
		o := logger.Options{Config: "log mandatory on 1 sec t", Push: &push.SenderOptions{URL: "http://far", Client: &http.Client{Transport: r}}}
		if _, err := o.New(t.Context(), c); !errors.Is(err, errDead) {
			t.Errorf("away: %v", err)
		}
	})
}

// TestPushGone checks that a receiver that has lost the archive gets another one, and that one that
// refuses it ends Run.
func TestPushGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "received")
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{t: t, dir: dir, limit: push.Limits{Timeout: time.Second}}
		r.start()
		defer r.close()
		local, far, _, _ := both(t, r, 0)
		far.wait(10*time.Second + time.Second/2)
		r.kill(beforeAll)
		far.wait(20 * time.Second)
		dir = r.dir
		if err := os.RemoveAll(filepath.Join(dir, ".push")); err != nil {
			t.Fatal(err)
		}
		r.start()
		far.wait(200 * time.Second)
		if s := far.l.Status(); s.Push.Archives != 2 || !s.Push.Connected {
			t.Errorf("%+v", s)
		}
		r.mu.Lock()
		r.now.Close()
		r.mu.Unlock()
		rc, err := push.ReceiverOptions{Dir: dir, UTC: true, Log: slog.New(slog.DiscardHandler), Networks: []netip.Prefix{}}.Open()
		if err != nil {
			t.Fatal(err)
		}
		r.mu.Lock()
		r.now = rc
		r.mu.Unlock()
		if err := <-far.done; err == nil || !strings.Contains(err.Error(), "403") {
			t.Errorf("refused: %v", err)
		}
		if err := local.stop(0); err != nil {
			t.Error(err)
		}
	})
	checkReceived(t, dir)
}
