package readme

import (
	"context"
	"errors"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/pmdago"
	"log"
	"net"
)

func embed() {
	srv := &collector.Server{}
	ln, err := net.Listen("tcp", address)
	if err := errors.Join(err, srv.Add(pmdago.New(pmdago.Options{}))); err != nil {
		log.Fatal(err)
	}
	log.Fatal(srv.Serve(context.Background(), ln))
}
