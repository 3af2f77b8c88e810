// Package mmvexpvar keeps the variables that a program publishes with package expvar in a registry of package mmv, from where
// PCP's tools see them:
//
//	registry := &mmv.Registry{Name: "shop"}
//	mmvexpvar.Add(registry, "vars", nil)
//	err := registry.Publish("")
//
// It is apart from package mmv, since a program that imports expvar has the handler of /debug/vars in
// http.DefaultServeMux thereby, whether or not it wants that. For an agent without a registry there is
// [github.com/pcp-go/pcp/pmda/pmdago/goexpvar], which makes the same metrics.
//
// # How variables are exported
//
//	*expvar.Int      a metric of 64 bits
//	*expvar.Float    a double
//	*expvar.String   a string of up to 255 bytes
//	*expvar.Map      of Ints alone, or of Ints and Floats: one metric with an
//	                 instance for each key. With any other entry in it: a level of
//	                 names, with what becomes of each entry below
//	expvar.Func and  what its text says, which is JSON: numbers are doubles, strings
//	other types      strings, true and false 1 and 0, objects levels of names.
//	                 Arrays and null are left out
//
// A component of a name is the key, with "_" for all but letters, digits and underscores, and an "x" before it if it does not
// begin with a letter: "requests/s" becomes requests_s, and "200" x200. In an instance "_" stands for spaces and what
// cannot be printed. Of keys that become the same all but the first are left out. All metrics are instantaneous: expvar does not
// say which variables are counters. The variables memstats and cmdline, which expvar publishes by itself, are left out:
// Registry.AddRuntime has the first at a fraction of its cost, and the second is for the owner of the program to show.
//
// # When variables are read
//
// All are read when the registry is: see mmv.Registry.OnRead. New ones, and new keys, are registered then. A key that is gone
// from a Map of numbers is no instance any more; any other number that is gone becomes NaN, or 0 if it was an Int, and
// a string becomes empty. A metric keeps the type of its first value: numbers are converted to it, what is no number is left out.
//
// The text of a Func, or of a type that is not expvar's own, takes a call of the program's code, on a goroutine of its own. A
// call that takes longer than 250 ms is waited for no longer, and is not made again until it has returned; one that panics, or
// whose text is not JSON, is left out. What they gave before stays.
//
// # Limits
//
// There are limits, so that a Map without end does not take all memory: 8 levels of names below a variable, 200 bytes of a
// name, 4,096 keys of a Map, 4,096 metrics, 1 MiB of text of a variable. What exceeds one is left out. What is left out is
// logged, once.
package mmvexpvar
