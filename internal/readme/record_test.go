package readme

import (
	"context"
	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/pmapi"
	"log"
)

func record() {
	c, err := pmapi.Dial(context.Background(), address)
	if err != nil {
		log.Fatal(err)
	}
	o := logger.Options{Config: "log mandatory on 1 sec { kernel }", Base: "load"}
	log.Fatal(logger.Run(context.Background(), c, o))
}
