package trace_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/pcp-go/pcp/internal/tracewire"
	"github.com/pcp-go/pcp/trace"
)

// exampleAgent is an agent in this process that prints what it receives. Programs use the agent of
// the host.
func exampleAgent() trace.Config {
	return trace.Config{DialContext: func(context.Context, string, string) (net.Conn, error) {
		client, conn := net.Pipe()
		go func() {
			defer conn.Close()
			conn.Write(tracewire.Ack{Code: tracewire.Version}.Append(nil))
			for d := tracewire.NewDecoder(conn); ; {
				data, err := d.Data()
				if err != nil {
					return
				}
				fmt.Printf("agent: %v %s\n", data.Kind, data.Tag)
				if data.Sync {
					conn.Write(tracewire.Ack{Code: int32(data.Kind)}.Append(nil))
				}
			}
		}()
		return client, nil
	}}
}

func Example() {
	config, err := trace.FromEnv() // PCP_TRACE_HOST, PCP_TRACE_PORT, ...
	if err != nil {
		log.Print(err) // malformed variables mean their defaults
	}
	config.DialContext = exampleAgent().DialContext // only for this example
	c := &trace.Client{Config: config}

	sp := c.Begin("checkout")
	c.Point("cart.empty")
	c.Observe("queue.length", 3)
	sp.End()

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := c.Close(ctx); err != nil {
		log.Print(err) // data were dropped or lost
	}
	// Output:
	// agent: point cart.empty
	// agent: observation queue.length
	// agent: transaction checkout
}

func ExampleFromContext() {
	c := &trace.Client{Config: exampleAgent()}
	ctx := trace.NewContext(context.Background(), c)

	// Code that only has the context:
	buy := func(ctx context.Context) {
		sp := trace.FromContext(ctx).Begin("buy")
		defer sp.End()
		pay := trace.FromContext(ctx).Begin("pay")
		defer pay.End()
		trace.FromContext(ctx).Point("bought")
	}
	buy(ctx)
	c.Close(ctx)
	// Output:
	// agent: point bought
	// agent: transaction pay
	// agent: transaction buy
}

func ExampleSpan_Abort() {
	c := &trace.Client{Config: exampleAgent()}
	load := func(ok bool) {
		sp := c.Begin("load")
		defer sp.End()
		if !ok {
			sp.Abort() // the transaction is not reported, and End does nothing
		}
	}
	load(false)
	load(true)
	c.Close(context.Background())
	// Output:
	// agent: transaction load
}

// A middleware reports each request as a transaction of its route.
func ExampleClient_http() {
	c := &trace.Client{Config: exampleAgent()}
	traced := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			start := time.Now()
			next.ServeHTTP(w, r)
			if r.Pattern != "" { // set by the ServeMux; the path would make a tag for each URL
				c.Transaction(r.Pattern, time.Since(start))
			}
		})
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /item/{id}", func(w http.ResponseWriter, r *http.Request) {})
	server := traced(mux)

	for _, path := range []string{"/item/1", "/item/2", "/nothing"} {
		server.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
	}
	c.Close(context.Background())
	// Output:
	// agent: transaction GET /item/{id}
	// agent: transaction GET /item/{id}
}

// A countingHandler reports each log record as a point of its level.
type countingHandler struct {
	slog.Handler
	c *trace.Client
}

func (h countingHandler) Handle(ctx context.Context, r slog.Record) error {
	h.c.Point("log." + r.Level.String())
	return h.Handler.Handle(ctx, r)
}

func ExampleClient_slog() {
	c := &trace.Client{Config: exampleAgent()}
	logger := slog.New(countingHandler{slog.NewTextHandler(io.Discard, nil), c})
	logger.Debug("not enabled, and so not counted")
	logger.Error("disk is full")
	c.Close(context.Background())
	// Output:
	// agent: point log.ERROR
}

// A Session makes the calls of libpcp_trace.
func ExampleSession() {
	s := &trace.Session{Config: exampleAgent()}
	defer s.Close()
	ctx := context.Background()
	if err := s.Begin(ctx, "simple"); err != nil {
		log.Fatal(err)
	}
	if err := s.End(ctx, "simple"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.End(ctx, "simple"))
	// Output:
	// agent: transaction simple
	// trace: end "simple": Transaction is not currently in progress - cannot end
}

// A test counts what the code under test reports. It needs no agent.
func ExampleConfig_noAgent() {
	checkout := func(ctx context.Context) { // the code under test
		span := trace.FromContext(ctx).Begin("checkout")
		defer span.End()
		trace.FromContext(ctx).Point("cart.full")
	}

	c := &trace.Client{Config: trace.Config{NoAgent: true}}
	checkout(trace.NewContext(context.Background(), c))
	checkout(trace.NewContext(context.Background(), c))
	fmt.Println(c.Stats().Accepted)
	// Output: 4
}
