package sasl_test

import (
	"fmt"

	"github.com/pcp-go/pcp/pdu/sasl"
)

func ExampleNewVerifier() {
	v, err := sasl.NewVerifier("secret")
	if err != nil {
		fmt.Println(err)
		return
	}
	line := "ann:" + v.String() // of a File
	fmt.Println(line[:23], v.Check("secret"), v.Check("guess"))
	// Output: ann:SCRAM-SHA-256$4096: true false
}
