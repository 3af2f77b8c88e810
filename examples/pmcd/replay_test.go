package main

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/examples/internal/simple"
	"github.com/pcp-go/pcp/examples/internal/trivial"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
)

// TestReplay sends the requests that PCP's tools sent to C pmcd about the C agents simple and
// trivial. The replies about the Go agents have the same bytes, except for parts that change with
// time and machine, and for help texts, which differ.
func TestReplay(t *testing.T) {
	for _, test := range []struct {
		capture  string
		agent    func() pmda.Handler
		volatile []pdu.PMID // metrics with other values each time
	}{
		{"pminfo-simple.txt", func() pmda.Handler { return simple.New("") },
			[]pdu.PMID{pdu.MakePMID(253, 1, 2), pdu.MakePMID(253, 1, 3), pdu.MakePMID(253, 2, 4)}},
		{"pminfo-trivial.txt", func() pmda.Handler { return trivial.New() }, []pdu.PMID{pdu.MakePMID(250, 0, 0)}},
	} {
		t.Run(test.capture, func(t *testing.T) {
			pdus, err := pcptest.ReadCapture(filepath.Join("../../pdu/testdata/captures", test.capture))
			if err != nil {
				t.Fatal(err)
			}
			s := &collector.Server{}
			if err := s.Add(test.agent()); err != nil {
				t.Fatal(err)
			}
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan error)
			go func() { served <- s.Serve(context.Background(), ln) }()
			defer func() { s.Close(); <-served }()
			conn, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(time.Minute))
			same := 0
			for i, p := range pdus {
				if p.Section != pdus[0].Section {
					t.Fatalf("PDU %d is of another connection", i)
				}
				if p.Dir == pcptest.ToServer {
					if _, err := conn.Write(p.Bytes); err != nil {
						t.Fatal(err)
					}
					continue
				}
				got := readPDU(t, conn)
				if string(got) == string(p.Bytes) {
					same++
				}
				if diff := cmp.Diff(masked(t, p.Bytes, test.volatile), masked(t, got, test.volatile)); diff != "" {
					t.Errorf("answer %d to %x (-C +ours):\n%s", i, pdus[i-1].Bytes, diff)
				}
			}
			t.Logf("%d PDUs, %d answers without a mask", len(pdus), same)
			if same < len(pdus)/4 {
				t.Error("most answers differ by more than their masks allow for")
			}
		})
	}
}

// readPDU reads the bytes of one PDU.
func readPDU(t *testing.T, r io.Reader) []byte {
	t.Helper()
	head := make([]byte, 4)
	if _, err := io.ReadFull(r, head); err != nil {
		t.Fatal(err)
	}
	b := append(head, make([]byte, binary.BigEndian.Uint32(head)-4)...)
	if _, err := io.ReadFull(r, b[4:]); err != nil {
		t.Fatal(err)
	}
	return b
}

// masked is a PDU without what is not the same everywhere.
func masked(t *testing.T, b []byte, volatile []pdu.PMID) string {
	t.Helper()
	p, err := pdu.Decode(pdu.Kind(binary.BigEndian.Uint32(b[4:])), b[pdu.HeaderLen:])
	if err != nil {
		t.Fatal(err)
	}
	switch p := p.(type) {
	case *pdu.Challenge:
		return fmt.Sprintf("challenge, code %d, version %d", p.Code, p.Version)
	case *pdu.TextReply:
		return fmt.Sprintf("text, empty: %t", p.Text == "") // C agents swap the bytes of what it is of
	case *pdu.LabelReply:
		if p.Class == pdu.LabelContext {
			return fmt.Sprintf("%d context labels", len(p.Sets[0].Labels))
		}
	case *pdu.Result:
		text := p.Kind().String()
		for _, set := range p.All() {
			text += fmt.Sprintf("\n%v, %v:", set.PMID, set.Err())
			for inst, v := range set.All(pdu.TypeU32) {
				if slices.Contains(volatile, set.PMID) {
					text += fmt.Sprintf(" %d %v", inst, v.Type)
				} else {
					text += fmt.Sprintf(" %d %v %v", inst, v.Type, v)
				}
			}
		}
		return text
	}
	return hex.EncodeToString(b)
}
