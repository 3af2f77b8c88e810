// Trivial is an agent with one metric, the counterpart of PCP's pmdatrivial.
//
//	go build ./examples/trivial
//	sudo ./trivial --install /var/lib/pcp/pmdas/trivial && cd /var/lib/pcp/pmdas/trivial && sudo ./Install
package main

import (
	"github.com/pcp-go/pcp/examples/internal/trivial"
	"github.com/pcp-go/pcp/pmda"
)

func main() {
	d := pmda.Daemon{Agent: trivial.New(), Log: "trivial.log", PipeOnly: true}
	d.Main()
}
