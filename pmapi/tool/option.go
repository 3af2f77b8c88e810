package tool

import (
	"errors"
	"math"

	"github.com/pcp-go/pcp/internal/getopt"
	"github.com/pcp-go/pcp/internal/scan"
)

// An Option is an option of a tool. An Option that has only a Heading starts a section of the usage
// message.
type Option struct {
	Short byte   // its letter; 0 if it has none
	Long  string // its name; empty if it has none
	Arg   string // what the usage message calls its argument; empty if it takes none
	Help  string // what it does; without Help, the usage message does not list the option
	Exact bool   // Long cannot be abbreviated, and does not make the abbreviations of others ambiguous
	// Set is called when the option is given, with its argument, or "" if it takes none. Report
	// prints the error of Set and the usage message; for ErrUsage only the usage message. If Set is
	// nil, the option is accepted and ignored.
	Set func(value string) error

	Heading string // without the colon
}

// ErrUsage requests the usage message: Option.Set returns it for an option such as -?, and tools
// wrap it in errors about their operands.
var ErrUsage = getopt.ErrUsage

// Flag returns a function for Option.Set that sets *variable to true, for an option without an
// argument.
func Flag(variable *bool) func(string) error {
	return func(string) error {
		*variable = true
		return nil
	}
}

// Number returns a function for Option.Set that sets *variable to a decimal number, which must not
// be below minimum. For other arguments the error has the text message, such as "-b requires
// numeric argument". As in C, an empty argument is 0.
func Number(variable *int, minimum int, message string) func(string) error {
	return func(value string) error {
		n, ok := scan.WholeInt(value)
		if !ok || n < int64(minimum) {
			return errors.New(message)
		}
		*variable = int(min(n, math.MaxInt))
		return nil
	}
}
