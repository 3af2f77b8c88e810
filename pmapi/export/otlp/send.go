package otlp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Pauses between attempts: the first one doubles up to the longest, and each is shortened at random by up to a half. A receiver may
// ask for more, but not for more than maxRetryAfter.
const (
	firstPause    = time.Second
	longestPause  = 30 * time.Second
	maxRetryAfter = time.Hour
)

// A sender posts the messages of a queue.
type sender struct {
	e        *Exporter
	client   *http.Client
	endpoint string
	header   http.Header
	timeout  time.Duration
}

func newSender(e *Exporter) (*sender, error) {
	endpoint := e.Endpoint
	if endpoint == "" {
		endpoint = DefaultEndpoint
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("otlp: endpoint: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("otlp: endpoint %s: want http:// or https://, and a host", u.Redacted())
	}
	s := &sender{e: e, client: e.Client, endpoint: u.String(), header: e.Header.Clone(), timeout: orDefault(e.Timeout, DefaultTimeout)}
	if s.client == nil {
		s.client = &http.Client{CheckRedirect: noRedirect}
	}
	if s.header == nil {
		s.header = http.Header{}
	}
	s.header.Set("Content-Type", "application/json")
	if s.header.Get("User-Agent") == "" {
		s.header.Set("User-Agent", "pcp-go-otlp/"+orUnknown(moduleVersion()))
	}
	if e.Gzip {
		s.header.Set("Content-Encoding", "gzip")
	}
	return s, nil
}

// noRedirect keeps the credentials in headers where they were meant for.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func orUnknown(version string) string {
	if version == "" {
		return "0"
	}
	return version
}

// run sends messages until ctx ends, or the queue is closed. What is left then is tried once more.
func (s *sender) run(ctx context.Context) {
	q := &s.e.queue
	for {
		m, ok, ended := q.next()
		if ended {
			return
		}
		if !ok {
			<-q.wake // Run closes the queue when ctx ends
			continue
		}
		if ctx.Err() != nil || !s.deliver(ctx, m) {
			s.flush(context.WithoutCancel(ctx), m)
			return
		}
	}
}

// flush tries a message, and those that follow, once each.
func (s *sender) flush(ctx context.Context, m message) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	q := &s.e.queue
	for {
		if r := s.post(ctx, m); r.retry {
			q.done(func(s *Stats) { s.Dropped.add(m) })
			break
		} else {
			s.finish(m, r)
		}
		var ok, ended bool
		for m, ok, ended = q.next(); !ok && !ended; m, ok, ended = q.next() {
			<-q.wake
		}
		if ended {
			return
		}
	}
	for { // until the last read is over
		q.abandon()
		if _, _, ended := q.next(); ended {
			return
		}
		<-q.wake
	}
}

// deliver posts a message until it is done with; ok is false if ctx ends before.
func (s *sender) deliver(ctx context.Context, m message) (ok bool) {
	for next := firstPause; ; next = min(2*next, longestPause) {
		r := s.post(ctx, m)
		if ctx.Err() != nil && r.retry {
			return false
		}
		if !r.retry {
			s.finish(m, r)
			return true
		}
		if next == firstPause {
			s.e.warn("receiver is away, messages wait", "error", r.err)
		}
		wait := next - rand.N(next/2)
		if pause(ctx, max(wait, r.after)) != nil {
			return false
		}
		s.e.queue.update(func(s *Stats) { s.Retries++ })
	}
}

// finish counts a message that the receiver has taken or refused.
func (s *sender) finish(m message, r result) {
	if r.err != nil {
		s.e.warn("message refused", "points", m.points, "error", r.err)
	} else if r.rejected > 0 || r.message != "" {
		s.e.warn("message taken in part", "points", m.points, "rejected", r.rejected, "message", r.message)
	}
	s.e.queue.done(func(s *Stats) {
		if r.err != nil {
			s.Failed.add(m)
			return
		}
		s.Sent.add(m)
		s.Rejected += min(uint64(r.rejected), uint64(m.points))
	})
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
func (s *sender) post(ctx context.Context, m message) result {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.endpoint, bytes.NewReader(m.body))
	if err != nil {
		return result{err: err}
	}
	req.Header = s.header.Clone()
	resp, err := s.client.Do(req)
	if err != nil {
		return result{err: err, retry: true}
	}
	defer resp.Body.Close()
	body, bodyErr := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	if resp.StatusCode/100 == 2 {
		var r result // a reply that is broken has still taken the message
		if bodyErr == nil && len(body) > 0 && strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
			r.rejected, r.message, bodyErr = parseResponse(body)
		}
		if bodyErr != nil {
			r.message = bodyErr.Error()
		}
		return r
	}
	r := result{err: statusError(resp.Status, body)}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		r.retry, r.after = true, retryAfter(resp.Header.Get("Retry-After"), time.Now())
	}
	return r
}

// statusError has the message of a receiver, if it has sent one.
func statusError(status string, body []byte) error {
	if text := parseStatus(body); text != "" {
		return fmt.Errorf("%s: %s", status, text)
	}
	return errors.New(status)
}

// retryAfter is a header Retry-After, of seconds or a date, as a time from now on; 0 if it is neither.
func retryAfter(header string, now time.Time) time.Duration {
	if n, err := strconv.ParseUint(header, 10, 64); err == nil {
		return time.Duration(min(n, uint64(maxRetryAfter/time.Second))) * time.Second
	}
	if t, err := http.ParseTime(header); err == nil {
		return min(max(t.Sub(now), 0), maxRetryAfter)
	}
	return 0
}
