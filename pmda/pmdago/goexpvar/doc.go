// Package goexpvar lets an agent export the variables that a program publishes
// with the package expvar:
//
//	a := pmdago.New(pmdago.Options{})
//	goexpvar.Add(a, "go.expvar")
//
// It goes with any pmda.Agent. It is apart from package pmdago, since a program
// that imports expvar has the handler of /debug/vars in http.DefaultServeMux
// thereby, whether or not it wants that.
//
// # How variables are exported
//
//	*expvar.Int      a metric of 64 bits
//	*expvar.Float    a double; none while it is not a number
//	*expvar.String   a string
//	*expvar.Map      of Ints alone, or of Ints and Floats: one metric with an
//	                 instance for each key. With any other entry in it: a level of
//	                 names, with what becomes of each entry below
//	expvar.Func and  what its text says, which is JSON: numbers are doubles, strings
//	other types      strings, true and false 1 and 0, objects levels of names.
//	                 Arrays and null are left out
//
// A component of a name is the key, with "_" for all but letters, digits and
// underscores, and an "x" before it if it does not begin with a letter:
// "requests/s" becomes requests_s, and "200" x200. In an instance "_" stands for
// spaces and what cannot be printed. Of keys that become the same all but the first
// are left out.
//
// All are instantaneous: expvar does not say which variables are counters. A client
// that knows takes rates, for instance with a derived metric:
//
//	pmval -h localhost go.expvar.requests
//	pmrep -h localhost go.expvar.requests go.expvar.by_status
//	pminfo -h localhost -dfT go.expvar
//
// The variables memstats and cmdline, which expvar publishes by itself, are left
// out: pmdago has the first at a fraction of its cost, and the second is for the
// owner of the program to show.
//
// # Variables that come and go
//
// The names are found when a client requests them, so that a variable has its
// metric as soon as it is published. Clients are told of a change of names with the
// next fetch that has one of these metrics in it. When the type of a value changes,
// the name gets another PMID, which has the new type; the old one stays what it was,
// without values, and is used again if the type changes back.
//
// A variable that is gone is forgotten, with its metrics. What is gone from a
// variable that is still there, such as an entry of a Map, is kept without values, so
// that it has the same PMID when it comes back, until its slot is reused. The
// number of a metric that is forgotten goes to another one when none is left that was
// never used.
//
// # Calls of the program's code
//
// The text of a Func, or of a type that is not expvar's own, takes a call of the
// program's code: one for each fetch of a metric of the variable.
// Calls are made one at a time, each on a goroutine of its own. One that
// takes too long is waited for no longer: its metrics have the error pdu.ErrAgain
// until it has returned and another one has been in time. One that panics, or whose
// text is not JSON, leaves its metrics the error pdu.ErrGeneric. That is logged, as
// is what is left out, once.
//
// # Limits
//
//	250 ms    a call of the program's code
//	16        calls that have not returned; then no others are made
//	1 MiB     the text of a variable
//	8         levels of names below a variable
//	200 B     a metric's name, or an instance's
//	4096 B    a string
//	4096      keys that a Map ever has
//	1024      metrics of a variable
//	4096      metrics of all variables
//
// What exceeds a limit is left out; what is there already stays. Metrics that take the
// place of others that are gone may be missing from one fetch.
//
// The agent's clusters from FirstCluster on, and the serials of instance domains
// from FirstSerial on, are reserved. Any number of clients may fetch at once; the
// variables are read for one request at a time.
package goexpvar
