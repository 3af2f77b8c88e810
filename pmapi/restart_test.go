package pmapi_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
)

// A daemon is a collector on a TCP port, which can end and start again on the same port.
type daemon struct {
	t    testing.TB
	addr string
	stop func()
}

func newDaemon(t testing.TB, agents ...pmda.Handler) *daemon {
	t.Helper()
	d := &daemon{t: t, addr: fmt.Sprintf("127.0.0.1:%d", pcptest.FreePort(t))} // no other process uses it while the daemon is down
	d.start(agents...)
	t.Cleanup(func() { d.stop() })
	return d
}

// start serves agents until stop, or the next start.
func (d *daemon) start(agents ...pmda.Handler) {
	d.t.Helper()
	if d.stop != nil {
		d.stop()
	}
	srv := new(collector.Server)
	for _, a := range agents {
		if err := srv.Add(a); err != nil {
			d.t.Fatal(err)
		}
	}
	ln, err := net.Listen("tcp", d.addr)
	for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond) // another process has the port for a moment
		ln, err = net.Listen("tcp", d.addr)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	d.addr = ln.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ctx, ln) }()
	d.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			d.t.Error(err)
		}
	})
}

// garage is an agent; a car that is in it has a name and wheels.
func garage(t testing.TB, units pdu.Units, cars []string, names ...string) *pmda.Agent {
	t.Helper()
	a := &pmda.Agent{Name: "garage", Domain: 401}
	in := a.AddInDom("car", cars...)
	for _, n := range names {
		if err := pmda.Register(a, pmda.Metric[uint32]{
			Name: "garage." + n, Units: units, InDom: in,
			Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint32, error) { return uint32(i.ID), nil },
		}); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// A collector restarts on its port with other agents, while clients poll it.
func TestRestart(t *testing.T) {
	ctx := t.Context()
	before := garage(t, pdu.UnitCount, []string{"red", "blue"}, "cars", "wheels", "doors")
	srv := newDaemon(t, before, colours(t))
	dial := pmapi.Dialer{AutoReconnect: true, Backoff: []time.Duration{time.Millisecond}}
	c, err := dial.Dial(ctx, srv.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	names := []string{"garage.cars", "garage.wheels", "garage.doors", "paint.used"}
	ids, err := c.Lookup(ctx, names)
	if err != nil {
		t.Fatal(err)
	}
	descs, err := c.Descs(ctx, ids)
	if err != nil {
		t.Fatal(err)
	}
	in := descs[0].InDom
	cars, err := c.Instances(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddProfile(in, 1); err != nil {
		t.Fatal(err)
	}
	pollers, stop := poll(t, ctx, c, ids)
	srv.start(garage(t, pdu.SpaceKByte, []string{"green", "blue", "black"}, "wheels", "cars"))
	gap := <-pollers
	stop()

	gone := pdu.Desc{PMID: pdu.NoPMID}
	first, second := descs[0], descs[1]
	first.Units, second.Units = pdu.SpaceKByte, pdu.SpaceKByte
	want := &pmapi.Gap{
		Names: map[string]pmapi.GapChange[pdu.PMID]{
			"garage.cars": {Was: ids[0], Is: ids[1]}, "garage.doors": {Was: ids[2], Is: pdu.NoPMID},
			"garage.wheels": {Was: ids[1], Is: ids[0]}, "paint.used": {Was: ids[3], Is: pdu.NoPMID},
		},
		Descs: map[pdu.PMID]pmapi.GapChange[pdu.Desc]{
			descs[3].PMID: {Was: descs[3], Is: gone}, descs[0].PMID: {Was: descs[0], Is: first},
			descs[1].PMID: {Was: descs[1], Is: second}, descs[2].PMID: {Was: descs[2], Is: gone},
		},
		InDoms: map[pdu.InDom]pmapi.GapChange[[]pdu.Instance]{in: {Was: cars, Is: []pdu.Instance{
			{ID: 0, Name: "green"}, {ID: 1, Name: "blue"}, {ID: 2, Name: "black"},
		}}},
	}
	if diff := sameGap(want, gap); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var r pdu.Result
	if err := c.Fetch(ctx, ids[:1], &r); err != nil {
		t.Fatal(err)
	}
	if got := r.At(0); got.Len() != 1 || got.Inst(0) != 1 {
		t.Errorf("the profile is forgotten: %d values", got.Len())
	}
}

// poll starts goroutines that poll a context until stop, and returns the gaps that are reported.
func poll(t *testing.T, ctx context.Context, c *pmapi.Context, ids []pdu.PMID) (<-chan *pmapi.Gap, func()) {
	gaps := make(chan *pmapi.Gap, 100)
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			var r pdu.Result
			for ctx.Err() == nil {
				err := c.Fetch(ctx, ids, &r)
				switch gap, ok := errors.AsType[*pmapi.Gap](err); {
				case ok:
					gaps <- gap
				case err != nil && !errors.Is(err, pdu.ErrIPC) && !errors.Is(err, context.Canceled) && !errors.Is(err, pdu.ErrNoContext):
					t.Error(err)
				}
			}
		})
	}
	return gaps, func() {
		cancel()
		all.Wait()
	}
}

// While collectors come and go under many requests, Close ends everything, at any time.
func TestCloseAmidRestarts(t *testing.T) {
	srv := newDaemon(t, colours(t))
	for i := range 20 {
		dial := pmapi.Dialer{AutoReconnect: i%2 == 0, Backoff: []time.Duration{time.Microsecond}}
		c, err := dial.Dial(t.Context(), srv.addr)
		if err != nil {
			t.Fatal(err)
		}
		ids, err := c.Lookup(t.Context(), []string{"paint.used", "paint.left"})
		if err != nil {
			t.Fatal(err)
		}
		_, stop := poll(t, t.Context(), c, ids)
		var also sync.WaitGroup
		also.Go(func() {
			for range 50 {
				if err := c.Reconnect(t.Context()); errors.Is(err, pdu.ErrNoContext) {
					break
				}
			}
		})
		closing := time.AfterFunc(time.Duration(i)*300*time.Microsecond, func() { c.Close() })
		srv.start(colours(t))
		time.Sleep(time.Duration(20-i) * 100 * time.Microsecond)
		closing.Stop()
		c.Close()
		also.Wait()
		stop()
		if err := callNamed("Desc").do(t.Context(), c, 7); !errors.Is(err, pdu.ErrNoContext) {
			t.Error(gocmp.Diff(pdu.ErrNoContext, err))
		}
	}
}
