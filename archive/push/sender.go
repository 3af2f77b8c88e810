package push

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/ctxwait"
)

const (
	requestTimeout = 30 * time.Second
	connectTimeout = 5 * time.Second
	maxRedirects   = 3
	maxBatch       = 1 << 20  // bytes of records in a request, if the receiver knows offsets
	minBatch       = 4 << 10  // the same after failed requests
	maxKeptMeta    = 64 << 20 // bytes of metadata that are kept for another archive
	maxReply       = 4 << 10  // bytes of a reply
	firstBackoff   = 100 * time.Millisecond
	maxBackoff     = 30 * time.Second
)

// SenderOptions configure a Sender. Only URL is required.
type SenderOptions struct {
	// URL is the receiver: http://host:port, https://host:port, or unix:/path of a socket. It may
	// have a user and a password.
	URL string
	// User and Password are for HTTP basic authentication and override those in URL. Token is sent
	// as "Authorization: Bearer" and overrides both.
	User, Password, Token string
	// Client sends the requests. Nil means a client that verifies certificates with the system's
	// authorities and follows redirects only to the same host and port. If URL is a unix socket,
	// another Client must connect to the socket on its own.
	Client *http.Client
	// MaxBuffer is how many bytes of unconfirmed records make Full return true; 0 means 64 MiB. The
	// Sender accepts more, so the caller has to ask Full before it writes a record.
	MaxBuffer int64
	// Notify, if not nil, is called when Stats.Connected changes and when Err becomes non-nil. It
	// must not call methods of the Sender.
	Notify func()
}

// A Sender sends an archive to a Receiver, or to pmproxy of PCP 7, while an [archive.Writer] writes
// it. Set it as the Storage in the Writer's options. It serves for one archive. Records stay in
// memory, and are sent again, until the receiver confirms them. If the receiver has lost the
// archive, or its state is unknown, the Sender starts another archive with all metadata and the
// unconfirmed records. A Sender is safe for concurrent use.
type Sender struct {
	opts   SenderOptions
	url    string // without a slash at the end
	client *http.Client
	wake   chan struct{}
	cancel context.CancelFunc
	done   chan struct{} // closed when the goroutine has ended; nil before it starts

	mu      sync.Mutex
	queue   queue
	err     error // why no more is sent
	closing bool
	stats   SenderStats

	// Used only by the goroutine.
	number  string // of the archive, or ""
	offsets bool   // the receiver knows offsets
	begun   bool   // an earlier archive has begun
	batch   int    // bytes of records in a request; smaller after failures
	most    int    // largest batch; smaller after a request that was too long for a proxy
	unsure  bool   // a request failed, so the end of the receiver's file is unknown
	end     fileEnd
}

// A fileEnd is the end of a file at the receiver.
type fileEnd struct {
	volume int
	offset int64
}

// SenderStats are the statistics of a Sender.
type SenderStats struct {
	Connected bool   // the latest request has succeeded
	Failure   string // why it failed, or ""
	Archives  int    // archives that have begun at the receiver
	Queued    int64  // unconfirmed bytes
}

// A LostError is the error of Sender.Close if the receiver has not confirmed all records.
type LostError struct {
	Records int   // unconfirmed data records
	Bytes   int64 // of all unconfirmed records, also metadata and the index
	Err     error // why
}

// Error describes what was lost, and why.
func (e *LostError) Error() string {
	return fmt.Sprintf("%d data records of %d bytes were not sent: %v", e.Records, e.Bytes, e.Err)
}

// Unwrap returns e.Err.
func (e *LostError) Unwrap() error { return e.Err }

// New returns a Sender. Like pmlogger, it first sends a ping, and fails if no receiver answers at
// the URL. The Sender sends nothing more until the Writer begins the archive.
func (o SenderOptions) New(ctx context.Context) (*Sender, error) {
	o.MaxBuffer = cmp.Or(o.MaxBuffer, 64<<20)
	s := &Sender{opts: o, client: o.Client, wake: make(chan struct{}, 1), batch: maxBatch, most: maxBatch}
	if err := s.locate(); err != nil {
		return nil, err
	}
	if err := s.ping(ctx); err != nil {
		s.client.CloseIdleConnections()
		return nil, err
	}
	s.stats.Connected = true
	return s, nil
}

// locate parses the URL.
func (s *Sender) locate() error {
	o := &s.opts
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSHandshakeTimeout: connectTimeout, ForceAttemptHTTP2: true, IdleConnTimeout: 2 * time.Minute}
	if path, ok := strings.CutPrefix(o.URL, "unix:"); ok {
		s.url = "http://localhost"
		path = strings.TrimPrefix(path, "//")
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{Timeout: connectTimeout}).DialContext(ctx, "unix", path)
		}
	} else {
		u, err := url.Parse(o.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return errors.New("not the URL of a receiver: want http://host:port, https://host:port or unix:/path")
		}
		if o.User == "" && u.User != nil {
			o.User = u.User.Username()
			o.Password, _ = u.User.Password()
		}
		u.User, u.RawQuery, u.Fragment = nil, "", ""
		s.url = strings.TrimSuffix(u.String(), "/")
	}
	if s.client == nil {
		s.client = &http.Client{Transport: transport, CheckRedirect: sameHost}
	}
	return nil
}

// sameHost follows a redirect that keeps the method and the body if it leads to the same host and
// port and does not leave TLS: the password is for that host alone. It does not follow others, and
// the Sender takes their reply for an error.
func sameHost(req *http.Request, via []*http.Request) error {
	from := via[0]
	if len(via) > maxRedirects || req.Method != from.Method || req.URL.Host != from.URL.Host || from.URL.Scheme == "https" && req.URL.Scheme != "https" {
		return http.ErrUseLastResponse
	}
	return nil
}

// Stats returns the current statistics.
func (s *Sender) Stats() SenderStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.stats
	stats.Queued = s.queue.size
	return stats
}

// Full reports whether at least MaxBuffer bytes wait for the receiver. Package logger then drops
// records, and writes a mark before the next one. Other programs with a Sender should do the same.
func (s *Sender) Full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue.size >= s.opts.MaxBuffer
}

// Err returns why no more can be sent, usually a permanent refusal by the receiver. It is nil while
// retries can still succeed.
func (s *Sender) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Create begins a file of the archive, for a Writer.
func (s *Sender) Create(label archive.Label, records []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return net.ErrClosed
	}
	if s.err != nil {
		return s.err
	}
	if s.done == nil {
		l := label
		l.Volume = 0
		b, err := l.Append(nil)
		if err != nil {
			return err
		}
		s.queue.init(l.Version, b)
		var ctx context.Context
		ctx, s.cancel = context.WithCancel(context.Background())
		s.done = make(chan struct{})
		go s.run(ctx)
	}
	if label.Volume >= 0 {
		s.queue.begin(label.Volume)
	}
	return s.append(label.Volume, records)
}

// Append adds records to a file, for a Writer. It does not keep records.
func (s *Sender) Append(volume int, records []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.append(volume, records)
}

func (s *Sender) append(volume int, records []byte) error {
	switch {
	case s.closing:
		return net.ErrClosed
	case s.err != nil:
		return s.err
	case s.done == nil:
		return errors.New("no label yet")
	}
	if err := s.queue.add(volume, records); err != nil {
		return err
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return nil
}

// Close waits until all queued records are sent or ctx ends. The error is a *LostError if records
// remain, or else Err.
func (s *Sender) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	done := s.done
	s.mu.Unlock()
	defer s.client.CloseIdleConnections()
	if done == nil {
		return nil
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
	s.cancel()
	<-done
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue.size == 0 {
		return s.err
	}
	why := s.err
	if why == nil && s.stats.Failure != "" {
		why = errors.New(s.stats.Failure)
	}
	if why == nil {
		why = context.Cause(ctx)
	}
	return &LostError{s.queue.dataRecords(), s.queue.size, why}
}

// run sends queued records until ctx ends, the receiver refuses them, or all are sent after Close.
func (s *Sender) run(ctx context.Context) {
	defer close(s.done)
	backoff := time.Duration(0)
	for {
		if s.number == "" || !s.idle() {
			wait, err := s.round(ctx)
			if ctx.Err() != nil {
				return
			}
			s.note(err)
			if err == nil {
				backoff = 0
				continue
			}
			if s.refused(err) {
				return
			}
			backoff = min(max(2*backoff, firstBackoff), maxBackoff)
			if ctxwait.Sleep(ctx, max(backoff, min(wait, maxBackoff))) != nil {
				return
			}
			continue
		}
		s.mu.Lock()
		over := s.closing && s.queue.size == 0
		s.mu.Unlock()
		if over {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
	}
}

func (s *Sender) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue.size == 0
}

// note takes notice of whether the latest requests have succeeded.
func (s *Sender) note(err error) {
	s.mu.Lock()
	before := s.stats.Connected
	s.stats.Connected, s.stats.Failure = err == nil, ""
	if err != nil {
		s.stats.Failure = err.Error()
	}
	s.mu.Unlock()
	if before != (err == nil) {
		s.notify()
	}
}

func (s *Sender) notify() {
	if s.opts.Notify != nil {
		s.opts.Notify()
	}
}

// refused reports whether err is final, and if so ends the Sender.
func (s *Sender) refused(err error) bool {
	r, ok := errors.AsType[*replyError](err)
	if !ok || !r.final() {
		return false
	}
	s.mu.Lock()
	s.err = err
	s.mu.Unlock()
	s.notify()
	return true
}
