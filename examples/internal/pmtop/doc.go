// Package pmtop is the view of one host in pmtop: processors, memory, disks, network interfaces,
// and metrics of the user's choice, live or from an archive.
package pmtop
