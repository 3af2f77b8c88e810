package pmdalinux_test

// liveProcessors are metrics of what there is per processor, and of the machine that come from system calls, not from a tree,
// with the reason.
var liveProcessors = map[string]string{
	"hinv.machine":          "the C agent asks uname(2)",
	"kernel.uname.machine":  "the C agent asks uname(2)",
	"kernel.uname.nodename": "the C agent asks uname(2)",
	"kernel.uname.release":  "the C agent asks uname(2)",
	"kernel.uname.sysname":  "the C agent asks uname(2)",
	"kernel.uname.version":  "the C agent asks uname(2)",
}
