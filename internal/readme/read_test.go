package readme

import (
	"context"
	"github.com/pcp-go/pcp/pmapi"
	"log"
	"time"
)

func read() {
	c, err := pmapi.Dial(context.Background(), address)
	if err != nil {
		log.Fatal(err)
	}
	g := c.Group()
	load := pmapi.Add[float32](g, "kernel.all.load", pmapi.Instance("1 minute"))
	for at := range g.Every(context.Background(), time.Second) {
		log.New(log.Writer(), at.Format(time.DateTime+" "), 0).Println(load.Value())
	}
}
