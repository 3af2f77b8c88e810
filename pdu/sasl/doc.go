// Package sasl has the mechanisms by which clients log in to PCP's collectors: SCRAM-SHA-256 (RFC 5802, RFC 7677), PLAIN (RFC 4616)
// and LOGIN.
//
// A server knows its users by their verifiers, from which nobody can log in: see Users, and File for users in a file.
//
//	v, err := sasl.NewVerifier("secret")
//	fmt.Println("ann:" + v.String()) // a line of a File
//
// Programs that embed a collector set collector.Server.Users; those that are clients need nothing of this package, since the host
// specification of pmapi.Dial has the user and the password.
//
// The messages that Client and Server exchange are carried by others, in the order of the protocol of PCP: the client says which
// mechanism it has chosen of those that the server offers, with its initial response if there is one, and then answers each
// challenge. After the last challenge of SCRAM-SHA-256 there is an empty response.
//
// User names and passwords are compared byte by byte: they are not prepared as RFC 4013 asks, as in the Cyrus library.
//
// Clients and Servers are for one login each, and for one goroutine at a time; all else is safe for concurrent use.
//
// # The C names
//
//	saslpasswd2 -a pmcd            NewVerifier, File
//	/etc/sasl2/pmcd.conf           LoadConfig
//	sasl_client_start, _step       NewClient, Client.Next
//	sasl_server_start, _step       Mechanism.NewServer, Server.Next
package sasl
