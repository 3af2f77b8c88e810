package pmdalinux_test

// liveInterrupts are metrics of interrupts, soft interrupts, pressure, users that come from system calls, not from a tree,
// with the reason.
var liveInterrupts = map[string]string{}
