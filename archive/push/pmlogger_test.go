package push_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/push"
	"github.com/pcp-go/pcp/internal/pcptest"
)

// A pmlogger sends the bytes that pmlogger and pmlogpush of PCP 7 send, over one connection: a host
// without a port, lower-case header names, and the body in a separate segment.
type pmlogger struct {
	t     *testing.T
	conn  net.Conn
	in    *bufio.Reader
	host  string
	agent string
	query string // of all requests; C's programs send none
}

// newPMLogger connects to a receiver.
func newPMLogger(t *testing.T, network, addr, agent string) *pmlogger {
	t.Helper()
	conn, err := net.Dial(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	host := "localhost" // on a unix socket
	if network == "tcp" {
		host, _, _ = net.SplitHostPort(addr)
	}
	return &pmlogger{t: t, conn: conn, in: bufio.NewReader(conn), host: host, agent: agent}
}

// request sends a request and returns the status line, the headers in alphabetical order, and the
// body.
func (c *pmlogger) request(method, path string, body []byte, more ...string) (header, reply string) {
	c.t.Helper()
	text := fmt.Sprintf("%s %s%s HTTP/1.1\r\nHost: %s\r\nUser-Agent: %s/7.0.2\r\n", method, path, c.query, c.host, c.agent)
	if method == "POST" {
		text += fmt.Sprintf("content-type: application/octet-stream\r\ncontent-length: %d\r\n", len(body))
	}
	for _, h := range more {
		text += h + "\r\n"
	}
	for _, part := range []string{text + "\r\n", string(body)} {
		if _, err := io.WriteString(c.conn, part); err != nil {
			c.t.Fatal(err)
		}
	}
	return c.reply()
}

// reply reads a reply.
func (c *pmlogger) reply() (header, reply string) {
	c.t.Helper()
	var lines []string
	length := 0
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			c.t.Fatalf("after %q: %v", lines, err)
		}
		if line == "\r\n" {
			break
		}
		if n, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			length, _ = strconv.Atoi(strings.TrimSpace(n))
		}
		if strings.HasPrefix(line, "Date: ") {
			line = "Date: now\r\n"
		}
		lines = append(lines, line)
	}
	b := make([]byte, length)
	if _, err := io.ReadFull(c.in, b); err != nil {
		c.t.Fatalf("after %q: %v", lines, err)
	}
	slices.Sort(lines[1:])
	return strings.Join(lines, ""), string(b)
}

// succeed sends a request and compares every byte of the reply except the time.
func (c *pmlogger) succeed(method, path string, body []byte, end int, want string) {
	c.t.Helper()
	header, reply := c.request(method, path, body)
	if want := okHeader(len(want), end); header != want {
		c.t.Errorf("%s %s: header\n%s\nwant\n%s", method, path, header, want)
	}
	if reply != want {
		c.t.Errorf("%s %s: %q, want %q", method, path, reply, want)
	}
}

// okHeader returns the header of a reply of length bytes, for a file that ends at end.
func okHeader(length, end int) string {
	offset := ""
	if end > 0 {
		offset = fmt.Sprintf("Pcp-Push-Offset: %d\r\n", end)
	}
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: %d\r\nContent-Type: application/json\r\nDate: now\r\n%s", length, offset)
}

// label sends the label and returns the archive's number, as C reads it.
func (c *pmlogger) label(label []byte) (number int) {
	c.t.Helper()
	header, reply := c.request("POST", "/logger/label", label)
	if n, err := fmt.Sscanf(reply, `{"archive":%d,"success":true}`, &number); n != 1 || err != nil || number <= 0 || number > 1<<31-1 {
		c.t.Fatalf("label: %s%s", header, reply)
	}
	if want := fmt.Sprintf("{\"archive\":%d,\"success\":true}\r\n", number); reply != want || header != okHeader(len(want), len(label)) {
		c.t.Errorf("label: %s%s, want %s", header, reply, want)
	}
	return number
}

// A cArchive is an archive of C's pmlogger, with the records of each of its files.
type cArchive struct {
	base    string
	label   []byte
	records map[int][][]byte // by volume
	entries []archive.IndexEntry
}

func readCArchive(t *testing.T, base string) cArchive {
	t.Helper()
	paths, err := filepath.Glob(base + ".*")
	if err != nil || len(paths) < 3 {
		t.Fatal(paths, err)
	}
	a := cArchive{base: base, records: map[int][][]byte{}}
	for _, path := range paths {
		f, err := archive.Options{}.OpenFile(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for rec, err := range f.Records() {
			if err != nil {
				t.Fatal(err)
			}
			switch rec.Kind {
			case archive.KindLabel:
				if f.Volume() == 0 {
					a.label = slices.Clone(rec.Raw)
				}
				continue
			case archive.KindIndex:
				e, err := rec.Entry()
				if err != nil {
					t.Fatal(err)
				}
				a.entries = append(a.entries, e)
			}
			a.records[f.Volume()] = append(a.records[f.Volume()], slices.Clone(rec.Raw))
		}
	}
	return a
}

// An upload is a request with a part of a file.
type upload struct {
	volume int
	body   []byte
}

// asRecorded returns the records one by one, as pmlogger sends them: each index entry follows the
// records that preceded it.
func (a *cArchive) asRecorded() (posts []upload) {
	left := map[int][][]byte{}
	ends := map[int]int64{}
	for v, recs := range a.records {
		left[v], ends[v] = recs, int64(len(a.label))
	}
	send := func(v int, upTo int64) {
		for len(left[v]) > 0 && ends[v] < upTo {
			posts = append(posts, upload{v, left[v][0]})
			ends[v] += int64(len(left[v][0]))
			left[v] = left[v][1:]
		}
	}
	const all = 1 << 62
	for _, e := range a.entries {
		send(archive.VolumeMeta, e.Meta)
		for v := range e.Volume {
			send(v, all)
		}
		send(e.Volume, e.Data)
		send(archive.VolumeIndex, ends[archive.VolumeIndex]+1)
	}
	send(archive.VolumeMeta, all)
	for v := range len(a.records) - 2 {
		send(v, all)
	}
	return posts
}

// inSlices returns slices of one file after the other, as pmlogpush sends them.
func (a *cArchive) inSlices() (posts []upload) {
	const slice = 8 << 10
	volumes := []int{archive.VolumeMeta, archive.VolumeIndex}
	for v := range len(a.records) - 2 {
		volumes = append(volumes, v)
	}
	for _, v := range volumes {
		for b := range slices.Chunk(slices.Concat(a.records[v]...), slice) {
			posts = append(posts, upload{v, b})
		}
	}
	return posts
}

// serveBoth serves a receiver on a port and on a socket.
func serveBoth(t *testing.T, r *push.Receiver) map[string]string {
	t.Helper()
	addrs := map[string]string{}
	for network, addr := range map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(pcptest.ShortDir(t), "s")} {
		l, err := net.Listen(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		srv := httptest.NewUnstartedServer(r)
		srv.Listener.Close()
		srv.Listener = l
		srv.Start()
		t.Cleanup(srv.Close)
		addrs[network] = l.Addr().String()
	}
	return addrs
}

// TestPMLogger sends archives of C's pmlogger as pmlogger and pmlogpush of PCP 7 do, over a port
// and a socket. The replies must be those that they expect, byte for byte. The received archive
// must be equal, byte for byte, and in the output of C's tools.
func TestPMLogger(t *testing.T) {
	for _, base := range []string{"../testdata/v2", "../testdata/v3", "../../examples/internal/pmstat/testdata/archive/host", "../../examples/pmevent/testdata/archive/events"} {
		a := readCArchive(t, base)
		for agent, posts := range map[string][]upload{"pmlogger": a.asRecorded(), "pmlogpush": a.inSlices()} {
			for _, network := range []string{"tcp", "unix"} {
				dir := t.TempDir()
				r := open(t, push.ReceiverOptions{Dir: dir})
				c := newPMLogger(t, network, serveBoth(t, r)[network], agent)
				if agent == "pmlogger" {
					c.succeed("GET", "/logger/ping", nil, 0, "{\"success\":true}\r\n")
				}
				number := c.label(a.label)
				ends := map[int]int{}
				for _, p := range posts {
					if ends[p.volume] == 0 {
						ends[p.volume] = len(a.label)
					}
					ends[p.volume] += len(p.body)
					where := map[int]string{archive.VolumeMeta: "meta", archive.VolumeIndex: "index"}[p.volume]
					if where == "" {
						where = fmt.Sprint("volume/", p.volume)
					}
					c.succeed("POST", fmt.Sprintf("/logger/%s/%d", where, number), p.body, ends[p.volume], "{\"success\":true}\r\n")
				}
				got := receivedBase(t, dir)
				compareFiles(t, got, base)
				if network == "tcp" {
					t.Run("Interop", func(t *testing.T) { compareTools(t, got, base) })
				}
				if st := r.Stats(); st.Open != 1 || st.Refused != 0 || st.Held != 0 || st.Requests != uint64(1+len(posts)) {
					t.Errorf("%+v", st)
				}
			}
		}
	}
}

// TestInteropPMLoggerRestarted restarts the receiver while pmlogger pushes. pmlogger does not
// notice and sends no record twice, and the receiver continues the archive. The files are a valid
// archive at each restart. At the end they are the same as without restarts.
func TestInteropPMLoggerRestarted(t *testing.T) {
	pcptest.Need(t, "pmlogcheck")
	const base = "../../examples/internal/pmstat/testdata/archive/host"
	a, dir := readCArchive(t, base), t.TempDir()
	r := open(t, push.ReceiverOptions{Dir: dir})
	number := numberOf(t, post(t, r, "/logger/label", string(a.label), 200))
	posts := a.asRecorded()
	for i, p := range posts {
		if n := len(posts) / 5; i%n == n-1 {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			if out, errs, status := pcptest.Run(t, nil, "", "pmlogcheck", receivedBase(t, dir)); status != 0 || out != "" || errs != "" {
				t.Errorf("after %d of %d records: pmlogcheck: %d %s%s", i, len(posts), status, out, errs)
			}
			r = open(t, push.ReceiverOptions{Dir: dir})
		}
		where := map[int]string{archive.VolumeMeta: "meta", archive.VolumeIndex: "index"}[p.volume]
		if where == "" {
			where = fmt.Sprint("volume/", p.volume)
		}
		post(t, r, "/logger/"+where+"/"+number, string(p.body), 200)
	}
	r.Close()
	got := receivedBase(t, dir)
	compareFiles(t, got, base)
	compareTools(t, got, base)
}

// receivedBase returns the only archive in a directory.
func receivedBase(t *testing.T, dir string) string {
	t.Helper()
	metas, err := filepath.Glob(filepath.Join(dir, "*", "*.meta"))
	if err != nil || len(metas) != 1 {
		t.Fatal(metas, err)
	}
	return strings.TrimSuffix(metas[0], ".meta")
}

// compareTools compares the output of C's tools for two archives.
func compareTools(t *testing.T, got, want string) {
	t.Helper()
	pcptest.Need(t, "pmlogcheck", "pmdumplog", "pminfo")
	var argvs [][]string
	for _, base := range []string{want, got} {
		argvs = append(argvs, []string{"pmlogcheck", base}, []string{"pmdumplog", "-z", "-a", base}, []string{"pminfo", "-z", "-a", base, "-f", "-d"})
	}
	out := pcptest.RunAll(t, nil, argvs...)
	for i, w := range out[:len(out)/2] {
		g := out[len(out)/2+i]
		text := func(o pcptest.Output, base string) string {
			return strings.ReplaceAll(o.Stdout+o.Stderr, base, "ARCHIVE")
		}
		if g.Status != w.Status || w.Status != 0 || text(g, got) != text(w, want) || i > 0 && len(w.Stdout) < 500 {
			t.Errorf("%s: exit status %d, %.2000s\nwant %d, %.2000s", argvs[i], g.Status, text(g, got), w.Status, text(w, want))
		}
	}
}

// TestPMLoggerRefused sends each request that pmproxy 7 refuses, over one connection that stays
// open. It checks the status, because C's pmlogger reads nothing else.
func TestPMLoggerRefused(t *testing.T) {
	users := []push.User{{Name: "web", Password: "secret", Hosts: []string{"web1"}}}
	r := open(t, push.ReceiverOptions{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Users: users})
	c := newPMLogger(t, "tcp", serveBoth(t, r)["tcp"], "pmlogger")
	l := label(t, 3, "web1")
	n := strconv.Itoa(c.label([]byte(l)))
	c.succeed("POST", "/logger/volume/1/"+n, []byte(record(24, 0)), 832, "{\"success\":true}\r\n")
	c.query = "?client=x"
	c.succeed("GET", "/logger/ping", nil, 0, "{\"client\":\"x\",\"success\":true}\r\n")
	c.succeed("POST", "/logger/meta/"+n, nil, 808, "{\"client\":\"x\",\"success\":true}\r\n")
	_, got := c.request("POST", "/logger/label", []byte(l))
	number := 0
	if _, err := fmt.Sscanf(got, "{\"archive\":%d,\"client\":\"x\",\"success\":true}\r\n", &number); err != nil {
		t.Errorf("label with client=: %q", got)
	}
	c.query = ""
	for _, q := range []struct {
		method, path, body, header string
		status                     int
	}{
		{"POST", "/logger/ping", "", "", 400},
		{"GET", "/logger/label", "", "", 400},
		{"GET", "/logger/meta/" + n, "", "", 400},
		{"POST", "/logger/label", "", "", 400},
		{"POST", "/logger/label", l[:131], "", 400},
		{"POST", "/logger/label", l + "x", "", 400},
		{"POST", "/logger/label", label(t, 3, "a b"), "", 400},
		{"POST", "/logger/label?polltimeout=0", l, "", 400},
		{"POST", "/logger/volume/x/" + n, "", "", 400},
		{"POST", "/logger/volume/1/x", "", "", 400},
		{"POST", "/logger/meta/0", "", "", 400},
		{"POST", "/logger/meta/2147483648", "", "", 400},
		{"POST", "/logger/meta/" + n, record(24, 9), "", 400},
		{"POST", "/logger/label", l, "Authorization: Basic d2ViOndyb25n", 403}, // web:wrong
		{"POST", "/logger/label", l, "Authorization: Basic d2ViOg==", 403},     // web:
		{"POST", "/logger/label", label(t, 3, "web2"), "Authorization: Basic d2ViOnNlY3JldA==", 403},
		{"POST", "/logger/volume/0/" + n, record(24, 0), "", 409},
		{"POST", "/logger/meta/" + n, "", "Authorization: Basic d2ViOnNlY3JldA==", 410}, // of another client
		{"POST", "/logger/meta/2147483647", "", "", 410},
		{"POST", "/logger/label", l[:4] + "\x50\x05\x26\x04" + l[8:], "", 422},
		{"POST", "/logger/label", l[:807] + "x", "", 422},
		{"POST", "/logger/volume/5000/" + n, "", "", 500},
	} {
		var more []string
		if q.header != "" {
			more = []string{q.header}
		}
		header, got := c.request(q.method, q.path, []byte(q.body), more...)
		if want := fmt.Sprintf("HTTP/1.1 %d %s\r\n", q.status, http.StatusText(q.status)); !strings.HasPrefix(header, want) || got != "{\"success\":false}\r\n" ||
			!strings.Contains(header, "\r\nContent-Type: application/json\r\n") {
			t.Errorf("%s %s: %s%s, want %s", q.method, q.path, header, got, want)
		}
	}
	c.succeed("POST", "/logger/volume/1/"+n, []byte(record(24, 0)), 856, "{\"success\":true}\r\n")
	for _, q := range []struct {
		path   string
		length int64
		status int
	}{
		{"/logger/label", 64<<20 + 1, 400},
		{"/logger/meta/" + n, 64<<20 + 1, 400},
		{"/logger/volume/1/" + n, 10 << 20, 500},
		{"/logger/index/" + n, 1 << 40, 400},
	} { // their length alone is refused
		c := newPMLogger(t, "tcp", c.conn.RemoteAddr().String(), "pmlogger")
		fmt.Fprintf(c.conn, "POST %s HTTP/1.1\r\nHost: x\r\ncontent-length: %d\r\n\r\n", q.path, q.length)
		if header, _ := c.reply(); !strings.HasPrefix(header, fmt.Sprintf("HTTP/1.1 %d ", q.status)) {
			t.Errorf("POST %s of %d bytes: %s, want %d", q.path, q.length, header, q.status)
		}
	}
}

// TestManyNames sends more archives of one minute than pmproxy has names for.
func TestManyNames(t *testing.T) {
	dir := t.TempDir()
	r := open(t, push.ReceiverOptions{Dir: dir, Limits: push.Limits{MaxArchivesPerClient: 200}})
	const archives = 103
	for range archives {
		begin(t, r, "web1")
	}
	for n := range archives {
		base := "20261124.00.30"
		if n > 0 {
			base += fmt.Sprintf("-%02d", n)
		}
		if _, err := os.Stat(filepath.Join(dir, "web1", base+".meta")); errors.Is(err, os.ErrNotExist) {
			t.Error(base)
		}
	}
}
