// Package sockdiag counts the sockets of this machine by their state. It asks the kernel
// through netlink, as ss(8) does: see sock_diag(7). That takes a fifth of the time of
// files like /proc/net/tcp, of which the kernel has to write each line.
//
// A [Counter] or [UnixCounter] counts the sockets of the network namespace that the program
// was in when it was first used. It needs no privilege. Where there is no such netlink, as
// some kernels and sandboxes have none, its error says so.
package sockdiag
