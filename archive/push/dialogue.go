package push

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/archive"
)

// A replyError describes a reply other than the expected success.
type replyError struct {
	status int
	what   string
	after  time.Duration // when to retry, as the receiver requests
}

func (e *replyError) Error() string { return e.what }

// final reports whether a retry is useless, because the receiver has understood and refused the
// request.
func (e *replyError) final() bool {
	switch e.status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusNotImplemented:
		return true
	}
	return false
}

// errMetadata says that no further archive can begin, because its metadata is no longer kept.
var errMetadata = &replyError{status: http.StatusRequestEntityTooLarge, what: fmt.Sprintf("the receiver has lost an archive with more than %d bytes of metadata", maxKeptMeta)}

// ping checks that the URL is that of a receiver.
func (s *Sender) ping(ctx context.Context) error {
	body, _, err := s.request(ctx, http.MethodGet, "/logger/ping", nil)
	if err == nil && !bytes.HasPrefix(body, []byte(`{"success":true}`)) {
		err = fmt.Errorf("%s/logger/ping: %.100q is not the reply of a receiver of archives", s.url, body)
	}
	return err
}

// begin begins an archive at the receiver.
func (s *Sender) begin(ctx context.Context) (wait time.Duration, err error) {
	s.mu.Lock()
	if s.begun && !s.queue.again() {
		s.mu.Unlock()
		return 0, errMetadata
	}
	label := s.queue.label
	s.mu.Unlock()
	body, header, err := s.request(ctx, http.MethodPost, "/logger/label", label)
	if err != nil {
		return after(err), err
	}
	rest, ok := strings.CutPrefix(string(body), `{"archive":`)
	number := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	if !ok || number == "" {
		return 0, &replyError{what: fmt.Sprintf("label: reply %.100q", body)}
	}
	s.number, s.offsets, s.begun = number, header.Get(offsetHeader) != "", true
	s.unsure, s.end = false, fileEnd{}
	s.mu.Lock()
	s.stats.Archives++
	s.mu.Unlock()
	return 0, nil
}

// round sends the records that are queued when it begins. After an error, the next round begins
// another archive if the receiver has lost this one or has other bytes in it. To a receiver without
// offsets it does so after any error, because part of the request may have been stored.
func (s *Sender) round(ctx context.Context) (wait time.Duration, err error) {
	if s.number == "" {
		if wait, err := s.begin(ctx); err != nil {
			return wait, err
		}
	}
	s.mu.Lock()
	s.queue.trim()
	r := s.queue.begins()
	s.mu.Unlock()
	for {
		s.mu.Lock()
		p, ok := s.queue.next(&r, s.limit())
		s.mu.Unlock()
		if !ok {
			return 0, nil
		}
		if len(p.b) > 0 {
			err = s.deliver(ctx, p)
		}
		if err != nil {
			gone := errors.Is(err, errOtherEnd)
			if e, ok := errors.AsType[*replyError](err); ok {
				gone = gone || e.status == http.StatusGone || e.status == http.StatusConflict
			}
			if gone || !s.offsets {
				s.number = ""
			}
			return after(err), err
		}
		s.mu.Lock()
		s.queue.sent(&r, p)
		s.mu.Unlock()
	}
}

// after returns the wait that the receiver requests.
func after(err error) time.Duration {
	if e, ok := errors.AsType[*replyError](err); ok {
		return e.after
	}
	return 0
}

// errOtherEnd says that the receiver's file ends elsewhere than expected.
var errOtherEnd = errors.New("the receiver's file ends elsewhere")

// limit returns how many bytes of records a request may have; 0 means one record.
func (s *Sender) limit() int {
	if s.offsets {
		return s.batch
	}
	return 0
}

// deliver sends the part of a piece that the receiver lacks. After a long request has failed, it
// first asks where the receiver's file ends. It then sends fewer records in each request, so that
// each makes progress in a slow network.
func (s *Sender) deliver(ctx context.Context, p piece) error {
	if s.unsure && s.offsets {
		header, err := s.post(ctx, piece{volume: p.volume, offset: p.offset})
		if err != nil {
			return err
		}
		end, err := strconv.ParseInt(header.Get(offsetHeader), 10, 64)
		if err != nil || end < p.offset {
			return errOtherEnd
		}
		s.unsure, s.end = false, fileEnd{p.volume, end}
	}
	whole := len(p.b)
	if s.end.volume == p.volume && s.end.offset > p.offset {
		n := min(int(s.end.offset-p.offset), len(p.b))
		p.offset, p.b = p.offset+int64(n), p.b[n:]
		if len(p.b) == 0 {
			return nil
		}
	}
	err := s.send(ctx, p)
	if err == nil {
		s.batch = min(2*s.batch, s.most)
		return nil
	}
	s.unsure = whole > minBatch // a short request is just sent again
	s.batch = max(min(s.batch, whole)/2, minBatch)
	if e, ok := errors.AsType[*replyError](err); ok && e.status == http.StatusRequestEntityTooLarge && whole > minBatch && s.offsets {
		e.status = 0 // not final: the next requests are shorter
		s.most = s.batch
	}
	return err
}

// send sends a piece.
func (s *Sender) send(ctx context.Context, p piece) error {
	header, err := s.post(ctx, p)
	if want := strconv.FormatInt(p.offset+int64(len(p.b)), 10); err == nil && s.offsets && header.Get(offsetHeader) != want {
		err = errOtherEnd
	}
	return err
}

// post sends the request for a piece.
func (s *Sender) post(ctx context.Context, p piece) (http.Header, error) {
	var path string
	switch p.volume {
	case archive.VolumeMeta:
		path = "/logger/meta/" + s.number
	case archive.VolumeIndex:
		path = "/logger/index/" + s.number
	default:
		path = fmt.Sprintf("/logger/volume/%d/%s", p.volume, s.number)
	}
	if s.offsets {
		path += "?offset=" + strconv.FormatInt(p.offset, 10)
	}
	_, header, err := s.request(ctx, http.MethodPost, path, p.b)
	return header, err
}

// request sends a request and returns the header and body of a successful reply.
func (s *Sender) request(ctx context.Context, method, path string, body []byte) ([]byte, http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/octet-stream")
	}
	switch o := &s.opts; {
	case o.Token != "":
		r.Header.Set("Authorization", "Bearer "+o.Token)
	case o.User != "":
		r.SetBasicAuth(o.User, o.Password)
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	reply, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err != nil {
		return nil, nil, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		e := &replyError{status: resp.StatusCode, what: fmt.Sprintf("%s %s%s: %s", method, s.url, path, resp.Status)}
		if why := resp.Header.Get(errorHeader); why != "" {
			e.what += fmt.Sprintf(" (%.200s)", why)
		}
		if to, err := resp.Location(); err == nil && resp.StatusCode < 400 {
			e.what += ", which is not followed to " + to.Redacted()
		}
		if sec, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && sec > 0 {
			e.after = time.Duration(min(sec, int(maxBackoff/time.Second))) * time.Second
		}
		return nil, nil, e
	}
	const least = 10 // bytes of a reply; pmlogger does not accept fewer either
	if kind := resp.Header.Get("Content-Type"); kind != "application/json" || len(reply) < least {
		return nil, nil, &replyError{what: fmt.Sprintf("%s %s%s: a reply of %d bytes of %.100q is not that of a receiver", method, s.url, path, len(reply), kind)}
	}
	return reply, resp.Header, nil
}
