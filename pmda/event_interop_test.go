package pmda_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
)

// A webAgent has a queue of requests, with a control metric that filters them.
type webAgent struct {
	*pmda.Agent
	requests *pmda.EventQueue
	path     pmda.EventParam[string]
	status   pmda.EventParam[uint32]
	number   pmda.EventParam[uint64]

	mu      sync.Mutex
	filters []string // stored so far
}

const webNames = `root {
	web
}
web {
	requests	400:0:0
	latest	400:0:1
	filter	400:0:2
	request
}
web.request {
	path	400:1:0
	status	400:1:1
	number	400:1:2
}
`

// newWebAgent makes an agent with two queues: web.requests has all events from now on, web.latest
// always the same two records.
func newWebAgent(t *testing.T, highRes bool) *webAgent {
	a := &webAgent{Agent: &pmda.Agent{Name: "web", Domain: 400}}
	typ := pdu.TypeEvent
	if highRes {
		typ = pdu.TypeHighResEvent
	}
	latest := a.NewEventQueue()
	a.requests = a.NewEventQueue()
	latest.KeepAll, latest.HighRes, latest.MaxBytes = true, highRes, 200
	a.requests.HighRes, a.requests.MaxBytes = highRes, 64<<10
	register(t, a.Agent, pmda.Metric[[]byte]{Name: "web.requests", ID: pmda.Item(0, 0), Type: typ, Values: a.requests.Values})
	register(t, a.Agent, pmda.Metric[[]byte]{Name: "web.latest", ID: pmda.Item(0, 1), Type: typ, Values: latest.Values,
		Store: func(_ context.Context, r *pmda.Request, _ pdu.Instance, text []byte) error {
			return setFilter(latest, r.Client, string(text))
		}})
	register(t, a.Agent, pmda.Metric[string]{
		Name: "web.filter", ID: pmda.Item(0, 2),
		Value: func(context.Context, *pmda.Request, pdu.Instance) (string, error) {
			a.mu.Lock()
			defer a.mu.Unlock()
			return strings.Join(a.filters, ","), nil
		},
		Store: func(_ context.Context, r *pmda.Request, _ pdu.Instance, text string) error {
			if text == "secret" {
				return pdu.ErrPermission
			}
			if err := setFilter(a.requests, r.Client, text); err != nil {
				return err
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			a.filters = append(a.filters, text)
			return nil
		},
	})
	a.path = pmda.RegisterParam(a.Agent, pmda.Metric[string]{Name: "web.request.path", ID: pmda.Item(1, 0)})
	a.status = pmda.RegisterParam(a.Agent, pmda.Metric[uint32]{Name: "web.request.status", ID: pmda.Item(1, 1)})
	a.number = pmda.RegisterParam(a.Agent, pmda.Metric[uint64]{Name: "web.request.number", ID: pmda.Item(1, 2)})
	at := time.Unix(1800000000, 123456789)
	if err := errors.Join(
		latest.Append(at, pdu.EventStart|pdu.EventID, a.path.Of("/index.html"), a.status.Of(200), a.number.Of(1<<40)),
		latest.AppendMissed(at.Add(time.Second), 7),
		latest.Append(at.Add(2*time.Second), pdu.EventEnd, a.path.Of("/")),
		a.Err(),
	); err != nil {
		t.Fatal(err)
	}
	return a
}

// setFilter gives a client only the events whose first parameter matches.
func setFilter(q *pmda.EventQueue, c *pmda.Client, text string) error {
	re, err := regexp.Compile(text)
	if err != nil {
		return pdu.ErrBadStore
	}
	q.SetFilter(c, func(e pdu.EventRecord) bool {
		for _, v := range e.Params() {
			return re.Match(v.Bytes())
		}
		return false
	})
	return nil
}

// underPMCD lets the real pmcd serve an agent, and returns the argument of the tools' option -h.
func underPMCD(t *testing.T, a *pmda.Agent, names string) string {
	t.Helper()
	socket := filepath.Join(pcptest.ShortDir(t), "s")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	untilEnd(t, func(ctx context.Context) error {
		if err := pmda.ServeListener(ctx, a, ln); ctx.Err() == nil {
			return err
		}
		return nil
	})
	return pcptest.StartPMCD(t, pcptest.Config{
		Agents: []string{fmt.Sprintf("%s %d socket unix %s", a.Name, a.Domain, socket)},
		PMNS:   names,
	}).Host()
}

// underServer is underPMCD with our collector.
func underServer(t *testing.T, a *pmda.Agent) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &collector.Server{}
	if err := s.Add(a); err != nil {
		t.Fatal(err)
	}
	untilEnd(t, func(ctx context.Context) error { return s.Serve(ctx, ln) })
	return "localhost:" + strconv.Itoa(ln.Addr().(*net.TCPAddr).Port)
}

// untilEnd runs f until the test ends.
func untilEnd(t *testing.T, f func(ctx context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- f(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestInteropEvents checks that PCP's tools show the same events of our agent under the real pmcd
// and under our collector.
func TestInteropEvents(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmevent", "pmval", "pmprobe", "pmstore")
	for _, highRes := range []bool{false, true} {
		t.Run(fmt.Sprintf("highRes=%v", highRes), func(t *testing.T) {
			c, g := newWebAgent(t, highRes), newWebAgent(t, highRes)
			hosts := []string{underPMCD(t, c.Agent, webNames), underServer(t, g.Agent)}
			t.Run("latest", func(t *testing.T) { testEventsLatest(t, hosts, highRes) })
			if highRes {
				return
			}
			t.Run("stores", func(t *testing.T) { testEventsStores(t, hosts, []*webAgent{c, g}) })
			for i, a := range []*webAgent{c, g} {
				t.Run([]string{"pmcd", "server"}[i], func(t *testing.T) { testEventsStream(t, hosts[i], a) })
			}
		})
	}
}

// testEventsLatest compares the output of tools for two records and a record of missed events.
func testEventsLatest(t *testing.T, hosts []string, highRes bool) {
	for _, argv := range [][]string{
		{"pminfo", "-x", "web.latest"},
		{"pminfo", "-df", "web.latest", "web.request"},
		{"pmevent", "-s1", "web.latest"},
		{"pmevent", "-s1", "-x", "^/index", "web.latest"},
		{"pmevent", "-s1", "-x", "(", "web.latest"},
		{"pmval", "-s1", "web.latest"},
		{"pmprobe", "-v", "web"},
	} {
		var outs []string
		for _, h := range hosts {
			out, errs, _ := pcptest.Run(t, nil, "", append([]string{argv[0], "-h", h}, argv[1:]...)...)
			outs = append(outs, strings.ReplaceAll(out+errs, h, "HOST"))
		}
		if highRes { // the C library loses the number on its way through pmcd
			outs[1] = strings.NewReplacer("7 missed event records", "0 missed event records", " (7 missed)", "").Replace(outs[1])
		}
		if diff := cmp.Diff(outs[0], outs[1]); diff != "" {
			t.Errorf("%q (-pmcd +ours):\n%s", argv, diff)
		}
		t.Logf("%q\n%s", argv, outs[1])
	}
}

// testEventsStores stores filters with pmstore.
func testEventsStores(t *testing.T, hosts []string, agents []*webAgent) {
	for i, h := range hosts {
		var got string
		for _, value := range []string{"^/index", "(", "secret"} {
			out, errs, status := pcptest.Run(t, nil, "", "pmstore", "-h", h, "web.filter", value)
			got += fmt.Sprint(out, errs, status, "\n")
		}
		want := "web.filter old value=\"\" new value=\"^/index\"\n0\n" +
			"web.filter: new value=\"(\" pmStore: Bad input to pmstore\n1\n" +
			"web.filter: new value=\"secret\" pmStore: No permission to perform requested operation\n1\n"
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", h, diff)
		}
		if got := agents[i].requests.Stats(); got.Clients != 0 {
			t.Errorf("%s: pmstore has not fetched events: %+v", h, got)
		}
	}
}

// testEventsStream runs two pmevents of different speeds while events are appended.
func testEventsStream(t *testing.T, host string, a *webAgent) {
	stop := make(chan struct{})
	var appending sync.WaitGroup
	appending.Go(func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for n := uint64(1); ; {
			for range 200 {
				if err := a.requests.Append(time.Time{}, pdu.EventPoint, a.number.Of(n)); err != nil {
					t.Error(err)
				}
				n++
			}
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	})
	outs := pcptest.RunAll(t, nil,
		[]string{"pmevent", "-h", host, "-t", "50msec", "-s", "15", "web.requests"},
		[]string{"pmevent", "-h", host, "-t", "400msec", "-s", "3", "web.requests"})
	close(stop)
	appending.Wait()
	for a.requests.Stats().Clients != 0 { // the collector tells of their end soon
		time.Sleep(time.Millisecond)
	}
	if got := a.requests.Stats(); got.Memory != 0 {
		t.Errorf("without clients: %+v", got)
	}
	for i, o := range outs {
		if o.Status != 0 || o.Stderr != "" {
			t.Errorf("pmevent: status %d\n%s", o.Status, o.Stderr)
		}
		checkStream(t, i, o.Stdout)
	}
}

var streamLine = regexp.MustCompile(`web\.request\.number (\d+)|(\d+) missed event records`)

// checkStream checks the numbers of the events that pmevent has printed. Each number occurs once,
// and absent events are reported as missed.
func checkStream(t *testing.T, client int, out string) {
	at, events, missed := 0, 0, 0
	for _, m := range streamLine.FindAllStringSubmatch(out, -1) {
		if m[2] != "" {
			n, _ := strconv.Atoi(m[2])
			if missed++; at != 0 { // the first one is not known
				at += n
			}
			continue
		}
		n, _ := strconv.Atoi(m[1])
		if at != 0 && n != at+1 {
			t.Errorf("client %d: event %d after %d", client, n, at)
		}
		at = n
		events++
	}
	if events == 0 || client == 1 && missed == 0 {
		t.Errorf("client %d: %d events, %d gaps in\n%.2000s", client, events, missed, out)
	}
	t.Logf("client %d: %d events, %d gaps", client, events, missed)
}
