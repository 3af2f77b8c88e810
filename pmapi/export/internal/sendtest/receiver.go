// Package sendtest tests exporters that send by package send: against receivers without a network,
// in bubbles of testing/synctest.
package sendtest

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// A Receiver answers requests without a network, as a test says.
type Receiver struct {
	Answer func(n int, req *http.Request) (*http.Response, error) // nil means taken

	Mu       sync.Mutex // of what follows
	Requests []time.Time
	Errs     []error // of messages that break a rule
}

// Reply is a response with headers, each a name and a value.
func Reply(status int, body string, header ...string) *http.Response {
	r := &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body))}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// Serve answers a request, whose body is for take, with Mu held, if the answer is 2xx.
func (r *Receiver) Serve(req *http.Request, take func(body []byte) error) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	req.Body.Close()
	r.Mu.Lock()
	n := len(r.Requests)
	r.Requests = append(r.Requests, time.Now())
	r.Mu.Unlock()
	resp := Reply(200, "{}")
	if r.Answer != nil {
		var err error
		if resp, err = r.Answer(n, req); err != nil || resp.StatusCode/100 != 2 {
			return resp, err
		}
	}
	r.Mu.Lock()
	defer r.Mu.Unlock()
	if err == nil {
		err = take(body)
	}
	if err != nil {
		r.Errs = append(r.Errs, err)
	}
	return resp, nil
}
