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

// run prints what the arguments ask for. Only the first may be an option.
func run(args []string, out, errs io.Writer) (status int) {
	if len(args) == 0 || !isOption(args[0]) {
		for _, arg := range args {
			explain(out, arg)
		}
		return 0
	}
	switch args[0] {
	case "-l", "--list":
		list(out)
	case "-?", "--help":
		io.WriteString(errs, usage)
	default:
		fmt.Fprintf(errs, "Illegal option -- %s\n%s", args[0][1:], usage)
	}
	return 1
}

// isOption tells an option from a number: what a hexadecimal digit follows is taken for one.
func isOption(arg string) bool {
	return strings.HasPrefix(arg, "-") && (len(arg) == 1 || !isHex(arg[1]))
}

// explain prints the text of one code. PCP's are negative, and so is what is meant.
func explain(out io.Writer, arg string) {
	code, ok := decode(arg)
	if !ok {
		fmt.Fprintf(out, "Cannot decode \"%s\" - neither decimal nor hexadecimal\n", arg)
		return
	}
	if code > 0 {
		code = -code
		fmt.Fprintf(out, "Code is positive, assume you mean %d\n", code)
	}
	fmt.Fprintf(out, "Code: %d 0x%x Text: %v\n", code, uint32(code), pdu.Error(code))
}

// decode reads a number of 32 bits as scanf(3) does, up to what cannot belong to it: hexadecimal after "0x", for want of
// digits 0, or else decimal.
func decode(arg string) (code int32, ok bool) {
	if len(arg) >= 2 && arg[0] == '0' && arg[1]|0x20 == 'x' {
		n := 2
		for n < len(arg) && isHex(arg[n]) {
			n++
		}
		v, err := strconv.ParseUint(arg[2:n], 16, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return 0, true
		}
		return int32(v), true
	}
	arg = strings.TrimLeft(arg, " \t\n\v\f\r")
	n := 0
	if strings.HasPrefix(arg, "-") || strings.HasPrefix(arg, "+") {
		n++
	}
	for n < len(arg) && arg[n] >= '0' && arg[n] <= '9' {
		n++
	}
	v, err := strconv.ParseInt(arg[:n], 10, 64)
	return int32(v), err == nil || errors.Is(err, strconv.ErrRange)
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}
