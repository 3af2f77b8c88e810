// Package pdutest has a scripted peer for tests of clients, agents and
// collectors: it is the other side of a PCP connection.
//
// [Serve] runs a script at the far end of a connection in memory and returns the
// near end:
//
//	conn := pdutest.Serve(t,
//		pdutest.AcceptClient(pdu.FeatureHighRes),
//		pdutest.Expect(pdu.DescReq{PMID: id}),
//		pdutest.Send(pdu.Status{Code: pdu.ErrPMID}),
//	)
//	… // give conn to the code under test
//
// The test fails, with a difference, if what arrives is not what the script
// expects, if something arrives after its last step, and if the near end is
// closed or the test ends before it. A script that has failed hangs up, so that
// the code under test does not wait for ever.
//
// A [Step] is a function, so that a test can write its own; [Handle] replies to
// requests in any order.
package pdutest
