package send

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pcp-go/pcp/internal/build"
	"github.com/pcp-go/pcp/pmapi/export"
)

// DefaultTimeout is the default of Sender.Timeout.
const DefaultTimeout = 10 * time.Second

const defaultMaxQueue = 64 << 20

// Pauses between attempts: the first one doubles up to the longest, and each is Shortened at random
// by up to a half. A receiver may ask for more, but not for more than maxRetryAfter.
const (
	firstPause    = time.Second
	longestPause  = 30 * time.Second
	maxRetryAfter = time.Hour
)

// maxAway is how long a receiver may be away once its messages have an end: those of an archive, or
// of a number of reads.
const maxAway = 2 * time.Minute

// maxRedirects limits the redirects of an attempt.
const maxRedirects = 3

// maxResponse is how much of a reply is read, and maxText how much is kept of what a receiver says.
const (
	maxResponse = 4 << 20
	maxText     = 1024
)

// A Sender posts messages one after the other, each until the receiver has accepted or refused it.
// Endpoint, Protocol and Retry are required. Fields must not change after the call of Live
// or Backfill, and only one of these may be called, once. Put and TooLong are for Poll.Take and
// Poll.Away. Any goroutine may call Stats.
type Sender struct {
	Protocol string      // a short name for errors and for the header User-Agent
	Endpoint string      // a URL with the scheme http or https
	Path     string      // the path of an Endpoint without one
	Header   http.Header // added to each request
	Demanded http.Header // headers of the protocol; they have precedence over Header

	// Client sends requests; nil means one with the proxies of the environment. A client without
	// CheckRedirect follows only the redirects that sameHost allows.
	Client *http.Client
	// Timeout limits an attempt, and the time for the last attempts when Live ends; 0 means
	// DefaultTimeout.
	Timeout time.Duration
	// MaxQueue limits the bytes of waiting messages; 0 means defaultMaxQueue. Put drops the oldest
	// messages to make room, but always keeps one.
	MaxQueue int

	// Directory keeps the waiting messages, also from one run to the next; "" means memory. Live
	// creates it if necessary. Only one Sender at a time can use it. Messages that cannot be
	// written stay in memory. A crash of the program loses no message; a crash of the computer may
	// lose the last ones.
	Directory string

	// Retry reports whether to send a message again after a status of 4xx or 5xx. The argument
	// reason is the result of Reason. A message is always sent again after a redirect that was not
	// followed and after a web page, such as one for a login, because the receiver does not have
	// it.
	Retry func(status int, reason string) bool

	// Reply, if not nil, parses the body of a 2xx reply: how many points the receiver rejected (not
	// negative), and why.
	Reply func(header http.Header, body []byte) (rejected int64, message string, err error)

	// Reason, if not nil, returns the reason in another reply, for Retry and the log.
	Reason func(header http.Header, body []byte) string

	Log *slog.Logger // warnings; nil means none

	once    sync.Once
	queue   queue
	url     string
	timeout time.Duration

	// done, if not nil, is called by run, in order, after each message that was accepted or
	// refused.
	done func(Message)
	// strict makes run return an error when the receiver refuses a message. done is not called for
	// that message.
	strict bool

	generation uint64 // of the last snapshot
	warned     string // what was wrong with its metrics
}

func (s *Sender) init() {
	s.once.Do(func() {
		s.queue.limit = s.MaxQueue
		if s.MaxQueue == 0 {
			s.queue.limit = defaultMaxQueue
		}
		s.queue.wake, s.queue.room, s.queue.bounded = make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{})
		s.queue.warn = func(text string, err error) { s.warn(text, "error", err) }
	})
}

// open checks the endpoint and the headers, and opens the directory. run must follow; it closes the
// directory.
func (s *Sender) open() error {
	s.init()
	u, err := url.Parse(s.Endpoint)
	if err != nil {
		var syntax *url.Error
		if errors.As(err, &syntax) {
			err = syntax.Err // the URL may have a password
		}
		return fmt.Errorf("%s: endpoint: %w", s.Protocol, err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%s: endpoint %s: want http:// or https://, and a host", s.Protocol, u.Redacted())
	}
	if u.Path == "" {
		u.Path = s.Path
	}
	s.url, s.timeout = u.String(), s.Timeout
	if s.timeout <= 0 {
		s.timeout = DefaultTimeout
	}
	if s.Client == nil {
		s.Client = &http.Client{}
	}
	if s.Client.CheckRedirect == nil {
		client := *s.Client
		client.CheckRedirect = sameHost
		s.Client = &client
	}
	if s.Header = s.Header.Clone(); s.Header == nil {
		s.Header = http.Header{}
	}
	maps.Copy(s.Header, s.Demanded)
	if err := checkHeader(s.Header); err != nil {
		return fmt.Errorf("%s: %w", s.Protocol, err)
	}
	if s.Header.Get("User-Agent") == "" {
		s.Header.Set("User-Agent", "pcp-go-"+s.Protocol+"/"+cmp.Or(build.Version(), "0"))
	}
	if s.Directory == "" {
		return nil
	}
	return s.openDirectory()
}

func (s *Sender) openDirectory() error {
	d, waiting, err := openDirectory(s.Directory, s.Protocol)
	if err != nil {
		return fmt.Errorf("%s: queue: %w", s.Protocol, err)
	}
	q := &s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dir = d
	for _, e := range waiting {
		add(&q.stats.Found, e.Points)
		q.list = append(q.list, e)
		q.bytes += e.size
	}
	q.makeRoom()
	signal(q.wake)
	return nil
}

// checkHeader finds what no client sends, since no attempt would succeed. The error has no values,
// which may be secrets.
func checkHeader(h http.Header) error {
	for name, values := range h {
		if name == "" || strings.ContainsFunc(name, notInNames) {
			return fmt.Errorf("header %q: names are of letters, digits and !#$%%&'*+-.^_`|~", name)
		}
		for _, v := range values {
			if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				return fmt.Errorf("header %s: the value has a control character", name)
			}
		}
	}
	return nil
}

// notInNames is whether the name of a header cannot have a character (RFC 9110, 5.6.2).
func notInNames(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// sameHost is a CheckRedirect for http.Client. It follows redirects that keep the method and the
// body, up to three, if they lead to the same host and port and do not leave TLS, so that
// credentials go only to the endpoint. Others are the response.
func sameHost(req *http.Request, via []*http.Request) error {
	from := via[0]
	if len(via) > maxRedirects || req.Method != from.Method || req.URL.Host != from.URL.Host || from.URL.Scheme == "https" && req.URL.Scheme != "https" {
		return http.ErrUseLastResponse
	}
	return nil
}

// Stats returns the counters at this time.
func (s *Sender) Stats() export.Stats {
	s.init()
	return s.queue.snapshot()
}

// Put adds a message to the queue. If the queue is full, the oldest messages are dropped.
func (s *Sender) Put(m Message) { s.queue.put(m) }

// putWait waits until the queue has room for a message and adds it. The error is that of ctx, or
// says that run has ended.
func (s *Sender) putWait(ctx context.Context, m Message) error { return s.queue.putWait(ctx, m) }

// TooLong counts and logs a message that the caller does not send because of its length.
func (s *Sender) TooLong(points, bytes int) {
	s.warn("message is too long to be sent", "bytes", bytes)
	s.queue.update(func(st *export.Stats) {
		add(&st.Read, points)
		add(&st.Failed, points)
	})
}

// close signals run that no more messages follow. It must be called for each run, even after its
// context has ended.
func (s *Sender) close() { s.queue.close() }

// run sends the messages of the queue, and returns after close when all have been sent. When ctx
// ends, run tries each remaining message once, and those added before close too, for Timeout in
// all. It returns an error for a refused message if strict is set. It also returns one if the
// receiver is away for two minutes after close, or while putWait is used.
func (s *Sender) run(ctx context.Context) error {
	q := &s.queue
	defer func() {
		q.stop()
		if q.dir != nil {
			q.dir.close()
		}
	}()
	for {
		m, ok, ended := q.next()
		if ended {
			return nil
		}
		if !ok {
			<-q.wake // close follows the end of ctx
			continue
		}
		if ctx.Err() == nil {
			ok, err := s.deliver(ctx, m)
			if err != nil {
				q.stop()
				q.abandon()
				return err
			}
			if ok {
				continue
			}
		}
		return s.flush(context.WithoutCancel(ctx), m)
	}
}

// flush tries a message, and those that follow, once each.
func (s *Sender) flush(ctx context.Context, m Message) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	q := &s.queue
	q.stop()
	for {
		r := s.post(ctx, m)
		if r.retry {
			q.giveUp(m)
			q.abandon()
			return nil
		}
		if err := s.finish(m, r); err != nil {
			q.abandon()
			return err
		}
		var ok, ended bool
		for m, ok, ended = q.next(); !ok && !ended; m, ok, ended = q.next() {
			<-q.wake
		}
		if ended {
			return nil
		}
	}
}

// deliver posts a message until it is done with; ok is false if ctx ends before. The error says
// that the message was refused, or that the receiver is away for too long.
func (s *Sender) deliver(ctx context.Context, m Message) (ok bool, err error) {
	begin := time.Now()
	for next := firstPause; ; next = min(2*next, longestPause) {
		r := s.post(ctx, m)
		if ctx.Err() != nil && r.retry {
			return false, nil
		}
		if !r.retry {
			return true, s.finish(m, r)
		}
		if next == firstPause {
			s.warn("receiver is away, messages wait", "error", r.err)
		}
		switch err := s.queue.pause(ctx, begin, max(next-rand.N(next/2), r.after)); {
		case errors.Is(err, errAway):
			s.queue.giveUp(m)
			return false, fmt.Errorf("%s: %w for %v: %w", s.Protocol, errAway, maxAway, r.err)
		case err != nil:
			return false, nil
		}
		s.queue.update(func(s *export.Stats) { s.Retries++ })
	}
}

// finish counts a message that the receiver has taken or refused.
func (s *Sender) finish(m Message, r result) error {
	if r.err != nil {
		s.warn("message refused", "points", m.Points, "error", r.err)
	} else if r.rejected > 0 || r.message != "" {
		s.warn("message taken in part", "points", m.Points, "rejected", r.rejected, "message", r.message)
	}
	if r.err != nil && s.strict {
		s.queue.giveUp(m)
		return fmt.Errorf("%s: message refused: %w", s.Protocol, r.err)
	}
	s.queue.done(m, func(s *export.Stats) {
		if r.err != nil {
			add(&s.Failed, m.Points)
			return
		}
		add(&s.Sent, m.Points)
		s.Rejected += min(uint64(r.rejected), uint64(m.Points))
	})
	if s.done != nil {
		s.done(m)
	}
	return nil
}

// A result is what became of a message.
type result struct {
	err      error // nil if the receiver has it
	retry    bool
	after    time.Duration // not before; of a receiver that said so
	rejected int64
	message  string
}

// post makes one attempt.
func (s *Sender) post(ctx context.Context, m Message) result {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(m.Body))
	if err != nil {
		return result{err: err}
	}
	req.Header = s.Header.Clone()
	if m.Encoding != "" {
		req.Header.Set("Content-Encoding", m.Encoding)
	}
	if m.Type != "" {
		req.Header.Set("Content-Type", m.Type)
	}
	resp, err := s.Client.Do(req)
	if err != nil {
		return result{err: err, retry: true}
	}
	defer resp.Body.Close()
	body, bodyErr := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	again := result{retry: true, after: retryAfter(resp.Header.Get("Retry-After"), time.Now())}
	switch {
	case resp.StatusCode/100 == 3:
		again.err = redirectError(resp)
		return again
	case resp.StatusCode/100 == 2 && isPage(resp.Header, body):
		again.err = fmt.Errorf("%s with a web page in place of a reply: %s does not receive metrics", Shortened(resp.Status), req.URL.Redacted())
		return again
	case resp.StatusCode/100 == 2:
		var r result // a reply that is broken has still taken the message
		if s.Reply == nil {
			return r
		}
		if bodyErr == nil {
			r.rejected, r.message, bodyErr = s.Reply(resp.Header, body)
		}
		if bodyErr != nil {
			r.message = bodyErr.Error()
		}
		return r
	}
	reason := ""
	if s.Reason != nil {
		reason = Shortened(s.Reason(resp.Header, body))
	}
	again.err = statusError(resp.Status, reason)
	if !s.Retry(resp.StatusCode, reason) {
		return result{err: again.err}
	}
	return again
}

// redirectError says where a receiver redirects requests, without a password.
func redirectError(resp *http.Response) error {
	target := "nowhere"
	if u, err := resp.Location(); err == nil {
		target = Shortened(u.Redacted())
	}
	return fmt.Errorf("%s to %s, which is not followed: send to that URL if it is right", Shortened(resp.Status), target)
}

// isPage reports whether a reply is a web page. Receivers of metrics never send one.
func isPage(h http.Header, body []byte) bool {
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	return kind == "text/html" || kind == "application/xhtml+xml" || bytes.HasPrefix(bytes.TrimSpace(body), []byte("<"))
}

// statusError has what a receiver says, if it says something.
func statusError(status, reason string) error {
	if reason == "" {
		return errors.New(Shortened(status))
	}
	return fmt.Errorf("%s: %s", Shortened(status), reason)
}

// Shortened returns the first part of a receiver's text, for logs and errors.
func Shortened(s string) string {
	if len(s) > maxText {
		s = s[:maxText]
	}
	return strings.ToValidUTF8(s, "")
}

// retryAfter is a header Retry-After, of seconds or a date, as a time from now on; 0 if it is
// neither.
func retryAfter(header string, now time.Time) time.Duration {
	if n, err := strconv.ParseUint(header, 10, 64); err == nil {
		return time.Duration(min(n, uint64(maxRetryAfter/time.Second))) * time.Second
	}
	if t, err := http.ParseTime(header); err == nil {
		return min(max(t.Sub(now), 0), maxRetryAfter)
	}
	return 0
}

func (s *Sender) warn(text string, args ...any) {
	if s.Log != nil {
		s.Log.Warn(text, args...)
	}
}
