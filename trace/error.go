package trace

import "github.com/pcp-go/pcp/pdu"

// An Error is a negative status code of PCP's trace library, as returned by pmtracepoint(3) and the
// other functions of libpcp_trace and sent by an agent in an Ack. Codes above -12000 are negated
// errno values, with Linux's numbers on all systems.
//
// errors.Is(err, trace.ErrPermission) holds for codes of any origin, and
// errors.AsType[trace.Error](err) returns the number. An errno unwraps to the local syscall.Errno
// of the same meaning.
type Error int32

// The library's own codes, PMTRACE_ERR_* of <pcp/trace.h>.
const (
	ErrTagName    Error = -12000 // Invalid tag name - tag names cannot be NULL
	ErrInProgress Error = -12001 // Transaction is already in progress - cannot begin
	ErrNoProgress Error = -12002 // Transaction is not currently in progress - cannot end
	ErrNoSuchTag  Error = -12003 // Transaction tag was not successfully initialised
	ErrTagLength  Error = -12005 // Tag name is too long (maximum 256 characters)
	ErrIPC        Error = -12006 // IPC protocol failure
	ErrEnvFormat  Error = -12007 // Unrecognised environment variable format
	ErrTimeout    Error = -12008 // Application timed out connecting to the PMDA
	ErrPermission Error = -12010 // Cannot connect to PMDA - permission denied
	ErrConnLimit  Error = -12011 // Cannot connect to PMDA - connection limit reached
)

var errorTexts = [...]string{
	"Invalid tag name - tag names cannot be NULL",
	"Transaction is already in progress - cannot begin",
	"Transaction is not currently in progress - cannot end",
	"Transaction tag was not successfully initialised",
	"Tag is already in use for a different type of tracing",
	"Tag name is too long (maximum 256 characters)",
	"IPC protocol failure",
	"Unrecognised environment variable format",
	"Application timed out connecting to the PMDA",
	"Incompatible versions between application and PMDA",
	"Cannot connect to PMDA - permission denied",
	"Cannot connect to PMDA - connection limit reached",
}

// Error returns the text of pmtraceerrstr(3) for the code.
func (e Error) Error() string {
	switch n := int(ErrTagName) - int(e); {
	case e == 0:
		return "No error."
	case n >= 0 && n < len(errorTexts):
		return errorTexts[n]
	case e.isErrno():
		return pdu.Error(e).Error()
	}
	return "Unknown error code."
}

func (e Error) isErrno() bool { return e < 0 && e > ErrTagName }

// Unwrap returns the local syscall.Errno of the same meaning if e is a negated errno, so that
// errors.Is(err, syscall.ECONNREFUSED) holds. It returns nil for the library's own codes and for an
// errno that the local system lacks.
func (e Error) Unwrap() error {
	if !e.isErrno() {
		return nil
	}
	return pdu.Error(e).Unwrap()
}

// Timeout reports whether e is ErrTimeout.
func (e Error) Timeout() bool { return e == ErrTimeout }
