package tool

import (
	"errors"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/internal/cnum"
	"github.com/pcp-go/pcp/internal/getopt"
)

// An Option is an option of a tool, or with a Heading and nothing else the start of a part of the
// usage message.
type Option struct {
	Short byte   // its letter; 0 if it has none
	Long  string // its name; empty if it has none
	Arg   string // what the usage message calls its argument; empty if it takes none
	Help  string // what it does; the usage message leaves out an option without
	Exact bool   // Long cannot be abbreviated, and does not make the abbreviations of others ambiguous
	// Set is called when the option is given, with its argument if it takes one. Its error is
	// reported with the usage message; ErrUsage requests that alone. Nil ignores the option.
	Set func(value string) error

	Heading string // without the colon
}

// ErrUsage requests the usage message: Option.Set returns it for an option such as -?, and tools
// wrap it in errors about their operands.
var ErrUsage = getopt.ErrUsage

// Flag makes the Set of an option without an argument, which sets a variable to true.
func Flag(variable *bool) func(string) error {
	return func(string) error {
		*variable = true
		return nil
	}
}

// Number makes the Set of an option whose argument is a decimal number not below minimum. Other
// arguments are an error whose text is message, such as "-b requires numeric argument".
func Number(variable *int, minimum int, message string) func(string) error {
	return func(value string) error {
		n, ok := parseInteger(value)
		if !ok || n < int64(minimum) {
			return errors.New(message)
		}
		*variable = int(n)
		return nil
	}
}

// parseInteger reads a decimal number as strtol(3) does, and reports whether it is one as a whole:
// blanks and a sign may come before it, nothing may come after, and an empty text is 0. A number
// that is too great is the greatest.
func parseInteger(s string) (n int64, ok bool) {
	if s == "" {
		return 0, true
	}
	n, err := strconv.ParseInt(strings.TrimLeft(s, cnum.Blanks), 10, 64)
	return n, err == nil || errors.Is(err, strconv.ErrRange)
}
