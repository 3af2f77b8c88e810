package pmapi_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
)

// web returns a context on a collector in this process, with the agent of a web server, and a
// function that closes both.
func web(ctx context.Context) (c *pmapi.Context, end func()) {
	a := &pmda.Agent{Name: "web", Domain: 410}
	caches := a.AddInDom("cache", "pages", "images")
	requests := uint64(0)
	pmda.Register(a, pmda.Metric[uint64]{
		Name: "web.requests", Sem: pdu.SemCounter, Units: pdu.UnitCount,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) {
			requests += 100
			return requests, nil
		},
	})
	pmda.Register(a, pmda.Metric[uint64]{
		Name: "web.cache", InDom: caches, Units: pdu.SpaceByte,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint64, error) {
			return uint64(i.ID+1) * 1536, nil
		},
	})
	pmda.Register(a, pmda.Metric[uint32]{
		Name: "web.status", ID: pmda.Item(1, 0),
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) { return 0, pmda.NoValue },
	})
	pmda.Register(a, pmda.Metric[[]byte]{
		Name: "web.events", ID: pmda.Item(1, 1), Type: pdu.TypeEvent,
		Value: func(context.Context, *pmda.Request, pdu.Instance) ([]byte, error) {
			var events pdu.EventBuilder
			for i, status := range []uint32{200, 404} {
				events.Begin(time.Unix(int64(i), 0), pdu.EventPoint)
				events.Param(pdu.MakePMID(410, 1, 0), pdu.Uint32(status))
			}
			all, err := events.Atom()
			return all.Bytes(), err
		},
	})
	srv := new(collector.Server)
	if err := srv.Add(a); err != nil {
		log.Fatal(err)
	}
	c, err := pmapi.Local(ctx, srv)
	if err != nil {
		log.Fatal(err)
	}
	return c, func() { c.Close(); srv.Close() }
}

func ExampleContext_Group() {
	ctx := context.Background()
	c, end := web(ctx)
	defer end()

	g := c.Group()
	total := pmapi.Add[uint64](g, "web.requests", pmapi.Scale("instant"))
	caches := pmapi.AddSet[float64](g, "web.cache", pmapi.Scale("Kbyte"))
	if _, err := g.Fetch(ctx); err != nil {
		log.Fatal(err)
	}
	if n, err := total.Value(); err == nil {
		fmt.Println(n, "requests")
	}
	for cache, kbytes := range caches.All() {
		fmt.Println(cache.Name, kbytes, "Kbyte")
	}
	// Output:
	// 100 requests
	// pages 1.5 Kbyte
	// images 3 Kbyte
}

func ExampleAdd() {
	ctx := context.Background()
	c, end := web(ctx)
	defer end()

	g := c.Group()
	pages := pmapi.Add[int32](g, "web.cache", pmapi.Instance("pages"))
	text := pmapi.Add[string](g, "web.cache", pmapi.Instance("images"))
	if _, err := g.Fetch(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(pages.Value())
	fmt.Println(text.Value())
	// Output:
	// 1536 <nil>
	// 3072 <nil>
}

// The value of a counter is its rate, from the second fetch on.
func ExampleAdd_rate() {
	ctx := context.Background()
	c, end := web(ctx)
	defer end()

	g := c.Group()
	perMinute := pmapi.Add[float64](g, "web.requests", pmapi.Scale("count / minute"))
	for range 2 {
		if _, err := g.Fetch(ctx); err != nil {
			log.Fatal(err)
		}
		rate, err := perMinute.Value()
		if errors.Is(err, pdu.ErrAgain) {
			fmt.Println("no rate yet")
			continue
		}
		fmt.Println(rate > 0, err)
	}
	// Output:
	// no rate yet
	// true <nil>
}

func ExampleAddSet() {
	ctx := context.Background()
	c, end := web(ctx)
	defer end()

	g := c.Group()
	caches := pmapi.AddSet[uint32](g, "web.cache")
	if _, err := g.Fetch(ctx); err != nil {
		log.Fatal(err)
	}
	// All yields the instances with values; At also returns those without.
	for i := range caches.Len() {
		cache, bytes, err := caches.At(i)
		fmt.Println(cache.ID, cache.Name, bytes, err)
	}
	// Output:
	// 0 pages 1536 <nil>
	// 1 images 3072 <nil>
}

func ExampleAddEvents() {
	ctx := context.Background()
	c, end := web(ctx)
	defer end()

	g := c.Group()
	statuses := pmapi.AddEvents[uint32](g, "web.events", "web.status")
	if _, err := g.Fetch(ctx); err != nil {
		log.Fatal(err)
	}
	for at, status := range statuses.All() {
		fmt.Println(at.UTC().Format(time.TimeOnly), status)
	}
	// Output:
	// 00:00:00 200
	// 00:00:01 404
}

// A metric that cannot be resolved has an error in its item and in Group.Err. The fetch succeeds
// for the other items.
func ExampleGroup_Fetch() {
	ctx := context.Background()
	c, end := web(ctx)
	defer end()

	g := c.Group()
	pages := pmapi.Add[uint64](g, "web.cache", pmapi.Instance("pages"))
	errs := pmapi.Add[uint64](g, "web.errors")
	_, err := g.Fetch(ctx)
	fmt.Println(err)
	fmt.Println(g.Err()) // the misspelt name
	fmt.Println(pages.Value())
	fmt.Println(errs.Value())
	// Output:
	// <nil>
	// pmapi: lookup "web.errors" on local: Unknown metric name
	// 1536 <nil>
	// 0 pmapi: lookup "web.errors" on local: Unknown metric name
}

func ExampleGroup_Every() {
	c, end := web(context.Background())
	defer end()

	g := c.Group()
	total := pmapi.Add[uint64](g, "web.requests", pmapi.Scale("instant"))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, err := range g.Every(ctx, 10*time.Millisecond) {
		if err != nil {
			log.Print(err) // the loop goes on
			continue
		}
		n, err := total.Value()
		fmt.Println(n, err)
		if n == 300 {
			cancel() // the loop ends
		}
	}
	// Output:
	// 100 <nil>
	// 200 <nil>
	// 300 <nil>
}
