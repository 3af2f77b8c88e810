package pdutest

import "github.com/pcp-go/pcp/pdu"

// Raw returns a PDU of any kind with any body, such as an unknown kind or a malformed body. body
// does not include the header.
func Raw(k pdu.Kind, body []byte) pdu.PDU { return raw{k, body} }

type raw struct {
	kind pdu.Kind
	body []byte
}

func (r raw) Kind() pdu.Kind                  { return r.kind }
func (r raw) Append(b []byte) ([]byte, error) { return append(b, r.body...), nil }
