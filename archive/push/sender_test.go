package push_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/push"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// A wire is the network between a sender and a receiver, with faults.
type wire struct {
	mu   sync.Mutex
	h    http.Handler
	asC  bool                               // the receiver is that of pmproxy, without offsets
	fail func(r *http.Request, n int) fault // for the n-th request, from 0; nil means none
	log  []string                           // requests with their status
	n    int
}

// A fault is what happens to a request.
type fault int

const (
	none fault = iota
	refuse
	half    // the receiver reads half of the body
	deaf    // the reply is lost
	gone    // 410
	busy    // 503
	forbid  // 403
	strange // a page of another server
	moved   // 307 to another host
	timeout // 408
)

var errBroken = errors.New("connection broken")

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := none
	if w.fail != nil {
		f = w.fail(r, w.n)
	}
	w.n++
	body, _ := io.ReadAll(r.Body)
	rec := httptest.NewRecorder()
	switch f {
	case refuse:
		return nil, errBroken
	case half:
		w.serve(rec, r, io.MultiReader(bytes.NewReader(body[:len(body)/2]), brokenReader{}))
		return nil, errBroken
	case gone, busy, forbid, moved, timeout:
		rec.Code = map[fault]int{gone: 410, busy: 503, forbid: 403, moved: 307, timeout: 408}[f]
		rec.Header().Set("Content-Type", "application/json")
	case strange:
		rec.Header().Set("Content-Type", "text/html")
	default:
		w.serve(rec, r, bytes.NewReader(body))
	}
	w.log = append(w.log, fmt.Sprintf("%s %s %d: %d", r.Method, r.URL.RequestURI(), len(body), rec.Code))
	if f == deaf {
		return nil, errBroken
	}
	resp := rec.Result()
	if w.asC {
		resp.Header.Del("Pcp-Push-Offset")
	}
	return resp, nil
}

func (w *wire) serve(rec *httptest.ResponseRecorder, r *http.Request, body io.Reader) {
	in := httptest.NewRequest(r.Method, r.URL.RequestURI(), body)
	in.RemoteAddr, in.Header = "127.0.0.1:1", r.Header
	if w.h == nil {
		rec.WriteHeader(502)
		return
	}
	w.h.ServeHTTP(rec, in)
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// A recorder records into files and through a sender.
type recorder struct {
	t     *testing.T
	local *archive.Writer
	far   *archive.Writer
	n     int
}

// newRecorder begins both archives.
func newRecorder(t *testing.T, base string, s *push.Sender, version int, every int64) *recorder {
	t.Helper()
	o := archive.WriterOptions{Label: archive.Label{Version: version, Host: "web1", TimeZone: "UTC", PID: 1}, VolumeRecords: 20, IndexEvery: every}
	local, err := o.Create(base)
	if err != nil {
		t.Fatal(err)
	}
	o.Storage = s
	far, err := o.Create("far")
	if err != nil {
		t.Fatal(err)
	}
	return &recorder{t: t, local: local, far: far}
}

// record records n records, a second apart.
func (r *recorder) record(n int) {
	r.t.Helper()
	d := pdu.Desc{PMID: pdu.MakePMID(60, 0, 1), Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemInstant}
	inst := pdu.Desc{PMID: pdu.MakePMID(60, 0, 2), Type: pdu.TypeU32, InDom: pdu.MakeInDom(60, 1), Sem: pdu.SemInstant}
	for range n {
		at := start.Add(time.Duration(r.n) * time.Second)
		b := pdu.ResultWriter{Time: at}
		b.Begin(d.PMID)
		b.Atom(pdu.NoInst, pdu.Uint32(uint32(r.n)))
		b.Begin(inst.PMID)
		b.Atom(pdu.InstID(r.n/7), pdu.Uint32(uint32(r.n)))
		for _, w := range []*archive.Writer{r.local, r.far} {
			_, err := w.UpdateInDom(at, inst.InDom, []pdu.Instance{{ID: pdu.InstID(r.n / 7), Name: fmt.Sprint("i", r.n/7)}})
			err = errors.Join(err, w.WriteMetric(archive.Metric{Desc: d, Names: []string{"one"}}),
				w.WriteMetric(archive.Metric{Desc: inst, Names: []string{"two"}}), w.WriteSets(&b))
			if err != nil {
				r.t.Fatal(err)
			}
		}
		r.n++
		time.Sleep(time.Second)
		synctest.Wait()
	}
}

func (r *recorder) close() {
	r.t.Helper()
	if err := errors.Join(r.local.Close(), r.far.Close()); err != nil {
		r.t.Fatal(err)
	}
}

// dial returns a sender on a wire.
func dial(t *testing.T, w *wire, o push.SenderOptions) *push.Sender {
	t.Helper()
	o.URL, o.Client = "http://far:44322", &http.Client{Transport: w}
	s, err := o.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestDialogue checks that requests to pmproxy 7 are those of pmlogger: one for each record, in the
// order of creation. The receiver must write the same files as a local writer.
func TestDialogue(t *testing.T) {
	for _, version := range []int{2, 3} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			rc := open(t, push.ReceiverOptions{Dir: dir})
			defer rc.Close()
			w := &wire{h: rc, asC: true}
			s := dial(t, w, push.SenderOptions{})
			base := filepath.Join(t.TempDir(), "a")
			r := newRecorder(t, base, s, version, 1<<20)
			r.record(41)
			r.close()
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
			compareFiles(t, filepath.Join(dir, "web1", "20261124.00.30"), base)
			length := map[string]string{"label": " 808: 200", "index": " 32: 200", "volume": " 64: 200"}
			if version == 2 {
				length = map[string]string{"label": " 132: 200", "index": " 20: 200", "volume": " 60: 200"}
			}
			number := path.Base(strings.Fields(w.log[2])[1])
			var got []string
			for _, line := range w.log {
				where := strings.TrimPrefix(strings.Fields(line)[1], "/logger/")
				got = append(got, strings.TrimSuffix(where, "/"+number))
				what, _, _ := strings.Cut(where, "/")
				if !strings.HasSuffix(line, length[what]) {
					t.Errorf("%s, want%s", line, length[what])
				}
			}
			want := []string{"ping", "label", "meta", "meta"} // one for each metric
			for i := range 41 {
				if i%7 == 0 { // a new instance
					want = append(want, "meta")
				}
				want = append(want, fmt.Sprint("volume/", i/20))
				if i%7 == 0 || i%20 == 0 {
					want = append(want, "index")
				}
			}
			want = append(want, "index")
			if !slices.Equal(got, want) {
				t.Errorf("%v\nwant\n%v", got, want)
			}
		})
	}
}

// TestFaults checks that a receiver with offsets gets each record exactly once and in one archive,
// despite failed requests.
func TestFaults(t *testing.T) {
	for _, f := range []fault{refuse, half, deaf, busy, strange, moved, timeout} {
		for _, every := range []int{2, 5} {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				rc := open(t, push.ReceiverOptions{Dir: dir})
				defer rc.Close()
				w := &wire{h: rc, fail: func(r *http.Request, n int) fault {
					if strings.Contains(r.URL.Path, "label") || strings.Contains(r.URL.Path, "ping") || n%every != 0 {
						return none
					}
					return f
				}}
				s := dial(t, w, push.SenderOptions{})
				base := filepath.Join(t.TempDir(), "a")
				r := newRecorder(t, base, s, 3, 100)
				r.record(61)
				r.close()
				if err := s.Close(t.Context()); err != nil {
					t.Error(err)
				}
				compareFiles(t, filepath.Join(dir, "web1", "20261124.00.30"), base)
				if st := s.Stats(); st.Archives != 1 || st.Queued != 0 || !st.Connected {
					t.Errorf("fault %d: %+v", f, st)
				}
			})
		}
	}
}

// TestHour pushes for an hour. The receiver is killed five times in the middle of a request, and 30
// s later another one continues with its files. No record may be lost, and pmlogcheck must report
// no problem.
func TestHour(t *testing.T) {
	all := t.TempDir()
	base, dir := filepath.Join(all, "a"), filepath.Join(all, "0")
	synctest.Test(t, func(t *testing.T) {
		w := &wire{h: open(t, push.ReceiverOptions{Dir: dir})}
		kill := false
		w.fail = func(r *http.Request, n int) fault {
			if kill && strings.Contains(r.URL.Path, "volume") {
				kill, w.fail = false, func(*http.Request, int) fault { return refuse }
				return half
			}
			return none
		}
		fail := w.fail
		s := dial(t, w, push.SenderOptions{})
		r := newRecorder(t, base, s, 3, 100)
		for range 5 {
			r.record(600)
			w.mu.Lock()
			kill = true
			w.mu.Unlock()
			r.record(30)
			w.mu.Lock()
			if kill {
				t.Error("no request of a volume in 30 s")
			}
			defer w.h.(*push.Receiver).Close() // it still uses the old directory
			found := filepath.Join(all, fmt.Sprint(r.n))
			if err := os.CopyFS(found, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			dir = found
			w.h, w.fail = open(t, push.ReceiverOptions{Dir: dir}), fail
			w.mu.Unlock()
		}
		r.record(450)
		r.close()
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if st := s.Stats(); st.Archives != 1 || st.Queued != 0 || r.n != 3600 {
			t.Errorf("%d records, %+v", r.n, st)
		}
		w.h.(*push.Receiver).Close()
	})
	compareFiles(t, filepath.Join(dir, "web1", "20261124.00.30"), base)
	t.Run("Interop", func(t *testing.T) {
		out, errs, status := pcptest.Run(t, nil, "", "pmlogcheck", filepath.Join(dir, "web1", "20261124.00.30"))
		if status != 0 || errs != "" || out != "" {
			t.Errorf("pmlogcheck: %d %s%s", status, out, errs)
		}
	})
}

// TestAgain checks that another archive begins when the receiver has lost one, or when it has no
// offsets and may have stored part of a request. All archives together must have all records.
func TestAgain(t *testing.T) {
	for _, c := range []struct {
		f   fault
		asC bool
	}{{gone, false}, {refuse, true}, {half, true}, {deaf, true}, {gone, true}, {busy, true}} {
		for _, version := range []int{2, 3} {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				rc := open(t, push.ReceiverOptions{Dir: dir})
				defer rc.Close()
				w := &wire{h: rc, asC: c.asC, fail: func(r *http.Request, n int) fault {
					if n > 10 && n%23 == 0 && !strings.Contains(r.URL.Path, "label") {
						return c.f
					}
					return none
				}}
				s := dial(t, w, push.SenderOptions{})
				base := filepath.Join(t.TempDir(), "a")
				r := newRecorder(t, base, s, version, 1000)
				r.record(61)
				r.close()
				if err := s.Close(t.Context()); err != nil {
					t.Error(err)
				}
				if st := s.Stats(); st.Archives < 3 || st.Queued != 0 {
					t.Errorf("fault %d: %+v", c.f, st)
				}
				bases, err := filepath.Glob(filepath.Join(dir, "web1", "*.meta"))
				if err != nil || len(bases) != s.Stats().Archives {
					t.Errorf("%d archives, %v: %+v", len(bases), err, s.Stats())
				}
				seen := map[uint32]bool{}
				for _, meta := range bases {
					readAll(t, strings.TrimSuffix(meta, ".meta"), seen)
				}
				if len(seen) != 61 {
					t.Errorf("fault %d: %d records", c.f, len(seen))
				}
			})
		}
	}
}

// readAll reads an archive by its index and by its records.
func readAll(t *testing.T, base string, seen map[uint32]bool) {
	t.Helper()
	if _, err := os.Stat(base + ".index"); err != nil {
		t.Fatal(err)
	}
	volumes, err := filepath.Glob(base + ".[0-9]")
	if err != nil {
		t.Fatal(err)
	}
	if len(volumes) == 0 {
		return // the archive was lost before it had a volume
	}
	set, err := archive.Open(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	starts, entries := map[string]time.Time{}, 0
	for rec, err := range set.Records() {
		if err != nil {
			t.Fatal(err)
		}
		switch rec.Kind {
		case archive.KindResult:
			var r pdu.Result
			if err := rec.Result(&r); err != nil {
				t.Fatal(err)
			}
			for _, set := range r.All() {
				if set.PMID == pdu.MakePMID(60, 0, 1) {
					v, _ := pdu.As[uint32](set.Atom(0, pdu.TypeU32))
					seen[v] = true
				}
			}
			starts[fmt.Sprint(rec.File.Volume(), " ", rec.Offset)] = rec.Time
			starts[fmt.Sprint(rec.File.Volume(), " ", rec.Offset+int64(len(rec.Raw)))] = time.Time{}
		}
	}
	for rec, err := range set.Records() {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Kind == archive.KindIndex {
			entries++
			e, err := rec.Entry()
			at, ok := starts[fmt.Sprint(e.Volume, " ", e.Data)]
			if err != nil || !ok || !at.IsZero() && !at.Equal(e.Time) {
				t.Errorf("%s: entry %+v leads nowhere, %v", base, e, err)
			}
		}
	}
	if entries == 0 {
		t.Errorf("%s: no entry in the index", base)
	}
}

// TestFull checks that the recorder can stop when the buffer is full, and that Close counts the
// records that remain.
func TestFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rc := open(t, push.ReceiverOptions{})
		defer rc.Close()
		down := false
		notified := 0
		w := &wire{h: rc, fail: func(*http.Request, int) fault {
			if down {
				return refuse
			}
			return none
		}}
		s := dial(t, w, push.SenderOptions{MaxBuffer: 500, Notify: func() { notified++ }})
		r := newRecorder(t, filepath.Join(t.TempDir(), "a"), s, 3, 100)
		r.record(2)
		w.mu.Lock()
		down = true
		w.mu.Unlock()
		n := 0
		for ; !s.Full(); n++ {
			r.record(1)
		}
		r.close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := s.Close(ctx)
		lost, ok := errors.AsType[*push.LostError](err)
		if !ok || lost.Records != n || lost.Bytes < 500 || !strings.Contains(err.Error(), "connection broken") || notified != 1 {
			t.Errorf("%v, want %d records; notified %d times", err, n, notified)
		}
		if err := s.Append(0, []byte(record(24, 0))); err == nil {
			t.Error("a record after Close")
		}
	})
}

// TestRefused checks that a permanent refusal ends the sender, and that New fails if the receiver
// refuses or the URL is invalid.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rc := open(t, push.ReceiverOptions{})
		defer rc.Close()
		for _, f := range []fault{forbid} {
			on := false
			w := &wire{h: rc, fail: func(*http.Request, int) fault {
				if on {
					return f
				}
				return none
			}}
			s := dial(t, w, push.SenderOptions{})
			r := newRecorder(t, filepath.Join(t.TempDir(), "a"), s, 3, 100)
			r.record(1)
			w.mu.Lock()
			on = true
			w.mu.Unlock()
			r.record(1)
			if err := s.Err(); err == nil {
				t.Errorf("fault %d: no error", f)
			}
			b := pdu.ResultWriter{Time: start.Add(time.Hour)}
			b.Begin(pdu.MakePMID(60, 0, 1))
			b.Atom(pdu.NoInst, pdu.Uint32(0))
			if err := r.far.WriteSets(&b); err == nil {
				t.Error("a record after a refusal")
			}
			if _, ok := errors.AsType[*push.LostError](s.Close(t.Context())); !ok {
				t.Error("nothing is lost")
			}
			r.local.Close()
			if _, err := (push.SenderOptions{URL: "http://far", Client: &http.Client{Transport: w}}).New(t.Context()); err == nil {
				t.Errorf("fault %d: a sender", f)
			}
		}
		for _, url := range []string{"", "x", "ftp://x", "http://", "http://[::1"} {
			if _, err := (push.SenderOptions{URL: url}).New(t.Context()); err == nil {
				t.Errorf("a sender to %q", url)
			}
		}
	})
}

// TestSlowNetwork checks that a slow network makes progress: the received part of a request counts,
// and requests become shorter. They also become shorter behind a proxy that limits requests.
func TestSlowNetwork(t *testing.T) {
	records := pcptest.AttackSize(4, 60)
	for name, limit := range map[string]int{"slow": 10 << 10, "proxy": 0} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			rc := open(t, push.ReceiverOptions{Dir: dir})
			defer rc.Close()
			inner := &wire{h: rc}
			slow := &slowWire{inner, limit, 0}
			s, err := push.SenderOptions{URL: "http://far", Client: &http.Client{Transport: slow}}.New(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			base := filepath.Join(t.TempDir(), "a")
			o := archive.WriterOptions{Label: archive.Label{Version: 3, Host: "web1", TimeZone: "UTC", PID: 1, Start: start}}
			local, err := o.Create(base)
			if err != nil {
				t.Fatal(err)
			}
			o.Storage = s
			far, err := o.Create("far")
			if err != nil {
				t.Fatal(err)
			}
			d := pdu.Desc{PMID: pdu.MakePMID(60, 0, 1), Type: pdu.TypeString, InDom: pdu.NoInDom, Sem: pdu.SemInstant}
			for i := range records { // a record takes longer than a request may
				b := pdu.ResultWriter{Time: start.Add(time.Duration(i) * time.Second)}
				b.Begin(d.PMID)
				b.Atom(pdu.NoInst, pdu.String(strings.Repeat(string(rune('a'+i%26)), 500<<10)))
				for _, w := range []*archive.Writer{local, far} {
					if err := errors.Join(w.WriteMetric(archive.Metric{Desc: d, Names: []string{"one"}}), w.WriteSets(&b)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := errors.Join(local.Close(), far.Close()); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(records)*5*time.Minute)
			defer cancel()
			began := time.Now()
			if err := s.Close(ctx); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			t.Logf("%s: %d requests in %v, and %d that were too long", name, len(inner.log), time.Since(began).Round(time.Second), slow.refused)
			if slow.refused > 2 {
				t.Errorf("%s: %d requests were too long: the sender forgets the limit", name, slow.refused)
			}
			compareFiles(t, filepath.Join(dir, "web1", "20261124.00.30"), base)
		})
	}
}

// A slowWire passes limit bytes per second. If limit is 0, it refuses long requests, as proxies do.
type slowWire struct {
	*wire
	limit   int
	refused int
}

func (w *slowWire) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	switch took := time.Duration(0); {
	case w.limit == 0 && len(body) > 600<<10:
		w.refused++
		return &http.Response{StatusCode: 413, Status: "413", Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	case w.limit == 0:
	default:
		took = time.Duration(len(body)) * time.Second / time.Duration(w.limit)
		deadline, _ := r.Context().Deadline()
		if left := time.Until(deadline); took > left {
			<-r.Context().Done()
			rec := httptest.NewRecorder()
			w.serve(rec, r, io.MultiReader(bytes.NewReader(body[:int(left.Seconds())*w.limit]), brokenReader{}))
			return nil, r.Context().Err()
		}
		time.Sleep(took)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return w.wire.RoundTrip(r)
}

// TestRedirects checks that the password is sent only to the host and port of the URL, even after
// redirects.
func TestRedirects(t *testing.T) {
	elsewhere, hops, status := 0, 0, http.StatusTemporaryRedirect
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	rc := open(t, push.ReceiverOptions{})
	to := ""
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case hops > 0: // to the same server
			hops--
			http.Redirect(w, r, r.URL.Path, status)
			return
		case !strings.HasPrefix(r.URL.Path, "/logger/") || to != "":
			http.Redirect(w, r, to+strings.TrimPrefix(r.URL.Path, "/old"), status)
			return
		}
		rc.ServeHTTP(w, r)
	}))
	var open atomic.Int64
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
		}
	}
	srv.Start()
	defer srv.Close()
	if s, err := (push.SenderOptions{URL: srv.URL + "/old"}).New(t.Context()); err != nil {
		t.Error("to the same host:", err)
	} else {
		s.Close(t.Context())
	}
	statuses := []int{http.StatusTemporaryRedirect, http.StatusPermanentRedirect, http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther}
	targets := []string{other.URL, strings.Replace(other.URL, "127.0.0.1", "localhost", 1), strings.Replace(srv.URL, "http:", "https:", 1),
		strings.Replace(srv.URL, "127.0.0.1", "localhost", 1), strings.Replace(other.URL, "http:", "", 1)}
	many, refused := pcptest.AttackSize(len(targets), 5000), 0
	pcptest.Attack(t, func() {
		for i := range many {
			to, status, hops = targets[i%len(targets)], statuses[i/len(targets)%len(statuses)], i/25%4
			_, err := push.SenderOptions{URL: strings.Replace(srv.URL, "://", "://web:s3cret@", 1)}.New(t.Context())
			if err == nil || strings.Contains(err.Error(), "s3cret") || elsewhere > 0 {
				t.Fatalf("status %d to %s: %v, %d requests there", status, to, err, elsewhere)
			}
			refused++
		}
	}, nil)
	t.Logf("refused: %d of %d redirects to another host or port", refused, many)
	pcptest.Retry(t, func() string {
		if n := open.Load(); n > 0 {
			return fmt.Sprintf("%d connections of senders that do not exist", n)
		}
		return ""
	})
}

// TestLogin checks users, tokens and TLS over real connections. No error may contain a password.
func TestLogin(t *testing.T) {
	rc := open(t, push.ReceiverOptions{Networks: []netip.Prefix{}, Users: []push.User{{Name: "web", Password: "s3cret"}, {Password: "t0ken"}}})
	srv := httptest.NewTLSServer(rc)
	defer srv.Close()
	for _, c := range []struct {
		user, password, token string
		ok                    bool
	}{{"web", "s3cret", "", true}, {"", "", "t0ken", true}, {"web", "wr0ng", "", false}} {
		url := srv.URL
		if c.user != "" {
			url = strings.Replace(url, "://", "://"+c.user+":"+c.password+"@", 1)
		}
		s, err := push.SenderOptions{URL: url, Token: c.token, Client: srv.Client()}.New(t.Context())
		if (err == nil) != c.ok || err != nil && strings.Contains(err.Error(), c.password) {
			t.Errorf("%+v: %v", c, err)
		}
		if err == nil {
			w, err := archive.WriterOptions{Label: archive.Label{Host: "web1", TimeZone: "UTC", Start: start}, Storage: s}.Create("far")
			if err == nil {
				err = errors.Join(w.Begin(), w.Close(), s.Close(t.Context()))
			}
			if err != nil {
				t.Error(err)
			}
		}
	}
	if _, err := (push.SenderOptions{URL: strings.Replace(srv.URL, "://", "://web:s3cret@", 1)}).New(t.Context()); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("an unknown certificate: %v", err)
	}
	if st := rc.Stats(); st.Archives != 2 {
		t.Errorf("%+v", st)
	}
}

// TestFollow checks that a reader can follow the received archive while it grows.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		rc := open(t, push.ReceiverOptions{Dir: dir})
		defer rc.Close()
		s := dial(t, &wire{h: rc}, push.SenderOptions{})
		r := newRecorder(t, filepath.Join(t.TempDir(), "a"), s, 3, 1000)
		r.record(3)
		set, err := archive.Open(t.Context(), filepath.Join(dir, "web1", "20261124.00.30"))
		if err != nil {
			t.Fatal(err)
		}
		defer set.Close()
		for range 30 { // across volumes, with new instances
			r.record(1)
			if err := set.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			end, err := set.End()
			if want := start.Add(time.Duration(r.n-1) * time.Second); err != nil || !end.Equal(want) {
				t.Errorf("ends at %v, %v, want %v", end, err, want)
			}
		}
		r.close()
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
