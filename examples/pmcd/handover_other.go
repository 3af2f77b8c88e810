//go:build !unix

package main

import (
	"context"
	"net"
	"os"

	"github.com/pcp-go/pcp/pmda/collector"
)

// There is no signal here that could ask for another process in the place of this one.
func notifyHandover(chan<- os.Signal) {}

type (
	successor   struct{}
	predecessor struct{}
)

func (*daemon) handOver(context.Context, []net.Listener, *collector.Server) bool { return false }

func findPredecessor() *predecessor { return nil }

func (*predecessor) inherit([]net.Listener) {}

func (*predecessor) relieve(context.Context, *collector.Server) {}
