// Package requestport opens the ports and the unix socket of pmcd, and reports them in the words
// of pmcd's log.
package requestport
