package pdu_test

import (
	"testing"

	"github.com/pcp-go/pcp/pdu"
)

// FuzzPDU decodes a body of the given kind, or reads a stream if the kind is unknown.
func FuzzPDU(f *testing.F) {
	for _, tt := range codecTests {
		b := unhex(f, tt.wire)
		f.Add(int32(tt.pdu.Kind()), b[pdu.HeaderLen:])
		f.Add(int32(0), b)
	}
	for _, tt := range malformedTests {
		f.Add(int32(tt.kind), unhex(f, tt.body))
	}
	for _, wire := range []string{storeOfString, fetchOfLoad, fetchWithErrors, fetchOfEvents, everyTypeBytes} {
		r := decodeResult(f, wire)
		f.Add(int32(r.Kind()), unhex(f, wire)[pdu.HeaderLen:])
		if r.Format == pdu.FormatLowRes {
			r.Format = pdu.FormatHighRes
			f.Add(int32(r.Kind()), encode(f, r))
		}
	}
	wire, _ := sizedFrames()
	f.Add(int32(0), wire[:5000])
	const seedsPerKind = 8 // of the captures: fuzzing begins when all seeds have run
	seeds := map[uint32]int{}
	for _, c := range captures(f) {
		var stream []byte
		for _, p := range c.pdus {
			if len(p.Bytes) < 4096 && seeds[p.Type()] < seedsPerKind {
				seeds[p.Type()]++
				f.Add(int32(p.Type()), p.Bytes[pdu.HeaderLen:])
			}
			stream = append(stream, p.Bytes...)
		}
		f.Add(int32(0), stream[:min(len(stream), 8192)])
	}

	used := usedValues{}
	f.Fuzz(func(t *testing.T, kind int32, body []byte) {
		k := pdu.Kind(kind)
		if k < pdu.KindError || k > pdu.KindDescs {
			if n, limit := allocated(func() { checkStream(t, body) }), uint64(len(body))*64+1<<18; n > limit {
				t.Errorf("%d bytes allocated for a stream of %d", n, len(body))
			}
			return
		}
		if n, limit := allocated(func() { _, _ = pdu.Decode(k, body) }), uint64(len(body))*16+1<<16; n > limit {
			t.Errorf("%v: %d bytes allocated for a body of %d", k, n, len(body))
		}
		checkBody(t, k, body, used)
	})
}
