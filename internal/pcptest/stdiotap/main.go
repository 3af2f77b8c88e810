// Command stdiotap forwards the PDUs between a collector and a pipe agent and records them.
//
//	stdiotap CAPTURE COMMAND [ARG...]
//
// It runs COMMAND as the agent, forwards standard input and output, and writes every PDU to the
// file CAPTURE (format: package pcptest) when both sides have ended. In a pmcd.conf it takes the
// place of the agent's command:
//
//	simple 253 pipe binary /tmp/stdiotap /tmp/simple.pdus /tmp/simple/pmdasimple -d 253
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"

	"github.com/pcp-go/pcp/internal/pcptest"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: stdiotap CAPTURE COMMAND [ARG...]")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "stdiotap:", err)
		os.Exit(1)
	}
}

func run(capture string, argv []string) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	var mu sync.Mutex
	var pdus []pcptest.PDU
	keep := func(d pcptest.Dir) func([]byte) {
		return func(p []byte) {
			mu.Lock()
			defer mu.Unlock()
			pdus = append(pdus, pcptest.PDU{Dir: d, Bytes: p})
		}
	}
	requests := make(chan error, 1)
	go func() {
		err := pcptest.Tap(in, os.Stdin, keep(pcptest.ToServer))
		in.Close()
		requests <- err
	}()
	// An agent that ends first leaves the copy of the requests blocked on a collector that sends
	// nothing more: closing standard output tells it, and that it closes its side ends the copy.
	replies := pcptest.Tap(os.Stdout, out, keep(pcptest.ToClient))
	os.Stdout.Close()
	err = errors.Join(replies, cmd.Wait(), <-requests)

	f, ferr := os.Create(capture)
	if ferr != nil {
		return errors.Join(err, ferr)
	}
	return errors.Join(err, pcptest.WriteCapture(f, pdus), f.Close())
}
