//go:build unix

package main

import (
	"fmt"
	"net"
	"testing"

	"github.com/pcp-go/pcp/internal/tracewire"
)

// BenchmarkInterop sends values to PCP's agent and to ours: one at a time with an acknowledgement
// for each, and many at once with one for the last. Many values are 1024 bytes, so that a PDU ends
// at the end of a read. PCP's agent breaks the connection if it reads less than a header.
func BenchmarkInterop(b *testing.B) {
	one := value(b, tracewire.KindTransaction, true)
	var many []byte
	for len(many)+len(one) < 1024 {
		many = append(many, value(b, tracewire.KindTransaction, false)...)
	}
	many = append(many, one...)
	for _, s := range sides(b) {
		for _, p := range []struct {
			name string
			pdus []byte
		}{{"1", one}, {fmt.Sprint(len(many) / len(one)), many}} {
			b.Run("values="+p.name+"/agent="+s.name, func(b *testing.B) {
				conn, err := net.Dial("tcp", s.addr())
				if err != nil {
					b.Fatal(err)
				}
				defer conn.Close()
				in := tracewire.NewDecoder(conn)
				if _, err := in.Ack(); err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if _, err := conn.Write(p.pdus); err != nil {
						b.Fatal(err)
					}
					if _, err := in.Ack(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N*len(p.pdus)/len(one))/b.Elapsed().Seconds(), "values/s")
			})
		}
	}
}

// value is a PDU of 32 bytes.
func value(b *testing.B, kind tracewire.Kind, sync bool) []byte {
	p, err := tracewire.Data{Kind: kind, Tag: []byte("1234567"), Value: 0.25, Sync: sync}.Append(nil)
	if err != nil || len(p) != 32 {
		b.Fatalf("%d bytes, %v", len(p), err)
	}
	return p
}
