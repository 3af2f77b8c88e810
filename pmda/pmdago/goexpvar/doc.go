// Package goexpvar makes an agent export the variables that a program publishes with package
// expvar:
//
//	requests := expvar.NewInt("requests") // the program's variable
//	a := pmdago.New(pmdago.Options{})     // or any other pmda.Agent
//	goexpvar.Add(a, "go.expvar")
//	srv := &collector.Server{}
//	if err := srv.Add(a); err != nil {
//		return err
//	}
//
// Then, for example:
//
//	pmval -h localhost go.expvar.requests
//	pmrep -h localhost go.expvar.requests go.expvar.by_status
//	pminfo -h localhost -dfT go.expvar
//
// The package is separate from pmdago because the import of expvar installs the handler of
// /debug/vars in http.DefaultServeMux.
//
// # How variables are exported
//
//	*expvar.Int      a metric of 64 bits
//	*expvar.Float    a double; without a value while it is not a number
//	*expvar.String   a string
//	*expvar.Map      of Ints only, or of Ints and Floats: one metric with an
//	                 instance for each key. With any other entry: a level of
//	                 names, and each entry below is exported by its own type
//	expvar.Func and  by the JSON text: numbers are doubles, strings are strings,
//	other types      true and false are 1 and 0, objects are levels of names.
//	                 Arrays and null are left out
//
// In a component of a name, "_" replaces each character of the key except letters, digits and
// underscores, and an "x" precedes a key that does not begin with a letter: "requests/s" becomes
// requests_s, and "200" becomes x200. In the name of an instance, "_" replaces spaces and
// unprintable characters. If several keys become the same name, only the first is exported.
//
// All metrics are instantaneous, because expvar does not say which variables are
// counters. A client can compute rates with a derived metric.
//
// The variables memstats and cmdline, which expvar always publishes, are omitted: pmdago exports
// the first at a fraction of its cost, and the second if its Options say so.
//
// # Variables that come and go
//
// Names are looked up when a client requests them, so a variable has its metric as soon as it is
// published. The next fetch of one of these metrics notifies clients of changed names. If the type
// of a value changes, the name gets another PMID with the new type. The old PMID keeps its type,
// without values, and is used again if the type changes back.
//
// The metrics of a removed variable are removed. Their PMIDs are reused when no other is free. A
// removed entry of a Map keeps its metric, without values, until the PMID is needed: if the entry
// returns, it has the same PMID.
//
// # Calls of the program's code
//
// To get the text of a Func, or of a type that is not expvar's, the agent calls the program's code:
// once for each fetch of a metric of the variable. It makes one call at a time, each on its own
// goroutine. If a call takes too long, its metrics have the error pdu.ErrAgain until it has
// returned and another call was in time. If a call panics, or its text is not JSON, its metrics
// have the error pdu.ErrGeneric. Each such failure, and each omitted variable, is logged once.
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
// A metric that exceeds a limit is omitted; existing metrics stay. A metric that reuses a PMID may
// be missing from one fetch.
//
// The agent's clusters from 4000 on, and the serials of instance domains
// from 1048576 on, are reserved. Any number of clients may fetch at once; the
// variables are read for one request at a time.
package goexpvar
