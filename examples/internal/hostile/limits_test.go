package hostile_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// A tool says why it does not accept a reply: how long it is, what the limit is, and how to raise
// it.
func TestLimits(t *testing.T) {
	const millions = 4_300_000
	replying := func(kind pdu.Kind, reply func(b []byte) []byte) func([]byte) []byte {
		b := binary.BigEndian.AppendUint32(reply(make([]byte, pdu.HeaderLen)), 0)
		binary.BigEndian.PutUint32(b, uint32(len(b)))
		binary.BigEndian.PutUint32(b[4:], uint32(kind))
		return func([]byte) []byte { return b }
	}
	names := collector{replies: map[pdu.Kind]func([]byte) []byte{pdu.KindPMNSTraverse: replying(pdu.KindPMNSNames, func(b []byte) []byte {
		b = binary.BigEndian.AppendUint32(b, 2*millions)
		b = binary.BigEndian.AppendUint64(b, millions)
		for range millions {
			b = append(b, "\x00\x00\x00\x01a~~~"...)
		}
		return b[:len(b)-4]
	})}}
	values := collector{replies: map[pdu.Kind]func([]byte) []byte{pdu.KindHighResFetch: replying(pdu.KindHighResResult, func(b []byte) []byte {
		const n = 10_000
		for _, w := range []uint32{1, 0, 1, 0, 0, uint32(metricID), n, 0} {
			b = binary.BigEndian.AppendUint32(b, w)
		}
		for i := range uint32(n) {
			b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, i), 17)
		}
		return b[:len(b)-4] // and a word of zeros
	})}}
	const bytes = "a reply of 34400024 bytes exceeds the limit of 16777216: raise Dialer.MaxReply, or PMCD_MAX_REPLY in the environment"
	const count = "a reply of 4300000 names exceeds the limit of 4194304: request a part of the name space"
	for _, tt := range []struct {
		env  []string
		argv []string
		want string
	}{
		// PCP's pmcd, and ours, end the connection of a client whose request is that long.
		{nil, []string{"pmstore", metricName, "3"}, metricName + ": new value=\"3\" pmStore: Result size exceeded\n"},
		{nil, []string{"pminfo"}, "Error: " + bytes + "\n"},
		{nil, []string{"pmprobe"}, "pmprobe: " + bytes + "\n"},
		{nil, []string{"pmprobe", "x"}, "x -12366 " + bytes + "\n"},
		{[]string{"PMCD_MAX_REPLY=100000000"}, []string{"pminfo"}, "Error: " + count + "\n"},
		{[]string{"PMCD_MAX_REPLY=100000000"}, []string{"pminfo", "x"}, "Error: x: " + count + "\n"},
		{[]string{"PMCD_MAX_REPLY=100000000"}, []string{"pmprobe"}, "pmprobe: " + count + "\n"},
	} {
		c := names
		if tt.argv[0] == "pmstore" {
			c = values
		}
		argv := append([]string{pcptest.Build(t, "./examples/"+tt.argv[0]), "-h", c.serve(t)}, tt.argv[1:]...)
		stdout, stderr, _ := pcptest.Run(t, tt.env, "", argv...)
		if got := stdout + stderr; !strings.HasSuffix(got, tt.want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%v %q printed %q, want %q", tt.env, tt.argv, got, tt.want)
		}
	}
}
