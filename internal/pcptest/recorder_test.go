package pcptest

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func testPDU(body string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(headerLen+len(body)))
	b = append(b, 0, 0, 0x70, 0, 0, 0, 0, 0)
	return append(b, body...)
}

func TestTap(t *testing.T) {
	a, b := testPDU("abcd"), testPDU("")
	for _, tc := range []struct {
		name string
		in   []byte
		seen [][]byte
		err  string
	}{
		{"none", nil, nil, ""},
		{"two", append(bytes.Clone(a), b...), [][]byte{a, b}, ""},
		{"half a header", append(bytes.Clone(a), b[:5]...), [][]byte{a}, ""},
		{"half a body", append(bytes.Clone(b), a[:14]...), [][]byte{b}, ""},
		{"impossible length", append(bytes.Clone(b), "\x00\x00\x00\x03rest of the stream"...), [][]byte{b}, "invalid PDU length 3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out bytes.Buffer
			var seen [][]byte
			err := Tap(&out, bytes.NewReader(tc.in), func(p []byte) { seen = append(seen, p) })
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("error %v, want %q", err, tc.err)
			}
			if diff := cmp.Diff(tc.seen, seen); diff != "" {
				t.Errorf("seen (-want +got):\n%s", diff)
			}
			if !bytes.Equal(out.Bytes(), tc.in) {
				t.Errorf("passed on %x, want %x", out.Bytes(), tc.in)
			}
		})
	}
}

func TestRecord(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		t.Run(network, func(t *testing.T) {
			if network == "unix" && runtime.GOOS == "windows" {
				t.Skip("paths of unix sockets")
			}
			addr := "localhost:0"
			if network == "unix" {
				addr = filepath.Join(ShortDir(t), "s")
			}
			ln, err := net.Listen(network, addr)
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			go func() { // answers one PDU of each connection, then closes
				for {
					c, err := ln.Accept()
					if err != nil {
						return
					}
					io.ReadFull(c, make([]byte, headerLen+3))
					c.Write(testPDU("reply"))
					c.Close()
				}
			}()
			r := Record(t, network, ln.Addr().String())
			var want []PDU
			for _, section := range []string{"connection 1", "connection 2"} {
				c, err := net.Dial(network, r.Addr())
				if err != nil {
					t.Fatal(err)
				}
				c.Write(testPDU("ask"))
				if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, testPDU("reply")) {
					t.Errorf("reply %x, %v", got, err)
				}
				c.Close()
				want = append(want, PDU{Section: section, Dir: ToServer, Bytes: testPDU("ask")},
					PDU{Section: section, Dir: ToClient, Bytes: testPDU("reply")})
			}
			got, err := r.PDUs()
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("err %v (-want +got):\n%s", err, diff)
			}
		})
	}
}
