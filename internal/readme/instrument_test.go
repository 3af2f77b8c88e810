package readme

import (
	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pdu"
	"log"
	"net/http"
)

func instrument() {
	shop := &mmv.Registry{Name: "shop"}
	orders := shop.Counter("orders", mmv.Metric{Text: "Orders accepted", Units: pdu.UnitCount})
	if err := shop.Publish(""); err != nil {
		log.Print(err) // The program still runs and counts in memory.
	}
	http.HandleFunc("/order", func(http.ResponseWriter, *http.Request) { orders.Inc() })
	log.Fatal(http.ListenAndServe(address, nil))
}
