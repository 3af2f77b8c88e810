package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// defineDerived defines the metrics of an item of Options.Derived, or loads those of a file. The
// text of an error is that of pmrep(1).
func defineDerived(item string, define func(name, expr string) error, load func(path string) error) error {
	if strings.HasPrefix(item, "/") || strings.HasPrefix(item, ".") {
		_, err := os.Stat(item)
		if err == nil {
			err = load(item)
		}
		if err != nil {
			var code error = pdu.FromError(err)
			if errors.Is(err, fs.ErrNotExist) {
				code = pdu.FromError(fs.ErrNotExist)
			}
			return fmt.Errorf("Failed to load derived metric definitions from file '%s':\n%w.", item, code)
		}
		return nil
	}
	name, expr, ok := strings.Cut(item, "=")
	if !ok {
		return errors.New("Failed to register derived metric:\nInvalid syntax (expected metric=expression).")
	}
	return defineError(define(trimBlanks(name), trimBlanks(expr)))
}

// defineError returns the error of a definition if pmrep(1) reports it, that is, if the expression
// has a syntax error. pmrep ignores other errors, such as a duplicate name; a metric that exists
// stays as it is.
func defineError(err error) error {
	e, ok := errors.AsType[*pmapi.DerivedError](err)
	if !ok {
		return err
	}
	if e.Offset == 0 || strings.Contains(e.Message, "derived metric") {
		return nil
	}
	message := e.Message
	if message != "" {
		message += "\n"
	}
	return fmt.Errorf("Failed to register derived metric:\nImpossible value or scale conversion Error: pmRegisterDerivedMetric(\"%s\", ...)\n%s\n%s^\n%s.",
		e.Name, e.Expr, strings.Repeat(" ", max(1, e.Offset)), message)
}
