// Pmerr translates PCP's error codes into their texts.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/examples/internal/errname"
	"github.com/pcp-go/pcp/internal/build"
	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/pdu"
)

const usage = `Usage: pmerr [options] [code]

  -l, --list   causes all known error codes to be listed
`

func main() {
	out := bufio.NewWriter(os.Stdout)
	status := run(os.Args[1:], out, os.Stderr)
	out.Flush()
	os.Exit(status)
}

// run prints the texts of the arguments. Only the first argument can be an option.
func run(args []string, out, errs io.Writer) (status int) {
	if build.Asked(args) {
		io.WriteString(out, build.Text("pmerr"))
		return 0
	}
	if len(args) == 0 || !isOption(args[0]) {
		for _, arg := range args {
			printCode(out, arg)
		}
		return 0
	}
	switch args[0] {
	case "-l", "--list":
		printCodes(out)
	case "-?", "--help":
		io.WriteString(errs, usage)
	default:
		fmt.Fprintf(errs, "Illegal option -- %s\n%s", args[0][1:], usage)
	}
	return 1
}

// isOption reports whether an argument is an option. A dash before a hexadecimal digit starts a
// number.
func isOption(arg string) bool {
	return strings.HasPrefix(arg, "-") && (len(arg) == 1 || !scan.IsHexDigit(arg[1]))
}

// printCodes prints all codes.
func printCodes(out io.Writer) {
	fmt.Fprintf(out, "%6s  %-22s %s\n", "Code", "Symbolic Name", "Message")
	for _, c := range errname.All {
		fmt.Fprintf(out, "%6d  %-22s %v\n", c.Code, c.Name, c.Code)
	}
}

// printCode prints the text of a code. Codes are negative. A positive number means the code with a
// minus sign.
func printCode(out io.Writer, arg string) {
	code, ok := parseCode(arg)
	if !ok {
		fmt.Fprintf(out, "Cannot decode \"%s\" - neither decimal nor hexadecimal\n", arg)
		return
	}
	if code > 0 {
		code = -code
		fmt.Fprintf(out, "Code is positive, assume you mean %d\n", code)
	}
	fmt.Fprintf(out, "Code: %d 0x%x Text: %s\n", code, uint32(code), pdu.Error(code))
}

// parseCode parses the 32-bit number at the start of a text as scanf(3) does: hexadecimal after
// "0x", which alone is 0, or decimal.
func parseCode(arg string) (code int32, ok bool) {
	if len(arg) >= 2 && arg[0] == '0' && arg[1]|0x20 == 'x' {
		n := 2
		for n < len(arg) && scan.IsHexDigit(arg[n]) {
			n++
		}
		v, err := strconv.ParseUint(arg[2:n], 16, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return 0, true
		}
		return int32(v), true
	}
	v, _, ok := scan.Int(arg)
	return int32(v), ok
}
