package timecontrol_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool/timecontrol"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// A server steps a program through an archive.
func Example() {
	ctx := context.Background()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	srv := &timecontrol.Server{Source: timecontrol.SourceArchive}
	served := make(chan error)
	go func() { served <- srv.Serve(ctx, l) }()

	c, err := pmapi.Open(ctx, "../../../../archive/testdata/v3")
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	label, err := c.ArchiveLabel()
	if err != nil {
		log.Fatal(err)
	}
	end, err := c.ArchiveEnd(ctx)
	if err != nil {
		log.Fatal(err)
	}
	set := timecontrol.Message{
		Source: timecontrol.SourceArchive, Delta: 500 * time.Millisecond,
		Position: label.Start, Start: label.Start, End: end, Zone: "UTC",
	}
	conn, err := timecontrol.Dial(ctx, l.Addr().(*net.TCPAddr).Port, set)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	ids, err := c.Lookup(ctx, []string{"sample.double.million"})
	if err != nil {
		log.Fatal(err)
	}
	control := &timecontrol.Control{Conn: conn, Context: c, Delta: set.Delta}
	for {
		err := control.Next(ctx)
		if errors.Is(err, io.EOF) {
			break // the server has ended
		} else if err != nil {
			log.Fatal(err)
		}
		var r pdu.Result
		err = c.Fetch(ctx, ids, &r)
		if errors.Is(err, pdu.ErrEOL) {
			fmt.Println("end of the archive")
			err = control.AtEnd()
		} else if err == nil {
			fmt.Println(r.Time.UTC().Format("15:04:05.000"))
			err = control.Done()
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(<-served)
	// Output:
	// 00:57:08.696
	// 00:57:09.196
	// 00:57:09.696
	// end of the archive
	// <nil>
}
