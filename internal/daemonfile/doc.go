// Package daemonfile creates the files of daemons (logs, process identifiers, sockets) in
// directories to which others may write, as PCP gives /run/pcp and /var/log/pcp to its user. A
// daemon that root starts there must not follow or change what somebody has put in the place of its
// file, however fast that is exchanged. So a file is always a new one, its mode is set through its
// descriptor, and a name is removed or renamed only within the directory that was opened.
package daemonfile
