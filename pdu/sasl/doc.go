// Package sasl has the mechanisms that clients use to log in to PCP's collectors: SCRAM-SHA-256
// (RFC 5802, RFC 7677), PLAIN (RFC 4616) and LOGIN.
//
//	v, err := sasl.NewVerifier("secret")
//	if err != nil {
//		return err
//	}
//	fmt.Println("ann:" + v.String()) // a line of /etc/collector.users
//
//	srv := &collector.Server{Users: sasl.File{Path: "/etc/collector.users"}}
//
// # Users
//
// A server knows its users by their verifiers: see [Users]. A verifier is not enough to log in, and
// reveals the password only to an attacker who guesses it.
//
// [File] reads users from a file with lines as above, or from the database that
// "saslpasswd2 -a pmcd -f /etc/pcp/passwd.db ann" writes. [Map] keeps them in memory. The program
// examples/pmcd also reads /etc/sasl2/pmcd.conf, the configuration of PCP's pmcd. GSSAPI and
// saslauthd are not supported.
//
// # Clients
//
// A client program does not need this package. The host specification of pmapi.Dial has the user
// and the password, encoded as in URLs, as in "web1?user=ann&pass=secret".
//
// # Mechanisms
//
// With SCRAM-SHA-256 the password does not cross the network, and each side verifies that the other
// knows it. With PLAIN and LOGIN the password is in the messages. Collectors accept these two only
// over TLS, on unix sockets and from the same process.
//
// User names and passwords are compared byte by byte, as in the Cyrus library: they are not
// prepared as RFC 4013 asks.
//
// # Messages
//
// [Client] and [Server] are the two sides of a login. The protocol of PCP carries their messages.
// The client chooses one of the mechanisms that the server offers and sends its name, with the
// initial response if the mechanism has one. Then it answers each challenge. After the last
// challenge of SCRAM-SHA-256 there is an empty response.
//
// # Concurrency
//
// A Client or Server is for one login, and for one goroutine at a time. Everything else is safe for
// concurrent use.
//
// # The C names
//
//	saslpasswd2 -a pmcd            NewVerifier, File
//	sasl_client_start, _step       Mechanism.NewClient, Client.Next
//	sasl_server_start, _step       Mechanism.NewServer, Server.Next
package sasl
