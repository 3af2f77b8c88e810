package push_test

import (
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/push"
)

// fuzzLimits limit the bytes that a fuzzer writes.
var fuzzLimits = push.Limits{MaxBytes: 1 << 20, MaxArchives: 8}

// FuzzBody sends arbitrary bytes, in two pieces, to each kind of file. Only whole records may be
// written, and a reader must get through them.
func FuzzBody(f *testing.F) {
	_, s := newSample(f, 3, 3, 1<<20)
	for _, p := range s.parts {
		f.Add(p.body, uint(10))
	}
	f.Add("\x00\x00\x00\x0c\x00\x00\x00\x01\x00\x00\x00\x0c", uint(4))
	for typ := range byte(8) { // lengths at and around the shortest of each type
		for n := byte(12); n <= 24; n++ {
			f.Add("\x00\x00\x00"+string(rune(n))+"\x00\x00\x00"+string(rune(typ))+strings.Repeat("\x00", int(n)-9)+string(rune(n)), uint(4))
		}
	}
	f.Add("\x7f\xff\xff\xff", uint(1))
	f.Fuzz(func(t *testing.T, body string, at uint) {
		dir := t.TempDir()
		r := open(t, push.ReceiverOptions{Dir: dir, Limits: fuzzLimits})
		number := numberOf(t, send(r, "POST", "/logger/label", s.label))
		at %= uint(len(body)) + 1
		for _, where := range []string{"meta", "index", "volume/0"} {
			for _, piece := range []string{body[:at], body[at:]} {
				check(t, send(r, "POST", "/logger/"+where+"/"+number, piece))
			}
		}
		base := filepath.Join(dir, "web1", "20261124.00.30")
		for _, ext := range []string{".meta", ".index", ".0"} {
			file, err := archive.Options{}.OpenFile(t.Context(), base+ext)
			if err != nil {
				t.Fatal(err)
			}
			end := int64(len(s.label))
			for rec, err := range file.Records() {
				if err != nil {
					t.Fatalf("%s: %v", ext, err)
				}
				end = rec.Offset + int64(len(rec.Raw))
			}
			if info, err := os.Stat(base + ext); err != nil || info.Size() != end {
				t.Errorf("%s: %v, %v, want %d", ext, info.Size(), err, end)
			}
			file.Close()
		}
		if st := r.Stats(); st.Held > int64(3*len(body)) {
			t.Errorf("%+v", st)
		}
	})
}

// FuzzRequest sends arbitrary labels, paths and parameters. No file may appear outside the
// directory of a host.
func FuzzRequest(f *testing.F) {
	for _, path := range []string{"ping", "label", "meta/N", "index/N", "volume/0/N", "volume/4999/N", "volume/1/../N", "../logger/label", "meta/0", "x"} {
		for _, query := range []string{"", "client=%ff%22", "offset=808", "offset=-1", "polltimeout=1", "polltimeout=1e9", "a=%", "offset=9223372036854775807"} {
			f.Add(path, query, label(f, 3, "web1"))
		}
	}
	f.Add("label", "", label(f, 2, "../../x"))
	f.Fuzz(func(t *testing.T, path, query, body string) {
		dir := filepath.Join(t.TempDir(), "in")
		r := open(t, push.ReceiverOptions{Dir: dir, Limits: fuzzLimits})
		number := numberOf(t, send(r, "POST", "/logger/label", label(t, 3, "web0")))
		for _, method := range []string{"GET", "POST", "HEAD"} {
			hr := httptest.NewRequest(method, "/", strings.NewReader(body))
			hr.URL = &url.URL{Path: "/logger/" + strings.ReplaceAll(path, "N", number), RawQuery: query}
			hr.RemoteAddr = "[::1]:1"
			w := httptest.NewRecorder()
			r.ServeHTTP(w, hr)
			if method != "HEAD" {
				check(t, reply{w.Code, w.Body.String(), w.Header()})
			}
		}
		if names, err := filepath.Glob(filepath.Join(dir, "..", "*")); err != nil || len(names) != 1 {
			t.Error(names, err)
		}
		for _, line := range strings.Split(files(t, dir), "\n") {
			if strings.Count(line, "/") != 1 || strings.HasPrefix(line, ".") || strings.HasPrefix(line, "-1") {
				t.Errorf("file %s", line)
			}
		}
	})
}

// check checks that a reply is well-formed.
func check(t *testing.T, r reply) {
	t.Helper()
	if success := strings.HasSuffix(r.body, "\"success\":true}\r\n"); r.status < 200 || r.status > 599 || success != (r.status == 200) || !success && r.body != "{\"success\":false}\r\n" {
		t.Errorf("%d %q", r.status, r.body)
	}
}
