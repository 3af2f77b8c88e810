package pmdalinux_test

// liveFilesystems are metrics of file systems that come from system calls, not from a tree,
// with the reason.
var liveFilesystems = map[string]string{}
