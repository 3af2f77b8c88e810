package pmapi

import (
	"fmt"

	"github.com/pcp-go/pcp/internal/hostspec"
)

// parseHost parses a host specification. A syntax error is a *SpecError.
func parseHost(spec string) (hostspec.Spec, error) {
	h, err := hostspec.Parse(spec)
	if e, ok := err.(*hostspec.Error); ok {
		err = &SpecError{What: "host specification", Text: e.Text, Offset: e.Offset, Msg: e.Msg}
	}
	return h, err
}

// A badHostError is the error of Dial for a specification that names no collector.
type badHostError struct {
	spec  string
	cause error // of parseHost, or pdu.ErrNotHost
}

func (e *badHostError) Error() string {
	var what string
	spec := hostspec.WithoutPassword(e.spec)
	switch cause := e.cause.(type) {
	case *SpecError:
		return cause.Error()
	case *hostspec.ValueError:
		what = fmt.Sprintf("bad encoding in %q", cause.Name+"="+cause.Value)
		if spec != e.spec {
			what = "bad encoding of " + cause.Name
		}
	default:
		if e.spec == "" {
			return "empty host specification"
		}
		what = "it names no host"
	}
	return fmt.Sprintf("bad host specification %q: %s", spec, what)
}

func (e *badHostError) Unwrap() error { return e.cause }
