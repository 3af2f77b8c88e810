package pmdalinux_test

// liveInterfaces are metrics of network interfaces that come from system calls, not from a tree,
// with the reason.
var liveInterfaces = map[string]string{}
