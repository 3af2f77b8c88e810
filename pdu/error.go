package pdu

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"strconv"
	"syscall"

	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/internal/wire"
)

// An Error is a PCP status code, less than zero: the same number in an ERROR PDU, in the value
// count of a metric, in a name list and in a label set. Codes of -12345 and below are PCP's own.
// Codes above are negated errno values in Linux's numbers, also on other systems: -22 is EINVAL.
// Codes below ErrNYI are those of the SASL library.
//
// errors.Is(err, pdu.ErrName) holds wherever the code came from, and
// errors.AsType[pdu.Error](err) gives the number back. An errno unwraps to the
// local syscall.Errno of the same meaning, so that errors.Is(err,
// fs.ErrPermission) works too.
type Error int32

// PCP's codes, PM_ERR_* of the C library.
const (
	ErrGeneric        Error = -12345 // Generic error, already reported above
	ErrPMNS           Error = -12346 // Problems parsing PMNS definitions
	ErrNoPMNS         Error = -12347 // PMNS not accessible
	ErrDupPMNS        Error = -12348 // Attempt to reload the PMNS
	ErrText           Error = -12349 // One-line or help text is not available
	ErrAppVersion     Error = -12350 // Metric not supported by this version of monitored application
	ErrValue          Error = -12351 // Missing metric value(s)
	ErrTimeout        Error = -12353 // Timeout waiting for a response from PMCD
	ErrNoData         Error = -12354 // Empty archive log file
	ErrName           Error = -12357 // Unknown metric name
	ErrPMID           Error = -12358 // Unknown or illegal metric identifier
	ErrInDom          Error = -12359 // Unknown or illegal instance domain identifier
	ErrInst           Error = -12360 // Unknown or illegal instance identifier
	ErrUnit           Error = -12361 // Illegal pmUnits specification
	ErrConv           Error = -12362 // Impossible value or scale conversion
	ErrTrunc          Error = -12363 // Truncation in value conversion
	ErrSign           Error = -12364 // Negative value in conversion to unsigned
	ErrProfile        Error = -12365 // Explicit instance identifier(s) required
	ErrIPC            Error = -12366 // IPC protocol failure
	ErrEOF            Error = -12368 // IPC channel closed
	ErrNotHost        Error = -12369 // Operation requires context with host source of metrics
	ErrEOL            Error = -12370 // End of PCP archive log
	ErrMode           Error = -12371 // Illegal mode specification
	ErrLabel          Error = -12372 // Illegal label record at start of a PCP archive log file
	ErrLogRec         Error = -12373 // Corrupted record in a PCP archive log
	ErrNotArchive     Error = -12374 // Operation requires context with archive source of metrics
	ErrLogFile        Error = -12375 // Missing PCP archive log file
	ErrNoContext      Error = -12376 // Attempt to use an illegal context
	ErrProfileSpec    Error = -12377 // NULL pmInDom with non-NULL instlist
	ErrPMIDLog        Error = -12378 // Metric not defined in the PCP archive log
	ErrInDomLog       Error = -12379 // Instance domain identifier not defined in the PCP archive log
	ErrInstLog        Error = -12380 // Instance identifier not defined in the PCP archive log
	ErrNoProfile      Error = -12381 // Missing profile - protocol botch
	ErrNoAgent        Error = -12386 // No PMCD agent for domain of request
	ErrPermission     Error = -12387 // No permission to perform requested operation
	ErrConnLimit      Error = -12388 // PMCD connection limit for this host exceeded
	ErrAgain          Error = -12389 // Try again. Information not currently available
	ErrNotConn        Error = -12391 // Not Connected
	ErrNonLeaf        Error = -12394 // Metric name is not a leaf in PMNS
	ErrType           Error = -12397 // Unknown or illegal metric type
	ErrNoContainer    Error = -12399 // Container not found
	ErrBadStore       Error = -12400 // Bad input to pmstore
	ErrLogOverlap     Error = -12401 // Archives overlap in time
	ErrLogHost        Error = -12402 // Archives differ by host
	ErrLogChangeType  Error = -12404 // The type of a metric has changed in an archive
	ErrLogChangeSem   Error = -12405 // The semantics of a metric has changed in an archive
	ErrLogChangeInDom Error = -12406 // The instance domain of a metric has changed in an archive
	ErrLogChangeUnits Error = -12407 // The units of a metric have changed in an archive
	ErrNeedClientCert Error = -12408 // PMCD requires a client certificate
	ErrBadDerive      Error = -12409 // Derived metric definition failed
	ErrNoLabels       Error = -12410 // No support for metric label metadata
	ErrPMDAFenced     Error = -12411 // PMDA is currently fenced and unable to respond to requests
	ErrRecType        Error = -12412 // Incorrect record type in an archive
	ErrFeature        Error = -12413 // Archive feature not supported
	ErrTLS            Error = -12414 // TLS protocol failure
	ErrArg            Error = -12415 // Bad value for function argument
	ErrTooSmall       Error = -12443 // Insufficient elements in list
	ErrTooBig         Error = -12444 // Result size exceeded
	ErrPMDAReady      Error = -13393 // PMDA is now responsive to requests
	ErrPMDANotReady   Error = -13394 // PMDA is not yet ready to respond to requests
	ErrNYI            Error = -21344 // Functionality not yet implemented
)

var errorTexts = map[Error]string{
	ErrGeneric:        "Generic error, already reported above",
	ErrPMNS:           "Problems parsing PMNS definitions",
	ErrNoPMNS:         "PMNS not accessible",
	ErrDupPMNS:        "Attempt to reload the PMNS",
	ErrText:           "One-line or help text is not available",
	ErrAppVersion:     "Metric not supported by this version of monitored application",
	ErrValue:          "Missing metric value(s)",
	ErrTimeout:        "Timeout waiting for a response from PMCD",
	ErrNoData:         "Empty archive log file",
	-12355:            "PMCD reset or configuration change",
	ErrName:           "Unknown metric name",
	ErrPMID:           "Unknown or illegal metric identifier",
	ErrInDom:          "Unknown or illegal instance domain identifier",
	ErrInst:           "Unknown or illegal instance identifier",
	ErrUnit:           "Illegal pmUnits specification",
	ErrConv:           "Impossible value or scale conversion",
	ErrTrunc:          "Truncation in value conversion",
	ErrSign:           "Negative value in conversion to unsigned",
	ErrProfile:        "Explicit instance identifier(s) required",
	ErrIPC:            "IPC protocol failure",
	ErrEOF:            "IPC channel closed",
	ErrNotHost:        "Operation requires context with host source of metrics",
	ErrEOL:            "End of PCP archive log",
	ErrMode:           "Illegal mode specification",
	ErrLabel:          "Illegal label record at start of a PCP archive log file",
	ErrLogRec:         "Corrupted record in a PCP archive log",
	ErrNotArchive:     "Operation requires context with archive source of metrics",
	ErrLogFile:        "Missing PCP archive log file",
	ErrNoContext:      "Attempt to use an illegal context",
	ErrProfileSpec:    "NULL pmInDom with non-NULL instlist",
	ErrPMIDLog:        "Metric not defined in the PCP archive log",
	ErrInDomLog:       "Instance domain identifier not defined in the PCP archive log",
	ErrInstLog:        "Instance identifier not defined in the PCP archive log",
	ErrNoProfile:      "Missing profile - protocol botch",
	ErrNoAgent:        "No PMCD agent for domain of request",
	ErrPermission:     "No permission to perform requested operation",
	ErrConnLimit:      "PMCD connection limit for this host exceeded",
	ErrAgain:          "Try again. Information not currently available",
	-12390:            "Already Connected",
	ErrNotConn:        "Not Connected",
	-12392:            "A non-null port name is required",
	ErrNonLeaf:        "Metric name is not a leaf in PMNS",
	ErrType:           "Unknown or illegal metric type",
	-12398:            "Operation not supported for multi-threaded applications",
	ErrNoContainer:    "Container not found",
	ErrBadStore:       "Bad input to pmstore",
	ErrLogOverlap:     "Archives overlap in time",
	ErrLogHost:        "Archives differ by host",
	ErrLogChangeType:  "The type of a metric has changed in an archive",
	ErrLogChangeSem:   "The semantics of a metric has changed in an archive",
	ErrLogChangeInDom: "The instance domain of a metric has changed in an archive",
	ErrLogChangeUnits: "The units of a metric have changed in an archive",
	ErrNeedClientCert: "PMCD requires a client certificate",
	ErrBadDerive:      "Derived metric definition failed",
	ErrNoLabels:       "No support for metric label metadata",
	ErrPMDAFenced:     "PMDA is currently fenced and unable to respond to requests",
	ErrRecType:        "Incorrect record type in an archive",
	ErrFeature:        "Archive feature not supported",
	ErrTLS:            "TLS protocol failure",
	ErrArg:            "Bad value for function argument",
	-12442:            "Internal inconsistency detected or assertion failed",
	ErrTooSmall:       "Insufficient elements in list",
	ErrTooBig:         "Result size exceeded",
	-12445:            "QA fault injected",
	ErrPMDAReady:      "PMDA is now responsive to requests",
	ErrPMDANotReady:   "PMDA is not yet ready to respond to requests",
	ErrNYI:            "Functionality not yet implemented",
}

// Error is the text that pmErrStr(3) of PCP 6.0.3 gives for the code, on every
// system; later versions drop the word "log" after "archive".
func (e Error) Error() string {
	if s, ok := errorTexts[e]; ok {
		return s
	}
	switch {
	case e == 0:
		return "No error"
	case e < 0 && e > ErrGeneric:
		if n := int(-e); n < len(linuxErrnoTexts) && linuxErrnoTexts[n] != "" {
			return linuxErrnoTexts[n]
		}
		return "Unknown error " + strconv.Itoa(int(-e))
	case e < ErrNYI:
		return authErrorText(int(e), int(e-ErrNYI))
	}
	return "No such PMAPI error code (" + strconv.Itoa(int(e)) + ")"
}

// authErrorText is the text for a code below ErrNYI, which is one of the SASL
// library's on top of it.
func authErrorText(code, sasl int) string {
	if sasl < -1000 {
		return "Unknown secure sockets error " + strconv.Itoa(code) + " (" + strconv.Itoa(sasl) + ")"
	}
	text, ok := saslTexts[-sasl]
	if !ok {
		text = "undefined error!"
	}
	return "Authentication - " + text
}

// saslTexts are the texts of the SASL library by its negated codes.
var saslTexts = map[int]string{
	1:   "generic failure",
	2:   "no memory available",
	3:   "overflowed buffer",
	4:   "no mechanism available",
	5:   "bad protocol / cancel",
	6:   "can't request information until later in exchange",
	7:   "invalid parameter supplied",
	8:   "transient failure (e.g., weak key)",
	9:   "integrity check failed",
	10:  "server failed mutual authentication step",
	11:  "mechanism doesn't support requested feature",
	12:  "SASL library is not initialized",
	13:  "authentication failure",
	14:  "authorization failure",
	15:  "mechanism too weak for this user",
	16:  "encryption needed to use mechanism",
	17:  "One time use of a plaintext password will enable requested mechanism for user",
	18:  "passphrase expired, has to be reset",
	19:  "account disabled",
	20:  "user not found",
	21:  "passphrase locked",
	22:  "requested change was not needed",
	23:  "version mismatch with plug-in",
	24:  "remote authentication server unavailable",
	26:  "user exists, but no verifier for user",
	27:  "passphrase is too weak for security policy",
	28:  "user supplied passwords are not permitted",
	29:  "sasl_setpass needs old password in order to perform password change",
	30:  "sasl_setpass can't store a property because of a constraint violation",
	32:  "channel binding failure",
	100: "error when parsing configuration file",
}

// Unwrap is the local system's errno of the same meaning if e is a negated
// errno, so that errors.Is(err, fs.ErrNotExist) and errors.Is(err,
// syscall.ECONNREFUSED) hold for an error that crossed the wire. It is nil for
// PCP's own codes and for an errno that the local system lacks.
func (e Error) Unwrap() error {
	if e >= 0 || e <= ErrGeneric {
		return nil
	}
	if n, ok := localErrno(int(-e)); ok {
		return n
	}
	return nil
}

// Timeout reports whether e is ErrTimeout. Other codes that stand for a time-out,
// such as that of ETIMEDOUT, unwrap to an error that is one.
func (e Error) Timeout() bool { return e == ErrTimeout }

// FromError is the code that stands for err on the wire, 0 for nil. It is that of
// the first of these that err is or wraps:
//
//	an Error                             itself (an Error of 0 counts as none)
//	a syscall.Errno                      its Linux number, negated
//	a malformed input                    ErrIPC
//	any whose Timeout() is true          ErrTimeout; context.DeadlineExceeded is one
//	context.Canceled                     ECANCELED
//	io.EOF                               ErrEOF
//	io.ErrUnexpectedEOF                  ErrIPC: the stream ended within a PDU
//	fs.ErrNotExist, ErrExist, ErrPermission, ErrInvalid   ENOENT, EEXIST, EACCES, EINVAL
//	errors.ErrUnsupported                EOPNOTSUPP
//
// and returns ErrGeneric for all else.
func FromError(err error) Error {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[Error](err); ok && e != 0 {
		return e
	}
	if n, ok := errors.AsType[syscall.Errno](err); ok {
		if l := linuxErrno(n); l != 0 {
			return Error(-l)
		}
	}
	if _, ok := errors.AsType[*wire.Error](err); ok {
		return ErrIPC
	}
	if ctxwait.TimedOut(err) {
		return ErrTimeout
	}
	for _, m := range errorCodes {
		if errors.Is(err, m.err) {
			return m.code
		}
	}
	return ErrGeneric
}

// Errno values that often stand for errors of PCP. FromError returns others, such as
// pdu.FromError(syscall.EIO).
const (
	ErrInvalid     Error = -22 // EINVAL: Invalid argument
	ErrUnsupported Error = -95 // EOPNOTSUPP: Operation not supported
)

const (
	errNoEnt    Error = -2
	err2Big     Error = -7
	errAccess   Error = -13
	errExist    Error = -17
	errCanceled Error = -125
)

var errorCodes = [...]struct {
	err  error
	code Error
}{
	{context.DeadlineExceeded, ErrTimeout},
	{context.Canceled, errCanceled},
	{io.EOF, ErrEOF},
	{io.ErrUnexpectedEOF, ErrIPC},
	{fs.ErrNotExist, errNoEnt},
	{fs.ErrExist, errExist},
	{fs.ErrPermission, errAccess},
	{fs.ErrInvalid, ErrInvalid},
	{errors.ErrUnsupported, ErrUnsupported},
}

// Only the first PDU of a pmcd connection still carries the codes of PCP 1.x, which are 11345
// higher.
const v1Shift = 11345

// v1 is the code as the first PDU of a connection carries it.
func (e Error) v1() Error {
	if e <= ErrGeneric {
		return e + v1Shift
	}
	return e
}

// fromV1 inverts v1 for all codes that a PCP 2.x peer sends. A code too low to
// shift stays at the lowest.
func fromV1(code int32) Error {
	if code <= int32(ErrGeneric)+v1Shift {
		return Error(max(code, math.MinInt32+v1Shift) - v1Shift)
	}
	return Error(code)
}
