package push_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/push"
	"github.com/pcp-go/pcp/internal/loginlimit"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

var start = time.Date(2026, 11, 24, 0, 30, 0, 0, time.UTC)

// open opens a receiver.
func open(t testing.TB, o push.ReceiverOptions) *push.Receiver {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	o.UTC = true
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	r, err := o.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// A reply is the reply to a request.
type reply struct {
	status int
	body   string
	header http.Header
}

// send sends a request from an address of this computer.
func send(h http.Handler, method, path, body string, header ...string) reply {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.RemoteAddr = "127.0.0.1:4711"
	for i := 0; i < len(header); i += 2 {
		if header[i] == "from" {
			r.RemoteAddr = header[i+1]
			continue
		}
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return reply{w.Code, w.Body.String(), w.Header()}
}

// post sends a body and checks the status.
func post(t *testing.T, h http.Handler, path, body string, status int, header ...string) reply {
	t.Helper()
	r := send(h, "POST", path, body, header...)
	if want := status == 200; r.status != status || strings.HasSuffix(r.body, "\"success\":true}\r\n") != want || r.header.Get("Content-Type") != "application/json" {
		t.Errorf("POST %s: %d %q %q, want %d", path, r.status, r.body, r.header.Get("Pcp-Push-Error"), status)
	}
	return r
}

// label returns a label with a host.
func label(t testing.TB, version int, host string) string {
	t.Helper()
	l := archive.Label{Version: version, PID: 1, Start: start, Host: host, TimeZone: "UTC"}
	b, err := l.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// begin begins an archive and returns its number.
func begin(t *testing.T, h http.Handler, host string, header ...string) string {
	t.Helper()
	return numberOf(t, post(t, h, "/logger/label", label(t, 3, host), 200, header...))
}

// numberOf returns the number in the reply to a label.
func numberOf(t testing.TB, r reply) string {
	t.Helper()
	number, ok := strings.CutPrefix(r.body, `{"archive":`)
	number, ok2 := strings.CutSuffix(number, ",\"success\":true}\r\n")
	if n, err := strconv.Atoi(number); !ok || !ok2 || err != nil || n <= 0 {
		t.Fatalf("label: %q", r.body)
	}
	return number
}

// files returns the names of the files in a directory, with their sizes.
func files(t *testing.T, dir string) string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.Contains(path, ".push") {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		list = append(list, fmt.Sprint(filepath.ToSlash(rel), " ", info.Size()))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(list, "\n")
}

// A sample is an archive in the pieces that a logger sends.
type sample struct {
	label string
	parts []part
}

type part struct{ path, body string }

// newSample writes an archive, and returns the requests of pmlogpush for it: each file in slices.
func newSample(t testing.TB, version, records, slice int) (base string, s sample) {
	t.Helper()
	base = filepath.Join(t.TempDir(), "a")
	w, err := archive.WriterOptions{Label: archive.Label{Version: version, Host: "web1", TimeZone: "UTC", PID: 1}, VolumeRecords: 10, IndexEvery: 100}.Create(base)
	if err != nil {
		t.Fatal(err)
	}
	id := pdu.MakePMID(60, 0, 1)
	if err := w.WriteMetric(archive.Metric{Desc: pdu.Desc{PMID: id, Type: pdu.TypeU32, InDom: pdu.NoInDom}, Names: []string{"one"}}); err != nil {
		t.Fatal(err)
	}
	for i := range records {
		b := pdu.ResultWriter{Time: start.Add(time.Duration(i) * time.Second)}
		b.Begin(id)
		b.Atom(pdu.NoInst, pdu.Uint32(uint32(i)))
		if err := w.WriteSets(&b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	paths := w.Paths()
	slices.SortFunc(paths, func(a, b string) int { // the metadata, the index, the volumes
		return strings.Compare(order(a), order(b))
	})
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		n := len(label(t, version, "web1"))
		s.label = string(b[:n])
		where := strings.TrimPrefix(filepath.Ext(path), ".")
		if where != "meta" && where != "index" {
			where = "volume/" + where
		}
		for b = b[n:]; len(b) > 0; {
			n := min(slice, len(b))
			s.parts = append(s.parts, part{where, string(b[:n])})
			b = b[n:]
		}
	}
	return base, s
}

func order(path string) string {
	switch ext := filepath.Ext(path); ext {
	case ".meta":
		return "0"
	case ".index":
		return "1"
	default:
		return "2" + ext
	}
}

// compareFiles compares two archives file by file. The labels of all files must equal that of the
// first file except for the volume.
func compareFiles(t *testing.T, got, want string) {
	t.Helper()
	paths, err := filepath.Glob(want + ".*")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		w, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		g, err := os.ReadFile(got + strings.TrimPrefix(path, want))
		if err != nil || !bytes.Equal(g, w) {
			t.Errorf("%s: %d bytes, %v, want %d", path, len(g), err, len(w))
		}
	}
}

// TestSlices sends an archive as pmlogpush does, in slices that do not end with records. The
// received archive must be equal.
func TestSlices(t *testing.T) {
	for _, version := range []int{2, 3} {
		for _, slice := range []int{1, 7, 8 << 10} {
			dir := t.TempDir()
			r := open(t, push.ReceiverOptions{Dir: dir})
			base, s := newSample(t, version, 25, slice)
			number := numberOf(t, post(t, r, "/logger/label", s.label, 200))
			for _, p := range s.parts {
				post(t, r, "/logger/"+p.path+"/"+number, p.body, 200)
			}
			compareFiles(t, filepath.Join(dir, "web1", "20261124.00.30"), base)
			if st := r.Stats(); st.Open != 1 || st.Archives != 1 || st.Held != 0 || st.Bytes == 0 || st.Refused != 0 {
				t.Errorf("%+v", st)
			}
		}
	}
}

// TestReplies compares the replies to requests with those of pmproxy 7, byte for byte.
func TestReplies(t *testing.T) {
	r := open(t, push.ReceiverOptions{})
	number := begin(t, r, "web1")
	long := strings.Repeat("x", 10<<20)
	for _, c := range []struct {
		method, path, body string
		status             int
		reply              string
	}{
		{"GET", "/logger/ping", "", 200, `{"success":true}`},
		{"GET", "/logger/ping?client=a%22b", "", 200, `{"client":"a\u0022b","success":true}`},
		{"POST", "/logger/meta/N?client=x", "", 200, `{"client":"x","success":true}`},
		{"POST", "/logger/index/N", "", 200, `{"success":true}`},
		{"POST", "/logger/volume/0/N", "", 200, `{"success":true}`},
		{"POST", "/logger/ping", "", 400, `{"success":false}`},
		{"GET", "/logger/label", "", 400, `{"success":false}`},
		{"PUT", "/logger/meta/N", "", 400, `{"success":false}`},
		{"POST", "/logger/label", "", 400, `{"success":false}`},
		{"POST", "/logger/label", long, 400, `{"success":false}`},
		{"POST", "/logger/label", label(t, 3, "web1")[:807], 400, `{"success":false}`},
		{"POST", "/logger/label", label(t, 3, "../../x"), 400, `{"success":false}`},
		{"POST", "/logger/label?polltimeout=x", label(t, 3, "web1"), 400, `{"success":false}`},
		{"POST", "/logger/label?polltimeout=-1", label(t, 3, "web1"), 400, `{"success":false}`},
		{"POST", "/logger/label", label(t, 3, "web1")[:804] + "xxxx", 422, `{"success":false}`},
		{"POST", "/logger/label", label(t, 3, "web1")[:132], 422, `{"success":false}`},
		{"POST", "/logger/label", "\x00\x00\x00\x84\x50\x05\x26\x04" + strings.Repeat("\x00", 124), 422, `{"success":false}`},
		{"POST", "/logger/meta/0", "", 400, `{"success":false}`},
		{"POST", "/logger/meta/x", "", 400, `{"success":false}`},
		{"POST", "/logger/meta/", "", 400, `{"success":false}`},
		{"POST", "/logger/meta/2147483648", "", 400, `{"success":false}`},
		{"POST", "/logger/volume/x/N", "", 400, `{"success":false}`},
		{"POST", "/logger/volume/-1/N", "", 400, `{"success":false}`},
		{"POST", "/logger/meta/N?offset=x", "", 400, `{"success":false}`},
		{"POST", "/logger/meta/N?a=%x", "", 400, `{"success":false}`},
		{"POST", "/logger/meta/2147483647", "", 410, `{"success":false}`},
		{"POST", "/logger/volume/5000/N", "", 500, `{"success":false}`},
		{"POST", "/logger/volume/99999999999999999999/N", "", 500, `{"success":false}`},
		{"POST", "/logger/meta/N", long, 500, `{"success":false}`},
		{"POST", "/logger/nosuch", "", 404, `{"success":false}`},
		{"POST", "/logger/label/1", "", 404, `{"success":false}`},
		{"GET", "/loggerx", "", 404, `{"success":false}`},
		{"POST", "/logger/meta/N?" + strings.Repeat("x", 9000), "", 400, `{"success":false}`},
	} {
		path := strings.Replace(c.path, "/N", "/"+number, 1)
		got := send(r, c.method, path, c.body)
		if got.status != c.status || got.body != c.reply+"\r\n" || fmt.Sprint(got.header["Content-Type"]) != "[application/json]" {
			t.Errorf("%s %.100s: %d %q %v, want %d %q", c.method, c.path, got.status, got.body, got.header, c.status, c.reply)
		}
	}
}

// TestNames sends labels of two loggers that began in the same minute, and labels with hosts that
// look like paths.
func TestNames(t *testing.T) {
	dir := t.TempDir()
	r := open(t, push.ReceiverOptions{Dir: dir})
	numbers := map[string]bool{}
	for range 3 {
		n := begin(t, r, "Web1")
		numbers[n] = true
		post(t, r, "/logger/volume/0/"+n, "", 200)
	}
	if len(numbers) != 3 {
		t.Error(numbers)
	}
	for _, host := range []string{"", ".", "..", "../../x", "/etc", "a/b", `a\b`, ".push", "a b", "a\x01", "ü", "a:b", "-rf", "--help"} {
		post(t, r, "/logger/label", label(t, 3, host), 400)
	}
	for _, host := range []string{"a..b", "10.0.0.1", "x_y-z"} {
		begin(t, r, host)
	}
	for _, zone := range []string{"/etc/passwd", "../x", "a b", "a\x01"} {
		l := archive.Label{Version: 3, Start: start, Host: "web1", ZoneInfo: zone}
		b, err := l.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		post(t, r, "/logger/label", string(b), 400)
	}
	want := `10.0.0.1/20261124.00.30.index 808
10.0.0.1/20261124.00.30.meta 808
a..b/20261124.00.30.index 808
a..b/20261124.00.30.meta 808
web1/20261124.00.30-01.0 808
web1/20261124.00.30-01.index 808
web1/20261124.00.30-01.meta 808
web1/20261124.00.30-02.0 808
web1/20261124.00.30-02.index 808
web1/20261124.00.30-02.meta 808
web1/20261124.00.30.0 808
web1/20261124.00.30.index 808
web1/20261124.00.30.meta 808
x_y-z/20261124.00.30.index 808
x_y-z/20261124.00.30.meta 808`
	if got := files(t, dir); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestAnyNames checks that the directory of any host name is one that no command takes for an
// option, and that no file appears outside the receiver's directory.
func TestAnyNames(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "push")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	many := pcptest.AttackSize(200, 10_000)
	r := open(t, push.ReceiverOptions{Dir: dir, Limits: push.Limits{MaxArchives: many, MaxArchivesPerClient: many}})
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"-", "-rf", "--", ".", "..", "/", `\`, "\x00", "\n", " ", "*", "$(id)", "a", "web1", "9", "é", "\xff", ":", "~"}
	refused := 0
	pcptest.Attack(t, func() {
		for range many {
			host := ""
			for range 1 + random.IntN(4) {
				host += pieces[random.IntN(len(pieces))]
			}
			if reply := send(r, "POST", "/logger/label", label(t, 3, host)); reply.status != http.StatusOK {
				refused++
			}
		}
	}, func() { send(r, "GET", "/logger/ping", "") })
	t.Logf("refused: %d of %d labels", refused, many)
	if refused < many/2 || refused == many {
		t.Errorf("%d of %d labels were refused", refused, many)
	}
	if list, err := os.ReadDir(parent); err != nil || len(list) != 1 {
		t.Errorf("beside the directory: %v, %v", list, err)
	}
	safe := regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if !safe.MatchString(e.Name()) && e.Name() != ".push" {
			t.Errorf("a directory named %q", e.Name())
		}
	}
}

// TestLinks checks that links in place of a host's directory or of a file are not followed.
func TestLinks(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	if err := os.Symlink(other, filepath.Join(dir, "web1")); err != nil {
		t.Skip(err)
	}
	r := open(t, push.ReceiverOptions{Dir: dir})
	post(t, r, "/logger/label", label(t, 3, "web1"), 500)
	n := begin(t, r, "web2")
	if err := os.Symlink(filepath.Join(other, "x"), filepath.Join(dir, "web2", "20261124.00.30.0")); err != nil {
		t.Fatal(err)
	}
	post(t, r, "/logger/volume/0/"+n, "", 409)
	if got := files(t, other); got != "" {
		t.Error(got)
	}
}

// TestBadRecords checks that malformed records are not written, but the records before them are.
func TestBadRecords(t *testing.T) {
	dir := t.TempDir()
	r := open(t, push.ReceiverOptions{Dir: dir})
	n := begin(t, r, "web1")
	good := record(24, 0)
	for _, c := range []struct{ path, body string }{
		{"meta", "\x00\x00\x00\x00"},
		{"meta", "\xff\xff\xff\xff"},
		{"meta", "\x00\xa0\x00\x00"},
		{"meta", "\x00\x00\x00\x0c\x00\x00\x00\x08"},
		{"meta", "\x00\x00\x00\x0c\x00\x00\x00\x01\x00\x00\x00\x0d"},
		{"volume/0", good + good[:23] + "x"},
		{"volume/0", "\x00\x00\x00\x14"},
	} {
		post(t, r, "/logger/"+c.path+"/"+n, c.body, 400)
		for i := range len(c.body) - 1 { // the same in two pieces
			send(r, "POST", "/logger/"+c.path+"/"+n, c.body[i:i+1])
		}
		post(t, r, "/logger/"+c.path+"/"+n, c.body[len(c.body)-1:], 400)
	}
	if st := r.Stats(); st.Held != 0 {
		t.Errorf("%+v", st)
	}
	if got, want := files(t, dir), "web1/20261124.00.30.0 856\nweb1/20261124.00.30.index 808\nweb1/20261124.00.30.meta 808"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// record returns a record of n bytes.
func record(n int, typ uint32) string {
	b := make([]byte, n)
	binary.BigEndian.PutUint32(b, uint32(n))
	binary.BigEndian.PutUint32(b[4:], typ)
	binary.BigEndian.PutUint32(b[n-4:], uint32(n))
	return string(b)
}

// TestVolumes checks that volumes must come in order, but that some may be missing.
func TestVolumes(t *testing.T) {
	r := open(t, push.ReceiverOptions{})
	n := begin(t, r, "web1")
	for _, c := range []struct{ volume, status int }{{1, 200}, {1, 200}, {3, 200}, {2, 409}, {1, 409}, {3, 200}, {4999, 200}, {5000, 500}} {
		post(t, r, fmt.Sprintf("/logger/volume/%d/%s", c.volume, n), record(24, 0), c.status)
	}
}

// TestOffsets checks that the receiver uses offsets to skip records that it already has, and to
// refuse a gap.
func TestOffsets(t *testing.T) {
	dir := t.TempDir()
	r := open(t, push.ReceiverOptions{Dir: dir})
	n := begin(t, r, "web1")
	for _, c := range []struct {
		offset, end string
		body        string
		status      int
	}{
		{"808", "832", record(24, 0), 200},
		{"808", "832", record(24, 0), 200},
		{"808", "864", record(24, 0) + record(32, 1), 200},
		{"832", "880", record(32, 1) + record(24, 0)[:16], 200},
		{"864", "888", record(24, 0), 200},
		{"0", "888", "", 200},
		{"889", "888", record(24, 0), 409},
	} {
		got := post(t, r, "/logger/volume/0/"+n+"?offset="+c.offset, c.body, c.status)
		if end := got.header.Get("Pcp-Push-Offset"); end != c.end {
			t.Errorf("%s: ends at %s, want %s", c.offset, end, c.end)
		}
	}
}

// TestAccess checks which clients may push, and that each client can continue only its own
// archives.
func TestAccess(t *testing.T) {
	users, err := push.ParseUsers(strings.NewReader("# users\n\nweb secret Web1 web*.example.com\n- t0ken\nother pass\n"))
	if err != nil {
		t.Fatal(err)
	}
	users[0].Hosts[0] = "web1"
	r := open(t, push.ReceiverOptions{Networks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Users: users})
	l := label(t, 3, "web1")
	basic := func(user, password string) []string {
		h := http.Request{Header: http.Header{}}
		h.SetBasicAuth(user, password)
		return []string{"Authorization", h.Header.Get("Authorization"), "from", "192.0.2.1:1"}
	}
	for _, header := range [][]string{
		{}, {"from", "192.0.2.1:1"}, {"from", "@"}, {"from", ""}, basic("web", "wrong"), basic("nobody", "secret"), basic("web", ""), basic("", "t0ken"),
		{"Authorization", "Bearer secret"}, {"Authorization", "Basic x"}, {"Authorization", "Digest x"}, {"from", "10.0.0.1:1", "Authorization", "Bearer x"},
		{"from", "10.0.0.1:1", "Origin", "http://evil.example.com"},
	} {
		got := post(t, r, "/logger/label", l, 403, header...)
		if got.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%v: no WWW-Authenticate", header)
		}
	}
	if got := send(r, "GET", "/logger/ping", "", basic("web", "wrong")...); got.status != 403 {
		t.Errorf("ping: %d", got.status)
	}
	post(t, r, "/logger/label", label(t, 3, "db1"), 403, basic("web", "secret")...)
	post(t, r, "/logger/label", label(t, 3, "web2.example.com"), 200, basic("web", "secret")...)
	all := [][]string{basic("web", "secret"), basic("other", "pass"), {"Authorization", "Bearer t0ken"}, {"from", "10.0.0.1:1"}, {"from", "[::ffff:10.0.0.2]:1"}}
	for i, header := range all {
		n := begin(t, r, "web1", header...)
		for j, other := range all {
			status := 410
			if i == j {
				status = 200
			}
			post(t, r, "/logger/volume/0/"+n, "", status, other...)
		}
	}
	if _, err := push.ParseUsers(strings.NewReader("x")); err == nil {
		t.Error("a user without a password")
	}
	if _, err := push.ParseUsers(strings.NewReader("x y [")); err == nil {
		t.Error("a wrong pattern")
	}
}

// TestRefusedLog checks that the log of a refused request has the address, the user and the reason,
// which the sender receives too, but no password and no token.
func TestRefusedLog(t *testing.T) {
	const secret = "s3cret"
	for _, c := range []struct {
		header     []string
		host       string
		user, want string
	}{
		{nil, "web1", "no user", "the client's address may not push without a login"},
		{[]string{"Origin", "http://evil.example.com"}, "web1", "no user", "web pages may not push"},
		{basic("amy", secret+"x"), "web1", "amy", "unknown user, or wrong password or token"},
		{basic("stranger", secret), "web1", "stranger", "unknown user, or wrong password or token"},
		{basic(strings.Repeat("x", 1000), secret), "web1", strings.Repeat("x", 100), "unknown user"},
		{[]string{"Authorization", "Bearer " + secret + "x"}, "web1", "unknown token", "unknown user, or wrong password or token"},
		{[]string{"Authorization", "Digest " + secret}, "web1", "", "neither a name with a password nor a token"},
		{basic("amy", secret), "DB1", "amy", "user amy may not push archives of host db1"},
	} {
		var log strings.Builder
		r := open(t, push.ReceiverOptions{Log: slog.New(slog.NewJSONHandler(&log, nil)), Networks: []netip.Prefix{},
			Users: []push.User{{Name: "amy", Password: secret, Hosts: []string{"web*"}}, {Password: secret}}})
		got := post(t, r, "/logger/label", label(t, 3, c.host), 403, append(c.header, "from", "192.0.2.1:1")...)
		var line struct{ Msg, Addr, User, Err string }
		if err := json.Unmarshal([]byte(log.String()), &line); err != nil || line.Msg != "request refused" || line.Addr != "192.0.2.1:1" ||
			line.User != c.user || !strings.Contains(line.Err, c.want) || line.Err != got.header.Get("Pcp-Push-Error") {
			t.Errorf("%v, host %s: reply %q, log:\n%s%v; want user %q and %q", c.header, c.host, got.header.Get("Pcp-Push-Error"), log.String(), err, c.user, c.want)
		}
		if strings.Contains(log.String(), secret) {
			t.Errorf("%v: the log has the secret:\n%s", c.header, log.String())
		}
	}
}

// TestQuotas checks each quota and its status.
func TestQuotas(t *testing.T) {
	two := record(24, 0) + record(24, 0)
	stored := pcptest.AttackSize(1, 3000)
	for _, c := range []struct {
		limits push.Limits
		name   string
		at     int // index of the request that fails
		status int
	}{
		{push.Limits{MaxArchives: 1}, "MaxArchives", 2, 503},
		{push.Limits{MaxArchivesPerClient: 1}, "MaxArchivesPerClient", 2, 429},
		{push.Limits{MaxArchiveBytes: 3*808 + 47}, "MaxArchiveBytes", 1, 507},
		{push.Limits{MaxClientBytes: 5*808 + 48}, "MaxClientBytes", 3, 507},
		{push.Limits{MaxBytes: 5*808 + 48}, "MaxBytes", 3, 507},
		{push.Limits{MaxBytes: 5*808 + 47}, "MaxBytes", 2, 507},
		{push.Limits{}.WithHeld(11, 0), "MaxHeld", 4, 503},
		{push.Limits{}.WithHeld(0, 11), "MaxHeldPerClient", 4, 429},
		{push.Limits{MaxArchives: stored + 1, MaxArchivesPerClient: stored + 1}.WithStored(stored), "MaxStoredPerClient", 2, 507},
	} {
		dir, began := t.TempDir(), time.Now()
		r := open(t, push.ReceiverOptions{Dir: dir, Limits: c.limits})
		n := ""
		for i, send := range []func() reply{
			func() reply {
				archives := 1
				if c.name == "MaxStoredPerClient" {
					archives = stored
				}
				for range archives {
					n = begin(t, r, "web1")
				}
				return reply{status: 200}
			},
			func() reply { return send(r, "POST", "/logger/volume/0/"+n, two[:len(two)/2]+two[len(two)/2:]) },
			func() reply { return send(r, "POST", "/logger/label", label(t, 3, "web1")) },
			func() reply { return send(r, "POST", "/logger/volume/0/"+n, two+two) },
			func() reply { return send(r, "POST", "/logger/volume/0/"+n, two[:12]) },
		} {
			got := send()
			if want := i == c.at; got.status != 200 != want || want && (got.status != c.status || !strings.HasPrefix(got.header.Get("Pcp-Push-Error"), c.name+":")) {
				t.Errorf("%s, request %d: %d %v", c.name, i, got.status, got.header)
			}
			if i == c.at {
				t.Logf("refused: request %d: %d %s; attack: %v", i, got.status, got.header.Get("Pcp-Push-Error"), time.Since(began))
				break
			}
		}
		stored := r.Stats().Stored
		r.Close()
		again := open(t, push.ReceiverOptions{Dir: dir, Limits: c.limits})
		if got := again.Stats().Stored; got != stored { // refused bytes are not stored
			t.Errorf("%s: %d bytes, counted %d", c.name, got, stored)
		}
	}
}

// basic returns a header of HTTP basic authentication, for send.
func basic(user, password string) []string {
	return []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))}
}

// TestUnfinishedRecords checks that the memory for incomplete records is limited for each client,
// and freed after a minute.
func TestUnfinishedRecords(t *testing.T) {
	pcptest.Attack(t, func() { synctest.Test(t, testUnfinishedRecords) }, nil)
}

func testUnfinishedRecords(t *testing.T) {
	size, archives := pcptest.AttackSize(24, 4<<20), pcptest.AttackSize(1, 90)
	perClient, all := int64(size*40/24), int64(size*60/24)
	r := open(t, push.ReceiverOptions{Limits: push.Limits{}.WithHeld(all, perClient),
		Users: []push.User{{Name: "bad", Password: "x"}, {Name: "good", Password: "y"}},
	})
	defer r.Close()
	bad, good := basic("bad", "x"), basic("good", "y")
	two := record(size, 0) + record(size, 0)
	n := numberOf(t, post(t, r, "/logger/label?polltimeout=86400", label(t, 3, "web1"), 200, bad...))
	other := numberOf(t, post(t, r, "/logger/label", label(t, 3, "web2"), 200, good...))
	post(t, r, "/logger/volume/0/"+n, two[:size-1], 200, bad...)
	for range archives {
		m := numberOf(t, post(t, r, "/logger/label?polltimeout=86400", label(t, 3, "web1"), 200, bad...))
		post(t, r, "/logger/volume/0/"+m, two[:size-1], 429, bad...)
	}
	post(t, r, "/logger/volume/0/"+other, two[:size/2], 200, good...)
	held := r.Stats().Held
	if held == 0 || held > all {
		t.Errorf("%d bytes are held", held)
	}
	t.Logf("refused: records in %d of %d archives; %d bytes are held", archives, archives+1, held)
	time.Sleep(63 * time.Second)
	if held := r.Stats().Held; held != 0 {
		t.Errorf("%d bytes are held after a minute", held)
	}
	got := post(t, r, "/logger/volume/0/"+n+"?offset=900", two, 409, bad...) // the sender sends the record again
	if offset := got.header.Get("Pcp-Push-Offset"); offset != "808" {
		t.Errorf("the file ends at %s, want 808", offset)
	}
	post(t, r, "/logger/volume/0/"+n+"?offset=808", two[:size], 200, bad...)
}

// TestFailedLogins checks that wrong passwords of one user lock out neither other users nor the
// same user at another address.
func TestFailedLogins(t *testing.T) {
	r := open(t, push.ReceiverOptions{Users: []push.User{{Name: "amy", Password: "x"}, {Name: "bob", Password: "y"}, {Password: "token"}}})
	refused, guesses, began := 0, pcptest.AttackSize(loginlimit.GatewayPerMinute+3, 20_000), time.Now()
	pcptest.Attack(t, func() {
		for range guesses {
			switch got := send(r, "POST", "/logger/label", label(t, 3, "web1"), basic("amy", "guess")...); got.status {
			case http.StatusTooManyRequests:
				refused++
			case http.StatusForbidden:
			default:
				t.Fatal(got)
			}
		}
	}, func() { send(r, "GET", "/logger/ping", "", basic("bob", "y")...) })
	t.Logf("refused: %d of %d guesses", refused, guesses)
	forgotten := 1 + int(time.Since(began)/(time.Minute/loginlimit.GatewayPerMinute))
	if compared := guesses - refused; compared < loginlimit.GatewayPerMinute || compared > loginlimit.GatewayPerMinute+forgotten {
		t.Errorf("%d of %d guesses were compared with the password, want %d", compared, guesses, loginlimit.GatewayPerMinute)
	}
	post(t, r, "/logger/label", label(t, 3, "web1"), 429, basic("amy", "x")...)
	post(t, r, "/logger/label", label(t, 3, "web1"), 200, basic("bob", "y")...)
	post(t, r, "/logger/label", label(t, 3, "web1"), 200, "Authorization", "Bearer token")
	post(t, r, "/logger/label", label(t, 3, "web1"), 200, append(basic("amy", "x"), "from", "198.51.100.7:1")...)
}

// TestIdle checks that an idle archive ends, unless its sender is always slow, and that an archive
// without a volume is removed.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		r := open(t, push.ReceiverOptions{Dir: dir})
		defer r.Close()
		n, empty := begin(t, r, "web1"), begin(t, r, "web2")
		brief := numberOf(t, post(t, r, "/logger/label?polltimeout=10", label(t, 3, "web3"), 200))
		time.Sleep(9 * time.Second)
		post(t, r, "/logger/volume/0/"+brief, "", 200)
		time.Sleep(10 * time.Second)
		post(t, r, "/logger/volume/0/"+brief, "", 200)
		time.Sleep(33 * time.Second)
		post(t, r, "/logger/volume/0/"+brief, "", 410)
		time.Sleep(9 * time.Minute)
		post(t, r, "/logger/volume/0/"+n, "", 200)
		time.Sleep(20 * time.Minute) // less than three times the longest pause
		post(t, r, "/logger/volume/0/"+n, "", 200)
		post(t, r, "/logger/meta/"+empty, "", 410)
		time.Sleep(61 * time.Minute)
		post(t, r, "/logger/volume/0/"+n, "", 410)
		if got, want := files(t, dir), `web1/20261124.00.30.0 808
web1/20261124.00.30.index 808
web1/20261124.00.30.meta 808
web3/20261124.00.30.0 808
web3/20261124.00.30.index 808
web3/20261124.00.30.meta 808`; got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
		if st := r.Stats(); st.Open != 0 || st.Stored != 6*808 {
			t.Errorf("%+v", st)
		}
		if err := os.RemoveAll(filepath.Join(dir, "web3")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(11 * time.Minute)
		if st := r.Stats(); st.Stored != 3*808 {
			t.Errorf("%+v", st)
		}
	})
}

// TestKilled checks that a killed receiver continues its archives under their numbers, without
// incomplete records.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	r := open(t, push.ReceiverOptions{Dir: dir})
	base, s := newSample(t, 3, 25, 1<<20)
	number := numberOf(t, post(t, r, "/logger/label", s.label, 200))
	sizes := map[string]int{}
	for i, p := range s.parts {
		at := len(p.body) / 3
		url := "/logger/" + p.path + "/" + number + "?offset="
		post(t, r, url+strconv.Itoa(808), p.body[:at], 200)
		// The receiver is killed: a new one finds the files with an incomplete last write.
		f, err := os.OpenFile(filepath.Join(dir, "web1", "20261124.00.30."+strings.TrimPrefix(p.path, "volume/")), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(string(bytes.Repeat([]byte{0, 0, 0, 24}, i))); err != nil {
			t.Fatal(err)
		}
		f.Close()
		killed := r
		r = open(t, push.ReceiverOptions{Dir: dir})
		defer killed.Close()
		got := post(t, r, url+"0", "", 200)
		end, err := strconv.Atoi(got.header.Get("Pcp-Push-Offset"))
		if err != nil || end > 808+at || end < 808 {
			t.Errorf("%s ends at %v, %v, of %d", p.path, got.header, err, 808+at)
		}
		sizes[p.path] = end
		post(t, r, url+strconv.Itoa(end), p.body[end-808:], 200)
	}
	compareFiles(t, filepath.Join(dir, "web1", "20261124.00.30"), base)
	if st := r.Stats(); st.Stored != stored(t, dir) {
		t.Errorf("%d bytes are counted, %d stored", st.Stored, stored(t, dir))
	}
	post(t, r, "/logger/volume/0/"+number, "", 409)
	r.Close()
	post(t, r, "/logger/volume/9/"+number, "", 503)
	if err := os.Remove(filepath.Join(dir, "web1", "20261124.00.30.meta")); err != nil {
		t.Fatal(err)
	}
	r = open(t, push.ReceiverOptions{Dir: dir})
	post(t, r, "/logger/volume/9/"+number, "", 410)
}

// stored returns the bytes of the files in a directory.
func stored(t *testing.T, dir string) (sum int64) {
	t.Helper()
	for _, line := range strings.Split(files(t, dir), "\n") {
		n, err := strconv.ParseInt(line[strings.LastIndexByte(line, ' ')+1:], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// TestSlow checks that an incomplete body delays other requests of its archive by at most the
// request timeout, and no other archive.
func TestSlow(t *testing.T) {
	r := open(t, push.ReceiverOptions{Limits: push.Limits{}.WithRequestTimeout(300 * time.Millisecond)})
	srv := httptest.NewServer(r)
	defer srv.Close()
	n, other := begin(t, r, "web1"), begin(t, r, "web1")
	pr, pw := io.Pipe()
	defer pw.Close()
	done := make(chan int)
	go func() {
		req, _ := http.NewRequestWithContext(context.Background(), "POST", srv.URL+"/logger/volume/0/"+n, pr)
		resp, err := srv.Client().Do(req)
		if err != nil {
			done <- 0
			return
		}
		resp.Body.Close()
		done <- resp.StatusCode
	}()
	if _, err := pw.Write([]byte(record(24, 0)[:8])); err != nil {
		t.Fatal(err)
	}
	post(t, r, "/logger/volume/0/"+other, record(24, 0), 200)
	if status := <-done; status != 408 && status != 0 {
		t.Errorf("slow: %d", status)
	}
	post(t, r, "/logger/volume/0/"+n, record(24, 0)[8:], 200)
}

// TestCloseSlow checks that Close does not wait for incomplete bodies. The status tells the sender
// to send them again.
func TestCloseSlow(t *testing.T) {
	bodies := pcptest.AttackSize(1, 500)
	r := open(t, push.ReceiverOptions{Limits: push.Limits{MaxArchivesPerClient: bodies}.WithRequestTimeout(time.Hour)})
	srv := httptest.NewServer(r)
	defer srv.Close()
	part := record(24, 0)[:8]
	done := make(chan int, bodies)
	var writers []*io.PipeWriter
	for range bodies {
		n := begin(t, r, "web1")
		pr, pw := io.Pipe()
		defer pw.Close()
		writers = append(writers, pw)
		go func() {
			resp, err := srv.Client().Post(srv.URL+"/logger/volume/0/"+n, "", pr)
			if err != nil {
				done <- 0
				return
			}
			resp.Body.Close()
			done <- resp.StatusCode
		}()
		if _, err := pw.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	for r.Stats().Held < int64(bodies*len(part)) {
		time.Sleep(time.Millisecond)
	}
	pcptest.Attack(t, func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}, nil)
	for _, pw := range writers {
		pw.Close()
	}
	unavailable := 0
	for range bodies {
		switch status := <-done; status {
		case http.StatusServiceUnavailable:
			unavailable++
		case 0:
		default:
			t.Errorf("status %d, want 503: the sender goes on with the next receiver", status)
		}
	}
	t.Logf("refused: %d of %d bodies with 503, the others without a reply", unavailable, bodies)
}

// TestConcurrent runs many concurrent senders, and concurrent requests for one archive, over real
// connections.
func TestConcurrent(t *testing.T) {
	dir := t.TempDir()
	r := open(t, push.ReceiverOptions{Dir: dir})
	srv := httptest.NewServer(r)
	defer srv.Close()
	base, s := newSample(t, 3, 25, 100)
	request := func(path, body string) (string, error) {
		resp, err := srv.Client().Post(srv.URL+path, "application/octet-stream", strings.NewReader(body))
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err == nil && resp.StatusCode != 200 {
			err = fmt.Errorf("%s: %s", path, resp.Status)
		}
		return string(b), err
	}
	const senders, others = 6, 50
	var wg sync.WaitGroup
	for range senders {
		wg.Go(func() {
			body, err := request("/logger/label", s.label)
			if err != nil {
				t.Error(err)
				return
			}
			number := numberOf(t, reply{body: body})
			for _, p := range s.parts {
				if _, err := request("/logger/"+p.path+"/"+number, p.body); err != nil {
					t.Error(err)
				}
			}
		})
	}
	one := begin(t, r, "web2")
	for range others {
		wg.Go(func() {
			if _, err := request("/logger/volume/0/"+one, record(24, 0)+record(32, 0)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	names, err := filepath.Glob(filepath.Join(dir, "web1", "*.meta"))
	if err != nil || len(names) != senders {
		t.Error(names, err)
	}
	for _, name := range names {
		compareFiles(t, strings.TrimSuffix(name, ".meta"), base)
	}
	if got, want := stored(t, filepath.Join(dir, "web2")), int64(3*808+others*56); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
	if st := r.Stats(); st.Open != senders+1 || st.Refused != 0 || st.Stored != stored(t, dir) {
		t.Errorf("%+v", st)
	}
}
