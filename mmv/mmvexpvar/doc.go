// Package mmvexpvar exports the variables of package expvar through a registry of package mmv, so
// that PCP's tools show them.
//
//	requests := expvar.NewMap("requests")
//	requests.Add("GET", 1)
//
//	shop := &mmv.Registry{Name: "shop"}
//	mmvexpvar.Add(shop, "vars", nil)
//	if err := shop.Publish(""); err != nil {
//		log.Print(err) // the program goes on
//	}
//	// pminfo -f mmv.shop.vars.requests
//
// The call of [Add] is all that a program needs: variables that are published later, and new keys
// of a Map, are added when they appear. Package [github.com/pcp-go/pcp/mmv] explains where the
// values go.
//
// This package is separate from mmv because a program that imports expvar gets the handler of
// /debug/vars in http.DefaultServeMux. [github.com/pcp-go/pcp/pmda/pmdago/goexpvar] adds the same
// metrics to an agent without a registry.
//
// # Types
//
//	*expvar.Int      a metric of 64 bits
//	*expvar.Float    a double
//	*expvar.String   a string of up to 254 bytes
//	*expvar.Map      of Ints only, or of Ints and Floats: one metric with an
//	                 instance for each key. With other entries: a level of names,
//	                 with a metric for each entry
//	expvar.Func and  the JSON text of the variable: numbers are doubles, strings
//	other types      are strings, true and false are 1 and 0, objects are levels of
//	                 names. Arrays and null are ignored
//
// All metrics are instantaneous values, because expvar does not say which variables are counters.
// A metric keeps the type of its first value. Later numbers are converted to it; other values are
// ignored.
//
// The variables memstats and cmdline of package expvar are not exported. Registry.AddRuntime
// exports the contents of memstats at a fraction of the cost. The command line may be secret.
//
// # Names
//
// A component of a metric's name is the key of the variable. Characters other than letters, digits
// and underscores become "_". An "x" is put before a key that does not begin with a letter:
// "requests/s" becomes requests_s, and "200" becomes x200. In names of instances, "_" replaces
// spaces and characters that cannot be printed. If several keys become the same name, only the
// first is exported.
//
// # When variables are read
//
// Variables are read when the registry is: see mmv.Registry.OnRead. If a key disappears from a Map
// of numbers, its instance is removed. Another number that disappears becomes NaN, or 0 if it was
// an Int, and a string becomes empty.
//
// The text of a Func, and of a type from outside expvar, comes from code of the program. It is
// called on a separate goroutine. A call that takes longer than 250 ms is abandoned and not
// repeated until it has returned. If a call panics or its text is not JSON, the variable is
// ignored. In all these cases the earlier values stay.
//
// # Limits
//
// The limits are 8 levels of names below a variable, 200 bytes of a name, 4,096 keys of a Map,
// 4,096 metrics, and 1 MiB of text of a variable. What exceeds a limit is ignored and logged once.
package mmvexpvar
