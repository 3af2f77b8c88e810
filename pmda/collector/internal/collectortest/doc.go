// Package collectortest holds what the tests of package collector share, whether
// they look at the inside of a collector or not: a client, agents whose replies are
// known, and a log that can be looked at.
package collectortest
