// Package pmcdagent is the agent of domain 2, with the metrics pmcd.* about the collector itself.
// Their names, numbers, types and semantics are those of PCP 6.0.3.
//
// New returns an ordinary pmda.Agent. It shows and controls the collector through the interface
// Collector, which package collector implements.
package pmcdagent
