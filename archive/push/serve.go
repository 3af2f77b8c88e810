package push

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/loglimit"
)

// Headers of replies that pmproxy does not have.
const (
	offsetHeader = "Pcp-Push-Offset" // where the file ends
	errorHeader  = "Pcp-Push-Error"
)

// A request is a request in progress.
type request struct {
	r      *http.Request
	params url.Values
	client client
	offset int64 // end of the file, for the reply
}

// ServeHTTP serves a request to /logger/.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	r.users.follow(r)
	ctx, cancel := context.WithTimeout(hr.Context(), r.opts.Limits.requestTimeout)
	defer cancel()
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(r.opts.Limits.requestTimeout)) // fails without a connection
	defer context.AfterFunc(r.life, func() { _ = conn.SetReadDeadline(time.Now()) })()
	q := &request{r: hr.WithContext(ctx)}
	body, err := r.serve(q, w)
	h := w.Header()
	if err != nil {
		r.stats.refused.Add(1)
		r.log.Warn("request refused",
			slog.Any("addr", loglimit.Text(hr.RemoteAddr)), slog.Any("user", r.access.Load().loggedUser(hr)),
			slog.Any("path", loglimit.Text(hr.URL.Path[:min(len(hr.URL.Path), maxLogged)])), slog.Any("err", err))
		body = []byte(`{"success":false}`)
		h.Set(errorHeader, headerText(err))
		if status(err) == http.StatusForbidden && len(r.access.Load().users) > 0 {
			h.Set("WWW-Authenticate", `Basic realm="logger"`)
		}
	}
	body = append(body, "\r\n"...)
	h["Content-Type"] = []string{"application/json"}
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if q.offset > 0 {
		h.Set(offsetHeader, strconv.FormatInt(q.offset, 10))
	}
	if err != nil {
		w.WriteHeader(status(err))
	}
	if hr.Method != http.MethodHead {
		_, _ = w.Write(body) // an error means that the client has disconnected
	}
}

// headerText returns the text of an error for a header. It hides errors of the file system.
func headerText(err error) string {
	f, ok := errors.AsType[*failure](err)
	if !ok {
		return "error of the file system"
	}
	return strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, f.reason)
}

// serve executes a request and returns the body of its reply.
func (r *Receiver) serve(q *request, w http.ResponseWriter) ([]byte, error) {
	if len(q.r.RequestURI) > maxURL {
		return nil, badRequest("URL of %d bytes", len(q.r.RequestURI))
	}
	what, rest, _ := strings.Cut(strings.TrimPrefix(q.r.URL.Path, "/logger/"), "/")
	method := http.MethodPost
	switch {
	case !strings.HasPrefix(q.r.URL.Path, "/logger/"):
		return nil, &failure{http.StatusNotFound, "no handler for URL"}
	case what == "ping" && rest == "":
		method = http.MethodGet
	case what == "label" && rest == "", what == "meta", what == "index", what == "volume":
	default:
		return nil, &failure{http.StatusNotFound, "no handler for URL"}
	}
	if q.r.Method != method && (method == http.MethodPost || q.r.Method != http.MethodHead) {
		w.Header().Set("Allow", method)
		return nil, badRequest("method %.20s", q.r.Method)
	}
	var err error
	if q.params, err = url.ParseQuery(q.r.URL.RawQuery); err != nil {
		return nil, badRequest("parameters: %v", err)
	}
	if what == "ping" {
		if q.r.Header.Get("Authorization") != "" {
			_, err = r.client(q.r)
		}
		return q.success(0), err
	}
	r.stats.requests.Add(1)
	if q.client, err = r.client(q.r); err != nil {
		return nil, err
	}
	if what == "label" {
		return r.serveLabel(q)
	}
	volume, number, err := parsePath(what, rest)
	if err == nil {
		err = r.serveRecords(q, w, volume, number)
	}
	return q.success(0), err
}

// parsePath parses the numbers in a path.
func parsePath(what, rest string) (volume int, number uint32, err error) {
	switch what {
	case "meta":
		volume = archive.VolumeMeta
	case "index":
		volume = archive.VolumeIndex
	default:
		var text string
		text, rest, _ = strings.Cut(rest, "/")
		v, err := strconv.ParseUint(text, 10, 31)
		if errors.Is(err, strconv.ErrRange) {
			v, err = maxVolume, nil
		}
		if err != nil {
			return 0, 0, badRequest("volume %.20q", text)
		}
		volume = int(v)
	}
	n, err := strconv.ParseUint(rest, 10, 31)
	if err != nil || n == 0 {
		return 0, 0, badRequest("archive %.20q", rest)
	}
	return volume, uint32(n), nil
}

// success is the body of a successful reply, with the number of an archive unless it is 0.
func (q *request) success(number uint32) []byte {
	b := []byte{'{'}
	if number != 0 {
		b = append(strconv.AppendUint(append(b, `"archive":`...), uint64(number), 10), ',')
	}
	if client := q.params.Get("client"); client != "" {
		b = append(appendString(append(b, `"client":`...), client), ',')
	}
	return append(b, `"success":true}`...)
}

// appendString appends a JSON string in pmproxy's form.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, c := range strings.ToValidUTF8(s, "\uFFFD") {
		if c < ' ' || c == '"' || c == '\\' || c == 0x7f {
			b = fmt.Appendf(b, `\u%04X`, c)
		} else {
			b = utf8.AppendRune(b, c)
		}
	}
	return append(b, '"')
}

// serveLabel begins an archive.
func (r *Receiver) serveLabel(q *request) ([]byte, error) {
	timeout := r.opts.Limits.Timeout
	if text, ok := q.params["polltimeout"]; ok {
		sec, err := strconv.ParseUint(text[0], 10, 31)
		if err != nil || sec == 0 {
			return nil, badRequest("polltimeout %.20q", text[0])
		}
		timeout = min(time.Duration(sec)*time.Second, r.opts.Limits.maxTimeout)
	}
	if q.r.ContentLength > maxBody {
		return nil, errTooLong
	}
	label, err := io.ReadAll(io.LimitReader(q.r.Body, labelLenV3+1)) // one more is too long
	if err != nil {
		return nil, r.bodyError(err)
	}
	a, err := r.begin(q.client, label, timeout)
	if err != nil {
		return nil, err
	}
	q.offset = int64(len(label))
	return q.success(a.Number), nil
}

// serveRecords receives records.
func (r *Receiver) serveRecords(q *request, w http.ResponseWriter, volume int, number uint32) error {
	switch n := q.r.ContentLength; {
	case n > maxBody:
		return errTooLong
	case n >= maxRecord:
		return errRecord
	}
	offset := int64(-1)
	if text, ok := q.params["offset"]; ok {
		n, err := strconv.ParseUint(text[0], 10, 63)
		if err != nil {
			return badRequest("offset %.20q", text[0])
		}
		offset = int64(n)
	}
	a, err := r.find(q, number)
	if err != nil {
		return err
	}
	defer a.turn.Unlock()
	f, err := a.file(volume)
	if err != nil {
		return err
	}
	err = f.receive(http.MaxBytesReader(w, q.r.Body, maxRecord-1), offset)
	a.last = time.Now()
	q.offset = f.end()
	return err
}

// bodyError returns the error of a body that was not read to its end. Its status lets the sender
// retry, unless the body is too long.
func (r *Receiver) bodyError(err error) error {
	switch _, tooLong := errors.AsType[*http.MaxBytesError](err); {
	case tooLong:
		return errRecord
	case r.life.Err() != nil:
		return errClosed
	}
	return &failure{http.StatusRequestTimeout, fmt.Sprint("body: ", err)}
}
