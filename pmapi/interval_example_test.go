package pmapi_test

import (
	"fmt"

	"github.com/pcp-go/pcp/pmapi"
)

func ExampleParseInterval() {
	d, err := pmapi.ParseInterval("1 hour 30 min")
	fmt.Println(d, err)

	_, err = pmapi.ParseInterval("10 furlongs")
	fmt.Println(err)
	// Output:
	// 1h30m0s <nil>
	// 10 furlongs
	//    ^ -- unexpected value
}
