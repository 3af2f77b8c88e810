package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/pcp-go/pcp/examples/internal/requestport"
)

// environment is what the environment says, beyond what options hold.
type environment struct {
	envPorts   string // PMCD_PORT
	local      bool   // PMCD_LOCAL
	maxPending string // PMCD_MAXPENDING
	pending    bool   // which is set
	badTimeout string // PMCD_CREDS_TIMEOUT, if it is no time
}

// fromEnv adds what the environment says.
func (o *options) fromEnv() error {
	if o.envPorts = os.Getenv("PMCD_PORT"); o.envPorts != "" {
		given := o.ports
		o.ports = nil // those of the environment are the first
		if err := o.addPorts(o.envPorts, "PMCD_PORT"); err != nil {
			return err
		}
		o.ports = append(o.ports, given...)
	}
	if n, _ := strconv.Atoi(os.Getenv("PMCD_LOCAL")); n != 0 {
		o.local = true
		o.interfaces = append(o.interfaces, "INADDR_LOOPBACK")
	}
	o.maxPending, o.pending = os.LookupEnv("PMCD_MAXPENDING")
	if t := os.Getenv("PMCD_CREDS_TIMEOUT"); t != "" && o.hello == 0 {
		if n, err := strconv.Atoi(t); err == nil && n > 0 {
			o.hello = time.Duration(n) * time.Second
		} else {
			o.badTimeout = t
		}
	}
	o.noRestart = os.Getenv("PMCD_RESTART_AGENTS") == "0"
	if o.socket == "" {
		o.socket = os.Getenv("PMCD_SOCKET")
	}
	if len(o.ports) == 0 {
		o.ports = []string{requestport.DefaultPort}
	}
	return nil
}

// backlog is how many connections wait to be accepted, 0 for as many as the system lets.
func (e *environment) backlog() int {
	n, _ := strconv.Atoi(e.maxPending)
	return max(n, 0)
}

// writeEnv writes the settings from the environment to the log, as pmcd does.
func (o *options) writeEnv(w io.Writer) {
	if o.envPorts != "" {
		fmt.Fprintf(w, "Warning: nports=%d from PMCD_PORT=%s in environment\n", len(o.ports), o.envPorts)
	}
	if o.local {
		fmt.Fprintf(w, "Warning: localhost only from PMCD_LOCAL=%s in environment\n", os.Getenv("PMCD_LOCAL"))
	}
	if o.pending {
		n, _ := strconv.Atoi(o.maxPending)
		fmt.Fprintf(w, "Warning: maxpending=%d from PMCD_MAXPENDING=%s in environment\n", n, o.maxPending)
	}
	if o.badTimeout != "" {
		fmt.Fprintf(w, "Warning: ignored bad value from PMCD_CREDS_TIMEOUT=%s in environment\n", o.badTimeout)
	}
}
