// Pmdate prints the current date and time, or another so many units before or after it. Arguments,
// output and exit status are those of pmdate(1) of PCP.
package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/pcp-go/pcp/internal/build"
	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/internal/strftime"
	"github.com/pcp-go/pcp/pmapi/tool"
)

const usage = `Usage: pmdate { +valueS | -valueS } ... format

where the scale "S" is one of: S (seconds), M (minutes), H (hours), 
d (days), m (months) or y (years)
`

func main() {
	os.Exit(run(os.Args[1:], time.Now().In(tool.LocalZone()), os.Stdout, os.Stderr))
}

// run prints a date. The last argument is its format, even if it looks like an offset.
func run(args []string, now time.Time, out, errs io.Writer) (status int) {
	if len(args) == 0 || len(args) == 1 && (args[0] == "-?" || args[0] == "--help") {
		io.WriteString(errs, usage)
		return 1
	}
	if build.Asked(args) { // in place of a format that is two dashes and a word
		io.WriteString(out, build.Text("pmdate"))
		return 0
	}
	var o offset
	for _, arg := range args[:len(args)-1] {
		if message := o.add(arg); message != "" {
			io.WriteString(errs, message)
			return 1
		}
	}
	format := args[len(args)-1]
	text := strftime.Append(nil, format, o.from(now))
	if len(text) == 0 || len(text) >= len(format)+extraLength {
		io.WriteString(errs, "pmdate: format too long\n")
		return 1
	}
	out.Write(append(text, '\n'))
	return 0
}

// extraLength is what a date may be longer than its format.
const extraLength = 256

// An offset is what the arguments add to the current time.
type offset struct {
	seconds       int64
	months, years int32
}

// add adds an argument such as "-7d". It returns a message if that is not an offset.
func (o *offset) add(arg string) (message string) {
	if arg == "--help" {
		return usage
	}
	if arg == "" || arg[0] != '+' && arg[0] != '-' {
		return fmt.Sprintf("pmdate: incorrect leading sign for offset (%s), must be \"+\" or \"-\"\n", arg)
	}
	long, scale, _ := scan.Int(arg[1:])
	n := int32(long)
	if arg[0] == '-' {
		n = -n
	}
	if scale == "" {
		return fmt.Sprintf("pmdate: missing scale after offset (%s)\n", arg)
	}
	switch scale[0] {
	case 'S':
		o.seconds += int64(n)
	case 'M':
		o.seconds += 60 * int64(n)
	case 'H':
		o.seconds += 3600 * int64(n)
	case 'd':
		o.seconds += 86400 * int64(n)
	case 'm':
		o.months += n
	case 'y':
		o.years += n
	case '?':
		return usage
	default:
		return fmt.Sprintf("pmdate: unknown scale after offset (%s)\n", arg)
	}
	return ""
}

// from is the time that is an offset from another. Months and years are added to the date, and one
// that does not exist runs over into the next month. The time of day stays that of standard or
// daylight saving time, as it was.
func (o offset) from(t time.Time) time.Time {
	t = time.Unix(t.Unix()+o.seconds, 0).In(t.Location())
	if o.months == 0 && o.years == 0 {
		return t
	}
	year := int32(t.Year()-1900) + o.years
	moved := time.Date(int(year)+1900, t.Month()+time.Month(o.months), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, t.Location())
	if moved.IsDST() != t.IsDST() {
		_, before := t.Zone()
		_, after := moved.Zone()
		moved = moved.Add(time.Duration(after-before) * time.Second)
	}
	return moved
}
