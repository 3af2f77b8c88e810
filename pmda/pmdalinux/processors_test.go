package pmdalinux_test

// liveProcessors are metrics of what there is per processor, and of the machine that come from system calls, not from a tree,
// with the reason.
var liveProcessors = map[string]string{}
