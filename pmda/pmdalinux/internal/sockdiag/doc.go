// Package sockdiag counts the sockets of this machine by their state. It asks the kernel through
// netlink, as ss(8) does: see sock_diag(7). That takes a fifth of the time of files like
// /proc/net/tcp, because the kernel need not format a line for each socket.
//
// A [Counter] or [UnixCounter] counts the sockets of the network namespace that the program was in
// at first use. It needs no privilege. On kernels and in sandboxes without this netlink protocol
// the error says so.
package sockdiag
