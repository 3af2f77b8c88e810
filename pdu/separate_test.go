package pdu

import (
	"bytes"
	"fmt"
	"testing"
)

// lengths are the lengths of writes.
type lengths struct {
	bytes.Buffer
	n []int
}

func (l *lengths) Write(p []byte) (int, error) {
	l.n = append(l.n, len(p))
	return l.Buffer.Write(p)
}

// TestSeparate: with Separate each PDU is one write, otherwise all queued PDUs are one write.
func TestSeparate(t *testing.T) {
	for separate, want := range map[bool]string{false: "[60 16]", true: "[16 28 16 16]"} {
		var out lengths
		c := NewConn(&out)
		c.Separate = separate
		for _, p := range []PDU{DescReq{PMID: 1}, SetProfile{}, DescReq{PMID: 2}} {
			if err := c.Queue(1, p); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := c.Write(1, DescReq{PMID: 3}); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(out.n); got != want {
			t.Errorf("%v: writes of %s bytes, want %s", separate, got, want)
		}
		in := NewConn(&out.Buffer)
		for i := range 4 {
			h, _, err := in.Read()
			if err != nil || (h.Kind == KindProfile) != (i == 1) {
				t.Errorf("%v: PDU %d: %v, %v", separate, i, h, err)
			}
		}
	}
}
