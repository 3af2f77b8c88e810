// Package daemonfile creates the files of daemons (logs, process identifiers, sockets) in
// directories where other users may write, because PCP gives /run/pcp and /var/log/pcp to its user.
// A daemon that root starts there must not follow or change what another user has put in the place
// of its file, however fast that user exchanges it. So the package always creates a new file, sets
// its mode through its descriptor, and removes or renames a name only within the directory that it
// opened.
package daemonfile
