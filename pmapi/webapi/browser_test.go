package webapi_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// A browser is a headless Chromium, driven over its DevTools protocol.
type browser struct {
	conn *webSocket

	mu      sync.Mutex
	last    int
	waiting map[int]chan message
	faults  []string // errors in the console and the log of the browser
}

// A message is a message of the DevTools protocol.
type message struct {
	ID        int                       `json:"id,omitempty"`
	Method    string                    `json:"method,omitempty"`
	SessionID string                    `json:"sessionId,omitempty"`
	Params    json.RawMessage           `json:"params,omitempty"`
	Result    json.RawMessage           `json:"result,omitempty"`
	Error     *struct{ Message string } `json:"error,omitempty"`
}

// A tab is a page in a browser.
type tab struct {
	*browser
	session string
}

// browserLife limits the life of a browser, so that one that hangs fails only its test.
const browserLife = 3 * time.Minute

// startBrowser starts Chromium. It skips the test without a working Chromium.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	path := pcptest.Optional(t, "chromium")
	dir := t.TempDir()
	ctx, stop := context.WithTimeout(context.Background(), browserLife)
	cmd := exec.CommandContext(ctx, path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-extensions", "--disable-background-networking", "--remote-debugging-port=0", "--user-data-dir="+dir, "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+dir, "TZ=UTC")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip("chromium does not start: ", err)
	}
	addr := make(chan string, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var text strings.Builder
		in := bufio.NewScanner(stderr)
		for in.Scan() {
			fmt.Fprintln(&text, in.Text())
			if _, a, ok := strings.Cut(in.Text(), "DevTools listening on "); ok {
				addr <- a
			}
		}
		addr <- "" // the browser has ended
	}()
	a := <-addr
	b := &browser{waiting: map[int]chan message{}}
	if a != "" {
		b.conn, err = dialWebSocket(a)
	}
	if a == "" || err != nil {
		stop()
		<-ended
		_ = cmd.Wait()
		t.Skip("chromium does not work here: ", err)
	}
	received := make(chan struct{})
	go func() {
		defer close(received)
		b.receive()
	}()
	t.Cleanup(func() {
		_, _ = b.call("", "Browser.close", nil)
		stop()
		b.conn.Close()
		<-received
		<-ended
		_ = cmd.Wait()
	})
	return b
}

// receive dispatches the messages of the browser.
func (b *browser) receive() {
	for {
		text, err := b.conn.read()
		if err != nil {
			b.mu.Lock()
			for id, c := range b.waiting {
				close(c)
				delete(b.waiting, id)
			}
			b.waiting = nil
			b.mu.Unlock()
			return
		}
		var m message
		if json.Unmarshal(text, &m) != nil {
			continue
		}
		b.mu.Lock()
		if c := b.waiting[m.ID]; c != nil && m.ID > 0 {
			delete(b.waiting, m.ID)
			c <- m
		}
		switch m.Method {
		case "Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled":
			b.faults = append(b.faults, m.Method+" "+string(m.Params))
		}
		b.mu.Unlock()
	}
}

// takeFaults returns the faults since the last call, without those that contain the expected text.
func (b *browser) takeFaults(expected string) (faults []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.faults {
		if expected == "" || !strings.Contains(f, expected) {
			faults = append(faults, f)
		}
	}
	b.faults = nil
	return faults
}

// call calls a method of the DevTools protocol.
func (b *browser) call(session, method string, params any) (json.RawMessage, error) {
	raw, err := json.Marshal(params)
	if err != nil || params == nil {
		raw = nil
	}
	c := make(chan message, 1)
	b.mu.Lock()
	b.last++
	m := message{ID: b.last, Method: method, SessionID: session, Params: raw}
	if b.waiting == nil {
		b.mu.Unlock()
		return nil, errors.New("the browser has ended")
	}
	b.waiting[m.ID] = c
	text, _ := json.Marshal(m)
	err = b.conn.write(text)
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	r, ok := <-c
	switch {
	case !ok:
		return nil, errors.New("the browser has ended")
	case r.Error != nil:
		return nil, errors.New(method + ": " + r.Error.Message)
	}
	return r.Result, nil
}

// open opens a tab of a given size.
func (b *browser) open(t *testing.T, address string, width, height int) *tab {
	t.Helper()
	var target struct{ TargetID, SessionID string }
	do := func(session, method string, params any) json.RawMessage {
		t.Helper()
		r, err := b.call(session, method, params)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	_ = json.Unmarshal(do("", "Target.createTarget", map[string]any{"url": "about:blank"}), &target)
	_ = json.Unmarshal(do("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}), &target)
	s := target.SessionID
	for _, m := range []string{"Runtime.enable", "Log.enable", "Page.enable"} {
		do(s, m, nil)
	}
	do(s, "Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
	do(s, "Page.navigate", map[string]any{"url": address})
	return &tab{b, s}
}

// front brings the tab to the front, because hidden tabs do not draw.
func (p *tab) front(t *testing.T) {
	t.Helper()
	if _, err := p.call(p.session, "Page.bringToFront", nil); err != nil {
		t.Fatal(err)
	}
}

// eval evaluates an expression.
func (p *tab) eval(t *testing.T, expression string) any {
	t.Helper()
	v, exception := p.try(t, expression)
	if exception != "" {
		t.Fatalf("%s: %s", expression, exception)
	}
	return v
}

// try evaluates an expression and returns its exception, if any.
func (p *tab) try(t *testing.T, expression string) (v any, exception string) {
	t.Helper()
	raw, err := p.call(p.session, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true})
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	_ = json.Unmarshal(raw, &r)
	return r.Result.Value, string(r.ExceptionDetails)
}

// wait waits until an expression is true.
func (p *tab) wait(t *testing.T, expression string) {
	t.Helper()
	for end := time.Now().Add(browserTime); ; time.Sleep(20 * time.Millisecond) {
		v, exception := p.try(t, expression) // it may use elements that do not exist yet
		if v == true {
			return
		}
		if time.Now().After(end) {
			text, _ := p.try(t, "document.body.innerText")
			t.Fatalf("%s is %v %s; the page: %v", expression, v, exception, text)
		}
	}
}

// keys presses named keys, such as "/" and "Enter", and types other texts.
func (p *tab) keys(t *testing.T, keys ...string) {
	t.Helper()
	codes := map[string]int{"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39, "ArrowDown": 40, "End": 35, "Tab": 9, " ": 32}
	for _, k := range keys {
		if len(k) > 1 && codes[k] == 0 {
			if _, err := p.call(p.session, "Input.insertText", map[string]any{"text": k}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for _, kind := range []string{"keyDown", "keyUp"} {
			params := map[string]any{"type": kind, "key": k, "windowsVirtualKeyCode": codes[k]}
			if len(k) == 1 && kind == "keyDown" {
				params["text"] = k
			}
			if _, err := p.call(p.session, "Input.dispatchKeyEvent", params); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// picture writes a screenshot of the tab below dir, unless dir is empty.
func (p *tab) picture(t *testing.T, dir, name string) {
	t.Helper()
	if dir == "" {
		return
	}
	raw, err := p.call(p.session, "Page.captureScreenshot", map[string]any{"format": "png"})
	if err != nil {
		t.Fatal(err)
	}
	var r struct{ Data []byte }
	_ = json.Unmarshal(raw, &r)
	if err := os.WriteFile(filepath.Join(dir, name+".png"), r.Data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// A webSocket is the client's end of a WebSocket (RFC 6455) with text messages.
type webSocket struct {
	net.Conn
	in *bufio.Reader
}

func dialWebSocket(address string) (*webSocket, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	c, err := net.Dial("tcp", u.Host)
	if err != nil {
		return nil, err
	}
	key := make([]byte, 16)
	_, _ = rand.Read(key)
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n",
		u.RequestURI(), u.Host, base64.StdEncoding.EncodeToString(key))
	w := &webSocket{c, bufio.NewReader(c)}
	r, err := http.ReadResponse(w.in, nil)
	if err == nil && r.StatusCode != http.StatusSwitchingProtocols {
		err = errors.New(r.Status)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return w, nil
}

// write sends a text, masked as RFC 6455 requires of clients.
func (w *webSocket) write(text []byte) error {
	b := []byte{0x81, 0x80 | 127}
	b = binary.BigEndian.AppendUint64(b, uint64(len(text)))
	b = append(b, 0, 0, 0, 0) // a mask that leaves the text as it is
	_, err := w.Write(append(b, text...))
	return err
}

// read receives a text of one or more frames.
func (w *webSocket) read() (text []byte, err error) {
	for {
		var head [2]byte
		if _, err := io.ReadFull(w.in, head[:]); err != nil {
			return nil, err
		}
		size := uint64(head[1] & 0x7f)
		if size >= 126 {
			long := make([]byte, 2)
			if size == 127 {
				long = make([]byte, 8)
			}
			if _, err := io.ReadFull(w.in, long); err != nil {
				return nil, err
			}
			size = 0
			for _, b := range long {
				size = size<<8 | uint64(b)
			}
		}
		part, err := io.ReadAll(io.LimitReader(w.in, int64(size)))
		if err != nil {
			return nil, err
		}
		if head[0]&0x0f > 2 { // a ping or close
			continue
		}
		if text = append(text, part...); head[0]&0x80 != 0 {
			return text, nil
		}
	}
}

// browserTime limits a step in the browser.
const browserTime = 30 * time.Second
