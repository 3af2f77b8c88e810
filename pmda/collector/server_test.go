package collector_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
	"github.com/pcp-go/pcp/pmda/collector/pmcdconf"
)

// exportedFields returns the exported fields of a Server by name.
func exportedFields(s *collector.Server) map[string]any {
	fields := map[string]any{}
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() && f.Type.Kind() != reflect.Struct {
			fields[f.Name] = v.Field(i).Interface()
		}
	}
	return fields
}

// TestFieldsStayZero checks that a Server does not write its defaults into its fields.
func TestFieldsStayZero(t *testing.T) {
	s := collectortest.CloseAtEnd(t, new(collector.Server))
	collectortest.Add(t, s, pmda.Unimplemented(pmda.Info{Name: "a", Domain: 10}))
	conn, err := s.DialContext(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for name, v := range exportedFields(s) {
		if f := reflect.ValueOf(v); f.IsValid() && !f.IsZero() {
			t.Errorf("%s is %v", name, v)
		}
	}
}

// TestOpError checks that an error names the operation and the agent, and whether it was a
// timeout.
func TestOpError(t *testing.T) {
	s := new(collector.Server)
	collectortest.Add(t, s, pmda.Unimplemented(pmda.Info{Name: "first", Domain: 10}))
	start := s.StartAgent(pmcdconf.Agent{Name: "none", Domain: 12, Kind: "dso", Entry: "none_init"})
	tests := []struct {
		err  error
		want string
	}{
		{s.Add(pmda.Unimplemented(pmda.Info{Name: "second", Domain: 10})), `collector: add agent "second": domain 10 is that of agent "first"`},
		{s.Add(pmda.Unimplemented(pmda.Info{Name: "second", Domain: 600})), `collector: add agent "second": domain 600 out of range (0..510)`},
		{s.Remove(11), `collector: remove: no agent of domain 11`},
		{start, `collector: start agent "none": no agent in this program has the entry point "none_init" (it knows: none); a program of the agent needs the line "none 12 pipe binary PROGRAM"`},
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	_, dial := s.DialContext(t.Context(), "", "")
	tests = append(tests, struct {
		err  error
		want string
	}{dial, "collector: dial: the server is closed"})
	for _, test := range tests {
		op, ok := errors.AsType[*collector.OpError](test.err)
		if !ok || op.Timeout() || op.Error() != test.want {
			t.Errorf("got %v, want %s", test.err, test.want)
		}
	}
	for err, want := range map[error]bool{
		pdu.ErrTimeout:                   true,
		context.DeadlineExceeded:         true,
		os.ErrDeadlineExceeded:           true,
		&net.OpError{Err: net.ErrClosed}: false,
		pdu.ErrAgain:                     false,
	} {
		op := &collector.OpError{Op: "start", Agent: "a", Err: err}
		if got := op.Timeout(); got != want || !errors.Is(op, err) {
			t.Errorf("%v: Timeout is %v", op, got)
		}
	}
}

// TestTraceBits checks that the kinds of events are the bits of pmcd's option -T.
func TestTraceBits(t *testing.T) {
	got := []collector.Trace{collector.TraceConnections, collector.TracePDUs, collector.TraceUnbuffered}
	if diff := cmp.Diff([]collector.Trace{1, 2, 256}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func ExampleServer() {
	agent := &pmda.Agent{Name: "cache", Domain: 251}
	pmda.Register(agent, pmda.Metric[uint64]{
		Name: "cache.hits", Text: "Lookups that were served from memory", Sem: pdu.SemCounter, Units: pdu.UnitCount,
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { return 42, nil },
	})
	srv := new(collector.Server)
	if err := srv.Add(agent); err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()

	// A client in this process needs no listener and no socket.
	conn, err := srv.DialContext(context.Background(), "", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	c := pdu.NewConn(conn)
	if _, err := pdu.ClientHello(c, 1, 0); err != nil {
		fmt.Println(err)
		return
	}
	c.Write(0, pdu.NameList{Names: []string{"cache.hits"}})
	_, body, _ := c.Read()
	var ids pdu.PMIDList
	ids.Decode(body)
	c.Queue(0, pdu.SetProfile{}) // all instances
	c.Write(0, pdu.Fetch{PMIDs: ids.PMIDs})
	_, body, _ = c.Read()
	var res pdu.Result
	res.Decode(body)
	for _, set := range res.All() {
		for _, v := range set.All(pdu.TypeU64) {
			fmt.Println("cache.hits", v)
		}
	}
	// Output:
	// cache.hits 42
}
