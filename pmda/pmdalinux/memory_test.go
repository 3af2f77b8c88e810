package pmdalinux_test

// liveMemory are metrics of memory and swap that come from system calls, not from a tree,
// with the reason.
var liveMemory = map[string]string{}
