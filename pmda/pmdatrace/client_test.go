package pmdatrace

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/tracewire"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/trace"
)

// start serves an agent on the loopback interface.
func start(t testing.TB, o Options) (*Agent, net.Listener) {
	t.Helper()
	a, ln := New(o), listenTCP(t)
	serveAgent(t, a, ln)
	return a, ln
}

// TestFragments checks that PDUs may be split anywhere, and that many may arrive at once. The C
// agent disconnects clients whose header is split.
func TestFragments(t *testing.T) {
	a, ln := start(t, Options{})
	c := dialTCP(t, ln)
	var all []byte
	const n = 100
	for i := range n {
		all = append(all, data(t, tracewire.KindObservation, strings.Repeat("x", 1+i%60), float64(i), i%2 == 0)...)
	}
	for _, size := range []int{1, 5, 11, 13, 1000, len(all)} {
		for rest := all; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			c.write(rest[:min(size, len(rest))])
		}
		for range n / 2 {
			c.wantAck(int32(tracewire.KindObservation))
		}
	}
	c.send(tracewire.KindPoint, "last", -1) // waits for PDUs without an acknowledgement
	total := 0.0
	for _, v := range fetch(t, a, "trace.observe.count") {
		total += v
	}
	if total != 6*n {
		t.Errorf("%v values came, want %d", total, 6*n)
	}
}

// TestMixedProtocols checks that acknowledgements come in the order of the PDUs, and only for PDUs
// that request one.
func TestMixedProtocols(t *testing.T) {
	_, ln := start(t, Options{})
	c := dialTCP(t, ln)
	var all []byte
	for i := range 40 {
		all = append(all, data(t, tracewire.Kind(1+i%4), "tag", 1, i%3 == 0)...)
	}
	c.write(all)
	for i := 0; i < 40; i += 3 {
		c.wantAck(int32(1 + i%4))
	}
	c.send(tracewire.KindPoint, "end", -1)
}

// TestMalformed checks that a malformed PDU ends the connection without an acknowledgement, and
// that the values before it count.
func TestMalformed(t *testing.T) {
	a, ln := start(t, Options{Logger: logTo(io.Discard)})
	good := data(t, tracewire.KindPoint, "tag", -1, true)
	with := func(change func(b []byte)) []byte {
		b := data(t, tracewire.KindCounter, "tag", 1, true)
		change(b)
		return b
	}
	length := func(n uint32) []byte { return with(func(b []byte) { binary.BigEndian.PutUint32(b, n) }) }
	tests := map[string][]byte{
		"length 0":       length(0),
		"short":          length(15),
		"long":           length(273),
		"no room":        length(20),
		"huge":           length(1 << 31),
		"ack":            tracewire.Ack{Code: 1}.Append(nil),
		"unknown type":   with(func(b []byte) { b[7] = 0x52 }),
		"version 2":      with(func(b []byte) { b[12] = 2 }),
		"no tag":         with(func(b []byte) { b[13] = 0 }),
		"tag beyond end": with(func(b []byte) { b[13] = 5 }),
		"kind 0":         with(func(b []byte) { b[14] = 0 }),
		"kind 5":         with(func(b []byte) { b[14] = 5 }),
		"text":           []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
	}
	for name, bad := range tests {
		t.Run(name, func(t *testing.T) {
			c := dialTCP(t, ln)
			c.write(append(append([]byte{}, good...), bad...))
			c.wantAck(int32(tracewire.KindPoint))
			c.wantEnd()
		})
	}
	if got := fetch(t, a, "trace.counter.count"); len(got) != 0 {
		t.Errorf("values came: %v", got)
	}
	if got := fetch(t, a, "trace.point.count")["tag"]; got != float64(len(tests)) {
		t.Errorf("%v points came, want %d", got, len(tests))
	}
}

// TestTagLengths checks that tags of all lengths that a PDU can hold are accepted, with and without
// a NUL.
func TestTagLengths(t *testing.T) {
	a, ln := start(t, Options{})
	c := dialTCP(t, ln)
	for _, n := range []int{1, 3, 4, 124, 125, 247} {
		tag := strings.Repeat("t", n)
		c.send(tracewire.KindPoint, tag, -1)
		if got := fetch(t, a, "trace.point.count")[tag]; got != 1 {
			t.Errorf("%d bytes: count %v", n, got)
		}
	}
	b := data(t, tracewire.KindPoint, "raw", -1, true)
	b[13] = 3 // without the NUL
	c.write(b)
	c.wantAck(int32(tracewire.KindPoint))
	c.send(tracewire.KindPoint, "raw", -1)
	c.write(append(lengthened(data(t, tracewire.KindPoint, "raw", -1, true), 8), "padding!"...))
	c.wantAck(int32(tracewire.KindPoint))
	if got := fetch(t, a, "trace.point.count")["raw"]; got != 3 {
		t.Errorf("count of one tag in three forms: %v", got)
	}
}

// lengthened returns a PDU whose length claims n more bytes.
func lengthened(b []byte, n int) []byte {
	binary.BigEndian.PutUint32(b, uint32(len(b)+n))
	return b
}

// TestBadTags checks that a tag that cannot be a name is only logged, and that the application
// stays connected.
func TestBadTags(t *testing.T) {
	var log lines
	a, ln := start(t, Options{Logger: logTo(&log)})
	c := dialTCP(t, ln)
	for _, tag := range []string{"", " x", "a\nb", "\x1b[2J", "a\x00b"} {
		c.sendRefused(tracewire.KindPoint, tag, errInvalid)
		c.write(data(t, tracewire.KindPoint, tag, -1, false))
	}
	c.send(tracewire.KindPoint, "good", -1)
	if got := names(t, a, tracewire.KindPoint); len(got) != 1 {
		t.Errorf("instances: %v", got)
	}
	if !strings.Contains(log.String(), "value not taken") {
		t.Errorf("log:\n%s", &log)
	}
}

func TestMaxTags(t *testing.T) {
	var log lines
	a, ln := start(t, Options{MaxTags: 3, Logger: logTo(&log)})
	c := dialTCP(t, ln)
	for i := range 3 {
		c.send(tracewire.Kind(1+i), "tag", 1)
	}
	for range 1000 {
		c.sendRefused(tracewire.KindCounter, "more", errNoSpace)
	}
	if got := fetch(t, a, "trace.counter.count"); len(got) != 0 {
		t.Errorf("more tags than allowed: %v", got)
	}
	c.send(tracewire.KindPoint, "tag", -1) // a known one
	if n := strings.Count(log.String(), "value not taken"); n < 1 || n > 20 {
		t.Errorf("%d lines in the log", n)
	}
	a.reset()
	for i := range 3 {
		c.send(tracewire.KindCounter, fmt.Sprint(i), 1)
	}
	a.reset() // with six tags to remember, the older ones are forgotten
	c.send(tracewire.KindTransaction, "tag", 1)
	c.send(tracewire.KindCounter, "1", 1)
	want := []pdu.InstID{2, 2} // their numbers are not reused
	for i, kind := range []tracewire.Kind{tracewire.KindTransaction, tracewire.KindCounter} {
		if got := names(t, a, kind); len(got) != 1 || got[0].ID != want[i] {
			t.Errorf("%v: %v, want ID %d", kind, got, want[i])
		}
	}
}

// TestMaxMemory checks that tags take no more memory than MaxMemory, before and after resets.
func TestMaxMemory(t *testing.T) {
	o := Options{MaxMemory: 1 << 20, Buckets: 100}
	if err := o.complete(); err != nil {
		t.Fatal(err)
	}
	tab := newTable(&o)
	fill := func(from int) (n int) {
		for ; ; n++ {
			d := tracewire.Data{Kind: tracewire.KindPoint, Tag: fmt.Appendf(nil, "%0200d", from+n)}
			if _, err := tab.add(&d, 0, nil); err == errMemory {
				return n
			}
		}
	}
	n := fill(0)
	if tab.memory > o.MaxMemory || n < 200 || n > 250 {
		t.Errorf("%d tags take %d bytes", n, tab.memory)
	}
	tab.reset(time.Now())
	if got, want := tab.memory, n*(knownMemory+200); got != want {
		t.Errorf("%d remembered tags take %d bytes, want %d", n, got, want)
	}
	if got := fill(0); got != n { // a returning tag replaces its remembered ID
		t.Errorf("after the reset there is room for %d, before for %d", got, n)
	}
	for i := range 30 { // remembered IDs do not fill the memory
		tab.reset(time.Now())
		if got := fill((i + 1) * n); got < n/2 {
			t.Fatalf("after %d resets there is room for %d, at first for %d", i+2, got, n)
		}
	}
}

// TestTagsComeBack checks that tags that return in a different order cost no more than others: the
// list of instances is not copied for each tag.
func TestTagsComeBack(t *testing.T) {
	var o Options
	if err := o.complete(); err != nil {
		t.Fatal(err)
	}
	tab := newTable(&o)
	const n = 5000
	add := func(i int) {
		if _, err := tab.add(&tracewire.Data{Kind: tracewire.KindPoint, Tag: fmt.Appendf(nil, "%04d", i)}, 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		add(i)
	}
	tab.reset(time.Now())
	k := tab.of(tracewire.KindPoint)
	add(n - 1)
	kept := k.all()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := n - 2; i >= 0; i-- {
		add(i)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > n*4096 {
		t.Errorf("%d bytes for each tag", got/n)
	}
	all := k.all()
	for i, inst := range all {
		if want := fmt.Sprintf("%04d", i); inst.Name != want || inst.ID != pdu.InstID(i+1) {
			t.Fatalf("instance %d: %v, want %s", i, inst, want)
		}
	}
	if len(all) != n || len(kept) != 1 || kept[0] != all[n-1] {
		t.Errorf("%d instances, those of before are %v", len(all), kept)
	}
}

func TestMaxClients(t *testing.T) {
	var log lines
	_, ln := start(t, Options{MaxClients: 2, Logger: logTo(&log)})
	first := dialTCP(t, ln)
	dialTCP(t, ln)
	refused(t, ln, trace.ErrConnLimit)
	first.conn.Close()
	await(t, func() bool { return accepted(t, ln) })
	if !strings.Contains(log.String(), "MaxClients") {
		t.Errorf("log:\n%s", &log)
	}
}

// TestSilentClients checks that idle connections do not keep new applications out, and that an
// active connection stays.
func TestSilentClients(t *testing.T) {
	pcptest.Attack(t, func() { synctest.Test(t, testSilentClients) }, nil)
}

func testSilentClients(t *testing.T) {
	most := pcptest.AttackSize(8, 4000)
	ln := newPipeListener()
	serveAgent(t, New(Options{MaxClients: most, Logger: slog.New(slog.DiscardHandler)}), ln)
	used := connect(t, ln.dial())
	var silent []*app
	for range most - 1 {
		silent = append(silent, connect(t, ln.dial()))
	}
	time.Sleep(idleTime)
	used.send(tracewire.KindPoint, "a", -1)
	began := time.Now()
	for range most - 1 {
		connect(t, ln.dial()).send(tracewire.KindPoint, "b", -1)
	}
	t.Logf("refused: %d silent connections; as many others waited for %v", len(silent), time.Since(began))
	for _, c := range silent {
		c.wantEnd()
	}
	used.send(tracewire.KindPoint, "a", -1)
	refusedOne := tracewire.NewDecoder(ln.dial())
	if ack, err := refusedOne.Ack(); err != nil || trace.Error(ack.Code) != trace.ErrConnLimit {
		t.Errorf("one more than MaxClients: %+v, %v", ack, err)
	}
}

// TestTagShares checks that neither one application nor one host can take all tags.
func TestTagShares(t *testing.T) {
	share := pcptest.AttackSize(1024, defaultMaxTags/8)
	o := Options{MaxTags: 8 * share, MaxMemory: 1 << 30}
	if err := o.complete(); err != nil {
		t.Fatal(err)
	}
	tab := newTable(&o)
	made := 0
	add := func(c *client) error {
		made++
		_, err := tab.add(&tracewire.Data{Kind: tracewire.KindPoint, Tag: fmt.Appendf(nil, "%d", made)}, 0, c)
		return err
	}
	fill := func(c *client) (n int) {
		for ; n < 2*o.MaxTags; n++ {
			if add(c) != nil {
				break
			}
		}
		return n
	}
	first := &client{host: "a"}
	pcptest.Attack(t, func() {
		if n := fill(first); n != share {
			t.Errorf("one client makes %d tags, want 1/8", n)
		}
	}, nil)
	sum := 0
	for range 8 {
		sum += fill(&client{host: "a"}) // another connection
	}
	t.Logf("refused: all but %d tags of a host, of %d", share+sum, o.MaxTags)
	if sum != 3*share {
		t.Errorf("its host makes %d more tags, want half in all", sum)
	}
	if err := add(&client{host: "b"}); err != nil {
		t.Errorf("a client of another host: %v", err)
	}
	tab.reset(time.Now())
	if err := add(first); err != nil {
		t.Errorf("after a reset: %v", err)
	}
}

// refused connects an application that is refused.
func refused(t *testing.T, ln net.Listener, want trace.Error) {
	t.Helper()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := tracewire.NewDecoder(conn)
	if ack, err := in.Ack(); err != nil || trace.Error(ack.Code) != want {
		t.Errorf("answer %+v, %v, want %v", ack, err, want)
	}
	if _, err := in.Ack(); err == nil {
		t.Error("it is not disconnected")
	}
}

// accepted reports whether an application is accepted. It stays connected until the test ends.
func accepted(t *testing.T, ln net.Listener) bool {
	t.Helper()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	ack, err := tracewire.NewDecoder(conn).Ack()
	return err == nil && ack.Code >= 0
}

// await waits until a condition is true.
func await(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not happen in 30 seconds")
		}
	}
}

func TestAccess(t *testing.T) {
	for _, tt := range []struct {
		rules  []string
		accept int // the number of accepted connections, at most 3
		then   trace.Error
	}{
		{nil, 3, 0},
		{[]string{"allow:*:0"}, 3, 0},
		{[]string{"disallow:10.1.*"}, 3, 0},
		{[]string{"disallow:*"}, 0, trace.ErrPermission},
		{[]string{"DISALLOW:localhost"}, 0, trace.ErrPermission},
		{[]string{"Allow:*:2"}, 2, trace.ErrConnLimit},
		{[]string{"disallow:*", "allow:localhost:1"}, 1, trace.ErrConnLimit},
	} {
		t.Run(strings.Join(tt.rules, ","), func(t *testing.T) {
			rules, err := ParseAccess(tt.rules...)
			if err != nil {
				t.Fatal(err)
			}
			_, ln := start(t, Options{Access: rules, Logger: logTo(io.Discard)})
			var last *app
			for range tt.accept {
				last = dialTCP(t, ln)
			}
			if tt.then == 0 {
				return
			}
			refused(t, ln, tt.then)
			if last != nil { // frees its place
				last.conn.Close()
				await(t, func() bool { return accepted(t, ln) })
			}
		})
	}
}

func TestParseAccess(t *testing.T) {
	for rule, want := range map[string]string{
		"allow":                 "want allow:HOST:MAX",
		"allow:web":             "want allow:HOST:MAX",
		"allow::3":              "want allow:HOST:MAX",
		"allow:web:x":           "MAX is a number",
		"allow:web:-1":          "MAX is a number",
		"allow:web:99999999999": "MAX is a number",
		"disallow:web:3":        "want allow:HOST:MAX",
		"permit:web:3":          "want allow:HOST:MAX",
		`disallow:"`:            "has a blank, a quote",
		"disallow:a b":          "has a blank, a quote",
		"disallow:*.web":        "Wildcard",
		"disallow:256.1.*":      "256.1.*",
		"disallow:no.invalid":   "no.invalid",
	} {
		if got, err := ParseAccess("allow:127.0.0.1:0", rule); err == nil || !strings.Contains(err.Error(), want) || got != nil {
			t.Errorf("%s: %v, %v, want %s", rule, got, err, want)
		}
	}
}

// TestUnreadAnswers checks that a client that does not read its acknowledgements is disconnected
// within ackTimeout, and does not delay other clients.
func TestUnreadAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(Options{Logger: logTo(io.Discard)})
		ln := newPipeListener()
		serveAgent(t, a, ln)
		slow, other := connect(t, ln.dial()), connect(t, ln.dial())
		slow.write(data(t, tracewire.KindPoint, "slow", -1, true)) // the reply blocks: no buffer
		other.send(tracewire.KindPoint, "other", -1)
		begin := time.Now()
		if _, err := slow.conn.Write(data(t, tracewire.KindPoint, "slow", -1, true)); err == nil {
			t.Error("the agent goes on reading")
		}
		if d := time.Since(begin); d > ackTimeout {
			t.Errorf("disconnected after %v", d)
		}
		other.send(tracewire.KindPoint, "other", -1)
		if got := fetch(t, a, "trace.point.count"); got["slow"] != 1 || got["other"] != 2 {
			t.Errorf("counts %v", got)
		}
	})
}

// TestServeEnds checks that Serve at its end closes the connections that it has accepted, even in
// the middle of a PDU, and no others.
func TestServeEnds(t *testing.T) {
	a := New(Options{})
	other := listenTCP(t)
	serveAgent(t, a, other)
	stays := dialTCP(t, other)
	ln := listenTCP(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Serve(ctx, ln) }()
	c := dialTCP(t, ln)
	c.write(make([]byte, 3))
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	c.wantEnd()
	stays.send(tracewire.KindPoint, "still", -1)
	if conn, err := net.Dial("tcp", ln.Addr().String()); err == nil {
		conn.Close()
		t.Error("the listener is open")
	}
	broken := listenTCP(t)
	broken.Close()
	if err := a.Serve(t.Context(), broken); err == nil {
		t.Error("Serve of a closed listener: no error")
	}
}

// TestCrowd checks that many clients, some with garbage, and many readers at once do not disturb
// each other.
func TestCrowd(t *testing.T) {
	a, ln := start(t, Options{MaxTags: 500, Period: time.Second, Buckets: 100, Logger: logTo(io.Discard)})
	const each = 200
	var wg sync.WaitGroup
	for i := range 8 {
		c := dialTCP(t, ln)
		wg.Go(func() {
			for n := range each {
				c.send(tracewire.Kind(1+n%4), "common", float64(n))
				c.write(data(t, tracewire.KindPoint, fmt.Sprint(i, n), -1, false))
			}
		})
		wg.Go(func() {
			conn, err := net.Dial("tcp", ln.Addr().String())
			if err == nil {
				io.WriteString(conn, strings.Repeat("garbage", i))
				conn.Close()
			}
		})
		wg.Go(func() {
			for range 20 {
				fetch(t, a, "trace.transact.rate")
			}
		})
	}
	wg.Wait()
	for _, name := range []string{"transact", "point", "observe", "counter"} {
		if got := fetch(t, a, "trace."+name+".count")["common"]; got != 8*each/4 {
			t.Errorf("%s: %v, want %d", name, got, 8*each/4)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := a.table.numTags; n != leastTags {
		t.Errorf("%d tags, want the limit of a host", n)
	}
}
