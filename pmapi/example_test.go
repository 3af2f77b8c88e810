package pmapi_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
)

// shop returns the agent of the examples.
func shop() *pmda.Agent {
	a := &pmda.Agent{Name: "shop", Domain: 410}
	till := a.AddInDom("till", "north door", "south door")
	till.Labels = `{"floor":0}`
	open := map[pdu.InstID]uint32{0: 1, 1: 1}
	err := errors.Join(
		pmda.Register(a, pmda.Metric[uint64]{
			Name: "shop.sold", Text: "Things sold", Sem: pdu.SemCounter, Units: pdu.UnitCount, InDom: till, Labels: `{"tax":true}`,
			Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint64, error) {
				return uint64(100 + i.ID), nil
			},
		}),
		pmda.Register(a, pmda.Metric[uint32]{
			Name: "shop.open", Text: "Whether a till is open", InDom: till,
			Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint32, error) { return open[i.ID], nil },
			Store: func(_ context.Context, _ *pmda.Request, i pdu.Instance, v uint32) error { open[i.ID] = v; return nil },
		}),
		pmda.Register(a, pmda.Metric[string]{
			Name: "shop.motto", Text: "What is painted above the door",
			Value: func(context.Context, *pmda.Request, pdu.Instance) (string, error) { return "Open late", nil },
		}),
	)
	if err != nil {
		log.Fatal(err)
	}
	return a
}

// openShop returns a collector with that agent.
func openShop() *collector.Server {
	srv := new(collector.Server)
	if err := srv.Add(shop()); err != nil {
		log.Fatal(err)
	}
	return srv
}

// dialShop returns a context on such a collector, and a function that closes both.
func dialShop(ctx context.Context) (c *pmapi.Context, end func()) {
	srv := openShop()
	c, err := pmapi.Local(ctx, srv)
	if err != nil {
		log.Fatal(err)
	}
	return c, func() {
		c.Close()
		srv.Close()
	}
}

// A program reads metrics of a collector, which runs in the same process here.
func Example() {
	ctx := context.Background()
	srv := openShop()
	defer srv.Close()

	c, err := pmapi.Local(ctx, srv) // or pmapi.Dial(ctx, "web1.example.com")
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ids, err := c.Lookup(ctx, []string{"shop.sold", "shop.motto"})
	if err != nil {
		log.Fatal(err)
	}
	descs, err := c.Descs(ctx, ids)
	if err != nil {
		log.Fatal(err)
	}
	var r pdu.Result
	if err := c.Fetch(ctx, ids, &r); err != nil {
		log.Fatal(err)
	}
	for i, s := range r.All() {
		for inst, v := range s.All(descs[i].Type) {
			fmt.Println(s.PMID, inst, v)
		}
	}
	// Output:
	// 410.0.0 0 100
	// 410.0.0 1 101
	// 410.0.2 -1 "Open late"
}

// Dial connects to a collector on a network. It fails if no collector listens there.
func ExampleDial() {
	ctx := context.Background()
	srv := openShop()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	serving, stop := context.WithCancel(ctx)
	served := make(chan error)
	go func() { served <- srv.Serve(serving, ln) }()

	c, err := pmapi.Dial(ctx, ln.Addr().String()) // "host", "host:port", "unix:", "local:", …
	if err != nil {
		log.Fatal(err)
	}
	names, err := c.Traverse(ctx, "shop")
	fmt.Println(names, err)
	c.Close()
	stop()
	fmt.Println(<-served)

	_, err = pmapi.Dial(ctx, "unix:/nowhere/pmcd.socket")
	fmt.Println(errors.Is(err, os.ErrNotExist))
	// Output:
	// [shop.sold shop.open shop.motto] <nil>
	// <nil>
	// true
}

// Local needs no socket. It accepts any collector with a method DialContext.
func ExampleLocal() {
	ctx := context.Background()
	srv := openShop()
	defer srv.Close()

	c, err := pmapi.Local(ctx, srv)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	children, err := c.Children(ctx, "shop")
	fmt.Println(children, err)
	// Output: [{sold true} {open true} {motto true}] <nil>
}

// Lookup finds several names in one exchange. An unknown name has an error; the other names have
// their PMIDs.
func ExampleContext_Lookup() {
	ctx := context.Background()
	c, end := dialShop(ctx)
	defer end()

	names := []string{"shop.sold", "shop.stolen", "shop"}
	ids, err := c.Lookup(ctx, names)
	fmt.Println(err)
	fmt.Println(errors.Is(err, pdu.ErrName))
	for i, name := range names {
		fmt.Println(name, ids[i], pdu.FromError(pmapi.ErrorAt(err, i)))
	}
	// Output:
	// pmapi: lookup "shop.stolen" on local: Unknown metric name (and 1 more)
	// true
	// shop.sold 410.0.0 No error
	// shop.stolen PM_ID_NULL Unknown metric name
	// shop PM_ID_NULL Metric name is not a leaf in PMNS
}

// A program uses one Result for many fetches. A metric without values has a separate error.
func ExampleContext_Fetch() {
	ctx := context.Background()
	c, end := dialShop(ctx)
	defer end()

	sold, nobodys := pdu.MakePMID(410, 0, 0), pdu.MakePMID(411, 0, 0)
	var r pdu.Result
	for range 2 {
		if err := c.Fetch(ctx, []pdu.PMID{sold, nobodys}, &r); err != nil {
			log.Fatal(err)
		}
		for _, s := range r.All() {
			fmt.Println(s.PMID, s.Len(), s.Err())
		}
	}
	// Output:
	// 410.0.0 2 <nil>
	// 411.0.0 0 No PMCD agent for domain of request
	// 410.0.0 2 <nil>
	// 411.0.0 0 No PMCD agent for domain of request
}

// Each instance has a number, which identifies it in values, and a name, which people use.
func ExampleContext_Instances() {
	ctx := context.Background()
	c, end := dialShop(ctx)
	defer end()

	d, err := c.Desc(ctx, pdu.MakePMID(410, 0, 0))
	if err != nil {
		log.Fatal(err)
	}
	tills, err := c.Instances(ctx, d.InDom)
	fmt.Println(tills, err)
	id, err := c.InstID(ctx, d.InDom, "south") // up to the first space is enough
	fmt.Println(id, err)
	name, err := c.InstName(ctx, d.InDom, 0)
	fmt.Println(name, err)
	// Output:
	// [{0 north door} {1 south door}] <nil>
	// 1 <nil>
	// north door <nil>
}

// Labels returns one set for each level: the collector, the agent, the instance domain and so on.
// Labels of later sets take precedence.
func ExampleContext_Labels() {
	ctx := context.Background()
	c, end := dialShop(ctx)
	defer end()

	sets, err := c.Labels(ctx, pdu.MakePMID(410, 0, 0))
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range sets[1:] { // all but those of the collector, which are about this computer
		fmt.Println(s)
	}
	all, err := pdu.MergeLabels(nil, sets[1:]...)
	fmt.Println(all, err)
	// Output:
	// {"agent":"shop"}
	// {"floor":0}
	// {"tax":true}
	// {"agent":"shop","floor":0,"tax":true} <nil>
}

// Store converts a value to the type of the metric. The error says why it cannot be stored.
func ExampleContext_Store() {
	ctx := context.Background()
	c, end := dialShop(ctx)
	defer end()

	south := pmapi.Instance("south") // up to the first space is enough
	fmt.Println(c.Store(ctx, "shop.open", 0, south))
	fmt.Println(c.Store(ctx, "shop.sold", 1_000_000, south))
	fmt.Println(errors.Unwrap(c.Store(ctx, "shop.open", -1, south)))
	fmt.Println(errors.Unwrap(c.Store(ctx, "shop.open", "no", south)))
	fmt.Println(errors.Unwrap(c.Store(ctx, "shop.open", 1)))
	// Output:
	// <nil>
	// pmapi: store "shop.sold[south]" on local: No permission to perform requested operation
	// from int to type U32 (uint32): Negative value in conversion to unsigned
	// from string to type U32 (uint32): Unknown or illegal metric type
	// the metric has instances: use Instance: Unknown or illegal instance domain identifier
}

// A ResultWriter builds the result to store, with values of several metrics and instances.
func ExampleContext_StoreResult() {
	ctx := context.Background()
	c, end := dialShop(ctx)
	defer end()

	sold, open := pdu.MakePMID(410, 0, 0), pdu.MakePMID(410, 0, 1)
	var w pdu.ResultWriter
	w.Begin(open)
	w.Uint32(1, 0) // close the south door
	r, err := w.Result()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.StoreResult(ctx, r))

	if err := c.Fetch(ctx, []pdu.PMID{open}, r); err != nil {
		log.Fatal(err)
	}
	for inst, v := range r.At(0).All(pdu.TypeU32) {
		fmt.Println(inst, v)
	}
	w.Reset()
	w.Begin(sold)
	w.Uint64(1, 1_000_000)
	if r, err = w.Result(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.StoreResult(ctx, r))
	// Output:
	// <nil>
	// 0 1
	// 1 0
	// pmapi: store "410.0.0[1]" on local: No permission to perform requested operation
}

// A fetch returns only the instances that the profile includes.
func ExampleContext_AddProfile() {
	ctx := context.Background()
	c, end := dialShop(ctx)
	defer end()

	sold := pdu.MakePMID(410, 0, 0)
	tills := pdu.MakeInDom(410, 0)
	if err := errors.Join(c.DelProfile(tills), c.AddProfile(tills, 1)); err != nil { // only instance 1
		log.Fatal(err)
	}
	var r pdu.Result
	if err := c.Fetch(ctx, []pdu.PMID{sold}, &r); err != nil {
		log.Fatal(err)
	}
	for inst, v := range r.At(0).All(pdu.TypeU64) {
		fmt.Println(inst, v)
	}
	// Output: 1 101
}

// The environment variables that users of the C tools know set the fields of a Dialer. An invalid
// one is an error and is otherwise ignored.
func ExampleDialerFromEnv() {
	os.Setenv("PMCD_REQUEST_TIMEOUT", "2.5")
	os.Setenv("PMCD_CONNECT_TIMEOUT", "soon")
	defer os.Unsetenv("PMCD_REQUEST_TIMEOUT")
	defer os.Unsetenv("PMCD_CONNECT_TIMEOUT")

	d, err := pmapi.DialerFromEnv()
	fmt.Println(err)
	fmt.Println(d.RequestTimeout, d.ConnectTimeout)
	// Output:
	// ignored bad PMCD_CONNECT_TIMEOUT = 'soon'
	// 2.5s 0s
}

// A changing is a collector that another one can replace.
type changing struct{ srv *collector.Server }

func (s *changing) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return s.srv.DialContext(ctx, network, addr)
}

// change ends the collector and starts a new one in its place.
func (s *changing) change(agents ...pmda.Handler) {
	s.srv.Close()
	s.srv = new(collector.Server)
	for _, a := range agents {
		if err := s.srv.Add(a); err != nil {
			log.Fatal(err)
		}
	}
}

// After the loss of a connection, all requests fail until there is a new one.
func ExampleContext_Reconnect() {
	ctx := context.Background()
	host := &changing{openShop()}
	defer func() { host.srv.Close() }()
	c, err := pmapi.Local(ctx, host)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	host.change(shop())
	_, err = c.Lookup(ctx, []string{"shop.sold"})
	fmt.Println(errors.Is(err, pdu.ErrIPC))
	if err := c.Reconnect(ctx); err != nil {
		log.Fatal(err)
	}
	ids, err := c.Lookup(ctx, []string{"shop.sold"})
	fmt.Println(ids, err)
	// Output:
	// true
	// [410.0.0] <nil>
}

// A context with AutoReconnect reports the changes during the time without a connection.
func ExampleGap() {
	ctx := context.Background()
	host := &changing{openShop()}
	defer func() { host.srv.Close() }()
	dial := pmapi.Dialer{AutoReconnect: true, Backoff: []time.Duration{time.Second}}
	c, err := dial.Local(ctx, host)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	ids, err := c.Lookup(ctx, []string{"shop.sold"})
	if err != nil {
		log.Fatal(err)
	}

	host.change() // the shop sells nothing more
	var r pdu.Result
	for range 3 {
		err := c.Fetch(ctx, ids, &r)
		gap, isGap := errors.AsType[*pmapi.Gap](err)
		switch {
		case isGap:
			for name, id := range gap.Names {
				fmt.Println(name, "was", id.Was, "and is", id.Is)
			}
		case errors.Is(err, pdu.ErrIPC):
			fmt.Println("no connection, for now")
		default:
			fmt.Println(r.At(0).Err())
		}
	}
	// Output:
	// no connection, for now
	// shop.sold was 410.0.0 and is PM_ID_NULL
	// No PMCD agent for domain of request
}

// Dup opens a second context on the same source. It has the same profile and a separate connection.
func ExampleContext_Dup() {
	ctx := context.Background()
	srv := openShop()
	defer srv.Close()
	c, err := pmapi.Local(ctx, srv)
	if err != nil {
		log.Fatal(err)
	}
	if err := c.DelProfile(pdu.MakeInDom(410, 0)); err != nil {
		log.Fatal(err)
	}
	twin, err := c.Dup(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer twin.Close()
	c.Close()

	var r pdu.Result
	err = twin.Fetch(ctx, []pdu.PMID{pdu.MakePMID(410, 0, 0)}, &r)
	fmt.Println(err, r.At(0).Len())
	// Output: <nil> 0
}
