// Package pty runs programs on pseudo-terminals, for tests. There is nothing in it but for Linux.
package pty
