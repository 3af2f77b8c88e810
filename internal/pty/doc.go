// Package pty runs programs on pseudo-terminals, for tests. It is empty on systems other than
// Linux.
package pty
