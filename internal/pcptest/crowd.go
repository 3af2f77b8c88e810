package pcptest

import (
	"flag"
	"runtime"
	"strconv"
)

// crowd is how many parallel tests there are for each processor.
const crowd = 4

// Crowd has more tests of testing.T.Parallel run at the same time than there are processors, for
// the TestMain of a package whose tests wait for processes. The flag -parallel overrides it.
func Crowd() {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(crowd*runtime.GOMAXPROCS(0)))
	}
}
