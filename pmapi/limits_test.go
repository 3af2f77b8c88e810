package pmapi_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// A reply that is too long is an error with its length, the limit, and how to raise it.
func TestLimitError(t *testing.T) {
	c := open(t, pmapi.Dialer{}, replying(allFeatures, func(pdu.Header, pdu.PDU) []byte {
		return header(16<<20+4, pdu.KindDesc)
	}))
	_, err := c.Desc(t.Context(), 1)
	if _, ok := errors.AsType[*pmapi.LimitError](err); !ok || !errors.Is(err, pdu.ErrTooBig) || !errors.Is(err, pdu.ErrIPC) {
		t.Fatal(err)
	}
	for _, text := range []string{"16777220 bytes", "limit of 16777216", "MaxReply", "PMCD_MAX_REPLY"} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %q in it", err, text)
		}
	}
}

// A reply with more elements than fit in memory when they are decoded is an error that names the
// limit. The connection stays.
func TestElementLimits(t *testing.T) {
	zeros := func(kind pdu.Kind, n int, words ...uint32) []byte {
		b := raw(kind, words...)
		b = append(b, make([]byte, n)...)
		binary.BigEndian.PutUint32(b, uint32(len(b)))
		return b
	}
	for _, tt := range []struct {
		call  string
		reply []byte
		want  string
	}{
		{"Traverse", zeros(pdu.KindPMNSNames, 4*(4<<20+1), 1<<30, 0, 4<<20+1), "4194305 names exceeds the limit of 4194304: request a part of the name space"},
		{"Instances", zeros(pdu.KindInstance, 8*(4<<20+1), 77, 4<<20+1), "4194305 instances exceeds the limit of 4194304"},
		{"InstanceLabels", zeros(pdu.KindLabel, 16*(1<<20+1), 77, 32, 0, 1<<20+1), "1048577 label sets exceeds the limit of 1048576"},
	} {
		first := true
		c := open(t, pmapi.Dialer{MaxReply: 64 << 20}, replying(allFeatures, func(h pdu.Header, p pdu.PDU) []byte {
			if _, profile := p.(*pdu.SetProfile); !first || profile {
				return echo(h, p)
			}
			first = false
			return tt.reply
		}))
		err := callNamed(tt.call).do(t.Context(), c, 77)
		if !errors.Is(err, pdu.ErrTooBig) || errors.Is(err, pdu.ErrIPC) || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q at its end", tt.call, err, tt.want)
		}
		if err := callNamed("Desc").do(t.Context(), c, 77); err != nil {
			t.Errorf("after %s: %v", tt.call, err)
		}
	}
}
