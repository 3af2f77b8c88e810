package readme

import (
	"context"
	"errors"
	"github.com/pcp-go/pcp/archive/logger"
	"github.com/pcp-go/pcp/archive/logger/logconf"
	"github.com/pcp-go/pcp/pmapi"
	"log"
	"strings"
)

func record() {
	conf, err := logconf.Options{}.Parse("", strings.NewReader("log mandatory on 1 sec { kernel }"))
	c, dialErr := pmapi.Dial(context.Background(), address)
	if err := errors.Join(err, dialErr); err != nil {
		log.Fatal(err)
	}
	log.Fatal(logger.Run(context.Background(), c, logger.Options{Config: conf, Base: "load"}))
}
