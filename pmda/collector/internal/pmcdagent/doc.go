// Package pmcdagent is the agent that a collector has for itself: domain 2, the
// metrics pmcd.*. Their names, numbers, types and semantics are those of PCP
// 6.0.3.
//
// New makes an ordinary pmda.Agent. What it shows and controls it knows through
// the interface Collector, which package collector implements.
package pmcdagent
