package webapi

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"

	"github.com/pcp-go/pcp/pdu"
)

// identityLabels are labels in an identity.
func identityLabels(labels []byte) []byte {
	if bytes.Equal(labels, noLabels) {
		return []byte("null")
	}
	return labels
}

// sourceID is the identity of a source with the labels of its context.
func sourceID(labels []byte) string {
	b := append([]byte(`{"series":"source","labels":`), identityLabels(labels)...)
	return hexSHA1(append(b, '}'))
}

// seriesID is the identity of a metric with its labels. The name is not escaped.
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
