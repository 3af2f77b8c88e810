package pdu_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pdu/pdutest"
)

// exampleTB stands for the *testing.T that a test has.
type exampleTB struct {
	testing.TB
	cleanup func()
}

func (*exampleTB) Helper()                   {}
func (*exampleTB) Failed() bool              { return false }
func (t *exampleTB) Cleanup(f func())        { t.cleanup = f }
func (*exampleTB) Errorf(s string, a ...any) { fmt.Printf(s+"\n", a...) }

// firstFetch is the fragment of the package comment.
func firstFetch(stream io.ReadWriter, desc pdu.Desc, pid int32) error {
	c := pdu.NewConn(stream)
	if _, err := pdu.ClientHello(c, pid, 0); err != nil {
		return err
	}
	// The profile is needed before the first fetch, and it has no reply.
	if err := errors.Join(
		c.Queue(0, pdu.SetProfile{}),
		c.Write(0, pdu.Fetch{PMIDs: []pdu.PMID{desc.PMID}}),
	); err != nil {
		return err
	}
	h, body, err := c.Read()
	if err != nil {
		return err
	}
	if h.Kind != pdu.KindResult { // an ERROR may come first: see Status.Change
		return h.Unexpected(pdu.KindResult)
	}
	var r pdu.Result
	if err := r.Decode(body); err != nil {
		return err
	}
	for inst, value := range r.At(0).All(desc.Type) {
		fmt.Println(inst, value)
	}
	return nil
}

// A client fetches one metric of a collector.
func Example() {
	t := new(exampleTB)
	load := pdu.Desc{PMID: pdu.MakePMID(60, 2, 0), Type: pdu.TypeFloat, InDom: pdu.MakeInDom(60, 2), Sem: pdu.SemInstant}
	var w pdu.ResultWriter
	w.Begin(load.PMID)
	w.Float32(1, 1.5)
	w.Float32(5, 1.25)

	stream := pdutest.Serve(t,
		pdutest.AcceptClient(0),
		pdutest.Expect(pdu.SetProfile{}),
		pdutest.Expect(pdu.Fetch{PMIDs: []pdu.PMID{load.PMID}}),
		pdutest.Send(w.PDU(pdu.FormatLowRes)),
	)
	defer func() { t.cleanup() }()
	if err := firstFetch(stream, load, 4711); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 1 1.500000e+00
	// 5 1.250000e+00
}

// An agent replies to a fetch of two metrics and does not know the second.
func ExampleResultWriter() {
	var w pdu.ResultWriter
	w.Begin(pdu.MakePMID(251, 0, 0))
	w.Uint64(0, 17)
	w.Uint64(1, 4)
	w.Begin(pdu.MakePMID(251, 0, 99))
	w.Fail(pdu.ErrPMID)

	r, err := w.Result()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, set := range r.All() {
		fmt.Println(set.PMID, set.Len(), set.Err())
		for inst, value := range set.All(pdu.TypeU64) {
			fmt.Println(" ", inst, value)
		}
	}
	// Output:
	// 251.0.0 2 <nil>
	//   0 17
	//   1 4
	// 251.0.99 0 Unknown or illegal metric identifier
}

// A collector combines the values of its agents, in the order of its client's
// request.
func ExampleResultWriter_CopySets() {
	var kernel, cache, reply pdu.ResultWriter
	kernel.Begin(pdu.MakePMID(60, 2, 0))
	kernel.Float32(1, 1.5)
	cache.Begin(pdu.MakePMID(251, 0, 0))
	cache.Uint64(pdu.NoInst, 17)

	reply.CopySets(&cache, 0, 1)
	reply.CopySets(&kernel, 0, 1)
	reply.Time = time.Unix(1_700_000_000, 0)
	b, err := reply.Append(make([]byte, pdu.HeaderLen), pdu.FormatHighRes)
	fmt.Println(reply.Len(), len(b), err)
	// Output: 2 92 <nil>
}

// A profile that selects all instances but two.
func ExampleProfile() {
	load := pdu.MakeInDom(60, 2)
	var p pdu.Profile
	if err := errors.Join(p.Add(load), p.Delete(load, 1, 5)); err != nil {
		fmt.Println(err)
	}
	fmt.Println(p.Includes(load, 1), p.Includes(load, 15))
	// Output: false true
}

// TLS, or anything else, may start in the middle of a stream.
func ExampleConn_Upgrade() {
	plain := new(bytes.Buffer)
	c := pdu.NewConn(plain)
	c.Upgrade(func(rw io.ReadWriter) io.ReadWriter { return xor{rw} }) // or tls.Client
	if err := c.Write(0, pdu.Status{}); err != nil {
		fmt.Println(err)
	}
	fmt.Printf("%x\n", plain.Bytes())
	// Output: 55555545555525555555555555555555
}
