package send

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pmapi/export"
)

// A posts answers requests without a network, and keeps the bodies of those that it takes.
type posts struct {
	answer func(n int) (status int, err error)
	n      int
	taken  []string
}

func (p *posts) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	req.Body.Close()
	p.n++
	status := http.StatusOK
	if p.answer != nil {
		if status, err = p.answer(p.n); err != nil {
			return nil, err
		}
	}
	if status == http.StatusOK {
		p.taken = append(p.taken, req.Header.Get("Content-Encoding")+string(body))
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{}, Body: http.NoBody}, nil
}

func refused(int) (int, error) { return 0, errors.New("connection refused") }

func newSender(t *testing.T, dir string, p *posts) *Sender {
	t.Helper()
	s := &Sender{Protocol: "test", Endpoint: "http://receiver/", Directory: dir, Client: &http.Client{Transport: p},
		Retry: func(status int, _ string) bool { return status >= 500 }}
	if err := s.open(); err != nil {
		t.Fatal(err)
	}
	return s
}

// finish sends what there is, or tries to, and looks whether the sums are right.
func finish(t *testing.T, s *Sender) export.Stats {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.close()
	if err := s.run(ctx); err != nil {
		t.Fatal(err)
	}
	st := s.Stats()
	if st.Read.Points+st.Found.Points != st.Sent.Points+st.Dropped.Points+st.Failed.Points+st.Queued.Points ||
		st.Read.Messages+st.Found.Messages != st.Sent.Messages+st.Dropped.Messages+st.Failed.Messages+st.Queued.Messages {
		t.Errorf("the sums are not right: %+v", st)
	}
	return st
}

func put(s *Sender, from, to int) {
	for i := from; i < to; i++ {
		s.Put(Message{Body: []byte(fmt.Sprint("body ", i)), Encoding: []string{"", "gzip"}[i%2], Points: i})
	}
}

func messageFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"+fileSuffix))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestRestart: the next run first sends the messages that waited when a run ended, in order.
func TestRestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "queue")
	s := newSender(t, dir, &posts{answer: refused})
	put(s, 0, 5)
	if st := finish(t, s); st.Queued != (export.Count{Messages: 5, Points: 10}) || st.Dropped != (export.Count{}) {
		t.Errorf("first run: %+v", st)
	}
	p := &posts{answer: func(n int) (int, error) {
		if n == 3 {
			return 503, nil
		}
		return 200, nil
	}}
	s = newSender(t, dir, p)
	put(s, 5, 7)
	if st := finish(t, s); st.Found != (export.Count{Messages: 5, Points: 10}) || st.Sent != (export.Count{Messages: 2, Points: 1}) || st.Queued != (export.Count{Messages: 5, Points: 20}) {
		t.Errorf("second run: %+v", st)
	}
	p.answer = nil
	s = newSender(t, dir, p)
	if st := finish(t, s); st.Sent != (export.Count{Messages: 5, Points: 20}) {
		t.Errorf("third run: %+v", st)
	}
	if got := strings.Join(p.taken, ","); got != "body 0,gzipbody 1,body 2,gzipbody 3,body 4,gzipbody 5,body 6" {
		t.Error("taken:", got)
	}
	if files := messageFiles(t, dir); len(files) != 0 {
		t.Error("left:", files)
	}
}

// TestDamaged: a torn or damaged message is counted and left out, in every state of its file. The
// others are sent.
func TestDamaged(t *testing.T) {
	for name, damage := range map[string]func(b []byte) []byte{
		"empty":  func([]byte) []byte { return nil },
		"header": func(b []byte) []byte { return b[:10] },
		"torn":   func(b []byte) []byte { return b[:len(b)-1] },
		"bit":    func(b []byte) []byte { b[len(b)-2] ^= 1; return b },
		"zeros":  func(b []byte) []byte { return make([]byte, len(b)) },
		"longer": func(b []byte) []byte { return append(b, 0) },
		"points": func(b []byte) []byte { return append(b[:12], bytes.Repeat([]byte{255}, len(b)-12)...) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := newSender(t, dir, &posts{answer: refused})
			put(s, 0, 4)
			finish(t, s)
			file := messageFiles(t, dir)[2]
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range []string{file, filepath.Join(dir, unfinished), filepath.Join(dir, "notes"), filepath.Join(dir, "7"+fileSuffix)} {
				if err := os.WriteFile(f, damage(bytes.Clone(b)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			p := &posts{}
			s = newSender(t, dir, p)
			st := finish(t, s)
			if st.Found.Messages != 4 || st.Sent != (export.Count{Messages: 3, Points: 4}) || st.Dropped.Messages != 1 {
				t.Errorf("%+v", st)
			}
			if got := strings.Join(p.taken, ","); got != "body 0,gzipbody 1,gzipbody 3" {
				t.Error("taken:", got)
			}
		})
	}
}

// TestOtherProtocol: messages of another protocol are neither sent nor removed.
func TestOtherProtocol(t *testing.T) {
	dir := t.TempDir()
	s := newSender(t, dir, &posts{answer: refused})
	put(s, 0, 3)
	finish(t, s)
	other := &Sender{Protocol: "other", Endpoint: "http://receiver/", Directory: dir}
	if err := other.open(); err == nil || !strings.Contains(err.Error(), `messages of "test"`) {
		t.Error("error:", err)
	}
	if st := finish(t, newSender(t, dir, &posts{})); st.Sent.Messages != 3 {
		t.Errorf("%+v", st)
	}
}

// TestDirectoryBound: the oldest messages make room on the disk as in memory, also in a run with
// less room.
func TestDirectoryBound(t *testing.T) {
	dir := t.TempDir()
	s := &Sender{Protocol: "test", Endpoint: "http://receiver/", Directory: dir, Client: &http.Client{Transport: &posts{answer: refused}},
		Retry: func(int, string) bool { return true }, MaxQueue: 60}
	if err := s.open(); err != nil {
		t.Fatal(err)
	}
	put(s, 0, 100)
	if n := len(messageFiles(t, dir)); n != 8 { // of 7 bytes each
		t.Error(n, "files")
	}
	if st := finish(t, s); st.Dropped.Messages != 92 || st.Queued.Messages != 8 {
		t.Errorf("%+v", st)
	}
	p := &posts{}
	s = &Sender{Protocol: "test", Endpoint: "http://receiver/", Directory: dir, Client: &http.Client{Transport: p}, MaxQueue: 1}
	if err := s.open(); err != nil {
		t.Fatal(err)
	}
	if st := finish(t, s); st.Dropped.Messages != 7 || strings.Join(p.taken, ",") != "gzipbody 99" {
		t.Errorf("%+v: %v", st, p.taken)
	}
}

// TestLocked: only one sender at a time can use a directory.
func TestLocked(t *testing.T) {
	dir := t.TempDir()
	s := newSender(t, dir, &posts{})
	other := &Sender{Protocol: "test", Endpoint: "http://receiver/", Directory: dir}
	if err := other.open(); !errors.Is(err, errLocked) {
		t.Error("second sender:", err)
	}
	finish(t, s)
	finish(t, newSender(t, dir, &posts{}))
}

// TestUnwritable: when the directory cannot be written, messages wait in memory.
func TestUnwritable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "queue")
	p := &posts{}
	s := newSender(t, dir, p)
	put(s, 0, 1)
	if err := os.RemoveAll(dir); err != nil {
		t.Skip("a directory that is in use stays:", err)
	}
	put(s, 1, 3)
	if st := finish(t, s); st.Sent.Messages != 2 || st.Dropped.Messages != 1 {
		t.Errorf("%+v: %v", st, p.taken)
	}
}

// TestStrict: a strict sender ends with the first refusal, keeps the waiting messages, and wakes
// the caller that waits for room.
func TestStrict(t *testing.T) {
	p := &posts{answer: func(n int) (int, error) { return []int{200, 200, 400}[n-1], nil }}
	var done []int
	s := &Sender{Protocol: "test", Endpoint: "http://receiver/", Client: &http.Client{Transport: p}, MaxQueue: 1, strict: true,
		Retry: func(int, string) bool { return false }, done: func(m Message) { done = append(done, m.Points) }}
	if err := s.open(); err != nil {
		t.Fatal(err)
	}
	put := make(chan error, 1)
	go func() {
		defer s.close()
		for i := 0; ; i++ {
			if err := s.putWait(t.Context(), Message{Body: []byte("x"), Points: i}); err != nil {
				put <- err
				return
			}
		}
	}()
	if err := s.run(t.Context()); err == nil || !strings.Contains(err.Error(), "Bad Request") {
		t.Error("error:", err)
	}
	if err := <-put; !errors.Is(err, errStopped) {
		t.Error("error of the one that waits:", err)
	}
	if fmt.Sprint(done) != "[0 1]" {
		t.Error("done:", done)
	}
}

// FuzzFile reads a file unchanged, and with a corrected checksum.
func FuzzFile(f *testing.F) {
	f.Add(appendFile(nil, Message{Body: []byte("body"), Encoding: "gzip", Points: 3}))
	f.Add([]byte(fileMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		for range 2 {
			m, err := parseFile(b)
			if err == nil && !bytes.Equal(appendFile(nil, m), b) {
				t.Error("a file that is written otherwise is read")
			}
			if len(b) < fileHeader {
				return
			}
			b = bytes.Clone(b)
			copy(b, fileMagic)
			binary.LittleEndian.PutUint32(b[8:], crc32.Checksum(b[12:], castagnoli))
		}
	})
}
