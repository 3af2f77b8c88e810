package sasl

import "github.com/pcp-go/pcp/pdu"

// The codes of failed logins, as they are sent to clients: those of the Cyrus library below
// pdu.ErrNYI.
const (
	errFail        pdu.Error = pdu.ErrNYI - 1  // SASL_FAIL: generic failure
	ErrNoMechanism pdu.Error = pdu.ErrNYI - 4  // SASL_NOMECH: no mechanism that both sides have and allow
	ErrProtocol    pdu.Error = pdu.ErrNYI - 5  // SASL_BADPROT: a malformed message
	ErrParam       pdu.Error = pdu.ErrNYI - 7  // SASL_BADPARAM: no user name; no mechanism
	ErrServer      pdu.Error = pdu.ErrNYI - 10 // SASL_BADSERV: the server does not know the user's password
	ErrAuth        pdu.Error = pdu.ErrNYI - 13 // SASL_BADAUTH: a wrong password, or another identity
	ErrNoUser      pdu.Error = pdu.ErrNYI - 20 // SASL_NOUSER: an unknown user
)

// An Error says why a login has failed. It unwraps to Code.
type Error struct {
	Code   pdu.Error // sent to the other side
	Reason string    // not sent, only for a log; the Cyrus library logs the same text
}

// Error returns the text of the code and the reason.
func (e *Error) Error() string { return e.Code.Error() + ": " + e.Reason }

// Unwrap returns Code.
func (e *Error) Unwrap() error { return e.Code }

func fail(code pdu.Error, reason string) error { return &Error{code, reason} }
