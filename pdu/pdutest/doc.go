// Package pdutest plays the other side of a PCP connection in tests of clients, agents and
// collectors.
//
// [Serve] runs a script at the far end of a connection in memory and returns the near end:
//
//	func TestDesc(t *testing.T) {
//		id := pdu.MakePMID(60, 2, 0)
//		conn := pdutest.Serve(t,
//			pdutest.AcceptClient(0),
//			pdutest.Expect(pdu.DescReq{PMID: id}),
//			pdutest.Send(pdu.Status{Code: pdu.ErrPMID}),
//		)
//		_, err := describe(conn, id) // the code under test
//		if !errors.Is(err, pdu.ErrPMID) {
//			t.Errorf("got %v", err)
//		}
//	}
//
// # When a test fails
//
// The test fails in these cases:
//
//   - A PDU differs from the one that the script expects. The message has the difference.
//   - A PDU arrives after the last step of the script.
//   - The near end is closed, or the test ends, before the last step.
//
// A script that fails closes the connection, so that the code under test does not wait forever.
//
// # Steps
//
// [AcceptClient] and [AgentHello] do the handshake. [Expect], [ExpectFrom] and [ExpectKind] wait
// for a PDU. [Send], [SendFrom] and [SendBytes] send. [Hangup] ends the connection. [Handle]
// replies to requests in any order.
//
// A [Step] is a function, so a test can add its own. [Raw] makes PDUs that are malformed or of an
// unknown kind.
package pdutest
