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

// The two sides of a login. A protocol carries the messages between them.
func Example() {
	verifier, err := sasl.NewVerifier("secret")
	if err != nil {
		fmt.Println(err)
		return
	}
	m, _ := sasl.Find("SCRAM-SHA-256")
	server := m.NewServer(sasl.Map{"ann": verifier})
	client := m.NewClient(sasl.Credentials{User: "ann", Password: "secret"})

	var challenge []byte
	for done := false; !done; {
		response, err := client.Next(challenge)
		if err != nil {
			fmt.Println(err)
			return
		}
		if challenge, done, err = server.Next(response); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(server.User(), "has logged in; the server is genuine:", client.Done())
	// Output: ann has logged in; the server is genuine: true
}
