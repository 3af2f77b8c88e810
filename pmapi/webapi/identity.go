package webapi

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"

	"github.com/pcp-go/pcp/pdu"
)

// identityLabels returns labels as they are written in an identity.
func identityLabels(labels []byte) []byte {
	if bytes.Equal(labels, noLabels) {
		return []byte("null")
	}
	return labels
}

// sourceID returns the identity of a source whose context has the given labels.
func sourceID(labels []byte) string {
	b := append([]byte(`{"series":"source","labels":`), identityLabels(labels)...)
	return hexSHA1(append(b, '}'))
}

// seriesID returns the identity of a metric. As in pmproxy, the name is not escaped.
func seriesID(name string, d pdu.Desc, labels []byte) string {
	b := append([]byte(`{"series":"metric","name":"`), name...)
	b = append(append(b, `","labels":`...), identityLabels(labels)...)
	b = append(append(b, `,"semantics":"`...), d.Sem.String()...)
	b = append(append(b, `","type":"`...), d.Type.String()...)
	b = d.Units.AppendTo(append(b, `","units":"`...))
	return hexSHA1(append(b, `"}`...))
}

func hexSHA1(b []byte) string {
	sum := sha1.Sum(b)
	return hex.EncodeToString(sum[:])
}
