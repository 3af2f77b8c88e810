package pmdalinux_test

// liveDisks are metrics of disks and partitions that come from system calls, not from a tree,
// with the reason.
var liveDisks = map[string]string{}
