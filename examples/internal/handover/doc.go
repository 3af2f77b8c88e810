// Package handover starts the running program again: as a daemon that leaves the terminal, and as a
// successor that takes the place of a process that serves clients.
//
// A successor is the program at the path, and with the arguments, that this process was called
// with. It gets the listening sockets as a service manager would pass them. When it has started and
// says so, its predecessor lets it have them and ends. Clients are disconnected between two
// requests and connect again. If the successor does not start, its predecessor serves on.
//
// The successor writes to the log of its predecessor. It learns when the predecessor has ended, so
// that it can restart what could not run twice, such as an agent that listens on a port. A
// supervisor of the predecessor must follow the pid file or MAINPID (NotifyAccess=all of systemd)
// to the successor.
//
// A process that has given up root's privileges has pmdaroot start the successor with them. Since
// pmdaroot passes no descriptors, it starts a starter: this program again, which gets the
// descriptors over a socket and starts the successor with them.
package handover
