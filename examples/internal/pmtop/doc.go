// Package pmtop is the view of one host that pmtop shows: processors, memory, disks, network
// interfaces, and metrics of the user's choice, live or as they were recorded.
package pmtop
