package pmlc_test

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/examples/internal/pcptool/pmlc"
	"github.com/pcp-go/pcp/pdu"
)

// A disk stands for a *logger.Logger.
type disk struct{ interval time.Duration }

func (d *disk) Status() logger.Status         { return logger.Status{Host: "web1", Volume: 2} }
func (d *disk) NewVolume(string) (int, error) { return 3, nil }
func (d *disk) Sync() error                   { return nil }

func (d *disk) Control(ctx context.Context, _ logger.Control, _ logger.State, interval time.Duration, targets []logger.Target) ([]logger.MetricState, error) {
	d.interval = interval
	return d.Enquire(ctx, targets)
}

func (d *disk) Enquire(_ context.Context, targets []logger.Target) ([]logger.MetricState, error) {
	return []logger.MetricState{{PMID: targets[0].PMID, Values: []logger.ValueState{{Inst: pdu.NoInst, On: true, Interval: d.interval}}}}, nil
}

// A server and a client.
func Example() {
	ln, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error)
	go func() { done <- (&pmlc.Server{Logger: &disk{}}).Serve(ctx, ln) }()

	c, err := pmlc.Dial(ctx, "tcp", ln.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	status, err := c.Status(ctx)
	fmt.Println(status.Host, status.Volume, err)
	n, err := c.NewVolume(ctx)
	fmt.Println(n, err)
	targets := []logger.Target{{PMID: pdu.MakePMID(60, 0, 4)}}
	states, err := c.Control(ctx, logger.Advisory, logger.On, 5*time.Second, targets)
	fmt.Println(states[0].PMID, states[0].Values[0].Interval, err)
	c.Close()

	cancel()
	fmt.Println(<-done)
	// Output:
	// web1 2 <nil>
	// 3 <nil>
	// 60.0.4 5s <nil>
	// <nil>
}
